#include "core/estimate/crawl_lessons.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/container/inlined_vector.h"
#include "core/estimate/lessons.h"
#include "core/estimate/operational_time.h"
#include "core/estimate/page_aging.h"
#include "core/estimate/page_estimator.h"
#include "core/model/page.h"

namespace freshet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// If more changes than this are expected in an interval, the interval says nothing about the age of
// a change.
constexpr double kMaxChangesForAge = 0.7;

}  // namespace

double ShiftedWeight(double weight, double shift) {
  if (shift == 0 || std::isinf(weight)) return weight;
  return std::log1p(std::expm1(weight) * std::exp(shift));
}

double StalenessOf(const PageRecord& page, const PagePosterior& posterior, Duration day) {
  const PageState& state = page.state;
  if (!state.crawled()) return kNeverCrawledStaleness;
  if (page.spec.complete_signals) return state.signals.empty() ? 0 : kInfinity;
  double s = posterior.unsignalled * posterior.mean * state.exposure / day.seconds();
  for (const SignalCounts::Entry& entry : state.signals.entries()) {
    if (entry.count > 0) s += entry.count * posterior.Weight(entry.source_class);
  }
  for (const BurstSignal& signal : state.bursts) {
    if (signal.burst == 0) continue;
    const double weight = posterior.Weight(signal.source_class);
    s += ShiftedWeight(weight, signal.shift) - weight;
  }
  return std::max(0.0, s);
}

double ToldWeight(const PageState& state, const CrawlObservation& observation,
                  const PagePosterior& posterior) {
  double told_weight = 0;
  for (const SignalCounts::Entry& entry : observation.signals.entries()) {
    if (entry.count > 0) told_weight = std::max(told_weight, posterior.Weight(entry.source_class));
  }
  for (const BurstSignal& signal : state.bursts) {
    if (signal.burst == 0) continue;
    const double weight = posterior.Weight(signal.source_class);
    told_weight = std::max(told_weight, ShiftedWeight(weight, signal.shift));
  }
  return told_weight;
}

void CountAges(const PageRecord& page, const CrawlObservation& observation,
               const PagePosterior& posterior, double told_weight, Duration day, Lessons& lessons) {
  const PageState& state = page.state;
  if (state.rates.age_bin == kAgeless) return;
  const Instant since = std::max(observation.fetched - observation.elapsed, state.last_event);
  const double rate = posterior.even_rate * posterior.unsignalled;
  const double from = (since - state.last_event).seconds() / day.seconds();
  const double to = (observation.fetched - state.last_event).seconds() / day.seconds();
  if (!(from < to) || rate * (to - from) > kMaxChangesForAge) return;
  const bool untold = observation.changed && told_weight <= kCredibleWeight;
  lessons.sites.push_back(
      {.site = state.rates.site,
       .page = page.number,
       .kind = untold ? SiteLesson::Kind::kCensored : SiteLesson::Kind::kExposure,
       .rate = rate,
       .from = from,
       .to = to});
}

void LearnBursts(const PageRecord& page, const PagePosterior& posterior, bool page_changed,
                 Duration day, const Bursts& bursts, Lessons& lessons) {
  const double chance = std::max(-std::expm1(-StalenessOf(page, posterior, day)), 1e-9);
  for (const BurstSignal& signal : page.state.bursts) {
    if (signal.burst == 0) continue;
    const double weight = posterior.Weight(signal.source_class);
    const double shifted = -std::expm1(-ShiftedWeight(weight, signal.shift));
    bursts.Observe(signal.burst, -std::expm1(-weight),
                   page_changed ? std::min(1.0, shifted / chance) : 0, lessons.bursts);
  }
}

void LearnSources(const PageRecord& page, const CrawlObservation& observation,
                  const PagePosterior& posterior, Duration day, const Quarantine& quarantine,
                  Lessons& lessons) {
  struct OfSource {
    uint8_t source;
    double weight = 0;  // sum of kappa over the signals, including page and burst shifts
    SignalledInterval interval;
  };
  absl::InlinedVector<OfSource, 2> sources;
  double s = posterior.unsignalled * posterior.mean * double{observation.exposure} / day.seconds();
  for (const SignalCounts::Entry& entry : observation.signals.entries()) {
    const PageClass* of_page = entry.count > 0 ? posterior.Find(entry.source_class) : nullptr;
    if (of_page == nullptr) continue;
    const uint8_t source = entry.source_class.source();
    auto at = std::find_if(sources.begin(), sources.end(),
                           [&](const OfSource& known) { return known.source == source; });
    if (at == sources.end()) at = sources.insert(sources.end(), OfSource{.source = source});
    const auto add = [&](double odds, double count) {
      at->interval.signals.push_back({odds * std::exp(-of_page->shift), count});
      at->weight += count * std::log1p(odds);
      s += count * std::log1p(odds);
    };
    const double odds = of_page->Odds(posterior.mean);
    double count = entry.count;
    for (const BurstSignal& signal : page.state.bursts) {
      if (signal.burst == 0 || signal.source_class != entry.source_class || count < 1) continue;
      add(odds * std::exp(double{signal.shift}), 1);
      --count;
    }
    if (count > 0) add(odds, count);
  }
  for (OfSource& of_source : sources) {
    of_source.interval.rest = std::max(0.0, s - of_source.weight);
    of_source.interval.changed = observation.changed;
    (void)quarantine.Observe(page.host, of_source.source, of_source.interval, observation.fetched,
                             lessons.quarantine);
  }
}

}  // namespace freshet
