// Corrects times in the frontier's store that come from a clock that ran ahead and was then set
// back. Also removes queues that have neither URLs nor settings any more.
#ifndef FRESHET_SERVER_FRONTIER_FRONTIER_MEND_H_
#define FRESHET_SERVER_FRONTIER_FRONTIER_MEND_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "core/base/status.h"
#include "storage/frontier_store.h"

namespace freshet {

struct FrontierQueue;
struct FrontierStage;

// Owner thread only. `stage` must outlive this object.
class FrontierMend {
 public:
  explicit FrontierMend(FrontierStage& stage) : stage_(stage) {}

  // Starts the corrections after a load. `queues`: the queues whose last service was later than the
  // clock.
  void Begin(absl::flat_hash_set<FrontierQueueId> queues);
  // By how many seconds the clock was ahead before the load; 0 = no time in the store needs
  // correction any more.
  [[nodiscard]] uint64_t ahead() const;
  // The number of queues whose last service was later than the clock.
  [[nodiscard]] size_t queues() const { return queues_.size(); }
  // Stages corrections until it has visited `most` queues and URLs. A URL that was put without a
  // date and is due later than now becomes due now. Precondition: nothing else is staged.
  [[nodiscard]] Status Mend(size_t most);
  // Visits the next `most` queues, and stages the removal of those that have neither URLs nor
  // settings any more. A queue is left over, for example, when its block ends, because nothing
  // happens at that time.
  void Sweep(size_t most);
  // Keep makes the progress of Mend since the last Keep permanent. Undo reverts it.
  void Keep();
  void Undo() { place_ = kept_place_; }

 private:
  // The progress of a walk through all queues.
  struct Place {
    uint32_t crawl = 0;
    std::string key;  // lower bound for the key of the next queue
    // Where to continue in the queue with this key; unset = at its beginning.
    std::optional<FrontierDue> due;
  };

  // Returns the queue at the place. If there is none, moves the place to the next queue, and
  // returns that queue; nullptr = none is left.
  [[nodiscard]] FrontierQueue* NextFrom(Place& place) const;
  [[nodiscard]] Status MendFlights(FrontierQueue& queue);
  [[nodiscard]] Status MendDue(FrontierQueue& queue, std::span<const FrontierDue> due);

  FrontierStage& stage_;
  absl::flat_hash_set<FrontierQueueId> queues_;  // see Begin
  Place place_;
  Place kept_place_;
  Place swept_;  // where Sweep continues
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FRONTIER_MEND_H_
