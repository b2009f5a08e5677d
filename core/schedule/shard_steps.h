// The step of each event: it reads the books, and stages all changes in the transaction, counters
// and lessons included. Nothing is visible before the transaction is installed, and a dropped one
// leaves no trace.
//
//   shard_steps.cc    pages, signals, leases
//   shard_results.cc  results of crawls
//   shard_hosts.cc    hosts
//   shard_crawls.cc   crawl ids, deletions, and which pages are taken
#ifndef FRESHET_CORE_SCHEDULE_SHARD_STEPS_H_
#define FRESHET_CORE_SCHEDULE_SHARD_STEPS_H_

#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/model/page_number.h"
#include "core/schedule/books.h"
#include "core/schedule/event.h"
#include "core/schedule/transaction.h"

namespace freshet {

// Appends the numbers of the pages that the step of the event looks up.
void Want(const Event& event, const Books& books, std::vector<PageNumber>* numbers);

// --- Pages
// Adds the page, or changes its spec; a page that was gone is looked for again. Refused beyond the
// maximum of pages, and as AdmitUpsert says.
[[nodiscard]] Reply Step(const UpsertPage& event, Instant now, const Books& books,
                         Transaction& txn);
// Removes a page; its open lease stays, without a page. NotFound: the page is not known.
[[nodiscard]] Reply Step(const RemovePage& event, Instant now, const Books& books,
                         Transaction& txn);
// Makes the page crawled as soon as politeness allows. NotFound: the page is not known.
[[nodiscard]] Reply Step(const RecheckPage& event, Instant now, const Books& books,
                         Transaction& txn);
// Changes the rates of the page by age and refiles it; writes nothing.
[[nodiscard]] Reply Step(const EnterAgeBin& event, Instant now, const Books& books,
                         Transaction& txn);
// Reweighs the signals of the page after crawls of other pages.
[[nodiscard]] Reply Step(const ReweighSignals& event, Instant now, const Books& books,
                         Transaction& txn);
// Refiles the page, and writes it if its rates notably differ by now.
[[nodiscard]] Reply Step(const Reestimate& event, Instant now, const Books& books,
                         Transaction& txn);
// Stale: a crawl has seen the change already. Duplicate: the same signal was applied before.
// NotFound: the page is not known.
[[nodiscard]] Reply Step(const SignalChange& event, Instant now, const Books& books,
                         Transaction& txn);

// --- Leases and results
// Leases a picked page. AlreadyExists: the page has a lease.
[[nodiscard]] Reply Step(const LeasePage& event, Instant now, const Books& books, Transaction& txn);
// Ends a lease without a result. NotFound: the lease is not open, or the reporter may not end it.
[[nodiscard]] Reply Step(const ReturnLease& event, Instant now, const Books& books,
                         Transaction& txn);
// Ends a lease at its deadline. No-op if it has ended before.
[[nodiscard]] Reply Step(const ExpireLease& event, Instant now, const Books& books,
                         Transaction& txn);
// Takes the result of a crawl: under its lease, late, or of a crawl that nobody ordered. Duplicate:
// it was taken before.
[[nodiscard]] Reply Step(const ReportCrawl& event, Instant now, const Books& books,
                         Transaction& txn);

// --- Hosts
// Sets what the event names, and leaves the rest of the host as it is.
[[nodiscard]] Reply Step(const SetHost& event, Instant now, const Books& books, Transaction& txn);
// NotFound: the host has no page of the crawl id.
[[nodiscard]] Reply Step(const BlockHost& event, Instant now, const Books& books, Transaction& txn);
// Forgets a host. No-op if it now has something to keep.
[[nodiscard]] Reply Step(const ForgetHost& event, Instant now, const Books& books,
                         Transaction& txn);
// Marks the host, whose pages are then removed in slices. NotFound: the host has neither pages nor
// settings.
[[nodiscard]] Reply Step(const DeleteHost& event, Instant now, const Books& books,
                         Transaction& txn);
// Takes the mark away once the host has no page.
[[nodiscard]] Reply Step(const EndHostDeletion& event, Instant now, const Books& books,
                         Transaction& txn);

// --- Crawl ids, sources, settings
// Removes a page whose crawl id or host is being deleted.
[[nodiscard]] Reply Step(const RemoveDeleted& event, Instant now, const Books& books,
                         Transaction& txn);
// ResourceExhausted: there are limits::kMaxCrawls.
[[nodiscard]] Reply Step(const SetCrawl& event, Instant now, const Books& books, Transaction& txn);
// Clears the terms of the crawl id.
[[nodiscard]] Reply Step(const ForgetCrawl& event, Instant now, const Books& books,
                         Transaction& txn);
// Has the source written.
[[nodiscard]] Reply Step(const SetSource& event, Instant now, const Books& books, Transaction& txn);
// Has the settings written.
[[nodiscard]] Reply Step(const ChangeSettings& event, Instant now, const Books& books,
                         Transaction& txn);

// Whether the crawl id and host admit an upsert. `created`: the page is new, and its place is then
// taken.
[[nodiscard]] Status AdmitUpsert(const UpsertPage& event, bool created, const Books& books,
                                 Transaction& txn);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_SHARD_STEPS_H_
