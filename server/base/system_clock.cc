#include "server/base/system_clock.h"

#include <algorithm>
#include <chrono>

namespace freshet {
namespace {

template <typename ClockType>
int64_t MicrosOf() {
  return std::chrono::duration_cast<std::chrono::microseconds>(ClockType::now().time_since_epoch())
      .count();
}

// Raises `value` to at least `floor` and returns what it is then.
int64_t RaiseTo(std::atomic<int64_t>& value, int64_t floor) {
  int64_t seen = value.load(std::memory_order_relaxed);
  while (seen < floor && !value.compare_exchange_weak(seen, floor, std::memory_order_relaxed)) {
  }
  return std::max(seen, floor);
}

}  // namespace

Instant SystemClock::Now() {
  const int64_t wall = MicrosOf<std::chrono::system_clock>();
  return time_.At(wall, MicrosOf<std::chrono::steady_clock>());
}

Instant RisingTime::At(int64_t wall, int64_t steady) {
  const int64_t offset = RaiseTo(offset_us_, wall - steady);
  return Instant::FromMicros(RaiseTo(last_us_, steady + offset));
}

}  // namespace freshet
