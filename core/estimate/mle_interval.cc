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

// The maximum of the log-likelihood of changes and signals together,
//
//   l(alpha, kappa) + sum_k (N_k ln gamma_k - gamma_k T),
//
// at a given change rate D. The free variables are gamma_k and the precision pi_k = 1 - e^-kappa_k
// of each source that ever signalled. alpha follows as D prod_k (1 - gamma_k pi_k / D). For a given
// pi_k, the best gamma_k maximises a concave function. Along pi_k there can be two maxima (changes
// come from a few good signals, or signals mean nothing), and a kink where alpha reaches 0. A grid
// therefore finds the higher maximum. Its exact place is the root of the slope (by the envelope
// theorem) or, if there is a kink, the result of a golden-section search. Several sources are
// optimised in turn until none moves.
class ChangeRateProfile {
 public:
  explicit ChangeRateProfile(const Observations& observations) : observations_(observations) {
    for (size_t k = 0; k < observations.sources(); ++k) {
      if (observations.total_signals(k) > 0) active_.push_back(k);
      rate_.push_back(SignalRate(observations, k));
      precision_.push_back(0);
    }
    other_.resize(observations.size());
  }

  // The maximum of the log-likelihood at `change_rate`, and its derivative with respect to the
  // change rate.
  [[nodiscard]] ValueAndSlope At(double change_rate) {
    change_rate_ = change_rate;
    for (int round = 0; round < 300; ++round) {
      double moved = 0;
      for (const size_t k : active_) {
        const double before = precision_[k];
        Prepare(k);
        precision_[k] = BestPrecision();
        moved = std::max(moved, std::abs(precision_[k] - before));
      }
      if (active_.size() <= 1 || moved < 1e-10) break;
    }
    double share = 1;  // alpha / D
    double scale = 1;  // d alpha / d D over alpha / D
    for (const size_t k : active_) {
      share *= Unsignalled(k);
      scale += 1 / Unsignalled(k) - 1;
    }
    SourceValues weights;
    for (const double pi : precision_) weights.push_back(-std::log1p(-pi));
    ValueAndSlope at;
    at.value = MleLogLikelihood(observations_, change_rate * share, weights);
    for (const size_t k : active_) at.value += CountLogLikelihood(k, rate_[k]);
    Prepare(observations_.sources());
    at.slope = share * scale * AlphaSlope(change_rate * share, 0).value;
    return at;
  }

  // The part of the log-likelihood that comes from the counts of all sources, if each has its own
  // rate gamma_k = N_k / T.
  [[nodiscard]] double LargestCountLogLikelihood() const {
    double sum = 0;
    for (const size_t k : active_) sum += CountLogLikelihood(k, SignalRate(observations_, k));
    return sum;
  }

 private:
  [[nodiscard]] double CountLogLikelihood(size_t k, double rate) const {
    return observations_.total_signals(k) * std::log(rate) - rate * observations_.total_elapsed();
  }

  // 1 - lambda_k.
  [[nodiscard]] double Unsignalled(size_t k) const {
    return std::max(0.0, 1 - rate_[k] * precision_[k] / change_rate_);
  }

  // Makes k the source that moves: computes what the other sources add to every exponent, and the
  // share that they leave unsignalled.
  void Prepare(size_t k) {
    moving_ = k;
    others_ = 1;
    std::fill(other_.begin(), other_.end(), 0.0);
    for (const size_t i : active_) {
      if (i == k) continue;
      others_ *= Unsignalled(i);
      const double weight = -std::log1p(-precision_[i]);
      for (size_t j = 0; j < other_.size(); ++j) {
        if (observations_.signals(j, i) > 0) other_[j] += weight * observations_.signals(j, i);
      }
    }
  }

  // alpha if the moving source has these values. It is exactly 0 at the bound gamma pi = D, despite
  // rounding.
  [[nodiscard]] double Alpha(double gamma, double pi) const {
    const double left = change_rate_ - gamma * pi;
    return left > 1e-14 * change_rate_ ? others_ * left : 0;
  }

  [[nodiscard]] double Count(size_t j) const {
    return moving_ < observations_.sources() ? observations_.signals(j, moving_) : 0;
  }

  // dl/dalpha and its derivative, at alpha and the precision `pi` of the moving source.
  [[nodiscard]] ValueAndSlope AlphaSlope(double alpha, double pi) const {
    const double weight = -std::log1p(-pi);
    ValueAndSlope at;
    for (size_t j = 0; j < observations_.size(); ++j) {
      const double tau = observations_.elapsed(j);
      if (!observations_.changed(j)) {
        at.value -= tau;
        continue;
      }
      double s = alpha * tau + other_[j];
      if (Count(j) > 0) s += weight * Count(j);
      const double u = InverseExpm1(s);
      at.value += tau * u;
      at.slope -= tau * tau * u * (1 + u);
    }
    return at;
  }

  // The best gamma of the moving source at precision `pi`. It is at most D/pi.
  [[nodiscard]] double BestRate(double pi) const {
    const double count = observations_.total_signals(moving_);
    const double plain = count / observations_.total_elapsed();
    if (pi == 0) return plain;
    const double fall = others_ * pi;
    const auto negated_slope = [&](double gamma) {
      const ValueAndSlope along = AlphaSlope(Alpha(gamma, pi), pi);
      return ValueAndSlope{fall * along.value - count / gamma + observations_.total_elapsed(),
                           -fall * fall * along.slope + count / (gamma * gamma)};
    };
    const double high = change_rate_ / pi;
    if (!(negated_slope(high).value > 0)) return high;
    return FindRoot(negated_slope, 0, high, std::min(rate_[moving_], 0.99 * high), 1e-12);
  }

  // The part of the log-likelihood that depends on the moving source, at its precision `pi` and its
  // best rate. Stores the best rate in `rate_`.
  [[nodiscard]] double ValueAt(double pi) {
    rate_[moving_] = BestRate(pi);
    const double alpha = Alpha(rate_[moving_], pi);
    const double weight = -std::log1p(-pi);
    double value = CountLogLikelihood(moving_, rate_[moving_]);
    for (size_t j = 0; j < observations_.size(); ++j) {
      const double n = Count(j);
      const double s = alpha * observations_.elapsed(j) + other_[j] + (n > 0 ? weight * n : 0);
      value += !observations_.changed(j) ? -s
               : s < 0.7                 ? std::log(-std::expm1(-s))
                                         : std::log1p(-std::exp(-s));
    }
    return value;
  }

  // The best precision of the moving source. Stores the best rate in `rate_`.
  [[nodiscard]] double BestPrecision() {
    constexpr int kGrid = 8;
    double low = 0;
    double high = 0;
    double best = -kInfinity;
    for (int i = 0; i <= kGrid; ++i) {
      const double value = ValueAt(static_cast<double>(i) / kGrid);
      if (value <= best) continue;
      best = value;
      low = std::max(0, i - 1) / static_cast<double>(kGrid);
      high = std::min(kGrid, i + 1) / static_cast<double>(kGrid);
    }
    const auto slope = [&](double pi) {
      rate_[moving_] = BestRate(pi);
      return PrecisionSlope(pi);
    };
    const double at_low = slope(low);
    const double at_high = slope(high);
    double pi = 0;
    if (at_low > 0 && at_high < 0) {
      pi = FindRootWithoutSlope(slope, low, at_low, high, at_high, 1e-10);
    } else {
      pi = GoldenSection(low, high);
    }
    // Either end can be better than the points between them.
    if (ValueAt(low) > ValueAt(pi)) pi = low;
    if (ValueAt(high) > ValueAt(pi)) pi = high;
    rate_[moving_] = BestRate(pi);
    return pi;
  }

  [[nodiscard]] double GoldenSection(double low, double high) {
    constexpr double kRatio = 0.6180339887498949;
    double a = high - kRatio * (high - low);
    double b = low + kRatio * (high - low);
    double at_a = ValueAt(a);
    double at_b = ValueAt(b);
    while (high - low > 1e-8) {
      if (at_a >= at_b) {
        high = b;
        b = a;
        at_b = at_a;
        a = high - kRatio * (high - low);
        at_a = ValueAt(a);
      } else {
        low = a;
        a = b;
        at_a = at_b;
        b = low + kRatio * (high - low);
        at_b = ValueAt(b);
      }
    }
    return (low + high) / 2;
  }

  // The slope of the profile along pi at the rate chosen for it:
  //   sum_{z=1} s'/(e^s - 1) - sum_{z=0} s',  s' = n/(1 - pi) - gamma tau prod_{i != k}(1 -
  //   lambda_i)
  [[nodiscard]] double PrecisionSlope(double pi) const {
    const double left = 1 - pi;
    const double gamma = rate_[moving_];
    const double alpha = Alpha(gamma, pi);
    const double fall = gamma * others_;
    const double weight = -std::log1p(-pi);
    double sum = 0;
    for (size_t j = 0; j < observations_.size(); ++j) {
      const double n = Count(j);
      const double tau = observations_.elapsed(j);
      if (n > 0 && left == 0) {
        // s is infinite, which is impossible if unchanged. If changed, adds the limit of n
        // (1 - pi)^(n-1) e^-base.
        if (!observations_.changed(j)) return -kInfinity;
        if (n <= 1) sum += n == 1 ? std::exp(-alpha * tau - other_[j]) : kInfinity;
        continue;
      }
      const double rise = (n > 0 ? n / left : 0) - fall * tau;
      if (!observations_.changed(j)) {
        sum -= rise;
        continue;
      }
      const double u = InverseExpm1(alpha * tau + other_[j] + (n > 0 ? weight * n : 0));
      if (u > 0 && rise != 0) sum += u * rise;
    }
    if (alpha > 0 || pi == 0) return sum;
    // At the bound gamma = D/pi, the bound itself falls as pi grows.
    const double along_gamma = -others_ * pi * AlphaSlope(alpha, pi).value +
                               observations_.total_signals(moving_) / gamma -
                               observations_.total_elapsed();
    return sum - std::max(0.0, along_gamma) * gamma / pi;
  }

  const Observations& observations_;
  std::vector<size_t> active_;
  double change_rate_ = 0;
  std::vector<double> rate_;       // gamma_k, the best for precision_
  std::vector<double> precision_;  // pi_k, where the last search ended
  size_t moving_ = 0;
  double others_ = 1;          // prod of 1 - lambda_i over the other sources
  std::vector<double> other_;  // what the other sources add to each exponent
};

}  // namespace

RateInterval MleChangeRateInterval(const Observations& observations, const SignalEstimate& estimate,
                                   double delta) {
  RateInterval interval;
  if (observations.empty()) return interval;
  const double drop = LikelihoodDrop(delta);
  const double rate = MleChangeRate(observations, estimate);
  ChangeRateProfile profile(observations);
  const double target =
      MleLogLikelihood(observations, estimate.unsignalled_rate, estimate.signal_weight) +
      profile.LargestCountLogLikelihood() - drop;
  if (observations.changed_count() > 0) {
    double inside = rate;
    if (!std::isfinite(rate)) {
      inside = 1 / observations.elapsed(0);
      while (profile.At(inside).value <= target) inside *= 4;
    }
    double outside = inside / 2;
    while (profile.At(outside).value > target) outside /= 2;
    const auto rising = [&](double x) {
      const ValueAndSlope at = profile.At(x);
      return ValueAndSlope{at.value - target, at.slope};
    };
    interval.low = FindRoot(rising, outside, std::min(inside, 2 * outside), outside, 1e-9);
  }
  if (observations.unchanged_count() > 0) {
    double outside = rate > 0 ? 2 * rate : drop / observations.total_elapsed();
    double inside = rate;
    while (profile.At(outside).value > target) {
      inside = outside;
      outside *= 2;
    }
    const auto rising = [&](double x) {
      const ValueAndSlope at = profile.At(x);
      return ValueAndSlope{target - at.value, -at.slope};
    };
    interval.high = FindRoot(rising, inside, outside, outside, 1e-9);
  }
  return interval;
}

}  // namespace freshet
