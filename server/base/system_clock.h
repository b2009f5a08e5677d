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
  // How far that is ahead of the machine's time, which was set back.
  [[nodiscard]] virtual Duration ahead() const { return {}; }
};

// Makes wall-clock time that never steps back of what two clocks show, in microseconds. It runs
// with the steady one and follows the wall clock forward at once: when that is set back, time goes
// on from where it was, at three quarters of its pace until the wall clock has caught up.
//
// Thread-safe.
class RisingTime {
 public:
  // Time loses one microsecond in so many while it is ahead.
  static constexpr int64_t kLosesOneIn = 4;
  // At most so much counts at a time: nobody has asked meanwhile.
  static constexpr int64_t kLongestStepUs = 1'000'000;
  // It is not ahead: so much lies between two readings of clocks.
  static constexpr int64_t kToleratedUs = 1000;

  // `wall` was read before `steady`, so that a thread that is suspended in between cannot push time
  // ahead.
  [[nodiscard]] Instant At(int64_t wall, int64_t steady);
  // How far it was ahead of the wall clock when it was asked last.
  [[nodiscard]] Duration ahead() const { return Duration::Micros(ahead_us_); }

 private:
  // By how much time is to lose on the steady clock now.
  [[nodiscard]] int64_t TakeLoss(int64_t ahead, int64_t steady);

  std::atomic<int64_t> offset_us_{INT64_MIN};  // between the steady clock and time
  std::atomic<int64_t> last_us_{INT64_MIN};
  std::atomic<int64_t> ahead_us_{0};
  std::atomic<int64_t> slowed_at_{0};  // by the steady clock: up to then it has lost
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
