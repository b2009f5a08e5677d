#include "server/api/patience.h"

#include <algorithm>

#include "core/base/answer_limits.h"

namespace freshet {
namespace {

Duration SinceOf(Patience::Clock::time_point from, Patience::Clock::time_point to) {
  return Duration::Micros(std::chrono::duration_cast<std::chrono::microseconds>(to - from).count());
}

}  // namespace

Patience::Clock::time_point Patience::Begin(size_t bytes, Clock::time_point now) {
  began_ = now;
  for_bytes_ = Duration::FromSeconds(static_cast<double>(bytes) / limits::kLeastBytesPerSecond);
  return now + (left_ + for_bytes_).chrono();
}

void Patience::End(Clock::time_point now) {
  left_ = std::clamp(left_ + for_bytes_ - SinceOf(began_, now), Duration(), most_);
}

}  // namespace freshet
