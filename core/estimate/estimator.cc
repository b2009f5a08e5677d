#include "core/estimate/estimator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_split.h"
#include "core/base/check.h"
#include "core/base/limits.h"
#include "core/estimate/bursts.h"
#include "core/estimate/classic_page.h"
#include "core/estimate/operational_time.h"
#include "core/estimate/page_estimator.h"
#include "core/estimate/site.h"

namespace freshet {
namespace {

constexpr std::string_view kModelHeader = "freshet-site-models 1";
// A host of fewer pages shares the model of its shard.
constexpr uint64_t kMinPagesOfSite = 200;
constexpr double kCurveHalfLifeDays = 3000;
constexpr double kNormal95 = 1.959963985;

bool IsBurst(SourceClass source_class) { return source_class.burst() != BurstClass::kMass; }

// Precision 95% interval: the Wilson score interval of a proportion.
void SetPrecisionInterval(const ClassTrust& trust, SourceTrust* out) {
  const double n = trust.signals + 1;
  const double p = trust.precision;
  const double z2 = kNormal95 * kNormal95;
  const double centre = (p + z2 / (2 * n)) / (1 + z2 / n);
  const double half = kNormal95 / (1 + z2 / n) * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n));
  out->precision_low = std::max(0.0, centre - half);
  out->precision_high = std::min(1.0, centre + half);
}

}  // namespace

// Sites are numbered: 0 is the whole shard, the others are hosts of many pages. A number keeps its
// meaning for pages that were not re-estimated since; one that lost its host stands for the shard
// until it is given anew.
class Estimator::Impl {
 public:
  explicit Impl(EstimatorOptions options) : options_(options), hosts_(1), sites_(1), counts_(1) {}

  PageEstimate Estimate(const PageRecord& page, Instant now) const;
  PageEstimate EstimateAlone(const PageRecord& page, Instant now) const;
  PageRates RatesBeforeFirstCrawl(const PageState& state) const;
  double SignalWeight(const PageSpec& spec, const PageState& state, SourceClass source_class) const;
  void Advance(PageState& state, Instant now) const;
  Instant NextEdge(const PageState& state) const;
  void RecordCrawl(PageRecord& page, CrawlObservation observation);
  void RecordSignal(PageRecord& page, SourceClass source_class, uint64_t poll, Instant now);
  bool Reweigh(PageState& state) const;
  // A crawl ends the wait in the bursts of `state`; its outcome tells of them.
  void LearnBursts(const PageState& state, bool page_changed);
  Bursts& bursts() { return bursts_; }
  void BeginEpoch(Instant now);
  void Collect(const PageRecord& page);
  void FinishEpoch();
  std::string SerialiseModel() const;
  Status RestoreModel(std::string_view text);
  std::vector<SourceTrust> Trust() const;

 private:
  const SiteModel& Site(uint16_t number) const {
    return sites_[number < sites_.size() ? number : 0];
  }
  uint16_t SiteOf(const std::string& host) const {
    const auto found = numbers_.find(host);
    return found == numbers_.end() ? 0 : found->second;
  }
  double Days(Duration d) const { return d.seconds() / options_.day.seconds(); }
  // The span of `days` days, for edges: exact in microseconds.
  Duration Span(double days) const { return Duration::FromSeconds(days * options_.day.seconds()); }
  // Multiplies the rates of `state` by what lies between its age bin and `bin`.
  void MoveToBin(PageState& state, uint8_t bin) const;
  // Moves the sums by `dt` in operational time that runs at `level`.
  void Carry(PageState& state, Duration dt, double level) const;
  // Takes an event at `now` into the age counts and starts the age of the page anew.
  void StartAge(PageState& state, Instant now);
  void CollectInto(std::span<SiteLearner* const> learners, const SiteModel& site,
                   const PageRecord& page, const PagePosterior& posterior) const;
  SiteLearner* NewHostLearner(const std::string& host);
  void Forget(PageStatistics& statistics, const SiteModel& site, double rate) const;

  EstimatorOptions options_;
  std::vector<std::string> hosts_;  // of each site; empty: none
  std::vector<SiteModel> sites_;
  // Age counts of each site, filled by events and epochs; those of site 0 exclude the others' until
  // FinishEpoch adds them up.
  std::vector<AgeCounts> counts_;
  absl::flat_hash_map<std::string, uint16_t> numbers_;
  Bursts bursts_;

  // The epoch under way. Age exposure before `mark_` has been collected.
  Instant mark_;
  Instant last_mark_;
  bool collecting_ = false;
  std::vector<SiteLearner> learners_;  // by site number; the hosts that are new come last
  std::vector<std::string> learner_hosts_;
  absl::flat_hash_map<std::string, uint16_t> learner_numbers_;
};

// Known rates and complete signals do not occur here: they are the same for every estimator.
PageEstimate Estimator::Impl::EstimateAlone(const PageRecord& page, Instant now) const {
  const PageStatistics& statistics = page.detail.statistics;
  const ClassicEstimate classic = options_.kind == EstimatorKind::kChoGm
                                      ? EstimateByChoGm(statistics, options_.day)
                                      : EstimateByMle(statistics, page.state, now, options_.day);
  PageEstimate estimate;
  estimate.rates = classic.rates;
  const double rate = classic.rates.change_rate;
  estimate.low = GammaQuantile(rate, classic.changed, -kNormal95);
  estimate.high = GammaQuantile(rate, classic.changed, kNormal95);
  estimate.observations = static_cast<double>(statistics.recent.size());
  return estimate;
}

PageEstimate Estimator::Impl::Estimate(const PageRecord& page, Instant now) const {
  if (options_.kind != EstimatorKind::kDefault && !page.spec.complete_signals &&
      !page.spec.known_change_rate) {
    return EstimateAlone(page, now);
  }
  const uint16_t number = SiteOf(page.host);
  const SiteModel& site = Site(number);
  PageEstimate estimate;
  PageRates& rates = estimate.rates;
  rates.site = number;
  const double per_second = 1 / options_.day.seconds();
  if (page.spec.known_change_rate.has_value()) {
    rates.change_rate = page.spec.known_change_rate->per_second();
    estimate.low = estimate.high = rates.change_rate;
  } else {
    const PagePosterior posterior =
        EstimatePage(site, page.detail.statistics, page.state, now, options_.day);
    const int bin = AgeCurve::BinOf(std::max(0.0, Days(now - page.state.last_event)));
    rates.age_bin = static_cast<uint8_t>(bin);
    rates.change_rate = posterior.mean * site.curve().Ahead(bin) * per_second;
    estimate.observations = posterior.observations;
    const double scale = site.curve().Ahead(bin) * per_second;
    estimate.low = scale * GammaQuantile(posterior.mean, posterior.shape, -kNormal95);
    estimate.high = scale * GammaQuantile(posterior.mean, posterior.shape, kNormal95);
  }
  if (page.spec.complete_signals) {
    rates.signal_rate = rates.change_rate;
    rates.signal_weight = std::numeric_limits<double>::infinity();
    return estimate;
  }
  const double recall = site.recall();
  rates.unsignalled_rate = (1 - recall) * rates.change_rate;
  rates.signal_rate = site.signals_per_change() * rates.change_rate;
  // The one source that stands for all: recall and signal rate summed.
  rates.signal_weight = recall > 0 ? -std::log1p(-recall / site.signals_per_change()) : 0;
  rates.staleness_rate = rates.unsignalled_rate;
  if (rates.age_bin != kAgeless) {
    rates.staleness_rate *= site.curve().Level(rates.age_bin) / site.curve().Ahead(rates.age_bin);
  }
  return estimate;
}

PageRates Estimator::Impl::RatesBeforeFirstCrawl(const PageState& state) const {
  PageRates rates = state.rates;
  if (rates.age_bin == kAgeless || state.evidence == 0) return rates;
  // Without crawls and signals the posterior mean has a closed form.
  const SiteModel& site = Site(rates.site);
  const double day = options_.day.seconds();
  const RatePrior& prior = site.prior();
  const double exposure = site.burst_signals_per_change() * state.evidence_exposure / day;
  const double mean = prior.shape / (prior.shape / prior.mean + exposure);
  const int bin = AgeCurve::BinOf(std::max(0.0, Days(state.carried_at - state.first_seen)));
  const double factor = mean * site.curve().Ahead(bin) / day / rates.change_rate;
  if (!(factor < 1)) return rates;
  rates.change_rate *= factor;
  rates.unsignalled_rate *= factor;
  rates.signal_rate *= factor;
  rates.staleness_rate *= factor;
  return rates;
}

double Estimator::Impl::SignalWeight(const PageSpec& spec, const PageState& state,
                                     SourceClass source_class) const {
  if (spec.complete_signals) return std::numeric_limits<double>::infinity();
  if (options_.kind != EstimatorKind::kDefault && !spec.known_change_rate) {
    return state.rates.signal_weight;
  }
  return Site(state.rates.site).Weight(source_class);
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
  const double seconds = dt.seconds();
  state.staleness += state.rates.staleness_rate * seconds;
  state.exposure += level * seconds;
  const double half_life = kSignalHalfLifeDays * options_.day.seconds();
  const double fade = std::exp2(-seconds / half_life);
  state.evidence = static_cast<float>(state.evidence * fade);
  state.evidence_exposure =
      static_cast<float>(state.evidence_exposure * fade + level * (1 - fade) * half_life / M_LN2);
  state.carried_at = state.carried_at + dt;
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

void Estimator::Impl::StartAge(PageState& state, Instant now) {
  if (state.rates.age_bin != kAgeless && now > state.last_event) {
    const size_t number = state.rates.site < counts_.size() ? state.rates.site : 0;
    AgeCounts& counts = counts_[number];
    const double age = Days(now - state.last_event);
    const double rate = state.rates.change_rate * options_.day.seconds() /
                        sites_[number].curve().Ahead(state.rates.age_bin);
    counts.AddEvent(age);
    counts.AddExposure(rate, std::max(0.0, Days(mark_ - state.last_event)), age);
    MoveToBin(state, 0);
  }
  state.last_event = std::max(state.last_event, now);
}

void Estimator::Impl::RecordSignal(PageRecord& page, SourceClass source_class, uint64_t poll,
                                   Instant now) {
  PageState& state = page.state;
  double weight = SignalWeight(page.spec, state, source_class);
  // A page that came alone shares its cause with nobody, and one whose source is complete has
  // nothing to learn.
  if (poll != 0 && options_.kind == EstimatorKind::kDefault && !page.spec.complete_signals) {
    const double precision = Site(state.rates.site).trust(source_class).precision;
    const uint32_t burst = bursts_.Join(poll, precision, page.number);
    weight = bursts_.Weight(burst);
    if (burst != state.bursts[0].burst) {
      state.bursts = {BurstSignal{burst, static_cast<float>(weight)}, state.bursts[0]};
    }
  }
  state.staleness += weight;
  if (!IsBurst(source_class)) return;
  state.evidence += 1;
  StartAge(state, now);
}

bool Estimator::Impl::Reweigh(PageState& state) const {
  bool changed = false;
  for (BurstSignal& signal : state.bursts) {
    if (signal.burst == 0 || !bursts_.Knows(signal.burst)) continue;
    const auto weight = static_cast<float>(bursts_.Weight(signal.burst));
    if (weight == signal.weight) continue;
    state.staleness = std::max(0.0, state.staleness + (weight - signal.weight));
    signal.weight = weight;
    changed = true;
  }
  return changed;
}

void Estimator::Impl::LearnBursts(const PageState& state, bool page_changed) {
  const double chance = std::max(-std::expm1(-state.staleness), 1e-9);
  for (const BurstSignal& signal : state.bursts) {
    if (signal.burst == 0) continue;
    const double precision = -std::expm1(-static_cast<double>(signal.weight));
    bursts_.Observe(signal.burst, page_changed ? std::min(1.0, precision / chance) : 0);
  }
}

void Estimator::Impl::Forget(PageStatistics& statistics, const SiteModel& site, double rate) const {
  const CrawlObservation& oldest = statistics.recent.front();
  double changes = 0;
  double exposure = oldest.exposure;
  if (oldest.changed) {
    const double slope = (1 - site.recall()) / options_.day.seconds();
    const IntervalEvidence proof =
        ChangedEvidence(slope * rate * oldest.exposure, SignalStaleness(site, oldest.signals));
    changes = proof.changes;
    exposure = rate > 0 ? proof.expected / (slope * rate) : 0;
  }
  const double fade =
      Fading(statistics.recent[1].fetched - oldest.fetched, kCrawlHalfLifeDays, options_.day);
  statistics.old_changes = static_cast<float>((statistics.old_changes + changes) * fade);
  statistics.old_exposure = static_cast<float>((statistics.old_exposure + exposure) * fade);
  statistics.recent.erase(statistics.recent.begin());
}

void Estimator::Impl::RecordCrawl(PageRecord& page, CrawlObservation observation) {
  PageStatistics& statistics = page.detail.statistics;
  PageState& state = page.state;
  if (observation.elapsed <= Duration()) return;
  if (!statistics.recent.empty() && observation.fetched <= statistics.recent.back().fetched) return;
  const SiteModel& site = Site(state.rates.site);
  const double day = options_.day.seconds();
  const double ahead =
      state.rates.age_bin == kAgeless ? 1 : site.curve().Ahead(state.rates.age_bin);
  const double rate = state.rates.change_rate * day / ahead;
  observation.exposure = static_cast<float>(state.exposure);
  const Instant fetched = observation.fetched;

  LearnBursts(state, observation.changed);
  if (statistics.recent.size() >= limits::kMaxObservations) Forget(statistics, site, rate);
  statistics.recent.push_back(Coarse(observation, statistics));
  bool told = false;
  for (const SignalCounts::Entry& entry : observation.signals.entries()) {
    told = told || (entry.count > 0 && IsBurst(entry.source_class));
  }
  if (observation.changed && !told) StartAge(state, fetched);
}

void Estimator::Impl::BeginEpoch(Instant now) {
  last_mark_ = collecting_ ? last_mark_ : mark_;
  mark_ = now;
  collecting_ = true;
  learners_.assign(sites_.size(), SiteLearner());
  learner_hosts_.clear();
  learner_numbers_.clear();
}

void Estimator::Impl::CollectInto(std::span<SiteLearner* const> learners, const SiteModel& site,
                                  const PageRecord& page, const PagePosterior& posterior) const {
  for (SiteLearner* learner : learners) {
    learner->AddPage({.changes = posterior.changes, .exposure = posterior.exposure});
  }
  const double slope = (1 - site.recall()) * posterior.mean / options_.day.seconds();
  for (const CrawlObservation& observation : page.detail.statistics.recent) {
    if (!observation.changed && observation.signals.empty()) continue;
    const double fade = Fading(mark_ - observation.fetched, kCrawlHalfLifeDays, options_.day);
    const double own = slope * observation.exposure;
    const double s = own + SignalStaleness(site, observation.signals);
    const double truth =
        observation.changed ? 1 / std::max(-std::expm1(-s), 1e-9) : 0;  // per prior probability
    for (SiteLearner* learner : learners) learner->AddUnsignalled(fade * own * truth);
    for (const SignalCounts::Entry& entry : observation.signals.entries()) {
      if (entry.count == 0) continue;
      const double share = std::min(1.0, site.trust(entry.source_class).precision * truth);
      for (SiteLearner* learner : learners) {
        learner->AddSignals(entry.source_class, fade * entry.count, fade * entry.count * share);
      }
    }
  }
}

// The learner of a host without a model of its own; nullptr: it has the model of the shard for now.
SiteLearner* Estimator::Impl::NewHostLearner(const std::string& host) {
  auto found = learner_numbers_.find(host);
  if (found == learner_numbers_.end()) {
    if (learners_.size() >= limits::kMaxSiteModels) return nullptr;
    found = learner_numbers_.emplace(host, static_cast<uint16_t>(learners_.size())).first;
    learners_.emplace_back();
    learner_hosts_.push_back(host);
  }
  return &learners_[found->second];
}

void Estimator::Impl::Collect(const PageRecord& page) {
  CHECK(collecting_);
  if (page.spec.known_change_rate.has_value()) return;
  const uint16_t number = SiteOf(page.host);
  const SiteModel& site = Site(number);
  const PagePosterior posterior =
      EstimatePage(site, page.detail.statistics, page.state, mark_, options_.day);
  SiteLearner* const of_host = number != 0 ? &learners_[number] : NewHostLearner(page.host);
  const std::array<SiteLearner*, 2> learners = {&learners_[0], of_host};
  CollectInto(std::span(learners).first(of_host == nullptr ? 1 : 2), site, page, posterior);
  if (page.state.last_event < mark_) {
    counts_[number].AddExposure(posterior.mean,
                                std::max(0.0, Days(last_mark_ - page.state.last_event)),
                                Days(mark_ - page.state.last_event));
  }
}

void Estimator::Impl::FinishEpoch() {
  CHECK(collecting_);
  collecting_ = false;
  AgeCounts all;
  for (const AgeCounts& counts : counts_) all.Add(counts);
  const size_t known = sites_.size();
  sites_[0] = learners_[0].Fit(SiteModel(), all, SiteLearner::Strength::kWeak);
  std::vector<uint16_t> free_numbers;
  for (size_t number = 1; number < known; ++number) {
    if (!hosts_[number].empty() && learners_[number].pages() < kMinPagesOfSite) {
      numbers_.erase(hosts_[number]);
      hosts_[number].clear();
      counts_[0].Add(counts_[number]);
      counts_[number] = AgeCounts();
    }
    if (hosts_[number].empty()) {
      sites_[number] = sites_[0];
      free_numbers.push_back(static_cast<uint16_t>(number));
      continue;
    }
    sites_[number] =
        learners_[number].Fit(sites_[0], counts_[number], SiteLearner::Strength::kStrong);
  }
  for (size_t i = 0; i < learner_hosts_.size(); ++i) {
    const SiteLearner& learner = learners_[known + i];
    if (learner.pages() < kMinPagesOfSite) continue;
    size_t number = sites_.size();
    if (!free_numbers.empty()) {
      number = free_numbers.back();
      free_numbers.pop_back();
    } else {
      hosts_.emplace_back();
      sites_.emplace_back();
      counts_.emplace_back();
    }
    sites_[number] = learner.Fit(sites_[0], counts_[number], SiteLearner::Strength::kStrong);
    hosts_[number] = learner_hosts_[i];
    numbers_.emplace(learner_hosts_[i], static_cast<uint16_t>(number));
  }
  if (!last_mark_.is_none()) {
    const double fade = Fading(mark_ - last_mark_, kCurveHalfLifeDays, options_.day);
    for (AgeCounts& counts : counts_) counts.Fade(fade);
  }
  learners_.clear();
  learner_hosts_.clear();
  learner_numbers_.clear();
}

// One line a site, the shard first; numbers are not kept.
std::string Estimator::Impl::SerialiseModel() const {
  std::string out = fmt::format("{}\n", kModelHeader);
  for (size_t number = 0; number < sites_.size(); ++number) {
    if (number > 0 && hosts_[number].empty()) continue;
    out += SerialiseSite(hosts_[number], sites_[number], counts_[number]);
    out += '\n';
  }
  return out;
}

Status Estimator::Impl::RestoreModel(std::string_view text) {
  const std::vector<std::string> lines =
      absl::StrSplit(absl::string_view(text.data(), text.size()), '\n', absl::SkipEmpty());
  if (lines.size() < 2 || lines[0] != kModelHeader) {
    return InvalidArgument("site models: not of version '{}'", kModelHeader);
  }
  if (lines.size() - 1 > limits::kMaxSiteModels) {
    return InvalidArgument("site models: {} of them, not at most {}", lines.size() - 1,
                           limits::kMaxSiteModels);
  }
  std::vector<std::string> hosts;
  std::vector<SiteModel> sites;
  std::vector<AgeCounts> counts;
  absl::flat_hash_map<std::string, uint16_t> numbers;
  for (size_t i = 1; i < lines.size(); ++i) {
    std::string host;
    SiteModel site;
    AgeCounts site_counts;
    RETURN_IF_ERROR(ParseSite(lines[i], &host, &site, &site_counts));
    const bool shard = i == 1;
    if (shard != host.empty() ||
        (!shard && !numbers.emplace(host, static_cast<uint16_t>(i - 1)).second)) {
      return InvalidArgument("site models: host '{}' on line {}", host, i + 1);
    }
    hosts.push_back(std::move(host));
    sites.push_back(site);
    counts.push_back(site_counts);
  }
  hosts_ = std::move(hosts);
  sites_ = std::move(sites);
  counts_ = std::move(counts);
  numbers_ = std::move(numbers);
  collecting_ = false;
  return absl::OkStatus();
}

std::vector<SourceTrust> Estimator::Impl::Trust() const {
  std::vector<SourceTrust> all;
  for (size_t k = 0; k < kSourceClasses; ++k) {
    SourceTrust out;
    out.source_class = SourceClass(static_cast<uint8_t>(k));
    const ClassTrust& trust = sites_[0].trust(out.source_class);
    if (!(trust.signals > 0)) continue;
    out.signals = trust.signals;
    out.precision = trust.precision;
    out.recall = trust.recall;
    SetPrecisionInterval(trust, &out);
    all.push_back(out);
  }
  return all;
}

Estimator::Estimator(EstimatorOptions options) : impl_(std::make_unique<Impl>(options)) {
  CHECK(options.day > Duration());
}
Estimator::~Estimator() = default;

PageEstimate Estimator::Estimate(const PageRecord& page, Instant now) const {
  return impl_->Estimate(page, now);
}
PageRates Estimator::RatesBeforeFirstCrawl(const PageState& state) const {
  return impl_->RatesBeforeFirstCrawl(state);
}
double Estimator::SignalWeight(const PageSpec& spec, const PageState& state,
                               SourceClass source_class) const {
  return impl_->SignalWeight(spec, state, source_class);
}
void Estimator::Advance(PageState& state, Instant now) const { impl_->Advance(state, now); }
Instant Estimator::NextEdge(const PageState& state) const { return impl_->NextEdge(state); }
void Estimator::RecordCrawl(PageRecord& page, const CrawlObservation& observation) {
  impl_->RecordCrawl(page, observation);
}
void Estimator::RecordSignal(PageRecord& page, SourceClass source_class, uint64_t poll,
                             Instant now) {
  impl_->RecordSignal(page, source_class, poll, now);
}
void Estimator::TakeReweighed(size_t max, std::vector<PageNumber>* pages) {
  impl_->bursts().TakeReweighed(max, pages);
}
bool Estimator::has_reweighed() const { return impl_->bursts().has_reweighed(); }
bool Estimator::Reweigh(PageState& state) const { return impl_->Reweigh(state); }
void Estimator::RestoreSignals(std::span<const BurstSignal> bursts, PageNumber page) {
  for (const BurstSignal& signal : bursts) {
    impl_->bursts().Restore(signal.burst, signal.weight, page);
  }
}
void Estimator::BeginEpoch(Instant now) { impl_->BeginEpoch(now); }
void Estimator::Collect(const PageRecord& page) { impl_->Collect(page); }
void Estimator::FinishEpoch() { impl_->FinishEpoch(); }
std::string Estimator::SerialiseModel() const { return impl_->SerialiseModel(); }
Status Estimator::RestoreModel(std::string_view text) { return impl_->RestoreModel(text); }
std::vector<SourceTrust> Estimator::Trust() const { return impl_->Trust(); }

}  // namespace freshet
