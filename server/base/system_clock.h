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
  // Never earlier than an instant returned before, on any thread.
  [[nodiscard]] virtual Instant Now() = 0;
  // How far Now is ahead of the machine's time, which was set back.
  [[nodiscard]] virtual Duration ahead() const { return {}; }
};

// Makes wall-clock time that never steps back, from two clocks in microseconds. Time runs with the
// steady clock and follows the wall clock forward at once. When the wall clock is set back, time
// runs at three quarters of its pace until the wall clock has caught up.
//
// Thread-safe.
class RisingTime {
 public:
  // Time loses one of this many microseconds while it is ahead.
  static constexpr int64_t kLosesOneIn = 4;
  // The longest step that counts, as the last reading may be long ago.
  static constexpr int64_t kLongestStepUs = 1'000'000;
  // Differences of clock readings up to this do not count as ahead.
  static constexpr int64_t kToleratedUs = 1000;

  // `wall` was read before `steady`, so that a thread that is suspended in between cannot push time
  // ahead.
  [[nodiscard]] Instant At(int64_t wall, int64_t steady);
  // How far the last returned time was ahead of the wall clock.
  [[nodiscard]] Duration ahead() const { return Duration::Micros(ahead_us_); }

 private:
  // Returns by how much to slow time at this instant of the steady clock.
  [[nodiscard]] int64_t TakeLoss(int64_t ahead, int64_t steady);

  std::atomic<int64_t> offset_us_{INT64_MIN};  // time less the steady clock
  std::atomic<int64_t> last_us_{INT64_MIN};
  std::atomic<int64_t> ahead_us_{0};
  std::atomic<int64_t> slowed_at_{0};  // steady clock: losses are counted up to then
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
