// Answers that are still to come of something that several were asked for.
#ifndef FRESHET_SERVER_BASE_COUNTDOWN_H_
#define FRESHET_SERVER_BASE_COUNTDOWN_H_

#include <atomic>
#include <cstddef>

#include "core/base/check.h"

namespace freshet {

// Thread-safe.
class Countdown {
 public:
  // So many are to arrive. Who asks while the first may already answer counts for one as well, so
  // that nothing is over before all are asked.
  explicit Countdown(size_t expected) : left_(expected) {}
  Countdown(const Countdown&) = delete;
  Countdown& operator=(const Countdown&) = delete;

  // One has arrived: true for the last, which sees all that the others did before they arrived. No
  // more may arrive than are expected.
  [[nodiscard]] bool Arrive() {
    const size_t left = left_.fetch_sub(1, std::memory_order_acq_rel);
    CHECK(left > 0, "more have arrived than were expected");
    return left == 1;
  }

 private:
  std::atomic<size_t> left_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_COUNTDOWN_H_
