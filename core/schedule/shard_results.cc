// Steps for results of crawls: see shard_steps.h.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "core/schedule/http_status.h"
#include "core/schedule/page_waits.h"
#include "core/schedule/shard_steps.h"
#include "core/schedule/signal_memory.h"
#include "core/schedule/staged.h"

namespace freshet {
namespace {

// Corrections of a time by less than this are not noted.
constexpr Duration kSameTime = Duration::Seconds(1);

// Moves the time of a fetch into the time of its lease, whatever the worker's clock says.
Instant WithinLease(Instant fetched, const LeaseRecord& lease, Instant now) {
  return std::max(lease.assigned, std::min(fetched, now));
}

// Adds a note that a time was replaced by another, if they differ enough.
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
  // Compares only with fetches up to the last crawl, because the rounded time of an observation can
  // match a new fetch.
  if (report.fetched > page.state.last_crawl) return false;
  const auto& recent = detail.statistics.recent;
  return std::any_of(recent.begin(), recent.end(), [&](const CrawlObservation& observation) {
    return MayBeFetch(observation, report.fetched);
  });
}

// Returns true if the worker fetched the page's content.
bool Fetched(CrawlOutcome outcome) {
  return outcome == CrawlOutcome::kChanged || outcome == CrawlOutcome::kUnchanged;
}

// Returns true if the key of the result, if any, is the key of this page.
bool Names(const ReportCrawl& report, const PageRecord& page) {
  const bool unnamed = !report.key && !report.as_sent;
  return unnamed || report.key == page.key || report.as_sent == page.key;
}

bool DigestsCompare(const ReportCrawl& report, const PageRecord& page) {
  return !report.digest.empty() && report.digest.size() == page.detail.digest.size();
}

// The outcome of a result after digests are compared; nullopt = undecided.
std::optional<CrawlOutcome> Decide(const ReportCrawl& report, const PageRecord& page) {
  if (report.outcome && !Fetched(*report.outcome)) return report.outcome;
  // A failed response is not the page. If it has a digest, this is the digest of the error page.
  if (!report.outcome && IsFailure(report.http_status)) return CrawlOutcome::kError;
  if (DigestsCompare(report, page)) {
    const bool same = report.digest == page.detail.digest;
    return same ? CrawlOutcome::kUnchanged : CrawlOutcome::kChanged;
  }
  if (report.outcome) return report.outcome;
  if (report.http_status == 304) return CrawlOutcome::kUnchanged;
  // The page has no earlier digest to compare with, but all of its content is new.
  if (!report.digest.empty() && !page.state.crawled()) return CrawlOutcome::kChanged;
  return std::nullopt;
}

// The outcome that is assumed if Decide cannot decide the outcome of an open lease. Without it, the
// page would be handed out again and again.
CrawlOutcome Assume(const ReportCrawl& report, std::vector<std::string>* notes) {
  if (report.digest.empty()) {
    notes->emplace_back("outcome: is missing and nothing decides it: counts as an error");
    return CrawlOutcome::kError;
  }
  notes->emplace_back(
      "outcome: is missing and no digest of the same length is stored: counts as changed");
  return CrawlOutcome::kChanged;
}

// Removes the bursts of the `unseen` signals from the state, and returns them. The unseen signals
// are the page's newest, so each one takes the newest remaining burst of its class.
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

// Stores the ETag, the date and the digest. If the page changed, its old digest says nothing about
// the new content.
void TakeValidators(const ReportCrawl& report, bool changed, PageDetail& detail) {
  if (changed || !report.etag.empty()) detail.etag = report.etag;
  if (changed || !report.last_modified.empty()) detail.last_modified = report.last_modified;
  if (changed || !report.digest.empty()) detail.digest = report.digest;
}

// Records the interval between the last crawl and this successful one. Returns false if there was
// no interval to record: the first crawl of a page has nothing to compare with. A late crawl does
// not replace the stored copy. The statistics keep its interval only until the next crawl, whose
// interval covers the same time.
bool Observe(const ReportCrawl& report, bool changed, bool late, Transaction::Page& page,
             const Books& books, Transaction& txn) {
  PageRecord& record = page.record;
  const PageState& state = record.state;
  if (!state.crawled() || report.fetched <= state.last_crawl) return false;
  // Signals that a late fetch could not have seen can no longer be distinguished from the others,
  // so the interval is not recorded.
  if (late && !state.signals.empty() && state.newest_claim > report.fetched) return false;
  const CrawlObservation observation = {.fetched = report.fetched,
                                        .elapsed = report.fetched - state.last_crawl,
                                        .signals = state.signals,
                                        .changed = changed};
  late ? books.learning.estimator().RecordLateCrawl(record, observation, txn.lessons)
       : books.learning.estimator().RecordCrawl(record, observation, txn.lessons);
  page.changed = true;
  return true;
}

// Applies a successful fetch (`outcome` is changed or unchanged): the page is fresh as of the
// fetch.
void Succeed(const ReportCrawl& report, CrawlOutcome outcome, const LeaseRecord* lease,
             Transaction::Page& page, const Books& books, Transaction& txn) {
  CHECK(Fetched(outcome), "outcome {}", static_cast<int>(outcome));
  CHECK(lease == nullptr || lease->assigned <= report.fetched, "fetched before its lease");
  PageRecord& record = page.record;
  PageState& state = record.state;
  const bool changed = outcome == CrawlOutcome::kChanged;
  // Signals newer than the fetch are about changes that this crawl did not see, so it gives no
  // evidence about them.
  SignalCounts carried;
  if (lease != nullptr) {
    for (const LeaseSignal& signal : lease->signals) {
      if (signal.time <= report.fetched) continue;
      carried.Add(signal.source_class);
      state.signals.Subtract(signal.source_class);
    }
  }
  const std::array<BurstSignal, 2> waiting = TakeBurstsOf(carried, state);
  books.learning.estimator().aging().Advance(state, report.fetched);
  const bool looked = report.looked || DigestsCompare(report, record);
  if (looked) Observe(report, changed, /*late=*/false, page, books, txn);
  // The first crawl has nothing to compare with, whatever the worker reports.
  const bool found = changed && (state.crawled() || record.detail.crawls > 0);
  record.detail.changes += found ? 1 : 0;
  ++record.detail.crawls;
  TakeValidators(report, changed, record.detail);
  // The stored digest belongs to an older fetch, and must not be compared with the digest of the
  // next one.
  if (!looked) record.detail.digest = report.digest;
  ++(changed ? txn.counts.changed : txn.counts.unchanged);
  ++page.counts.crawls;
  page.counts.changes += found ? 1 : 0;
  page.fetched = true;
  LearnFromLook(record, report.fetched, /*returned=*/true, books, txn.lessons);
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
  TakeEstimate(record, report.fetched, books, txn.lessons);
}

// Applies a failure: the page stays as stale as it is, and waits.
void Fail(const ReportCrawl& report, CrawlOutcome outcome, Instant now, Transaction::Page& page,
          const Books& books, Transaction& txn) {
  CHECK(!Fetched(outcome), "outcome {}", static_cast<int>(outcome));
  PageState& state = page.record.state;
  // Carries the state to now first. Otherwise the staleness of a page that fails for a long time
  // would jump when the page is next processed.
  books.learning.estimator().aging().Advance(state, now);
  state.recheck = false;
  if (outcome == CrawlOutcome::kRobotsDenied) {
    WaitWhileDenied(report.retry_after, now, books, page.record);
    ++txn.counts.robots_denied;
    ++page.counts.robots_denied;
    return;
  }
  page.record.detail.denials = 0;
  if (outcome != CrawlOutcome::kError) {
    LearnFromLook(page.record, now, /*returned=*/false, books, txn.lessons);
    books.learning.estimator().aging().CountCrawl(page.record, now, /*found=*/false, txn.lessons);
    WaitWhileGone(outcome, report.retry_after, now, books, page.record);
    // A page that has moved to its own URL has no new URL.
    const bool told = outcome == CrawlOutcome::kMoved && report.moved_to != page.record.key.url;
    page.record.detail.moved_to = told ? report.moved_to : "";
    ++txn.counts.gone;
    ++page.counts.gone;
    return;
  }
  WaitAfterError(report, now, books, page.record);
  ++txn.counts.errors;
  ++page.counts.errors;
}

// Applies a result that changes the page: the result of the open lease, or of a crawl without a
// lease.
void TakeResult(const ReportCrawl& report, CrawlOutcome outcome, const LeaseRecord* lease,
                Instant now, Transaction::Page& page, const Books& books, Transaction& txn) {
  PageRecord& record = page.record;
  if (Fetched(outcome)) {
    Succeed(report, outcome, lease, page, books, txn);
  } else {
    Fail(report, outcome, now, page, books, txn);
  }
  record.state.unanswered = record.state.returned = 0;
  record.detail.last_outcome = outcome;
  record.detail.last_http_status = report.http_status;
  record.detail.last_lease = report.lease;
  record.detail.last_result = report.fetched;
  page.seen = Fetched(outcome) || outcome == CrawlOutcome::kGone || outcome == CrawlOutcome::kMoved;
  // If the fetch found the page gone, a newer signal is a sign that the page is back.
  const bool back = record.state.gone && !record.state.retry_at.infinite() && lease != nullptr &&
                    std::any_of(lease->signals.begin(), lease->signals.end(),
                                [&](const auto& signal) { return signal.time > report.fetched; });
  if (back) BringBack(now, books, record);
  page.changed = page.reindex = true;
}

// Applies a result that comes too late to change the page. `past`: the remembered lease of the
// result, if any.
Reply ObserveOnly(const ReportCrawl& report, CrawlOutcome outcome,
                  const std::optional<Leases::Past>& past, Transaction::Page& page,
                  const Books& books, Transaction& txn) {
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
      looked && Fetched(outcome) && Observe(report, changed, /*late=*/true, page, books, txn);
  // Lets AlreadyTaken recognise a repetition. A page without a result stays without one, because
  // this result does not count as the page's own.
  if (observed && !record.detail.last_result.is_none()) record.detail.last_result = report.fetched;
  return {.disposition = Disposition::kObservedOnly, .outcome = outcome};
}

// Finds the page of a result; nullptr = not known.
Transaction::Page* PageOf(const ReportCrawl& report, const Transaction::Lease* lease,
                          const std::optional<Leases::Past>& past, Transaction& txn) {
  Transaction::Page* page = nullptr;
  if (lease != nullptr) {
    page = txn.Find(lease->record.page);
  } else if (report.key) {
    page = FindEither(*report.key, report.as_sent, txn);
  } else if (past) {
    page = txn.Find(past->page);
  }
  const bool by_lease = page == nullptr && past && report.as_sent;
  return by_lease ? txn.Find(past->page) : page;
}

}  // namespace

Reply Step(const ReportCrawl& event, Instant now, const Books& books, Transaction& txn) {
  const bool anothers = IsHeldByAnother(event.lease, event.reporter, books, txn);
  Transaction::Lease* lease = anothers ? nullptr : OpenLease(event.lease, books, txn);
  if (lease != nullptr && lease->orphan()) {
    // The page was removed. A page that was added under its URL since then is a different page.
    End(*lease, /*reported=*/true, books, txn);
    lease->answered = true;
    lease = nullptr;
  }
  const std::optional<Leases::Past> past =
      anothers ? std::nullopt : PastLease(event.lease, books, txn);
  Transaction::Page* page = PageOf(event, lease, past, txn);
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
    // A fetch without a lease ends the open lease of its page, if it is not older than that lease
    // and no other identity holds the lease.
    Transaction::Lease* open = OpenLease(LeaseOf(record.number, books, txn), books, txn);
    if (open != nullptr && open->record.assigned <= event.fetched) {
      late = IsHeldByAnother(open->record.id, event.reporter, books, txn);
      lease = late ? nullptr : open;
    }
  }
  const bool reported = past && past->page == record.number && past->reported;
  // A result that ends its own lease is new, whatever its fetch time.
  const bool answer = lease != nullptr && event.lease != LeaseId();
  if (!answer && (reported || AlreadyTaken(record, event))) {
    ++txn.counts.duplicate_results;
    // An open lease stays open, because the repeated result is not from its fetch.
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
           books, txn);
  if (late ||
      (lease == nullptr && Fetched(*reply.outcome) && event.fetched <= record.state.last_crawl)) {
    return ObserveOnly(event, *reply.outcome, late ? past : std::nullopt, *page, books, txn);
  }
  if (lease == nullptr) {
    TakeResult(event, *reply.outcome, nullptr, now, *page, books, txn);
    return reply;
  }
  ReportCrawl report = event;
  report.fetched = WithinLease(event.fetched, lease->record, now);
  NoteTime(event.fetched, report.fetched, &reply.notes);
  TakeResult(report, *reply.outcome, &lease->record, now, *page, books, txn);
  // Stored as reported, to recognise a repetition.
  record.detail.last_result = event.fetched;
  End(*lease, /*reported=*/answer, books, txn);
  lease->answered = true;
  return reply;
}

}  // namespace freshet
