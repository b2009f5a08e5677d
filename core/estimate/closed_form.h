// Change rates that need no iteration: when every change is signalled, when all intervals are
// equal, and a lower bound.
#ifndef FRESHET_CORE_ESTIMATE_CLOSED_FORM_H_
#define FRESHET_CORE_ESTIMATE_CLOSED_FORM_H_

#include "core/estimate/estimate.h"
#include "core/estimate/observation.h"

namespace freshet {

// Pages whose every change is signalled: (U + 0.5)/(T + 0.5), U = signals of all sources, T = time
// watched ("Staying up to Date with Online Content Changes Using Reinforcement Learning for
// Scheduling", Kolobov et al., NeurIPS 2019). Whether crawls found changes is not used. Always
// finite and > 0; kNoObservations and rate 1 without observations, else kOk.
[[nodiscard]] RateEstimate EstimateComplete(const Observations& observations);

// The Poisson likelihood-ratio interval of U + 0.5 events in T + 0.5.
[[nodiscard]] RateInterval CompleteInterval(const Observations& observations, double delta);

// Intervals that all have the same length I: ln(1 + U/S)/I, U changed and S unchanged intervals.
// It is then both the maximum-likelihood and the moment estimate. kUnequalIntervals and NaN where
// lengths differ by more than 1e-9 of the first; kAllUnchanged and 0; kAllChanged and infinity.
[[nodiscard]] RateEstimate EstimateClosedForm(const Observations& observations);

// The likelihood-ratio interval of EstimateClosedForm; [0, infinity) where that is NaN.
[[nodiscard]] RateInterval ClosedFormInterval(const Observations& observations,
                                              const RateEstimate& estimate, double delta);

// U / sum of all intervals: a lower bound of the maximum-likelihood rate, since an interval that
// changed may hide several changes (Frontera's estimate). kAllUnchanged and 0 when nothing
// changed, kNoObservations and NaN without observations, else kOk (also when all changed).
[[nodiscard]] RateEstimate EstimateLowerBound(const Observations& observations);

// The Poisson likelihood-ratio interval of U events in sum of all intervals. It covers the rate of
// changes that crawls notice, which is below the change rate.
[[nodiscard]] RateInterval LowerBoundInterval(const Observations& observations, double delta);

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_CLOSED_FORM_H_
