#include "core/base/segmented_array.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace freshet {
namespace {

struct Element {
  uint32_t number = 7;
  uint32_t other = 0;
};

TEST(SegmentedArray, GrowsWithoutMovingWhatItHolds) {
  SegmentedArray<Element> array;
  EXPECT_EQ(array.size(), 0u);
  array.GrowTo(1);
  Element* const first = &array[0];
  EXPECT_EQ(first->number, 7u);
  first->number = 1;
  // Beyond the end of the first block.
  array.GrowTo((size_t{1} << 20) + 3);
  EXPECT_EQ(array.size(), (size_t{1} << 20) + 3);
  EXPECT_EQ(&array[0], first);
  EXPECT_EQ(array[0].number, 1u);
  EXPECT_EQ(array[(size_t{1} << 20) + 2].number, 7u);
}

TEST(SegmentedArray, NeverShrinks) {
  SegmentedArray<uint16_t> array;
  array.GrowTo(5);
  array[4] = 9;
  array.GrowTo(2);
  EXPECT_EQ(array.size(), 5u);
  EXPECT_EQ(array[4], 9);
}

// The array grows item by item, as when pages are added. Meanwhile its ordinary memory becomes huge
// pages.
TEST(SegmentedArray, KeepsWhatItHoldsWhenMemoryBecomesHuge) {
  SegmentedArray<uint64_t> array;
  constexpr size_t kSize = 2 * HugeBlock::kHugePage / sizeof(uint64_t) + 5;
  for (size_t i = 0; i < kSize; ++i) {
    array.GrowTo(i + 1);
    array[i] = i;
  }
  for (size_t i = 0; i < kSize; ++i) ASSERT_EQ(array[i], i);
}

// Returns the number of resident bytes in [data, data + bytes).
size_t ResidentBytes(void* data, size_t bytes) {
  constexpr size_t kPage = 4096;
  std::vector<unsigned char> resident(bytes / kPage);
  EXPECT_EQ(mincore(data, bytes, resident.data()), 0);
  return kPage * static_cast<size_t>(std::count_if(resident.begin(), resident.end(),
                                                   [](unsigned char page) { return page & 1; }));
}

TEST(SegmentedArray, WastesNoRestOfAHugePage) {
  struct Line {
    std::array<char, 64> bytes;
  };
  SegmentedArray<Line> array;
  constexpr size_t kLines = HugeBlock::kHugePage / sizeof(Line);
  array.GrowTo(2 * kLines);
  array.GrowTo(2 * kLines + 1);
  EXPECT_LE(ResidentBytes(&array[0], 4 * HugeBlock::kHugePage), 2 * HugeBlock::kHugePage + 4096);
}

TEST(HugeBlock, KeepsWhatItHoldsWhateverIsInUse) {
  constexpr size_t kBytes = 5 * HugeBlock::kHugePage;
  HugeBlock block(kBytes);
  auto* const bytes = static_cast<uint8_t*>(block.data());
  size_t used = 0;
  for (const size_t end : {size_t{5}, HugeBlock::kHugePage - 1, HugeBlock::kHugePage,
                           HugeBlock::kHugePage + 1, 4 * HugeBlock::kHugePage + 1, kBytes}) {
    block.Use(end);
    for (; used < end; ++used) bytes[used] = static_cast<uint8_t>(used % 251);
  }
  for (size_t i = 0; i < kBytes; ++i) ASSERT_EQ(bytes[i], i % 251) << i;
}

TEST(HugeBlock, BeginsAtAHugePageAndIsZero) {
  const HugeBlock block(3 * HugeBlock::kHugePage / 2);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data()) % HugeBlock::kHugePage, 0u);
  const auto* const bytes = static_cast<const uint8_t*>(block.data());
  for (size_t i = 0; i < 2 * HugeBlock::kHugePage; i += 4096) ASSERT_EQ(bytes[i], 0) << i;
}

}  // namespace
}  // namespace freshet
