// What picks are taken from, and what is made ready to take its place.
//
// Under an index policy that is an index, which answers with the page of highest value
// (core/index/price_index.h); under a rate policy a queue, which answers with the page that is due
// first by the plan (core/plan/plan_queue.h). Only one of the two is held, but for a change from
// one kind of policy to the other:
//
//   SetPolicy     the new one is there, empty, beside the one in force
//   MakeRoom      it takes its memory, slice by slice; until there is all it holds no page
//   File          every page, slice by slice: filed in both
//   takes over    once it has all: an index with the last page, a queue with FinishPlan
//   TakeRetired   the one before, to be destroyed where nobody waits for it
//
// Pages that are to be crawled by an instant, whatever they are worth, are there by their worth,
// and beside it among the forced pages, which take turns (core/schedule/forced_pages.h).
//
// Invariants: every known page is in the one in force. A page that is in either is suspended there
// exactly when its flags say so (PageTable::kNotToBePicked). What is made ready knows every host
// below room_hosts_, and has pages only once it is roomy.
#ifndef FRESHET_CORE_SCHEDULE_PICK_SOURCE_H_
#define FRESHET_CORE_SCHEDULE_PICK_SOURCE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "core/base/segmented_array.h"
#include "core/base/units.h"
#include "core/plan/plan_queue.h"
#include "core/schedule/classed_index.h"
#include "core/schedule/crawl_policy.h"
#include "core/schedule/crawl_table.h"
#include "core/schedule/forced_pages.h"
#include "core/schedule/host_gate.h"
#include "core/schedule/page_plan.h"
#include "core/schedule/page_table.h"

namespace freshet {

// Owner thread only; policy() may be read by several threads while nobody writes. Which pages and
// hosts there are is the owner's to keep: they are read, never changed. Whatever changes there is
// told here afterwards, but a removal before. Costs are those of index and queue, a few heap
// operations a call, unless said otherwise; while a change of policy runs, those of both.
class PickSource {
 public:
  // All outlive it. `crawls` knows of every page that is filed; null: all are of class 0.
  PickSource(const PageTable& pages, const HostGate& hosts, const CrawlPolicy& policy,
             const CrawlTable* crawls = nullptr);
  PickSource(const PickSource&) = delete;
  PickSource& operator=(const PickSource&) = delete;

  // --- Policies. What each means for the owner: ShardState, under the same names.

  // True: every page is to be filed anew. Costs a slice of MakeRoom where it starts something.
  [[nodiscard]] bool SetPolicy(const CrawlPolicy& policy);
  // True: there is room for all. Some two milliseconds.
  [[nodiscard]] bool MakeRoom();
  // Every page was filed since policy() was `filed_by`.
  void FinishFiling(const CrawlPolicy& filed_by);
  // An index that is made ready beside a plan takes over if it has every page; else it is brought
  // up to the latest pick. For the end of each slice of filing.
  void TakeOverByIndex();
  // The policy by which pages are filed.
  [[nodiscard]] const CrawlPolicy& policy() const { return policy_; }
  // That which picks follow.
  [[nodiscard]] const CrawlPolicy& in_force() const { return in_force_; }
  [[nodiscard]] bool plan_in_force() const { return in_force_.plan.has_value(); }
  // What is not needed any more: milliseconds to destroy with many pages.
  [[nodiscard]] std::vector<std::shared_ptr<void>> TakeRetired() {
    return std::exchange(retired_, {});
  }

  // --- Picks

  // No call is about an earlier instant from now on; plans reckon from there.
  void Hear(Instant now) { latest_ = std::max(latest_, now); }
  // The page to crawl at `at`, left in; none: nothing is eligible. With its value or, under a plan,
  // its urgency; infinite: forced. `at` must not be earlier than in the call before. `among`: only
  // of these classes; a plan knows of none. Pages that are forced go before all others; without
  // `forced_first` only where there is no other, and till then by their worth.
  [[nodiscard]] std::optional<ClassedPick> Best(Instant at, ClassSet among = kAllClasses,
                                                bool forced_first = true);
  // The page is taken, which was best: the turn that it takes as a forced one; none where it went
  // by its worth.
  ForcedTurn TakeTurn(const ClassedPick& pick);

  // --- Pages. Precondition of all: the page table has the page.

  // Adds or replaces a page. `asked_at`: when a signal asked for a crawl by the plan; infinite:
  // none did. What was asked for before stays so until Crawled.
  void File(PageId id, const IndexEntry& entry, Instant asked_at);
  // A crawl of the page succeeded: its job in the plan is done. No-op where no queue has it.
  void Crawled(PageId id);
  void Remove(PageId id);
  // What the flags of the page say has changed: it is not to be picked, or is again.
  void Suspend(PageId id);
  void Resume(PageId id);
  // Has the page compete in the class of its crawl id, which has changed; true: it did not.
  bool FollowClass(PageId id) {
    const bool suspended = pages_.IsAny(id, PageTable::kNotToBePicked);
    if (forced_) forced_->Move(id, suspended);
    return index_ && index_->Move(id, ClassOf(id), suspended);
  }
  // Of the index: PriceIndex, under the same names; 0: there is none.
  [[nodiscard]] size_t awake() const { return index_ ? index_->awake() : 0; }
  [[nodiscard]] uint64_t evaluations() const { return index_ ? index_->evaluations() : 0; }
  // The host under which the page is filed. Precondition: it is filed.
  [[nodiscard]] HostId HostOf(PageId id) const {
    return plan_in_force() ? queue_->Entry(id).host : index_->HostOf(id);
  }
  // As filed. Precondition: it is filed, and no plan is in force.
  [[nodiscard]] IndexRates RatesOf(PageId id) const { return index_->Find(id)->rates; }
  // ShardState, under the same name.
  void SampleRates(size_t most, std::vector<IndexRates>* rates) const;
  // The host may be free from another instant on than before, HostGate::FreeAt, or be in another
  // group, or its group be free from another instant on.
  void HostChanged(HostId host) {
    const bool room = roomy_ || host.value() < room_hosts_;
    if (index_ && (room || !plan_in_force())) index_->SetHostFree(host, hosts_.FreeAt(host));
    if (queue_ && (room || plan_in_force())) queue_->SetHostFree(host, hosts_.FreeAt(host));
    if (forced_) forced_->SetHostFree(host, hosts_.FreeAt(host));
    if (groups_ |= hosts_.groups().any()) FollowGroupOf(host);
  }
  // The group may be free from another instant on than before, HostGroups::FreeAt.
  void GroupChanged(GroupId group);

  // --- Plans, in slices of page ids (ShardState, under the same names). Linear in the slice.

  uint32_t CollectPlan(uint32_t first, uint32_t count, PlanColumns* columns) const;
  [[nodiscard]] bool BeginPlan(Rate newcomer_rate);
  // Precondition: rates are >= 0, probabilities from 0 to 1.
  [[nodiscard]] bool StagePlan(uint32_t first, std::span<const PlannedCrawls> crawls, Instant now);
  // False also while the queue does not have every page.
  [[nodiscard]] bool FinishPlan(bool* refile);
  // How often the plan has the page crawled; no page: a newcomer. 0: on signals alone, or not at
  // all.
  [[nodiscard]] Rate PlannedRate(std::optional<PageId> id) const;
  // That a signal asks for a crawl of the page by the plan; 0: there is no plan, or it polls.
  [[nodiscard]] float SignalProbability(PageId id) const;
  // When the plan in force has the page crawled; none: there is no plan, or the page is not in it.
  [[nodiscard]] std::optional<Instant> PlannedAt(PageId id) const;

 private:
  // The share of a page that came after the plan; no probability is below -1.
  static constexpr float kUnplanned = -2;
  // Until the first plan all pages are crawled equally often, the one that waits longest first.
  static constexpr float kUnplannedRate = 1.0F / (30 * 86400);
  // What plans are made of, and what became of it.
  struct PlanFacts {
    float importance = 0;
    float change_rate = 0;     // per second; sign bit: every change is signalled
    float share = kUnplanned;  // rate per second or, below zero, - probability or kUnplanned
  };

  // Index and queue without pages, beside the one that picks are taken from.
  void StartIndex();
  void StartQueue();
  void StartRoom();
  void RetireIndex();
  void RetireQueue();
  // The one in force takes pages at any time, the one that is made ready once there is room.
  [[nodiscard]] bool FilesInIndex() const { return index_ && (roomy_ || !plan_in_force()); }
  [[nodiscard]] bool FilesInQueue() const { return queue_ && (roomy_ || plan_in_force()); }
  // What is being made ready need not have the page yet.
  [[nodiscard]] bool InIndex(PageId id) const {
    return index_ && (!plan_in_force() || index_->Find(id));
  }
  [[nodiscard]] bool InQueue(PageId id) const { return queue_ && queue_->Has(id); }
  [[nodiscard]] std::optional<ClassedPick> BestByWorth(Instant at, ClassSet among);
  [[nodiscard]] std::optional<ClassedPick> BestForced(Instant at, ClassSet among);
  void FileForced(PageId id, const IndexEntry& entry);
  [[nodiscard]] bool IsForcible(PageId id) const { return forced_ && forced_->Has(id); }
  // Whether the group that the host is in is free at `at`. If not, `its` holds the host blocked,
  // which is told when it is.
  template <typename Hosts>
  [[nodiscard]] bool GroupIsFree(HostId host, Instant at, Hosts& its);
  // A queue knows of no groups: hosts of one that is not free are blocked as they come up.
  [[nodiscard]] std::optional<PlanPick> BestOfPlan(Instant at);
  void FollowGroupOf(HostId host);
  // Whether a rate policy is set and its plan is welcome.
  [[nodiscard]] bool AwaitsPlan() const { return queue_ && policy_.plan; }
  [[nodiscard]] CrawlClass ClassOf(PageId id) const {
    return crawls_ == nullptr ? CrawlClass{0} : crawls_->ClassOf(id);
  }
  void FileInQueue(PageId id, const IndexEntry& entry, Instant asked_at);
  // What the plan has for the page, as PlanFacts holds it; newcomers have their rate.
  [[nodiscard]] float ShareOf(PageId id) const;
  // Whether a page with this share is crawled when signals ask for it.
  [[nodiscard]] static bool AsksBySignal(float share) { return share < 0 && share != kUnplanned; }

  const PageTable& pages_;
  const HostGate& hosts_;
  const CrawlTable* const crawls_;
  std::unique_ptr<ClassedIndex> index_;
  std::unique_ptr<PlanQueue> queue_;
  std::unique_ptr<ForcedPages> forced_;  // whatever the policy; null: there was none yet
  CrawlPolicy policy_;
  CrawlPolicy in_force_;             // with a plan: picks are taken from the queue
  SegmentedArray<PlanFacts> facts_;  // by PageId, with the queue
  float newcomer_rate_ = kUnplannedRate;
  bool refile_ = false;  // the plan staged has pages asked for that were not before
  // What is made ready has room for every page and knows every host; until then it has room for
  // pages below room_pages_, and knows hosts below room_hosts_.
  bool roomy_ = true;
  uint32_t room_pages_ = 0;
  uint32_t room_hosts_ = 0;
  std::vector<std::shared_ptr<void>> retired_;
  bool groups_ = false;  // a host is in a group, or was
  // Hosts that queue and `forced_` hold blocked until they are told that their group is free.
  absl::flat_hash_map<GroupId, absl::btree_set<HostId>> blocked_with_group_;
  Instant latest_;  // the latest instant heard of
  Instant picked_;  // that of the latest pick, never later than the next one's
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_PICK_SOURCE_H_
