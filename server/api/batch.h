// One batch of items, from a message to its acknowledgement. The batch sends events to their
// shards, and collects the outcomes by position. The acknowledgement names every item that was not
// applied.
#ifndef FRESHET_SERVER_API_BATCH_H_
#define FRESHET_SERVER_API_BATCH_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/schedule/event.h"
#include "freshet/v1/types.pb.h"
#include "server/api/batch_counts.h"
#include "server/api/wire.h"
#include "server/auth/authoriser.h"
#include "server/engine/batch_trace.h"
#include "server/engine/routed_event.h"
#include "server/engine/router.h"

namespace freshet {

struct PortConfig;

// The batch. Owner thread only until Submit.
class Batch {
 public:
  Batch(uint64_t sequence, int items);

  // Sets the caller, whose limits can refuse items. `caller` outlives all calls of Add; nullptr
  // (the default) = no limits.
  void SetCaller(const Caller* caller) {
    caller_ = caller;
    client_ = caller == nullptr ? 0 : caller->claim().client;
  }
  // Adds the item at `index`: its event, or the reason why it is refused. Called once for every
  // item, in order. The acknowledgement repeats the notes of the event.
  void Add(int index, StatusOr<RoutedEvent> item);

  // The events that were not refused, in the order of their items.
  [[nodiscard]] std::vector<RoutedEvent>& events() { return events_; }
  // Sets a function that can change each reply before it is acknowledged.
  void SetReview(std::function<void(Reply*)> review) { review_ = std::move(review); }

  // Sets the trace that records the times at the shards; nullptr (the default) = none.
  void SetTrace(std::shared_ptr<BatchTrace> trace) { trace_ = std::move(trace); }

  using Done = std::function<void(v1::BatchAck, BatchCounts)>;
  // Sends the events to their shards. Precondition: all items are added. `done` is called on any
  // thread once everything is durable. Returns false if the producer should send nothing more until
  // then.
  bool Submit(Router& router, Done done) &&;

 private:
  v1::BatchAck ack_;  // the items refused so far
  const Caller* caller_ = nullptr;
  uint64_t client_ = 0;  // Claim::client of the caller; 0 = none
  int added_ = 0;
  std::vector<RoutedEvent> events_;
  std::vector<uint32_t> places_;                       // positions of the events in the message
  std::vector<std::pair<size_t, std::string>> notes_;  // by position in events_
  std::function<void(Reply*)> review_;
  std::shared_ptr<BatchTrace> trace_;
};

// The maximum total size of the reasons and notes in one acknowledgement, in bytes.
inline constexpr size_t kMaxTextBytesPerAck = size_t{64} << 10;
// The maximum size in bytes of the acknowledgement of a message with `items` items.
[[nodiscard]] constexpr size_t AckBytes(size_t items) {
  constexpr size_t kOfOneItem = size_t{2} << 10;
  constexpr size_t kWithoutText = 64;
  return std::min(items * kOfOneItem, kMaxTextBytesPerAck + items * kWithoutText);
}
// Cuts reasons and notes to a total of kMaxTextBytesPerAck. Texts that no longer fit become "...".
void ShortenTexts(v1::BatchAck* ack);

// The acknowledgement of a batch that was refused as a whole.
[[nodiscard]] v1::BatchAck RefusedBatch(uint64_t sequence, size_t items, const Status& why);

// Checks the number of items in a message. InvalidArgument: there are none, or more than a message
// may have.
[[nodiscard]] Status CheckItemCount(std::string_view field, int items, const PortConfig& config);
// Checks the URL of a page that is to be added. InvalidArgument: the URL is too long.
[[nodiscard]] Status CheckUrlSize(std::string_view url, const PortConfig& config);

// The first fault of the item; nullptr = none. `faults` is sorted by item.
[[nodiscard]] const TextFault* FindTextFault(const std::vector<TextFault>& faults, int item);
// Whether the item must be refused for one of its faults. A faulty text from the crawled site
// (etag, moved_to) is left out instead.
[[nodiscard]] bool HasRefusedText(const std::vector<TextFault>& faults, int item);
// Checks the texts of an item. InvalidArgument: the item has a fault.
[[nodiscard]] Status CheckTexts(const std::vector<TextFault>& faults, int item);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_BATCH_H_
