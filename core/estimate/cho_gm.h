// The change rate of a page by Cho and Garcia-Molina ("Estimating frequency of change", 2003):
// maximum likelihood of one Poisson rate from intervals in which the page was seen to change or
// not, with imaginary observations that keep it finite. Signals are ignored.
#ifndef FRESHET_CORE_ESTIMATE_CHO_GM_H_
#define FRESHET_CORE_ESTIMATE_CHO_GM_H_

#include "core/estimate/estimate.h"
#include "core/estimate/observation.h"

namespace freshet {

// Length of the imaginary intervals in the papers, in the observations' unit of time.
inline constexpr double kChoGmSmoothing = 0.5;

// The root x of
//
//   sum_{z=1} a/(e^(a x) - 1) + h/(e^(h x) - 1) = sum_{z=0} a + h,      h = `smoothing`,
//
// which is the maximum-likelihood rate with one imaginary interval of length h of each kind added;
// h = 0 is plain maximum likelihood. Relative error about 1e-14.
//
// h > 0: always finite and > 0; ln(2)/h and kNoObservations without observations, else kOk. h is a
// time, so it is a prior that says "about once in 1.44 h": give it in the scale of the crawl
// intervals (0.5 is meant for days). h = 0: 0 and kAllUnchanged, infinity and kAllChanged, NaN and
// kNoObservations.
// Precondition: smoothing finite and >= 0. Cost: about 1.5 us for 20 observations.
[[nodiscard]] RateEstimate EstimateChoGm(const Observations& observations,
                                         double smoothing = kChoGmSmoothing);

// The likelihood-ratio interval of the rate, of asymptotic coverage 1 - delta, from the same
// (smoothed) likelihood; it contains `estimate`, which EstimateChoGm gave for the same arguments.
// Precondition: 0 < delta < 1.
[[nodiscard]] RateInterval ChoGmInterval(const Observations& observations,
                                         const RateEstimate& estimate, double delta,
                                         double smoothing = kChoGmSmoothing);

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_CHO_GM_H_
