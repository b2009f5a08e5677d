#include "core/schedule/shard_timers.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/limits.h"
#include "core/schedule/page_moves.h"

namespace freshet {
namespace {

// The pause between two slices of a deletion. Each slice costs a commit, which delays all other
// work.
constexpr Duration kSweepPause = Duration::Millis(10);
// Max pages that move to another class in one slice. This takes some milliseconds.
constexpr size_t kMovedAtOnce = 2048;

// Updates a slice of the hosts to new defaults.
void FollowPoliteness(Books& books) {
  HostGate& hosts = books.hosts.gate;
  // A slice of hosts takes some milliseconds.
  constexpr size_t kSlice = size_t{1} << 14;
  const auto end =
      static_cast<uint32_t>(std::min<size_t>(hosts.id_limit(), books.hosts.following + kSlice));
  for (; books.hosts.following < end; ++books.hosts.following) {
    if (!hosts.host(HostId(books.hosts.following)).record.host.empty())
      FollowCrawlsOf(HostId(books.hosts.following), books);
    books.pages.picks.HostChanged(HostId(books.hosts.following));
  }
  if (books.hosts.following >= hosts.id_limit()) books.hosts.following = UINT32_MAX;
}

// Moves a slice of the pages to the class of their crawl id.
void FollowClasses(Books& books) {
  PageTable& table = books.pages.table;
  size_t left = kMovedAtOnce;
  uint32_t looks = limits::kDeletionScan;
  for (; books.crawls.reclassing < table.id_limit() && left > 0 && looks > 0;
       ++books.crawls.reclassing, --looks) {
    const PageId id(books.crawls.reclassing);
    if (table.known(id) && books.pages.picks.FollowClass(id)) --left;
  }
  if (books.crawls.reclassing >= table.id_limit()) books.crawls.reclassing = UINT32_MAX;
}

bool IsDeleted(PageId id, const Books& books) {
  const CrawlTable& crawls = books.crawls.table;
  if (crawls.deletions() > 0 && crawls[crawls.Of(id)].deleting) return true;
  return !books.hosts.deleted.empty() && books.hosts.deleted.contains(books.pages.picks.HostOf(id));
}

// Ends a pass over all pages, and finishes the deletions that are done.
void EndSweep(size_t max, Books& books, std::vector<Event>* events) {
  const CrawlTable& crawls = books.crawls.table;
  bool more = false;
  for (uint16_t i = 0; i < crawls.index_limit(); ++i) {
    const Crawl& crawl = crawls[CrawlIndex(i)];
    if (!crawl.deleting) continue;
    if (crawl.counters.pages > 0) {
      more = true;
    } else if (books.crawls.told_empty.insert(crawl.name).second) {
      books.crawls.emptied.push_back(crawl.name);
    }
  }
  for (const HostId host : books.hosts.deleted) {
    more = true;
    if (books.hosts.use.pages(host) > 0 || max == 0) continue;
    events->push_back(EndHostDeletion{books.hosts.gate.host(host).record.host});
    --max;
  }
  books.sweep.next = more ? 0 : UINT32_MAX;
}

// Removes a slice of the pages whose crawl id or host is being deleted.
void SweepDeleted(Instant now, size_t max, Books& books, std::vector<Event>* events) {
  PageTable& table = books.pages.table;
  if (books.sweep.next == UINT32_MAX || now < books.sweep.at) return;
  books.sweep.at = now + kSweepPause;
  size_t left = std::min(max, limits::kDeletionSlice);
  if (books.sweep.next >= table.id_limit()) return EndSweep(left, books, events);
  const uint32_t end =
      books.sweep.next + std::min(table.id_limit() - books.sweep.next, limits::kDeletionScan);
  for (; books.sweep.next < end && left > 0; ++books.sweep.next) {
    const PageId id(books.sweep.next);
    if (!table.known(id) || !IsDeleted(id, books)) continue;
    events->push_back(RemoveDeleted{table.number(id)});
    --left;
  }
}

}  // namespace

void TakeDueTimers(Instant now, size_t max, Books& books, std::vector<Event>* events) {
  PageBook& pages = books.pages;
  FollowPoliteness(books);
  FollowClasses(books);
  std::vector<LeaseId> expired;
  pages.out.TakeExpired(now, max, &expired);
  for (const LeaseId lease : expired) events->push_back(ExpireLease{lease});
  CHECK(expired.size() <= max, "{} leases ran out of {}", expired.size(), max);
  max -= expired.size();
  // Any event that loads such a page caps the page's times and writes the page, so EnterAgeBin is
  // used.
  for (; max > 0 && !pages.ahead.empty(); --max, pages.ahead.erase(pages.ahead.begin())) {
    events->push_back(EnterAgeBin{*pages.ahead.begin()});
  }
  std::vector<PageId> due;
  pages.edges.TakeDue(now, max, &due);
  for (const PageId id : due) events->push_back(EnterAgeBin{pages.table.number(id)});
  std::vector<PageNumber> reweighed;
  books.learning.TakeReweighed(max - due.size(), &reweighed);
  for (const PageNumber page : reweighed) events->push_back(ReweighSignals{page});
  std::vector<HostId> rested;
  books.hosts.use.TakeRested(now, max - due.size() - reweighed.size(), &rested);
  for (const HostId host : rested)
    events->push_back(ForgetHost{books.hosts.gate.host(host).record.host});
  SweepDeleted(now, max - due.size() - reweighed.size() - rested.size(), books, events);
}

Instant NextTimer(const Books& books) {
  const PageBook& pages = books.pages;
  if (books.learning.estimator().bursts().has_reweighed() ||
      books.hosts.following < books.hosts.gate.id_limit())
    return Instant();
  if (books.crawls.reclassing < pages.table.id_limit() || !pages.ahead.empty()) return Instant();
  const Instant next_sweep = books.sweep.next == UINT32_MAX ? Instant::Infinite() : books.sweep.at;
  return std::min(
      {pages.edges.next(), books.hosts.use.next_rested(), pages.out.next_deadline(), next_sweep});
}

void BeginSweep(Books& books) { books.sweep.next = 0; }

}  // namespace freshet
