#include "server/engine/lookahead.h"

#include <algorithm>

namespace freshet {
namespace {

constexpr Duration kMaxLookahead = Duration::Millis(1000);
constexpr Duration kMaxBarrenWait = Duration::Millis(80);
// The wait between requests while no page can be leased.
constexpr Duration kStalledWait = Duration::Seconds(1);

}  // namespace

void Lookahead::Note(Duration took, bool short_of_pages, bool stalled, Instant now) {
  const Duration target = std::clamp(took * 2, kMinLookahead, kMaxLookahead);
  const double smoothed = time_.seconds() * 0.9 + target.seconds() * 0.1;
  time_ = std::max(target, Duration::FromSeconds(smoothed));
  barren_wait_ =
      short_of_pages && barren_ ? std::min(barren_wait_ * 2, kMaxBarrenWait) : kMinBarrenWait;
  if (stalled) barren_wait_ = kStalledWait;
  barren_ = short_of_pages;
  barren_until_ = short_of_pages ? now + barren_wait_ : Instant::None();
}

}  // namespace freshet
