// The source of picks. It consists of the index or the queue of the present policy
// (core/schedule/policy_switch.h), which orders pages by worth (value, or urgency under a plan),
// and of the forced pages, which take turns (core/schedule/forced_pages.h).
//
// Invariant: a page is suspended in all of these exactly when its flags say so
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

// Reads the pages and hosts of its owner (core/schedule/page_book.h), and never changes them. The
// owner calls this class before it removes a page or host, and after any other change. A call costs
// about as much as the same call of the index or queue: a few heap operations unless a comment says
// otherwise. During a change of policy, a call can cost both. Owner thread only.
class PickSource : public PolicySwitch {
 public:
  // All arguments must outlive this object. `crawls` must know every filed page; nullptr = all
  // pages are of class 0.
  PickSource(const PageTable& pages, const HostGate& hosts, const CrawlPolicy& policy,
             const CrawlTable* crawls = nullptr)
      : PolicySwitch(pages, hosts, policy, crawls) {}

  // --- Picks

  using PolicySwitch::Hear;
  // The page to crawl at `at`, without taking it; nullopt = no page is eligible. The value is the
  // urgency under a plan, and infinite for forced pages. `at` must not be earlier than in the
  // previous call. `among`: only pages of these classes; under a plan, all pages. With
  // `forced_first`, forced pages come before all others. Otherwise, a forced page is picked by its
  // worth like any other, and as forced only if there is no other page.
  [[nodiscard]] std::optional<ClassedPick> Best(Instant at, ClassSet among = kAllClasses,
                                                bool forced_first = true);
  // Takes the page that Best returned. Returns the turn that the page takes as a forced page
  // (core/schedule/forced_turns.h); a default turn = the page was picked by its worth. If the page
  // was picked by its worth under an index policy, its value is the new price.
  ForcedTurn Take(const ClassedPick& pick);

  // --- Pages. Precondition of all: the page table has the page.

  // Adds or replaces a page. `asked_at`: when a signal asked for a crawl under the plan; infinite =
  // no signal did. An earlier time is kept until Crawled is called.
  void File(PageId id, const IndexEntry& entry, Instant asked_at);
  // Call it at the end of each slice of filing.
  using PolicySwitch::TakeOverByIndex;
  // Ends the page's due crawl in the plan after a successful crawl. No-op if the page is in no
  // queue.
  void Crawled(PageId id);
  void Remove(PageId id);
  // Suspend withholds a page from picks, and Resume offers it again. Call them after a change of
  // the page's flags.
  void Suspend(PageId id);
  void Resume(PageId id);
  // Moves the page to the class of its crawl id, after a change. Returns true if it was in another
  // class.
  bool FollowClass(PageId id) {
    const bool suspended = pages_.IsAny(id, PageTable::kNotToBePicked);
    if (forced_) forced_->Move(id, suspended);
    return index_ && index_->Move(id, ClassOf(id), suspended);
  }
  // Call it when the group of the host has changed, or when the instant from which the host
  // (HostGate::FreeAt) or the group is free might have changed.
  void HostChanged(HostId host) {
    TellHost(host);
    if (forced_) forced_->SetHostFree(host, hosts_.FreeAt(host));
    if (!groups_) return;
    const GroupId group = hosts_.host(host).group;
    if (group != GroupId()) GroupChanged(group);
  }
  // Call it when the instant from which the group is free (HostGroups::FreeAt) might have changed.
  // If many hosts wait for the group, the next picks free the rest of them.
  void GroupChanged(GroupId group);
  // The number of hosts that are blocked because their group was not free.
  [[nodiscard]] size_t hosts_blocked_with_groups() const;

 private:
  // By group, how many hosts a pick has blocked.
  using GroupTurns = absl::flat_hash_map<GroupId, int64_t>;

  [[nodiscard]] std::optional<ClassedPick> BestByWorth(Instant at, ClassSet among);
  [[nodiscard]] std::optional<ClassedPick> BestForced(Instant at, ClassSet among);
  void NotePrice(const ClassedPick& pick);
  void FileForced(PageId id, const IndexEntry& entry);
  [[nodiscard]] bool IsForcible(PageId id) const { return forced_ && forced_->Has(id); }
  // Returns true if the group of the host is free at `at`. Otherwise blocks the host in `holder`
  // until the group is free. If the group waits for its delay, each host that a pick blocks with
  // `turns` is blocked for one further delay, at most kTurnsAhead; nullptr = for none.
  template <typename Hosts>
  [[nodiscard]] bool GroupIsFree(HostId host, Instant at, Hosts& holder,
                                 GroupTurns* turns = nullptr);
  // Frees some of the hosts that were blocked until the group is free. Later picks free the rest.
  void FreeHosts(GroupId group);
  // Picks from the queue. The queue does not know groups, so a host of a group that is not free is
  // blocked when one of its pages comes first.
  [[nodiscard]] std::optional<PlanPick> BestOfPlan(Instant at);
  [[nodiscard]] CrawlClass ClassOf(PageId id) const {
    return crawls_ == nullptr ? CrawlClass{0} : crawls_->ClassOf(id);
  }

  std::unique_ptr<ForcedPages> forced_;  // under any policy; nullptr = no page was forced yet
  // Hosts that are blocked in the queue and in `forced_` until their group is free.
  absl::flat_hash_map<GroupId, absl::btree_set<HostId>> blocked_with_group_;
  absl::btree_set<GroupId> freeing_;  // groups with blocked hosts that are being freed
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_PICK_SOURCE_H_
