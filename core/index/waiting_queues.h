// Queues of pages that wait under equal bounds, in the order of their turns: only the first page of
// a queue is in a heap.
//
// A freshly loaded corpus is a million pages of one value. Each page that leaves a heap makes it
// compare others by their turns, level by level, all over the memory; leaving a queue is cheap.
#ifndef FRESHET_CORE_INDEX_WAITING_QUEUES_H_
#define FRESHET_CORE_INDEX_WAITING_QUEUES_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/units.h"

namespace freshet {

// The caller keeps the queue and place of each member. A page that fits behind the last of no queue
// stays alone, which is also correct: a bound may have several queues or none. 4 bytes a page.
// Owner thread only.
class WaitingQueues {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};
  // Queues have numbers below this.
  static constexpr uint32_t kQueues = 0xffff - 2;

  // The place for a page to wait under a bound. Value type, thread-compatible.
  struct Fit {
    uint32_t queue = kNone;  // behind the last page of this queue
    bool pair = false;       // else in a new queue behind `alone`, a page given to Note
    PageId alone;
  };
  // `turn`: see WaitingTurns; pages of a queue are in the order of turns, then of pages.
  [[nodiscard]] Fit FitFor(double bound, int64_t turn, PageId page) const;
  // Appends the page and returns its place. Precondition: it fits.
  uint32_t Append(uint32_t queue, int64_t turn, PageId page);
  // Notes that a page waits alone: later pages may queue behind it.
  void Note(double bound, int64_t turn, PageId page);
  // Makes a queue of one page, Fit::alone; kNone = there are too many queues.
  uint32_t Make(double bound, PageId first);

  [[nodiscard]] PageId First(uint32_t queue) const {
    const Queue& its = queues_[queue];
    return its.pages[its.front];
  }
  [[nodiscard]] double bound(uint32_t queue) const { return queues_[queue].bound; }
  // Removes the first page, so that the next one is first; false = there is none, and the queue is
  // gone.
  bool DropFirst(uint32_t queue);
  // Removes a page other than the first, at `place`. `Placed(page, place)` is called for pages that
  // move.
  template <typename Placed>
  void Drop(uint32_t queue, uint32_t place, const Placed& placed);

 private:
  // Stands for a page that left from within.
  static constexpr PageId kGone = PageId(~uint32_t{0});
  // A longer line of pages becomes several queues, which bounds the work on one at once.
  static constexpr size_t kLongest = 4096;
  struct Queue {
    double bound = 0;
    uint32_t front = 0;
    uint32_t size = 0;  // members
    std::vector<PageId> pages;
  };
  // The latest page that came to wait under a bound.
  struct Latest {
    double bound = 0;
    int64_t turn = 0;
    PageId page = kGone;
    uint32_t queue = kNone;  // none = the page waits alone
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
