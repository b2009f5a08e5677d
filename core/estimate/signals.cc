#include "core/estimate/signals.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "core/base/root.h"

namespace freshet {
namespace {

// g_k: the rate of changes that a source signals.
double SignalledRate(double signal_rate, double signal_weight) {
  return signal_rate > 0 ? signal_rate * -std::expm1(-signal_weight) : 0;
}

}  // namespace

double SignalRate(const Observations& observations, size_t source) {
  return observations.total_signals(source) / observations.total_elapsed();
}

double ChangeRate(double unsignalled_rate, std::span<const double> signal_rates,
                  std::span<const double> signal_weights) {
  CHECK(signal_rates.size() == signal_weights.size());
  double sum = unsignalled_rate;
  double largest = 0;
  size_t active = 0;
  for (size_t k = 0; k < signal_rates.size(); ++k) {
    const double g = SignalledRate(signal_rates[k], signal_weights[k]);
    sum += g;
    largest = std::max(largest, g);
    active += g > 0 ? 1 : 0;
  }
  if (active <= 1 || !std::isfinite(sum)) return sum;
  if (unsignalled_rate == 0) return largest;
  // ln(Delta) + sum ln(1 - g_k/Delta) - ln(alpha), as a function of Delta, rises from -infinity at
  // the largest g.
  const auto f = [&](double rate) {
    ValueAndSlope at{std::log(rate / unsignalled_rate), 1 / rate};
    for (size_t k = 0; k < signal_rates.size(); ++k) {
      const double g = SignalledRate(signal_rates[k], signal_weights[k]);
      at.value += std::log1p(-g / rate);
      at.slope += g / (rate * (rate - g));
    }
    return at;
  };
  return FindRoot(f, largest, sum, sum);
}

SignalQuality QualityOf(double change_rate, double signal_rate, double signal_weight) {
  SignalQuality quality;
  quality.signal_rate = signal_rate;
  quality.false_signal_rate = signal_rate > 0 ? signal_rate * std::exp(-signal_weight) : 0;
  quality.precision = -std::expm1(-signal_weight);
  quality.recall = SignalledRate(signal_rate, signal_weight) / change_rate;
  return quality;
}

NaiveQuality NaiveSignalQuality(const Observations& observations, size_t source) {
  double signalled = 0;
  double changed = 0;
  double both = 0;
  for (size_t i = 0; i < observations.size(); ++i) {
    const bool has_signal = observations.signals(i, source) > 0;
    signalled += has_signal ? 1 : 0;
    changed += observations.changed(i) ? 1 : 0;
    both += has_signal && observations.changed(i) ? 1 : 0;
  }
  return {both / signalled, both / changed};
}

}  // namespace freshet
