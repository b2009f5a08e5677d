// Pages that wait, each with an upper bound of its value. A pick ignores a waiting page if it has a
// page that is worth more than the bound.
//
// A pool is a heap of pages by bound. Pool 0 is for pages whose values are constant or grow too
// slowly for a wheel (docs/index.md). Every other pool belongs to one host, and has the pages that
// would compete if the host were free. A pool is open if its pages can be picked now. The open
// pools are in a heap by the bound of their first page, so one comparison shows if a waiting page
// might win. The pools of hosts in a group are in a heap of that group, and the free groups are in
// another heap. A group with any number of hosts therefore opens or closes in one step.
#ifndef FRESHET_CORE_INDEX_BOUND_POOLS_H_
#define FRESHET_CORE_INDEX_BOUND_POOLS_H_

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/base/plain_vector.h"
#include "core/base/units.h"

namespace freshet {

// A page in a pool. It takes only 12 bytes, because the bound is stored in two halves, which need
// no padding. This matters because the heap of pages with constant values can have most pages of an
// index. Value type, thread-compatible.
class WaitingPage {
 public:
  WaitingPage(double bound, PageId page)
      : bound_(std::bit_cast<std::array<uint32_t, 2>>(bound)), page_(page) {}
  [[nodiscard]] double bound() const { return std::bit_cast<double>(bound_); }
  [[nodiscard]] PageId page() const { return page_; }

 private:
  std::array<uint32_t, 2> bound_;
  PageId page_;
};
static_assert(sizeof(WaitingPage) == 12);

// Returns the turn of a page that waits under `bound`: among equal bounds, the page with the
// smaller turn comes first. The turn follows from the page's record, so pools do not store it; it
// must not change while the page waits. Called only if bounds are equal.
using WaitingTurns = absl::FunctionRef<int64_t(PageId page, double bound)>;

// The pools of an index. A pool is a heap by bound, then by longest wait. The open pools are in a
// heap by their first pages. Pools are opened and closed very often. Each time takes a few steps,
// for any number of pages. `placed(page, position)` is called whenever a page moves inside its
// pool; the caller stores the position and passes it to Remove and Replace. All calls must use the
// same `turns`. Allocates nothing once the vectors have grown to their final size. Owner thread
// only.
class BoundPools {
 public:
  BoundPools();

  // Makes an empty, closed pool of the group; 0 = no group.
  [[nodiscard]] uint32_t Make(GroupId group = GroupId());
  // Precondition: empty.
  void Drop(uint32_t pool);
  // Sets whether the pages of the pool can be picked now.
  void SetOpen(uint32_t pool, bool open, WaitingTurns turns);

  // Sets whether the pages of the group's open pools can be picked now. A group is open until the
  // first call for it. Precondition: not group 0.
  void SetGroupOpen(GroupId group, bool open, WaitingTurns turns);
  // Moves the pool to the group.
  void Move(uint32_t pool, GroupId group, WaitingTurns turns);

  // The order of waiting pages: larger bounds first, then smaller turns, then smaller page ids.
  [[nodiscard]] static bool Precedes(const WaitingPage& a, const WaitingPage& b,
                                     WaitingTurns turns) {
    if (a.bound() != b.bound()) return a.bound() > b.bound();
    return PrecedesOfEqual(a, b, turns);
  }

  // Adds a page. The number of steps, and of calls of `placed`, is logarithmic in the pool's size.
  // Memory grows without copying the waiting pages.
  template <typename Placed>
  void Add(uint32_t pool, const WaitingPage& waiting, WaitingTurns turns, const Placed& placed);
  // Removes a page. Precondition: `position` is the last one passed to `placed` for the page.
  template <typename Placed>
  void Remove(uint32_t pool, uint32_t position, WaitingTurns turns, const Placed& placed);

  // Replaces a page with another page that has the same bound. The precondition of Remove applies.
  template <typename Placed>
  void Replace(uint32_t pool, uint32_t position, PageId by, WaitingTurns turns,
               const Placed& placed);

  // The open pool whose first page precedes all others. Pools of closed groups do not count.
  // kNone = no such pool has pages.
  static constexpr uint32_t kNone = ~uint32_t{0};
  [[nodiscard]] uint32_t Top(WaitingTurns turns) const {
    const std::vector<uint32_t>& alone = groups_.front().open_pools;
    if (open_groups_.empty()) return alone.empty() ? kNone : alone.front();
    const uint32_t grouped = groups_[open_groups_.front()].open_pools.front();
    const bool first = alone.empty() || Precedes(First(grouped), First(alone.front()), turns);
    return first ? grouped : alone.front();
  }
  // The page that comes first in its pool. Precondition: not empty.
  [[nodiscard]] const WaitingPage& First(uint32_t pool) const { return pools_[pool].heap.front(); }
  [[nodiscard]] const WaitingPage& At(uint32_t pool, uint32_t position) const {
    return pools_[pool].heap[position];
  }
  [[nodiscard]] size_t size(uint32_t pool) const { return pools_[pool].heap.size(); }
  // A hint for new bounds of the pool: the value that the last page woken from this pool had to
  // beat; 0 = none yet. Not set for pool 0.
  [[nodiscard]] double& price(uint32_t pool) { return pools_[pool].price; }

 private:
  struct Pool {
    PlainVector<WaitingPage> heap;
    uint32_t place = kNone;  // in the heap of its group
    GroupId group;
    bool open = false;
    double price = 0;
  };
  struct Group {
    std::vector<uint32_t> open_pools;  // a heap of the open pools with pages
    uint32_t place = kNone;            // in open_groups_
    bool open = true;
  };
  [[nodiscard]] static bool PrecedesOfEqual(const WaitingPage& a, const WaitingPage& b,
                                            WaitingTurns turns);
  // The first page of the group's first pool. Precondition: the group has an open pool with pages.
  [[nodiscard]] const WaitingPage& FirstOf(uint32_t group) const {
    return First(groups_[group].open_pools.front());
  }
  // Updates the heaps of pools and groups after the first page of the pool might have changed.
  void Settle(uint32_t pool, WaitingTurns turns);
  void SettleGroup(GroupId group, WaitingTurns turns);
  template <typename Placed>
  static void Sift(PlainVector<WaitingPage>& heap, size_t position, WaitingTurns turns,
                   const Placed& placed);

  std::vector<Pool> pools_;
  std::vector<uint32_t> free_;
  std::vector<Group> groups_ = std::vector<Group>(1);  // by GroupId
  std::vector<uint32_t> open_groups_;  // a heap of the open groups with an open pool
};

template <typename Placed>
void BoundPools::Sift(PlainVector<WaitingPage>& heap, size_t position, WaitingTurns turns,
                      const Placed& placed) {
  const WaitingPage moved = heap[position];
  while (position > 0) {
    const size_t parent = (position - 1) / 2;
    if (!Precedes(moved, heap[parent], turns)) break;
    heap[position] = heap[parent];
    placed(heap[position].page(), static_cast<uint32_t>(position));
    position = parent;
  }
  for (;;) {
    size_t child = 2 * position + 1;
    if (child >= heap.size()) break;
    if (child + 1 < heap.size() && Precedes(heap[child + 1], heap[child], turns)) ++child;
    if (!Precedes(heap[child], moved, turns)) break;
    heap[position] = heap[child];
    placed(heap[position].page(), static_cast<uint32_t>(position));
    position = child;
  }
  heap[position] = moved;
  placed(moved.page(), static_cast<uint32_t>(position));
}

template <typename Placed>
void BoundPools::Add(uint32_t pool, const WaitingPage& waiting, WaitingTurns turns,
                     const Placed& placed) {
  PlainVector<WaitingPage>& heap = pools_[pool].heap;
  heap.push_back(waiting);
  Sift(heap, heap.size() - 1, turns, placed);
  Settle(pool, turns);
}

template <typename Placed>
void BoundPools::Remove(uint32_t pool, uint32_t position, WaitingTurns turns,
                        const Placed& placed) {
  PlainVector<WaitingPage>& heap = pools_[pool].heap;
  const WaitingPage last = heap.back();
  heap.pop_back();
  if (position < heap.size()) {
    heap[position] = last;
    Sift(heap, position, turns, placed);
  }
  Settle(pool, turns);
}

template <typename Placed>
void BoundPools::Replace(uint32_t pool, uint32_t position, PageId by, WaitingTurns turns,
                         const Placed& placed) {
  PlainVector<WaitingPage>& heap = pools_[pool].heap;
  heap[position] = {heap[position].bound(), by};
  Sift(heap, position, turns, placed);
  Settle(pool, turns);
}

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_BOUND_POOLS_H_
