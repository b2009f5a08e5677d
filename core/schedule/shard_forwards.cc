// What ShardState offers, as calls of what is inside.
#include <algorithm>
#include <utility>

#include "core/base/limits.h"
#include "core/estimate/epoch_sums.h"
#include "core/estimate/learned_sites.h"
#include "core/model/epoch.h"
#include "core/schedule/clock_ahead.h"
#include "core/schedule/followed_changes.h"
#include "core/schedule/host_backoff.h"
#include "core/schedule/shard_figures.h"
#include "core/schedule/shard_impl.h"

namespace freshet {

ShardState::ShardState(const ShardOptions& options) : impl_(std::make_unique<Impl>(options)) {}
ShardState::~ShardState() = default;

HostId ShardState::LoadHost(const HostRecord& host) { return impl_->hosts.Put(host); }

PageToLoad ShardState::PrepareLoad(PageNumber number, uint64_t fingerprint, HostId host,
                                   const PageSpec& spec, const PageState& state) const {
  return impl_->PrepareLoad(number, fingerprint, host, spec, state);
}

Status ShardState::LoadPages(std::span<const PageToLoad> batch, Instant now) {
  return impl_->LoadPages(batch, now);
}

void ShardState::LoadAssignment(PageNumber page, Instant at) { impl_->LoadAssignment(page, at); }
void ShardState::LoadLease(const LeaseRecord& lease) { impl_->LoadLease(lease); }

Status ShardState::LoadEpoch(const EpochRecord& epoch) {
  if (!epoch.site_model.empty()) {
    RETURN_IF_ERROR(impl_->estimator.RestoreModel(epoch.site_model));
  }
  impl_->epoch = epoch.number;
  impl_->CountSites();
  return absl::OkStatus();
}

void ShardState::LoadNextSerial(Slot slot, uint64_t next_serial) {
  uint64_t& next = impl_->next_serial[slot];
  next = std::max(next, next_serial);
}

std::vector<PageNumber> ShardState::FinishLoad() { return impl_->FinishLoad(); }
void ShardState::FinishLeases() { impl_->FinishLeases(); }

Status ShardState::Follow(const FollowedChanges& changes, Instant now) {
  return impl_->Follow(changes, now);
}

bool ShardState::CapTimes(Instant now, PageRecord* page) const {
  if (AheadOf(now, page->state) == Duration()) return false;
  return CapAtNow(std::min(now, impl_->loaded_at), page) > Duration();
}

void ShardState::Want(const Event& event, std::vector<PageNumber>* numbers) const {
  impl_->Want(event, numbers);
}

Reply ShardState::Step(const Event& event, Instant now, Transaction& txn) {
  impl_->picks.Hear(now);
  const Impl& impl = *impl_;
  return std::visit([&](const auto& e) { return impl.Step(e, now, txn); }, event);
}

void ShardState::Install(Transaction& txn) { impl_->Install(txn); }

void ShardState::TakeDueTimers(Instant now, size_t max, std::vector<Event>* events) {
  impl_->TakeDueTimers(now, max, events);
}

Instant ShardState::next_timer() const { return impl_->next_timer(); }
std::optional<Pick> ShardState::Peek(Instant at) { return impl_->Peek(at); }
double ShardState::BestValue(Instant now) { return impl_->BestValue(now); }
std::optional<Pick> ShardState::Take(Instant at, ClassSet among, bool forced_first) {
  return impl_->Take(at, among, forced_first);
}
void ShardState::PutBack(PageNumber page) { impl_->PutBack(page); }
void ShardState::HearOfGroup(const GroupNews& news, Instant now) { impl_->HearOfGroup(news, now); }
void ShardState::TakeGroupStandings(std::vector<GroupStanding>* standings) {
  impl_->hosts.groups().TakeStandings(standings);
}

Status ShardState::LoadCrawl(const CrawlTerms& terms) {
  RETURN_IF_ERROR(InternCrawl(terms.record.crawl_id).status());
  impl_->InstallCrawl(terms);
  return absl::OkStatus();
}

StatusOr<CrawlIndex> ShardState::InternCrawl(std::string_view crawl_id) {
  const std::optional<CrawlIndex> crawl = impl_->crawls.Intern(crawl_id);
  if (crawl) return *crawl;
  return ShardState::Impl::TooManyCrawls({});
}

std::vector<CrawlStatus> ShardState::Crawls() const {
  std::vector<CrawlStatus> statuses;
  const CrawlTable& crawls = impl_->crawls;
  statuses.reserve(crawls.size());
  for (uint16_t i = 0; i < crawls.index_limit(); ++i) {
    const CrawlIndex crawl(i);
    if (!crawls.known(crawl)) continue;
    // One that has a class of its own and nothing else is known to workers alone.
    const CrawlTerms* terms = crawls.terms(crawl);
    const bool nothing_set =
        terms != nullptr && terms->record == CrawlRecord{.crawl_id = crawls.name(crawl)};
    if (nothing_set && crawls.counters(crawl).pages == 0) continue;
    statuses.push_back({.crawl_id = crawls.name(crawl), .counters = crawls.counters(crawl)});
  }
  return statuses;
}

std::vector<CrawlStatus> ShardState::CrawlsWithTerms() const {
  std::vector<CrawlStatus> statuses;
  const CrawlTable& crawls = impl_->crawls;
  for (const CrawlIndex crawl : crawls.with_terms()) {
    statuses.push_back({.crawl_id = crawls.name(crawl), .counters = crawls.counters(crawl)});
  }
  return statuses;
}

std::vector<std::string> ShardState::TakeEmptied() { return std::exchange(impl_->emptied, {}); }

std::vector<std::string> ShardState::TakeDeclassed() { return impl_->TakeDeclassed(); }

StatusOr<HostStatus> ShardState::DescribeHost(const std::string& host, Instant now) const {
  if (const std::optional<HostId> id = impl_->hosts.Find(host)) return impl_->Describe(*id, now);
  // Nothing is known of it, but what its rule says holds from its first page on.
  const ShardOptions& options = impl_->options;
  const HostRule* rule = options.host_rules == nullptr ? nullptr : options.host_rules->Find(host);
  if (rule == nullptr) return NotFound("host: {} has no pages", host);
  HostGate alone(impl_->hosts.defaults(), options.host_backoff.quiet, options.host_rules,
                 options.max_crawl_delay);
  const HostId id = alone.Intern(host);
  return HostStatus{.record = alone.record(id),
                    .terms = alone.TermsOf(id),
                    .rule = rule->name,
                    .group = alone.GroupOf(id),
                    .allowed_at = alone.AllowedAt(id, now)};
}

uint32_t ShardState::ListHosts(const HostQuery& query, uint32_t first, size_t most, Instant now,
                               std::vector<HostStatus>* found) const {
  const HostGate& hosts = impl_->hosts;
  const uint32_t limit = hosts.id_limit();
  const uint32_t end = first + std::min(limits::kHostScan, limit - std::min(limit, first));
  uint32_t next = first;
  for (; next < end && most > 0; ++next) {
    const HostId host(next);
    const std::string& name = hosts.record(host).host;
    const bool fits = !name.empty() && name.starts_with(query.prefix) &&
                      name.find(query.part) != std::string::npos;
    if (!fits) continue;
    found->push_back(impl_->Describe(host, now));
    --most;
  }
  return next;
}

double ShardState::price() const { return impl_->price; }

bool ShardState::SetPolicy(const CrawlPolicy& policy) { return impl_->picks.SetPolicy(policy); }
bool ShardState::MakeRoom() { return impl_->picks.MakeRoom(); }
void ShardState::FinishFiling(const CrawlPolicy& filed_by) { impl_->picks.FinishFiling(filed_by); }
std::vector<std::shared_ptr<void>> ShardState::TakeRetired() { return impl_->picks.TakeRetired(); }
const CrawlPolicy& ShardState::policy() const { return impl_->picks.policy(); }
const CrawlPolicy& ShardState::in_force() const { return impl_->picks.in_force(); }

void ShardState::SampleRates(size_t most, std::vector<IndexRates>* rates) const {
  impl_->picks.SampleRates(most, rates);
}

uint32_t ShardState::CollectPlan(uint32_t first, uint32_t count, PlanColumns* columns) const {
  return impl_->picks.CollectPlan(first, count, columns);
}

bool ShardState::BeginPlan(Rate newcomer_rate) { return impl_->picks.BeginPlan(newcomer_rate); }

bool ShardState::StagePlan(uint32_t first, std::span<const PlannedCrawls> crawls, Instant now) {
  return impl_->picks.StagePlan(first, crawls, now);
}

bool ShardState::FinishPlan(bool* refile) {
  if (!impl_->picks.FinishPlan(refile)) return false;
  // The urgency of what a plan picks is no price.
  impl_->price = 0;
  impl_->prices.fill(0);
  return true;
}

void ShardState::SetPoliteness(const PolitenessDefaults& defaults) {
  impl_->SetPoliteness(defaults);
}
const PolitenessDefaults& ShardState::politeness() const { return impl_->hosts.defaults(); }
const HostBackoff& ShardState::host_backoff() const { return impl_->options.host_backoff; }

void ShardState::BeginEpoch(Instant now) { impl_->estimator.BeginEpoch(now); }
bool ShardState::CollectForEpoch(PageRecord& page, Instant now) {
  return impl_->CollectForEpoch(page, now);
}
void ShardState::EndCollecting() { impl_->estimator.EndCollecting(); }

EpochSums ShardState::CollectedInEpoch() const { return impl_->estimator.Collected(); }

LearnedSites ShardState::LearnEpoch(const EpochSums& all, const std::atomic<bool>& stop) const {
  return impl_->estimator.Learn(all, stop);
}

EpochRecord ShardState::RecordOf(const LearnedSites& learned, Instant now) const {
  return {.shard = impl_->options.shard,
          .number = impl_->epoch + 1,
          .finished = now,
          .site_model = learned.text};
}

void ShardState::FinishEpoch(LearnedSites learned) {
  impl_->estimator.FinishEpoch(std::move(learned));
  impl_->CountSites();
  ++impl_->counters.epochs;
  ++impl_->epoch;
}

bool ShardState::TakeNewRates(PageRecord& page, Instant now) const {
  return impl_->TakeNewRates(page, now);
}

uint64_t ShardState::epoch() const { return impl_->epoch; }

void ShardState::FindNumbers(const PageKey& key, std::vector<PageNumber>* numbers) const {
  impl_->FindNumbers(key, numbers);
}

std::optional<LeaseRecord> ShardState::FindLease(LeaseId id) const {
  const LeaseRecord* lease = impl_->leases.Find(id);
  if (lease == nullptr) return std::nullopt;
  return *lease;
}

Explanation ShardState::Explain(const PageRecord& page, Instant now) const {
  return impl_->Explain(page, now);
}

StatusOr<HostRecord> ShardState::FindHost(const std::string& host, uint32_t* in_flight) const {
  const std::optional<HostId> id = impl_->hosts.Find(host);
  if (!id) return NotFound("host: {} has no pages", host);
  *in_flight = impl_->hosts.in_flight(*id);
  return impl_->hosts.record(*id);
}

uint32_t ShardState::host_ids() const { return impl_->hosts.id_limit(); }

BelievedFreshness ShardState::Believed(Instant now) const {
  return impl_->freshness.Sum(now, impl_->pages.size() - impl_->counters.gone_pages);
}
ShardFigures ShardState::Figures(Instant now) {
  impl_->census.Look(impl_->hosts, now, limits::kHostsPerCensus);
  return {.awake = impl_->picks.awake(),
          .evaluations = impl_->picks.evaluations(),
          .picks = impl_->picked,
          .waits = impl_->waits.counts(),
          .waiting = impl_->waits.waiting(),
          .longest_wait = impl_->waits.Longest(now),
          .hosts = impl_->census.counts()};
}
std::vector<SourceTrust> ShardState::Trust() const { return impl_->estimator.Trust(); }
std::vector<HostTrust> ShardState::TrustByHost(const std::string& host, SourceSet sources,
                                               size_t max) const {
  return impl_->estimator.TrustByHost(host, sources, max);
}
std::vector<QuarantineNews> ShardState::TakeQuarantineNews() {
  return impl_->estimator.TakeQuarantineNews();
}
const ShardCounters& ShardState::counters() const { return impl_->counters; }

}  // namespace freshet
