// The only clock read of the server.
#ifndef FRESHET_SERVER_SYSTEM_CLOCK_H_
#define FRESHET_SERVER_SYSTEM_CLOCK_H_

#include <atomic>
#include <cstdint>

#include "core/base/units.h"

namespace freshet {

// What the server's parts take their time from. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Never less than an instant returned before, by whatever thread.
  [[nodiscard]] virtual Instant Now() = 0;
};

// Wall-clock time that never steps back. It runs with the steady clock and follows the wall clock
// forward only: when the wall clock is set back, time goes on from where it was.
//
// Thread-safe.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] Instant Now() override;

 private:
  std::atomic<int64_t> offset_us_{INT64_MIN};  // wall minus steady, the most seen so far
  std::atomic<int64_t> last_us_{INT64_MIN};
};

}  // namespace freshet

#endif  // FRESHET_SERVER_SYSTEM_CLOCK_H_
