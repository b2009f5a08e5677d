#include "core/model/signal_term.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/model/gamma.h"

namespace freshet {
namespace {

// From this order on, terms use the incomplete gamma function directly, not a finite sum.
constexpr double kFirstHighOrder = 32;
static_assert(kReciprocal.size() > kFirstHighOrder);
// From this x on, Q(k, x) for k <= 32 is below 1e-20.
constexpr double kSaturatedArgument = 120;
constexpr double kSmallMean = 0.3;
constexpr double kSmallStaleness = 0.25;

// A series of positive terms for small means. The weight of i + 1 events at c v is a common factor
// of F_i and P(i + 1, c v).
SignalTerm SmallMeanTerm(const SignalOdds& odds, double i, double v) {
  const double x = odds.odds * v;
  const double mean = x + v;
  const double weight = PoissonWeight(i + 1, x);
  double term = 1;
  double d = 1;
  double fresh = 1;
  for (double k = i + 3; term * d > 1e-17 * fresh; ++k) {
    term *= mean / k;
    d = 1 + odds.share * d;
    fresh += term * d;
  }
  double reached = 1;
  term = 1;
  for (double k = i + 2; term > 1e-17 * reached; ++k) {
    term *= x / k;
    reached += term;
  }
  return {v * std::exp(-v) * weight / (i + 2) * fresh, weight * reached};
}

// p sum_{j>i} q^j P(j + 1, X) for small q.
SignalTerm SmallShareTerm(const SignalOdds& odds, double i, double v) {
  const double mean = odds.odds * v + v;
  double lower = RegularizedR(i + 1, mean);
  double weight = PoissonWeight(i + 2, mean);
  double power = odds.unsignalled * std::pow(odds.share, i + 1);
  double sum = 0;
  for (double j = i + 1; power * lower > 1e-17 * sum; ++j) {
    sum += power * lower;
    lower = std::max(0.0, lower - weight);
    weight *= mean / (j + 2);
    power *= odds.share;
  }
  return {sum, RegularizedR(i, odds.odds * v)};
}

// The finite sum. t_k = weight_k(X) q^k, and U_i = sum_{k<=i} t_k D_(i-k) obeys
// U_i = q U_(i-1) + sum_{k<=i} t_k.
SignalTerm LowOrderTerm(const SignalOdds& odds, int order, double v) {
  const double x = odds.odds * v;
  const double lapse = -std::expm1(-v);
  double d = 1;
  double u = 0;
  double upper = 0;  // Q(i + 1, c v)
  if (x < kSaturatedArgument) {
    double weight = std::exp(-x);
    upper = weight;
    u = upper;
    for (int k = 1; k <= order; ++k) {
      weight *= x * kReciprocal[k];
      upper += weight;
      u = odds.share * u + upper;
      d = 1 + odds.share * d;
    }
    u *= std::exp(-v);
  } else {
    for (int k = 1; k <= order; ++k) d = 1 + odds.share * d;
  }
  return {std::max(0.0, lapse - odds.unsignalled * (d - u)), 1 - upper};
}

// sum_k (-1)^k/k! M_k with M_k = Integral_0^v u^k P(a, c u) du
//     = (v^(k+1) P(a, x) - (a)_(k+1) c^-(k+1) P(a + k + 1, x))/(k + 1), x = c v.
double MomentSeries(double a, double v, double x, const IncompleteGamma& gamma) {
  double lower = gamma.lower;     // P(a + k + 1, x)
  double weight = gamma.density;  // the density of a + k
  double ratio = 1;               // (a)_(k+1) / x^(k+1)
  double factor = 1;              // (-1)^k v^(k+1)/k!
  double sum = 0;
  for (int k = 0; k < 16; ++k) {
    lower -= weight;
    ratio *= (a + k) / x;
    weight *= x / (a + k + 1);
    factor *= k == 0 ? v : -v / k;
    const double term = factor * (gamma.lower - ratio * lower) / (k + 1);
    sum += term;
    if (std::abs(term) < 1e-17 * sum) break;
  }
  return std::max(0.0, sum);
}

SignalTerm HighOrderTerm(const SignalOdds& odds, double i, double v) {
  const double a = i + 1;
  const double x = odds.odds * v;
  if (std::isinf(x)) return {-std::expm1(-v), 1};
  const IncompleteGamma gamma = RegularizedGamma(a, x);
  if (v < kSmallStaleness) return {MomentSeries(a, v, x, gamma), gamma.lower};
  const double power = std::exp(-a * std::log1p(1 / odds.odds));  // q^a
  const double first = power * RegularizedR(i, x + v);
  return {std::max(0.0, first - std::exp(-v) * gamma.lower), gamma.lower};
}

}  // namespace

SignalTerm EvaluateSignalTerm(const SignalOdds& odds, double i, double v) {
  DCHECK(odds.odds > 0 && i >= 0 && v >= 0);
  if (v == 0) return {};
  const double x = odds.odds * v;
  if (x + v < kSmallMean || (i >= kFirstHighOrder && x < 0.6 * (i + 1))) {
    return SmallMeanTerm(odds, i, v);
  }
  if (odds.odds < 0.2) return SmallShareTerm(odds, i, v);
  if (i < kFirstHighOrder) return LowOrderTerm(odds, static_cast<int>(i), v);
  return HighOrderTerm(odds, i, v);
}

}  // namespace freshet
