// Gives steps access to pages, leases and hosts as the batch has left them so far: the staged
// record in the transaction or, if there is none, the record in the books.
#ifndef FRESHET_CORE_SCHEDULE_STAGED_H_
#define FRESHET_CORE_SCHEDULE_STAGED_H_

#include <optional>
#include <string>
#include <utility>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/estimate/lessons.h"
#include "core/model/host.h"
#include "core/model/lease.h"
#include "core/model/page.h"
#include "core/schedule/books.h"
#include "core/schedule/event.h"
#include "core/schedule/leases.h"
#include "core/schedule/transaction.h"

namespace freshet {

[[nodiscard]] inline Reply Refused(Status status) {
  return {.disposition = Disposition::kRefused, .status = std::move(status)};
}

// --- Pages

// Returns a refusal with NotFound, because the page is not known.
[[nodiscard]] Reply UnknownPage(const PageKey& key);
// Finds a page by its key, or by its key as sent if `key` finds none; nullptr = not known.
[[nodiscard]] Transaction::Page* FindEither(const PageKey& key,
                                            const std::optional<PageKey>& as_sent,
                                            Transaction& txn);
// Returns true if the crawl ids include this one.
[[nodiscard]] bool IsAllowed(const AllowedCrawls& allowed, const std::string& crawl_id);
// Sets the rates and staleness of a page to the present estimate. Precondition: the page's state
// was carried to `now`.
void TakeEstimate(PageRecord& page, Instant now, const Books& books, const Lessons& lessons);
// Stages the removal of a page.
void RemoveStaged(Transaction::Page& page, const Books& books, Transaction& txn);

// --- Leases

// The lease, if it is open. Stages it if it is only installed; nullptr = not open.
[[nodiscard]] Transaction::Lease* OpenLease(LeaseId id, const Books& books, Transaction& txn);
// The open lease of the page; 0 = none.
[[nodiscard]] LeaseId LeaseOf(PageNumber page, const Books& books, Transaction& txn);
// The remembered ended lease; nullopt = not remembered.
[[nodiscard]] std::optional<Leases::Past> PastLease(LeaseId id, const Books& books,
                                                    Transaction& txn);
// Returns true if an identity other than the reporter holds or held the lease.
[[nodiscard]] bool IsHeldByAnother(LeaseId id, const Reporter& reporter, const Books& books,
                                   Transaction& txn);
// Ends a staged lease. If too many ended leases are remembered, forgets the oldest. The lease of a
// removed page is not remembered.
void End(Transaction::Lease& lease, bool reported, const Books& books, Transaction& txn);

// --- Hosts

// The host as staged or installed; nullptr = the host is not known.
[[nodiscard]] const HostRecord* KnownHost(const std::string& host, const Books& books,
                                          Transaction& txn);
// The staged host. Stages it if needed.
[[nodiscard]] HostRecord* StagedHost(const std::string& host, const Books& books, Transaction& txn);
// Stages the host's record with an assignment at `at`.
void NoteAssignment(const PageRecord& page, Instant at, const Books& books, Transaction& txn);
// Stages the host's record with an assignment at `at`, if the record must show it at the next start
// of the server.
void CountAssignment(const PageRecord& page, Instant at, const Books& books, Transaction& txn);
// Applies what a result of a crawl says about the host, such as a pause. `lease` is the lease that
// the result ends; nullptr = none.
void HeedHost(const ReportCrawl& report, CrawlOutcome outcome, const LeaseRecord* lease,
              const std::string& host, Instant now, const Books& books, Transaction& txn);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_STAGED_H_
