// One batch of items, from a message to its acknowledgement. Events go to their shards, outcomes
// are collected by position, and the answer names every item that was not applied.
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

  // Sets the caller, whose limits refuse items. `caller` outlives all calls of Add; nullptr, and by
  // default = no limits.
  void SetCaller(const Caller* caller) {
    caller_ = caller;
    client_ = caller == nullptr ? 0 : caller->claim().client;
  }
  // Adds the item at `index`: its event, or why it is refused. Called once for every item, in
  // order. Notes of an event come with its acknowledgement.
  void Add(int index, StatusOr<RoutedEvent> item);

  // The events that were not refused, in the order of their items.
  [[nodiscard]] std::vector<RoutedEvent>& events() { return events_; }
  // Sets a function that can change the reply to an event before it is acknowledged.
  void SetReview(std::function<void(Reply*)> review) { review_ = std::move(review); }

  // Sets the trace of the shards' times; none by default.
  void SetTrace(std::shared_ptr<BatchTrace> trace) { trace_ = std::move(trace); }

  using Done = std::function<void(v1::BatchAck, BatchCounts)>;
  // Sends the events off once all items are added; `done` is called once all is durable, on any
  // thread. Returns false when the producer should
  // stop until then.
  bool Submit(Router& router, Done done) &&;

 private:
  v1::BatchAck ack_;  // the items refused so far
  const Caller* caller_ = nullptr;
  uint64_t client_ = 0;  // Claim::client of the caller; 0 = none
  int added_ = 0;
  std::vector<RoutedEvent> events_;
  std::vector<uint32_t> places_;                       // places of the events in the message
  std::vector<std::pair<size_t, std::string>> notes_;  // by position among the events
  std::function<void(Reply*)> review_;
  std::shared_ptr<BatchTrace> trace_;
};

// Bytes of all reasons and notes in one acknowledgement.
inline constexpr size_t kMaxTextBytesPerAck = size_t{64} << 10;
// The most bytes of an acknowledgement for `items`.
[[nodiscard]] constexpr size_t AckBytes(size_t items) {
  constexpr size_t kOfOneItem = size_t{2} << 10;
  constexpr size_t kWithoutText = 64;
  return std::min(items * kOfOneItem, kMaxTextBytesPerAck + items * kWithoutText);
}
// Replaces reasons and notes that do not fit by "...", from the last item on.
void ShortenTexts(v1::BatchAck* ack);

// The acknowledgement of a batch that was refused as a whole.
[[nodiscard]] v1::BatchAck RefusedBatch(uint64_t sequence, size_t items, const Status& why);

// InvalidArgument: no items, or more than a message may have.
[[nodiscard]] Status CheckItemCount(std::string_view field, int items, const PortConfig& config);
// InvalidArgument: the URL of a page to be added is too long.
[[nodiscard]] Status CheckUrlSize(std::string_view url, const PortConfig& config);

// The first fault of the item, from `faults` by rising item; nullptr = none.
[[nodiscard]] const TextFault* FindTextFault(const std::vector<TextFault>& faults, int item);
// Whether the item is refused for one of its faults. A text of the site that was crawled (etag,
// moved_to) is left out instead.
[[nodiscard]] bool HasRefusedText(const std::vector<TextFault>& faults, int item);
// InvalidArgument when the item has one.
[[nodiscard]] Status CheckTexts(const std::vector<TextFault>& faults, int item);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_BATCH_H_
