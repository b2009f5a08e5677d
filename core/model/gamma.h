// The regularised incomplete gamma function of integer order. All crawl values are built from it:
// R^i(x) = P(i + 1, x) is the probability that a Poisson variable of mean x exceeds i.
//
// Evaluation. Up to order 32, and at any order far from the diagonal x = a, the smaller of P and Q
// is the Poisson weight times a sum of positive terms, so its relative accuracy is high. The larger
// is one minus the smaller. Near the diagonal at higher orders, Temme's uniform expansion is used.
// Its cost does not grow with the order. The relative error of the smaller of the two is below
// 1e-13 for values down to 1e-15, and below 2e-12 for values down to 1e-300. The absolute error is
// below 1e-15.
#ifndef FRESHET_CORE_MODEL_GAMMA_H_
#define FRESHET_CORE_MODEL_GAMMA_H_

#include <array>

namespace freshet {

// kReciprocal[k] is 1/k for 1 <= k <= 48, and 0 for k = 0. Sums over counts multiply by these
// numbers, because divisions are slower.
inline constexpr auto kReciprocal = [] {
  std::array<double, 49> table{};
  for (int k = 1; k <= 48; ++k) table[k] = 1.0 / k;
  return table;
}();

// Value type, thread-compatible. lower + upper = 1.
struct IncompleteGamma {
  double lower = 0;    // P(a, x) = R^(a-1)(x)
  double upper = 0;    // Q(a, x) = e^-x sum_{k<a} x^k/k!
  double density = 0;  // e^-x x^a / a!
};

// P, Q and the Poisson weight for an integer a >= 1 (up to 1e15) and x >= 0, which can be infinite.
// Takes about 20 to 150 ns.
[[nodiscard]] IncompleteGamma RegularizedGamma(double a, double x);

// R^i(x) for an integer i >= 0 and x >= 0. It is 0 at x = 0 and 1 at infinity.
[[nodiscard]] inline double RegularizedR(double i, double x) {
  return RegularizedGamma(i + 1, x).lower;
}

// e^-x x^k / k!: the probability of k = `count` events if x = `mean` are expected. `count` is an
// integer >= 0. `mean` is >= 0 and can be infinite.
[[nodiscard]] double PoissonWeight(double count, double mean);

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_GAMMA_H_
