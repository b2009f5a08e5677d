// Pages that wait under equal bounds, in the order of their turns: of each queue only the first is
// in a heap.
//
// A corpus that was just loaded is a million pages of one value. In a heap each of them that leaves
// would have others compared by their turns, which are looked up all over the memory, level by
// level; from a queue it leaves in no time.
#ifndef FRESHET_CORE_INDEX_WAITING_QUEUES_H_
#define FRESHET_CORE_INDEX_WAITING_QUEUES_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/units.h"

namespace freshet {

// Owner thread only. The caller keeps of each member its queue and its place there. A page that
// fits behind the last of no queue stays alone, which is right as well: so there need not be one
// queue for a bound, nor any. 4 bytes a page.
class WaitingQueues {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};
  // Numbers of queues are below.
  static constexpr uint32_t kQueues = 0xffff - 2;

  // Where a page fits that is to wait under `bound`. Value type, thread-compatible.
  struct Fit {
    uint32_t queue = kNone;  // behind the last of it
    bool pair = false;       // else: with `alone` in front, a page that Note was told of
    PageId alone;
  };
  // `turn` as WaitingTurns says it: pages of a queue are in the order of turns, then of pages.
  [[nodiscard]] Fit FitFor(double bound, int64_t turn, PageId page) const;
  // Its place there. Precondition: it fits.
  uint32_t Append(uint32_t queue, int64_t turn, PageId page);
  // A page waits alone: later ones may queue behind it.
  void Note(double bound, int64_t turn, PageId page);
  // A queue of one, which FitFor has named; kNone: there are too many.
  uint32_t Make(double bound, PageId first);

  [[nodiscard]] PageId First(uint32_t queue) const {
    const Queue& its = queues_[queue];
    return its.pages[its.front];
  }
  [[nodiscard]] double bound(uint32_t queue) const { return queues_[queue].bound; }
  // The first leaves, and the next one is it; false: there is none, and the queue is no more.
  bool DropFirst(uint32_t queue);
  // Another than the first leaves, which is at `place`. `Placed(page, place)` is called for those
  // that get another place.
  template <typename Placed>
  void Drop(uint32_t queue, uint32_t place, const Placed& placed);

 private:
  // What is gone from within counts as this.
  static constexpr PageId kGone = PageId(~uint32_t{0});
  // A longer line of pages is several queues: what is done to one at once is bounded.
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
    uint32_t queue = kNone;  // none: it waits alone
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
