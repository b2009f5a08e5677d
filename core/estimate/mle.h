// The unsignalled change rate of a page and the weight of its signals by maximum likelihood: the
// model of the noisy-signals paper (Busa-Fekete et al., docs/model.md), one source or several.
#ifndef FRESHET_CORE_ESTIMATE_MLE_H_
#define FRESHET_CORE_ESTIMATE_MLE_H_

#include <limits>
#include <span>

#include "absl/container/inlined_vector.h"
#include "core/estimate/estimate.h"
#include "core/estimate/observation.h"

namespace freshet {

// One number a source; no allocation for up to four.
using SourceValues = absl::InlinedVector<double, 4>;

// The maximiser (alpha, kappa). Value type, thread-compatible.
struct SignalEstimate {
  double unsignalled_rate = std::numeric_limits<double>::quiet_NaN();  // alpha, per unit of time
  SourceValues signal_weight;                                          // kappa_k, one a source
  EstimateStatus status = EstimateStatus::kNoObservations;
};

// Maximises, over alpha >= 0 and kappa_k >= 0, the log-likelihood of P(z=1) = 1 - e^-s:
//
//   l(alpha, kappa) = sum_{z=1} ln(1 - e^-s_j) - sum_{z=0} s_j,    s_j = alpha tau_j + kappa . n_j
//
// (one paper prints P(z=1) inverted). l is concave, so a point where the gradient vanishes, or
// points outward at a bound, is the optimum. Cases, in this order:
//
//   kNoObservations  alpha, kappa NaN.
//   kAllUnchanged    alpha = 0, kappa = 0 (l = 0, its largest value).
//   kAllChanged      no finite optimum: alpha infinite, kappa NaN.
//   kNoSignals       kappa NaN, alpha = the one-parameter estimate (cho_gm without smoothing).
//   kKappaInfinite   some source signals in changed intervals and never in an unchanged one: its
//                    kappa is infinite, which explains those intervals wholly; the rest is the
//                    optimum of the other observations and sources (alpha = 0 if no changed one
//                    is left).
//   kRidge           n_j proportional to tau_j throughout (one source): a segment of optima, of
//                    which kappa = 0 is taken.
//   kBoundaryKappa0  some kappa_k = 0 (of several sources: whatever alpha is).
//   kBoundaryAlpha0  alpha = 0; possible only if every changed interval has a signal.
//   kInterior        none of these.
// A source without any signal has kappa NaN and otherwise does not matter.
//
// One source: the two bounds are tried first (one-dimensional roots), else a Newton iteration in
// the interior. Several: Newton on the free parameters with an active set. Each step is limited so
// that no s_j falls to 0, and the slope at its end corrects its length. So the iteration converges
// from every start. Relative error about 1e-12 (1e-6 where a parameter is within 1e-6 of its
// bound). Cost for one source and 20 observations: about 2 us.
[[nodiscard]] SignalEstimate EstimateMle(const Observations& observations);

// l above at (alpha, kappa); a NaN weight counts as 0, an infinite one is allowed. -infinity where
// a changed interval has s_j = 0 or an unchanged one s_j infinite. Precondition: one weight a
// source, none negative.
[[nodiscard]] double MleLogLikelihood(const Observations& observations, double unsignalled_rate,
                                      std::span<const double> signal_weight);

// The change rate Delta that the estimate stands for, with gamma_k = signals/time (see
// core/estimate/signals.h); infinite for kAllChanged, NaN for kNoObservations.
[[nodiscard]] double MleChangeRate(const Observations& observations,
                                   const SignalEstimate& estimate);

// The profile-likelihood interval of the change rate Delta, of asymptotic coverage 1 - delta: every
// Delta for which some (alpha, kappa, gamma) with that change rate has a log-likelihood of changes
// and signals, l + sum_k (N_k ln gamma_k - gamma_k T), of at least its maximum less
// LikelihoodDrop(delta). The set is an interval, since the log-likelihood is concave and Delta
// continuous; it contains MleChangeRate. low = 0 when nothing changed, high = infinity when
// everything did. Ends to about 1e-8 relative. Cost: about 600 us for one source and 20
// observations, so it is not part of EstimateMle. Precondition: 0 < delta < 1.
[[nodiscard]] RateInterval MleChangeRateInterval(const Observations& observations,
                                                 const SignalEstimate& estimate, double delta);

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_MLE_H_
