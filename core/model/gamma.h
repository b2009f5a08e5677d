// The regularised incomplete gamma function of whole order, from which every crawl value is made:
// R^i(x) = P(i + 1, x) is the probability that a Poisson variable of mean x exceeds i.
//
// Evaluation. Up to order 32, and far from the diagonal x = a at any order, the smaller of P and Q
// is a sum of positive terms times the Poisson weight, so it is relatively accurate; the larger is
// one minus it. Near the diagonal at higher orders Temme's uniform expansion is used, whose cost
// does not grow with the order. The relative error of the smaller of the two is below 1e-13 down to
// 1e-15 and below 2e-12 above 1e-300; the absolute error is below 1e-15.
#ifndef FRESHET_CORE_MODEL_GAMMA_H_
#define FRESHET_CORE_MODEL_GAMMA_H_

#include <array>

namespace freshet {

// 1/k for 1 <= k <= 48, for sums over counts that a division each would slow down; 0 at k = 0.
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

// P, Q and the Poisson weight for a whole number a >= 1 (up to 1e15) and x >= 0, which may be
// infinite. About 20 to 150 ns.
[[nodiscard]] IncompleteGamma RegularizedGamma(double a, double x);

// R^i(x) for a whole number i >= 0 and x >= 0: 0 at x = 0, 1 at infinity.
[[nodiscard]] inline double RegularizedR(double i, double x) {
  return RegularizedGamma(i + 1, x).lower;
}

// e^-x x^k / k!, the probability of `count` = k events where `mean` = x are expected. count is a
// whole number >= 0, mean >= 0 and may be infinite.
[[nodiscard]] double PoissonWeight(double count, double mean);

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_GAMMA_H_
