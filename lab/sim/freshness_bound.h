// Computes lower bounds of staleness that no policy can undercut in a replay, even if it knows the
// future.
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

// A crawl is useful only as the first after a change c of a page. At time t it gains importance mu
// x (c' - t), with c' the next change, the death of the page or the end. Other crawls do not
// matter. So the best schedule is the heaviest assignment of spans [c, c') to the ticks at which
// crawls come, each to one tick in it. By Lagrangian duality it gains, for any prices l(t) >= 0 of
// the ticks, at most
//
//   sum over ticks of l(t) + sum over spans of max(0, max over ticks t in the span of
//                                                         mu (c' - t) - l(t)),
//
// which holds for every choice of prices; better prices make a sharper bound. Here prices are equal
// within groups of neighbouring ticks. The search begins with one price for all, that of the last
// span for which the crawls suffice (its bound has the best spans, each crawled at once).
// Subgradient steps raise the prices of groups in which more spans want a crawl than there are
// ticks. When steps help no more, groups are split in four. Waits within a group do not count, so
// the bound is loose if only such waits lose freshness.
//
// Exact up to rounding of ticks to microseconds. Errors: see Replay. Cost: some 400 passes
// over the changes, about a second for 50,000.
[[nodiscard]] StatusOr<FreshnessBounds> FreshnessBound(const std::vector<ReplayPage>& pages,
                                                       const ReplayOptions& options);

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_FRESHNESS_BOUND_H_
