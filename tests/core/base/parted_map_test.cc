#include "core/base/parted_map.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(PartedMap, AgreesWithAMap) {
  PartedMap<uint32_t, int> table;
  std::map<uint32_t, int> expected;
  Random random(1);
  for (int i = 0; i < 100'000; ++i) {
    const auto key = static_cast<uint32_t>(random.Below(5000));
    switch (random.Below(4)) {
      case 0:
        table.Erase(key);
        expected.erase(key);
        break;
      case 1: {
        const auto [value, added] = table.Add(key, i);
        ASSERT_EQ(added, expected.try_emplace(key, i).second);
        ASSERT_EQ(*value, expected.at(key));
        break;
      }
      default:
        table.Set(key, i);
        expected[key] = i;
    }
    ASSERT_EQ(table.size(), expected.size());
    ASSERT_EQ(table.empty(), expected.empty());
    const auto other = static_cast<uint32_t>(random.Below(5000));
    const int* const value = table.Find(other);
    const auto it = expected.find(other);
    ASSERT_EQ(value != nullptr, it != expected.end());
    if (value != nullptr) {
      ASSERT_EQ(*value, it->second);
    }
  }
  for (const auto& [key, value] : expected) table.Erase(key);
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.Find(1U), nullptr);
}

// Previously, a growing table moved all its entries at once. This stopped a shard with millions of
// hosts for a second.
TEST(PartedMap, AnEntryThatComesMovesFewOthers) {
  constexpr size_t kEntries = 20'000;
  PartedMap<size_t, size_t> table;
  std::vector<const size_t*> places(kEntries);
  for (size_t i = 0; i < kEntries; ++i) places[i] = table.Add(i, i).first;
  for (size_t i = 0; i < kEntries; ++i) places[i] = table.Find(i);
  // A part has room for at most twice its entries. So all parts must grow while the number of
  // entries triples.
  for (size_t come = kEntries; come < 3 * kEntries; ++come) {
    table.Set(come, come);
    if (come % 64 != 0) continue;
    size_t moved = 0;
    for (size_t i = 0; i < kEntries; ++i) {
      const size_t* const place = table.Find(i);
      moved += place != std::exchange(places[i], place) ? 1 : 0;
    }
    ASSERT_LT(moved, kEntries / 2) << "at " << come;
  }
}

}  // namespace
}  // namespace freshet
