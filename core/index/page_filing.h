// Keeps each page of a price index in the right place: asleep in a wheel, waiting under a bound,
// awake in the band, delayed or forced. Also moves the wake threshold, which decides between these
// places.
#ifndef FRESHET_CORE_INDEX_PAGE_FILING_H_
#define FRESHET_CORE_INDEX_PAGE_FILING_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/index/alarm.h"
#include "core/index/awake_band.h"
#include "core/index/awake_pages.h"
#include "core/index/due_pages.h"
#include "core/index/index_groups.h"
#include "core/index/index_hosts.h"
#include "core/index/index_pages.h"
#include "core/index/pick_pace.h"
#include "core/index/waiting_pages.h"
#include "core/index/wake_threshold.h"
#include "core/index/wake_wheels.h"

namespace freshet {

// The part of a price index that files pages. Picks are in PriceIndex::Impl
// (core/index/price_index_impl.h, which also lists the invariants). Owner thread only.
class PageFiling {
 protected:
  using Place = PagePlace;
  // Max pages taken from a due bucket at a time.
  static constexpr size_t kWakeBatch = 32;

  static void SetPlace(PageRow row, Place place, uint32_t position);
  [[nodiscard]] double Seconds(Instant at) const {
    return static_cast<double>(at.micros() - origin_.micros()) * 1e-6;
  }
  // Returns true if the host or its group is not free.
  [[nodiscard]] bool Blocked(HostId host) const {
    return hosts_.Blocked(host) || groups_.Blocked(host);
  }

  // --- page_filing.cc: where a page belongs
  // Removes the page from its place, and returns its crossing if it is known.
  Crossing Unfile(PageRow row);
  // Unfiles a page that has not been handed out. A sleeping page leaves a stale entry in its wheel.
  Crossing TakeOut(PageRow row);
  // Puts the page where it belongs now. `rival` is set for a page that comes from a pool: it is the
  // value that the page must beat. A page with a rival becomes awake, or waits under a new bound
  // below `rival`.
  void File(PageRow row, Crossing crossing, std::optional<double> rival = {});
  void Park(PageRow row, const ValueParameters& value, const ValueJet& jet);
  // Makes the page wait in the pool for at most `seconds`.
  void Wait(PageRow row, uint32_t pool, double bound, double seconds);
  // The current value of an awake page.
  [[nodiscard]] ValueJet Evaluate(uint32_t slot);

  // --- page_waking.cc: the threshold and the wheels
  void FileAll();
  // Empties the buckets that are due.
  void OpenDue();
  // Refiles at most `max` of the pages that wheels have handed out.
  void WakeDue(size_t max);
  // Refiles all handed-out pages that are due.
  void WakeAllDue() {
    while (t_ >= due_.by()) WakeDue(kWakeBatch);
  }
  void RenewWheels();
  void MoveThreshold(double log_threshold);
  void RaiseThreshold();
  // Lowers ln(threshold) by `step`, but keeps the threshold at `enough`, the value to beat, or
  // above; 0 = no such limit. False = no page sleeps, or the threshold is at its minimum.
  [[nodiscard]] bool LowerThreshold(double step, double enough);
  [[nodiscard]] size_t TargetAwake() const;

  IndexPages pages_;
  IndexHosts hosts_;
  IndexGroups groups_;
  WakeWheels wheels_;
  WaitingPages waiting_{pages_, hosts_, groups_};
  AwakePages awake_;
  AwakeBand band_{awake_};
  AlarmHeap<Instant, PageId> forced_;
  DuePages due_;
  WakeThreshold threshold_;
  PickPace pace_;

  size_t asleep_ = 0;
  size_t awake_limit_ = 0;
  Instant origin_;
  Instant now_;
  double t_ = 0;  // now_ on the clock of the index
  bool filed_ = false;
  bool placed_ = false;  // the threshold was derived from growing values; until then no page sleeps
  uint64_t evaluations_ = 0;

 private:
  static constexpr size_t kFewUnfiled = 4096;

  // Files the page if its times delay or force it. False = they do neither.
  [[nodiscard]] bool FileByTimes(PageRow row);
  // Returns true if the level of the crossing is so near the threshold that the crossing bounds the
  // time at which the value reaches the threshold.
  [[nodiscard]] bool Serves(const Crossing& crossing) const;
  [[nodiscard]] Sleeping FileByCrossing(PageRow row, Crossing crossing, bool has_rival);
  void FileByValue(PageRow row, Crossing crossing, Sleeping sleeping, std::optional<double> rival);
  [[nodiscard]] Crossing FindCrossing(const ValueParameters& value) const;
  // Files the page to sleep until its exponent is `due`, the earliest at which its value can reach
  // the threshold. `slow`: bounds of V/(dV/ds) at the crossing, where s is the exponent.
  [[nodiscard]] Sleeping Sleep(PageRow row, Crossing crossing, double due, const Slowness& slow,
                               double speed);
  // Adds the page to the band. If `value` is not nullptr, `jet` is the jet of the exact value now.
  void Awaken(PageRow row, Crossing crossing, const ValueJet& jet, const ValueParameters* value);

  size_t unfiled_ = 0;
  // The first unfiled pages. If this list has all unfiled pages, FileAll need not scan the whole
  // range of page ids, which can be far larger.
  std::vector<PageId> unfiled_pages_;
  // A page does not sleep if less than this share of the way to its crossing is left.
  double near_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_PAGE_FILING_H_
