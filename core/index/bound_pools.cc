#include "core/index/bound_pools.h"

#include <utility>

#include "core/base/check.h"

namespace freshet {
namespace {

// Sifts the entry at `place` of a heap of numbers to its position. `place_of(number)` returns a
// reference to the stored place of a number.
template <typename Before, typename PlaceOf>
void Sift(std::vector<uint32_t>& heap, size_t place, const Before& precedes,
          const PlaceOf& place_of) {
  const uint32_t moved = heap[place];
  const auto put = [&](uint32_t number) {
    heap[place] = number;
    place_of(number) = static_cast<uint32_t>(place);
  };
  while (place > 0) {
    const size_t parent = (place - 1) / 2;
    if (!precedes(moved, heap[parent])) break;
    put(heap[parent]);
    place = parent;
  }
  for (;;) {
    size_t child = 2 * place + 1;
    if (child >= heap.size()) break;
    if (child + 1 < heap.size() && precedes(heap[child + 1], heap[child])) ++child;
    if (!precedes(heap[child], moved)) break;
    put(heap[child]);
    place = child;
  }
  put(moved);
}

// If `wanted`, adds `number` to the heap or moves it to its correct position. Otherwise removes
// `number` from the heap.
template <typename Before, typename PlaceOf>
void SettleIn(std::vector<uint32_t>& heap, uint32_t number, bool wanted, const Before& precedes,
              const PlaceOf& place_of) {
  uint32_t& its = place_of(number);
  if (its == BoundPools::kNone) {
    if (!wanted) return;
    heap.push_back(number);
    return Sift(heap, heap.size() - 1, precedes, place_of);
  }
  if (wanted) return Sift(heap, its, precedes, place_of);
  const size_t place = std::exchange(its, BoundPools::kNone);
  const uint32_t last = heap.back();
  heap.pop_back();
  if (last == number) return;
  heap[place] = last;
  Sift(heap, place, precedes, place_of);
}

}  // namespace

BoundPools::BoundPools() { pools_[Make()].open = true; }

uint32_t BoundPools::Make(GroupId group) {
  if (group.value() >= groups_.size()) groups_.resize(group.value() + size_t{1});
  uint32_t pool = static_cast<uint32_t>(pools_.size());
  if (free_.empty()) {
    pools_.emplace_back();
  } else {
    pool = free_.back();
    free_.pop_back();
  }
  pools_[pool].group = group;
  return pool;
}

void BoundPools::Drop(uint32_t pool) {
  CHECK(pools_[pool].heap.empty() && pools_[pool].place == kNone);
  pools_[pool].open = false;
  pools_[pool].price = 0;
  free_.push_back(pool);
}

void BoundPools::SetOpen(uint32_t pool, bool open, WaitingTurns turns) {
  pools_[pool].open = open;
  Settle(pool, turns);
}

bool BoundPools::PrecedesOfEqual(const WaitingPage& a, const WaitingPage& b, WaitingTurns turns) {
  const int64_t turn_a = turns(a.page(), a.bound());
  const int64_t turn_b = turns(b.page(), b.bound());
  return turn_a != turn_b ? turn_a < turn_b : a.page() < b.page();
}

void BoundPools::Settle(uint32_t pool, WaitingTurns turns) {
  Pool& entry = pools_[pool];
  SettleIn(
      groups_[entry.group.value()].open_pools, pool, entry.open && !entry.heap.empty(),
      [&](uint32_t a, uint32_t b) { return Precedes(First(a), First(b), turns); },
      [this](uint32_t moved) -> uint32_t& { return pools_[moved].place; });
  if (entry.group != GroupId()) SettleGroup(entry.group, turns);
}

void BoundPools::SettleGroup(GroupId group, WaitingTurns turns) {
  const Group& entry = groups_[group.value()];
  SettleIn(
      open_groups_, group.value(), entry.open && !entry.open_pools.empty(),
      [&](uint32_t a, uint32_t b) { return Precedes(FirstOf(a), FirstOf(b), turns); },
      [this](uint32_t moved) -> uint32_t& { return groups_[moved].place; });
}

void BoundPools::SetGroupOpen(GroupId group, bool open, WaitingTurns turns) {
  DCHECK(group != GroupId());
  if (group.value() >= groups_.size()) groups_.resize(group.value() + size_t{1});
  groups_[group.value()].open = open;
  SettleGroup(group, turns);
}

void BoundPools::Move(uint32_t pool, GroupId group, WaitingTurns turns) {
  if (group.value() >= groups_.size()) groups_.resize(group.value() + size_t{1});
  const bool open = pools_[pool].open;
  SetOpen(pool, false, turns);
  pools_[pool].group = group;
  SetOpen(pool, open, turns);
}

}  // namespace freshet
