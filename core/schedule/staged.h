// The access of steps to pages, leases and hosts, as the batch so far leaves them: from the
// transaction, or else from the books.
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

[[nodiscard]] Reply UnknownPage(const PageKey& key);
// Finds a page by its key, or else as sent; nullptr = neither is known.
[[nodiscard]] Transaction::Page* FindEither(const PageKey& key,
                                            const std::optional<PageKey>& as_sent,
                                            Transaction& txn);
[[nodiscard]] bool IsAllowed(const AllowedCrawls& allowed, const std::string& crawl_id);
// Sets rates and staleness of a page, whose state was carried to `now`, to the present estimate.
void TakeEstimate(PageRecord& page, Instant now, const Books& books, const Lessons& lessons);
// Stages the removal of a page.
void RemoveStaged(Transaction::Page& page, const Books& books, Transaction& txn);

// --- Leases

// The staged lease, or the installed one, staged now; nullptr = not open.
[[nodiscard]] Transaction::Lease* OpenLease(LeaseId id, const Books& books, Transaction& txn);
// The open lease of the page; 0 = none.
[[nodiscard]] LeaseId LeaseOf(PageNumber page, const Books& books, Transaction& txn);
// The remembered ended lease, if any.
[[nodiscard]] std::optional<Leases::Past> PastLease(LeaseId id, const Books& books,
                                                    Transaction& txn);
// Whether an identity other than the reporter holds or held the lease.
[[nodiscard]] bool IsHeldByAnother(LeaseId id, const Reporter& reporter, const Books& books,
                                   Transaction& txn);
// Ends a staged lease; the oldest remembered lease may make room for it. The lease of a removed
// page is not remembered.
void End(Transaction::Lease& lease, bool reported, const Books& books, Transaction& txn);

// --- Hosts

// nullptr = the host is not known.
[[nodiscard]] const HostRecord* KnownHost(const std::string& host, const Books& books,
                                          Transaction& txn);
[[nodiscard]] HostRecord* StagedHost(const std::string& host, const Books& books, Transaction& txn);
// Stages the host with an assignment at `at`.
void NoteAssignment(const PageRecord& page, Instant at, const Books& books, Transaction& txn);
// Stages the host with an assignment at `at`, if a start must know it.
void CountAssignment(const PageRecord& page, Instant at, const Books& books, Transaction& txn);
// Takes what the answer to a crawl says about the host, such as a pause. `lease`: the lease that
// the result ends; nullptr = none.
void HeedHost(const ReportCrawl& report, CrawlOutcome outcome, const LeaseRecord* lease,
              const std::string& host, Instant now, const Books& books, Transaction& txn);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_STAGED_H_
