#include "lab/sim/replay_progress.h"

#include <utility>

#include "fmt/format.h"

namespace freshet {
namespace {

constexpr unsigned kPicksALook = 64;  // picks between two reads of the wall clock

}  // namespace

ReplayProgress::ReplayProgress(ReplayPolicy& policy, const ReplaySpan& span, Tell tell)
    : policy_(policy), span_(span), tell_(std::move(tell)) {}

std::optional<size_t> ReplayProgress::Pick(Instant now) {
  if (++picks_ % kPicksALook == 0 && now > span_.begin) {
    const double share = (now - span_.begin).seconds() / (span_.end - span_.begin).seconds();
    if (const auto left = clock_.TimeLeftIfDue(share)) {
      tell_(fmt::format("{:.0f}% played, {}", 100 * share, *left));
    }
  }
  return policy_.Pick(now);
}

}  // namespace freshet
