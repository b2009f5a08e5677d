// Exact argmax of the crawl value without touching all pages.
//
// The value of the page picked, the price, moves slowly. So a page whose value is below a claim a
// little under the price cannot be picked: it sleeps in a calendar until the earliest time at which
// it can reach the claim, whatever the claim does meanwhile (WakeCalendar). Those that the claim
// has let through are awake and compete by upper bounds that a few evaluations make exact
// (AwakeBand). Pages whose value stands still, or crawls towards the claim, and awake pages of
// hosts that are not free wait in heaps under a bound (BoundPools).
//
// Invariants, for every page that is in, at the instant of the last pick and any later one:
//  1. Exactly one place holds it: calendar, pool, band, or none because it is delayed, forced or
//     withheld.
//  2. A sleeping page is worth less than the claim until its calendar hands it out.
//  3. A waiting page is worth at most its bound until its expiry comes.
//  4. The line of an awake page is at least its value (AwakeBand).
//  5. A pick is answered only when its exact value is at least the claim, every bound of an open
//     pool and every line; else the claim is lowered, which wakes what becomes due.
// Hence the answer is what a full scan (BruteIndex) would give. docs/index-proofs.md
// derives the bounds.
#ifndef FRESHET_CORE_INDEX_PRICE_INDEX_H_
#define FRESHET_CORE_INDEX_PRICE_INDEX_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/plain_vector.h"
#include "core/base/segmented_array.h"
#include "core/index/alarm.h"
#include "core/index/awake_band.h"
#include "core/index/bound_pools.h"
#include "core/index/claim.h"
#include "core/index/due_pages.h"
#include "core/index/index_entry.h"
#include "core/index/page_rows.h"
#include "core/index/pick_pace.h"
#include "core/index/times_table.h"
#include "core/index/wake_calendars.h"

namespace freshet {

// Owner thread only. Pages are filed at the first pick, so that loading many costs little and needs
// no guess of the price; 38 bytes a page, and 5 to 9 in the calendars. No call allocates in steady
// state.
class PriceIndex {
 public:
  // Makes room for so many ids. Put and SetHostFree would make all that is missing at once.
  void GrowTo(size_t pages, size_t hosts);
  // Adds or replaces a page; the entry need not be canonical. One that is withheld stays so.
  void Put(PageId page, const IndexEntry& entry);
  // A crawl or a signal: the exponent is `exponent` at `since`, all else as it was put.
  // Precondition: the page is in.
  void Restart(PageId page, double exponent, Instant since);
  // Takes the page out; no-op when it is not in.
  void Remove(PageId page);
  // Takes the page out of competition, its record stays: no pick until Offer. For pages that are
  // being crawled. Precondition of both: the page is in.
  void Withhold(PageId page);
  void Offer(PageId page);
  // The pages of `host` are eligible from `free_at` on (infinite: until told otherwise). Hosts that
  // were never named are free. Cost: a few heap operations, whatever the number of its pages.
  void SetHostFree(HostId host, Instant free_at);

  // The page of highest deciding value among those that are eligible at `at`; of equal values the
  // one that has waited longest. Leaves it in. `at` must not be earlier than in the call before.
  [[nodiscard]] std::optional<IndexPick> Best(Instant at);

  // The canonical form of what was put and restarted, also while the page is withheld; none: not
  // in. An eligible_from that had passed when it was put is none.
  [[nodiscard]] std::optional<IndexEntry> Find(PageId page) const;
  // Precondition: the page is in.
  [[nodiscard]] double ExponentOf(PageId page, Instant at) const;
  // Pages that are in, withheld ones too.
  [[nodiscard]] size_t size() const { return size_; }
  // Pages that compete, exact evaluations so far, entries of calendars (of pages that left, too).
  [[nodiscard]] size_t awake() const { return band_.size(); }
  [[nodiscard]] uint64_t evaluations() const { return evaluations_; }
  [[nodiscard]] uint64_t entries() const { return calendars_.entries(); }

 private:
  using Place = PagePlace;
  using PageAlarm = Alarm<Instant, PageId>;
  static constexpr size_t kFewUnfiled = 4096;

  [[nodiscard]] Place PlaceOf(PageId page) const { return rows_.record(page).place(); }
  static void SetPlace(PageRow row, Place place, uint32_t position);
  [[nodiscard]] bool Has(PageId page) const;
  [[nodiscard]] const Policy& PolicyOf(const IndexRecord& record) const {
    return policies_[record.policy()];
  }
  [[nodiscard]] uint64_t InternPolicy(const Policy& policy);
  [[nodiscard]] double Seconds(Instant at) const {
    return static_cast<double>(at.micros() - origin_.micros()) * 1e-6;
  }
  [[nodiscard]] bool Blocked(HostId host) const {
    return host.value() < hosts_.size() && hosts_[host.value()].blocked;
  }
  [[nodiscard]] const PageTimes* TimesOf(PageId page) const { return times_.Find(page); }
  // Most of the hot pages are crawled soon.
  void PrefetchHot() const;
  void CountHost(HostId host, int change);
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
  // Whether the crossing is of a level so near the claim that bounds lead from one to the other.
  [[nodiscard]] bool Serves(const Crossing& crossing) const;
  void FileAll();
  [[nodiscard]] Sleeping FileByCrossing(PageRow row, Crossing crossing, bool has_rival);
  void FileByValue(PageRow row, Crossing crossing, Sleeping sleeping, std::optional<double> rival);
  [[nodiscard]] Crossing FindCrossing(const ValueParameters& value) const;
  // Until the exponent is `due`, at which the value reaches the claim at the earliest; `slow`: by
  // the exponent, at the crossing.
  [[nodiscard]] Sleeping Sleep(PageRow row, Crossing crossing, double due, const Slowness& slow,
                               double speed);
  // `value` may be null; else `jet` is that of the exact value now.
  void Awaken(PageRow row, Crossing crossing, const ValueJet& jet, const ValueParameters* value);
  void Park(PageRow row, const ValueParameters& value, const ValueJet& jet);
  void Wait(PageRow row, uint32_t pool, double bound, double seconds);
  // Of equal values the page that was crawled longest ago comes first, of forced ones that which
  // was to be crawled first. Infinite bounds are those of forced pages.
  [[nodiscard]] int64_t WaitingTurn(PageId page, double bound) const;
  [[nodiscard]] auto Turns() const {
    return [this](PageId page, double bound) { return WaitingTurn(page, bound); };
  }
  [[nodiscard]] auto Placed() {
    return [this](PageId page, uint32_t position) { rows_[page].record().position = position; };
  }
  // Files anew up to `max` of the pages that calendars have handed out.
  void WakeDue(size_t max);
  void RenewCalendars();

  // --- index_checks.cc: for debug builds ---
  // Whether invariants 2 to 4 hold at the instant of the pick that ends: of some pages, in turn.
  [[nodiscard]] bool Holds(PageId page) const;
  [[nodiscard]] bool HoldsForNext(size_t pages);

  // --- price_index.cc: the pick ---
  [[nodiscard]] ValueJet Evaluate(uint32_t slot);
  // Brings alarms, splits and calendars up to now. False: nothing can be eligible.
  [[nodiscard]] bool Advance();
  [[nodiscard]] bool AlarmRings() const;
  void RingAlarms();
  void OpenDue();
  // `reach`: the period is not over, and the pick is worth at least that.
  void Split(double shorter, std::optional<double> reach);
  void SplitWarm(double shorter, std::optional<double> reach);
  // Prepares the next period of warm pages: some times after each split of them, near the end.
  void Examine();
  // Keeps claim, band and calendars in shape: some times after each split.
  void Tidy();
  void MoveClaim(double log_claim);
  void SteerClaim();
  void RaiseClaim();
  // False: no page sleeps.
  [[nodiscard]] bool LowerClaim(double step, double enough);
  [[nodiscard]] std::optional<IndexPick> BestForced();
  [[nodiscard]] std::optional<IndexPick> BestAwake();
  // Whether a waiting page might be worth more than `best`; then it is looked at.
  [[nodiscard]] bool WakeRival(const std::optional<IndexPick>& best);
  // Evaluates all hot pages that may be worth more than `value`.
  void TightenAbove(double value);
  void ParkAwake(uint32_t slot);
  void WakeFirst(uint32_t pool, double rival);
  [[nodiscard]] size_t TargetAwake() const;

  PageRows rows_;
  TimesTable times_;
  SegmentedArray<WaitingHost> hosts_;  // by HostId
  std::array<Policy, 4> policies_;
  std::array<uint64_t, 4> policy_pages_{};

  WakeCalendars calendars_;
  BoundPools pools_;
  AwakeBand band_;
  PlainVector<PageAlarm> forced_;  // heaps
  PlainVector<PageAlarm> alarms_;  // of delays and floors
  std::vector<Alarm<Instant, HostId>> host_alarms_;
  PlainVector<Alarm<double, PageId>> expiries_;  // of bounds in pools
  DuePages due_;
  std::vector<uint32_t> slots_;

  size_t size_ = 0;
  size_t unfiled_ = 0;
  std::vector<PageId> unfiled_pages_;  // while they are few: there may be room for many more
  size_t asleep_ = 0;
  size_t blocked_pages_ = 0;
  double near_ = 0;  // share of the way to its crossing that is not worth sleeping for
  Instant origin_;
  Instant now_;
  double t_ = 0;  // now_ on the clock of the index
  Claim claim_;
  size_t awake_limit_ = 0;
  bool descending_ = false;  // the claim is to fall until enough pages are awake
  bool filed_ = false;
  int untidy_ = 0;       // calls of Tidy that are due
  int unexamined_ = 0;   // of Examine
  bool barren_ = false;  // the last search found nothing eligible, and nothing has changed
  PickPace pace_;
  uint64_t evaluations_ = 0;
  size_t checked_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_PRICE_INDEX_H_
