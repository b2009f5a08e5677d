#include "lab/methods/moment.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "core/base/check.h"
#include "core/base/root.h"

namespace freshet {
namespace {

// A sum whose rounding error does not grow with the number of terms (Neumaier).
class CompensatedSum {
 public:
  void Add(double term) {
    const double sum = sum_ + term;
    lost_ += std::abs(sum_) >= std::abs(term) ? (sum_ - sum) + term : (term - sum) + sum_;
    sum_ = sum;
  }
  [[nodiscard]] double value() const { return sum_ + lost_; }

 private:
  double sum_ = 0;
  double lost_ = 0;
};

// The equation for 0 < p < 1, times N: sum_i e^(-x tau_i) = U, with U the number of unchanged
// intervals.
class MomentEquation {
 public:
  explicit MomentEquation(const Observations& observations)
      : observations_(observations),
        unchanged_(static_cast<double>(observations.unchanged_count())) {}

  // Returns ln U - ln sum e^(-x tau), which rises in x and is concave (log-sum-exp), and its
  // derivative.
  //
  // The inner difference is split: a term near 1 becomes 1 less a small term, so that only whole
  // numbers and small terms are added, without lost digits. The result is exact to rounding even if
  // the sum is within 1e-12 of U for all x, because every interval is either far shorter or far
  // longer than 1/x.
  [[nodiscard]] ValueAndSlope operator()(double x) const {
    CompensatedSum excess;
    double whole = -unchanged_;
    double weighted = 0;
    for (size_t i = 0; i < observations_.size(); ++i) {
      const double tau = observations_.elapsed(i);
      const bool mostly_whole = x * tau < 0.5;
      const double term = mostly_whole ? std::expm1(-x * tau) : std::exp(-x * tau);
      const double offset = mostly_whole ? 1 : 0;
      excess.Add(term);
      whole += offset;
      weighted += tau * (offset + term);
    }
    excess.Add(whole);
    const double share = excess.value() / unchanged_;
    return {-std::log1p(share), weighted / (unchanged_ * (1 + share))};
  }

 private:
  const Observations& observations_;
  const double unchanged_;
};

// Returns the root for 0 < p < 1. It lies between -ln p/tau for the longest and the shortest
// interval. By Jensen it is not below that for the mean interval, where the search starts. The
// lengths, and so the two ends, can differ by many decades, so the search is for ln x. One final
// Newton step in x squares the remaining error and removes the rounding of the logarithm.
double SolveMoment(const Observations& observations) {
  constexpr double kSlack = 1e-6;   // exceeds the rounding of the ends
  constexpr double kEnough = 1e-7;  // after such a small step the next one is exact
  const MomentEquation equation(observations);
  const auto count = static_cast<double>(observations.size());
  double shortest = std::numeric_limits<double>::infinity();
  double longest = 0;
  for (size_t i = 0; i < observations.size(); ++i) {
    shortest = std::min(shortest, observations.elapsed(i));
    longest = std::max(longest, observations.elapsed(i));
  }
  const double log_events =
      std::log(-std::log1p(-static_cast<double>(observations.changed_count()) / count));
  const auto by_logarithm = [&](double log_x) {
    const double x = std::exp(log_x);
    const ValueAndSlope at = equation(x);
    return ValueAndSlope{at.value, at.slope * x};
  };
  const double x =
      std::exp(FindRoot(by_logarithm, log_events - std::log(longest) - kSlack,
                        log_events - std::log(shortest) + kSlack,
                        log_events - std::log(observations.total_elapsed() / count), kEnough));
  const ValueAndSlope at = equation(x);
  const double next = x - at.value / at.slope;
  return next > 0 && std::isfinite(next) ? next : x;
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
  const double root = SolveMoment(observations);
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
  // An infinite estimate (all changed, no upper bound) leaves the interval as wide as possible.
  if (!std::isfinite(half) || !std::isfinite(estimate.change_rate)) return interval;
  interval.low = std::max(0.0, estimate.change_rate - half);
  interval.high = estimate.change_rate + half;
  return interval;
}

}  // namespace freshet
