// The step of each kind of event. A step reads the books and stages all changes in the transaction,
// including counters and lessons. Nothing is visible before the transaction is installed. A
// transaction that is dropped changes nothing.
//
//   shard_steps.cc    pages, signals, leases
//   shard_results.cc  results of crawls
//   shard_hosts.cc    hosts
//   shard_crawls.cc   crawl ids, deletions, and the admission of pages
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
// Adds a page, or changes its spec. A gone page can be crawled again afterwards. Refused if there
// are too many pages, or as AdmitUpsert says.
[[nodiscard]] Reply Step(const UpsertPage& event, Instant now, const Books& books,
                         Transaction& txn);
// Removes a page. Its open lease is kept without the page. Not OK: NotFound if the page is not
// known.
[[nodiscard]] Reply Step(const RemovePage& event, Instant now, const Books& books,
                         Transaction& txn);
// Requests a crawl as soon as politeness allows. Not OK: NotFound if the page is not known.
[[nodiscard]] Reply Step(const RecheckPage& event, Instant now, const Books& books,
                         Transaction& txn);
// Updates the rates of the page to its age, and files it again. Nothing is written.
[[nodiscard]] Reply Step(const EnterAgeBin& event, Instant now, const Books& books,
                         Transaction& txn);
// Updates the weights of the page's signals after crawls of other pages.
[[nodiscard]] Reply Step(const ReweighSignals& event, Instant now, const Books& books,
                         Transaction& txn);
// Files the page again, and writes it if its rates have changed notably.
[[nodiscard]] Reply Step(const Reestimate& event, Instant now, const Books& books,
                         Transaction& txn);
// Applies a signal. Stale: a crawl has already seen the change. Duplicate: the same signal was
// applied before. Not OK: NotFound if the page is not known.
[[nodiscard]] Reply Step(const SignalChange& event, Instant now, const Books& books,
                         Transaction& txn);

// --- Leases and results
// Leases a picked page. Not OK: AlreadyExists if the page has a lease.
[[nodiscard]] Reply Step(const LeasePage& event, Instant now, const Books& books, Transaction& txn);
// Ends a lease without a result. Not OK: NotFound if the lease is not open, or the reporter is not
// allowed to end it.
[[nodiscard]] Reply Step(const ReturnLease& event, Instant now, const Books& books,
                         Transaction& txn);
// Ends a lease at its deadline. No-op if it has already ended.
[[nodiscard]] Reply Step(const ExpireLease& event, Instant now, const Books& books,
                         Transaction& txn);
// Takes the result of a crawl, whether under an open lease, late or without a lease. Duplicate: the
// result was taken before.
[[nodiscard]] Reply Step(const ReportCrawl& event, Instant now, const Books& books,
                         Transaction& txn);

// --- Hosts
// Sets the fields that the event names. The other fields of the host are unchanged.
[[nodiscard]] Reply Step(const SetHost& event, Instant now, const Books& books, Transaction& txn);
// Blocks a host. Not OK: NotFound if the host has no page of the crawl id.
[[nodiscard]] Reply Step(const BlockHost& event, Instant now, const Books& books, Transaction& txn);
// Forgets a host. No-op if the host now has something to keep.
[[nodiscard]] Reply Step(const ForgetHost& event, Instant now, const Books& books,
                         Transaction& txn);
// Marks the host as being deleted. Its pages are then removed in slices. Not OK: NotFound if the
// host has neither pages nor settings.
[[nodiscard]] Reply Step(const DeleteHost& event, Instant now, const Books& books,
                         Transaction& txn);
// Removes the mark, if the host has no pages left.
[[nodiscard]] Reply Step(const EndHostDeletion& event, Instant now, const Books& books,
                         Transaction& txn);

// --- Crawl ids, sources, settings
// Removes a page whose crawl id or host is being deleted.
[[nodiscard]] Reply Step(const RemoveDeleted& event, Instant now, const Books& books,
                         Transaction& txn);
// Sets the terms of a crawl id. Not OK: ResourceExhausted if it is new and there are already
// limits::kMaxCrawls.
[[nodiscard]] Reply Step(const SetCrawl& event, Instant now, const Books& books, Transaction& txn);
// Clears the terms of the crawl id.
[[nodiscard]] Reply Step(const ForgetCrawl& event, Instant now, const Books& books,
                         Transaction& txn);
// Stages the source for the store.
[[nodiscard]] Reply Step(const SetSource& event, Instant now, const Books& books, Transaction& txn);
// Stages the settings for the store.
[[nodiscard]] Reply Step(const ChangeSettings& event, Instant now, const Books& books,
                         Transaction& txn);

// OK if the crawl id and the host admit the upsert. `created`: true if the page is new; AdmitUpsert
// then also takes a place for the page.
[[nodiscard]] Status AdmitUpsert(const UpsertPage& event, bool created, const Books& books,
                                 Transaction& txn);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_SHARD_STEPS_H_
