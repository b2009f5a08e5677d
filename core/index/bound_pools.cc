#include "core/index/bound_pools.h"

#include "core/base/check.h"

namespace freshet {

BoundPools::BoundPools() { pools_[Make()].open = true; }

uint32_t BoundPools::Make() {
  if (free_.empty()) {
    pools_.emplace_back();
    return static_cast<uint32_t>(pools_.size() - 1);
  }
  const uint32_t pool = free_.back();
  free_.pop_back();
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

void BoundPools::SiftOpen(size_t place, WaitingTurns turns) {
  const auto precedes = [&](uint32_t a, uint32_t b) { return Precedes(First(a), First(b), turns); };
  const uint32_t pool = open_[place];
  while (place > 0) {
    const size_t parent = (place - 1) / 2;
    if (!precedes(pool, open_[parent])) break;
    SetPlace(place, open_[parent]);
    place = parent;
  }
  for (;;) {
    size_t child = 2 * place + 1;
    if (child >= open_.size()) break;
    if (child + 1 < open_.size() && precedes(open_[child + 1], open_[child])) ++child;
    if (!precedes(open_[child], pool)) break;
    SetPlace(place, open_[child]);
    place = child;
  }
  SetPlace(place, pool);
}

void BoundPools::Settle(uint32_t pool, WaitingTurns turns) {
  Pool& entry = pools_[pool];
  const bool wanted = entry.open && !entry.heap.empty();
  if (entry.place == kNone) {
    if (!wanted) return;
    open_.push_back(pool);
    SiftOpen(open_.size() - 1, turns);
    return;
  }
  if (wanted) {
    SiftOpen(entry.place, turns);
    return;
  }
  const size_t place = entry.place;
  entry.place = kNone;
  const uint32_t last = open_.back();
  open_.pop_back();
  if (last == pool) return;
  SetPlace(place, last);
  SiftOpen(place, turns);
}

}  // namespace freshet
