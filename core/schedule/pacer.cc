#include "core/schedule/pacer.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"

namespace freshet {
namespace {

// Ticks are counted from an anchor. The anchor moves before the product loses precision.
constexpr int64_t kMaxTicksFromAnchor = int64_t{1} << 40;

}  // namespace

Pacer::Pacer(Rate rate, Instant now, Duration max_lateness)
    : max_lateness_(max_lateness), rate_(rate), anchor_(now) {
  CHECK(max_lateness >= Duration(), "lateness {}", max_lateness.seconds());
  CHECK(rate.per_second() >= 0, "rate {}", rate.per_second());
}

Instant Pacer::next() const {
  if (rate_.per_second() == 0) return Instant::Infinite();
  // Rounded up, so that no tick is early.
  const double seconds = static_cast<double>(used_ + 1) / rate_.per_second();
  if (seconds > 1e12) return Instant::Infinite();
  return anchor_ + Duration::Micros(static_cast<int64_t>(std::ceil(seconds * 1e6)));
}

Instant Pacer::Use() {
  const Instant tick = next();
  CHECK(!tick.infinite(), "no tick at rate {}", rate_.per_second());
  if (++used_ >= kMaxTicksFromAnchor) {
    anchor_ = tick;
    used_ = 0;
  }
  return tick;
}

Duration Pacer::lateness() const {
  if (rate_.per_second() == 0) return max_lateness_;
  return std::max(max_lateness_, Duration::FromSeconds(0.999 / rate_.per_second()));
}

int64_t Pacer::Overdue(Instant now) const {
  if (next() >= now) return 0;
  return static_cast<int64_t>((now - next()).seconds() * rate_.per_second());
}

int64_t Pacer::SkipMissed(Instant now) {
  if (rate_.per_second() == 0) return 0;
  const Instant oldest = now - lateness();
  if (next() >= oldest) return 0;
  const double passed = (oldest - anchor_).seconds() * rate_.per_second();
  const int64_t target = std::max(used_, static_cast<int64_t>(std::floor(passed)) - 1);
  int64_t skipped = target - used_;
  used_ = target;
  while (next() < oldest) {
    ++used_;
    ++skipped;
  }
  return skipped;
}

void Pacer::SetRate(Rate rate, Instant now) {
  CHECK(rate.per_second() >= 0, "rate {}", rate.per_second());
  // Keeps the elapsed share of a tick, so that frequent changes of the rate neither delay ticks
  // forever nor double them.
  double share = 0;
  if (rate_.per_second() > 0) {
    share = (now - anchor_).seconds() * rate_.per_second() - static_cast<double>(used_);
    share = std::clamp(share, -1.0, 1.0);
  }
  rate_ = rate;
  anchor_ = now;
  used_ = 0;
  if (rate.per_second() > 0) {
    anchor_ = now - Duration::FromSeconds(std::min(share / rate.per_second(), 1e9));
  }
}

}  // namespace freshet
