// The policy that picks follow, and the change to another policy.
//
// Under an index policy, picks come from an index, which returns the page with the highest value
// (core/index/price_index.h). Under a rate policy, picks come from a queue, which returns the page
// that is due first under the plan (core/plan/plan_queue.h). Only one of the two exists, except
// during a change from one kind of policy to the other:
//
//   SetPolicy     creates the new structure, empty, next to the one in use
//   MakeRoom      gives it memory in slices; it contains no page until it has all its memory
//   File          files every page in both, in slices (core/schedule/pick_source.h)
//   take-over     picks use the new one: an index when it has its last page, a queue at FinishPlan
//   TakeRetired   hands out the old structure, to be destroyed where nothing waits for it
//
// Invariants: every known page is in the structure in use. The structure being prepared knows every
// host below room_hosts_. It contains pages only once it has memory for all of them (roomy_).
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
  // The price by class: the value of the class's last pick. A page is compared with the price of
  // its class.
  std::array<double, limits::kMaxCrawlClasses> of_class{};
  std::array<Urgency, limits::kMaxCrawlClasses> urgencies;
  uint64_t picks = 0;  // number of picks
};

// Owner thread only, but several threads can read policy() while no thread writes. A call costs
// about as much as the same call of the index or queue: a few heap operations unless a comment says
// otherwise.
class PolicySwitch {
 public:
  PolicySwitch(const PolicySwitch&) = delete;
  PolicySwitch& operator=(const PolicySwitch&) = delete;

  // --- Policies

  // Sets the policy by which pages are filed. If SetPolicy returns true, the owner waits until
  // MakeRoom returns true. Then the owner refiles every page in slices, either with Reestimate
  // events or with transactions that mark pages for reindexing. Finally the owner calls
  // FinishFiling with the policy() as of the start of this pass.
  //
  // Between two index policies, pages that are not refiled yet are ordered by the previous policy.
  // Between an index policy and a rate policy, picks follow the previous policy until the new one
  // is ready: an index policy is ready with its last page, a rate policy with FinishPlan. Between
  // two rate policies, nothing needs to be filed. If a preparation starts, SetPolicy costs a slice
  // of MakeRoom.
  [[nodiscard]] bool SetPolicy(const CrawlPolicy& policy);
  // Takes a slice of the memory that filing needs, in about two milliseconds. Returns true when all
  // memory is there and filing can begin.
  [[nodiscard]] bool MakeRoom();
  // Call it when every page has been filed under the policy `filed_by`. No-op if another policy was
  // set meanwhile.
  void FinishFiling(const CrawlPolicy& filed_by);
  // The policy that was set last. Pages are filed by it.
  [[nodiscard]] const CrawlPolicy& policy() const { return policy_; }
  // The policy that picks follow: the policy that was set last or, while it is being prepared, the
  // one before.
  [[nodiscard]] const CrawlPolicy& in_force() const { return in_force_; }
  [[nodiscard]] bool plan_in_force() const { return in_force_.plan.has_value(); }
  // The old structures after a change of policy. The owner takes and destroys them where nothing
  // waits for it: with many pages this takes milliseconds. Otherwise the next change destroys them.
  [[nodiscard]] std::vector<std::shared_ptr<void>> TakeRetired() {
    return std::exchange(retired_, {});
  }
  [[nodiscard]] const PickPrices& prices() const { return prices_; }

  // --- Pages

  // The host under which the page is filed. Precondition: the page is filed.
  [[nodiscard]] HostId HostOf(PageId id) const {
    return plan_in_force() ? queue_->Entry(id).host : index_->HostOf(id);
  }
  // The rates as filed. Precondition: the page is filed, and no plan is in use.
  [[nodiscard]] IndexRates RatesOf(PageId id) const { return index_->Find(id)->rates; }
  // Appends the rates of at most `most` pages, evenly spaced in the index. Appends nothing under a
  // rate policy.
  void SampleRates(size_t most, std::vector<IndexRates>* rates) const;
  // Figures of the index (the PriceIndex functions of the same names); 0 without an index.
  [[nodiscard]] size_t awake() const { return index_ ? index_->awake() : 0; }
  [[nodiscard]] uint64_t evaluations() const { return index_ ? index_->evaluations() : 0; }

  // --- Plans, in slices of page ids, so that picks continue in between. Linear in the slice.

  // Appends the plan's input for at most `count` ids from `first` on. Returns their number. Pages
  // that are gone, have importance 0 or belong to a shadow crawl id count as ids without a page. 0
  // = there are no further ids, or the policy is not a rate policy.
  uint32_t CollectPlan(uint32_t first, uint32_t count, PlanColumns* columns) const;
  // Begins a plan. `newcomer_rate` is the rate for pages that the plan does not know. BeginPlan,
  // StagePlan and FinishPlan return false if an index policy was set in the meantime: nothing is
  // changed, and the caller drops the plan.
  [[nodiscard]] bool BeginPlan(Rate newcomer_rate);
  // Stores the plan of the ids from `first` on. If an id was reused for another page since
  // CollectPlan, that page counts as a newcomer. Precondition: rates are >= 0, probabilities from 0
  // to 1.
  [[nodiscard]] bool StagePlan(uint32_t first, std::span<const PlannedCrawls> crawls, Instant now);
  // Makes picks follow the plan. Returns false also while pages still have to be refiled for the
  // policy. Until the first plan, all pages are crawled equally often. If FinishPlan returns true,
  // it sets `refile`. True = the plan newly crawls some pages on signals, and the owner must refile
  // them so that earlier signals count.
  [[nodiscard]] bool FinishPlan(bool* refile);
  // The page's crawl rate under the plan. `id`: nullopt = a newcomer. Returns 0 if the page is
  // crawled only on signals, or never.
  [[nodiscard]] Rate PlannedRate(std::optional<PageId> id) const;
  // The probability that a signal makes the plan crawl the page; 0 = there is no plan, or the plan
  // polls the page.
  [[nodiscard]] float SignalProbability(PageId id) const;
  // The time at which the present plan crawls the page; nullopt = there is no plan, or the page is
  // not in the plan.
  [[nodiscard]] std::optional<Instant> PlannedAt(PageId id) const;

 protected:
  // All arguments must outlive this object. `crawls` must know every filed page; nullptr = all
  // pages are of class 0.
  PolicySwitch(const PageTable& pages, const HostGate& hosts, const CrawlPolicy& policy,
               const CrawlTable* crawls);
  ~PolicySwitch() = default;

  // Declares that no later call is about an earlier instant. Plans use the latest of these instants
  // as the current time.
  void Hear(Instant now) { latest_ = std::max(latest_, now); }
  // The structure in use accepts pages at any time. The structure being prepared accepts them once
  // it has room.
  [[nodiscard]] bool FilesInIndex() const { return index_ && (roomy_ || !plan_in_force()); }
  [[nodiscard]] bool FilesInQueue() const { return queue_ && (roomy_ || plan_in_force()); }
  // Returns true if the index has the page. While the index is being prepared, it might not have
  // the page yet.
  [[nodiscard]] bool InIndex(PageId id) const {
    return index_ && (!plan_in_force() || index_->Find(id));
  }
  [[nodiscard]] bool InQueue(PageId id) const { return queue_ && queue_->Has(id); }
  void FileInQueue(PageId id, const IndexEntry& entry, Instant asked_at);
  // Forgets the plan of an id, because the id can be reused for a later page.
  void ForgetPlanOf(PageId id) {
    if (id.value() < facts_.size()) facts_[id.value()] = PlanFacts();
  }
  // Call it when the host is in another group, or when the instant from which the host is free
  // (HostGate::FreeAt) might have changed.
  void TellHost(HostId host);
  // If an index is being prepared while a plan is in use: switches to the index if it has every
  // page, and otherwise advances it to the latest pick.
  void TakeOverByIndex();

  const PageTable& pages_;
  const HostGate& hosts_;
  const CrawlTable* const crawls_;
  std::unique_ptr<ClassedIndex> index_;
  std::unique_ptr<PlanQueue> queue_;
  PickPrices prices_;
  bool groups_ = false;  // a host is, or was, in a group
  Instant latest_;       // the latest instant of any call
  Instant picked_;       // the instant of the latest pick

 private:
  // PlanFacts::share of a page that was added after the plan. No other share has this value: rates
  // are above 0, and probabilities are stored as 0 to -1.
  static constexpr float kUnplanned = -2;
  // Until the first plan, all pages are crawled equally often, and the page that waits longest is
  // first.
  static constexpr float kUnplannedRate = 1.0F / (30 * 86400);
  // A page's input to plans, and its result.
  struct PlanFacts {
    float importance = 0;
    float change_rate = 0;     // per second; sign bit: every change is signalled
    float share = kUnplanned;  // rate per second if > 0, else minus the probability or kUnplanned
  };

  // StartIndex and StartQueue create an index or a queue without pages, next to the structure in
  // use.
  void StartIndex();
  void StartQueue();
  void StartRoom();
  void RetireIndex();
  void RetireQueue();
  // Returns true if a rate policy is set, so that plans are accepted.
  [[nodiscard]] bool AwaitsPlan() const { return queue_ && policy_.plan; }
  // The page's share as in PlanFacts. Newcomers have newcomer_rate_.
  [[nodiscard]] float ShareOf(PageId id) const;
  // Returns true if a page with this share is crawled on signals.
  [[nodiscard]] static bool AsksBySignal(float share) { return share < 0 && share != kUnplanned; }

  CrawlPolicy policy_;
  CrawlPolicy in_force_;             // if it has a plan, picks come from the queue
  SegmentedArray<PlanFacts> facts_;  // by PageId; empty without a queue
  float newcomer_rate_ = kUnplannedRate;
  bool refile_ = false;  // the staged plan newly crawls some pages on signals
  // True = the structure being prepared has room for every page and knows every host. Before that,
  // it has room for pages below room_pages_ and knows hosts below room_hosts_.
  bool roomy_ = true;
  uint32_t room_pages_ = 0;
  uint32_t room_hosts_ = 0;
  std::vector<std::shared_ptr<void>> retired_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_POLICY_SWITCH_H_
