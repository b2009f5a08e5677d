#include "core/model/crossing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/base/check.h"
#include "core/model/ncis_value.h"

namespace freshet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Where the function is smooth, a step of Halley's method of relative size d leaves an error of
// about d^3.
constexpr double kLastStep = 1e-5;
// The dV/ds of V_ncis has kinks where gamma is large against alpha. Across one, steps still shrink
// at least as a geometric series, which bounds what is left after a step by its square over the
// step before.
constexpr double kTolerance = 1e-11;

// What a price is, relative to the ceiling; both relatively accurate.
struct Level {
  double share = 0;      // price/ceiling
  double shortfall = 0;  // (ceiling - price)/ceiling
};

// -ln(shortfall)
double Depth(double price, double ceiling) {
  const double share = price / ceiling;
  return share < 0.5 ? -std::log1p(-share) : -std::log((ceiling - price) / ceiling);
}

// The x with x - ln(1 + x) = depth. It is a power series in eta = sqrt(2 depth) (the one behind
// Temme's expansion, radius 3.54), polished by Halley's method where the series is cut.
double PlainCrossing(double depth) {
  constexpr std::array<double, 10> kSeries = {
      1.0,         1.0 / 3,          1.0 / 36,     -1.0 / 270,          1.0 / 4320,
      1.0 / 17010, -139.0 / 5443200, 1.0 / 204120, -571.0 / 2351462400, -281.0 / 1515591000};
  const double eta = std::sqrt(2 * depth);
  double x;
  if (eta < 1.5) {
    x = 0;
    for (size_t k = kSeries.size(); k-- > 0;) x = (x + kSeries[k]) * eta;
    if (eta < 0.15) return x;
  } else {
    x = depth + std::log1p(depth + eta);
    x = depth + std::log1p(x);
  }
  for (int i = 0; i < 8; ++i) {
    const double error = x - std::log1p(x) - depth;
    const double step = 2 * error * x * (1 + x) / (2 * x * x - error);
    x -= step;
    if (std::abs(step) < kLastStep * x) break;
  }
  return x;
}

// The x with x - 1 + e^-x = level. sqrt(level^2 + 2 level) is within 7% of it.
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

// A first guess. Up to the first kink at s = kappa, V is scale F_0, and F_0 is nearly the solution
// of z - 1 + e^-z = c depth in z = c s; beyond it psi is nearly s/m + A.
double GuessNcis(const ValueParameters& page, double price) {
  const double fresh = price / page.scale;
  if (fresh < page.share) {
    const double depth = -std::log1p(-fresh);
    const double s = std::sqrt(depth * (depth + 2 / page.odds));
    if (s < page.weight || page.terms == 1) return std::min(s, kSaturatedStaleness / 2);
  }
  const double inverse = page.weight > 0 ? 1 / (page.odds * page.weight) : kInfinity;
  const double a = page.weight / (2 * (1 + inverse));
  const double depth = Depth(price, page.ceiling);
  const double s =
      std::sqrt(a * a + 2 * depth * (1 + a)) - a + (2.0 / 3) * depth / ((1 + a) * (1 + a));
  return std::clamp(s, 1e-300, kSaturatedStaleness / 2);
}

// A step of Halley's method on ln V in ln s, where V is far from its ceiling, or else on the
// logarithm of the shortfall in s: both are nearly straight there.
double NcisStep(const ValueParameters& page, const NcisPoint& point, double s, double price,
                const Level& level, bool by_shortfall) {
  const double first = page.scale * point.decay * point.reached;
  const double bend = point.density == 0 ? 0 : page.odds * point.density;
  const double second = page.scale * point.decay * (bend - point.reached);
  double error;
  double slope;
  double curve;
  if (by_shortfall) {
    error = std::log(point.shortfall / (level.shortfall * page.ceiling));
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

double NcisCrossing(const ValueParameters& page, double price) {
  const Level level{price / page.ceiling, (page.ceiling - price) / page.ceiling};
  double low = 0;
  double high = kSaturatedStaleness;
  double s = GuessNcis(page, price);
  double last_step = s;
  NcisPoles poles;
  for (int i = 0; i < 200; ++i) {
    const NcisPoint point = EvaluateNcis(page, s, poles);
    const bool by_shortfall = level.share > 0.5 && s >= 0.25;
    const bool below =
        by_shortfall ? point.shortfall > level.shortfall * page.ceiling : point.value < price;
    (below ? low : high) = s;
    double next = NcisStep(page, point, s, price, level, by_shortfall);
    const double step = std::abs(next - s);
    const bool smooth = s < page.weight && next < page.weight;
    if (step < kLastStep * s && (smooth || step * step < kTolerance * s * last_step)) return next;
    if (!(next > low && next < high)) {
      next = low > 0 ? std::sqrt(low * high) : std::min(high / 16, high * high);
    }
    if (high - low < 1e-15 * high) break;
    last_step = step;
    s = next;
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
  if (target <= s) return 0;
  if (page.speed == 0) return kInfinity;
  return (target - s) / page.speed;
}

}  // namespace freshet
