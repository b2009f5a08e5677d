// Counts the outstanding answers to a request that was sent to several receivers.
#ifndef FRESHET_SERVER_BASE_COUNTDOWN_H_
#define FRESHET_SERVER_BASE_COUNTDOWN_H_

#include <atomic>
#include <cstddef>

#include "core/base/check.h"

namespace freshet {

// Counts arrivals. Thread-safe.
class Countdown {
 public:
  // `expected`: the number of arrivals. If answers can arrive while the caller is still sending
  // requests, the caller should count itself as one more arrival, so that the countdown cannot end
  // early.
  explicit Countdown(size_t expected) : left_(expected) {}
  Countdown(const Countdown&) = delete;
  Countdown& operator=(const Countdown&) = delete;

  // Counts one arrival. Returns true for the last one, whose caller sees all memory effects that
  // preceded the other arrivals. Precondition: fewer than `expected` have arrived.
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
