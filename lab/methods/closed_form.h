// Estimates change rates without iteration: for pages whose changes are all signalled, for equal
// intervals, and as a lower bound.
#ifndef FRESHET_LAB_METHODS_CLOSED_FORM_H_
#define FRESHET_LAB_METHODS_CLOSED_FORM_H_

#include "core/estimate/estimate.h"
#include "core/estimate/observation.h"

namespace freshet {

// Estimates the rate of a page whose changes are all signalled: (U + 0.5)/(T + 0.5), where U is the
// number of signals of all sources, and T the time watched ("Staying up to Date with Online Content
// Changes Using Reinforcement Learning for Scheduling", Kolobov et al., NeurIPS 2019). Ignores
// whether crawls found changes. The rate is always finite and > 0. Without observations it is 1,
// with kNoObservations; otherwise the result has kOk.
[[nodiscard]] RateEstimate EstimateComplete(const Observations& observations);

// Returns the Poisson likelihood-ratio interval of U + 0.5 events in T + 0.5.
[[nodiscard]] RateInterval CompleteInterval(const Observations& observations, double delta);

// For intervals of the same length I: ln(1 + U/S)/I, with U changed and S unchanged intervals. This
// is both the maximum-likelihood and the moment estimate. The result is NaN with kUnequalIntervals
// if lengths differ by more than 1e-9 of the first, 0 with kAllUnchanged, or infinity with
// kAllChanged.
[[nodiscard]] RateEstimate EstimateClosedForm(const Observations& observations);

// Returns the likelihood-ratio interval of EstimateClosedForm; [0, infinity) if that is NaN.
[[nodiscard]] RateInterval ClosedFormInterval(const Observations& observations,
                                              const RateEstimate& estimate, double delta);

// Returns U / sum of all intervals: a lower bound of the maximum-likelihood rate, since a changed
// interval can hide several changes (Frontera's estimate). The result is 0 with kAllUnchanged if
// nothing changed, and NaN with kNoObservations without observations. Otherwise it has kOk, even if
// all intervals changed.
[[nodiscard]] RateEstimate EstimateLowerBound(const Observations& observations);

// Returns the Poisson likelihood-ratio interval of U events in the sum of all intervals. It covers
// the rate of changes that crawls notice, which is below the change rate.
[[nodiscard]] RateInterval LowerBoundInterval(const Observations& observations, double delta);

}  // namespace freshet

#endif  // FRESHET_LAB_METHODS_CLOSED_FORM_H_
