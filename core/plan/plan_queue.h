// Executes a rate plan at a constant total rate, page by page in the order of due times: the
// low-discrepancy schedule of core/plan/low_discrepancy.h for pages that come and go, whose hosts
// are not always free, and whose crawls may fail.
//
// Page i with rate rho_i has jobs one interval 1/rho_i apart: a job is released when the one before
// is due, and due an interval later. A tick goes to the released job that is due first, or, where
// nothing is released, to the page that is released next: no tick is lost while a page is
// eligible. Where every page is eligible and the rates sum to the rate of ticks, this is earliest
// due date first, and each page is within one crawl of its plan.
//
// A page that could not be crawled for long is not crawled many times in a row afterwards: it falls
// behind the jobs that are served now by one interval at most. Nor does one that was crawled early
// wait for more than two.
#ifndef FRESHET_CORE_PLAN_PLAN_QUEUE_H_
#define FRESHET_CORE_PLAN_PLAN_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "core/base/units.h"

namespace freshet {

// What the queue must know of a page. Value type, thread-compatible.
struct PlanEntry {
  double rate = 0;  // crawls per second; 0: only when asked for or forced
  HostId host;
  Instant eligible_from;                    // never picked before
  Instant forced_at = Instant::Infinite();  // from then on it goes before everything else
  Instant asked_at = Instant::Infinite();   // a signal asked for a crawl then
};

struct PlanPick {
  PageId page;
  // Grows as the due time falls, so that picks of several queues compare: the seconds from the due
  // time to the end of what a double counts in microseconds (2^53 us, in the year 2255). Infinite:
  // forced.
  double urgency = 0;
};

// Owner thread only. Memory: about 90 bytes a page. A pick costs O(log pages).
class PlanQueue {
 public:
  // Adds a page that was last fresh at `fresh_at`, due one interval later. One that is overdue by
  // more than an interval counts as overdue by one.
  void Add(PageId page, const PlanEntry& entry, Instant fresh_at, Instant now);
  // Replaces what is known of a page. With another rate, a page that is halfway to its next crawl
  // is halfway to it still.
  void Update(PageId page, const PlanEntry& entry, Instant now);
  // The page was crawled: its job is done.
  void Crawled(PageId page, Instant now);
  void Remove(PageId page);
  [[nodiscard]] bool Has(PageId page) const;
  // No pick until Offer. Precondition of both: the page is in.
  void Withhold(PageId page);
  void Offer(PageId page);
  // The pages of the host may be picked from `free_at` on.
  void SetHostFree(HostId host, Instant free_at);

  // The page to crawl at `at`, left in; none: nothing is eligible. `at` never steps back.
  [[nodiscard]] std::optional<PlanPick> Best(Instant at);
  // When the page's job is due; infinite: never. Precondition: the page is in.
  [[nodiscard]] Instant Due(PageId page) const;
  // As given. Precondition: the page is in.
  [[nodiscard]] Instant AskedAt(PageId page) const { return pages_[page.value()].entry.asked_at; }
  [[nodiscard]] size_t size() const { return size_; }

 private:
  struct Page {
    PlanEntry entry;
    Instant due = Instant::Infinite();  // of the job by rate alone
    uint32_t version = 0;               // of the last filing; other entries in heaps are void
    bool in = false;
    bool withheld = false;
  };
  struct Place {
    Instant time;
    uint32_t page;
    uint32_t version;
    bool operator>(const Place& other) const {
      return time != other.time ? time > other.time : page > other.page;
    }
  };
  struct Host {
    Instant free_at;
    std::vector<Place> parked;  // were at the top of the ready heap
  };
  struct HostWake {
    Instant at;
    uint32_t host;
    bool operator>(const HostWake& other) const { return at > other.at; }
  };
  template <typename T>
  using MinHeap = std::priority_queue<T, std::vector<T>, std::greater<>>;

  // A new version of the page, in the heap where it belongs.
  void File(uint32_t page);
  [[nodiscard]] bool Current(const Place& place) const;
  [[nodiscard]] Instant DueOf(const Page& page) const;
  [[nodiscard]] Instant ReleaseOf(const Page& page) const;
  [[nodiscard]] bool HostFree(const Page& page, Instant at) const;
  void Park(const Place& place);
  void WakeDue(Instant at);
  // The first page of the ready heap whose host is free.
  [[nodiscard]] std::optional<uint32_t> FirstReady(Instant at);
  // The first eligible page that is not released yet.
  [[nodiscard]] std::optional<uint32_t> FirstEarly(Instant at);

  std::vector<Page> pages_;  // by PageId
  std::vector<Host> hosts_;  // by HostId
  MinHeap<Place> waiting_;   // by the instant from which they are released and eligible
  MinHeap<Place> ready_;     // by due time; what is forced has the epoch
  MinHeap<Place> forced_;    // by the instant from which they are
  MinHeap<HostWake> host_wakes_;
  // Where the schedule stands: now, or as far back as it is late.
  Instant front_;
  size_t size_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_PLAN_QUEUE_H_
