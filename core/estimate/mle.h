// The unsignalled change rate of a page and the weight of its signals by maximum likelihood, for
// one source or several. The model is that of the noisy-signals paper (Busa-Fekete et al.,
// docs/model.md).
#ifndef FRESHET_CORE_ESTIMATE_MLE_H_
#define FRESHET_CORE_ESTIMATE_MLE_H_

#include <limits>
#include <span>

#include "absl/container/inlined_vector.h"
#include "core/estimate/estimate.h"
#include "core/estimate/observation.h"

namespace freshet {

// One number per source. Allocates nothing for up to four sources.
using SourceValues = absl::InlinedVector<double, 4>;

// The maximiser (alpha, kappa). Value type, thread-compatible.
struct SignalEstimate {
  double unsignalled_rate = std::numeric_limits<double>::quiet_NaN();  // alpha, per unit of time
  SourceValues signal_weight;                                          // kappa_k, one per source
  EstimateStatus status = EstimateStatus::kNoObservations;
};

// Maximises, over alpha >= 0 and kappa_k >= 0, the log-likelihood of P(z=1) = 1 - e^-s:
//
//   l(alpha, kappa) = sum_{z=1} ln(1 - e^-s_j) - sum_{z=0} s_j,    s_j = alpha tau_j + kappa . n_j
//
// (One paper prints P(z=1) inverted.) l is concave, so a point is the optimum if the gradient there
// is zero or, at a bound, points outward. The cases, in the order in which they are tested:
//
//   kNoObservations  alpha, kappa NaN.
//   kAllUnchanged    alpha = 0, kappa = 0 (l = 0, its largest value).
//   kAllChanged      no finite optimum: alpha infinite, kappa NaN.
//   kNoSignals       kappa NaN, alpha = the one-parameter estimate (cho_gm without smoothing).
//   kKappaInfinite   some source signals in changed intervals, but in no unchanged one: its
//                    kappa is infinite, which explains those intervals completely. The rest is
//                    the optimum of the other observations and sources (alpha = 0 if none of the
//                    other intervals changed).
//   kRidge           n_j is proportional to tau_j in all intervals (one source): the optima form a
//                    segment, and the one with kappa = 0 is taken.
//   kBoundaryKappa0  some kappa_k = 0 (with several sources: whatever alpha is).
//   kBoundaryAlpha0  alpha = 0; possible only if every changed interval has a signal.
//   kInterior        none of these.
// A source without any signal has kappa NaN, and is ignored otherwise.
//
// One source: the two bounds are tried first (one-dimensional roots), then Newton's method in the
// interior. Several sources: Newton's method on the free parameters with an active set. Each step
// is limited so that no s_j falls to 0, and the slope at its end corrects its length. The iteration
// therefore converges from every start. The relative error is about 1e-12 (1e-6 if a parameter is
// within 1e-6 of its bound). Takes about 2 us for one source and 20 observations.
[[nodiscard]] SignalEstimate EstimateMle(const Observations& observations);

// l above at (alpha, kappa). A NaN weight counts as 0; a weight can be infinite. The result is
// -infinity if a changed interval has s_j = 0 or an unchanged one has infinite s_j. Precondition:
// one weight per source, none negative.
[[nodiscard]] double MleLogLikelihood(const Observations& observations, double unsignalled_rate,
                                      std::span<const double> signal_weight);

// The change rate Delta that the estimate implies, with gamma_k = signals/time
// (see core/estimate/signals.h). Infinite for kAllChanged, NaN for kNoObservations.
[[nodiscard]] double MleChangeRate(const Observations& observations,
                                   const SignalEstimate& estimate);

// The profile-likelihood interval of the change rate Delta, with asymptotic coverage 1 - delta. It
// contains every Delta for which some (alpha, kappa, gamma) with this change rate comes within
// LikelihoodDrop(delta) of the maximum of the log-likelihood of changes and signals, l + sum_k
// (N_k ln gamma_k - gamma_k T). The set is an interval, since the log-likelihood is concave and
// Delta is continuous, and it contains MleChangeRate. low = 0 if nothing changed, and
// high = infinity if everything did. The ends are accurate to about 1e-8 relative. Takes about 600
// us for one source and 20 observations, so it is not part of EstimateMle. Precondition:
// 0 < delta < 1.
[[nodiscard]] RateInterval MleChangeRateInterval(const Observations& observations,
                                                 const SignalEstimate& estimate, double delta);

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_MLE_H_
