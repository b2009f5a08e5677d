#include "core/model/gamma.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/check.h"

namespace freshet {
namespace {

constexpr double kTwoPi = 6.283185307179586476925;
// Up to this order, sums over counts are short enough to add term by term.
constexpr double kMaxSummedOrder = 32;
static_assert(kReciprocal.size() > kMaxSummedOrder);
// From this argument on, e^-x x^a and a! can leave the range of double, so the weight is computed
// through logarithms.
constexpr double kMaxDirectArgument = 600;

// Taylor coefficients in eta of 1/(lambda - 1) - 1/eta with eta^2/2 = lambda - 1 - ln lambda
// (Temme 1979; DLMF 8.12.12). Their radius of convergence is 2 sqrt(pi) = 3.54. Here |eta| stays
// below 1.05, so 31 coefficients give 1e-17.
constexpr std::array<double, 31> kTemme = {
    -0.3333333333333333,     0.08333333333333333,     -0.014814814814814815,
    0.0011574074074074073,   0.0003527336860670194,   -0.0001787551440329218,
    3.919263178522438e-05,   -2.185448510679992e-06,  -1.85406221071516e-06,
    8.296711340953087e-07,   -1.7665952736826078e-07, 6.707853543401498e-09,
    1.0261809784240309e-08,  -4.382036018453353e-09,  9.14769958223679e-10,
    -2.5514193994946248e-11, -5.830772132550426e-11,  2.4361948020667415e-11,
    -5.0276692801141755e-12, 1.1004392031956135e-13,  3.371763262400985e-13,
    -1.392388722418162e-13,  2.8534893807047445e-14,  -5.139111834242572e-16,
    -1.9752288294349442e-15, 8.099521156704561e-16,   -1.6522531216398162e-16,
    2.5305430097478883e-18,  1.1686939738559576e-17,  -4.770037049820485e-18,
    9.699126059056237e-19,
};

// mu - ln(1 + mu) for mu = (x - a)/a, without cancellation for small or large mu. Near zero, with
// r = mu/(2 + mu), it is r (mu - 2 r^2 (1/3 + r^2/5 + r^4/7 + ...)).
double LogDefect(double a, double x) {
  const double mu = (x - a) / a;
  if (std::abs(mu) > 0.4) return mu - std::log(x / a);
  const double r = mu / (2 + mu);
  const double r2 = r * r;
  double sum = 0;
  for (int k = 27; k >= 3; k -= 2) sum = sum * r2 + 1.0 / k;
  return r * (mu - 2 * r2 * sum);
}

// Gamma(a + 1) e^a a^-a / sqrt(2 pi a) for a >= 16, by Stirling's series. The first omitted term is
// below 1e-18.
double StirlingFactor(double a) {
  const double z = 1 / (a * a);
  const double series =
      (1.0 / 12 -
       z * (1.0 / 360 -
            z * (1.0 / 1260 - z * (1.0 / 1680 - z * (1.0 / 1188 - z * (691.0 / 360360)))))) /
      a;
  return std::exp(series);
}

// P(a, x) = weight sum_{k>=0} x^k / ((a + 1) ... (a + k)). All terms are positive. For x <= a.
double LowerSeries(double a, double x, double weight) {
  double term = 1;
  double sum = 1;
  for (double k = a + 1; term > 1e-17 * sum; ++k) {
    term *= x / k;
    sum += term;
  }
  return weight * sum;
}

// Q(a, x) = weight (a/x) (1 + (a-1)/x + (a-1)(a-2)/x^2 + ...). The sum is finite for integer a, and
// all terms are positive. For x > a.
double UpperSum(double a, double x, double weight) {
  double term = a / x;
  double sum = term;
  for (double k = a - 1; k >= 1 && term > 1e-17 * sum; --k) {
    term *= k / x;
    sum += term;
  }
  return weight * sum;
}

// Temme's uniform asymptotic expansion: Q = erfc(eta sqrt(a/2))/2 + R, where
// R = e^(-a eta^2/2)/sqrt(2 pi a) S(eta). The derivative of Q with respect to eta gives the
// equation eta S = f/G - 1 + S'/a, where f = eta/(lambda - 1) and G is Stirling's factor.
// Therefore a backward recursion yields the Taylor coefficients of S G. At eta = 0, the equation
// also gives G.
IncompleteGamma NearDiagonal(double a, double x) {
  const double eta = std::copysign(std::sqrt(2 * LogDefect(a, x)), x - a);
  const double inverse = 1 / a;
  // Terms fall at least as fast as (|eta|/3.5)^n. If eta is small, high orders are skipped.
  const int terms = std::abs(eta) < 0.1   ? 13
                    : std::abs(eta) < 0.4 ? 20
                                          : static_cast<int>(kTemme.size());
  double after_next = 0;
  double next = 0;
  double series = 0;
  for (int n = terms - 1; n >= 0; --n) {
    const double current = kTemme[n] + (n + 2) * inverse * after_next;
    series = series * eta + current;
    after_next = next;
    next = current;
  }
  const double first = after_next;  // coefficient of eta, after the loop has reached n = 0
  const double gauss = std::exp(-0.5 * a * eta * eta) / std::sqrt(kTwoPi * a);
  const double factor = 1 / (1 + first * inverse);  // 1/G
  const double correction = gauss * factor * series;
  const double half = 0.5 * std::erfc(std::abs(eta) * std::sqrt(0.5 * a));
  IncompleteGamma result;
  result.density = gauss * factor;
  if (eta >= 0) {
    result.upper = half + correction;
    result.lower = 1 - result.upper;
  } else {
    result.lower = half - correction;
    result.upper = 1 - result.lower;
  }
  return result;
}

IncompleteGamma FromWeight(double a, double x, double weight) {
  IncompleteGamma result;
  result.density = weight;
  if (x <= a) {
    result.lower = std::min(1.0, LowerSeries(a, x, weight));
    result.upper = 1 - result.lower;
  } else {
    result.upper = std::min(1.0, UpperSum(a, x, weight));
    result.lower = 1 - result.upper;
  }
  return result;
}

}  // namespace

double PoissonWeight(double count, double mean) {
  DCHECK(count >= 0 && mean >= 0);
  if (mean == 0) return count == 0 ? 1 : 0;
  if (std::isinf(mean)) return 0;
  if (count <= kMaxSummedOrder && mean < kMaxDirectArgument) {
    double weight = std::exp(-mean);
    for (int k = 1; k <= static_cast<int>(count); ++k) weight *= mean * kReciprocal[k];
    return weight;
  }
  if (count < 16) {
    return std::exp(count * std::log(mean) - mean - std::lgamma(count + 1));
  }
  return std::exp(-count * LogDefect(count, mean)) /
         (std::sqrt(kTwoPi * count) * StirlingFactor(count));
}

IncompleteGamma RegularizedGamma(double a, double x) {
  DCHECK(a >= 1 && x >= 0);
  if (x == 0) return {0, 1, 0};
  if (std::isinf(x)) return {1, 0, 0};
  if (a > kMaxSummedOrder && x > 0.3 * a && x < 2.4 * a) return NearDiagonal(a, x);
  return FromWeight(a, x, PoissonWeight(a, x));
}

}  // namespace freshet
