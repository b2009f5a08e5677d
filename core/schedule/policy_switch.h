// The policy that picks follow, and the preparation of the next one.
//
// Under an index policy picks are taken from an index, which answers with the page of highest value
// (core/index/price_index.h); under a rate policy from a queue, which answers with the page that is
// due first by the plan (core/plan/plan_queue.h). Only one of the two exists, except during a
// change from one kind of policy to the other:
//
//   SetPolicy     the new one is there, empty, beside the one in force
//   MakeRoom      it takes its memory, slice by slice; until there is all it holds no page
//   File          every page, slice by slice: filed in both (core/schedule/pick_source.h)
//   takes over    once it has all: an index with the last page, a queue with FinishPlan
//   TakeRetired   the one before, to be destroyed where nobody waits for it
//
// Invariants: every known page is in the one in force. The one being prepared knows every host
// below room_hosts_, and has pages only once it is roomy.
#ifndef FRESHET_CORE_SCHEDULE_POLICY_SWITCH_H_
#define FRESHET_CORE_SCHEDULE_POLICY_SWITCH_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/segmented_array.h"
#include "core/base/units.h"
#include "core/plan/plan_queue.h"
#include "core/schedule/classed_index.h"
#include "core/schedule/crawl_policy.h"
#include "core/schedule/crawl_table.h"
#include "core/schedule/host_gate.h"
#include "core/schedule/page_plan.h"
#include "core/schedule/page_table.h"
#include "core/schedule/urgency.h"

namespace freshet {

// The prices of picks from an index. Value type, thread-compatible.
struct PickPrices {
  double last = 0;  // 0 = no pick since the last plan
  // The last price by class, within which pages compete.
  std::array<double, limits::kMaxCrawlClasses> of_class{};
  std::array<Urgency, limits::kMaxCrawlClasses> urgencies;
  uint64_t picks = 0;  // number of picks
};

// Owner thread only, but several threads may read policy() while nobody writes. Costs are those of
// index and queue, a few heap operations a call, unless said otherwise.
class PolicySwitch {
 public:
  PolicySwitch(const PolicySwitch&) = delete;
  PolicySwitch& operator=(const PolicySwitch&) = delete;

  // --- Policies

  // Sets the policy by which pages are filed. If true is returned and MakeRoom has returned true,
  // the owner refiles every page, in slices: by Reestimate, or by transactions that mark pages for
  // reindexing. Then the owner calls FinishFiling with the previous policy(). Between index
  // policies, pages not yet reached are still filed by the previous policy. Between an index policy
  // and a rate policy, the previous one picks until the new one is ready: an index policy with the
  // last page, a rate policy with FinishPlan. Between rate policies nothing need be filed. Costs a
  // slice of MakeRoom if a preparation starts.
  [[nodiscard]] bool SetPolicy(const CrawlPolicy& policy);
  // Takes a slice of the memory that filing needs, some two milliseconds; true = all memory is
  // there, so filing can begin.
  [[nodiscard]] bool MakeRoom();
  // Call this when every page was filed since policy() was `filed_by`.
  void FinishFiling(const CrawlPolicy& filed_by);
  // The policy set last, by which pages are filed.
  [[nodiscard]] const CrawlPolicy& policy() const { return policy_; }
  // The policy that picks follow: the one set last or, during its preparation, the one before.
  [[nodiscard]] const CrawlPolicy& in_force() const { return in_force_; }
  [[nodiscard]] bool plan_in_force() const { return in_force_.plan.has_value(); }
  // The leftovers of a change of policy, for the owner to destroy where nobody waits: with many
  // pages that takes milliseconds. Otherwise the next change destroys them.
  [[nodiscard]] std::vector<std::shared_ptr<void>> TakeRetired() {
    return std::exchange(retired_, {});
  }
  [[nodiscard]] const PickPrices& prices() const { return prices_; }

  // --- Pages

  // The host under which the page is filed. Precondition: the page is filed.
  [[nodiscard]] HostId HostOf(PageId id) const {
    return plan_in_force() ? queue_->Entry(id).host : index_->HostOf(id);
  }
  // The rates as filed. Precondition: the page is filed, and no plan is in force.
  [[nodiscard]] IndexRates RatesOf(PageId id) const { return index_->Find(id)->rates; }
  // Appends the rates of at most `most` pages of the index, evenly drawn; none under a rate policy.
  void SampleRates(size_t most, std::vector<IndexRates>* rates) const;
  // Figures of the index (PriceIndex, under the same names); 0 without an index.
  [[nodiscard]] size_t awake() const { return index_ ? index_->awake() : 0; }
  [[nodiscard]] uint64_t evaluations() const { return index_ ? index_->evaluations() : 0; }

  // --- Plans, in slices of page ids, so that picks continue in between. Linear in the slice.

  // Appends the plan's input for at most `count` ids from `first` on, and returns their number.
  // Pages that are gone, of importance 0 or of a shadow count as none. 0 = that was all, or the
  // policy is no rate policy.
  uint32_t CollectPlan(uint32_t first, uint32_t count, PlanColumns* columns) const;
  // Begins a plan, with this rate for pages that the plan does not know. False, as from the other
  // two: an index policy was set, so nothing is done, and the caller drops the plan.
  [[nodiscard]] bool BeginPlan(Rate newcomer_rate);
  // Takes over the plan of the ids from `first` on. An id that went to another page since
  // CollectPlan counts as a newcomer. Precondition: rates are >= 0, probabilities from 0 to 1.
  [[nodiscard]] bool StagePlan(uint32_t first, std::span<const PlannedCrawls> crawls, Instant now);
  // Makes picks follow the plan. False also while pages still have to be refiled for the policy.
  // Without a plan, all pages are crawled equally often. `refile`, set if true is returned: the
  // plan newly crawls some pages on signals, and they must be refiled so that earlier signals
  // count.
  [[nodiscard]] bool FinishPlan(bool* refile);
  // The crawl rate of the page by the plan; nullopt = a newcomer. 0 = on signals alone, or not at
  // all.
  [[nodiscard]] Rate PlannedRate(std::optional<PageId> id) const;
  // The probability that a signal asks for a crawl of the page by the plan; 0 = no plan, or the
  // plan polls the page.
  [[nodiscard]] float SignalProbability(PageId id) const;
  // When the plan in force has the page crawled; nullopt = no plan, or the page is not in it.
  [[nodiscard]] std::optional<Instant> PlannedAt(PageId id) const;

 protected:
  // All outlive this object. `crawls` knows every filed page; nullptr = all are of class 0.
  PolicySwitch(const PageTable& pages, const HostGate& hosts, const CrawlPolicy& policy,
               const CrawlTable* crawls);
  ~PolicySwitch() = default;

  // Says that no later call is about an earlier instant; plans reckon from there.
  void Hear(Instant now) { latest_ = std::max(latest_, now); }
  // The one in force takes pages at any time, the one being prepared once there is room.
  [[nodiscard]] bool FilesInIndex() const { return index_ && (roomy_ || !plan_in_force()); }
  [[nodiscard]] bool FilesInQueue() const { return queue_ && (roomy_ || plan_in_force()); }
  // The one being prepared may not have the page yet.
  [[nodiscard]] bool InIndex(PageId id) const {
    return index_ && (!plan_in_force() || index_->Find(id));
  }
  [[nodiscard]] bool InQueue(PageId id) const { return queue_ && queue_->Has(id); }
  void FileInQueue(PageId id, const IndexEntry& entry, Instant asked_at);
  // Forgets the plan of an id, which a later page may get.
  void ForgetPlanOf(PageId id) {
    if (id.value() < facts_.size()) facts_[id.value()] = PlanFacts();
  }
  // Call this when the instant from which the host is free (HostGate::FreeAt) may have changed, or
  // its group.
  void TellHost(HostId host);
  // Lets an index that is prepared beside a plan take over if it has every page; else brings it up
  // to the latest pick.
  void TakeOverByIndex();

  const PageTable& pages_;
  const HostGate& hosts_;
  const CrawlTable* const crawls_;
  std::unique_ptr<ClassedIndex> index_;
  std::unique_ptr<PlanQueue> queue_;
  PickPrices prices_;
  bool groups_ = false;  // a host is in a group, or was
  Instant latest_;       // the latest known instant
  Instant picked_;       // the instant of the latest pick, never later than that of the next

 private:
  // The share of a page that came after the plan; probabilities are stored as 0 to -1.
  static constexpr float kUnplanned = -2;
  // Until the first plan all pages are crawled equally often, the one that waits longest first.
  static constexpr float kUnplannedRate = 1.0F / (30 * 86400);
  // The input of plans for a page, and the result.
  struct PlanFacts {
    float importance = 0;
    float change_rate = 0;     // per second; sign bit: every change is signalled
    float share = kUnplanned;  // rate per second or, below zero, - probability or kUnplanned
  };

  // Start an index or queue without pages, beside the one in use.
  void StartIndex();
  void StartQueue();
  void StartRoom();
  void RetireIndex();
  void RetireQueue();
  // Whether a rate policy is set, so that plans are accepted.
  [[nodiscard]] bool AwaitsPlan() const { return queue_ && policy_.plan; }
  // The plan's share for the page, as in PlanFacts; newcomers have newcomer_rate_.
  [[nodiscard]] float ShareOf(PageId id) const;
  // Whether a page with this share is crawled when signals ask for it.
  [[nodiscard]] static bool AsksBySignal(float share) { return share < 0 && share != kUnplanned; }

  CrawlPolicy policy_;
  CrawlPolicy in_force_;             // with a plan, picks come from the queue
  SegmentedArray<PlanFacts> facts_;  // by PageId, with the queue
  float newcomer_rate_ = kUnplannedRate;
  bool refile_ = false;  // the staged plan newly crawls some pages on signals
  // The one being prepared has room for every page and knows every host; before, it has room for
  // pages below room_pages_, and knows hosts below room_hosts_.
  bool roomy_ = true;
  uint32_t room_pages_ = 0;
  uint32_t room_hosts_ = 0;
  std::vector<std::shared_ptr<void>> retired_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_POLICY_SWITCH_H_
