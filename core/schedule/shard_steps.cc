#include "core/schedule/shard_steps.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/check.h"
#include "core/base/duration_text.h"
#include "core/base/limits.h"
#include "core/base/url.h"
#include "core/estimate/page_estimate.h"
#include "core/schedule/filing.h"
#include "core/schedule/page_waits.h"
#include "core/schedule/signal_memory.h"
#include "core/schedule/staged.h"

namespace freshet {
namespace {

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

}  // namespace

void Want(const Event& event, const Books& books, std::vector<PageNumber>* numbers) {
  const auto want_key = [&](const PageKey& key) { books.pages.FindNumbers(key, numbers); };
  // The page might have been removed in the meantime, for example between its pick and its lease.
  const auto want_page = [&](PageNumber number) {
    if (books.pages.table.Find(number)) numbers->push_back(number);
  };
  const auto want_lease = [&](LeaseId id) {
    if (const LeaseRecord* lease = books.pages.leases.Find(id)) want_page(lease->page);
    if (const Leases::Past* past = books.pages.leases.FindPast(id)) want_page(past->page);
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

// --- Pages

Reply Step(const UpsertPage& event, Instant now, const Books& books, Transaction& txn) {
  if (Transaction::Page* page = txn.Find(event.key)) {
    if (Status status = AdmitUpsert(event, /*created=*/false, books, txn); !status.ok()) {
      return Refused(std::move(status));
    }
    PageRecord& record = page->record;
    const PageSpec spec = Merge(event, record.spec);
    if (Status status = ValidateIntervals(spec); !status.ok()) return Refused(std::move(status));
    if (record.spec == spec && !record.state.gone) return {};
    books.learning.estimator().aging().Advance(record.state, now);
    record.spec = spec;
    BringBack(now, books, record);
    TakeEstimate(record, now, books, txn.lessons);
    page->changed = page->reindex = true;
    return {};
  }
  if (books.pages.table.size() + txn.created() >= books.options.max_pages)
    return Refused(TooManyPages("url: ", books));
  PageRecord record;
  record.spec = Merge(event, PageSpec());
  if (Status status = ValidateIntervals(record.spec); !status.ok()) {
    return Refused(std::move(status));
  }
  if (Status status = AdmitUpsert(event, /*created=*/true, books, txn); !status.ok()) {
    return Refused(std::move(status));
  }
  const Slot slot = SlotOfHost(event.host);
  record.key = event.key;
  record.host = event.host;
  const auto [staged, is_new] = txn.next_serials.try_emplace(slot, 1);  // serial 0 is not used
  uint64_t& serial = staged->second;
  if (const auto known = books.pages.next_serial.find(slot);
      is_new && known != books.pages.next_serial.end()) {
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
  TakeEstimate(record, now, books, txn.lessons);
  txn.Create(std::move(record));
  return {.disposition = Disposition::kCreated};
}

Reply Step(const RemovePage& event, Instant, const Books& books, Transaction& txn) {
  Transaction::Page* page = FindEither(event.key, event.as_sent, txn);
  if (page == nullptr) return UnknownPage(event.key);
  RemoveStaged(*page, books, txn);
  return {};
}

Reply Step(const RecheckPage& event, Instant, const Books&, Transaction& txn) {
  Transaction::Page* page = txn.Find(event.key);
  if (page == nullptr) return UnknownPage(event.key);
  PageState& state = page->record.state;
  state.recheck = true;
  // A recheck is tried at once, even if the page is gone or its leases were unanswered.
  if (state.gone || state.unanswered > 0 || state.returned > 0) state.retry_at = Instant();
  state.gone = false;
  page->changed = page->reindex = true;
  return {};
}

Reply Step(const EnterAgeBin& event, Instant now, const Books& books, Transaction& txn) {
  // Every start carries pages forward again from their stored state, so there is nothing to write.
  if (Transaction::Page* page = txn.Find(event.page)) {
    books.learning.estimator().aging().Advance(page->record.state, now);
    page->reindex = true;
  }
  return {};
}

Reply Step(const ReweighSignals& event, Instant now, const Books& books, Transaction& txn) {
  if (Transaction::Page* page = txn.Find(event.page)) {
    if (!books.learning.estimator().Reweigh(page->record.state, txn.lessons)) return {};
    books.learning.estimator().aging().Advance(page->record.state, now);
    TakeEstimate(page->record, now, books, txn.lessons);
    page->changed = page->reindex = true;
  }
  return {};
}

Reply Step(const Reestimate& event, Instant now, const Books& books, Transaction& txn) {
  if (Transaction::Page* page = txn.Find(event.page)) {
    page->reindex = true;
    books.learning.estimator().aging().Advance(page->record.state, now);
    const PageEstimate estimate =
        books.learning.estimator().Estimate(page->record, now, txn.lessons);
    if (books.learning.TakeNewRates(estimate, now, page->record)) page->changed = true;
  }
  return {};
}

// --- Signals

Reply Step(const SignalChange& event, Instant now, const Books& books, Transaction& txn) {
  const Estimator& estimator = books.learning.estimator();
  Transaction::Page* page = txn.Find(event.key);
  if (page == nullptr) {
    ++txn.counts.signals_unknown_url;
    return UnknownPage(event.key);
  }
  if (IsKnown(event, page->record.detail)) {
    ++txn.counts.signals_duplicate;
    return {.disposition = Disposition::kDuplicate};
  }
  if (page->unestimated != now) page->TakeDueEstimate(estimator, txn.lessons);
  PageState& state = page->record.state;
  const Instant time = event.changed.value_or(now);
  const auto place = [&] {
    return estimator.windows().Place(page->record.host, event.source, event.poll,
                                     event.pages_in_poll, now, txn.lessons.windows);
  };
  if (state.crawled() && time <= state.last_crawl) {
    // A stale signal is about a change that a crawl has already seen. It is still evidence about
    // its source, and counts once as such.
    if (event.changed && time > state.newest_claim) {
      page->TakeDueEstimate(estimator, txn.lessons);
      state.newest_claim = time;
      RememberId(event, &page->record.detail);
      RecordLateSignal(page->record, place().source_class, time);
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
  const Policy& policy = books.pages.picks.policy().index;
  if (policy.kind == PolicyKind::kGreedyNcisDelay &&
      !CountsSignal(policy, since_crawl, books.options.signal_delay.seconds())) {
    ++txn.counts.signals_stale;
    return {.disposition = Disposition::kStale};
  }
  const PlacedSignal placed = place();
  const SourceClass source_class = placed.source_class;
  if (Transaction::Lease* lease = OpenLease(LeaseOf(page->record.number, books, txn), books, txn)) {
    auto& during = lease->record.signals;
    if (during.size() >= limits::kMaxSignalsDuringLease) during.erase(during.begin());
    during.push_back({time, source_class});
  }
  estimator.aging().Advance(state, now);
  estimator.RecordSignal(page->record, source_class, placed.burst, time, now, txn.lessons,
                         page->judge);
  RememberId(event, &page->record.detail);
  RememberClaim(event, time, &page->record);
  state.signals.Add(source_class);
  state.newest_claim = std::max(state.newest_claim, time);
  // A page that was retired because it moved stays gone: it is never crawled again.
  if (!state.retry_at.infinite()) BringBack(now, books, page->record);
  txn.EstimateLater(*page, now);
  page->changed = page->reindex = true;
  if (page->signalled.is_none()) page->signalled = now;
  ++txn.counts.signals_applied;
  return {};
}

// --- Leases

namespace {

// The value in the worker's assignment: the page's crawl value, even if a plan picked the page.
double AssignedValue(const PageRecord& page, const LeasePage& event, const Books& books) {
  const std::optional<PageId> id = books.pages.table.Find(page.number);
  const PagesOut::Out* page_out = id ? books.pages.out.Find(*id) : nullptr;
  if (page_out == nullptr || !page_out->planned || std::isinf(event.value)) return event.value;
  PageState state = page.state;
  books.learning.estimator().aging().Advance(state, event.at);
  return DecidingValue(EntryOf(*id, page.spec, state, page_out->host, books), event.at);
}

}  // namespace

Reply Step(const LeasePage& event, Instant, const Books& books, Transaction& txn) {
  Transaction::Page* page = txn.Find(event.page);
  if (page == nullptr) return Refused(NotFound("page {:x} is gone", event.page.value()));
  if (LeaseOf(event.page, books, txn) != LeaseId()) {
    return Refused(MakeStatus(absl::StatusCode::kAlreadyExists, "page is leased already"));
  }
  const PageRecord& record = page->record;
  LeaseRecord lease;
  lease.id = books.pages.leases.NextId(SlotOfHost(record.host), txn.new_leases++);
  lease.page = event.page;
  lease.worker = event.worker;
  lease.client = event.client;
  lease.assigned = event.at;
  lease.deadline = event.at + event.lease;
  CountAssignment(record, event.at, books, txn);
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
                                .value = AssignedValue(record, event, books),
                                .importance = record.spec.importance};
  txn.PutLease(std::move(lease));
  return reply;
}

Reply Step(const ReturnLease& event, Instant now, const Books& books, Transaction& txn) {
  const bool anothers = IsHeldByAnother(event.lease, event.reporter, books, txn);
  Transaction::Lease* lease = anothers ? nullptr : OpenLease(event.lease, books, txn);
  const Transaction::Page* leased = lease == nullptr ? nullptr : txn.Find(lease->record.page);
  const bool allowed = event.allowed == nullptr ||
                       (leased != nullptr && IsAllowed(event.allowed, leased->record.key.crawl_id));
  if (lease == nullptr || !allowed) {
    return Refused(NotFound("lease_id: {} is not open", event.lease.value()));
  }
  End(*lease, /*reported=*/false, books, txn);
  ++txn.counts.returned_leases;
  lease->never_left = event.never_left;
  lease->host_left = event.host_left;
  if (Transaction::Page* page = txn.Find(lease->record.page)) {
    if (!event.never_left) {
      books.learning.estimator().aging().Advance(page->record.state,
                                                 now);  // so carried_at is the start of the wait
      WaitReturned(now, books, page->record.state);
    }
    page->changed = page->reindex = true;
  }
  return {};
}

Reply Step(const ExpireLease& event, Instant now, const Books& books, Transaction& txn) {
  if (Transaction::Lease* lease = OpenLease(event.lease, books, txn)) {
    End(*lease, /*reported=*/false, books, txn);
    lease->expired = true;
    if (Transaction::Page* page = txn.Find(lease->record.page)) {
      books.learning.estimator().aging().Advance(page->record.state,
                                                 now);  // so carried_at is the start of the wait
      lease->given_up = WaitUnanswered(now, books, page->record);
      page->changed = page->reindex = true;
    }
  }
  return {};
}

// --- Sources, settings

Reply Step(const SetSource& event, Instant, const Books&, Transaction& txn) {
  CHECK(event.source.index < limits::kMaxSources, "source {}", event.source.index);
  txn.sources.push_back(event.source);
  return {};
}

Reply Step(const ChangeSettings& event, Instant, const Books&, Transaction& txn) {
  txn.settings = event.settings;
  return {};
}

}  // namespace freshet
