// Computes lower bounds of staleness. In a replay, no policy can have a lower staleness, even if it
// knows the future.
#ifndef FRESHET_LAB_SIM_FRESHNESS_BOUND_H_
#define FRESHET_LAB_SIM_FRESHNESS_BOUND_H_

#include <vector>

#include "core/base/status.h"
#include "lab/sim/replay.h"

namespace freshet {

// Lower bounds of staleness. Value type, thread-compatible.
struct FreshnessBounds {
  double weighted_staleness = 0;
  double staleness = 0;
};

// A crawl is useful only if it is the first one after a change c of a page. At time t it gains
// importance mu x (c' - t), where c' is the next change, the death of the page or the end. Other
// crawls do not matter. So the best schedule is the heaviest assignment of spans [c, c') to the
// ticks at which crawls come, each span to at most one tick in it. By Lagrangian duality, for any
// prices l(t) >= 0 of the ticks, its gain is at most
//
//   sum over ticks of l(t) + sum over spans of max(0, max over ticks t in the span of
//                                                         mu (c' - t) - l(t)).
//
// Better prices make a sharper bound. Here, neighbouring ticks form groups with one price each. At
// first there is a single price for all ticks. It is the largest gain that is left without a crawl
// if the crawls go to the spans of highest gain, each at its first tick; 0 if there are enough
// crawls for all spans. Then the ticks are split into groups, and a fixed number of subgradient
// steps adapts the prices: the price rises in groups in which more spans want a crawl than there
// are ticks. Each group is split in four, and the steps are repeated with half the step size,
// several times. The result is the smallest bound of all steps. Waits within a group do not count,
// so the bound is loose if only such waits lose freshness.
//
// Exact up to rounding of ticks to microseconds. Errors: see Replay. Cost: some 400 passes over the
// changes, about a second for 50,000.
[[nodiscard]] StatusOr<FreshnessBounds> FreshnessBound(const std::vector<ReplayPage>& pages,
                                                       const ReplayOptions& options);

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_FRESHNESS_BOUND_H_
