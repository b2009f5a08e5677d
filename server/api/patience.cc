#include "server/api/patience.h"

#include <algorithm>

#include "server/base/answer_limits.h"

namespace freshet {
namespace {

// However full the tables are, at least this much of the reserve counts.
constexpr Duration kLeast = Duration::Seconds(1);
// gRPC drops the bytes of a cut call at once, unless a write to the connection is under way.
constexpr Duration kStuckAfter = Duration::Seconds(1);

Duration SinceOf(Patience::Clock::time_point from, Patience::Clock::time_point to) {
  return Duration::Micros(std::chrono::duration_cast<std::chrono::microseconds>(to - from).count());
}

}  // namespace

void Patience::Begin(size_t bytes, Clock::time_point now) {
  began_ = now;
  for_bytes_ = Duration::FromSeconds(static_cast<double>(bytes) / limits::kLeastBytesPerSecond);
}

Patience::Clock::time_point Patience::Until(double crowding) const {
  if (cut_) return Clock::time_point::max();
  const Duration left =
      std::max(std::min(left_, kLeast), Duration::FromSeconds(left_.seconds() * (1 - crowding)));
  return began_ + (left + for_bytes_).chrono();
}

void Patience::End(Clock::time_point now) {
  left_ = std::clamp(left_ + for_bytes_ - SinceOf(began_, now), Duration(), most_);
}

bool Patience::Stuck(Clock::time_point now) const {
  return cut_ && *cut_ + kStuckAfter.chrono() <= now;
}

}  // namespace freshet
