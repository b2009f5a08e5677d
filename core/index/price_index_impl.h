// The inside of the price index; core/index/price_index.h says what it is for.
//
// Invariants, for every page that is in, at the instant of the last pick and any later one:
//  1. Exactly one place holds it: wheel, pool, band, or none because it is delayed, forced or
//     suspended.
//  2. A sleeping page is worth less than the threshold until its wheel hands it out.
//  3. A waiting page is worth at most its bound until its expiry comes.
//  4. The line of an awake page is at least its value (AwakeBand).
//  5. A pick is answered only when its exact value is at least the threshold, every bound of an
//  open
//     pool and every line; else the threshold is lowered, which wakes what becomes due.
// Hence the answer is what a full scan (BruteIndex) would give. docs/index-proofs.md derives the
// bounds.
#ifndef FRESHET_CORE_INDEX_PRICE_INDEX_IMPL_H_
#define FRESHET_CORE_INDEX_PRICE_INDEX_IMPL_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "core/index/alarm.h"
#include "core/index/awake_band.h"
#include "core/index/bound_pools.h"
#include "core/index/due_pages.h"
#include "core/index/index_groups.h"
#include "core/index/index_hosts.h"
#include "core/index/index_pages.h"
#include "core/index/pick_pace.h"
#include "core/index/price_index.h"
#include "core/index/waiting_queues.h"
#include "core/index/wake_threshold.h"
#include "core/index/wake_wheels.h"

namespace freshet {

// Owner thread only. The functions in front are those of PriceIndex.
class PriceIndex::Impl {
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

 private:
  using Place = PagePlace;
  static constexpr size_t kFewUnfiled = 4096;

  static void SetPlace(PageRow row, Place place, uint32_t position);
  [[nodiscard]] double Seconds(Instant at) const {
    return static_cast<double>(at.micros() - origin_.micros()) * 1e-6;
  }
  // Most of the hot pages are crawled soon.
  void PrefetchHot() const;
  // Unfile of a page that does not leave because its time has come.
  Crossing TakeOut(PageRow row);

  // --- price_filing.cc: where a page belongs ---
  // Takes the page out of its place; what was known of its crossing.
  Crossing Unfile(PageRow row);
  // Puts the page where it belongs at the current instant. `rival`: what the page was taken out of
  // a pool to be compared with; it is then awake, or its new bound is below.
  void File(PageRow row, Crossing crossing, std::optional<double> rival = {});
  // True: the page is delayed or forced, whatever its value.
  [[nodiscard]] bool FileByTimes(PageRow row);
  // Whether the crossing is of a level so near the threshold that bounds lead from one to the
  // other.
  [[nodiscard]] bool Serves(const Crossing& crossing) const;
  void FileAll();
  [[nodiscard]] Sleeping FileByCrossing(PageRow row, Crossing crossing, bool has_rival);
  void FileByValue(PageRow row, Crossing crossing, Sleeping sleeping, std::optional<double> rival);
  [[nodiscard]] Crossing FindCrossing(const ValueParameters& value) const;
  // Until the exponent is `due`, at which the value reaches the threshold at the earliest; `slow`:
  // by the exponent, at the crossing.
  [[nodiscard]] Sleeping Sleep(PageRow row, Crossing crossing, double due, const Slowness& slow,
                               double speed);
  // `value` may be null; else `jet` is that of the exact value now.
  void Awaken(PageRow row, Crossing crossing, const ValueJet& jet, const ValueParameters* value);
  // Of the pages of the host that wait for it or its group, a new one if there was none.
  [[nodiscard]] uint32_t PoolOf(HostId host);
  void Park(PageRow row, const ValueParameters& value, const ValueJet& jet);
  void Wait(PageRow row, uint32_t pool, double bound, double seconds);
  // In pool 0 for good; behind others of the same bound if it fits there.
  void WaitInTurn(PageRow row, double bound);
  // Unfile of a page that waits.
  void StopWaiting(PageRow row);
  static constexpr uint16_t kQueueLevel = 2;  // of the first queue
  // Of equal values the page that was crawled longest ago comes first, of forced ones that which
  // was to be crawled first. Infinite bounds are those of forced pages.
  [[nodiscard]] int64_t WaitingTurn(PageId page, double bound) const;
  [[nodiscard]] auto Turns() const {
    return [this](PageId page, double bound) { return WaitingTurn(page, bound); };
  }
  [[nodiscard]] auto Placed() {
    return [this](PageId page, uint32_t position) { pages_[page].record().position = position; };
  }
  // Files anew up to `max` of the pages that wheels have handed out.
  void WakeDue(size_t max);
  void RenewWheels();

  // --- index_checks.cc: for debug builds ---
  // Whether invariants 2 to 4 hold at the instant of the pick that ends: of some pages, in turn.
  [[nodiscard]] bool Holds(PageId page) const;
  [[nodiscard]] bool HoldsForNext(size_t pages);

  // --- price_index.cc: the pick ---
  [[nodiscard]] ValueJet Evaluate(uint32_t slot);
  // Brings alarms, splits and wheels up to now. False: nothing can be eligible.
  [[nodiscard]] bool Advance();
  [[nodiscard]] bool AlarmRings() const;
  void RingAlarms();
  void SetOpen(const IndexHost& host);
  void SetOpen(GroupId group);
  // The host or its group is not free.
  [[nodiscard]] bool Blocked(HostId host) const {
    return hosts_.Blocked(host) || groups_.Blocked(host);
  }
  [[nodiscard]] bool AnyBlocked() const {
    return hosts_.blocked_pages() > 0 || groups_.any_blocked();
  }
  void OpenDue();
  // `reach`: the period is not over, and the pick is worth at least that.
  void Split(double shorter, std::optional<double> reach);
  void SplitWarm(double shorter, std::optional<double> reach);
  // Prepares the next period of warm pages: some times after each split of them, near the end.
  void Examine();
  // Keeps threshold, band and wheels in shape: some times after each split.
  void Tidy();
  void MoveThreshold(double log_threshold);
  void SteerThreshold();
  // The same while picks are worth far more than what moves.
  void SteerFarBelow(size_t awake);
  // About what will be picked once every page was crawled once; 0: not known.
  [[nodiscard]] double PriceAhead() const;
  void RaiseThreshold();
  // `enough`: what is to be beaten, if there is something. False: no page sleeps.
  [[nodiscard]] bool LowerThreshold(double step, double enough);
  [[nodiscard]] std::optional<IndexPick> BestForced();
  [[nodiscard]] std::optional<IndexPick> BestAwake();
  // Whether a waiting page might be worth more than `best`; then it is looked at.
  [[nodiscard]] bool WakeRival(const std::optional<IndexPick>& best);
  // Evaluates all hot pages that may be worth more than `value`.
  void TightenAbove(double value);
  void ParkAwake(uint32_t slot);
  void WakeFirst(uint32_t pool, double rival);
  [[nodiscard]] size_t TargetAwake() const;

  IndexPages pages_;
  IndexHosts hosts_;
  IndexGroups groups_;

  WakeWheels wheels_;
  BoundPools pools_;
  WaitingQueues queues_;  // of pool 0
  AwakeBand band_;
  AlarmHeap<Instant, PageId> forced_;
  AlarmHeap<Instant, PageId> alarms_;   // of delays and floors
  AlarmHeap<double, PageId> expiries_;  // of bounds in pools
  DuePages due_;
  std::vector<uint32_t> slots_;

  size_t unfiled_ = 0;
  std::vector<PageId> unfiled_pages_;  // while they are few: there may be room for many more
  size_t asleep_ = 0;
  double near_ = 0;  // share of the way to its crossing that is not worth sleeping for
  Instant origin_;
  Instant now_;
  double t_ = 0;  // now_ on the clock of the index
  WakeThreshold threshold_;
  size_t awake_limit_ = 0;
  bool descending_ = false;  // the threshold is to fall until enough pages are awake
  bool filed_ = false;
  bool placed_ = false;         // the threshold is among values that move; till then no page sleeps
  int untidy_ = 0;              // calls of Tidy that are due
  int unexamined_ = 0;          // of Examine
  bool none_eligible_ = false;  // the last search found nothing eligible, and nothing has changed
  PickPace pace_;
  uint64_t evaluations_ = 0;
  size_t checked_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_PRICE_INDEX_IMPL_H_
