// The only clock that the server reads.
#ifndef FRESHET_SERVER_BASE_SYSTEM_CLOCK_H_
#define FRESHET_SERVER_BASE_SYSTEM_CLOCK_H_

#include <atomic>
#include <cstdint>

#include "core/base/units.h"

namespace freshet {

// The time for all parts of the server. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Returns the time, which is never earlier than a time that was returned before, on any thread.
  [[nodiscard]] virtual Instant Now() = 0;
  // How far Now is ahead of the machine's clock, because that clock was set back.
  [[nodiscard]] virtual Duration ahead() const { return {}; }
};

// Computes a wall-clock time that never steps back, from the readings of a wall clock and a steady
// clock in microseconds. Time advances with the steady clock. When the wall clock jumps forward,
// time follows at once. When the wall clock is set back, time runs at three quarters of its pace
// until the wall clock has caught up.
//
// Thread-safe.
class RisingTime {
 public:
  // While time is ahead of the wall clock, it loses one microsecond of every kLosesOneIn.
  static constexpr int64_t kLosesOneIn = 4;
  // At each reading, time loses its share (kLosesOneIn) of the interval since the previous reading,
  // but never more than the share of this interval.
  static constexpr int64_t kLongestStepUs = 1'000'000;
  // If time is ahead of the wall clock by at most this much, it does not count as ahead.
  static constexpr int64_t kToleratedUs = 1000;

  // Returns the time at these clock readings. The caller must read `wall` before `steady`, so that
  // a thread that is suspended in between cannot push time ahead.
  [[nodiscard]] Instant At(int64_t wall, int64_t steady);
  // How far the last returned time was ahead of the wall clock.
  [[nodiscard]] Duration ahead() const { return Duration::Micros(ahead_us_); }

 private:
  // Returns how many microseconds time must lose at the reading `steady`.
  [[nodiscard]] int64_t TakeLoss(int64_t ahead, int64_t steady);

  std::atomic<int64_t> offset_us_{INT64_MIN};  // time minus the steady clock
  std::atomic<int64_t> last_us_{INT64_MIN};
  std::atomic<int64_t> ahead_us_{0};
  std::atomic<int64_t> slowed_at_{0};  // reading of the steady clock up to which losses are counted
};

// The machine's time. Thread-safe.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] Instant Now() override;
  [[nodiscard]] Duration ahead() const override { return time_.ahead(); }

 private:
  RisingTime time_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_SYSTEM_CLOCK_H_
