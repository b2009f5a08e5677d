#include "core/schedule/staged.h"

#include <algorithm>
#include <vector>

#include "core/base/check.h"
#include "core/base/limits.h"
#include "core/estimate/page_estimate.h"
#include "core/schedule/changes.h"
#include "core/schedule/host_backoff.h"
#include "core/schedule/http_status.h"

namespace freshet {

// --- Pages

Reply UnknownPage(const PageKey& key) {
  return Refused(NotFound("url: {} is not known in crawl id {}", key.url, key.crawl_id));
}

Transaction::Page* FindEither(const PageKey& key, const std::optional<PageKey>& as_sent,
                              Transaction& txn) {
  Transaction::Page* page = txn.Find(key);
  return page == nullptr && as_sent ? txn.Find(*as_sent) : page;
}

bool IsAllowed(const AllowedCrawls& allowed, const std::string& crawl_id) {
  return allowed == nullptr ||
         std::find(allowed->begin(), allowed->end(), crawl_id) != allowed->end();
}

void TakeEstimate(PageRecord& page, Instant now, const Books& books, const Lessons& lessons) {
  const PageEstimate estimate = books.learning.estimator().Estimate(page, now, lessons);
  page.state.rates = estimate.rates;
  page.state.staleness = estimate.staleness;
}

void RemoveStaged(Transaction::Page& page, const Books& books, Transaction& txn) {
  if (Transaction::Lease* lease = OpenLease(LeaseOf(page.record.number, books, txn), books, txn)) {
    // The worker will still fetch the page. Until it answers, its lease counts as in flight on the
    // host.
    lease->record.host = page.record.host;
  }
  page.removed = true;
}

// --- Leases

Transaction::Lease* OpenLease(LeaseId id, const Books& books, Transaction& txn) {
  if (id == LeaseId()) return nullptr;
  Transaction::Lease* staged = txn.FindLease(id);
  if (staged == nullptr) {
    const LeaseRecord* installed = books.pages.leases.Find(id);
    if (installed == nullptr) return nullptr;
    staged = txn.PutLease(*installed);
  }
  return staged->closed ? nullptr : staged;
}

LeaseId LeaseOf(PageNumber page, const Books& books, Transaction& txn) {
  const std::optional<PageId> id = books.pages.table.Find(page);
  if (id && books.pages.table.Is(*id, PageTable::kLeased)) {
    const PagesOut::Out* leased = books.pages.out.Find(*id);
    CHECK(leased != nullptr, "a leased page is not out");
    const LeaseId lease = leased->lease;
    if (OpenLease(lease, books, txn) != nullptr) return lease;
  }
  // A lease that this batch opened is not installed yet.
  const LeaseId staged = txn.LeaseOf(page);
  return OpenLease(staged, books, txn) == nullptr ? LeaseId() : staged;
}

std::optional<Leases::Past> PastLease(LeaseId id, const Books& books, Transaction& txn) {
  const auto& late = txn.late_leases;
  const bool reported_now = std::any_of(late.begin(), late.end(),
                                        [&](const LeaseRecord& lease) { return lease.id == id; });
  if (const Transaction::Lease* staged = txn.FindLease(id); staged != nullptr && staged->closed) {
    return Leases::Past{staged->record.page, staged->reported || reported_now,
                        IdentityHashOf(staged->record.client)};
  }
  const Leases::Past* past = books.pages.leases.FindPast(id);
  if (past == nullptr) return std::nullopt;
  return Leases::Past{past->page, past->reported || reported_now, past->identity};
}

bool IsHeldByAnother(LeaseId id, const Reporter& reporter, const Books& books, Transaction& txn) {
  if (reporter == nullptr) return false;
  if (const Transaction::Lease* staged = txn.FindLease(id)) {
    return IsOfAnother(IdentityHashOf(staged->record.client), reporter);
  }
  if (const LeaseRecord* open = books.pages.leases.Find(id)) {
    return IsOfAnother(IdentityHashOf(open->client), reporter);
  }
  const Leases::Past* past = books.pages.leases.FindPast(id);
  return past != nullptr && IsOfAnother(past->identity, reporter);
}

void End(Transaction::Lease& lease, bool reported, const Books& books, Transaction& txn) {
  const Leases& leases = books.pages.leases;
  if (lease.orphan()) {
    lease.closed = lease.forgotten = true;
    lease.reported = reported;
    return;
  }
  txn.Close(lease, reported);
  // If this batch has also opened the lease, the store never gets the open lease, so the time of
  // the assignment is written to the host's record.
  if (const Transaction::Page* page = txn.Find(lease.record.page);
      page != nullptr && leases.Find(lease.record.id) == nullptr) {
    NoteAssignment(page->record, lease.record.assigned, books, txn);
  }
  // After a change of the number of shards, too many leases can be remembered. So two are forgotten
  // for each new one.
  std::vector<LeaseId>& forgotten = txn.forgotten_leases;
  for (int i = 0; i < 2 && forgotten.size() < leases.remembered(); ++i) {
    const size_t kept = leases.remembered() + txn.newly_remembered() - forgotten.size();
    if (kept <= limits::kMaxRememberedLeases) break;
    forgotten.push_back(leases.Remembered(forgotten.size()));
    DCHECK(leases.FindPast(forgotten.back()) != nullptr);
  }
}

// --- Hosts

const HostRecord* KnownHost(const std::string& host, const Books& books, Transaction& txn) {
  if (const HostRecord* staged = txn.FindHost(host)) return staged;
  const std::optional<HostId> id = books.hosts.gate.Find(host);
  return id ? &books.hosts.gate.host(*id).record : nullptr;
}

HostRecord* StagedHost(const std::string& host, const Books& books, Transaction& txn) {
  if (HostRecord* staged = txn.FindHost(host)) return staged;
  CHECK(!host.empty(), "a host without a name");
  const std::optional<HostId> id = books.hosts.gate.Find(host);
  return txn.PutHost(id ? books.hosts.gate.host(*id).record : HostRecord{.host = host});
}

void NoteAssignment(const PageRecord& page, Instant at, const Books& books, Transaction& txn) {
  HostRecord* host = StagedHost(page.host, books, txn);
  host->last_assignment = std::max(host->last_assignment, at);
}

void CountAssignment(const PageRecord& page, Instant at, const Books& books, Transaction& txn) {
  const HostGate& hosts = books.hosts.gate;
  const std::optional<HostId> id = hosts.Find(page.host);
  if (!id) return;
  // At the next start, the stored lease tells the time of the assignment. This suffices unless the
  // delay of the host or of its group is longer than kAssignmentsKept.
  const HostTerms terms = hosts.TermsOf(*id);
  const auto& group = hosts.groups().group(hosts.host(*id).group);
  const Duration group_delay = group == nullptr ? Duration() : group->terms.min_delay;
  if (std::max(terms.min_delay.value, group_delay) > kAssignmentsKept) {
    NoteAssignment(page, at, books, txn);
  }
  const CrawlCap& cap = terms.max_crawls.value;
  if (cap.count > 0) CountCrawl(cap, at, &StagedHost(page.host, books, txn)->recent_crawls);
}

namespace {

// Stages the delay and the address that a worker reports for the host.
void HearOfHost(const ReportCrawl& report, const std::string& host, const Books& books,
                Transaction& txn) {
  const HostRecord* known = KnownHost(host, books, txn);
  const HostRecord none;
  if (known == nullptr) known = &none;
  const bool new_delay = report.crawl_delay && *report.crawl_delay != known->crawl_delay;
  const bool new_address = !report.address.none() && report.address != known->address;
  if (new_delay) StagedHost(host, books, txn)->crawl_delay = *report.crawl_delay;
  if (new_address) StagedHost(host, books, txn)->address = report.address;
}

}  // namespace

void HeedHost(const ReportCrawl& report, CrawlOutcome outcome, const LeaseRecord* lease,
              const std::string& host, Instant now, const Books& books, Transaction& txn) {
  HearOfHost(report, host, books, txn);
  if (outcome == CrawlOutcome::kError && IsThrottled(report.http_status)) {
    ++txn.counts.throttled;
    NoteThrottled(books.options.host_backoff, lease == nullptr ? report.fetched : lease->assigned,
                  report.retry_after, now, StagedHost(host, books, txn));
  } else if (report.retry_after > Duration()) {
    NoteAsked(books.options.host_backoff, report.retry_after, now, StagedHost(host, books, txn));
  }
}

}  // namespace freshet
