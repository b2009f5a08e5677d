// The source of picks: the index or the queue of the policy in force
// (core/schedule/policy_switch.h), which orders pages by their worth, and beside it the forced
// pages, which take turns (core/schedule/forced_pages.h).
//
// Invariant: a page is suspended in these exactly when its flags say so
// (PageTable::kNotToBePicked).
#ifndef FRESHET_CORE_SCHEDULE_PICK_SOURCE_H_
#define FRESHET_CORE_SCHEDULE_PICK_SOURCE_H_

#include <memory>
#include <optional>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"
#include "core/schedule/forced_pages.h"
#include "core/schedule/policy_switch.h"

namespace freshet {

// Reads the owner's pages and hosts, and never changes them. The owner reports a change here
// afterwards, but a removal before. Costs are those of index and queue, a few heap operations a
// call, unless said otherwise; while a change of policy runs, those of both. Owner thread only.
class PickSource : public PolicySwitch {
 public:
  // All outlive this object. `crawls` knows every filed page; nullptr = all are of class 0.
  PickSource(const PageTable& pages, const HostGate& hosts, const CrawlPolicy& policy,
             const CrawlTable* crawls = nullptr)
      : PolicySwitch(pages, hosts, policy, crawls) {}

  // --- Picks

  using PolicySwitch::Hear;
  // The page to crawl at `at`, left in; nullopt = nothing is eligible. The value is the urgency
  // under a plan, and infinite for forced pages. `at` must not be earlier than in the call before.
  // `among`: only of these classes; a plan has none. Forced pages go before all others; without
  // `forced_first` only if there is no other, and until then by their worth.
  [[nodiscard]] std::optional<ClassedPick> Best(Instant at, ClassSet among = kAllClasses,
                                                bool forced_first = true);
  // Takes the best page. Returns the turn that it takes as a forced page; a default turn = the page
  // went by its worth, which is then the price.
  ForcedTurn Take(const ClassedPick& pick);

  // --- Pages. Precondition of all: the page table has the page.

  // Adds or replaces a page. `asked_at`: when a signal asked for a crawl by the plan; infinite =
  // none did. An earlier request stays until Crawled.
  void File(PageId id, const IndexEntry& entry, Instant asked_at);
  // Call this at the end of each slice of filing.
  using PolicySwitch::TakeOverByIndex;
  // Ends the job of the page in the plan after a successful crawl. No-op if no queue has the page.
  void Crawled(PageId id);
  void Remove(PageId id);
  // Withholds or offers a page whose flags have changed.
  void Suspend(PageId id);
  void Resume(PageId id);
  // Moves the page to the class of its crawl id, which has changed; true = it was in another.
  bool FollowClass(PageId id) {
    const bool suspended = pages_.IsAny(id, PageTable::kNotToBePicked);
    if (forced_) forced_->Move(id, suspended);
    return index_ && index_->Move(id, ClassOf(id), suspended);
  }
  // Call this when the instant from which the host (HostGate::FreeAt) or its group is free may have
  // changed, or the group of the host.
  void HostChanged(HostId host) {
    TellHost(host);
    if (forced_) forced_->SetHostFree(host, hosts_.FreeAt(host));
    if (!groups_) return;
    const GroupId group = hosts_.host(host).group;
    if (group != GroupId()) GroupChanged(group);
  }
  // Call this when the instant from which the group is free (HostGroups::FreeAt) may have changed.
  // If many hosts wait for it, the next picks release them.
  void GroupChanged(GroupId group);
  // The number of hosts that came up while their group was not free, and wait for it.
  [[nodiscard]] size_t hosts_blocked_with_groups() const;

 private:
  [[nodiscard]] std::optional<ClassedPick> BestByWorth(Instant at, ClassSet among);
  [[nodiscard]] std::optional<ClassedPick> BestForced(Instant at, ClassSet among);
  void NotePrice(const ClassedPick& pick);
  void FileForced(PageId id, const IndexEntry& entry);
  [[nodiscard]] bool IsForcible(PageId id) const { return forced_ && forced_->Has(id); }
  // Whether the group of the host is free at `at`. If not, `holder` blocks the host until the group
  // is free.
  template <typename Hosts>
  [[nodiscard]] bool GroupIsFree(HostId host, Instant at, Hosts& holder);
  // Releases some of the hosts blocked with the group; later picks release the rest.
  void FreeHosts(GroupId group);
  // Picks from the queue, which knows no groups: hosts of busy groups are blocked as they come up.
  [[nodiscard]] std::optional<PlanPick> BestOfPlan(Instant at);
  [[nodiscard]] CrawlClass ClassOf(PageId id) const {
    return crawls_ == nullptr ? CrawlClass{0} : crawls_->ClassOf(id);
  }

  std::unique_ptr<ForcedPages> forced_;  // under any policy; nullptr = no page was forced yet
  // Hosts that queue and `forced_` block until their group is free.
  absl::flat_hash_map<GroupId, absl::btree_set<HostId>> blocked_with_group_;
  absl::btree_set<GroupId> freeing_;  // groups among them whose hosts are being freed
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_PICK_SOURCE_H_
