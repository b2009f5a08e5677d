#include "core/estimate/estimator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_split.h"
#include "core/base/check.h"
#include "core/base/limits.h"
#include "core/estimate/classic_page.h"
#include "core/estimate/host_trust.h"
#include "core/estimate/lessons.h"
#include "core/estimate/life.h"
#include "core/estimate/operational_time.h"
#include "core/estimate/page_estimate.h"
#include "core/estimate/page_estimator.h"
#include "core/estimate/site_table.h"
#include "core/model/page.h"

namespace freshet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kCurveHalfLifeDays = 3000;
constexpr double kLow95 = 0.025;
constexpr double kHigh95 = 0.975;
// A signal counts as an event of operational time where it is more likely true than not: where its
// kappa is above ln 2.
constexpr double kCredibleWeight = M_LN2;
// A class of which fewer signals than this stand for a change is left out of the value: hundreds of
// worthless signals would cost terms and change nothing.
constexpr double kLeastPrecision = 0.03;
// An interval in which more changes than this are expected says nothing of their ages.
constexpr double kMaxChangesForAge = 0.7;

// kappa of a signal whose odds a burst moves by e^shift.
double ShiftedWeight(double weight, double shift) {
  if (shift == 0 || std::isinf(weight)) return weight;
  return std::log1p(std::expm1(weight) * std::exp(shift));
}

// Signals that stand for a change, per change of the page.
double ToldOf(const PagePosterior& posterior, const SiteModel& site) {
  return posterior.unsignalled == 0 ? 1 : site.told();
}

// Forgets crawls since `begin`, which did not become the copy of the page: the interval that begins
// there holds theirs.
void DropLate(Instant begin, PageStatistics& statistics) {
  auto& recent = statistics.recent;
  while (!recent.empty() && recent.back().fetched > begin) recent.pop_back();
}

// What the value takes for one source: the classes that tell something, with their summed signal
// rate and common recall. Changes that the others tell of are as good as unsignalled.
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

class Estimator::Impl {
 public:
  explicit Impl(EstimatorOptions options)
      : options_(options), windows_(options.day), mark_(options.since) {}

  PageEstimate Estimate(const PageRecord& page, Instant now, const Lessons& lessons) const;
  PageEstimate Estimate(const PageRecord& page, Instant now) const {
    return Estimate(page, now, none_);
  }
  PageRates RatesBeforeFirstCrawl(const PageState& state) const;
  void Advance(PageState& state, Instant now) const;
  Instant NextEdge(const PageState& state) const;
  void RecordCrawl(PageRecord& page, CrawlObservation observation, Lessons& lessons) const;
  void RecordLateCrawl(PageRecord& page, CrawlObservation observation,
                       const Lessons& lessons) const;
  void RecordLook(const PageRecord& page, Duration gone, Duration waited, bool returned,
                  Lessons& lessons) const;
  void CountLife(const PageRecord& page, Instant fetched, bool found, Lessons& lessons) const;
  double AliveChance(const PageState& state, Instant at) const;
  double Returns(const PageState& state) const { return Site(state.rates.site).life().returns; }
  void RecordSignal(PageRecord& page, SourceClass source_class, uint64_t poll, Instant changed,
                    Instant now, Lessons& lessons) const;
  bool RecordLateSignal(PageRecord& page, SourceClass source_class, Instant changed) const;
  void Install(Lessons&& lessons);
  bool Reweigh(PageState& state, const Lessons& lessons) const;
  Bursts& bursts() { return bursts_; }
  const SignalWindows& windows() const { return windows_; }
  void BeginEpoch(Instant now);
  void Collect(const PageRecord& page);
  std::optional<PageEstimate> CollectAndEstimate(PageRecord& page, Instant now);
  void EndCollecting();
  [[nodiscard]] EpochSums Collected() const { return sites_.Sums(); }
  [[nodiscard]] LearnedSites Learn(const EpochSums& all, const std::atomic<bool>& stop) const {
    LearnedSites learned = sites_.Learn(all, FadeOfEpoch(), stop);
    learned.text += quarantine_text_;
    return learned;
  }
  void FinishEpoch(LearnedSites learned);
  [[nodiscard]] SiteMemory site_memory() const { return {sites_.size(), sites_.Bytes()}; }
  std::string SerialiseModel() const { return sites_.Serialise() + quarantine_.Serialise(); }
  Status RestoreModel(std::string_view text);
  std::vector<SourceTrust> Trust() const;
  std::vector<HostTrust> TrustByHost(const std::string& host, SourceSet sources, size_t max) const {
    return WorstHosts(sites_, quarantine_, host, sources, max);
  }
  std::vector<QuarantineNews> TakeQuarantineNews() { return std::exchange(news_, {}); }
  QuarantineCounts quarantine_counts() const { return {quarantine_.quarantined(), begun_}; }

 private:
  const SiteModel& Site(uint16_t number) const { return sites_.model(number); }
  double Days(Duration d) const { return d.seconds() / options_.day.seconds(); }
  // The span of `days` days, for edges: exact in microseconds.
  Duration Span(double days) const { return Duration::FromSeconds(days * options_.day.seconds()); }
  bool Pools(const PageSpec& spec) const {
    return options_.kind == EstimatorKind::kDefault || spec.complete_signals ||
           spec.known_change_rate.has_value();
  }
  PageEstimate EstimateAlone(const PageRecord& page, Instant now) const;
  // Given what is believed of the page, whose site is `number`.
  PageEstimate EstimateOf(const PageRecord& page, uint16_t number, const PagePosterior& posterior,
                          Instant now) const;
  [[nodiscard]] bool Collects(const PageRecord& page) const {
    return Pools(page.spec) && !page.state.gone;
  }
  // Of a page that is collected and was carried to the mark: what is believed of it as of then.
  // `number`: of its site, in and out.
  PagePosterior CollectCarried(const PageRecord& page, uint16_t* number);
  [[nodiscard]] double FadeOfEpoch() const {
    return Fading(mark_ - last_mark_, kCurveHalfLifeDays, options_.day);
  }
  PagePosterior Posterior(const SiteModel& site, const PageRecord& page, Instant now,
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
  PagePosterior Posterior(const PageRecord& page, Instant now, const Lessons& lessons) const {
    return Posterior(Site(sites_.NumberOf(page.host)), page, now, lessons);
  }
  // The mark, which an event at `now` sets if it is the first.
  Instant Mark(Instant now, Lessons& lessons) const {
    if (!mark_.is_none()) return mark_;
    if (lessons.first.is_none()) lessons.first = now;
    return lessons.first;
  }
  double StalenessOf(const PageRecord& page, const PagePosterior& posterior) const;
  // Multiplies the rates of `state` by what lies between its age bin and `bin`.
  void MoveToBin(PageState& state, uint8_t bin) const;
  // Moves the sums by `dt` in operational time that runs at `level`.
  void Carry(PageState& state, Duration dt, double level) const;
  // The age of the page starts anew at `event`.
  void StartAge(PageState& state, Instant event, Instant now) const;
  void CountAges(const PageRecord& page, const CrawlObservation& observation,
                 const PagePosterior& posterior, double told_weight, Lessons& lessons) const;
  // A crawl ends the wait in the bursts of the page; its outcome tells of them.
  void LearnBursts(const PageRecord& page, const PagePosterior& posterior, bool page_changed,
                   Lessons& lessons) const;
  // And of the sources that signalled it.
  void LearnSources(const PageRecord& page, const CrawlObservation& observation,
                    const PagePosterior& posterior, Lessons& lessons) const;
  void ObserveSource(const std::string& host, uint8_t source, const SignalledInterval& interval,
                     Instant now, Lessons& lessons) const;
  void Forget(PageRecord& page, const PagePosterior& posterior) const;

  const Lessons none_;
  EstimatorOptions options_;
  SiteTable sites_;
  SignalWindows windows_;
  Bursts bursts_;
  Quarantine quarantine_;
  std::string quarantine_text_;  // as of the end of collecting
  std::vector<QuarantineNews> news_;
  uint64_t begun_ = 0;
  // Age exposure before `mark_` has been collected. After a start what came before is not known to
  // have been, and neither are the events: both are left out.
  Instant mark_;
  Instant last_mark_;
  bool collecting_ = false;
};

// Known rates and complete signals do not occur here: they are the same for every estimator.
PageEstimate Estimator::Impl::EstimateAlone(const PageRecord& page, Instant now) const {
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

PageEstimate Estimator::Impl::Estimate(const PageRecord& page, Instant now,
                                       const Lessons& lessons) const {
  if (!Pools(page.spec)) return EstimateAlone(page, now);
  const uint16_t number = sites_.NumberOf(page.host);
  return EstimateOf(page, number, Posterior(Site(number), page, now, lessons), now);
}

PageEstimate Estimator::Impl::EstimateOf(const PageRecord& page, uint16_t number,
                                         const PagePosterior& posterior, Instant now) const {
  const SiteModel& site = Site(number);
  PageEstimate estimate;
  PageRates& rates = estimate.rates;
  rates.site = number;
  const double per_second = 1 / options_.day.seconds();
  double level = 1;  // of the near future and of now
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
  estimate.staleness = StalenessOf(page, posterior);
  return estimate;
}

double Estimator::Impl::StalenessOf(const PageRecord& page, const PagePosterior& posterior) const {
  const PageState& state = page.state;
  if (!state.crawled()) return kNeverCrawledStaleness;
  if (page.spec.complete_signals) return state.signals.empty() ? 0 : kInfinity;
  double s = posterior.unsignalled * posterior.mean * state.exposure / options_.day.seconds();
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

PageRates Estimator::Impl::RatesBeforeFirstCrawl(const PageState& state) const {
  PageRates rates = state.rates;
  if (rates.age_bin == kAgeless) return rates;
  // Nor is there a copy that signals would tell of: what approximates their part of the value must
  // not set pages of which the site knows classes below others.
  rates.unsignalled_rate = rates.change_rate;
  rates.signal_rate = rates.signal_weight = 0;
  if (state.signals.empty()) return rates;
  // Without crawls and signals the posterior mean has a closed form.
  const SiteModel& site = Site(rates.site);
  const double day = options_.day.seconds();
  const RatePrior& prior = site.prior();
  const double exposure = site.told() * state.evidence_exposure / day;
  const double mean = prior.shape / (prior.shape / prior.mean + exposure);
  const int bin = AgeCurve::BinOf(std::max(0.0, Days(state.carried_at - state.first_seen)));
  const double factor = mean * site.curve().Ahead(bin) / day / rates.change_rate;
  if (!(factor < 1)) return rates;
  rates.change_rate *= factor;
  rates.unsignalled_rate *= factor;
  rates.staleness_rate *= factor;
  return rates;
}

Instant Estimator::Impl::NextEdge(const PageState& state) const {
  if (state.rates.age_bin >= kAgeBins - 1) return Instant::Infinite();
  return state.last_event + Span(AgeCurve::EndOf(state.rates.age_bin));
}

void Estimator::Impl::MoveToBin(PageState& state, uint8_t bin) const {
  const AgeCurve& curve = Site(state.rates.site).curve();
  PageRates& rates = state.rates;
  const double ahead = curve.Ahead(bin) / curve.Ahead(rates.age_bin);
  rates.change_rate *= ahead;
  rates.unsignalled_rate *= ahead;
  rates.signal_rate *= ahead;
  rates.staleness_rate *= curve.Level(bin) / curve.Level(rates.age_bin);
  rates.age_bin = bin;
}

void Estimator::Impl::Carry(PageState& state, Duration dt, double level) const {
  state.carried_at = state.carried_at + dt;
  // What is not there does not change.
  if (state.gone) return;
  const double seconds = dt.seconds();
  state.staleness += state.rates.staleness_rate * seconds;
  state.exposure += level * seconds;
  const double half_life = kSignalledHalfLifeDays * options_.day.seconds();
  const double fade = std::exp2(-seconds / half_life);
  state.evidence = static_cast<float>(state.evidence * fade);
  state.evidence_exposure =
      static_cast<float>(state.evidence_exposure * fade + level * (1 - fade) * half_life / M_LN2);
}

void Estimator::Impl::Advance(PageState& state, Instant now) const {
  const AgeCurve& curve = Site(state.rates.site).curve();
  while (state.carried_at < now) {
    if (state.rates.age_bin == kAgeless) {
      Carry(state, now - state.carried_at, 1);
      return;
    }
    const Instant edge = NextEdge(state);
    const Instant end = std::min(edge, now);
    if (end > state.carried_at) {
      Carry(state, end - state.carried_at, curve.Level(state.rates.age_bin));
    }
    if (edge <= now) MoveToBin(state, static_cast<uint8_t>(state.rates.age_bin + 1));
  }
}

void Estimator::Impl::StartAge(PageState& state, Instant event, Instant now) const {
  if (event <= state.last_event) return;
  state.last_event = event;
  if (state.rates.age_bin == kAgeless) return;
  MoveToBin(state, static_cast<uint8_t>(AgeCurve::BinOf(std::max(0.0, Days(now - event)))));
}

void Estimator::Impl::RecordSignal(PageRecord& page, SourceClass source_class, uint64_t poll,
                                   Instant changed, Instant now, Lessons& lessons) const {
  PageState& state = page.state;
  const Instant mark = Mark(now, lessons);
  double shift = 0;
  // A page that came alone shares its cause with nobody, and one whose source is complete has
  // nothing to learn.
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
  // A mass edit says little of when its single pages are edited next.
  if (source_class.burst() == BurstClass::kMass) return;
  const Instant event = std::min(std::max(changed, state.last_crawl), now);
  if (event <= state.last_event) return;
  const PagePosterior posterior = Posterior(page, now, lessons);
  const double weight = page.spec.complete_signals ? kInfinity : posterior.Weight(source_class);
  if (ShiftedWeight(weight, shift) <= kCredibleWeight) return;
  if (state.rates.age_bin != kAgeless) {
    const double age = Days(event - state.last_event);
    SiteLesson lesson{.site = state.rates.site,
                      .page = page.number,
                      .kind = SiteLesson::Kind::kEvent,
                      .from = age};
    lessons.sites.push_back(lesson);
    lesson.kind = SiteLesson::Kind::kExposure;
    lesson.rate = posterior.even_rate * ToldOf(posterior, Site(state.rates.site));
    lesson.from = std::max(0.0, Days(mark - state.last_event));
    lesson.to = age;
    lessons.sites.push_back(lesson);
  }
  StartAge(state, event, now);
}

bool Estimator::Impl::RecordLateSignal(PageRecord& page, SourceClass source_class,
                                       Instant changed) const {
  auto& recent = page.detail.statistics.recent;
  const auto interval = std::find_if(recent.rbegin(), recent.rend(), [&](const auto& observation) {
    return changed <= observation.fetched && changed > observation.fetched - observation.elapsed;
  });
  if (interval == recent.rend()) return false;
  interval->signals.Add(source_class);
  return true;
}

void Estimator::Impl::Install(Lessons&& lessons) {
  if (mark_.is_none()) mark_ = lessons.first;
  windows_.Install(lessons.windows);
  bursts_.Install(lessons.bursts);
  quarantine_.Install(std::move(lessons.quarantine));
  for (const SiteLesson& lesson : lessons.sites) {
    lesson.AddTo(Site(lesson.site).life(), sites_.counts(lesson.site, lesson.page));
  }
  for (QuarantineNews& news : lessons.news) {
    begun_ += news.begun ? 1 : 0;
    if (news_.size() >= limits::kMaxQuarantineNews) news_.erase(news_.begin());
    news_.push_back(std::move(news));
  }
}

bool Estimator::Impl::Reweigh(PageState& state, const Lessons& lessons) const {
  bool changed = false;
  for (BurstSignal& signal : state.bursts) {
    if (signal.burst == 0 || !bursts_.Knows(signal.burst, lessons.bursts)) continue;
    const auto shift = static_cast<float>(bursts_.Shift(signal.burst, lessons.bursts));
    changed = changed || shift != signal.shift;
    signal.shift = shift;
  }
  return changed;
}

void Estimator::Impl::LearnBursts(const PageRecord& page, const PagePosterior& posterior,
                                  bool page_changed, Lessons& lessons) const {
  const double chance = std::max(-std::expm1(-StalenessOf(page, posterior)), 1e-9);
  for (const BurstSignal& signal : page.state.bursts) {
    if (signal.burst == 0) continue;
    const double weight = posterior.Weight(signal.source_class);
    const double shifted = -std::expm1(-ShiftedWeight(weight, signal.shift));
    bursts_.Observe(signal.burst, -std::expm1(-weight),
                    page_changed ? std::min(1.0, shifted / chance) : 0, lessons.bursts);
  }
}

void Estimator::Impl::LearnSources(const PageRecord& page, const CrawlObservation& observation,
                                   const PagePosterior& posterior, Lessons& lessons) const {
  if (options_.kind != EstimatorKind::kDefault || page.spec.complete_signals) return;
  struct OfSource {
    uint8_t source;
    double weight = 0;  // as in force
    SignalledInterval interval;
  };
  absl::InlinedVector<OfSource, 2> sources;
  double s = posterior.unsignalled * posterior.mean * double{observation.exposure} /
             options_.day.seconds();
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
    ObserveSource(page.host, of_source.source, of_source.interval, observation.fetched, lessons);
  }
}

void Estimator::Impl::ObserveSource(const std::string& host, uint8_t source,
                                    const SignalledInterval& interval, Instant now,
                                    Lessons& lessons) const {
  const QuarantineChange change =
      quarantine_.Observe(host, source, interval, now, lessons.quarantine);
  if (change == QuarantineChange::kNone) return;
  lessons.news.push_back({.begun = change == QuarantineChange::kBegun,
                          .standing = *quarantine_.Find(host, source, lessons.quarantine)});
}

void Estimator::Impl::Forget(PageRecord& page, const PagePosterior& posterior) const {
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

// Changes that nobody told of are watched for by crawls: between two of them at an age that is not
// known exactly.
void Estimator::Impl::CountAges(const PageRecord& page, const CrawlObservation& observation,
                                const PagePosterior& posterior, double told_weight,
                                Lessons& lessons) const {
  const PageState& state = page.state;
  if (state.rates.age_bin == kAgeless) return;
  const Instant since = std::max(observation.fetched - observation.elapsed, state.last_event);
  const double rate = posterior.even_rate * posterior.unsignalled;
  const double from = Days(since - state.last_event);
  const double to = Days(observation.fetched - state.last_event);
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

void Estimator::Impl::RecordCrawl(PageRecord& page, CrawlObservation observation,
                                  Lessons& lessons) const {
  PageStatistics& statistics = page.detail.statistics;
  PageState& state = page.state;
  if (observation.elapsed <= Duration()) return;
  DropLate(observation.fetched - observation.elapsed, statistics);
  if (!statistics.recent.empty() && observation.fetched <= statistics.recent.back().fetched) return;
  (void)Mark(observation.fetched, lessons);
  observation.exposure = static_cast<float>(state.exposure);
  const PagePosterior posterior = Posterior(page, observation.fetched, lessons);
  double told_weight = 0;
  for (const SignalCounts::Entry& entry : observation.signals.entries()) {
    if (entry.count > 0) told_weight = std::max(told_weight, posterior.Weight(entry.source_class));
  }
  for (const BurstSignal& signal : state.bursts) {
    if (signal.burst == 0) continue;
    const double weight = posterior.Weight(signal.source_class);
    told_weight = std::max(told_weight, ShiftedWeight(weight, signal.shift));
  }
  CountLife(page, observation.fetched, /*found=*/true, lessons);
  CountAges(page, observation, posterior, told_weight, lessons);
  LearnSources(page, observation, posterior, lessons);
  LearnBursts(page, posterior, observation.changed, lessons);
  if (statistics.recent.size() >= limits::kMaxObservations) Forget(page, posterior);
  statistics.recent.push_back(Coarse(observation, statistics));
  if (observation.changed && told_weight <= kCredibleWeight) {
    const Duration half = Duration::Micros(observation.elapsed.micros() / 2);
    StartAge(state, observation.fetched - half, observation.fetched);
  }
}

double Estimator::Impl::AliveChance(const PageState& state, Instant at) const {
  const double silent = Days(at - std::max(state.last_crawl, state.last_event));
  if (!state.crawled() || !(silent > 0) || options_.kind != EstimatorKind::kDefault) return 1;
  // Signals that are not believed are no sign of life.
  const bool believed = state.rates.signal_weight > kCredibleWeight;
  const double signs = believed ? state.rates.signal_rate * options_.day.seconds() : 0;
  return freshet::AliveChance(Site(state.rates.site).life().death_rate, signs, silent);
}

void Estimator::Impl::CountLife(const PageRecord& page, Instant fetched, bool found,
                                Lessons& lessons) const {
  const PageState& state = page.state;
  if (!state.crawled() || state.gone) return;
  lessons.sites.push_back({.site = state.rates.site,
                           .page = page.number,
                           .kind = SiteLesson::Kind::kCrawl,
                           .found = found,
                           .rate = AliveChance(state, fetched)});
}

void Estimator::Impl::RecordLook(const PageRecord& page, Duration gone, Duration waited,
                                 bool returned, Lessons& lessons) const {
  lessons.sites.push_back({.site = page.state.rates.site,
                           .page = page.number,
                           .kind = SiteLesson::Kind::kLook,
                           .found = returned,
                           .from = Days(waited),
                           .to = Days(gone)});
}

void Estimator::Impl::RecordLateCrawl(PageRecord& page, CrawlObservation observation,
                                      const Lessons& lessons) const {
  PageStatistics& statistics = page.detail.statistics;
  if (observation.elapsed <= Duration()) return;
  DropLate(observation.fetched - observation.elapsed, statistics);
  PageState state = page.state;
  Advance(state, observation.fetched);
  // What has been added since the fetch came at the pace of the whole.
  const double known = (state.carried_at - (observation.fetched - observation.elapsed)).seconds();
  observation.exposure =
      static_cast<float>(state.exposure * std::min(1.0, observation.elapsed.seconds() / known));
  if (statistics.recent.size() >= limits::kMaxObservations) {
    Forget(page, Posterior(page, observation.fetched, lessons));
  }
  statistics.recent.push_back(Coarse(observation, statistics));
}

void Estimator::Impl::BeginEpoch(Instant now) {
  last_mark_ = collecting_ ? last_mark_ : mark_;
  if (last_mark_.is_none()) last_mark_ = now;
  mark_ = now;
  collecting_ = true;
  sites_.Begin();
}

PagePosterior Estimator::Impl::CollectCarried(const PageRecord& page, uint16_t* number) {
  const SiteModel& site = Site(*number);
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

void Estimator::Impl::Collect(const PageRecord& page) {
  CHECK(collecting_);
  if (!Collects(page)) return;
  PageRecord carried = page;
  Advance(carried.state, mark_);
  uint16_t number = sites_.NumberOf(page.host);
  (void)CollectCarried(carried, &number);
}

std::optional<PageEstimate> Estimator::Impl::CollectAndEstimate(PageRecord& page, Instant now) {
  CHECK(collecting_);
  uint16_t number = sites_.NumberOf(page.host);
  const bool known = sites_.learned() || !Pools(page.spec);
  // Evidence fades by next to nothing from the mark until now: what is believed of a page as of
  // then holds, unless something happened to it since.
  const bool before = page.state.carried_at <= mark_;
  Advance(page.state, mark_);
  std::optional<PageEstimate> estimate;
  if (Collects(page)) {
    const PagePosterior posterior = CollectCarried(page, &number);
    Advance(page.state, now);
    if (before && known) estimate = EstimateOf(page, number, posterior, now);
  }
  Advance(page.state, now);
  if (!estimate && known) estimate = Estimate(page, now);
  return estimate;
}

void Estimator::Impl::EndCollecting() {
  CHECK(collecting_);
  sites_.EndCollecting();
  quarantine_text_ = quarantine_.Serialise();
}

void Estimator::Impl::FinishEpoch(LearnedSites learned) {
  CHECK(collecting_);
  collecting_ = false;
  sites_.Finish(std::move(learned), FadeOfEpoch());
}

Status Estimator::Impl::RestoreModel(std::string_view text) {
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

std::vector<SourceTrust> Estimator::Impl::Trust() const {
  std::vector<SourceTrust> all;
  for (const ClassModel& model : Site(0).classes()) {
    if (!(model.signals > 0)) continue;
    SourceTrust out;
    out.source_class = model.source_class;
    out.signals = model.signals;
    out.truth = model.truth;
    out.recall = model.recall;
    SetPrecision(model.signals, model.truth, &out);
    all.push_back(out);
  }
  return all;
}

std::pair<double, double> PageEstimate::Interval95() const {
  const double rate = rates.change_rate;
  if (std::isinf(shape)) return {rate, rate};
  if (!(rate > 0 && shape > 0)) return {0, rate};
  return {GammaQuantile(rate, shape, kLow95), GammaQuantile(rate, shape, kHigh95)};
}

Estimator::Estimator(EstimatorOptions options) : impl_(std::make_unique<Impl>(options)) {
  CHECK(options.day > Duration());
}
Estimator::~Estimator() = default;

PageEstimate Estimator::Estimate(const PageRecord& page, Instant now) const {
  return impl_->Estimate(page, now);
}
PageEstimate Estimator::Estimate(const PageRecord& page, Instant now,
                                 const Lessons& lessons) const {
  return impl_->Estimate(page, now, lessons);
}
PageRates Estimator::RatesBeforeFirstCrawl(const PageState& state) const {
  return impl_->RatesBeforeFirstCrawl(state);
}
void Estimator::Advance(PageState& state, Instant now) const { impl_->Advance(state, now); }
Instant Estimator::NextEdge(const PageState& state) const { return impl_->NextEdge(state); }
void Estimator::RecordCrawl(PageRecord& page, const CrawlObservation& observation,
                            Lessons& lessons) const {
  impl_->RecordCrawl(page, observation, lessons);
}
void Estimator::RecordLateCrawl(PageRecord& page, const CrawlObservation& observation,
                                const Lessons& lessons) const {
  impl_->RecordLateCrawl(page, observation, lessons);
}
void Estimator::RecordGone(const PageRecord& page, Instant now, Lessons& lessons) const {
  impl_->CountLife(page, now, /*found=*/false, lessons);
}
void Estimator::RecordLook(const PageRecord& page, Duration gone, Duration waited, bool returned,
                           Lessons& lessons) const {
  impl_->RecordLook(page, gone, waited, returned, lessons);
}
double Estimator::AliveChance(const PageState& state, Instant at) const {
  return impl_->AliveChance(state, at);
}
double Estimator::Returns(const PageState& state) const { return impl_->Returns(state); }
PlacedSignal Estimator::PlaceSignal(const std::string& host, uint8_t source, uint64_t poll,
                                    uint32_t pages, Instant now, Lessons& lessons) const {
  return impl_->windows().Place(host, source, poll, pages, now, lessons.windows);
}
void Estimator::RecordSignal(PageRecord& page, SourceClass source_class, uint64_t poll,
                             Instant changed, Instant now, Lessons& lessons) const {
  impl_->RecordSignal(page, source_class, poll, changed, now, lessons);
}
bool Estimator::RecordLateSignal(PageRecord& page, SourceClass source_class,
                                 Instant changed) const {
  return impl_->RecordLateSignal(page, source_class, changed);
}
void Estimator::Install(Lessons&& lessons) { impl_->Install(std::move(lessons)); }
void Estimator::TakeReweighed(size_t max, std::vector<PageNumber>* pages) {
  impl_->bursts().TakeReweighed(max, pages);
}
bool Estimator::has_reweighed() const { return impl_->bursts().has_reweighed(); }
bool Estimator::Reweigh(PageState& state, const Lessons& lessons) const {
  return impl_->Reweigh(state, lessons);
}
void Estimator::RestoreSignals(std::span<const BurstSignal> bursts, PageNumber page) {
  for (const BurstSignal& signal : bursts) {
    impl_->bursts().Restore(signal.burst, signal.shift, page);
  }
}
void Estimator::BeginEpoch(Instant now) { impl_->BeginEpoch(now); }
void Estimator::Collect(const PageRecord& page) { impl_->Collect(page); }
Estimator::SiteMemory Estimator::site_memory() const { return impl_->site_memory(); }
std::optional<PageEstimate> Estimator::CollectAndEstimate(PageRecord& page, Instant now) {
  return impl_->CollectAndEstimate(page, now);
}
void Estimator::EndCollecting() { impl_->EndCollecting(); }
EpochSums Estimator::Collected() const { return impl_->Collected(); }
LearnedSites Estimator::Learn(const EpochSums& all, const std::atomic<bool>& stop) const {
  return impl_->Learn(all, stop);
}
void Estimator::FinishEpoch(LearnedSites learned) { impl_->FinishEpoch(std::move(learned)); }
void Estimator::FinishEpoch() {
  EndCollecting();
  FinishEpoch(Learn(Collected(), false));
}
std::string Estimator::SerialiseModel() const { return impl_->SerialiseModel(); }
Status Estimator::RestoreModel(std::string_view text) { return impl_->RestoreModel(text); }
std::vector<SourceTrust> Estimator::Trust() const { return impl_->Trust(); }
std::vector<HostTrust> Estimator::TrustByHost(const std::string& host, SourceSet sources,
                                              size_t max) const {
  return impl_->TrustByHost(host, sources, max);
}
std::vector<QuarantineNews> Estimator::TakeQuarantineNews() { return impl_->TakeQuarantineNews(); }
Estimator::QuarantineCounts Estimator::quarantine_counts() const {
  return impl_->quarantine_counts();
}

}  // namespace freshet
