#include "core/estimate/rate_equation.h"

#include <limits>

#include "core/base/check.h"
#include "core/base/root.h"

namespace freshet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

double SolveRateEquation(std::span<const double> eventful, double quiet) {
  CHECK(quiet >= 0);
  if (eventful.empty()) return 0;
  if (quiet == 0) return kInfinity;
  const auto count = static_cast<double>(eventful.size());
  double total = 0;
  for (const double a : eventful) total += a;
  double x = std::log1p(total / quiet) * count / total;
  // This limit is never reached: from a lower bound, Newton's method on a falling convex function
  // gains at least a factor of two per step while far from the root.
  for (int step = 0; step < 100; ++step) {
    double value = -quiet;
    double slope = 0;
    for (const double a : eventful) {
      const double u = InverseExpm1(a * x);
      value += a * u;
      slope += a * a * u * (1 + u);
    }
    const double move = value / slope;
    // Because of rounding, a step can point past zero, but only if x already is the root.
    if (!(x + move > 0)) return x;
    x += move;
    // The error after a step is of the order of the square of the step.
    if (std::abs(move) <= 1e-8 * x) return x;
  }
  return x;
}

double RateLogLikelihood(std::span<const double> eventful, double quiet, double x) {
  double value = quiet == 0 ? 0 : -x * quiet;
  for (const double a : eventful) {
    const double s = a * x;
    // Each form is used where its argument is far from 1, so that the logarithm does not cancel.
    value += s < 0.7 ? std::log(-std::expm1(-s)) : std::log1p(-std::exp(-s));
  }
  return value;
}

RateInterval RateLikelihoodInterval(std::span<const double> eventful, double quiet, double root,
                                    double drop) {
  CHECK(drop > 0);
  RateInterval interval;
  const double target = RateLogLikelihood(eventful, quiet, root) - drop;
  const auto excess = [&](double x) { return RateLogLikelihood(eventful, quiet, x) - target; };
  if (!eventful.empty()) {
    double outside = std::isfinite(root) ? root : 1 / eventful[0];
    double inside = outside;
    if (std::isfinite(root)) {
      do {
        outside /= 4;
      } while (excess(outside) > 0);
    } else {
      while (excess(outside) > 0) outside /= 4;
      while (excess(inside) <= 0) inside *= 4;
    }
    interval.low = FindRootWithoutSlope(excess, outside, excess(outside), inside, excess(inside));
  }
  if (quiet > 0) {
    double outside = root > 0 ? root : drop / quiet;
    do {
      outside *= 2;
    } while (excess(outside) > 0);
    interval.high = FindRootWithoutSlope(excess, root, excess(root), outside, excess(outside));
  }
  return interval;
}

double LikelihoodDrop(double delta) {
  CHECK(delta > 0 && delta < 1, "delta {} is not between 0 and 1", delta);
  // P(|N(0,1)| > z) = erfc(z / sqrt 2) = delta. With y = z / sqrt 2, the drop z^2 / 2 is y^2. ln
  // erfc is concave and nearly a parabola, so Newton's method on it converges from anywhere in the
  // bracket.
  const auto f = [delta](double y) {
    const double tail = std::erfc(y);
    const double slope = std::exp(-y * y) * 1.1283791670955126 / tail;
    return ValueAndSlope{std::log(delta) - std::log(tail), slope};
  };
  const double y = FindRoot(f, 0, 26, 1);
  return y * y;
}

RateInterval PoissonLikelihoodInterval(double events, double exposure, double drop) {
  CHECK(events >= 0 && exposure > 0 && drop > 0);
  RateInterval interval;
  if (events == 0) {
    interval.high = drop / exposure;
    return interval;
  }
  // With x = events/exposure e^t, the log-likelihood falls by events (e^t - 1 - t).
  const double level = drop / events;
  const auto excess = [level](double t) { return std::expm1(t) - t - level; };
  const double scale = std::sqrt(2 * level);
  const double low = FindRootWithoutSlope(excess, -level - 1 - scale, excess(-level - 1 - scale), 0,
                                          -level, 1e-14);
  const double high = FindRootWithoutSlope(excess, 0, -level, scale, excess(scale), 1e-14);
  interval.low = events / exposure * std::exp(low);
  interval.high = events / exposure * std::exp(high);
  return interval;
}

}  // namespace freshet
