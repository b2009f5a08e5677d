// What no policy can undercut in a replay, however much it knows of the future.
#ifndef FRESHET_TOOLS_SIM_FRESHNESS_BOUND_H_
#define FRESHET_TOOLS_SIM_FRESHNESS_BOUND_H_

#include <vector>

#include "core/base/status.h"
#include "tools/sim/replay.h"

namespace freshet {

// Lower bounds of staleness. Value type, thread-compatible.
struct FreshnessBounds {
  double weighted_staleness = 0;
  double staleness = 0;
};

// A crawl is of use only as the first after a change c of a page, and at time t gains importance mu
// x (c' - t), c' being the next change, the death of the page or the end: whatever the other crawls
// do. So the best schedule is the heaviest assignment of spans [c, c') to the ticks at which crawls
// come, each to one tick in it. By Lagrangian duality it gains, for any prices l(t) >= 0 of the
// ticks, at most
//
//   sum over ticks of l(t) + sum over spans of max(0, max over ticks t in the span of
//                                                         mu (c' - t) - l(t)),
//
// which holds for every choice of prices: how they were found does not matter, better ones make a
// sharper bound. Here they are equal within groups of neighbouring ticks. One price for all, that
// of the last span that the crawls suffice for, is where the search begins (its bound has the best
// spans, each crawled at once); subgradient steps raise the prices of groups in which more spans
// want to be crawled than there are ticks, and groups are split in four when that helps no more.
// Waits within a group are not seen, so the bound is loose where those are all that is lost.
//
// Exact up to rounding of ticks to microseconds. Errors as Replay. Cost: some 400 passes over the
// changes, about a second for 50,000.
[[nodiscard]] StatusOr<FreshnessBounds> FreshnessBound(const std::vector<ReplayPage>& pages,
                                                       const ReplayOptions& options);

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_FRESHNESS_BOUND_H_
