#include "core/base/segmented_array.h"

#include <cstdint>

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
  // Over the end of the first block.
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

TEST(HugeBlock, BeginsAtAHugePageAndIsZero) {
  const HugeBlock block(3 * HugeBlock::kHugePage / 2);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data()) % HugeBlock::kHugePage, 0u);
  const auto* const bytes = static_cast<const uint8_t*>(block.data());
  for (size_t i = 0; i < 2 * HugeBlock::kHugePage; i += 4096) ASSERT_EQ(bytes[i], 0) << i;
}

}  // namespace
}  // namespace freshet
