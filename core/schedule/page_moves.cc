#include "core/schedule/page_moves.h"

#include <algorithm>
#include <optional>

#include "core/base/check.h"
#include "core/schedule/filing.h"

namespace freshet {

// --- Adding and removing pages

PageId AddPage(const PageRecord& record, HostId host, TakenPlaces& places, Books& books) {
  CrawlTable& crawls = books.crawls.table;
  uint64_t& next = books.pages.next_serial[SlotOf(record.number)];
  next = std::max(next, SerialOf(record.number) + 1);
  books.hosts.use.AddPage(host, &places);
  const PageId id = books.pages.table.Add(
      record.number, books.options.fingerprinter.Of(record.key.crawl_id, record.key.url));
  const std::optional<CrawlIndex> crawl = crawls.Intern(record.key.crawl_id);
  CHECK(crawl, "{} crawl ids", crawls.size());
  const CrawlTerms* terms = crawls[*crawl].terms.get();
  const bool placed = terms != nullptr && terms->quota != nullptr && places.Use(terms->quota.get());
  CountPage(id, host, *crawl, placed, books);
  // The hours of the host's rule apply from its first page on.
  if (books.hosts.use.pages(host) == 1) books.pages.picks.HostChanged(host);
  return id;
}

void CountPage(PageId id, HostId host, CrawlIndex crawl, bool placed, Books& books) {
  CrawlTable& crawls = books.crawls.table;
  const uint32_t all = books.hosts.use.pages(host);
  crawls.Add(id, host, crawl, all, placed);
  if (crawls.polite().empty() || crawls.PagesOf(host, crawl, all) != 1) return;
  FollowCrawlsOf(host, books);
  books.pages.picks.HostChanged(host);
}

namespace {

CrawlCounters& CountsOf(PageId id, Books& books) {
  CrawlTable& crawls = books.crawls.table;
  return crawls.Count(crawls.Of(id));
}

void SetGone(PageId id, bool gone, Books& books) {
  if (books.pages.table.Is(id, PageTable::kGone) == gone) return;
  books.pages.table.Set(id, PageTable::kGone, gone);
  CHECK(gone || books.pages.gone > 0, "more pages come back than are gone");
  gone ? ++books.pages.gone : --books.pages.gone;
}

// Takes back a page that is picked or leased. This can free its host.
void TakeBack(PageId id, Books& books) {
  const PagesOut::Out what = books.pages.out.End(id);
  if (what.lease != LeaseId()) --CountsOf(id, books).out;
  what.lease == LeaseId() ? books.hosts.gate.PutBack(what.host)
                          : books.hosts.gate.EndLease(what.host);
  books.pages.picks.HostChanged(what.host);
}

}  // namespace

void DropPage(PageId id, Books& books) {
  HostUse& hosts = books.hosts.use;
  CrawlTable& crawls = books.crawls.table;
  PickSource& picks = books.pages.picks;
  CHECK(books.pages.table.known(id), "page {} is not known", id.value());
  if (books.pages.out.Has(id)) TakeBack(id, books);
  const HostId host = picks.HostOf(id);
  hosts.RemovePage(host);
  picks.Remove(id);
  const CrawlIndex crawl = crawls.Of(id);
  crawls.Remove(id, host, hosts.pages(host));
  if (!crawls.polite().empty() && crawls.PagesOf(host, crawl, hosts.pages(host)) == 0) {
    FollowCrawlsOf(host, books);
    picks.HostChanged(host);
  }
  books.pages.edges.Set(id, Instant::Infinite());
  SetGone(id, false, books);
  books.pages.freshness.Remove(id);
  books.pages.waits.Remove(id);
  books.pages.ahead.erase(books.pages.table.number(id));
  books.pages.table.Remove(id);
}

// --- Filing

void Refile(PageId id, HostId host, const PageSpec& spec, const PageState& state, Books& books) {
  const PageToLoad page =
      PrepareLoad(books.pages.table.number(id), books.pages.table.fingerprint(id), host, spec,
                  state, books.crawls.table.ClassOf(id), books);
  IndexEntry entry = page.entry;
  Hold(&entry, page.last_crawl, IntervalOf(books.crawls.table.Of(id), host, books));
  File(id, page, entry, AskedAt(id, state, books), books);
}

void File(PageId id, const PageToLoad& page, const IndexEntry& entry, Instant asked_at,
          Books& books) {
  books.pages.edges.Set(id, page.edge);
  const bool shadow = books.crawls.table.IsShadow(id);
  // A gone page has no copy that could be fresh. The copy of a shadow page belongs to another
  // crawler.
  if (page.gone || shadow) {
    books.pages.freshness.Remove(id);
  } else {
    books.pages.freshness.Put(id, books.pages.table.fingerprint(id), page.believed);
  }
  books.pages.picks.File(id, entry, asked_at);
  SetGone(id, page.gone, books);
  Mark(id, PageTable::kNever, page.never || shadow, books);
}

void Mark(PageId id, PageTable::Flag flag, bool value, Books& books) {
  PageTable& table = books.pages.table;
  const bool held_before = table.IsAny(id, PageTable::kNotToBePicked);
  table.Set(id, flag, value);
  const bool held = table.IsAny(id, PageTable::kNotToBePicked);
  if (held != held_before) held ? books.pages.picks.Suspend(id) : books.pages.picks.Resume(id);
}

// --- Leases

void HandOut(PageId id, const LeaseRecord& lease, Books& books) {
  CHECK(books.pages.table.number(id) == lease.page, "lease {:x} is of another page",
        lease.id.value());
  books.pages.leases.Put(lease);
  Mark(id, PageTable::kLeased, true, books);
  Mark(id, PageTable::kTaken, false, books);
  ++CountsOf(id, books).out;
  const HostId host = books.pages.out.Lease(id, lease.id, lease.deadline).host;
  books.hosts.gate.OpenLease(host, lease.assigned);
  // If the host has a cap, the cap now counts the assignment instead of the pick, which can change
  // when the host is free.
  if (!books.hosts.gate.host(host).record.recent_crawls.empty())
    books.pages.picks.HostChanged(host);
}

void ComeBack(PageId id, Books& books) {
  CHECK(books.pages.table.IsAny(id, PageTable::kTaken | PageTable::kLeased), "page {} is not out",
        id.value());
  Mark(id, PageTable::kTaken, false, books);
  Mark(id, PageTable::kLeased, false, books);
  TakeBack(id, books);
}

void TakeBackAssignment(PageId id, const Transaction::Lease& lease, Books& books) {
  const HostId host = books.pages.picks.HostOf(id);
  books.hosts.gate.TakeBackAssignment(host, lease.record.assigned, lease.host_left);
  books.pages.picks.HostChanged(host);
}

void Orphan(const Transaction::Lease& lease, Books& books) {
  const std::optional<PageId> id = books.pages.table.Find(lease.record.page);
  if (!id || lease.closed) return;
  if (books.pages.leases.Find(lease.record.id) == nullptr) HandOut(*id, lease.record, books);
  books.pages.out.Orphan(*id);
  --CountsOf(*id, books).out;
}

void EndOrphan(LeaseId lease, Books& books) {
  const HostId host = books.pages.out.EndOrphan(lease);
  books.hosts.gate.EndLease(host);
  books.hosts.use.Rest(host);
  books.pages.picks.HostChanged(host);
}

// --- Picks

std::optional<ClassedPick> BestPage(Instant at, ClassSet among, bool forced_first, Books& books) {
  PickSource& picks = books.pages.picks;
  // One call blocks at most this many hosts whose hours have ended, which takes a few milliseconds.
  // The next call blocks more of them.
  constexpr int kMostClosed = 4096;
  at = std::max(at, books.pages.looked_at);
  books.pages.best_at = at;
  books.hosts.gate.Hear(at);
  for (int closed = 0; closed < kMostClosed; ++closed) {
    const std::optional<ClassedPick> best = picks.Best(at, among, forced_first);
    if (!best) return best;
    if (books.crawls.table.IsShadow(best->page)) {
      // The crawl id became a shadow after the page was last filed.
      Mark(best->page, PageTable::kNever, true, books);
      continue;
    }
    const HostId host = picks.HostOf(best->page);
    if (books.hosts.gate.FreeAt(host) <= at) return best;
    // The hours of the host have ended. It is blocked now and checked again when they begin.
    picks.HostChanged(host);
  }
  return std::nullopt;
}

// --- Hosts

void FollowCrawlsOf(HostId host, Books& books) {
  HostGate& hosts = books.hosts.gate;
  CrawlTable& crawls = books.crawls.table;
  const uint32_t all = books.hosts.use.pages(host);
  uint32_t polite = 0;
  std::optional<PolitenessDefaults> strictest;
  const auto heed = [&strictest](Duration min_delay, uint32_t max_in_flight) {
    if (!strictest) strictest.emplace();
    strictest->min_delay = std::max(strictest->min_delay, min_delay);
    uint32_t& limit = strictest->max_in_flight;
    if (limit == 0 || (max_in_flight != 0 && max_in_flight < limit)) limit = max_in_flight;
  };
  const PolitenessDefaults& usual = hosts.defaults();
  for (const CrawlIndex crawl : crawls.polite()) {
    const uint32_t pages_of_crawl = crawls.PagesOf(host, crawl, all);
    if (pages_of_crawl == 0) continue;
    polite += pages_of_crawl;
    const CrawlRecord& record = crawls[crawl].terms->record;
    heed(record.min_delay.value_or(usual.min_delay),
         record.max_in_flight.value_or(usual.max_in_flight));
  }
  CHECK(polite <= all, "{} pages of a host with {}", polite, all);
  if (strictest && polite < all) heed(usual.min_delay, usual.max_in_flight);
  if (strictest) {
    strictest->min_page_interval = usual.min_page_interval;
    strictest->max_crawls = usual.max_crawls;
    strictest->hours = usual.hours;
  }
  hosts.SetDefaultsOf(host, strictest);
}

}  // namespace freshet
