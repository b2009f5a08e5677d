// The likelihood of a rate x, if it is known which intervals of length a had an event:
//
//   l(x) = sum_{a in eventful} ln(1 - e^(-a x)) - x quiet,      quiet = total length without event,
//   l'(x) = sum_{a in eventful} a / (e^(a x) - 1) - quiet.
//
// This is all of Cho and Garcia-Molina's estimator (a = elapsed time), and it is each boundary case
// of the two-parameter estimator (a = elapsed time or a = number of signals). l is strictly
// concave, so the root of l' is unique.
#ifndef FRESHET_CORE_ESTIMATE_RATE_EQUATION_H_
#define FRESHET_CORE_ESTIMATE_RATE_EQUATION_H_

#include <cmath>
#include <span>

#include "core/estimate/estimate.h"

namespace freshet {

// 1 / (e^s - 1) for s > 0, with a relative error below 1e-15. 0 if e^s overflows, infinite at
// s = 0. Below 1/2, where the difference cancels, the Bernoulli series 1/s - 1/2 + s/12 - ... is
// used. Its first omitted term is below 2e-17 of the value there.
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

// The x > 0 with l'(x) = 0, to about 1e-14 relative. It is 0 if `eventful` is empty, and infinite
// if `quiet` is 0 and `eventful` is not empty. Preconditions: every length > 0, quiet >= 0, all
// finite.
//
// Newton's method starts from x0 = ln(1 + A/quiet) U/A, where U is the number and A the sum of the
// eventful lengths. The function a -> a/(e^(ax) - 1) is convex, so by Jensen's inequality x0 is not
// above the root, and it is exact for equal lengths. l' is convex and falling, so the steps rise to
// the root and never pass it. Takes one exponential per length and step, and three to five steps.
[[nodiscard]] double SolveRateEquation(std::span<const double> eventful, double quiet);

// l(x). It is -infinity at x = 0 if there is an eventful length, and 0 at x = infinity if quiet is
// 0.
[[nodiscard]] double RateLogLikelihood(std::span<const double> eventful, double quiet, double x);

// All x with l(x) >= max l - drop, to 1e-10 relative; an interval, since l is concave. low = 0 if
// `eventful` is empty, and high = infinity if `quiet` is 0. `root` must be SolveRateEquation of the
// same arguments. Precondition: drop > 0. If drop = LikelihoodDrop(delta), this is the
// likelihood-ratio interval with asymptotic coverage 1 - delta.
[[nodiscard]] RateInterval RateLikelihoodInterval(std::span<const double> eventful, double quiet,
                                                  double root, double drop);

// Half the (1 - delta) quantile of the chi-square distribution with one degree of freedom: how far
// the log-likelihood falls below its maximum in a likelihood-ratio interval (Wilks). It is 1.92 for
// delta = 0.05. Precondition: 0 < delta < 1.
[[nodiscard]] double LikelihoodDrop(double delta);

// The likelihood-ratio interval of a Poisson rate after `events` (possibly fractional) in
// `exposure`: all x with events ln x - x exposure >= its maximum - drop, to 1e-12 relative.
// Preconditions: events >= 0, exposure > 0, drop > 0.
[[nodiscard]] RateInterval PoissonLikelihoodInterval(double events, double exposure, double drop);

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_RATE_EQUATION_H_
