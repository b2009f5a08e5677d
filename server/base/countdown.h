// Counts the answers that are still missing after a question to several receivers.
#ifndef FRESHET_SERVER_BASE_COUNTDOWN_H_
#define FRESHET_SERVER_BASE_COUNTDOWN_H_

#include <atomic>
#include <cstddef>

#include "core/base/check.h"

namespace freshet {

// Counts arrivals. Thread-safe.
class Countdown {
 public:
  // `expected` arrivals. A caller that still asks while the first may answer counts as one more, so
  // that the count does not end before all are asked.
  explicit Countdown(size_t expected) : left_(expected) {}
  Countdown(const Countdown&) = delete;
  Countdown& operator=(const Countdown&) = delete;

  // Counts one arrival. Returns true for the last, which sees all that the others did before they
  // arrived. No more may arrive than are expected.
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
