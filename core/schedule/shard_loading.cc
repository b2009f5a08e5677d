#include "core/schedule/shard_loading.h"

#include <algorithm>
#include <optional>
#include <string>

#include "core/base/check.h"
#include "core/schedule/books.h"
#include "core/schedule/clock_ahead.h"
#include "core/schedule/filing.h"
#include "core/schedule/followed_changes.h"
#include "core/schedule/page_moves.h"
#include "core/schedule/shard_install.h"
#include "core/schedule/shard_timers.h"

namespace freshet {
namespace {

Status StoredTwice(PageNumber page) {
  return MakeStatus(absl::StatusCode::kInternal, "page {:x} is stored twice", page.value());
}

Status HostHasPages(const std::string& host) {
  return MakeStatus(absl::StatusCode::kInternal,
                    "the log of changes is inconsistent: it removes host {}, which still has pages",
                    host);
}

// Declares that no later pick is for an earlier instant.
void Hear(Instant now, Books& books) {
  books.hosts.gate.Hear(now);
  if (!now.is_none()) books.pages.loaded_at = now;
}

// Loads the open lease of a removed page.
void LoadOrphan(const LeaseRecord& lease, Books& books) {
  HostGate& hosts = books.hosts.gate;
  if (books.pages.out.IsOrphan(lease.id)) return;
  const HostId host = hosts.Intern(lease.host);
  hosts.Pick(host, lease.assigned);
  books.pages.leases.Put(lease);
  books.pages.out.AddOrphan(lease.id, host, lease.deadline);
  hosts.OpenLease(host, lease.assigned);
  books.hosts.use.Rest(host);
  books.pages.picks.HostChanged(host);
}

Status RemoveFollowed(const FollowedChanges& changes, Books& books) {
  for (const PageNumber number : changes.removed_pages) {
    if (const std::optional<PageId> id = books.pages.table.Find(number)) DropPage(*id, books);
  }
  for (const std::string& name : changes.removed_hosts) {
    const std::optional<HostId> host = books.hosts.gate.Find(name);
    if (!host) continue;
    if (books.hosts.use.pages(*host) > 0) return HostHasPages(name);
    DropHost(*host, books);
  }
  return absl::OkStatus();
}

Status FollowPage(const PageRecord& record, Instant now, Books& books) {
  PageBook& pages = books.pages;
  std::optional<PageId> id = pages.table.Find(record.number);
  const HostId host = id ? pages.picks.HostOf(*id) : books.hosts.gate.Intern(record.host);
  if (!id) {
    if (pages.table.size() >= books.options.max_pages) return TooManyPages({}, books);
    if (!books.crawls.table.Intern(record.key.crawl_id)) return TooManyCrawls({});
    TakenPlaces none;
    id = AddPage(record, host, none, books);
  } else {
    // Removes the page, so that it is filed as if it had just been loaded. Otherwise, under a plan,
    // the page would keep its old job, although it might have been crawled since.
    pages.picks.Remove(*id);
  }
  books.learning.RestoreSignals(record.state.bursts, record.number);
  PageState state = record.state;
  if (!now.is_none() && AheadOf(now, state) > Duration()) {
    CapAtNow(now, &state);
    pages.ahead.insert(record.number);
  }
  Refile(*id, host, record.spec, state, books);
  return absl::OkStatus();
}

}  // namespace

Status ShardLoading::LoadCrawl(const CrawlTerms& terms) {
  RETURN_IF_ERROR(InternCrawl(terms.record.crawl_id).status());
  InstallCrawl(terms, *books_);
  return absl::OkStatus();
}

StatusOr<CrawlIndex> ShardLoading::InternCrawl(std::string_view crawl_id) {
  const std::optional<CrawlIndex> crawl = books_->crawls.table.Intern(crawl_id);
  if (crawl) return *crawl;
  return TooManyCrawls({});
}

HostId ShardLoading::LoadHost(const HostRecord& host) { return books_->hosts.gate.Put(host); }

PageToLoad ShardLoading::PrepareLoad(PageNumber number, uint64_t fingerprint, HostId host,
                                     const PageSpec& spec, const PageState& state) const {
  return freshet::PrepareLoad(number, fingerprint, host, spec, state, CrawlClass{0}, *books_);
}

Status ShardLoading::LoadPages(std::span<const PageToLoad> batch, Instant now) {
  Books& books = *books_;
  PageTable& table = books.pages.table;
  if (table.size() + batch.size() > books.options.max_pages) return TooManyPages({}, books);
  Hear(now, books);
  for (const PageToLoad& page : batch) {
    if (page.ahead) books.pages.ahead.insert(page.number);
    if (table.Find(page.number)) return StoredTwice(page.number);
    const PageId id = table.Append(page.number, page.fingerprint);
    books.hosts.use.AddPage(page.entry.host);
    CountPage(id, page.entry.host, page.crawl, /*placed=*/false, books);
    books.learning.RestoreSignals(page.bursts, page.number);
    IndexEntry entry = page.entry;
    Hold(&entry, page.last_crawl, IntervalOf(page.crawl, entry.host, books));
    // A past instant needs no alarm. An alarm costs more than all other work of filing a page.
    if (entry.eligible_from <= now) entry.eligible_from = Instant();
    // Signals ask for crawls only once the page has a share of a plan.
    File(id, page, entry, Instant::Infinite(), books);
  }
  return absl::OkStatus();
}

void ShardLoading::LoadAssignment(PageNumber page, Instant at) {
  PageBook& pages = books_->pages;
  const std::optional<PageId> id = pages.table.Find(page);
  if (!id) return;
  const HostId host = pages.picks.HostOf(*id);
  books_->hosts.gate.NoteAssignment(host, at);
  pages.picks.HostChanged(host);
  books_->hosts.use.Rest(host);
}

void ShardLoading::LoadLease(const LeaseRecord& lease) {
  PageBook& pages = books_->pages;
  if (lease.over) return pages.leases.Remember(lease);
  if (!lease.host.empty()) return LoadOrphan(lease, *books_);
  const std::optional<PageId> id = pages.table.Find(lease.page);
  // An old release could remove a page and leave its lease behind. This lease is ignored.
  if (!id || pages.out.Has(*id)) return;
  const HostId host = pages.picks.HostOf(*id);
  pages.out.Pick(*id, host, /*planned=*/false);
  books_->hosts.gate.Pick(host, lease.assigned);
  HandOut(*id, lease, *books_);
  pages.picks.HostChanged(host);
}

void ShardLoading::LoadNextSerial(Slot slot, uint64_t next_serial) {
  uint64_t& next = books_->pages.next_serial[slot];
  next = std::max(next, next_serial);
}

std::vector<PageNumber> ShardLoading::FinishLoad() {
  Books& books = *books_;
  PageTable& table = books.pages.table;
  HostGate& hosts = books.hosts.gate;
  std::vector<PageNumber> shared;
  for (const PageId id : table.FinishAppending(kMostShared)) shared.push_back(table.number(id));
  for (uint32_t i = 0; i < hosts.id_limit(); ++i) {
    books.pages.picks.HostChanged(HostId(i));
    books.hosts.use.Rest(HostId(i));
    if (hosts.host(HostId(i)).record.deleting) books.hosts.deleted.insert(HostId(i));
  }
  if (!books.hosts.deleted.empty() || books.crawls.table.deletions() > 0) BeginSweep(books);
  FinishLeases();
  return shared;
}

void ShardLoading::FinishLeases() {
  Leases& leases = books_->pages.leases;
  CHECK(leases.size() <= books_->pages.out.size(), "{} leases of {} pages", leases.size(),
        books_->pages.out.size());
  leases.SortRemembered();
}

Status ShardLoading::Follow(const FollowedChanges& changes, Instant now) {
  Books& books = *books_;
  CHECK(books.pages.out.size() == 0, "{} leases are loaded already", books.pages.out.size());
  Hear(now, books);
  // Removals come first, to free space.
  RETURN_IF_ERROR(RemoveFollowed(changes, books));
  for (const HostRecord& record : changes.hosts) InstallHost(record, books);
  for (const PageRecord& record : changes.pages) {
    RETURN_IF_ERROR(FollowPage(record, now, books));
  }
  books.hosts.gate.groups().ForgetGone();
  // A call for the best page keeps due alarms from piling up until the first real pick. It is
  // skipped under a plan: there it would start the plan's clock, and new pages would be filed
  // differently than at a load.
  if (!books.pages.picks.policy().plan) {
    (void)BestPage(now, kAllClasses, /*forced_first=*/true, books);
  }
  return absl::OkStatus();
}

}  // namespace freshet
