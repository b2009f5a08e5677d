#include "lab/sim/progress_clock.h"

#include "core/base/check.h"
#include "fmt/format.h"

namespace freshet {
namespace {

constexpr std::chrono::seconds kTellEvery{2};

}  // namespace

std::string TimeLeftText(std::chrono::duration<double> elapsed, double share_done) {
  DCHECK(share_done > 0 && share_done <= 1, "{}", share_done);
  const double seconds = elapsed.count() * (1 - share_done) / share_done;
  if (seconds < 100) return fmt::format("about {:.0f} s left", seconds);
  return fmt::format("about {:.0f} min left", seconds / 60);
}

std::optional<std::string> ProgressClock::TimeLeftIfDue(double share_done) {
  const Clock::time_point now = Clock::now();
  if (now - told_ < kTellEvery) return std::nullopt;
  told_ = now;
  return TimeLeftText(now - started_, share_done);
}

}  // namespace freshet
