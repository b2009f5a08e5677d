// What each event does, staged in the transaction. Nothing here changes what a pick or a reader
// sees.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/base/check.h"
#include "core/base/duration_text.h"
#include "core/base/id_limits.h"
#include "core/base/limits.h"
#include "core/base/url.h"
#include "core/schedule/http_status.h"
#include "core/schedule/shard_impl.h"
#include "core/schedule/signal_memory.h"

namespace freshet {
namespace {

Reply Refused(Status status) {
  return {.disposition = Disposition::kRefused, .status = std::move(status)};
}

Reply UnknownPage(const PageKey& key) {
  return Refused(NotFound("url: {} is not known in crawl id {}", key.url, key.crawl_id));
}

// Clocks that are no further apart need no word.
constexpr Duration kSameTime = Duration::Seconds(1);

// A fetch under a lease was made while the lease ran, whatever its worker's clock says.
Instant WithinLease(Instant fetched, const LeaseRecord& lease, Instant now) {
  return std::max(lease.assigned, std::min(fetched, now));
}

// What is to be said of a time that was taken as another one, if anything.
void NoteTime(Instant said, Instant taken, std::vector<std::string>* notes) {
  if (said + kSameTime < taken) {
    notes->push_back(fmt::format("fetch_time: is {:.3f} s before the lease began: taken as that",
                                 (taken - said).seconds()));
  } else if (taken + kSameTime < said) {
    notes->push_back(
        fmt::format("fetch_time: is {:.3f} s ahead of the server's clock: taken as now",
                    (said - taken).seconds()));
  }
}

bool AlreadyTaken(const PageRecord& page, const ReportCrawl& report) {
  const PageDetail& detail = page.detail;
  if (report.lease != LeaseId() && report.lease == detail.last_lease) return true;
  if (report.fetched == detail.last_result) return true;
  // Only of the past: a new fetch may come within what an observation's time is rounded by.
  if (report.fetched > page.state.last_crawl) return false;
  const auto& recent = detail.statistics.recent;
  return std::any_of(recent.begin(), recent.end(), [&](const CrawlObservation& observation) {
    return MayBeFetch(observation, report.fetched);
  });
}

// Whether the page was there and could be looked at.
bool Fetched(CrawlOutcome outcome) {
  return outcome == CrawlOutcome::kChanged || outcome == CrawlOutcome::kUnchanged;
}

Transaction::Page* FindEither(const PageKey& key, const std::optional<PageKey>& as_sent,
                              Transaction& txn) {
  Transaction::Page* page = txn.Find(key);
  return page == nullptr && as_sent ? txn.Find(*as_sent) : page;
}

// Whether what a result calls its page is this one.
bool Names(const ReportCrawl& report, const PageRecord& page) {
  const bool unnamed = !report.key && !report.as_sent;
  return unnamed || report.key == page.key || report.as_sent == page.key;
}

bool DigestsCompare(const ReportCrawl& report, const PageRecord& page) {
  return !report.digest.empty() && report.digest.size() == page.detail.digest.size();
}

// What a result says once digests are compared; nullopt: it cannot be told.
std::optional<CrawlOutcome> Decide(const ReportCrawl& report, const PageRecord& page) {
  if (report.outcome && !Fetched(*report.outcome)) return report.outcome;
  // An answer that is no page; its digest, if it has one, is that of the error.
  if (!report.outcome && IsFailure(report.http_status)) return CrawlOutcome::kError;
  if (DigestsCompare(report, page)) {
    const bool same = report.digest == page.detail.digest;
    return same ? CrawlOutcome::kUnchanged : CrawlOutcome::kChanged;
  }
  if (report.outcome) return report.outcome;
  if (report.http_status == 304) return CrawlOutcome::kUnchanged;
  // The first digest of a page has nothing to differ from; it is new content all the same.
  if (!report.digest.empty() && !page.state.crawled()) return CrawlOutcome::kChanged;
  return std::nullopt;
}

// What counts where that is so of the result of an open lease, which would go round for ever.
CrawlOutcome Assume(const ReportCrawl& report, std::vector<std::string>* notes) {
  if (report.digest.empty()) {
    notes->emplace_back("outcome: is missing and nothing decides it: counts as an error");
    return CrawlOutcome::kError;
  }
  notes->emplace_back(
      "outcome: is missing and no digest of the same length is stored: counts as changed");
  return CrawlOutcome::kChanged;
}

// Takes the bursts of `unseen` signals, the newest of the page, out of its state. Signals do not
// say which burst is theirs: the newest of their class.
std::array<BurstSignal, 2> TakeBurstsOf(SignalCounts unseen, PageState& state) {
  std::array<BurstSignal, 2> taken{};
  std::array<BurstSignal, 2> left{};
  size_t takes = 0;
  size_t leaves = 0;
  for (const BurstSignal& signal : state.bursts) {
    const auto& entries = unseen.entries();
    const bool is_unseen =
        signal.burst != 0 && std::any_of(entries.begin(), entries.end(), [&](const auto& entry) {
          return entry.count > 0 && entry.source_class == signal.source_class;
        });
    if (is_unseen) unseen.Subtract(signal.source_class);
    (is_unseen ? taken[takes++] : left[leaves++]) = signal;
  }
  state.bursts = left;
  return taken;
}

// A changed page's old digest says nothing of the new content.
void TakeValidators(const ReportCrawl& report, bool changed, PageDetail& detail) {
  if (changed || !report.etag.empty()) detail.etag = report.etag;
  if (changed || !report.last_modified.empty()) detail.last_modified = report.last_modified;
  if (changed || !report.digest.empty()) detail.digest = report.digest;
}

PageSpec Merge(const UpsertPage& event, PageSpec spec) {
  if (event.reset) spec = PageSpec();
  spec.importance = event.importance.value_or(spec.importance);
  spec.min_interval = event.min_interval.value_or(spec.min_interval);
  spec.max_interval = event.max_interval.value_or(spec.max_interval);
  spec.not_before = event.not_before.value_or(spec.not_before);
  if (event.known_change_rate) spec.known_change_rate = event.known_change_rate;
  spec.complete_signals = event.complete_signals.value_or(spec.complete_signals);
  return spec;
}

Status ValidateIntervals(const PageSpec& spec) {
  if (spec.max_interval > Duration() && spec.max_interval < spec.min_interval) {
    return InvalidArgument("max_interval: {} is less than min_interval, {}",
                           SecondsText(spec.max_interval), SecondsText(spec.min_interval));
  }
  return absl::OkStatus();
}

bool IsAllowed(const AllowedCrawls& allowed, const std::string& crawl_id) {
  return allowed == nullptr ||
         std::find(allowed->begin(), allowed->end(), crawl_id) != allowed->end();
}

}  // namespace

void ShardState::Impl::Want(const Event& event, std::vector<PageNumber>* numbers) const {
  const auto want_key = [&](const PageKey& key) { FindNumbers(key, numbers); };
  // A page may have been removed since it was named, for example between an offer and its lease.
  const auto want_page = [&](PageNumber number) {
    if (pages.Find(number)) numbers->push_back(number);
  };
  const auto want_lease = [&](LeaseId id) {
    if (const LeaseRecord* lease = leases.Find(id)) want_page(lease->page);
    if (const Leases::Past* past = leases.FindPast(id)) want_page(past->page);
  };
  if (const auto* upsert = std::get_if<UpsertPage>(&event)) want_key(upsert->key);
  if (const auto* remove = std::get_if<RemovePage>(&event)) {
    want_key(remove->key);
    if (remove->as_sent) want_key(*remove->as_sent);
  }
  if (const auto* recheck = std::get_if<RecheckPage>(&event)) want_key(recheck->key);
  if (const auto* signal = std::get_if<SignalChange>(&event)) want_key(signal->key);
  if (const auto* lease = std::get_if<LeasePage>(&event)) want_page(lease->page);
  if (const auto* dropped = std::get_if<RemoveDeleted>(&event)) want_page(dropped->page);
  if (const auto* edge = std::get_if<EnterAgeBin>(&event)) want_page(edge->page);
  if (const auto* burst = std::get_if<ReweighSignals>(&event)) want_page(burst->page);
  if (const auto* again = std::get_if<Reestimate>(&event)) want_page(again->page);
  if (const auto* returned = std::get_if<ReturnLease>(&event)) want_lease(returned->lease);
  if (const auto* expired = std::get_if<ExpireLease>(&event)) want_lease(expired->lease);
  if (const auto* report = std::get_if<ReportCrawl>(&event)) {
    if (report->key) want_key(*report->key);
    if (report->as_sent) want_key(*report->as_sent);
    want_lease(report->lease);
  }
}

Transaction::Lease* ShardState::Impl::OpenLease(LeaseId id, Transaction& txn) const {
  if (id == LeaseId()) return nullptr;
  Transaction::Lease* staged = txn.FindLease(id);
  if (staged == nullptr) {
    const LeaseRecord* installed = leases.Find(id);
    if (installed == nullptr) return nullptr;
    staged = txn.PutLease(*installed);
  }
  return staged->closed ? nullptr : staged;
}

bool ShardState::Impl::IsHeldByAnother(LeaseId id, const Reporter& reporter,
                                       Transaction& txn) const {
  if (reporter == nullptr) return false;
  if (const Transaction::Lease* staged = txn.FindLease(id)) {
    return IsOfAnother(IdentityHashOf(staged->record.client), reporter);
  }
  if (const LeaseRecord* open = leases.Find(id)) {
    return IsOfAnother(IdentityHashOf(open->client), reporter);
  }
  const Leases::Past* past = leases.FindPast(id);
  return past != nullptr && IsOfAnother(past->identity, reporter);
}

void ShardState::Impl::End(Transaction::Lease& lease, bool reported, Transaction& txn) const {
  if (lease.orphan()) {
    lease.closed = lease.forgotten = true;
    lease.reported = reported;
    return;
  }
  txn.Close(lease, reported);
  // Opened by the same batch: what the store hears of it does not tell when.
  if (const Transaction::Page* page = txn.Find(lease.record.page);
      page != nullptr && leases.Find(lease.record.id) == nullptr) {
    NoteAssignment(page->record, lease.record.assigned, txn);
  }
  // After a change of the number of shards there may be too many: two go for each that comes.
  std::vector<LeaseId>& forgotten = txn.forgotten_leases;
  for (int i = 0; i < 2 && forgotten.size() < leases.remembered(); ++i) {
    const size_t kept = leases.remembered() + txn.newly_remembered() - forgotten.size();
    if (kept <= limits::kMaxRememberedLeases) break;
    forgotten.push_back(leases.Remembered(forgotten.size()));
    DCHECK(leases.FindPast(forgotten.back()) != nullptr);
  }
}

std::optional<Leases::Past> ShardState::Impl::PastLease(LeaseId id, Transaction& txn) const {
  const auto& late = txn.late_leases;
  const bool reported_now = std::any_of(late.begin(), late.end(),
                                        [&](const LeaseRecord& lease) { return lease.id == id; });
  if (const Transaction::Lease* staged = txn.FindLease(id); staged != nullptr && staged->closed) {
    return Leases::Past{staged->record.page, staged->reported || reported_now,
                        IdentityHashOf(staged->record.client)};
  }
  const Leases::Past* past = leases.FindPast(id);
  if (past == nullptr) return std::nullopt;
  return Leases::Past{past->page, past->reported || reported_now, past->identity};
}

LeaseId ShardState::Impl::LeaseOf(PageNumber page, Transaction& txn) const {
  const std::optional<PageId> id = pages.Find(page);
  if (id && pages.Is(*id, PageTable::kLeased)) {
    const PagesOut::Out* leased = out.Find(*id);
    CHECK(leased != nullptr, "a leased page is not out");
    const LeaseId lease = leased->lease;
    if (OpenLease(lease, txn) != nullptr) return lease;
  }
  // One that this batch has opened is not installed yet.
  const LeaseId staged = txn.LeaseOf(page);
  return OpenLease(staged, txn) == nullptr ? LeaseId() : staged;
}

void ShardState::Impl::TakeEstimate(PageRecord& page, Instant now, const Lessons& lessons) const {
  const PageEstimate estimate = estimator.Estimate(page, now, lessons);
  page.state.rates = estimate.rates;
  page.state.staleness = estimate.staleness;
}

bool ShardState::Impl::TakeNewRates(PageRecord& page, Instant now) const {
  estimator.Advance(page.state, now);
  return TakeNewRates(estimator.Estimate(page, now), now, page);
}

bool ShardState::Impl::CollectForEpoch(PageRecord& page, Instant now) {
  const std::optional<PageEstimate> estimate = estimator.CollectAndEstimate(page, now);
  return estimate && TakeNewRates(*estimate, now, page);
}

// Rates are known within tens of percent. Most epochs change them by far less: what differs by so
// little is not worth a write of every page.
bool ShardState::Impl::TakeNewRates(const PageEstimate& estimate, Instant now,
                                    PageRecord& page) const {
  constexpr double kNotable = 0.01;
  const auto near = [](double a, double b) {
    return a == b || std::abs(a - b) <= kNotable * std::max(std::abs(a), std::abs(b));
  };
  PageState& state = page.state;
  const PageRates& is = estimate.rates;
  const PageRates& was = state.rates;
  const bool look = state.gone && state.times_gone == 0;
  if (!look && is.site == was.site && is.age_bin == was.age_bin &&
      near(is.change_rate, was.change_rate) && near(is.unsignalled_rate, was.unsignalled_rate) &&
      near(is.signal_rate, was.signal_rate) && near(is.signal_weight, was.signal_weight) &&
      near(is.staleness_rate, was.staleness_rate) && near(estimate.staleness, state.staleness)) {
    return false;
  }
  state.rates = estimate.rates;
  state.staleness = estimate.staleness;
  PlanLookForGone(now, page, state);
  return true;
}

// --- Pages

Reply ShardState::Impl::Step(const UpsertPage& event, Instant now, Transaction& txn) const {
  if (Transaction::Page* page = txn.Find(event.key)) {
    if (Status status = AdmitUpsert(event, /*created=*/false, txn); !status.ok()) {
      return Refused(std::move(status));
    }
    PageRecord& record = page->record;
    const PageSpec spec = Merge(event, record.spec);
    if (Status status = ValidateIntervals(spec); !status.ok()) return Refused(std::move(status));
    if (record.spec == spec && !record.state.gone) return {};
    estimator.Advance(record.state, now);
    record.spec = spec;
    BringBack(now, record);
    TakeEstimate(record, now, txn.lessons);
    page->changed = page->reindex = true;
    return {};
  }
  if (counters.pages + txn.created() >= options.max_pages) return Refused(TooManyPages("url: "));
  PageRecord record;
  record.spec = Merge(event, PageSpec());
  if (Status status = ValidateIntervals(record.spec); !status.ok()) {
    return Refused(std::move(status));
  }
  if (Status status = AdmitUpsert(event, /*created=*/true, txn); !status.ok()) {
    return Refused(std::move(status));
  }
  const Slot slot = SlotOfHost(event.host);
  record.key = event.key;
  record.host = event.host;
  const auto [staged, is_new] = txn.next_serials.try_emplace(slot, 1);  // no page has the serial 0
  uint64_t& serial = staged->second;
  if (const auto known = next_serial.find(slot); is_new && known != next_serial.end()) {
    serial = std::max(serial, known->second);
  }
  record.number = MakePageNumber(slot, serial++);
  record.state.first_seen = now;
  record.state.carried_at = now;
  record.state.last_event = now;
  if (event.last_crawl) {
    record.state.first_seen = std::min(now, *event.last_crawl);
    record.state.last_crawl = record.state.first_seen;
    record.state.last_event = record.state.first_seen;
    record.state.carried_at = record.state.first_seen;
    record.state.staleness = 0;
  }
  TakeEstimate(record, now, txn.lessons);
  txn.Create(std::move(record));
  return {.disposition = Disposition::kCreated};
}

Reply ShardState::Impl::Step(const RemovePage& event, Instant, Transaction& txn) const {
  Transaction::Page* page = FindEither(event.key, event.as_sent, txn);
  if (page == nullptr) return UnknownPage(event.key);
  RemoveStaged(*page, txn);
  return {};
}

Reply ShardState::Impl::Step(const RecheckPage& event, Instant, Transaction& txn) const {
  Transaction::Page* page = txn.Find(event.key);
  if (page == nullptr) return UnknownPage(event.key);
  PageState& state = page->record.state;
  state.recheck = true;
  // What is asked for is tried at once, also of a page that is gone or nobody answered for.
  if (state.gone || state.unanswered > 0 || state.returned > 0) state.retry_at = Instant();
  state.gone = false;
  page->changed = page->reindex = true;
  return {};
}

Reply ShardState::Impl::Step(const EnterAgeBin& event, Instant now, Transaction& txn) const {
  // Recomputed from stored state at every start, so there is nothing to write.
  if (Transaction::Page* page = txn.Find(event.page)) {
    estimator.Advance(page->record.state, now);
    page->reindex = true;
  }
  return {};
}

Reply ShardState::Impl::Step(const ReweighSignals& event, Instant now, Transaction& txn) const {
  if (Transaction::Page* page = txn.Find(event.page)) {
    if (!estimator.Reweigh(page->record.state, txn.lessons)) return {};
    estimator.Advance(page->record.state, now);
    TakeEstimate(page->record, now, txn.lessons);
    page->changed = page->reindex = true;
  }
  return {};
}

Reply ShardState::Impl::Step(const Reestimate& event, Instant now, Transaction& txn) const {
  if (Transaction::Page* page = txn.Find(event.page)) {
    page->reindex = true;
    estimator.Advance(page->record.state, now);
    const PageEstimate estimate = estimator.Estimate(page->record, now, txn.lessons);
    if (TakeNewRates(estimate, now, page->record)) page->changed = true;
  }
  return {};
}

// --- Signals

Reply ShardState::Impl::Step(const SignalChange& event, Instant now, Transaction& txn) const {
  Transaction::Page* page = txn.Find(event.key);
  if (page == nullptr) {
    ++txn.counts.signals_unknown_url;
    return UnknownPage(event.key);
  }
  if (IsKnown(event, page->record.detail)) {
    ++txn.counts.signals_duplicate;
    return {.disposition = Disposition::kDuplicate};
  }
  PageState& state = page->record.state;
  const Instant time = event.changed.value_or(now);
  const auto place = [&] {
    return estimator.PlaceSignal(page->record.host, event.source, event.poll, event.pages_in_poll,
                                 now, txn.lessons);
  };
  if (state.crawled() && time <= state.last_crawl) {
    // It tells what a crawl has seen, but is evidence of the source: said once, however often.
    if (event.changed && time > state.newest_claim) {
      state.newest_claim = time;
      RememberId(event, &page->record.detail);
      estimator.RecordLateSignal(page->record, place().source_class, time);
      page->changed = true;
    }
    ++txn.counts.signals_stale;
    return {.disposition = Disposition::kStale};
  }
  if (IsRepeated(event, page->record)) {
    ++txn.counts.signals_duplicate;
    return {.disposition = Disposition::kDuplicate};
  }
  const double since_crawl = state.crawled() ? (now - state.last_crawl).seconds() : HUGE_VAL;
  const Policy& policy = picks.policy().index;
  if (policy.kind == PolicyKind::kGreedyNcisDelay &&
      !CountsSignal(policy, since_crawl, options.signal_delay.seconds())) {
    ++txn.counts.signals_stale;
    return {.disposition = Disposition::kStale};
  }
  const PlacedSignal placed = place();
  const SourceClass source_class = placed.source_class;
  if (Transaction::Lease* lease = OpenLease(LeaseOf(page->record.number, txn), txn)) {
    auto& during = lease->record.signals;
    if (during.size() >= limits::kMaxSignalsDuringLease) during.erase(during.begin());
    during.push_back({time, source_class});
  }
  estimator.Advance(state, now);
  estimator.RecordSignal(page->record, source_class, placed.burst, time, now, txn.lessons);
  RememberId(event, &page->record.detail);
  RememberClaim(event, time, &page->record);
  state.signals.Add(source_class);
  state.newest_claim = std::max(state.newest_claim, time);
  // Not where it is not to be looked for again.
  if (!state.retry_at.infinite()) BringBack(now, page->record);
  TakeEstimate(page->record, now, txn.lessons);
  page->changed = page->reindex = true;
  if (page->signalled.is_none()) page->signalled = now;
  ++txn.counts.signals_applied;
  return {};
}

// --- Leases

double ShardState::Impl::AssignedValue(const PageRecord& page, const LeasePage& event) const {
  const std::optional<PageId> id = pages.Find(page.number);
  const PagesOut::Out* page_out = id ? out.Find(*id) : nullptr;
  if (page_out == nullptr || !page_out->planned || std::isinf(event.value)) return event.value;
  PageState state = page.state;
  estimator.Advance(state, event.at);
  return DecidingValue(EntryOf(*id, page.spec, state, page_out->host), event.at);
}

Reply ShardState::Impl::Step(const LeasePage& event, Instant, Transaction& txn) const {
  Transaction::Page* page = txn.Find(event.page);
  if (page == nullptr) return Refused(NotFound("page {:x} is gone", event.page.value()));
  if (LeaseOf(event.page, txn) != LeaseId()) {
    return Refused(MakeStatus(absl::StatusCode::kAlreadyExists, "page is leased already"));
  }
  const PageRecord& record = page->record;
  LeaseRecord lease;
  lease.id = leases.NextId(SlotOfHost(record.host), txn.new_leases++);
  lease.page = event.page;
  lease.worker = event.worker;
  lease.client = event.client;
  lease.assigned = event.at;
  lease.deadline = event.at + event.lease;
  CountAssignment(record, event.at, txn);
  ++txn.counts.assignments;
  ++page->counts.assignments;
  page->counts.forced += std::isinf(event.value) ? 1 : 0;
  Reply reply;
  reply.assignment = Assignment{.key = record.key,
                                .host = record.host,
                                .lease = lease.id,
                                .at = event.at,
                                .deadline = lease.deadline,
                                .last_crawl = record.state.last_crawl,
                                .etag = record.detail.etag,
                                .last_modified = record.detail.last_modified,
                                .digest = record.detail.digest,
                                .value = AssignedValue(record, event),
                                .importance = record.spec.importance};
  txn.PutLease(std::move(lease));
  return reply;
}

Reply ShardState::Impl::Step(const ReturnLease& event, Instant now, Transaction& txn) const {
  const bool anothers = IsHeldByAnother(event.lease, event.reporter, txn);
  Transaction::Lease* lease = anothers ? nullptr : OpenLease(event.lease, txn);
  const Transaction::Page* leased = lease == nullptr ? nullptr : txn.Find(lease->record.page);
  const bool allowed = event.allowed == nullptr ||
                       (leased != nullptr && IsAllowed(event.allowed, leased->record.key.crawl_id));
  if (lease == nullptr || !allowed) {
    return Refused(NotFound("lease_id: {} is not open", event.lease.value()));
  }
  End(*lease, /*reported=*/false, txn);
  ++txn.counts.returned_leases;
  lease->never_left = event.never_left;
  lease->host_left = event.host_left;
  if (Transaction::Page* page = txn.Find(lease->record.page)) {
    if (!event.never_left) {
      estimator.Advance(page->record.state, now);  // which says when it began to wait
      WaitReturned(now, page->record.state);
    }
    page->changed = page->reindex = true;
  }
  return {};
}

Reply ShardState::Impl::Step(const ExpireLease& event, Instant now, Transaction& txn) const {
  if (Transaction::Lease* lease = OpenLease(event.lease, txn)) {
    End(*lease, /*reported=*/false, txn);
    lease->expired = true;
    if (Transaction::Page* page = txn.Find(lease->record.page)) {
      estimator.Advance(page->record.state, now);  // which says when it began to wait
      lease->given_up = WaitUnanswered(now, page->record);
      page->changed = page->reindex = true;
    }
  }
  return {};
}

// --- Results

bool ShardState::Impl::Observe(const ReportCrawl& report, bool changed, bool late,
                               Transaction::Page& page, Transaction& txn) const {
  PageRecord& record = page.record;
  const PageState& state = record.state;
  if (!state.crawled() || report.fetched <= state.last_crawl) return false;
  // Which of the signals a late fetch could not have seen is not known any more.
  if (late && !state.signals.empty() && state.newest_claim > report.fetched) return false;
  const CrawlObservation observation = {.fetched = report.fetched,
                                        .elapsed = report.fetched - state.last_crawl,
                                        .signals = state.signals,
                                        .changed = changed};
  late ? estimator.RecordLateCrawl(record, observation, txn.lessons)
       : estimator.RecordCrawl(record, observation, txn.lessons);
  page.changed = true;
  return true;
}

void ShardState::Impl::Succeed(const ReportCrawl& report, CrawlOutcome outcome,
                               const LeaseRecord* lease, Transaction::Page& page,
                               Transaction& txn) const {
  CHECK(Fetched(outcome), "outcome {}", static_cast<int>(outcome));
  CHECK(lease == nullptr || lease->assigned <= report.fetched, "fetched before its lease");
  PageRecord& record = page.record;
  PageState& state = record.state;
  const bool changed = outcome == CrawlOutcome::kChanged;
  // Signals that are newer than the fetch speak of what this crawl did not see, and it not of them.
  SignalCounts carried;
  if (lease != nullptr) {
    for (const LeaseSignal& signal : lease->signals) {
      if (signal.time <= report.fetched) continue;
      carried.Add(signal.source_class);
      state.signals.Subtract(signal.source_class);
    }
  }
  const std::array<BurstSignal, 2> waiting = TakeBurstsOf(carried, state);
  estimator.Advance(state, report.fetched);
  const bool looked = report.looked || DigestsCompare(report, record);
  if (looked) Observe(report, changed, /*late=*/false, page, txn);
  // The first crawl has nothing to compare with, whatever its worker says.
  const bool found = changed && (state.crawled() || record.detail.crawls > 0);
  record.detail.changes += found ? 1 : 0;
  ++record.detail.crawls;
  TakeValidators(report, changed, record.detail);
  // What an older fetch found must not be compared with what the next one does.
  if (!looked) record.detail.digest = report.digest;
  ++(changed ? txn.counts.changed : txn.counts.unchanged);
  ++page.counts.crawls;
  page.counts.changes += found ? 1 : 0;
  page.fetched = true;
  LearnFromLook(record, report.fetched, /*returned=*/true, txn.lessons);
  state.last_crawl = state.carried_at = report.fetched;
  state.staleness = carried.empty() ? 0 : carried.Total() * state.rates.signal_weight;
  state.exposure = 0;
  state.signals = carried;
  ForgetClaims(&record);
  state.bursts = waiting;
  state.recheck = false;
  state.gone = false;
  state.errors = 0;
  state.times_gone = 0;
  state.retry_at = Instant();
  record.detail.moved_to.clear();
  record.detail.denials = 0;
  TakeEstimate(record, report.fetched, txn.lessons);
}

void ShardState::Impl::Fail(const ReportCrawl& report, CrawlOutcome outcome, Instant now,
                            Transaction::Page& page, Transaction& txn) const {
  CHECK(!Fetched(outcome), "outcome {}", static_cast<int>(outcome));
  PageState& state = page.record.state;
  // Carried first: a page that fails for long would otherwise jump at its next look.
  estimator.Advance(state, now);
  state.recheck = false;
  if (outcome == CrawlOutcome::kRobotsDenied) {
    WaitWhileDenied(report.retry_after, now, page.record);
    ++txn.counts.robots_denied;
    ++page.counts.robots_denied;
    return;
  }
  page.record.detail.denials = 0;
  if (outcome != CrawlOutcome::kError) {
    LearnFromLook(page.record, now, /*returned=*/false, txn.lessons);
    estimator.RecordGone(page.record, now, txn.lessons);
    WaitWhileGone(outcome, report.retry_after, now, page.record);
    // A page that has moved to itself has not said where.
    const bool told = outcome == CrawlOutcome::kMoved && report.moved_to != page.record.key.url;
    page.record.detail.moved_to = told ? report.moved_to : "";
    ++txn.counts.gone;
    ++page.counts.gone;
    return;
  }
  WaitAfterError(report, now, page.record);
  ++txn.counts.errors;
  ++page.counts.errors;
}

Reply ShardState::Impl::Step(const ReportCrawl& event, Instant now, Transaction& txn) const {
  const bool anothers = IsHeldByAnother(event.lease, event.reporter, txn);
  Transaction::Lease* lease = anothers ? nullptr : OpenLease(event.lease, txn);
  if (lease != nullptr && lease->orphan()) {
    // Of a page that is not there any more; one that was added under its URL since is another.
    End(*lease, /*reported=*/true, txn);
    lease->answered = true;
    lease = nullptr;
  }
  const std::optional<Leases::Past> past = anothers ? std::nullopt : PastLease(event.lease, txn);
  Transaction::Page* page = lease != nullptr ? txn.Find(lease->record.page)
                            : event.key      ? FindEither(*event.key, event.as_sent, txn)
                            : past           ? txn.Find(past->page)
                                             : nullptr;
  if (page == nullptr && past && event.as_sent) page = txn.Find(past->page);
  if (page == nullptr) {
    if (event.key) return UnknownPage(*event.key);
    return Refused(NotFound("lease_id: {} is not open", event.lease.value()));
  }
  PageRecord& record = page->record;
  if (!IsAllowed(event.allowed, record.key.crawl_id)) {
    return Refused(NotFound("lease_id: {} is not open", event.lease.value()));
  }
  if (!Names(event, record)) {
    return Refused(InvalidArgument("lease_id: {} is for page {}, not for {}", event.lease.value(),
                                   record.key.url, (event.key ? event.key : event.as_sent)->url));
  }
  bool late = event.lease != LeaseId() && lease == nullptr;
  if (event.lease == LeaseId()) {
    // A fetch of a page that is out ends its lease, unless another identity holds that.
    Transaction::Lease* open = OpenLease(LeaseOf(record.number, txn), txn);
    if (open != nullptr && open->record.assigned <= event.fetched) {
      late = IsHeldByAnother(open->record.id, event.reporter, txn);
      lease = late ? nullptr : open;
    }
  }
  const bool reported = past && past->page == record.number && past->reported;
  // What ends its own lease comes for the first time, whatever its time.
  const bool answer = lease != nullptr && event.lease != LeaseId();
  if (!answer && (reported || AlreadyTaken(record, event))) {
    ++txn.counts.duplicate_results;
    // A lease that is open goes on: it is another fetch than the one that is told again.
    return {.disposition = Disposition::kDuplicate, .outcome = record.detail.last_outcome};
  }
  Reply reply;
  reply.outcome = Decide(event, record);
  if (!reply.outcome && lease != nullptr) reply.outcome = Assume(event, &reply.notes);
  if (!reply.outcome) {
    return Refused(InvalidArgument(
        "outcome: is missing, and no earlier digest has the same length: report the outcome"));
  }
  HeedHost(event, *reply.outcome, lease == nullptr ? nullptr : &lease->record, record.host, now,
           txn);
  if (late ||
      (lease == nullptr && Fetched(*reply.outcome) && event.fetched <= record.state.last_crawl)) {
    return ObserveOnly(event, *reply.outcome, late ? past : std::nullopt, *page, txn);
  }
  if (lease == nullptr) {
    Take(event, *reply.outcome, nullptr, now, *page, txn);
    return reply;
  }
  ReportCrawl report = event;
  report.fetched = WithinLease(event.fetched, lease->record, now);
  NoteTime(event.fetched, report.fetched, &reply.notes);
  Take(report, *reply.outcome, &lease->record, now, *page, txn);
  // As it was said: whoever says it again says the same.
  record.detail.last_result = event.fetched;
  End(*lease, /*reported=*/answer, txn);
  lease->answered = true;
  return reply;
}

Reply ShardState::Impl::ObserveOnly(const ReportCrawl& report, CrawlOutcome outcome,
                                    const std::optional<Leases::Past>& past,
                                    Transaction::Page& page, Transaction& txn) const {
  ++txn.counts.late_results;
  PageRecord& record = page.record;
  if (past && past->page == record.number) {
    Transaction::Lease* staged = txn.FindLease(report.lease);
    if (staged != nullptr) staged->reported = true;
    if (staged == nullptr) txn.late_leases.push_back({.id = report.lease, .page = record.number});
  }
  const bool changed = outcome == CrawlOutcome::kChanged;
  const bool looked = report.looked || DigestsCompare(report, record);
  const bool observed =
      looked && Fetched(outcome) && Observe(report, changed, /*late=*/true, page, txn);
  // It is no result of the page, which may have none.
  if (observed && !record.detail.last_result.is_none()) record.detail.last_result = report.fetched;
  return {.disposition = Disposition::kObservedOnly, .outcome = outcome};
}

void ShardState::Impl::Take(const ReportCrawl& report, CrawlOutcome outcome,
                            const LeaseRecord* lease, Instant now, Transaction::Page& page,
                            Transaction& txn) const {
  PageRecord& record = page.record;
  if (Fetched(outcome)) {
    Succeed(report, outcome, lease, page, txn);
  } else {
    Fail(report, outcome, now, page, txn);
  }
  record.state.unanswered = record.state.returned = 0;
  record.detail.last_outcome = outcome;
  record.detail.last_http_status = report.http_status;
  record.detail.last_lease = report.lease;
  record.detail.last_result = report.fetched;
  page.seen = Fetched(outcome) || outcome == CrawlOutcome::kGone || outcome == CrawlOutcome::kMoved;
  // A signal that is newer than the fetch speaks of what it did not see.
  const bool back = record.state.gone && !record.state.retry_at.infinite() && lease != nullptr &&
                    std::any_of(lease->signals.begin(), lease->signals.end(),
                                [&](const auto& signal) { return signal.time > report.fetched; });
  if (back) BringBack(now, record);
  page.changed = page.reindex = true;
}

// --- Hosts, sources, settings

Reply ShardState::Impl::Step(const SetSource& event, Instant, Transaction& txn) const {
  CHECK(event.source.index < limits::kMaxSources, "source {}", event.source.index);
  txn.sources.push_back(event.source);
  return {};
}

Reply ShardState::Impl::Step(const ChangeSettings& event, Instant, Transaction& txn) const {
  txn.settings = event.settings;
  return {};
}

}  // namespace freshet
