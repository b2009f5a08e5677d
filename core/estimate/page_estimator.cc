#include "core/estimate/page_estimator.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/limits.h"

namespace freshet {
namespace {

constexpr double kMinRate = 1e-9;  // per day
constexpr double kMaxRate = limits::kMaxChangesPerDay;

// A changed interval: weight, slope c and offset k of its exponent c Delta + k.
struct ChangedInterval {
  double weight;
  double slope;
  double offset;
};

}  // namespace

double Fading(Duration elapsed, double half_life_days, Duration day) {
  if (elapsed <= Duration()) return 1;
  return std::exp2(-elapsed.seconds() / (half_life_days * day.seconds()));
}

double GammaQuantile(double mean, double shape, double deviations) {
  const double root = 1 - 1 / (9 * shape) + deviations / (3 * std::sqrt(shape));
  return root > 0 ? mean * root * root * root : 0;
}

IntervalEvidence ChangedEvidence(double own, double offset) {
  const double s = own + offset;
  if (!(s < 40)) return {};
  const double gain = s < 1e-9 ? 1 : own / std::expm1(s);
  const double fall = s < 1e-9 ? s / 2 : own / -std::expm1(-s) - 1;
  const double expected = gain * std::max(fall, 0.0);
  return {.changes = gain + expected, .expected = expected};
}

double SignalStaleness(const SiteModel& site, const SignalCounts& signals) {
  double sum = 0;
  for (const SignalCounts::Entry& entry : signals.entries()) {
    if (entry.count > 0) sum += entry.count * site.Weight(entry.source_class);
  }
  return sum;
}

PagePosterior EstimatePage(const SiteModel& site, const PageStatistics& statistics,
                           const PageState& state, Instant now, Duration day) {
  const double day_seconds = day.seconds();
  const double recall = site.recall();
  const double missed = 1 - recall;
  PagePosterior result;

  // Terms linear in ln Delta (shape) and in Delta (exposure).
  const double signal_fade = Fading(now - state.carried_at, kSignalHalfLifeDays, day);
  const double signal_exposure = state.evidence_exposure * signal_fade / day_seconds;
  double shape = state.evidence * signal_fade;
  double exposure = site.burst_signals_per_change() * signal_exposure;

  std::array<ChangedInterval, limits::kMaxObservations> changed;
  size_t changed_count = 0;
  if (!statistics.recent.empty()) {
    const double fade = Fading(now - statistics.recent.front().fetched, kCrawlHalfLifeDays, day);
    shape += fade * statistics.old_changes;
    exposure += missed * fade * statistics.old_exposure / day_seconds;
  }
  for (const CrawlObservation& observation : statistics.recent) {
    const double fade = Fading(now - observation.fetched, kCrawlHalfLifeDays, day);
    const double slope = missed * observation.exposure / day_seconds;
    result.observations += fade;
    if (observation.changed && changed_count < changed.size()) {
      changed[changed_count++] = {fade, slope, SignalStaleness(site, observation.signals)};
    } else {
      exposure += fade * slope;
    }
  }

  const double prior_rate = site.prior().shape / site.prior().mean;
  double log_rate = std::log(site.prior().mean);
  double information = 0;
  for (int i = 0; i < 20; ++i) {
    const double rate = std::exp(log_rate);
    double score = site.prior().shape + shape - (prior_rate + exposure) * rate;
    information = (prior_rate + exposure) * rate;
    for (size_t j = 0; j < changed_count; ++j) {
      const IntervalEvidence proof = ChangedEvidence(changed[j].slope * rate, changed[j].offset);
      score += changed[j].weight * (proof.changes - proof.expected);
      information += changed[j].weight * proof.expected;
    }
    const double step = std::clamp(score / std::max(information, 0.1), -2.0, 2.0);
    log_rate = std::clamp(log_rate + step, std::log(kMinRate), std::log(kMaxRate));
    if (std::abs(step) < 1e-5) break;
  }
  result.mean = std::exp(log_rate);
  result.shape = std::max(information, 1e-3);
  result.changes = shape;
  result.exposure = exposure;
  for (size_t j = 0; j < changed_count; ++j) {
    const IntervalEvidence proof =
        ChangedEvidence(changed[j].slope * result.mean, changed[j].offset);
    result.changes += changed[j].weight * proof.changes;
    result.exposure += changed[j].weight * proof.expected / result.mean;
  }
  return result;
}

}  // namespace freshet
