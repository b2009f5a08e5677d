// Executes a rate plan at a constant total rate, page by page in the order of due times. The caller
// picks one page at each tick of this rate. The queue implements the low-discrepancy schedule for
// pages that come and go, whose hosts are not always free, and whose crawls can fail.
//
// Page i with rate rho_i has jobs one interval 1/rho_i apart. A job is released when the previous
// one is due, and it is due one interval later. Each tick serves the released job that is due
// first. If no job is released, the tick serves the page that will be released next, so no tick is
// lost while a page is eligible. If every page is eligible and the rates add up to the rate of
// ticks, this is earliest-deadline-first scheduling, and each page stays within one crawl of its
// plan.
//
// A page that could not be crawled for a long time is not crawled many times in a row afterwards,
// because the queue lets it fall at most one interval behind the jobs that are served now. A page
// that was crawled early waits at most two intervals.
//
// Every host has a heap of its released pages, and a heap of its pages that wait for their release.
// Further heaps, called heaps of hosts, hold the first page of each host. A pick therefore visits
// one path in each of a few heaps, for any number of pages. The same holds when a host becomes free
// or blocked.
//
// Invariants: each page is in the heap that its times require as of the last call. A page is in no
// heap while it is suspended, before its eligible_from, or without a job. Each host is represented
// in the heaps of hosts by its first pages. A host is in the heaps for picks (ready_ and early_)
// only while it is free.
#ifndef FRESHET_CORE_PLAN_PLAN_QUEUE_H_
#define FRESHET_CORE_PLAN_PLAN_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/segmented_array.h"
#include "core/base/units.h"
#include "core/plan/placed_heap.h"

namespace freshet {

// The entry of a page in the queue. Value type, thread-compatible.
struct PlanEntry {
  double rate = 0;  // crawls per second, in single precision; 0 = only if requested or forced
  HostId host;
  Instant eligible_from;                    // never picked before this
  Instant forced_at = Instant::Infinite();  // from then on, the page precedes all others
  Instant asked_at = Instant::Infinite();   // the time at which a signal requests a crawl
};

struct PlanPick {
  PageId page;
  // Compares picks of several queues: the earlier the due time, the greater. It is the number of
  // seconds from the due time to the year 2255, when microseconds no longer fit exactly into a
  // double (2^53 us). Infinite = forced.
  double urgency = 0;
};

// At most limits::kMaxPagesPerShard pages. Memory: 36 bytes per page; 32 more for a page with an
// instant in its entry, and 12 more while that instant is in the future; 80 bytes per host. Add,
// Update, Crawled, Remove, Suspend, Resume and SetHostFree take a few heap operations. A pick takes
// a few more for each page that was released, became eligible or was forced since the last pick,
// which is about one page per tick in the long run. Owner thread only.
class PlanQueue {
 public:
  // Allocates room for `pages` page ids and `hosts` host ids. Without this call, Add allocates all
  // missing room at once. Before you add many pages, call GrowTo in small steps to avoid a long
  // pause.
  void GrowTo(size_t pages, size_t hosts);
  // Adds a page that was last fresh at `fresh_at`. It is due one interval later. A page that is
  // overdue by more than one interval counts as overdue by one interval.
  void Add(PageId page, const PlanEntry& entry, Instant fresh_at, Instant now);
  // Replaces the entry of a page. If the rate changes, a page that is halfway to its next crawl
  // stays halfway.
  void Update(PageId page, const PlanEntry& entry, Instant now);
  // Ends the job of a page that was crawled.
  void Crawled(PageId page, Instant now);
  void Remove(PageId page);
  [[nodiscard]] bool Has(PageId page) const;
  // Keeps the page from being picked until Resume. Precondition of both: the page is in the queue.
  void Suspend(PageId page);
  void Resume(PageId page);
  // From `free_at` on, the pages of the host can be picked.
  void SetHostFree(HostId host, Instant free_at);

  // Returns the page to crawl at `at`, and keeps it in the queue. nullopt = no page is eligible.
  // Among equal pages, the smallest id wins. If `at` is before the latest instant that was passed
  // to any function of the queue, the queue uses that instant instead.
  [[nodiscard]] std::optional<PlanPick> Best(Instant at);
  // When the page's job is due; infinite = never. Precondition of this and Entry: the page is in
  // the queue.
  [[nodiscard]] Instant Due(PageId page) const;
  // The page's entry, except that an eligible_from that has passed reads as none.
  [[nodiscard]] PlanEntry Entry(PageId page) const;
  [[nodiscard]] size_t size() const { return size_; }
  // The number of heap entries visited so far: a measure of the cost that does not depend on the
  // machine.
  [[nodiscard]] uint64_t operations() const { return operations_; }

 private:
  enum class Place : uint8_t {
    kNone,     // not in the queue
    kIdle,     // suspended, delayed, or without a job
    kReady,    // its job is released
    kWaiting,  // its job is not released yet
  };
  struct Page {
    Instant due = Instant::Infinite();  // when the job is due by the rate alone
    float rate = 0;
    uint32_t host = 0;
    uint32_t position = 0;  // in the heap of the host
    uint32_t place : 3 = 0;
    uint32_t suspended : 1 = 0;
    uint32_t times : 28 = 0;  // 1 + the index in times_; 0 = none
  };
  // The instants of an entry. Stored only for pages that have one.
  struct Times {
    Instant eligible_from;
    Instant forced_at = Instant::Infinite();
    Instant asked_at = Instant::Infinite();
    uint32_t alarm = PlacedHeap::kNowhere;  // position in alarms_
  };
  struct Host {
    Instant free_at;
    PlacedHeap ready;    // by due time; forced pages first
    PlacedHeap waiting;  // by release time
    // Positions in the heaps of hosts.
    uint32_t in_ready = PlacedHeap::kNowhere;
    uint32_t in_early = PlacedHeap::kNowhere;
    uint32_t in_releases = PlacedHeap::kNowhere;
    uint32_t alarm = PlacedHeap::kNowhere;
    bool open = true;
  };

  [[nodiscard]] Place PlaceOf(uint32_t page) const {
    return static_cast<Place>(pages_[page].place);
  }
  [[nodiscard]] const Times& TimesOf(const Page& page) const;
  void SetTimes(uint32_t page, const Times& times);
  [[nodiscard]] Instant DueOf(const Page& page) const;
  [[nodiscard]] Instant ReleaseOf(const Page& page) const;
  // Puts the page into the heap, if any, where it belongs at now_, and sets its alarm.
  // Precondition: the page is in no heap.
  void File(uint32_t page);
  void Unfile(uint32_t page);
  void Enter(uint32_t page, Place place, Instant key);
  // Updates the heaps of hosts after the first pages of a host might have changed.
  void Settle(uint32_t host);
  void SettleIn(PlacedHeap& heap, uint32_t Host::*position, Host& host, const PlacedHeap* pages);
  void SetAlarm(uint32_t page, Instant at);
  void SetHostAlarm(uint32_t host, Instant at);
  // Refiles the pages and hosts whose place has changed because time has passed.
  void Advance(Instant at);

  SegmentedArray<Page> pages_;  // by PageId
  SegmentedArray<Host> hosts_;  // by HostId
  SegmentedArray<Times> times_;
  std::vector<uint32_t> free_times_;
  PlacedHeap ready_;        // the first ready page of every free host
  PlacedHeap early_;        // the first waiting page of every free host
  PlacedHeap releases_;     // the first waiting page of every host
  PlacedHeap alarms_;       // pages that move to another place at a known time
  PlacedHeap host_alarms_;  // hosts that become free at a known time
  Instant now_;             // the latest known instant
  // The position of the schedule: now, or the due time of the last pick if that is earlier.
  Instant front_;
  size_t size_ = 0;
  uint64_t operations_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_PLAN_QUEUE_H_
