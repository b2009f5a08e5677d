// V_ncis of one signal source, at a bounded cost for any number of terms of its sums.
//
// The formulas are in units of mu/gamma. F_i and P_i = P(i + 1, c (s - i kappa)) are those of
// core/model/signal_term.h, and w_i = r^i q^(i+1), b = gamma beta = c kappa, N = floor(s/kappa).
// Then
//
//   V(s)       = sum_{i<=N} r^i F_i(s - i kappa)
//   V(inf) - V = sum_{i<=N} [w_i Q(i + 1, X_i) + e^-s P_i] + sum_{i>N} w_i      (the shortfall)
//
// All terms of both sums are positive. For s >= 1/4, V is computed as the ceiling minus the
// shortfall, and for smaller s as the first sum. The subtraction magnifies the rounding error by at
// most a factor of 450, because V/s^2 is nonincreasing and V(5) > 0.9 ceiling. The largest factor
// found is 40. From s = 60 on, V equals its ceiling to within rounding. The reason is that the
// shortfall is below 2 (s + 2) e^-s V(inf) or, for J terms, below J (2s + 3) e^-s V(inf).
//
// Number of terms. Three methods keep it bounded:
//   - Closed form, for s >= closed_from. psi has the Laplace transform 1/(theta phi(theta)),
//     phi(theta) = theta + c (1 - e^(-kappa theta)). With m = 1 + b, A = c kappa^2/(2 m^2) and the
//     zeros theta_k = z_k/kappa of phi, z_k = W_k(b e^b) - b,
//         alpha psi(s/alpha) = s/m + A + 2 Re sum_k kappa e^(z_k N)/(z_k (1 + b + z_k)),  N =
//         s/kappa,
//     and V is the integral of e^-u psi. Pole k contributes less than 2 e^(-27)/(pi k N)^2 < 2e-14
//     of V once -Re(z_k) N >= 27. This holds for all k if N >= 6 + 12.5 b + 1.37 b^2 or, for
//     b >= 1/2, if N >= 9 + 7.5 b + 1.375 b^2. It holds for k > 4 if N >= 9 + 1.05 b + 0.055 b^2. A
//     test compares these bounds with the zeros. The first four pairs of poles are added if needed.
//     In that case N is at least 24, so -Re(z_k) N >= 24 suffices.
//   - At most 24 terms: each is a finite sum over counts.
//   - Otherwise: P_i is 1 to within 1e-13 for i < I0, and 0 for i >= I1. At these indexes the mean
//     c (s - i kappa) is 7.5 standard deviations from i (Chernoff's bound). The sums outside
//     [I0, I1) are geometric. At most 15 sqrt(N b/(1 + b))/(1 + b) + 2 < 10 terms remain, because
//     N > 24 is below the bound of the closed form. Each takes a pair of incomplete gamma
//     functions.
#ifndef FRESHET_CORE_MODEL_NCIS_VALUE_H_
#define FRESHET_CORE_MODEL_NCIS_VALUE_H_

#include "core/model/crawl_value.h"

namespace freshet {

// Up to this many terms are summed one by one.
inline constexpr double kMaxShortCount = 24;

// V_ncis at one s, with the terms that its derivatives and its inverse need. Value type,
// thread-compatible.
struct NcisPoint {
  double value = 0;      // V
  double shortfall = 0;  // ceiling - V, relatively accurate for s >= 1/4
  double decay = 0;      // e^-s
  double reached = 0;    // sum P_i = gamma psi; dV/ds = scale e^-s reached
  double density = 0;    // d reached/d(c s): sum of Poisson weights of i at c (s - i kappa)
  double turn = 0;       // derivative of density in c s
};

// Precondition: page.shape is kNcis, and s is finite and >= 0. Takes about 20 ns for one term, 100
// ns for three, and always less than 2 us.
[[nodiscard]] NcisPoint EvaluateNcis(const ValueParameters& page, double s);

// m (1/phi(1) - 1/m - A), computed without cancellation of its leading parts. The closed form
// without poles is V = (mu/alpha)/m (ClosedConstant + R^1(s) + m A (1 - e^-s)). Precondition:
// page.shape is kNcis.
[[nodiscard]] double ClosedConstant(const ValueParameters& page);

// The closed form adds up at most this many pairs of poles.
inline constexpr int kMaxPoles = 4;
// The poles of one page that have been computed so far. Repeated evaluations of the page reuse
// them. Value type, thread-compatible.
struct NcisPoles {
  int known = 0;
  double real[kMaxPoles];
  double imaginary[kMaxPoles];
};
// Like EvaluateNcis above, but reuses the poles in `poles` and adds new ones. Pass an empty
// NcisPoles to the first call for a page.
[[nodiscard]] NcisPoint EvaluateNcis(const ValueParameters& page, double s, NcisPoles& poles);

// EvaluateNcis with only the term i = 0. Precondition: s < page.weight, or the page has one term.
[[nodiscard]] NcisPoint EvaluateFirstTerm(const ValueParameters& page, double s);

// The effect of the threshold policy that crawls a page as soon as its staleness reaches s.
// `interval` is psi, `fresh_time` is w, and `crawl_rate` is 1/psi. Infinite s gives an infinite
// interval. The rates are as for MakeValueParameters, with alpha > 0 or s > 0. As alpha -> 0, psi
// approaches steps at the multiples of kappa, and rounding can put s on either side of a step.
struct ThresholdOutcome {
  double interval = 0;
  double fresh_time = 0;
  double crawl_rate = 0;
};
[[nodiscard]] ThresholdOutcome EvaluateThreshold(const PageRates& rates, double s);

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_NCIS_VALUE_H_
