#include "core/schedule/pick_source.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/check.h"

namespace freshet {
namespace {

// A group can have any number of hosts, which cost their owner nothing. So a pick blocks at most
// this many hosts of groups that are not free, and frees at most this many hosts of a free group.
constexpr size_t kBlockedOfPlan = 1024;
constexpr size_t kBlockedOfForced = 256;
constexpr size_t kFreed = 64;
// After a pick has blocked this many hosts of a domain, the pick goes on to another domain.
constexpr size_t kBlockedOfDomain = 8;
// A group with a delay can use only one host per delay. So the hosts that one pick blocks become
// free one delay after another, up to this many delays later.
constexpr int64_t kTurnsAhead = 64;

}  // namespace

// --- Groups of hosts ---

void PickSource::GroupChanged(GroupId group) {
  if (index_) index_->SetGroupFree(group, hosts_.groups().FreeAt(group));
  if (!hosts_.groups().FreeAt(group).infinite()) FreeHosts(group);
}

size_t PickSource::hosts_blocked_with_groups() const {
  size_t hosts = 0;
  for (const auto& [group, blocked] : blocked_with_group_) hosts += blocked.size();
  return hosts;
}

void PickSource::FreeHosts(GroupId group) {
  const auto blocked = blocked_with_group_.find(group);
  if (blocked == blocked_with_group_.end()) return;
  absl::btree_set<HostId>& hosts = blocked->second;
  for (size_t left = kFreed; left > 0 && !hosts.empty(); --left) {
    const HostId host = *hosts.begin();
    hosts.erase(hosts.begin());
    if (queue_) queue_->SetHostFree(host, hosts_.FreeAt(host));
    if (forced_) forced_->SetHostFree(host, hosts_.FreeAt(host));
  }
  if (hosts.empty()) {
    blocked_with_group_.erase(blocked);
  } else {
    freeing_.insert(group);
  }
}

template <typename Hosts>
bool PickSource::GroupIsFree(HostId host, Instant at, Hosts& holder, GroupTurns* turns) {
  const GroupId group = groups_ ? hosts_.host(host).group : GroupId();
  if (group == GroupId()) return true;
  const Instant free_at = hosts_.groups().FreeAt(group);
  if (free_at <= at) return true;
  Instant from = free_at;
  if (free_at.infinite()) {
    blocked_with_group_[group].insert(host);
  } else if (turns != nullptr) {
    const int64_t turn = std::min((*turns)[group]++, kTurnsAhead);
    from = free_at + hosts_.groups().group(group)->terms.min_delay * turn;
  }
  holder.SetHostFree(host, std::max(from, hosts_.FreeAt(host)));
  return false;
}

std::optional<PlanPick> PickSource::BestOfPlan(Instant at) {
  GroupTurns turns;
  for (size_t blocked = 0; blocked < kBlockedOfPlan; ++blocked) {
    const std::optional<PlanPick> first = queue_->Best(at);
    if (!first || GroupIsFree(queue_->Entry(first->page).host, at, *queue_, &turns)) return first;
  }
  return std::nullopt;
}

// --- Picks ---

std::optional<ClassedPick> PickSource::Best(Instant at, ClassSet among, bool forced_first) {
  Hear(at);
  picked_ = std::max(picked_, at);
  if (!freeing_.empty()) {
    const GroupId group = *freeing_.begin();
    freeing_.erase(freeing_.begin());
    // If the group has reached its limit again, its hosts stay blocked.
    if (!hosts_.groups().FreeAt(group).infinite()) FreeHosts(group);
  }
  if (!forced_) return BestByWorth(at, among);
  const std::optional<ClassedPick> first =
      forced_first ? BestForced(at, among) : BestByWorth(at, among);
  if (first) return first;
  return forced_first ? BestByWorth(at, among) : BestForced(at, among);
}

std::optional<ClassedPick> PickSource::BestByWorth(Instant at, ClassSet among) {
  if (!plan_in_force()) return index_->Best(at, among);
  const std::optional<PlanPick> first = BestOfPlan(at);
  if (!first) return std::nullopt;
  return ClassedPick{first->page, first->urgency, 0};
}

std::optional<ClassedPick> PickSource::BestForced(Instant at, ClassSet among) {
  // A plan does not distinguish classes.
  const bool classed = !plan_in_force();
  absl::flat_hash_map<GroupId, size_t> of_domain;
  for (size_t blocked = 0; blocked < kBlockedOfForced; ++blocked) {
    const std::optional<ClassedPick> best = forced_->Best(at, classed ? among : kAllClasses);
    if (!best) return std::nullopt;
    const HostId host = forced_->HostOf(best->page);
    if (GroupIsFree(host, at, *forced_)) {
      return ClassedPick{best->page, best->value, classed ? best->crawl_class : CrawlClass{0}};
    }
    if (++of_domain[hosts_.host(host).domain] % kBlockedOfDomain == 0) {
      forced_->PassOver(best->page, at);
    }
  }
  return std::nullopt;
}

ForcedTurn PickSource::Take(const ClassedPick& pick) {
  if (!plan_in_force()) {
    ++prices_.picks;
    if (!std::isinf(pick.value)) NotePrice(pick);
  }
  if (!std::isinf(pick.value) || !IsForcible(pick.page)) return {};
  forced_->TakeTurn(pick.page);
  return forced_->TurnOf(pick.page);
}

void PickSource::NotePrice(const ClassedPick& pick) {
  prices_.last = prices_.of_class[pick.crawl_class] = pick.value;
  // The policy `default` learns its prices (Urgency) only from its own picks.
  if (!in_force().is_default) return;
  prices_.urgencies[pick.crawl_class].Picked(pick.value,
                                             static_cast<double>(RatesOf(pick.page).change_rate));
}

// --- Pages ---

void PickSource::File(PageId id, const IndexEntry& entry, Instant asked_at) {
  CHECK(pages_.known(id), "page {} is not known", id.value());
  CHECK(entry.host.value() < hosts_.id_limit(), "host {} is not known", entry.host.value());
  FileForced(id, entry);
  IndexEntry by_worth = entry;
  by_worth.forced_at = Instant::Infinite();
  // A page of importance 0 is handed out only when it is forced.
  if (entry.rates.importance == 0 && !entry.forced_at.infinite()) {
    by_worth.eligible_from = Instant::Infinite();
  }
  if (FilesInIndex()) {
    index_->Put(id, by_worth, ClassOf(id));
    if (pages_.IsAny(id, PageTable::kNotToBePicked)) index_->Suspend(id);
  }
  if (FilesInQueue()) FileInQueue(id, by_worth, asked_at);
}

void PickSource::FileForced(PageId id, const IndexEntry& entry) {
  if (entry.forced_at.infinite()) {
    if (IsForcible(id)) forced_->Remove(id);
    return;
  }
  if (!forced_) forced_ = std::make_unique<ForcedPages>(hosts_, crawls_);
  IndexEntry forced = entry;
  forced.eligible_from = std::max(entry.eligible_from, entry.forced_at);
  forced_->Put(id, forced);
  if (pages_.IsAny(id, PageTable::kNotToBePicked)) forced_->Suspend(id);
}

void PickSource::Crawled(PageId id) {
  if (InQueue(id)) queue_->Crawled(id, latest_);
}

void PickSource::Remove(PageId id) {
  CHECK(pages_.known(id), "page {} was removed before", id.value());
  if (index_) index_->Remove(id);
  if (queue_) queue_->Remove(id);
  if (IsForcible(id)) forced_->Remove(id);
  ForgetPlanOf(id);
}

void PickSource::Suspend(PageId id) {
  DCHECK(pages_.IsAny(id, PageTable::kNotToBePicked));
  if (InIndex(id)) index_->Suspend(id);
  if (InQueue(id)) queue_->Suspend(id);
  if (IsForcible(id)) forced_->Suspend(id);
}

void PickSource::Resume(PageId id) {
  DCHECK(!pages_.IsAny(id, PageTable::kNotToBePicked));
  if (InIndex(id)) index_->Resume(id);
  if (InQueue(id)) queue_->Resume(id);
  if (IsForcible(id)) forced_->Resume(id);
}

}  // namespace freshet
