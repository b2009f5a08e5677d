#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "core/base/root.h"
#include "core/estimate/mle.h"
#include "core/estimate/rate_equation.h"
#include "core/estimate/signals.h"

namespace freshet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The largest log-likelihood at a given change rate D. Free are the precisions pi_k = 1 -
// e^-kappa_k of the sources that ever signalled, 0 <= pi_k <= min(1, D/gamma_k); alpha follows as
// D prod_k (1 - gamma_k pi_k / D). Along one pi_k the slope of l is
//
//   sum_{z=1} s'/(e^s - 1) - sum_{z=0} s',   s' = n_k/(1 - pi_k) - gamma_k tau prod_{i!=k}(1 -
//   ...),
//
// whose root is bracketed; several sources take turns until none moves.
class ChangeRateProfile {
 public:
  explicit ChangeRateProfile(const Observations& observations) : observations_(observations) {
    for (size_t k = 0; k < observations.sources(); ++k) {
      if (observations.total_signals(k) > 0) active_.push_back(k);
      rates_.push_back(SignalRate(observations, k));
    }
  }

  [[nodiscard]] double LogLikelihood(double change_rate) {
    precision_.assign(observations_.sources(), 0.0);
    for (int round = 0; round < 200; ++round) {
      double moved = 0;
      for (const size_t k : active_) {
        const double before = precision_[k];
        precision_[k] = BestPrecision(change_rate, k);
        moved = std::max(moved, std::abs(precision_[k] - before));
      }
      if (active_.size() <= 1 || moved < 1e-9) break;
    }
    SourceValues weights;
    double alpha = change_rate;
    for (size_t k = 0; k < precision_.size(); ++k) {
      weights.push_back(-std::log1p(-precision_[k]));
      alpha *= Unsignalled(change_rate, k);
    }
    return MleLogLikelihood(observations_, alpha, weights);
  }

 private:
  // 1 - lambda_k.
  [[nodiscard]] double Unsignalled(double change_rate, size_t k) const {
    return std::max(0.0, 1 - rates_[k] * precision_[k] / change_rate);
  }

  [[nodiscard]] double BestPrecision(double change_rate, size_t k) const {
    double others = 1;
    for (const size_t i : active_) {
      if (i != k) others *= Unsignalled(change_rate, i);
    }
    const auto slope = [&](double pi) { return Slope(change_rate, k, others, pi); };
    const double at_0 = slope(0);
    if (!(at_0 > 0)) return 0;
    const double high = std::min(1.0, change_rate / rates_[k]);
    const double at_high = slope(high);
    if (!(at_high < 0)) return high;
    return FindRootWithoutSlope(slope, 0, at_0, high, at_high, 1e-11);
  }

  [[nodiscard]] double Slope(double change_rate, size_t k, double others, double pi) const {
    const double left = 1 - pi;
    const double alpha = change_rate * others * std::max(0.0, 1 - rates_[k] * pi / change_rate);
    const double fall = rates_[k] * others;
    double sum = 0;
    for (size_t i = 0; i < observations_.size(); ++i) {
      const double n = observations_.signals(i, k);
      const double tau = observations_.elapsed(i);
      if (!observations_.changed(i)) {
        if (n > 0 && left == 0) return -kInfinity;
        sum += fall * tau - (n > 0 ? n / left : 0);
        continue;
      }
      double base = alpha * tau;
      for (const size_t j : active_) {
        const double count = observations_.signals(i, j);
        if (j != k && count > 0) base -= std::log1p(-precision_[j]) * count;
      }
      if (n > 0 && left == 0) {
        // s is infinite; what is left of n (1 - pi)^(n-1) e^-base as pi -> 1.
        sum += n == 1 ? std::exp(-base) : n < 1 ? kInfinity : 0;
        continue;
      }
      const double s = n > 0 ? base - std::log1p(-pi) * n : base;
      const double u = InverseExpm1(s);
      if (u == 0) continue;
      const double rise = (n > 0 ? n / left : 0) - fall * tau;
      if (rise != 0) sum += u * rise;
    }
    return sum;
  }

  const Observations& observations_;
  std::vector<size_t> active_;
  std::vector<double> rates_;      // gamma_k
  std::vector<double> precision_;  // the point reached
};

}  // namespace

RateInterval MleChangeRateInterval(const Observations& observations, const SignalEstimate& estimate,
                                   double delta) {
  RateInterval interval;
  if (observations.empty()) return interval;
  const double drop = LikelihoodDrop(delta);
  const double rate = MleChangeRate(observations, estimate);
  const double target =
      MleLogLikelihood(observations, estimate.unsignalled_rate, estimate.signal_weight) - drop;
  ChangeRateProfile profile(observations);
  const auto excess = [&](double x) { return profile.LogLikelihood(x) - target; };
  if (observations.changed_count() > 0) {
    double inside = rate;
    double at_inside = drop;
    if (!std::isfinite(rate)) {
      inside = 1 / observations.elapsed(0);
      while ((at_inside = excess(inside)) <= 0) inside *= 4;
    }
    double outside = inside / 2;
    double at_outside = 0;
    while ((at_outside = excess(outside)) > 0) outside /= 2;
    interval.low = FindRootWithoutSlope(excess, outside, at_outside, inside, at_inside, 1e-9);
  }
  if (observations.unchanged_count() > 0) {
    double outside = rate > 0 ? 2 * rate : drop / observations.total_elapsed();
    double at_outside = 0;
    while ((at_outside = excess(outside)) > 0) outside *= 2;
    interval.high = FindRootWithoutSlope(excess, rate, drop, outside, at_outside, 1e-9);
  }
  return interval;
}

}  // namespace freshet
