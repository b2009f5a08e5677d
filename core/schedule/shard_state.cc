#include "core/schedule/shard_state.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/check.h"
#include "core/base/limits.h"
#include "core/base/url.h"
#include "core/schedule/clock_ahead.h"
#include "core/schedule/followed_changes.h"
#include "core/schedule/shard_impl.h"

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

}  // namespace

ShardState::Impl::Impl(const ShardOptions& shard_options)
    : options(shard_options),
      estimator(shard_options.estimator),
      hosts(shard_options.politeness, shard_options.host_backoff.quiet, shard_options.host_rules,
            shard_options.max_crawl_delay, shard_options.host_quota,
            DomainsBy(shard_options.domain_of, shard_options.fingerprinter)),
      leases(shard_options.generation),
      picks(pages, hosts, shard_options.policy, &crawls),
      edges(shard_options.estimator.day) {}

// --- Start-up ---

Status ShardState::Impl::LoadPages(std::span<const PageToLoad> batch, Instant now) {
  if (counters.pages + batch.size() > options.max_pages) return TooManyPages({});
  hosts.Hear(now);
  if (!now.is_none()) loaded_at = now;
  for (const PageToLoad& page : batch) {
    if (page.ahead) ahead.insert(page.number);
    if (pages.Find(page.number)) return StoredTwice(page.number);
    const PageId id = pages.Append(page.number, page.fingerprint);
    hosts.AddPage(page.entry.host);
    CountPage(id, page.entry.host, page.crawl, /*placed=*/false);
    estimator.RestoreSignals(page.bursts, page.number);
    IndexEntry entry = page.entry;
    Hold(&entry, page.last_crawl, IntervalOf(page.crawl, entry.host));
    // What has passed needs no alarm, which costs more than all else that is filed of a page.
    if (entry.eligible_from <= now) entry.eligible_from = Instant();
    // Signals ask for crawls only when the page has its share of a plan.
    File(id, page, entry, Instant::Infinite());
  }
  counters.pages += batch.size();
  CHECK(counters.pages == pages.size(), "{} pages, {} in the table", counters.pages, pages.size());
  return absl::OkStatus();
}

void ShardState::Impl::LoadAssignment(PageNumber page, Instant at) {
  const std::optional<PageId> id = pages.Find(page);
  if (!id) return;
  const HostId host = picks.HostOf(*id);
  hosts.NoteAssignment(host, at);
  picks.HostChanged(host);
  hosts.Rest(host);
}

void ShardState::Impl::LoadLease(const LeaseRecord& lease) {
  if (lease.over) return leases.Remember(lease);
  if (!lease.host.empty()) return LoadOrphan(lease);
  const std::optional<PageId> id = pages.Find(lease.page);
  // The page may have been removed by a release that left its lease behind; the lease then just
  // ends.
  if (!id || out.Has(*id)) return;
  const HostId host = picks.HostOf(*id);
  out.Pick(*id, host, /*planned=*/false);
  hosts.Pick(host, lease.assigned);
  HandOut(*id, lease);
  picks.HostChanged(host);
}

void ShardState::Impl::LoadOrphan(const LeaseRecord& lease) {
  if (out.IsOrphan(lease.id)) return;
  const HostId host = hosts.Intern(lease.host);
  hosts.Pick(host, lease.assigned);
  leases.Put(lease);
  out.AddOrphan(lease.id, host, lease.deadline);
  hosts.OpenLease(host, lease.assigned);
  picks.HostChanged(host);
}

std::vector<PageNumber> ShardState::Impl::FinishLoad() {
  std::vector<PageNumber> shared;
  for (const PageId id : pages.FinishAppending(kMostShared)) shared.push_back(pages.number(id));
  for (uint32_t i = 0; i < hosts.id_limit(); ++i) {
    picks.HostChanged(HostId(i));
    hosts.Rest(HostId(i));
    if (hosts.record(HostId(i)).deleting) deleted_hosts.insert(HostId(i));
  }
  if (!deleted_hosts.empty() || crawls.deletions() > 0) BeginSweep();
  FinishLeases();
  return shared;
}

void ShardState::Impl::FinishLeases() {
  CHECK(leases.size() <= out.size(), "{} leases of {} pages", leases.size(), out.size());
  leases.SortRemembered();
  counters.hosts = hosts.size();
  counters.leases = leases.size();
}

Status ShardState::Impl::Follow(const FollowedChanges& changes, Instant now) {
  CHECK(out.size() == 0, "{} leases are loaded already", out.size());
  hosts.Hear(now);
  if (!now.is_none()) loaded_at = now;
  // First what goes: there is room then for what comes.
  for (const PageNumber number : changes.removed_pages) {
    if (const std::optional<PageId> id = pages.Find(number)) DropPage(*id);
  }
  for (const std::string& name : changes.removed_hosts) {
    const std::optional<HostId> host = hosts.Find(name);
    if (!host) continue;
    if (hosts.pages(*host) > 0) return HostHasPages(name);
    DropHost(*host);
  }
  for (const HostRecord& record : changes.hosts) InstallHost(record);
  TakenPlaces none;
  for (const PageRecord& record : changes.pages) {
    std::optional<PageId> id = pages.Find(record.number);
    const HostId host = id ? picks.HostOf(*id) : hosts.Intern(record.host);
    if (!id) {
      if (counters.pages >= options.max_pages) return TooManyPages({});
      if (!crawls.Intern(record.key.crawl_id)) return TooManyCrawls({});
      id = AddPage(record, host, none);
    } else {
      // To be filed as at a load: what a plan has it wait for may be over.
      picks.Remove(*id);
    }
    estimator.RestoreSignals(record.state.bursts, record.number);
    PageState state = record.state;
    if (!now.is_none() && AheadOf(now, state) > Duration()) {
      CapAtNow(now, &state);
      ahead.insert(record.number);
    }
    Refile(*id, host, record.spec, state);
  }
  hosts.groups().ForgetGone();
  counters.hosts = hosts.size();
  // Alarms that are over do not pile up until the first pick, which then has less to do. A plan
  // would take its time from it, and file what is new otherwise than a load does.
  if (!picks.policy().plan) (void)Best(now, kAllClasses, /*forced_first=*/true);
  return absl::OkStatus();
}

// --- Installing ---

void ShardState::Impl::Install(Transaction& txn) {
  InstallHosts(txn);
  for (const Transaction::Lease& lease : txn.leases()) {
    if (lease.orphan()) Orphan(lease);
  }
  // Pages first: one whose lease ends is then filed once, as it is now.
  InstallPages(txn);
  InstallLeases(txn);
  InstallCrawls(txn);
  for (const auto& [slot, serial] : txn.next_serials) next_serial[slot] = serial;
  for (const std::string& name : txn.rested_hosts) {
    if (const std::optional<HostId> host = hosts.Find(name)) hosts.Rest(*host);
  }
  leases.GaveOut(txn.new_leases);
  estimator.Install(std::move(txn.lessons));
  CountQuarantines();
  counters += txn.counts;
  // Others are picked, and their leases still to be committed.
  CHECK(leases.size() <= out.size(), "{} leases of {} pages", leases.size(), out.size());
  counters.hosts = hosts.size();
  counters.leases = leases.size();
}

void ShardState::Impl::InstallHosts(Transaction& txn) {
  for (const HostRecord& record : txn.hosts()) InstallHost(record);
  for (const std::string& name : txn.forgotten_hosts()) {
    const std::optional<HostId> host = hosts.Find(name);
    CHECK(host, "host {} is not known", name);
    DropHost(*host);
  }
}

void ShardState::Impl::InstallHost(const HostRecord& record) {
  const HostId host = hosts.Put(record);
  picks.HostChanged(host);
  hosts.Rest(host);
  if (!record.deleting) {
    deleted_hosts.erase(host);
  } else if (deleted_hosts.insert(host).second) {
    BeginSweep();
  }
}

void ShardState::Impl::DropHost(HostId host) {
  deleted_hosts.erase(host);
  hosts.Forget(host);
  // For whoever has the id next.
  picks.HostChanged(host);
}

void ShardState::Impl::InstallPages(Transaction& txn) {
  for (Transaction::Page& page : txn.pages()) {
    const PageRecord& record = page.record;
    std::optional<PageId> id = pages.Find(record.number);
    if (page.removed) {
      InstallCounts(page);
      if (id) DropPage(*id);
      continue;
    }
    if (id) InstallCounts(page);
    if (!page.reindex) continue;
    // That of a page stays what it is.
    const HostId host = id ? picks.HostOf(*id) : hosts.Intern(record.host);
    if (!id) {
      id = AddPage(record, host, txn.places);
      OwnCrawl(record.key.crawl_id, txn);
      InstallCounts(page);
    }
    if (page.fetched) picks.Crawled(*id);
    CountWait(*id, page);
    Refile(*id, host, record.spec, record.state);
  }
  CHECK(counters.pages == pages.size(), "{} pages, {} in the table", counters.pages, pages.size());
  picks.TakeOverByIndex();
}

void ShardState::Impl::CountWait(PageId id, const Transaction::Page& page) {
  const PageState& state = page.record.state;
  const bool more = !state.signals.empty() && !state.gone;
  if (page.seen) waits.End(id, page.record.detail.last_result, more);
  if (!more || (page.signalled.is_none() && !page.fetched)) return;
  // What a fetch has left over came after it.
  waits.Begin(id, pages.fingerprint(id),
              page.signalled.is_none() ? state.last_crawl : page.signalled);
}

void ShardState::Impl::InstallLeases(Transaction& txn) {
  for (const Transaction::Lease& lease : txn.leases()) {
    const std::optional<PageId> id = pages.Find(lease.record.page);
    const bool was_open = leases.Find(lease.record.id) != nullptr;
    if (lease.closed) {
      // Counted here: an expiry that is refused comes again.
      if (lease.expired) ++counters.expired_leases;
      if (lease.given_up) ++counters.given_up;
      // One opened and closed within the batch undoes its pick.
      if (was_open || (id && pages.Is(*id, PageTable::kTaken))) {
        lease.forgotten ? leases.Drop(lease.record.id) : leases.Close(lease.record, lease.reported);
        if (id) ComeBack(*id);
        if (id && lease.never_left) TakeBackAssignment(*id, lease);
      }
      if (out.IsOrphan(lease.record.id)) EndOrphan(lease.record.id);
      continue;
    }
    if (was_open) {
      leases.Put(lease.record);
      continue;
    }
    CHECK(id && pages.Is(*id, PageTable::kTaken), "a lease without a pick");
    HandOut(*id, lease.record);
  }
  for (const LeaseRecord& lease : txn.late_leases) leases.MarkReported(lease.id);
  for (const LeaseId id : txn.forgotten_leases) {
    CHECK(leases.Remembered(0) == id, "leases are forgotten out of order");
    leases.ForgetOldest();
  }
}

// --- Timers ---

void ShardState::Impl::TakeDueTimers(Instant now, size_t max, std::vector<Event>* events) {
  FollowPoliteness();
  FollowClasses();
  std::vector<LeaseId> expired;
  out.TakeExpired(now, leases, max, &expired);
  for (const LeaseId lease : expired) events->push_back(ExpireLease{lease});
  CHECK(expired.size() <= max, "{} leases ran out of {}", expired.size(), max);
  max -= expired.size();
  // What is loaded for an event is capped, and then written, whatever the event.
  for (; max > 0 && !ahead.empty(); --max, ahead.erase(ahead.begin())) {
    events->push_back(EnterAgeBin{*ahead.begin()});
  }
  std::vector<PageId> due;
  edges.TakeDue(now, max, &due);
  for (const PageId id : due) events->push_back(EnterAgeBin{pages.number(id)});
  std::vector<PageNumber> reweighed;
  estimator.TakeReweighed(max - due.size(), &reweighed);
  for (const PageNumber page : reweighed) events->push_back(ReweighSignals{page});
  std::vector<HostId> rested;
  hosts.TakeRested(now, max - due.size() - reweighed.size(), &rested);
  for (const HostId host : rested) events->push_back(ForgetHost{hosts.record(host).host});
  SweepDeleted(now, max - due.size() - reweighed.size() - rested.size(), events);
}

Instant ShardState::Impl::next_timer() const {
  if (estimator.has_reweighed() || following < hosts.id_limit()) return Instant();
  if (reclassing < pages.id_limit() || !ahead.empty()) return Instant();
  const Instant next_sweep = sweep == UINT32_MAX ? Instant::Infinite() : sweep_at;
  return std::min({edges.next(), hosts.next_rested(), out.next_deadline(), next_sweep});
}

// --- Picks ---

std::optional<ClassedPick> ShardState::Impl::Best(Instant at, ClassSet among, bool forced_first) {
  // Where the hours of many hosts end together, the next call goes on: a few milliseconds.
  constexpr int kMostClosed = 4096;
  at = std::max(at, looked_at);
  best_at = at;
  hosts.Hear(at);
  for (int closed = 0; closed < kMostClosed; ++closed) {
    const std::optional<ClassedPick> best = picks.Best(at, among, forced_first);
    if (!best) return best;
    if (crawls.IsShadow(best->page)) {
      // Its crawl id has become one a moment ago, and it is not filed anew yet.
      Mark(best->page, PageTable::kNever, true);
      continue;
    }
    const HostId host = picks.HostOf(best->page);
    if (hosts.FreeAt(host) <= at) return best;
    // Its hours are over. It is looked at once for that, and again when they begin.
    picks.HostChanged(host);
  }
  return std::nullopt;
}

std::optional<Pick> ShardState::Impl::Peek(Instant at) {
  const std::optional<ClassedPick> best = Best(at, kAllClasses, /*forced_first=*/true);
  if (!best) return std::nullopt;
  return Pick{.page = pages.number(best->page),
              .value = best->value,
              .planned = picks.plan_in_force(),
              .crawl_class = best->crawl_class};
}

double ShardState::Impl::BestValue(Instant now) {
  if (picks.plan_in_force()) return 0;
  looked_at = std::max(now, best_at);
  // What goes out for its lateness says nothing of the price.
  const std::optional<ClassedPick> best = Best(looked_at, kAllClasses, /*forced_first=*/false);
  return best ? best->value : 0;
}

std::optional<Pick> ShardState::Impl::Take(Instant at, ClassSet among, bool forced_first) {
  if (leases.size() >= limits::kMaxLeasesPerShard) return std::nullopt;
  at = std::max(at, looked_at);
  const std::optional<ClassedPick> best = Best(at, among, forced_first);
  if (!best) return std::nullopt;
  const PageId id = best->page;
  DCHECK(!pages.IsAny(id, PageTable::kNotToBePicked));
  const HostId host = picks.HostOf(id);
  const bool planned = picks.plan_in_force();
  out.Pick(id, host, planned);
  const ForcedTurn forced = picks.TakeTurn(*best);
  Mark(id, PageTable::kTaken, true);
  hosts.Pick(host, at);
  picks.HostChanged(host);
  picked += planned ? 0 : 1;
  if (!planned && !std::isinf(best->value)) {
    price = prices[best->crawl_class] = best->value;
    // What other policies weigh otherwise is no price for it.
    if (picks.in_force().is_default) {
      urgencies[best->crawl_class].Picked(best->value,
                                          static_cast<double>(picks.RatesOf(id).change_rate));
    }
  }
  Pick pick{.page = pages.number(id),
            .value = best->value,
            .planned = planned,
            .crawl_class = best->crawl_class,
            .forced = forced,
            .out_of_turn = std::isinf(best->value) && !forced_first,
            .host = host,
            .host_delay = hosts.Spacing(host),
            .host_again = hosts.picks(host) > 1};
  if (const auto& group = hosts.GroupOf(host); group != nullptr) {
    pick.group = hosts.groups().key(hosts.GroupIdOf(host));
    pick.group_terms = group->terms;
  }
  return pick;
}

void ShardState::Impl::PutBack(PageNumber number) {
  const std::optional<PageId> id = pages.Find(number);
  if (id && pages.Is(*id, PageTable::kTaken)) ComeBack(*id);
}

void ShardState::Impl::HearOfGroup(const GroupNews& news, Instant now) {
  const GroupId group = hosts.groups().Hear(news, now);
  if (group != GroupId()) picks.GroupChanged(group);
}

// --- Politeness ---

void ShardState::Impl::SetPoliteness(const PolitenessDefaults& defaults) {
  hosts.SetDefaults(defaults);
  following = 0;
}

void ShardState::Impl::FollowPoliteness() {
  // Some milliseconds.
  constexpr size_t kSlice = size_t{1} << 14;
  const auto end = static_cast<uint32_t>(std::min<size_t>(hosts.id_limit(), following + kSlice));
  for (; following < end; ++following) {
    if (!hosts.record(HostId(following)).host.empty()) FollowCrawlsOf(HostId(following));
    picks.HostChanged(HostId(following));
  }
  if (following >= hosts.id_limit()) following = UINT32_MAX;
}

}  // namespace freshet
