// V_ncis of one signal source at bounded cost, whatever the number of terms of its sums.
//
// In units of mu/gamma, with F_i and P_i = P(i + 1, c (s - i kappa)) of core/model/signal_term.h,
// w_i = r^i q^(i+1), b = gamma beta = c kappa and N = floor(s/kappa),
//
//   V(s)       = sum_{i<=N} r^i F_i(s - i kappa)
//   V(inf) - V = sum_{i<=N} [w_i Q(i + 1, X_i) + e^-s P_i] + sum_{i>N} w_i      (the shortfall)
//
// and all terms of both are positive. From s = 1/4 on V is taken as ceiling minus shortfall; below,
// as the first sum. The difference loses at most a factor 450 of the rounding error, because V/s^2
// is nonincreasing and V(5) > 0.9 ceiling; a factor 40 is the worst that was found. V is within
// rounding of its ceiling from s = 60 on: the shortfall is below 2 (s + 2) e^-s V(inf), and below
// J (2s + 3) e^-s V(inf) for J terms.
//
// Number of terms. Three evaluations bound it:
//  - Closed form, s >= closed_from. psi has the Laplace transform 1/(theta phi(theta)),
//    phi(theta) = theta + c (1 - e^(-kappa theta)). With m = 1 + b, A = c kappa^2/(2 m^2) and the
//    zeros theta_k = z_k/kappa of phi, z_k = W_k(b e^b) - b,
//        alpha psi(s/alpha) = s/m + A + 2 Re sum_k kappa e^(z_k N)/(z_k (1 + b + z_k)),  N =
//        s/kappa,
//    and V is the integral of e^-u psi. The share of pole k in V is below
//    2 e^(-27)/(pi k N)^2 < 2e-14 once -Re(z_k) N >= 27: for all k when N >= 6 + 12.5 b + 1.37 b^2
//    or, b >= 1/2, N >= 9 + 7.5 b + 1.375 b^2; for k > 4 when N >= 9 + 1.05 b + 0.055 b^2. A test
//    compares these with the roots. The first four pairs are added where needed (N >= 24 there, so
//    that 24 does for 27).
//  - At most 24 terms: each by a finite sum over counts.
//  - Between: P_i is 1 to within 1e-13 for i < I0 and 0 for i >= I1, where the mean c (s - i kappa)
//    is 7.5 standard deviations from i (Chernoff's bound); those parts are geometric sums. The rest
//    left are at most 15 sqrt(N b/(1 + b))/(1 + b) + 2 < 10 terms, because N > 24 is below the
//    bound above; each is a pair of incomplete gamma functions.
#ifndef FRESHET_CORE_MODEL_NCIS_VALUE_H_
#define FRESHET_CORE_MODEL_NCIS_VALUE_H_

#include "core/model/crawl_value.h"

namespace freshet {

// More terms than this are not summed one by one.
inline constexpr double kMaxShortCount = 24;

// V_ncis at one s, with the terms that its derivatives and its inverse need. Value type,
// thread-compatible.
struct NcisPoint {
  double value = 0;      // V
  double shortfall = 0;  // ceiling - V, relatively accurate for s >= 1/4
  double decay = 0;      // e^-s
  double reached = 0;    // sum P_i = gamma psi; dV/ds = scale e^-s reached
  double density = 0;    // d reached/d(c s): sum of Poisson weights of i at c (s - i kappa)
  double turn = 0;       // the derivative of density by c s
};

// Precondition: page.shape is kNcis and s is finite and >= 0. About 20 ns for one
// term, 100 ns for three and below 2 us always.
[[nodiscard]] NcisPoint EvaluateNcis(const ValueParameters& page, double s);

// m (1/phi(1) - 1/m - A), where the leading parts cancel: the closed form without poles is
// (mu/alpha)/m (ClosedConstant + R^1(s) + m A (1 - e^-s)). Precondition: page.shape is kNcis.
[[nodiscard]] double ClosedConstant(const ValueParameters& page);

// The closed form adds up at most this many pairs of poles.
inline constexpr int kMaxPoles = 4;
// The poles of one page found so far, for many evaluations of it. Value type, thread-compatible.
struct NcisPoles {
  int known = 0;
  double real[kMaxPoles];
  double imaginary[kMaxPoles];
};
// EvaluateNcis with poles: `poles` is empty at first and then kept for this page.
[[nodiscard]] NcisPoint EvaluateNcis(const ValueParameters& page, double s, NcisPoles& poles);

// EvaluateNcis if s < page.weight or the page has one term: the term i = 0 alone.
[[nodiscard]] NcisPoint EvaluateFirstTerm(const ValueParameters& page, double s);

// The effect of the threshold policy that crawls as soon as the staleness reaches s (alpha > 0 or s
// > 0; rates as for MakeValueParameters). `interval` is psi, `fresh_time` is w, `crawl_rate` is
// 1/psi. Infinite s gives an infinite interval. Where alpha -> 0, psi has steps at the multiples of
// kappa, and rounding may put s on either side of a step.
struct ThresholdOutcome {
  double interval = 0;
  double fresh_time = 0;
  double crawl_rate = 0;
};
[[nodiscard]] ThresholdOutcome EvaluateThreshold(const PageRates& rates, double s);

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_NCIS_VALUE_H_
