#include "core/schedule/shard_install.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "core/base/check.h"
#include "core/schedule/page_moves.h"
#include "core/schedule/shard_timers.h"

namespace freshet {
namespace {

void InstallHosts(Transaction& txn, Books& books) {
  for (const HostRecord& record : txn.hosts()) InstallHost(record, books);
  for (const std::string& name : txn.forgotten_hosts()) {
    const std::optional<HostId> host = books.hosts.gate.Find(name);
    CHECK(host, "host {} is not known", name);
    DropHost(*host, books);
  }
}

// If the crawl id got its first page in this batch, counts it against the share of the client that
// added that page.
void OwnCrawl(const std::string& crawl_id, const Transaction& txn, Books& books) {
  const auto its = txn.new_crawls.find(crawl_id);
  if (its != txn.new_crawls.end())
    books.crawls.table.Own(*books.crawls.table.Find(crawl_id), its->second);
}

void InstallCounts(const Transaction::Page& page, Books& books) {
  CrawlTable& crawls = books.crawls.table;
  if (page.counts == CrawlCounters()) return;
  const std::optional<PageId> id = books.pages.table.Find(page.record.number);
  // A batch can create and remove a page. The page's crawl id can then be unknown here.
  const std::optional<CrawlIndex> crawl =
      id ? crawls.Of(*id) : crawls.Find(page.record.key.crawl_id);
  if (crawl) crawls.Count(*crawl) += page.counts;
}

// Starts or ends the page's wait for the crawl that a signal asked for
// (core/schedule/signal_waits.h).
void CountWait(PageId id, const Transaction::Page& page, Books& books) {
  const PageState& state = page.record.state;
  const bool more = !state.signals.empty() && !state.gone;
  if (page.seen) books.pages.waits.End(id, page.record.detail.last_result, more);
  if (!more || (page.signalled.is_none() && !page.fetched)) return;
  // Signals that are still in the state after a fetch are newer than the fetch.
  books.pages.waits.Begin(id, books.pages.table.fingerprint(id),
                          page.signalled.is_none() ? state.last_crawl : page.signalled);
}

void InstallPages(Transaction& txn, Books& books) {
  PickSource& picks = books.pages.picks;
  for (Transaction::Page& page : txn.pages()) {
    const PageRecord& record = page.record;
    std::optional<PageId> id = books.pages.table.Find(record.number);
    if (page.removed) {
      InstallCounts(page, books);
      if (id) DropPage(*id, books);
      continue;
    }
    if (id) InstallCounts(page, books);
    if (!page.reindex) continue;
    // The host of a page never changes.
    const HostId host = id ? picks.HostOf(*id) : books.hosts.gate.Intern(record.host);
    if (!id) {
      id = AddPage(record, host, txn.places, books);
      OwnCrawl(record.key.crawl_id, txn, books);
      InstallCounts(page, books);
    }
    if (page.fetched) picks.Crawled(*id);
    CountWait(*id, page, books);
    Refile(*id, host, record.spec, record.state, books);
  }
  picks.TakeOverByIndex();
}

void InstallLeases(Transaction& txn, Books& books) {
  PageTable& table = books.pages.table;
  for (const Transaction::Lease& lease : txn.leases()) {
    const std::optional<PageId> id = table.Find(lease.record.page);
    const bool was_open = books.pages.leases.Find(lease.record.id) != nullptr;
    if (lease.closed) {
      // Counted only when installed, because a refused expiry is tried again.
      if (lease.expired) ++books.counts.expired_leases;
      if (lease.given_up) ++books.counts.given_up;
      // If a lease was opened and closed within the batch, closing it undoes the pick.
      if (was_open || (id && table.Is(*id, PageTable::kTaken))) {
        lease.forgotten ? books.pages.leases.Drop(lease.record.id)
                        : books.pages.leases.Close(lease.record, lease.reported);
        if (id) ComeBack(*id, books);
        if (id && lease.never_left) TakeBackAssignment(*id, lease, books);
      }
      if (books.pages.out.IsOrphan(lease.record.id)) EndOrphan(lease.record.id, books);
      continue;
    }
    if (was_open) {
      books.pages.leases.Put(lease.record);
      continue;
    }
    CHECK(id && table.Is(*id, PageTable::kTaken), "a lease without a pick");
    HandOut(*id, lease.record, books);
  }
  for (const LeaseRecord& lease : txn.late_leases) books.pages.leases.MarkReported(lease.id);
  for (const LeaseId id : txn.forgotten_leases) {
    CHECK(books.pages.leases.Remembered(0) == id, "leases are forgotten out of order");
    books.pages.leases.ForgetOldest();
  }
}

// Records that the crawl id has left its class, unless it gets another class. `for_another`: the
// next class; 0 = none.
void LeaveClass(CrawlIndex crawl, CrawlClass for_another, Books& books) {
  const std::string& crawl_id = books.crawls.table[crawl].name;
  std::erase(books.crawls.declassed, crawl_id);
  const CrawlTerms* terms = books.crawls.table[crawl].terms.get();
  const bool left = terms != nullptr && terms->crawl_class != 0 && for_another == 0;
  if (left) books.crawls.declassed.push_back(crawl_id);
}

void InstallCrawls(const Transaction& txn, Books& books) {
  for (const auto& crawl : txn.crawls) {
    if (const auto* set = std::get_if<SetCrawl>(&crawl)) {
      InstallCrawl(set->terms, books);
      continue;
    }
    const std::string& crawl_id = std::get<ForgetCrawl>(crawl).crawl_id;
    books.crawls.told_empty.erase(crawl_id);
    const std::optional<CrawlIndex> index = books.crawls.table.Find(crawl_id);
    if (!index) continue;
    LeaveClass(*index, 0, books);
    books.crawls.table.DropTerms(*index);
    books.crawls.reclassing = 0;
    books.hosts.following = 0;
  }
}

}  // namespace

void Install(Transaction& txn, Books& books) {
  books.pages.picks.Hear(txn.now);
  InstallHosts(txn, books);
  for (const Transaction::Lease& lease : txn.leases()) {
    if (lease.orphan()) Orphan(lease, books);
  }
  // Pages come first, so that a page whose lease ends is filed only once, with its new state.
  InstallPages(txn, books);
  InstallLeases(txn, books);
  InstallCrawls(txn, books);
  for (const auto& [slot, serial] : txn.next_serials) books.pages.next_serial[slot] = serial;
  for (const std::string& name : txn.rested_hosts) {
    if (const std::optional<HostId> host = books.hosts.gate.Find(name)) books.hosts.use.Rest(*host);
  }
  books.pages.leases.GaveOut(txn.new_leases);
  books.learning.Install(std::move(txn.lessons));
  books.counts += txn.counts;
  // Not every page that is out has a lease here: a picked page is out before its lease is
  // committed.
  CHECK(books.pages.leases.size() <= books.pages.out.size(), "{} leases of {} pages",
        books.pages.leases.size(), books.pages.out.size());
}

void InstallHost(const HostRecord& record, Books& books) {
  CHECK(!record.host.empty(), "a host without a name");
  const HostId host = books.hosts.gate.Put(record);
  books.pages.picks.HostChanged(host);
  books.hosts.use.Rest(host);
  if (!record.deleting) {
    books.hosts.deleted.erase(host);
  } else if (books.hosts.deleted.insert(host).second) {
    BeginSweep(books);
  }
}

void DropHost(HostId host, Books& books) {
  books.hosts.deleted.erase(host);
  books.hosts.use.Forget(host);
  // The id can be reused for another host, which must not inherit the block of this one.
  books.pages.picks.HostChanged(host);
}

void InstallCrawl(const CrawlTerms& terms, Books& books) {
  CrawlTable& crawls = books.crawls.table;
  const std::optional<CrawlIndex> index = crawls.Intern(terms.record.crawl_id);
  CHECK(index, "{} crawl ids", crawls.size());
  const CrawlTerms* before = crawls[*index].terms.get();
  if ((before == nullptr ? 0 : before->crawl_class) != terms.crawl_class)
    books.crawls.reclassing = 0;
  LeaveClass(*index, terms.crawl_class, books);
  const auto politeness = [](const CrawlRecord& record) {
    return std::pair(record.min_delay, record.max_in_flight);
  };
  const CrawlRecord none;
  if (politeness(before == nullptr ? none : before->record) != politeness(terms.record)) {
    books.hosts.following = 0;
  }
  crawls.SetTerms(*index, terms);
  if (!terms.record.deleting) return;
  // If a deletion is requested again, its end is reported again.
  books.crawls.told_empty.erase(terms.record.crawl_id);
  BeginSweep(books);
}

}  // namespace freshet
