// Mends what a clock that ran ahead, and was set back, has left behind in the frontier's store.
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

// Owner thread only. The stage outlives it.
class FrontierMend {
 public:
  explicit FrontierMend(FrontierStage& stage) : stage_(stage) {}

  // Begins after a load, with the queues that were ahead of the clock.
  void Begin(absl::flat_hash_set<FrontierQueueId> queues);
  // How many seconds the clock was ahead before the load, while some of its times are still to be
  // mended in the store; 0 = none.
  [[nodiscard]] uint64_t ahead() const;
  // The number of queues that were served at such times.
  [[nodiscard]] size_t queues() const { return queues_.size(); }
  // Mends the store until it has looked at `most` queues and URLs: URLs put without a date that are
  // due later than now become due now. Precondition: nothing else is staged.
  [[nodiscard]] Status Mend(size_t most);
  // The progress since the last Keep is made permanent, or undone.
  void Keep();
  void Undo() { place_ = kept_place_; }

 private:
  // The progress of Mend.
  struct Place {
    uint32_t crawl = 0;
    std::string key;  // of the next queue, or of one before it
    // Where to continue in the queue with that key; unset = at its beginning.
    std::optional<FrontierDue> due;
  };

  // The queue at place_, or the next one after it; nullptr = none.
  [[nodiscard]] FrontierQueue* NextToMend();
  [[nodiscard]] Status MendFlights(FrontierQueue& queue);
  [[nodiscard]] Status MendDue(FrontierQueue& queue, std::span<const FrontierDue> due);

  FrontierStage& stage_;
  absl::flat_hash_set<FrontierQueueId> queues_;  // queues that were ahead of the clock at the load
  Place place_;
  Place kept_place_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FRONTIER_MEND_H_
