#include "core/estimate/moment.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"

namespace freshet {
namespace {

// The root of ln mean e^(-x tau) = ln p for 0 < p < 1. The left side is convex and falling in x
// (log-sum-exp), and by Jensen -ln p / mean tau is not above the root, so Newton's method rises to
// the root from there and never passes it. Exact at once for equal intervals.
double SolveMoment(const Observations& observations, double p) {
  const auto count = static_cast<double>(observations.size());
  const double target = std::log(p);
  double shortest = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < observations.size(); ++i) {
    shortest = std::min(shortest, observations.elapsed(i));
  }
  double x = -target / (observations.total_elapsed() / count);
  for (int step = 0; step < 200; ++step) {
    // Relative to the largest term, so that no sum underflows.
    double sum = 0;
    double weighted = 0;
    for (size_t i = 0; i < observations.size(); ++i) {
      const double tau = observations.elapsed(i);
      const double term = std::exp(-x * (tau - shortest));
      sum += term;
      weighted += tau * term;
    }
    const double value = std::log(sum / count) - x * shortest - target;
    const double move = value * sum / weighted;
    if (!(x + move > 0)) return x;
    x += move;
    if (std::abs(move) <= 1e-9 * x) return x;
  }
  return x;
}

}  // namespace

RateEstimate EstimateMoment(const Observations& observations, RateBounds bounds) {
  CHECK(bounds.min >= 0 && bounds.min <= bounds.max, "rate bounds [{}, {}]", bounds.min,
        bounds.max);
  RateEstimate estimate;
  if (observations.empty()) return estimate;
  if (observations.changed_count() == 0) {
    estimate.change_rate = bounds.min;
    estimate.status = EstimateStatus::kAllUnchanged;
    return estimate;
  }
  if (observations.unchanged_count() == 0) {
    estimate.change_rate = bounds.max;
    estimate.status = EstimateStatus::kAllChanged;
    return estimate;
  }
  const double p = static_cast<double>(observations.unchanged_count()) /
                   static_cast<double>(observations.size());
  const double root = SolveMoment(observations, p);
  estimate.change_rate = std::clamp(root, bounds.min, bounds.max);
  estimate.status = root < bounds.min   ? EstimateStatus::kClippedLow
                    : root > bounds.max ? EstimateStatus::kClippedHigh
                                        : EstimateStatus::kOk;
  return estimate;
}

double MomentHalfWidth(const Observations& observations, RateBounds bounds, double delta) {
  CHECK(delta > 0 && delta < 1, "delta {} is not between 0 and 1", delta);
  const auto count = static_cast<double>(observations.size());
  double slope = 0;
  for (size_t i = 0; i < observations.size(); ++i) {
    slope += observations.elapsed(i) * std::exp(-bounds.max * observations.elapsed(i));
  }
  if (slope == 0) return std::numeric_limits<double>::infinity();
  return count / slope * std::sqrt(std::log(2 / delta) / (2 * count));
}

RateInterval MomentInterval(const Observations& observations, const RateEstimate& estimate,
                            RateBounds bounds, double delta) {
  if (observations.empty()) return {};
  const double half = MomentHalfWidth(observations, bounds, delta);
  RateInterval interval;
  // An infinite estimate (all changed, no upper bound) leaves the interval as wide as it can be.
  if (!std::isfinite(half) || !std::isfinite(estimate.change_rate)) return interval;
  interval.low = std::max(0.0, estimate.change_rate - half);
  interval.high = estimate.change_rate + half;
  return interval;
}

}  // namespace freshet
