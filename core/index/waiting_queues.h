// Queues of pages that wait under equal bounds, ordered by turn. Only the first page of a queue is
// in a heap.
//
// A freshly loaded corpus can have a million pages of equal value. If all of them were in a heap,
// removing one would compare turns at each level of the heap, with a cache miss for each page.
// Removing a page from a queue is cheap.
#ifndef FRESHET_CORE_INDEX_WAITING_QUEUES_H_
#define FRESHET_CORE_INDEX_WAITING_QUEUES_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/units.h"

namespace freshet {

// A page is appended to a queue if it comes after the last page of that queue; otherwise it waits
// outside of the queues. A bound can have several queues or none. The caller stores the queue of
// each page and its place in the queue. Takes 4 bytes per page. Owner thread only.
class WaitingQueues {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};
  // Queue numbers are below this.
  static constexpr uint32_t kQueues = 0xffff - 2;

  // The queue for a page, if there is one. Value type, thread-compatible.
  struct Fit {
    uint32_t queue = kNone;  // the page fits behind the last page of this queue
    bool pair = false;       // no queue, but `alone` (see Note) and the page can form one
    PageId alone;
  };
  // `turn`: see WaitingTurns. The pages of a queue are ordered by turn, then by id.
  [[nodiscard]] Fit FitFor(double bound, int64_t turn, PageId page) const;
  // Appends the page and returns its place. Precondition: FitFor returned this queue.
  uint32_t Append(uint32_t queue, int64_t turn, PageId page);
  // Notes that a page waits outside of the queues, so that later pages can queue behind it.
  void Note(double bound, int64_t turn, PageId page);
  // Makes a queue with one page, Fit::alone. kNone = there are too many queues.
  uint32_t Make(double bound, PageId first);

  [[nodiscard]] PageId First(uint32_t queue) const {
    const Queue& its = queues_[queue];
    return its.pages[its.front];
  }
  [[nodiscard]] double bound(uint32_t queue) const { return queues_[queue].bound; }
  // Removes the first page; the next one becomes first. False = there was no next page, and the
  // queue no longer exists.
  bool DropFirst(uint32_t queue);
  // Removes the page at `place`, which must not be the first. `placed(page, place)` is called for
  // each page that moves.
  template <typename Placed>
  void Drop(uint32_t queue, uint32_t place, const Placed& placed);

 private:
  // Marks the place of a page that was removed from the middle of a queue.
  static constexpr PageId kGone = PageId(~uint32_t{0});
  // A longer run of pages is split into several queues, which bounds the work on one queue.
  static constexpr size_t kLongest = 4096;
  struct Queue {
    double bound = 0;
    uint32_t front = 0;
    uint32_t size = 0;  // members
    std::vector<PageId> pages;
  };
  // The page that most recently began to wait under a bound.
  struct Latest {
    double bound = 0;
    int64_t turn = 0;
    PageId page = kGone;
    uint32_t queue = kNone;  // kNone = the page is in no queue
  };
  [[nodiscard]] static size_t PlaceOf(double bound) {
    return std::bit_cast<uint64_t>(bound) * 0x9E3779B97F4A7C15u >> 56;
  }

  std::vector<Queue> queues_;
  std::vector<uint32_t> free_;
  std::array<Latest, 256> latest_;
};

template <typename Placed>
void WaitingQueues::Drop(uint32_t queue, uint32_t place, const Placed& placed) {
  Queue& its = queues_[queue];
  its.pages[place] = kGone;
  --its.size;
  const size_t left = its.pages.size() - its.front;
  if (left < 4 * size_t{its.size} + 64) return;
  size_t end = 0;
  for (size_t i = its.front; i < its.pages.size(); ++i) {
    const PageId page = its.pages[i];
    if (page == kGone) continue;
    if (end > 0) placed(page, static_cast<uint32_t>(end));
    its.pages[end++] = page;
  }
  its.front = 0;
  its.pages.resize(end);
}

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_WAITING_QUEUES_H_
