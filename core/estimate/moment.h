// The moment-matching change rate of "Learning to Crawl" (Upadhyay, Busa-Fekete, Kotlowski, Pal,
// Szorenyi, AAAI 2020), with its confidence interval. Signals are ignored.
#ifndef FRESHET_CORE_ESTIMATE_MOMENT_H_
#define FRESHET_CORE_ESTIMATE_MOMENT_H_

#include <limits>

#include "core/estimate/estimate.h"
#include "core/estimate/observation.h"

namespace freshet {

// The range that rates are known to lie in, xi_min <= xi <= xi_max. Value type, thread-compatible.
struct RateBounds {
  double min = 0;
  double max = std::numeric_limits<double>::infinity();
};

// The root xi of p = (1/N) sum_i e^(-xi tau_i), p = share of intervals without change, clipped to
// [bounds.min, bounds.max]. Equation (6) of the paper with o = 1 for changed; as printed, equation
// (1) has o the other way round. Relative error below 1e-14, however close p is to 0 or 1 and
// however different the lengths are: a test holds it to 4e-15. Some ten to twenty passes over the
// intervals.
//
// p = 0 (all changed): the root is infinite, so bounds.max with kAllChanged; p = 1: the root is 0,
// so bounds.min with kAllUnchanged; else kOk, kClippedLow or kClippedHigh. NaN without
// observations. Precondition: 0 <= min <= max.
[[nodiscard]] RateEstimate EstimateMoment(const Observations& observations, RateBounds bounds = {});

// Half-width of Lemma 3: with probability at least 1 - delta the clipped estimate is off by no more
// than (mean_i tau_i e^(-xi_max tau_i))^-1 sqrt(ln(2/delta) / (2 N)). Infinite when that
// overflows, in particular for bounds.max = infinity, and without observations. It comes from
// Hoeffding's inequality and is usually wider than [xi_min, xi_max] itself: report it, do not plan
// with it. Precondition: 0 < delta < 1.
[[nodiscard]] double MomentHalfWidth(const Observations& observations, RateBounds bounds,
                                     double delta);

// estimate +- MomentHalfWidth, cut at 0 below.
[[nodiscard]] RateInterval MomentInterval(const Observations& observations,
                                          const RateEstimate& estimate, RateBounds bounds,
                                          double delta);

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_MOMENT_H_
