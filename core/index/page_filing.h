// Keeps each page of a price index where it belongs: asleep in a wheel, waiting under a bound,
// awake in the band, delayed or forced; and moves the wake threshold, which decides between them.
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

// The part of a price index below its picks (core/index/price_index_impl.h has the invariants).
// Owner thread only.
class PageFiling {
 protected:
  using Place = PagePlace;
  // Pages that are taken at a time from a bucket that is due.
  static constexpr size_t kWakeBatch = 32;

  static void SetPlace(PageRow row, Place place, uint32_t position);
  [[nodiscard]] double Seconds(Instant at) const {
    return static_cast<double>(at.micros() - origin_.micros()) * 1e-6;
  }
  // Whether the host or its group is not free.
  [[nodiscard]] bool Blocked(HostId host) const {
    return hosts_.Blocked(host) || groups_.Blocked(host);
  }

  // --- page_filing.cc: where a page belongs
  // Takes the page out of its place, and returns its known crossing.
  Crossing Unfile(PageRow row);
  // Unfiles a page before its time has come. A sleeping page leaves a stale entry in its wheel.
  Crossing TakeOut(PageRow row);
  // Puts the page where it belongs at the current instant. `rival` is set for a page taken out of a
  // pool: the value that competes with the page. Such a page becomes awake, or waits with a new
  // bound below `rival`.
  void File(PageRow row, Crossing crossing, std::optional<double> rival = {});
  void Park(PageRow row, const ValueParameters& value, const ValueJet& jet);
  // Makes the page wait in the pool for `seconds`.
  void Wait(PageRow row, uint32_t pool, double bound, double seconds);
  // The value of an awake page now.
  [[nodiscard]] ValueJet Evaluate(uint32_t slot);

  // --- page_waking.cc: the threshold and the wheels
  void FileAll();
  // Empties the buckets that are due.
  void OpenDue();
  // Refiles at most `max` of the pages that wheels have handed out.
  void WakeDue(size_t max);
  // Refiles all handed-out pages whose time has come.
  void WakeAllDue() {
    while (t_ >= due_.by()) WakeDue(kWakeBatch);
  }
  void RenewWheels();
  void MoveThreshold(double log_threshold);
  void RaiseThreshold();
  // Lowers the logarithm of the threshold by `step`, but no farther than to `enough`, the value to
  // beat; 0 = none. False = no page sleeps, or the threshold is the lowest already.
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
  bool placed_ = false;  // the threshold lies among values that grow; before, no page sleeps
  uint64_t evaluations_ = 0;

 private:
  static constexpr size_t kFewUnfiled = 4096;

  // Files a page whose times delay or force it, whatever its value; false = they do neither.
  [[nodiscard]] bool FileByTimes(PageRow row);
  // Whether the level of the crossing is near enough to the threshold for the crossing to bound
  // when the value reaches the threshold.
  [[nodiscard]] bool Serves(const Crossing& crossing) const;
  [[nodiscard]] Sleeping FileByCrossing(PageRow row, Crossing crossing, bool has_rival);
  void FileByValue(PageRow row, Crossing crossing, Sleeping sleeping, std::optional<double> rival);
  [[nodiscard]] Crossing FindCrossing(const ValueParameters& value) const;
  // Files the page to sleep until the exponent is `due`, at which the value reaches the threshold
  // at the earliest. `slow`: bounds of V/(dV/ds) at the crossing, s the exponent.
  [[nodiscard]] Sleeping Sleep(PageRow row, Crossing crossing, double due, const Slowness& slow,
                               double speed);
  // Enters the page into the band. `value` may be nullptr; if not, `jet` is the jet of the exact
  // value now.
  void Awaken(PageRow row, Crossing crossing, const ValueJet& jet, const ValueParameters* value);

  size_t unfiled_ = 0;
  // The first unfiled pages. If these are all, FileAll need not look through the room for pages,
  // which may be far larger.
  std::vector<PageId> unfiled_pages_;
  double near_ = 0;  // a page with a smaller share of the way to its crossing left does not sleep
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_PAGE_FILING_H_
