// The only clock read of the server.
#ifndef FRESHET_SERVER_BASE_SYSTEM_CLOCK_H_
#define FRESHET_SERVER_BASE_SYSTEM_CLOCK_H_

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

// Makes wall-clock time that never steps back of what two clocks show, in microseconds. It runs
// with the steady one and follows the wall clock forward only: when that is set back, time goes on
// from where it was.
//
// Thread-safe.
class RisingTime {
 public:
  // `wall` was read before `steady`, so that a thread that is suspended in between cannot push time
  // ahead.
  [[nodiscard]] Instant At(int64_t wall, int64_t steady);

 private:
  std::atomic<int64_t> offset_us_{INT64_MIN};  // wall minus steady, the most seen so far
  std::atomic<int64_t> last_us_{INT64_MIN};
};

// The machine's time. Thread-safe.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] Instant Now() override;

 private:
  RisingTime time_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_SYSTEM_CLOCK_H_
