#include "core/plan/placed_heap.h"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(HeapEntry, KeepsEveryInstantAndItsOrder) {
  const int64_t instants[] = {INT64_MIN,        -(int64_t{1} << 62),   -1,       0, 1, 0xFFFFFFFF,
                              int64_t{1} << 32, 1'700'000'000'000'000, INT64_MAX};
  for (const int64_t a : instants) {
    EXPECT_EQ(HeapEntry(Instant::FromMicros(a), 7).key().micros(), a);
    for (const int64_t b : instants) {
      EXPECT_EQ(HeapEntry(Instant::FromMicros(a), 7) < HeapEntry(Instant::FromMicros(b), 8),
                a <= b);
      EXPECT_EQ(HeapEntry(Instant::FromMicros(a), 7) < HeapEntry(Instant::FromMicros(b), 7), a < b);
    }
  }
}

TEST(PlacedHeap, AgreesWithASortedSet) {
  constexpr uint32_t kIds = 200;
  Random random(11);
  PlacedHeap heap;
  std::set<std::pair<int64_t, uint32_t>> sorted;
  std::vector<uint32_t> positions(kIds, PlacedHeap::kNowhere);
  std::vector<int64_t> keys(kIds);
  const auto placed = [&positions](uint32_t id, uint32_t at) { positions[id] = at; };
  for (int step = 0; step < 50'000; ++step) {
    const auto id = static_cast<uint32_t>(random.Below(kIds));
    const auto key = static_cast<int64_t>(random.Below(500));
    const bool in = positions[id] != PlacedHeap::kNowhere;
    if (in) sorted.erase({keys[id], id});
    size_t looked_at = 0;
    if (in && random.Uniform() < 0.5) {
      looked_at = heap.Erase(positions[id], placed);
      ASSERT_EQ(positions[id], PlacedHeap::kNowhere);
    } else {
      const HeapEntry entry(Instant::FromMicros(key), id);
      looked_at = in ? heap.Replace(positions[id], entry, placed) : heap.Insert(entry, placed);
      keys[id] = key;
      sorted.insert({key, id});
    }
    ASSERT_LE(looked_at, 25u) << "four levels of four children, and the way back";
    ASSERT_EQ(heap.size(), sorted.size());
    ASSERT_EQ(heap.empty(), sorted.empty());
    if (sorted.empty()) continue;
    ASSERT_EQ(heap.top().id(), sorted.begin()->second);
    ASSERT_EQ(heap.top().key().micros(), sorted.begin()->first);
  }
}

}  // namespace
}  // namespace freshet
