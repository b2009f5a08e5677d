// One batch of items from a message to its acknowledgement: what was made of each item is collected
// by position, events go to their shards, and the answer names every item that was not applied.
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
#include "core/fleet/slot_division.h"
#include "core/schedule/event.h"
#include "freshet/v1/types.pb.h"
#include "server/api/batch_counts.h"
#include "server/api/wire.h"
#include "server/auth/authoriser.h"
#include "server/engine/batch_trace.h"
#include "server/engine/routed_event.h"
#include "server/engine/router.h"

namespace freshet {

struct ServerConfig;

// Owner thread only until Submit.
class Batch {
 public:
  Batch(uint64_t sequence, int items);

  // Items that the caller is not to touch are refused. `caller` outlives the adding; nullptr, and
  // before this is called: it is limited in nothing.
  void SetCaller(const Caller* caller) {
    caller_ = caller;
    client_ = caller == nullptr ? 0 : caller->claim().client;
  }
  // The item at `index`: the event that it became, or why it is refused. Called once for every
  // item, in their order. Notes of an event come with its acknowledgement.
  void Add(int index, StatusOr<RoutedEvent> item);

  // Some items of it, that the server of another division is to apply: their places in it.
  struct Part {
    uint32_t division = 0;
    std::vector<uint32_t> places;
  };
  // Takes out what is not of these slots, once all items are added: then it is for somebody else to
  // say what became of that.
  [[nodiscard]] std::vector<Part> TakeOthers(const SlotDivision& own);

  // Those that were not refused, in the order of their items.
  [[nodiscard]] std::vector<RoutedEvent>& events() { return events_; }
  // Changes the reply to an event before it is acknowledged, by default not at all.
  void SetReview(std::function<void(Reply*)> review) { review_ = std::move(review); }

  // Is told how long the shards take. Unless it is called, nobody is.
  void SetTrace(std::shared_ptr<BatchTrace> trace) { trace_ = std::move(trace); }

  using Done = std::function<void(v1::BatchAck, BatchCounts)>;
  // Sends the events off once all items are added, but those taken out, which are not counted;
  // `done` is called once all is durable, on any thread. Returns false when the producer should
  // stop until then.
  bool Submit(Router& router, Done done) &&;

 private:
  v1::BatchAck ack_;  // of the items refused so far
  size_t taken_ = 0;  // by TakeOthers
  const Caller* caller_ = nullptr;
  uint64_t client_ = 0;  // its Claim::client; 0 = none
  int added_ = 0;
  std::vector<RoutedEvent> events_;
  std::vector<uint32_t> places_;                       // of the events
  std::vector<std::pair<size_t, std::string>> notes_;  // by position among the events
  std::function<void(Reply*)> review_;
  std::shared_ptr<BatchTrace> trace_;
};

// Reasons and notes of one acknowledgement have so many bytes at most.
inline constexpr size_t kMaxTextBytesPerAck = size_t{64} << 10;
// The acknowledgement of so many items has at most so many bytes.
[[nodiscard]] constexpr size_t AckBytes(size_t items) {
  constexpr size_t kOfOneItem = size_t{2} << 10;
  constexpr size_t kWithoutText = 64;
  return std::min(items * kOfOneItem, kMaxTextBytesPerAck + items * kWithoutText);
}
// Puts "..." in place of the reasons and notes that do not fit, the last items' first.
void ShortenTexts(v1::BatchAck* ack);

// The acknowledgement of a batch that was refused as a whole.
[[nodiscard]] v1::BatchAck RefusedBatch(uint64_t sequence, size_t items, const Status& why);

// InvalidArgument when there are no items, or more than a message may have.
[[nodiscard]] Status CheckItemCount(std::string_view field, int items, const ServerConfig& config);
// InvalidArgument when the URL of a page that is to be added is longer than it may be.
[[nodiscard]] Status CheckUrlSize(std::string_view url, const ServerConfig& config);

// The first of the faults, by rising item, that an item has; nullptr: it has none.
[[nodiscard]] const TextFault* FindTextFault(const std::vector<TextFault>& faults, int item);
// InvalidArgument when the item has one.
[[nodiscard]] Status CheckTexts(const std::vector<TextFault>& faults, int item);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_BATCH_H_
