// One batch of items from a message to its acknowledgement: faults and events are collected by
// position, events go to their shards, and the answer names every item that was not applied.
#ifndef FRESHET_SERVER_API_BATCH_H_
#define FRESHET_SERVER_API_BATCH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "freshet/v1/types.pb.h"
#include "server/api/convert.h"
#include "server/api/wire.h"
#include "server/engine/router.h"

namespace freshet {

// What became of the items of a batch, as numbers.
struct BatchCounts {
  uint64_t refused = 0;
  uint64_t unrefused = 0;  // applied, duplicate, stale, observed only
};

// Owner thread only until Submit.
class Batch {
 public:
  Batch(uint64_t sequence, size_t items);

  // Each position gets exactly one of these. Notes of an event come with its acknowledgement.
  void Add(size_t index, RoutedEvent event);
  void Refuse(size_t index, v1::ItemError fault);
  // What either of them is: `convert` gives a fault or fills in the event.
  void Convert(size_t index, const std::function<Fault(RoutedEvent*)>& convert);

  [[nodiscard]] std::vector<RoutedEvent>& events() { return events_; }
  // Changes the reply to an event before it is acknowledged, by default not at all.
  void SetReview(std::function<void(Reply*)> review) { review_ = std::move(review); }

  using Done = std::function<void(v1::BatchAck, BatchCounts)>;
  // Sends the events off; `done` is called once all is durable, on any thread. Returns false when
  // the producer should stop until then.
  bool Submit(Router& router, Done done) &&;

 private:
  v1::BatchAck ack_;  // of the items refused so far
  std::vector<RoutedEvent> events_;
  std::vector<uint32_t> places_;                       // of the events
  std::vector<std::pair<size_t, std::string>> notes_;  // by position among the events
  std::function<void(Reply*)> review_;
};

// The acknowledgement of a batch that was refused as a whole.
[[nodiscard]] v1::BatchAck RefusedBatch(uint64_t sequence, size_t items, v1::ItemError fault);

// A fault when there are no items, or more than a message may have.
[[nodiscard]] Fault CheckItemCount(std::string_view field, int items);

// The first of the faults, by rising item, that an item has; nullptr: it has none.
[[nodiscard]] const TextFault* FindTextFault(const std::vector<TextFault>& faults, size_t item);
[[nodiscard]] v1::ItemError FaultOf(const TextFault& fault);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_BATCH_H_
