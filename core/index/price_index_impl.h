// The implementation of the price index (core/index/price_index.h).
//
// Invariants, for every page in the index, from the last pick on:
//  1. Exactly one place holds the page: a wheel, a pool or the band. A page that is delayed, forced
//  or suspended is in none of them.
//  2. A sleeping page is worth less than the threshold until its wheel hands it out.
//  3. A waiting page is worth at most its bound until the bound expires.
//  4. The line of an awake page is at least the page's value (AwakeBand).
//  5. A page is picked only if its exact value is at least the threshold, every bound of an open
//  pool and every line. Otherwise the threshold is lowered, which wakes the pages that become due.
// Hence a pick gives the same page as a full scan (BruteIndex). docs/index-proofs.md derives the
// bounds.
#ifndef FRESHET_CORE_INDEX_PRICE_INDEX_IMPL_H_
#define FRESHET_CORE_INDEX_PRICE_INDEX_IMPL_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/index/page_alarms.h"
#include "core/index/page_filing.h"
#include "core/index/price_index.h"

namespace freshet {

// Picks among the filed pages. The public functions implement those of PriceIndex. Owner thread
// only.
class PriceIndex::Impl : private PageFiling {
 public:
  void GrowTo(size_t pages, size_t hosts);
  void Put(PageId page, const IndexEntry& entry);
  void Restart(PageId page, double exponent, Instant since);
  void Remove(PageId page);
  void Suspend(PageId page);
  void Resume(PageId page);
  void SetHostFree(HostId host, Instant free_at);
  void SetHostGroup(HostId host, GroupId group);
  void SetGroupFree(GroupId group, Instant free_at);
  [[nodiscard]] std::optional<IndexPick> Best(Instant at);
  [[nodiscard]] std::optional<IndexEntry> Find(PageId page) const { return pages_.Find(page); }
  [[nodiscard]] HostId HostOf(PageId page) const {
    DCHECK(pages_.Has(page));
    return pages_.host(page);
  }
  [[nodiscard]] double ExponentOf(PageId page, Instant at) const {
    return pages_.ExponentOf(page, at);
  }
  [[nodiscard]] size_t size() const { return pages_.size(); }
  [[nodiscard]] size_t awake() const { return band_.size(); }
  [[nodiscard]] uint64_t evaluations() const { return evaluations_; }
  [[nodiscard]] uint64_t entries() const { return wheels_.entries(); }
  [[nodiscard]] size_t alarms() const { return alarms_.size() + forced_.size(); }

 private:
  // Prefetches the records of the hot pages, most of which will be crawled soon.
  void PrefetchHot() const;

  // --- index_checks.cc: for debug builds ---
  // Holds returns true if invariants 2 to 4 hold for the page when a pick ends. HoldsForNext checks
  // the next `pages` pages, round-robin.
  [[nodiscard]] bool Holds(PageId page) const;
  [[nodiscard]] bool HoldsForNext(size_t pages);

  // --- price_index.cc: the pick ---
  // Brings alarms, splits and wheels up to the current instant. False = no page can be eligible.
  [[nodiscard]] bool Advance();
  [[nodiscard]] bool AlarmRings() const;
  void RingAlarms();
  void SetOpen(const IndexHost& host);
  void SetOpen(GroupId group);
  [[nodiscard]] bool AnyBlocked() const {
    return hosts_.blocked_pages() > 0 || groups_.any_blocked();
  }
  // `reach` is set if the current period has not ended. In that case the current pick is worth at
  // least `reach`.
  void Split(double shorter, std::optional<double> reach);
  void SplitWarm(double shorter, std::optional<double> reach);
  // Prepares the next period of warm pages. Called a few times after each split near the end of a
  // period.
  void Examine();
  // Maintains the threshold, the band and the wheels. Called a few times after each split.
  void Tidy();
  void SteerThreshold();
  // Steers the threshold while picks are worth far more than pages whose values still grow.
  void SteerFarBelow(size_t awake);
  [[nodiscard]] std::optional<IndexPick> BestForced();
  // `parks`: the number of pages that this pick may still park in the pools of their hosts. Both
  // functions decrease it.
  [[nodiscard]] std::optional<IndexPick> BestAwake(size_t* parks);
  void LeaveBlocked(size_t* parks);
  // Wakes a waiting page that might be worth more than `best`. False = there is none.
  [[nodiscard]] bool WakeRival(const std::optional<IndexPick>& best);
  // Evaluates all hot pages whose bound is above `value`.
  void TightenAbove(double value);
  void ParkAwake(uint32_t slot);
  void WakeFirst(uint32_t pool, double rival);

  PageAlarms alarms_{pages_};
  std::vector<uint32_t> slots_;
  bool descending_ = false;  // the threshold falls until enough pages are awake
  int untidy_ = 0;           // calls of Tidy that are due
  int unexamined_ = 0;       // calls of Examine that are due
  // The last pick found no eligible page, and no page can have become eligible since then.
  bool none_eligible_ = false;
  bool left_out_ = false;  // this pick has excluded a line that pages share
  size_t checked_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_PRICE_INDEX_IMPL_H_
