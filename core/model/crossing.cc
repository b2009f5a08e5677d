#include "core/model/crossing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/base/check.h"
#include "core/model/exponential.h"
#include "core/model/ncis_value.h"

namespace freshet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// If the function is smooth, a step of Halley's method of relative size d leaves an error of about
// d^3.
constexpr double kLastStep = 1e-5;
// Relative error that the last step can leave.
constexpr double kTolerance = 1e-12;
// Longer steps do not use the third derivative. The length is relative to the scale on which the
// derivatives change.
constexpr double kShortStep = 0.25;
// Max relative error of the first guess of FirstTermCrossing.
constexpr double kGuessError = 4e-3;
// From this x on, e^-x is negligible compared with 1.
constexpr double kSaturatedOdds = 40;

// -ln(shortfall/ceiling), where shortfall = ceiling - price.
double Depth(double price, double ceiling) {
  const double share = price / ceiling;
  return share < 0.5 ? -LogOnePlus(-share) : -std::log((ceiling - price) / ceiling);
}

// The x with x - ln(1 + x) = depth. x is a power series in eta = sqrt(2 depth), the series behind
// Temme's expansion (radius 3.54). Halley's method polishes the result where the truncated series
// is not accurate enough.
double PlainCrossing(double depth) {
  constexpr std::array<double, 10> kSeries = {
      1.0,         1.0 / 3,          1.0 / 36,     -1.0 / 270,          1.0 / 4320,
      1.0 / 17010, -139.0 / 5443200, 1.0 / 204120, -571.0 / 2351462400, -281.0 / 1515591000};
  const double eta = std::sqrt(2 * depth);
  double x;
  if (eta < 1.5) {
    const auto& k = kSeries;
    const double e2 = eta * eta;
    const double e4 = e2 * e2;
    const double low = (k[0] + k[1] * eta) + (k[2] + k[3] * eta) * e2;
    const double high = (k[4] + k[5] * eta) + (k[6] + k[7] * eta) * e2;
    x = eta * (low + (high + (k[8] + k[9] * eta) * e4) * e4);
    if (eta < 0.15) return x;
  } else {
    x = depth + LogOnePlus(depth + eta);
    x = depth + LogOnePlus(x);
  }
  for (int i = 0; i < 8; ++i) {
    const double error = x - LogOnePlus(x) - depth;
    const double step = 2 * error * x * (1 + x) / (2 * x * x - error);
    x -= step;
    if (std::abs(step) < kLastStep * x) break;
  }
  return x;
}

// The x with x - 1 + e^-x = level. The first guess, sqrt(level^2 + 2 level), is within 7% of x.
double HarmonicCrossing(double level) {
  double x = std::sqrt(level * (level + 2));
  for (int i = 0; i < 8; ++i) {
    const double lapse = -std::expm1(-x);
    double error;
    if (x > 0.5) {
      error = x - lapse - level;
    } else {
      double term = x * x / 2;
      error = term - level;
      for (int k = 3; k < 14; ++k) error += term *= -x / k;
    }
    const double step = 2 * error * lapse / (2 * lapse * lapse - error * (1 - lapse));
    x -= step;
    if (std::abs(step) < kLastStep * x) break;
  }
  return x;
}

// -ln(1 - F_0/q) where the first term F_0 equals the price; infinite if F_0 stays below the price.
double FirstTermDepth(const ValueParameters& page, double price) {
  const double share = price / (page.scale * page.share);
  // A share of 1/2 or more requires s > ln 2.
  if (share < 0.5 || (page.weight < 0.5 && page.terms != 1)) {
    return share < 1 ? -LogOnePlus(-share) : kInfinity;
  }
  const double left = (page.ceiling - price) / page.scale - page.tail;
  return left > 0 ? -std::log(left / page.share) : kInfinity;
}

// The s at which -ln(1 - F_0/q) = depth. If s <= kappa, V(s) equals the price. A result greater
// than `limit` is accurate only to kGuessError.
//
// 1 - F_0/q = (1 + E) e^-s with E = (1 - e^(-c s))/c, so s is the root of the convex function
// s - ln(1 + E) - depth. In units of p = alpha/(alpha + gamma), s is a smooth function of
// eta = sqrt(2 depth/p) and p alone: the inverse of x - ln(1 + x) for p = 1, and of x - 1 + e^-x
// for p = 0. A polynomial in eta/(eta + 3) and p gives the first guess. One minus the slope is
// g = e^(-c s)/(1 + E). It obeys g' = -g (c + g), so all derivatives are cheap, and the step is of
// fifth order.
double FirstTermCrossing(const ValueParameters& page, double depth, double limit) {
  constexpr double kGuess[5][4] = {
      {0.9973857826, -0.001594287146, 0.004034572614, 0.001784752254},
      {-0.8621091671, 0.5415545608, -0.2783258964, 0.05008946065},
      {-0.4299976423, -0.3930807972, 2.613038025, -1.050822268},
      {3.174725324, -1.922580099, -5.216982573, 3.457019725},
      {-1.937344398, 2.223486577, 2.286811708, -2.256073311},
  };
  const double c = page.odds;
  const double p = page.unsignalled;
  // e^(-c s) is negligible here, so E = 1/c.
  if (c * depth > kSaturatedOdds) return depth + std::log1p(1 / c);
  const double level = depth * (1 + c);
  const double eta = std::sqrt(2 * level);
  if (eta < 1e-3) {  // the difference below would cancel; the next term is below eta^4/4320
    const double third = (1 + p) * (2 + p * (2 * p - 5)) / 540;
    return p * eta * (1 + eta * ((1 + p) / 6 + eta * ((1 - p + p * p) / 36 + eta * third)));
  }
  double s;
  if (eta < 9) {
    const double u = eta / (eta + 3);
    const auto row = [p](const double(&k)[4]) {
      return (k[0] + k[1] * p) + (k[2] + k[3] * p) * (p * p);
    };
    const double u2 = u * u;
    const double ratio = (row(kGuess[0]) + row(kGuess[1]) * u) +
                         ((row(kGuess[2]) + row(kGuess[3]) * u) + row(kGuess[4]) * u2) * u2;
    s = p * (eta + level) * ratio;
    if (s > limit * (1 + kGuessError)) return s;
  } else {
    s = depth + LogOnePlus(std::min(1 / c, 2 * depth));
  }
  for (int i = 0; i < 20; ++i) {
    const Decay signals = DecayAt(c * s);
    const double e = signals.lost / c;
    const double inverse = 1 / (1 + e);
    const double g = signals.left * inverse;
    const double slope = signals.lost * (1 + 1 / c) * inverse;  // 1 - g
    const double error = depth - (s - LogOnePlus(e));
    const double over = 1 / slope;
    const double step = error * over;
    const double bend = g * (c + g) * over;
    const double a2 = bend / 2;
    const double a3 = -bend * (c + 2 * g) / 6;
    const double a4 = bend * (c * c + 6 * g * (c + g)) / 24;
    const double a22 = a2 * a2;
    s += step * (1 - step * (a2 - step * ((2 * a22 - a3) + step * (5 * a2 * (a3 - a22) - a4))));
    if (std::abs(step) < 5e-3 * s) break;
  }
  return s;
}

// The s with V(s) = price in the closed form without poles (core/model/ncis_value.h). With
// y = s + m A, (1 + y) e^-y is a multiple of the shortfall, so the plain inverse gives y. If the
// result is at least page.settled_from, it is the exact crossing. For smaller s, the accuracy was
// measured on the papers' pages: half of the results are within 1e-3 if s >= kappa, and half are
// within 1e-8 if s >= 3 kappa.
double SettledCrossing(const ValueParameters& page, double price) {
  const double inverse = 1 / page.odds;
  const double step = inverse + page.weight;  // m/c
  const double a = page.weight * page.weight / (2 * step);
  double depth;
  if (price > page.ceiling / 2) {
    depth = a - std::log(step * (page.ceiling - price) / page.scale);
  } else {
    // a - ln(1 + a) is a small part of the depth, where the result must be exact.
    const double own =
        a < 0.05
            ? a * a *
                  (1.0 / 2 - a * (1.0 / 3 - a * (1.0 / 4 - a * (1.0 / 5 - a * (1.0 / 6 - a / 7)))))
            : a - LogOnePlus(a);
    const double gained = step * price / page.scale - ClosedConstant(page);
    depth = own - LogOnePlus(-std::min(gained / (1 + a), 1 - 1e-16));
  }
  return depth > 0 ? PlainCrossing(depth) - a : 0;
}

// The next s of the iteration. If `last` is true, V(next) equals the price to within the tolerance.
struct NcisStep {
  double next = 0;
  bool last = false;
};

// A step of Halley's method, for s far from the crossing. If `by_shortfall` is true, the step
// solves for the logarithm of the shortfall as a function of s, otherwise for ln V as a function of
// ln s. Each function is nearly linear where it is used.
double LongStep(const ValueParameters& page, const NcisPoint& point, double s, double price,
                bool by_shortfall) {
  const double first = page.scale * point.decay * point.reached;
  const double bend = point.density == 0 ? 0 : page.odds * point.density;
  const double second = page.scale * point.decay * (bend - point.reached);
  double error;
  double slope;
  double curve;
  if (by_shortfall) {
    error = std::log(point.shortfall / (page.ceiling - price));
    slope = -first / point.shortfall;
    curve = -second / point.shortfall - slope * slope;
  } else {
    error = std::log(point.value / price);
    slope = s * first / point.value;
    curve = slope + s * s * second / point.value - slope * slope;
  }
  const double newton = error / slope;
  const double damping = 1 - 0.5 * newton * curve / slope;
  const double step = damping > 0.5 && damping < 2 ? newton / damping : newton;
  return by_shortfall ? s - step : s * std::exp(-std::clamp(step, -4.0, 4.0));
}

// A step of fourth order, from the three derivatives of V. If it is not short compared with the
// scales on which the derivatives change (s, 1/c and 1), LongStep is used instead. A short step
// leaves an error of about its length times the cube of its ratio to these scales. If the step
// passes a multiple of kappa, where the third derivative can jump, the error grows with the square
// of the ratio instead.
NcisStep NextStep(const ValueParameters& page, const NcisPoint& point, double s, double price,
                  bool by_shortfall) {
  const double missing =
      by_shortfall ? point.shortfall - (page.ceiling - price) : price - point.value;
  const double step = missing / (page.scale * point.decay * point.reached);
  const double ratio = std::abs(step) * std::max({page.odds, 1 / s, 1.0});
  if (!(ratio < kShortStep)) return {LongStep(page, point, s, price, by_shortfall), false};
  const double c = page.odds;
  const double over = 1 / point.reached;
  const double a2 = (c * point.density * over - 1) / 2;
  const double a3 = (c * (c * point.turn - 2 * point.density) * over + 1) / 6;
  const double next = s + step * (1 - step * (a2 - step * (2 * a2 * a2 - a3)));
  const double left = std::abs(step) * ratio * ratio;
  if (!(left * ratio < kTolerance * s)) return {next, false};
  const bool apart = left < kTolerance * s || s < page.weight ||
                     std::floor(s / page.weight) == std::floor(next / page.weight);
  return {next, apart};
}

// Returns true if the first term need not be tried, because the crossing is beyond kappa. The
// closed form without poles and without e^-u gives a lower bound of the crossing. A wrong answer
// costs only time.
bool BeyondFirstTerm(const ValueParameters& page, double price) {
  const double step = 1 / page.odds + page.weight;
  const double a = page.weight * page.weight / (2 * step);
  return page.terms != 1 && std::sqrt(a * a + 2 * step * price / page.scale) - a > page.weight;
}

double NcisCrossing(const ValueParameters& page, double price) {
  double low = 0;
  double high = kSaturatedStaleness;
  double start = kInfinity;
  if (!BeyondFirstTerm(page, price)) {
    const double limit = page.terms == 1 ? kInfinity : page.weight;
    const double s = FirstTermCrossing(page, FirstTermDepth(page, price), limit);
    if (s <= limit) return s;
    low = page.weight * (1 - kTolerance);
    start = s;  // V exceeds its first term
    high = std::min(high, s * (1 + 2 * kGuessError));
  }
  double s = SettledCrossing(page, price);
  if (s >= page.settled_from) return s;
  s = std::min(start, s);
  // The negated comparison also catches NaN.
  if (!(s < high)) s = high;
  if (!(s > low)) s = low;
  const bool far = price > page.ceiling / 2;
  NcisPoles poles;
  for (int i = 0; i < 200; ++i) {
    const NcisPoint point = EvaluateNcis(page, s, poles);
    const bool by_shortfall = far && s >= 0.25;
    const bool below = by_shortfall ? point.shortfall > page.ceiling - price : point.value < price;
    (below ? low : high) = s;
    NcisStep step = NextStep(page, point, s, price, by_shortfall);
    if (step.last) return step.next;
    const double length = std::abs(step.next - s);
    if (length < kTolerance * s) return step.next;
    if (!(step.next > low && step.next < high)) {
      step.next = low > 0 ? std::sqrt(low * high) : std::min(high / 16, high * high);
    }
    if (high - low < 1e-15 * high) break;
    s = step.next;
  }
  return s;
}

}  // namespace

double ExponentReaching(const ValueParameters& page, double price) {
  DCHECK(!std::isnan(price));
  if (price <= 0) return 0;
  if (price >= page.ceiling) return kInfinity;
  switch (page.shape) {
    case ValueShape::kNone:
      return kInfinity;
    case ValueShape::kGreedy:
      return PlainCrossing(Depth(price, page.ceiling));
    case ValueShape::kNcis:
      return NcisCrossing(page, price);
    case ValueShape::kHarmonic:
      return HarmonicCrossing(price / page.scale);
  }
  CHECK(false, "value shape {}", static_cast<int>(page.shape));
  return kInfinity;
}

double TimeToReach(const ValueParameters& page, double s, double price) {
  DCHECK(s >= 0);
  const double target = ExponentReaching(page, price);
  // Even a page that is certainly stale is worth at most its ceiling.
  if (price > page.ceiling) return kInfinity;
  if (target <= s) return 0;
  if (page.speed == 0) return kInfinity;
  return (target - s) / page.speed;
}

}  // namespace freshet
