#include "tools/sim/replay_progress.h"

#include <utility>

#include "core/base/check.h"
#include "fmt/format.h"

namespace freshet {
namespace {

constexpr std::chrono::seconds kTellEvery{2};
constexpr unsigned kPicksALook = 64;  // at the wall clock

}  // namespace

std::string TimeLeftText(std::chrono::duration<double> elapsed, double share_done) {
  DCHECK(share_done > 0 && share_done <= 1, "{}", share_done);
  const double seconds = elapsed.count() * (1 - share_done) / share_done;
  if (seconds < 100) return fmt::format("about {:.0f} s left", seconds);
  return fmt::format("about {:.0f} min left", seconds / 60);
}

ReplayProgress::ReplayProgress(ReplayPolicy& policy, const ReplaySpan& span, Tell tell)
    : policy_(policy),
      span_(span),
      tell_(std::move(tell)),
      started_(Clock::now()),
      told_(started_) {}

std::optional<size_t> ReplayProgress::Pick(Instant now) {
  if (++picks_ % kPicksALook == 0 && now > span_.begin) {
    const Clock::time_point clock = Clock::now();
    if (clock - told_ >= kTellEvery) {
      told_ = clock;
      const double share = (now - span_.begin).seconds() / (span_.end - span_.begin).seconds();
      tell_(fmt::format("{:.0f}% played, {}", 100 * share, TimeLeftText(clock - started_, share)));
    }
  }
  return policy_.Pick(now);
}

}  // namespace freshet
