// Functions that change a page in several books at once. Loading, installing and picking use them
// to keep the invariants of PageBook. They also update the counts of hosts and crawl ids.
#ifndef FRESHET_CORE_SCHEDULE_PAGE_MOVES_H_
#define FRESHET_CORE_SCHEDULE_PAGE_MOVES_H_

#include <optional>

#include "core/base/units.h"
#include "core/index/index_entry.h"
#include "core/model/lease.h"
#include "core/model/page.h"
#include "core/schedule/books.h"
#include "core/schedule/page_to_load.h"
#include "core/schedule/quota.h"
#include "core/schedule/transaction.h"

namespace freshet {

// Adds a page. The caller files it afterwards. `places` has the places that were taken for new
// pages; the function uses one if needed.
[[nodiscard]] PageId AddPage(const PageRecord& record, HostId host, TakenPlaces& places,
                             Books& books);
// Counts one more page for the host and the crawl id. `placed`: see CrawlTable::Add.
void CountPage(PageId id, HostId host, CrawlIndex crawl, bool placed, Books& books);
// Removes the page from all books.
void DropPage(PageId id, Books& books);

// Files the page by its spec and state.
void Refile(PageId id, HostId host, const PageSpec& spec, const PageState& state, Books& books);
// Files the page as prepared. `entry` is the page's entry with the page interval applied.
// `asked_at`: see AskedAt.
void File(PageId id, const PageToLoad& page, const IndexEntry& entry, Instant asked_at,
          Books& books);
// Sets a flag, and suspends or resumes the page in the picks accordingly.
void Mark(PageId id, PageTable::Flag flag, bool value, Books& books);

// Installs the lease of a picked page.
void HandOut(PageId id, const LeaseRecord& lease, Books& books);
// Takes back a page that is picked or leased, and offers it for picks again. This can free its
// host.
void ComeBack(PageId id, Books& books);
// Undoes the assignment of a page that never left the server. The page's host is then as it was
// before the assignment.
void TakeBackAssignment(PageId id, const Transaction::Lease& lease, Books& books);
// Keeps the lease, installed or staged, of a page that is about to be removed.
void Orphan(const Transaction::Lease& lease, Books& books);
// Ends the lease of a removed page. This can free the host, or allow it to be forgotten.
void EndOrphan(LeaseId lease, Books& books);

// Finds the page to pick at `at`, without taking it. The page's host is within its hours. nullopt =
// there is no page, or this call reached its limit of hosts to check. The arguments are those of
// ShardState::Take.
[[nodiscard]] std::optional<ClassedPick> BestPage(Instant at, ClassSet among, bool forced_first,
                                                  Books& books);

// Sets the host's defaults to the strictest politeness among the crawl ids with pages on the host.
void FollowCrawlsOf(HostId host, Books& books);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_PAGE_MOVES_H_
