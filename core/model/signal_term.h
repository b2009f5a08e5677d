// One term of the sums that make up the value under noisy signals, computed without cancellation.
#ifndef FRESHET_CORE_MODEL_SIGNAL_TERM_H_
#define FRESHET_CORE_MODEL_SIGNAL_TERM_H_

namespace freshet {

// Rates of a page relative to each other. c = gamma/alpha can be infinite (no unsignalled change),
// but not zero. Value type, thread-compatible. Invariant: share + unsignalled = 1 and
// odds = share/unsignalled, each to full relative accuracy.
struct SignalOdds {
  double odds = 0;         // c = gamma/alpha
  double share = 0;        // q = gamma/(alpha + gamma)
  double unsignalled = 0;  // p = alpha/(alpha + gamma)
};

// Value type, thread-compatible.
struct SignalTerm {
  double fresh = 0;    // F_i(v)
  double reached = 0;  // P(i + 1, c v)
};

// F_i(v) = Integral_0^v e^-u P(i + 1, c u) du = q^(i+1) P(i + 1, X) - e^-v P(i + 1, c v) with
// X = (1 + c) v, for an integer i >= 0 and v >= 0. If unsignalled changes come at rate 1 and
// signals at rate c, F_i(v) is the probability that i + 1 signals come first and then a change, all
// within v. With F_i,
//
//   V_ncis = (mu/gamma) sum_i r^i F_i(s - i kappa),   psi = sum_i P(i + 1, c (s - i kappa))/gamma.
//
// The difference cancels if X is small (both terms are nearly equal), if c is small
// (F is proportional to c), or if v is small (F is proportional to v). Evaluation:
//   X < 0.3 or c v < 0.6 (i + 1)   v e^-v w/(i+2) sum_m D_m X^m/((i+3)...(i+2+m)), all positive,
//                                  w = Poisson weight of i + 1 at c v, D_m = 1 + q + ... + q^m
//   c < 1/5                        p sum_{j>i} q^j P(j + 1, X), all positive
//   i < 32                         (1 - e^-v) - p (D_i - sum_{k<=i} weight_k(X) q^k D_(i-k)): each
//                                  part is of the size of v
//   else, v < 1/4                  Taylor series of e^-u times P(i + 1, c u), term by term
//   else                           the difference above
// The absolute error is below 1e-14 F_0(v + i kappa) for every kappa >= 0. The relative error of
// F_0 is below 2e-14. Takes 20 to 300 ns.
[[nodiscard]] SignalTerm EvaluateSignalTerm(const SignalOdds& odds, double i, double v);

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_SIGNAL_TERM_H_
