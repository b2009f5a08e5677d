#include "server/base/system_clock.h"

#include <algorithm>
#include <chrono>

#include "server/base/wall_clock.h"

namespace freshet {
namespace {

template <typename ClockType>
int64_t MicrosOf() {
  return std::chrono::duration_cast<std::chrono::microseconds>(ClockType::now().time_since_epoch())
      .count();
}

// Raises `value` to at least `floor` and returns the result.
int64_t RaiseTo(std::atomic<int64_t>& value, int64_t floor) {
  int64_t seen = value.load(std::memory_order_relaxed);
  while (seen < floor && !value.compare_exchange_weak(seen, floor, std::memory_order_relaxed)) {
  }
  return std::max(seen, floor);
}

}  // namespace

Instant SystemClock::Now() {
  const int64_t wall = std::min(MicrosOf<std::chrono::system_clock>(), kLastWallTime.micros());
  return time_.At(wall, MicrosOf<std::chrono::steady_clock>());
}

int64_t RisingTime::TakeLoss(int64_t ahead, int64_t steady) {
  int64_t from = slowed_at_.load(std::memory_order_relaxed);
  if (steady - from < kLosesOneIn) return 0;
  // If several threads ask at the same time, only one of them counts the loss.
  if (!slowed_at_.compare_exchange_strong(from, steady, std::memory_order_relaxed)) return 0;
  return std::min(ahead, std::min(steady - from, kLongestStepUs) / kLosesOneIn);
}

Instant RisingTime::At(int64_t wall, int64_t steady) {
  int64_t offset = RaiseTo(offset_us_, wall - steady);
  int64_t ahead = offset - (wall - steady);
  if (ahead <= kToleratedUs) {
    ahead = 0;
    slowed_at_.store(steady, std::memory_order_relaxed);
  } else if (const int64_t loss = TakeLoss(ahead, steady); loss > 0) {
    offset = offset_us_.fetch_sub(loss, std::memory_order_relaxed) - loss;
  }
  ahead_us_.store(ahead, std::memory_order_relaxed);
  return Instant::FromMicros(RaiseTo(last_us_, steady + offset));
}

}  // namespace freshet
