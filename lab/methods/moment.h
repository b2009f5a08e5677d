// The moment-matching change rate of "Learning to Crawl" (Upadhyay, Busa-Fekete, Kotlowski, Pal,
// Szorenyi, AAAI 2020), with its confidence interval. Ignores signals.
#ifndef FRESHET_LAB_METHODS_MOMENT_H_
#define FRESHET_LAB_METHODS_MOMENT_H_

#include <limits>

#include "core/estimate/estimate.h"
#include "core/estimate/observation.h"

namespace freshet {

// The known range of rates, xi_min <= xi <= xi_max. Value type, thread-compatible.
struct RateBounds {
  double min = 0;
  double max = std::numeric_limits<double>::infinity();
};

// Returns the root xi of p = (1/N) sum_i e^(-xi tau_i), p = share of unchanged intervals, clipped
// to [bounds.min, bounds.max]. Equation (6) of the paper with o = 1 for changed; equation (1) as
// printed has o reversed. Relative error below 1e-14, however close p is to 0 or 1 and however
// different the lengths are: a test holds it to 4e-15. Takes some ten to twenty passes over the
// intervals.
//
// If p is 0 (all changed), the root is infinite, and the result is bounds.max with kAllChanged. If
// p is 1, the root is 0, and the result is bounds.min with kAllUnchanged. Otherwise the status is
// kOk, kClippedLow or kClippedHigh. Without observations, the result is NaN.
//
// Precondition: 0 <= min <= max.
[[nodiscard]] RateEstimate EstimateMoment(const Observations& observations, RateBounds bounds = {});

// Returns the half-width of Lemma 3. With probability at least 1 - delta the error of the clipped
// estimate is at most (mean_i tau_i e^(-xi_max tau_i))^-1 sqrt(ln(2/delta) / (2 N)). The half-width
// is infinite without observations, and if this expression overflows, in particular if bounds.max
// is infinite. The bound comes from Hoeffding's inequality and is usually wider than [xi_min,
// xi_max] itself: report it, do not plan with it. Precondition: 0 < delta < 1.
[[nodiscard]] double MomentHalfWidth(const Observations& observations, RateBounds bounds,
                                     double delta);

// Returns the interval estimate +- MomentHalfWidth, but not below 0.
[[nodiscard]] RateInterval MomentInterval(const Observations& observations,
                                          const RateEstimate& estimate, RateBounds bounds,
                                          double delta);

}  // namespace freshet

#endif  // FRESHET_LAB_METHODS_MOMENT_H_
