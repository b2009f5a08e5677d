#include "core/estimate/estimator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_split.h"
#include "core/base/check.h"
#include "core/base/limits.h"
#include "core/estimate/classic_page.h"
#include "core/estimate/crawl_lessons.h"
#include "core/estimate/operational_time.h"
#include "core/estimate/page_estimate.h"
#include "core/estimate/page_estimator.h"
#include "core/model/page.h"

namespace freshet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kCurveHalfLifeDays = 3000;
constexpr double kLow95 = 0.025;
constexpr double kHigh95 = 0.975;
// If the precision of a class is below this, the class is left out of the value. Hundreds of
// worthless signals would add terms to the value without changing it.
constexpr double kLeastPrecision = 0.03;

// Expected true signals per change of the page.
double ToldOf(const PagePosterior& posterior, const SiteModel& site) {
  return posterior.unsignalled == 0 ? 1 : site.told();
}

// Drops crawls after `begin` that did not become the copy of the page. The interval that starts at
// `begin` covers their intervals.
void DropLate(Instant begin, PageStatistics& statistics) {
  auto& recent = statistics.recent;
  while (!recent.empty() && recent.back().fetched > begin) recent.pop_back();
}

// Merges the useful classes into the one source that the value uses: signal rates and recalls are
// summed. Changes that other classes signal count as unsignalled.
void SetSignalRates(const PagePosterior& posterior, double change_rate, double per_second,
                    PageRates* rates) {
  double all = 0;
  double truth = 0;
  double untold = posterior.unsignalled * change_rate;
  for (const PageClass& page_class : posterior.classes) {
    const double told = page_class.recall * change_rate;
    const double gamma = told + page_class.false_rate * per_second;
    if (told <= kLeastPrecision * gamma) {
      untold += told;
      continue;
    }
    all += gamma;
    truth += told;
  }
  rates->unsignalled_rate = std::min(change_rate, untold);
  rates->signal_rate = all;
  rates->signal_weight = all > 0 ? std::log1p(truth / std::max(all - truth, 1e-9 * all)) : 0;
}

}  // namespace

Estimator::Estimator(const EstimatorOptions& options)
    : options_(options), windows_(options.day), mark_(options.since) {
  CHECK(options.day > Duration());
}

PagePosterior Estimator::Posterior(const SiteModel& site, const PageRecord& page, Instant now,
                                   const Lessons& lessons) const {
  PagePosterior posterior =
      EstimatePage(site, page.spec, page.state, page.detail.statistics, now, options_.day);
  for (const SourceShift& shift : quarantine_.ShiftsOf(page.host, lessons.quarantine)) {
    for (PageClass& of_page : posterior.classes) {
      if (of_page.source_class.source() == shift.source) of_page.shift = shift.shift;
    }
  }
  return posterior;
}

PagePosterior Estimator::Posterior(const PageRecord& page, Instant now,
                                   const Lessons& lessons) const {
  return Posterior(sites_.model(sites_.NumberOf(page.host)), page, now, lessons);
}

bool Estimator::Pools(const PageSpec& spec) const {
  return options_.kind == EstimatorKind::kDefault || spec.complete_signals ||
         spec.known_change_rate.has_value();
}

bool Estimator::Collects(const PageRecord& page) const {
  return Pools(page.spec) && !page.state.gone;
}

double Estimator::FadeOfEpoch() const {
  return Fading(mark_ - last_mark_, kCurveHalfLifeDays, options_.day);
}

Instant Estimator::Mark(Instant now, Lessons& lessons) const {
  if (!mark_.is_none()) return mark_;
  if (lessons.first.is_none()) lessons.first = now;
  return lessons.first;
}

// Precondition: the spec has neither a known change rate nor complete signals. Pages with one of
// these are estimated in the same way by all estimators (see Pools).
PageEstimate Estimator::EstimateAlone(const PageRecord& page, Instant now) const {
  const PageStatistics& statistics = page.detail.statistics;
  const ClassicEstimate classic = options_.kind == EstimatorKind::kChoGm
                                      ? EstimateByChoGm(statistics, options_.day)
                                      : EstimateByMle(statistics, page.state, now, options_.day);
  PageEstimate estimate;
  estimate.rates = classic.rates;
  estimate.shape = classic.changed;
  estimate.observations = static_cast<double>(statistics.recent.size());
  estimate.staleness = page.state.staleness;
  return estimate;
}

PageEstimate Estimator::Estimate(const PageRecord& page, Instant now) const {
  return Estimate(page, now, none_);
}

PageEstimate Estimator::Estimate(const PageRecord& page, Instant now,
                                 const Lessons& lessons) const {
  if (!Pools(page.spec)) return EstimateAlone(page, now);
  const uint16_t number = sites_.NumberOf(page.host);
  return EstimateOf(page, number, Posterior(sites_.model(number), page, now, lessons), now);
}

PageEstimate Estimator::EstimateOf(const PageRecord& page, uint16_t number,
                                   const PagePosterior& posterior, Instant now) const {
  const SiteModel& site = sites_.model(number);
  PageEstimate estimate;
  PageRates& rates = estimate.rates;
  rates.site = number;
  const double per_second = 1 / options_.day.seconds();
  double level = 1;  // levels of the age curve: now, and in the near future (`ahead`)
  double ahead = 1;
  if (!page.spec.known_change_rate.has_value()) {
    const int bin = AgeCurve::BinOf(std::max(0.0, Days(now - page.state.last_event)));
    rates.age_bin = static_cast<uint8_t>(bin);
    ahead = site.curve().Ahead(bin);
    level = site.curve().Level(bin);
    estimate.observations = posterior.observations;
  }
  const double scale = ahead * per_second;
  rates.change_rate = posterior.mean * scale;
  estimate.shape = posterior.teaches_rate ? posterior.shape : kInfinity;
  if (page.spec.complete_signals) {
    rates.signal_rate = rates.change_rate;
    rates.signal_weight = kInfinity;
  } else {
    SetSignalRates(posterior, rates.change_rate, per_second, &rates);
    rates.staleness_rate = posterior.unsignalled * posterior.mean * per_second * level;
  }
  estimate.staleness = StalenessOf(page, posterior, options_.day);
  return estimate;
}

void Estimator::RecordSignal(PageRecord& page, SourceClass source_class, uint64_t poll,
                             Instant changed, Instant now, Lessons& lessons,
                             std::unique_ptr<PagePosterior>& judge) const {
  PageState& state = page.state;
  const Instant mark = Mark(now, lessons);
  double shift = 0;
  // A signal that came alone shares its cause with no other page. A page with complete signals has
  // nothing to learn from bursts.
  if (poll != 0 && options_.kind == EstimatorKind::kDefault && !page.spec.complete_signals) {
    const uint32_t burst = bursts_.Join(poll, page.number, lessons.bursts);
    shift = bursts_.Shift(burst, lessons.bursts);
    if (burst != state.bursts[0].burst) {
      state.bursts = {
          BurstSignal{
              .burst = burst, .shift = static_cast<float>(shift), .source_class = source_class},
          state.bursts[0]};
    }
  }
  if (!Pools(page.spec)) {
    state.staleness += state.rates.signal_weight;
    return;
  }
  // A mass edit says little about the next edits of single pages.
  if (source_class.burst() == BurstClass::kMass) return;
  const Instant event = std::min(std::max(changed, state.last_crawl), now);
  if (event <= state.last_event) return;
  if (judge == nullptr) judge = std::make_unique<PagePosterior>(Posterior(page, now, lessons));
  const double weight = page.spec.complete_signals ? kInfinity : judge->Weight(source_class);
  if (ShiftedWeight(weight, shift) <= kCredibleWeight) return;
  if (state.rates.age_bin != kAgeless) {
    const double age = Days(event - state.last_event);
    SiteLesson lesson{.site = state.rates.site, .page = page.number, .from = age};
    lessons.sites.push_back(lesson);
    lesson.kind = SiteLesson::Kind::kExposure;
    lesson.rate = judge->even_rate * ToldOf(*judge, sites_.model(state.rates.site));
    lesson.from = std::max(0.0, Days(mark - state.last_event));
    lesson.to = age;
    lessons.sites.push_back(lesson);
  }
  aging_.StartAge(state, event, now);
}

void Estimator::Install(Lessons&& lessons) {
  if (mark_.is_none()) mark_ = lessons.first;
  windows_.Install(lessons.windows);
  bursts_.Install(lessons.bursts);
  quarantine_.Install(std::move(lessons.quarantine));
  for (const SiteLesson& lesson : lessons.sites) {
    lesson.AddTo(sites_.model(lesson.site).life(), sites_.counts(lesson.site, lesson.page));
  }
}

bool Estimator::Reweigh(PageState& state, const Lessons& lessons) const {
  bool changed = false;
  for (BurstSignal& signal : state.bursts) {
    if (signal.burst == 0 || !bursts_.Knows(signal.burst, lessons.bursts)) continue;
    const auto shift = static_cast<float>(bursts_.Shift(signal.burst, lessons.bursts));
    changed = changed || shift != signal.shift;
    signal.shift = shift;
  }
  return changed;
}

void Estimator::Forget(PageRecord& page, const PagePosterior& posterior) const {
  PageStatistics& statistics = page.detail.statistics;
  const CrawlObservation& oldest = statistics.recent.front();
  const OldEvidence evidence = EvidenceOf(oldest, posterior, options_.day);
  const double fade =
      Fading(statistics.recent[1].fetched - oldest.fetched, kUnsignalledHalfLifeDays, options_.day);
  statistics.old_changes =
      static_cast<float>((statistics.old_changes + evidence.unsignalled) * fade);
  statistics.old_exposure = static_cast<float>((statistics.old_exposure + oldest.exposure) * fade);
  page.state.evidence +=
      static_cast<float>(evidence.signalled * Fading(page.state.carried_at - oldest.fetched,
                                                     kSignalledHalfLifeDays, options_.day));
  statistics.recent.erase(statistics.recent.begin());
}

void Estimator::RecordCrawl(PageRecord& page, const CrawlObservation& seen,
                            Lessons& lessons) const {
  CrawlObservation observation = seen;
  PageStatistics& statistics = page.detail.statistics;
  PageState& state = page.state;
  if (observation.elapsed <= Duration()) return;
  DropLate(observation.fetched - observation.elapsed, statistics);
  if (!statistics.recent.empty() && observation.fetched <= statistics.recent.back().fetched) return;
  (void)Mark(observation.fetched, lessons);
  observation.exposure = static_cast<float>(state.exposure);
  const PagePosterior posterior = Posterior(page, observation.fetched, lessons);
  const double told_weight = ToldWeight(state, observation, posterior);
  aging_.CountCrawl(page, observation.fetched, /*found=*/true, lessons);
  CountAges(page, observation, posterior, told_weight, options_.day, lessons);
  if (options_.kind == EstimatorKind::kDefault && !page.spec.complete_signals) {
    LearnSources(page, observation, posterior, options_.day, quarantine_, lessons);
  }
  LearnBursts(page, posterior, observation.changed, options_.day, bursts_, lessons);
  if (statistics.recent.size() >= limits::kMaxObservations) Forget(page, posterior);
  statistics.recent.push_back(Coarse(observation, statistics));
  if (observation.changed && told_weight <= kCredibleWeight) {
    const Duration half = Duration::Micros(observation.elapsed.micros() / 2);
    aging_.StartAge(state, observation.fetched - half, observation.fetched);
  }
}

void Estimator::RecordLateCrawl(PageRecord& page, const CrawlObservation& seen,
                                const Lessons& lessons) const {
  CrawlObservation observation = seen;
  PageStatistics& statistics = page.detail.statistics;
  if (observation.elapsed <= Duration()) return;
  DropLate(observation.fetched - observation.elapsed, statistics);
  PageState state = page.state;
  aging_.Advance(state, observation.fetched);
  // Assumes that the exposure grew at a constant pace over the interval.
  const double known = (state.carried_at - (observation.fetched - observation.elapsed)).seconds();
  observation.exposure =
      static_cast<float>(state.exposure * std::min(1.0, observation.elapsed.seconds() / known));
  if (statistics.recent.size() >= limits::kMaxObservations) {
    Forget(page, Posterior(page, observation.fetched, lessons));
  }
  statistics.recent.push_back(Coarse(observation, statistics));
}

void Estimator::BeginEpoch(Instant now) {
  last_mark_ = collecting_ ? last_mark_ : mark_;
  if (last_mark_.is_none()) last_mark_ = now;
  mark_ = now;
  collecting_ = true;
  sites_.Begin();
}

PagePosterior Estimator::CollectCarried(const PageRecord& page, uint16_t* number) {
  const SiteModel& site = sites_.model(*number);
  const PageState& state = page.state;
  PagePosterior posterior = Posterior(site, page, mark_, none_);
  if (state.last_event < mark_ && state.rates.age_bin != kAgeless) {
    sites_.counts(*number, page.number)
        .ages.AddExposure(posterior.even_rate * ToldOf(posterior, site),
                          std::max(0.0, Days(last_mark_ - state.last_event)),
                          Days(mark_ - state.last_event));
  }
  *number = sites_.Collect(page.host, page.number, posterior);
  return posterior;
}

void Estimator::Collect(const PageRecord& page) {
  CHECK(collecting_);
  if (!Collects(page)) return;
  PageRecord carried = page;
  aging_.Advance(carried.state, mark_);
  uint16_t number = sites_.NumberOf(page.host);
  (void)CollectCarried(carried, &number);
}

std::optional<PageEstimate> Estimator::CollectAndEstimate(PageRecord& page, Instant now) {
  CHECK(collecting_);
  uint16_t number = sites_.NumberOf(page.host);
  const bool known = sites_.learned() || !Pools(page.spec);
  // Evidence hardly fades between the mark and now. The posterior as of the mark therefore still
  // holds, unless the page has had an event since.
  const bool before = page.state.carried_at <= mark_;
  aging_.Advance(page.state, mark_);
  std::optional<PageEstimate> estimate;
  if (Collects(page)) {
    const PagePosterior posterior = CollectCarried(page, &number);
    aging_.Advance(page.state, now);
    if (before && known) estimate = EstimateOf(page, number, posterior, now);
  }
  aging_.Advance(page.state, now);
  if (!estimate && known) estimate = Estimate(page, now);
  return estimate;
}

void Estimator::EndCollecting() {
  CHECK(collecting_);
  sites_.EndCollecting();
  quarantine_text_ = quarantine_.Serialise();
}

LearnedSites Estimator::Learn(const EpochSums& all, const std::atomic<bool>& stop) const {
  LearnedSites learned = sites_.Learn(all, FadeOfEpoch(), stop);
  learned.text += quarantine_text_;
  return learned;
}

void Estimator::FinishEpoch(LearnedSites learned) {
  CHECK(collecting_);
  collecting_ = false;
  sites_.Finish(std::move(learned), FadeOfEpoch());
}

void Estimator::FinishEpoch() {
  EndCollecting();
  FinishEpoch(Learn(sites_.Sums(), false));
}

std::string Estimator::SerialiseModel() const {
  return sites_.Serialise() + quarantine_.Serialise();
}

Status Estimator::RestoreModel(std::string_view text) {
  std::string of_sites;
  Quarantine quarantine;
  for (const auto line : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    const std::string_view view(line.data(), line.size());
    if (Quarantine::IsLine(view)) {
      RETURN_IF_ERROR(quarantine.AddLine(view));
    } else {
      of_sites.append(view).append("\n");
    }
  }
  RETURN_IF_ERROR(sites_.Restore(of_sites));
  quarantine_ = std::move(quarantine);
  collecting_ = false;
  mark_ = options_.since;
  return absl::OkStatus();
}

bool RecordLateSignal(PageRecord& page, SourceClass source_class, Instant changed) {
  auto& recent = page.detail.statistics.recent;
  const auto interval = std::find_if(recent.rbegin(), recent.rend(), [&](const auto& observation) {
    return changed <= observation.fetched && changed > observation.fetched - observation.elapsed;
  });
  if (interval == recent.rend()) return false;
  interval->signals.Add(source_class);
  return true;
}

std::pair<double, double> PageEstimate::Interval95() const {
  const double rate = rates.change_rate;
  if (std::isinf(shape)) return {rate, rate};
  if (!(rate > 0 && shape > 0)) return {0, rate};
  return {GammaQuantile(rate, shape, kLow95), GammaQuantile(rate, shape, kHigh95)};
}

}  // namespace freshet
