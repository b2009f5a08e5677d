// Tests buckets by comparison with lists of their entries.
#include "core/index/wake_chunks.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

using Expected = std::vector<std::pair<uint32_t, uint8_t>>;

Expected Emptied(WakeChunks& chunks, WakeBucket& bucket) {
  Expected entries;
  const uint32_t count = chunks.Empty(bucket, [&entries](const WakeEntry& entry) {
    entries.emplace_back(entry.page.value(), entry.mark);
  });
  EXPECT_EQ(count, entries.size());
  EXPECT_EQ(bucket.count, 0U);
  std::sort(entries.begin(), entries.end());
  return entries;
}

TEST(WakeChunksTest, SpreadingLosesNothingAndKeepsWhatIsThere) {
  Random random(3);
  WakeChunks chunks;
  WakeBucket wide;
  std::array<WakeBucket, WakeEntry::kSteps> narrow;
  std::array<Expected, WakeEntry::kSteps> expected;
  uint32_t next = 0;
  for (int round = 0; round < 300; ++round) {
    // The entries fill between zero and several dozen chunks. The number of distinct steps varies.
    const uint64_t entries = random.Below(3) == 0 ? 0 : random.Below(700);
    const uint64_t steps = 1 + random.Below(WakeEntry::kSteps);
    for (uint64_t i = 0; i < entries; ++i) {
      const auto step = static_cast<uint8_t>(random.Below(steps));
      const auto tag = static_cast<uint8_t>(random.Below(8));
      chunks.Push(wide, {PageId(next), static_cast<uint8_t>(tag + 8 * step)});
      expected[step].emplace_back(next++, tag);
    }
    while (wide.count > 0) {
      const uint32_t before = wide.count;
      const auto wanted = static_cast<uint32_t>(1 + random.Below(400));
      const uint32_t spread = chunks.Spread(wide, wanted, narrow);
      EXPECT_EQ(wide.count, before - spread);
      EXPECT_GE(spread, std::min(wanted, before));
      EXPECT_LT(spread, wanted + 12) << "more than the rest of a chunk";
    }
    for (size_t step = 0; step < narrow.size(); ++step) {
      ASSERT_EQ(narrow[step].count, expected[step].size()) << "round " << round;
      if (random.Below(4) != 0) continue;
      EXPECT_EQ(Emptied(chunks, narrow[step]), expected[step]) << "round " << round;
      expected[step].clear();
    }
  }
}

}  // namespace
}  // namespace freshet
