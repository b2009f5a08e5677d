// Changes a page in several books at once. Loading, installing and picking keep the invariants of
// PageBook by these functions, which also tell hosts and crawl ids about their pages.
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

// Adds a page, which the caller then files. `places` were taken for new pages; the function uses
// one if needed.
[[nodiscard]] PageId AddPage(const PageRecord& record, HostId host, TakenPlaces& places,
                             Books& books);
// Counts one more page of the host and crawl id. `placed`: see CrawlTable::Add.
void CountPage(PageId id, HostId host, CrawlIndex crawl, bool placed, Books& books);
void DropPage(PageId id, Books& books);

// Takes over spec and state of a page, and files it.
void Refile(PageId id, HostId host, const PageSpec& spec, const PageState& state, Books& books);
// Takes over the computed filing of a page. `asked_at`: see AskedAt. `entry`: the entry of the
// page, held by the page interval of its host.
void File(PageId id, const PageToLoad& page, const IndexEntry& entry, Instant asked_at,
          Books& books);
// Sets a flag, and withholds or offers the page accordingly.
void Mark(PageId id, PageTable::Flag flag, bool value, Books& books);

// Installs the lease of a page that was picked.
void HandOut(PageId id, const LeaseRecord& lease, Books& books);
// Takes back a page that is out and files it again, which may free its host.
void ComeBack(PageId id, Books& books);
// Takes back the assignment of a page that never left: its host is as before.
void TakeBackAssignment(PageId id, const Transaction::Lease& lease, Books& books);
// Keeps the lease, staged now or before, of a page that will be removed.
void Orphan(const Transaction::Lease& lease, Books& books);
// Ends such a lease, which may free the host, or let it be forgotten.
void EndOrphan(LeaseId lease, Books& books);

// The page to pick at `at`, left in, whose host is within its hours; nullopt also if one call
// cannot look at enough hosts. The arguments are those of ShardState::Take.
[[nodiscard]] std::optional<ClassedPick> BestPage(Instant at, ClassSet among, bool forced_first,
                                                  Books& books);

// Gives the host the politeness of the crawl ids that have pages of it.
void FollowCrawlsOf(HostId host, Books& books);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_PAGE_MOVES_H_
