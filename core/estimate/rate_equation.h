// The likelihood of one rate x when intervals of length a were seen to contain an event or not:
//
//   l(x) = sum_{a in eventful} ln(1 - e^(-a x)) - x quiet,      quiet = total length without event,
//   l'(x) = sum_{a in eventful} a / (e^(a x) - 1) - quiet.
//
// This is the whole of Cho and Garcia-Molina's estimator (a = elapsed time) and every boundary of
// the two-parameter one (a = elapsed time or a = number of signals). l is strictly concave, so the
// root of l' is unique.
#ifndef FRESHET_CORE_ESTIMATE_RATE_EQUATION_H_
#define FRESHET_CORE_ESTIMATE_RATE_EQUATION_H_

#include <cmath>
#include <span>

#include "core/estimate/estimate.h"

namespace freshet {

// 1 / (e^s - 1) for s > 0, relative error below 1e-15; 0 where e^s overflows, infinite at s = 0.
// Below 1/2 the difference cancels, so the Bernoulli series 1/s - 1/2 + s/12 - ... is used: its
// first term left out is below 2e-17 of the value there.
[[nodiscard]] inline double InverseExpm1(double s) {
  if (s >= 0.5) return 1.0 / (std::exp(s) - 1.0);
  const double s2 = s * s;
  const double tail =
      s *
      (1.0 / 12 +
       s2 * (-1.0 / 720 + s2 * (1.0 / 30240 +
                                s2 * (-1.0 / 1209600 +
                                      s2 * (1.0 / 47900160 + s2 * (-691.0 / 1307674368000.0 +
                                                                   s2 * (1.0 / 74724249600.0)))))));
  return 1.0 / s - 0.5 + tail;
}

// The x > 0 with l'(x) = 0, to about 1e-14 relative. 0 when `eventful` is empty; infinite when
// `quiet` is 0 and `eventful` is not. Preconditions: every length > 0, quiet >= 0, all finite.
//
// Newton's method from x0 = ln(1 + A/quiet) U/A, U = number and A = sum of eventful lengths. a ->
// a/(e^(ax) - 1) is convex, so by Jensen x0 is not above the root, and exact for equal lengths; l'
// is convex and falling, so the steps rise to the root and never pass it. Cost: one exponential a
// length and step, three to five steps.
[[nodiscard]] double SolveRateEquation(std::span<const double> eventful, double quiet);

// l(x). -infinity at x = 0 when there is an eventful length; at x = infinity 0 if quiet is 0.
[[nodiscard]] double RateLogLikelihood(std::span<const double> eventful, double quiet, double x);

// All x with l(x) >= max l - drop (an interval, since l is concave), to 1e-10 relative. low = 0
// when `eventful` is empty, high = infinity when `quiet` is 0. `root` = SolveRateEquation of the
// same arguments. Precondition: drop > 0. With drop = LikelihoodDrop(delta), the likelihood-ratio
// interval of asymptotic coverage 1 - delta.
[[nodiscard]] RateInterval RateLikelihoodInterval(std::span<const double> eventful, double quiet,
                                                  double root, double drop);

// Half the (1 - delta) quantile of chi-square with one degree of freedom: by how much the
// log-likelihood may fall inside a likelihood-ratio interval (Wilks). 1.92 for delta = 0.05.
// Precondition: 0 < delta < 1.
[[nodiscard]] double LikelihoodDrop(double delta);

// The likelihood-ratio interval of a Poisson rate after `events` (may be fractional) in `exposure`:
// all x with events ln x - x exposure >= its maximum - drop. Preconditions: events >= 0, exposure
// > 0, drop > 0. To 1e-12 relative.
[[nodiscard]] RateInterval PoissonLikelihoodInterval(double events, double exposure, double drop);

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_RATE_EQUATION_H_
