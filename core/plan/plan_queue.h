// Executes a rate plan at a constant total rate, page by page in the order of due times: the
// low-discrepancy schedule for pages that come and go, whose hosts are not always free, and whose
// crawls may fail.
//
// Page i with rate rho_i has jobs one interval 1/rho_i apart: a job is released when the one before
// is due, and due an interval later. A tick goes to the released job that is due first or, if
// nothing is released, to the page that is released next: no tick is lost while a page is eligible.
// If every page is eligible and the rates sum to the rate of ticks, this is earliest due date
// first, and each page is within one crawl of its plan.
//
// A page that could not be crawled for long is not crawled many times in a row afterwards: it falls
// at most one interval behind the jobs served now. A page that was crawled early waits at most two
// intervals.
//
// Every host has a heap of its released pages and one of pages that wait for their release; heaps
// of hosts hold the first page of each. So a pick, or a host that becomes free or blocked, looks at
// one path of a few heaps, for any number of pages.
//
// Invariants: a page lies in the heap that its times say as of the last call. Pages that are
// suspended, before their eligible_from or without a job lie in none. A host lies in the heaps of
// hosts by its first pages, and in those for picks only while it is free.
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
  double rate = 0;  // crawls per second, in single precision; 0 = only on request or forced
  HostId host;
  Instant eligible_from;                    // never picked before
  Instant forced_at = Instant::Infinite();  // when the page goes before all others
  Instant asked_at = Instant::Infinite();   // a signal asked for a crawl then
};

struct PlanPick {
  PageId page;
  // Grows as the due time falls, so that picks of several queues compare: the seconds from the due
  // time to the year 2255, where a double stops counting microseconds (2^53 us). Infinite = forced.
  double urgency = 0;
};

// Owner thread only. At most limits::kMaxPagesPerShard pages. Memory: 36 bytes a page, 32 more for
// one with an instant in its entry and 12 more while that is to come, 80 a host. Add, Update,
// Crawled, Remove, Suspend, Resume and SetHostFree are a few heap operations. So is a pick, plus
// some for each page that was released, became eligible or was forced since the last pick: about
// one a tick in the long run.
class PlanQueue {
 public:
  // Makes room for these numbers of page and host ids. Add makes missing room all at once: to add
  // many pages, call this first, a little at a time.
  void GrowTo(size_t pages, size_t hosts);
  // Adds a page that was last fresh at `fresh_at`, due one interval later. A page overdue by more
  // than an interval counts as overdue by one.
  void Add(PageId page, const PlanEntry& entry, Instant fresh_at, Instant now);
  // Replaces the entry of a page. With another rate, a page that is halfway to its next crawl stays
  // halfway.
  void Update(PageId page, const PlanEntry& entry, Instant now);
  // Ends the job of a page that was crawled.
  void Crawled(PageId page, Instant now);
  void Remove(PageId page);
  [[nodiscard]] bool Has(PageId page) const;
  // Bars the page from picks until Resume. Precondition of both: the page is in.
  void Suspend(PageId page);
  void Resume(PageId page);
  // Lets the pages of the host be picked from `free_at` on.
  void SetHostFree(HostId host, Instant free_at);

  // The page to crawl at `at`, left in; nullopt = nothing is eligible. Among equal ones the
  // smallest id. `at` never steps back; an `at` before the latest instant known to the queue counts
  // as that.
  [[nodiscard]] std::optional<PlanPick> Best(Instant at);
  // When the page's job is due; infinite = never. Precondition of this and Entry: the page is in.
  [[nodiscard]] Instant Due(PageId page) const;
  // The entry as given; an eligible_from that had passed reads as none.
  [[nodiscard]] PlanEntry Entry(PageId page) const;
  [[nodiscard]] size_t size() const { return size_; }
  // Entries of heaps looked at so far: the cost of all calls, on any machine.
  [[nodiscard]] uint64_t operations() const { return operations_; }

 private:
  enum class Place : uint8_t {
    kNone,     // not in
    kIdle,     // suspended, delayed, or without a job
    kReady,    // released
    kWaiting,  // until the release
  };
  struct Page {
    Instant due = Instant::Infinite();  // when the job is due, by rate alone
    float rate = 0;
    uint32_t host = 0;
    uint32_t position = 0;  // in the heap of the host
    uint32_t place : 3 = 0;
    uint32_t suspended : 1 = 0;
    uint32_t times : 28 = 0;  // 1 + the place in times_; 0 = none
  };
  // The instants of a page that has any.
  struct Times {
    Instant eligible_from;
    Instant forced_at = Instant::Infinite();
    Instant asked_at = Instant::Infinite();
    uint32_t alarm = PlacedHeap::kNowhere;  // position
  };
  struct Host {
    Instant free_at;
    PlacedHeap ready;    // by due time; forced ones first
    PlacedHeap waiting;  // by release
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
  // Files the page by the latest known instant. Precondition: the page is in no heap.
  void File(uint32_t page);
  void Unfile(uint32_t page);
  void Enter(uint32_t page, Place place, Instant key);
  // Brings the heaps of hosts up to date after the first pages of a host may have changed.
  void Settle(uint32_t host);
  void SettleIn(PlacedHeap& heap, uint32_t Host::*position, Host& host, const PlacedHeap* pages);
  void SetAlarm(uint32_t page, Instant at);
  void SetHostAlarm(uint32_t host, Instant at);
  // Refiles the pages and hosts that move as time passes.
  void Advance(Instant at);

  SegmentedArray<Page> pages_;  // by PageId
  SegmentedArray<Host> hosts_;  // by HostId
  SegmentedArray<Times> times_;
  std::vector<uint32_t> free_times_;
  PlacedHeap ready_;        // the first ready page of every free host
  PlacedHeap early_;        // the first waiting page of every free host
  PlacedHeap releases_;     // the first waiting page of every host
  PlacedHeap alarms_;       // pages that move at an instant
  PlacedHeap host_alarms_;  // hosts that become free at an instant
  Instant now_;             // the latest known instant
  // The position of the schedule: now, or earlier by its delay.
  Instant front_;
  size_t size_ = 0;
  uint64_t operations_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_PLAN_QUEUE_H_
