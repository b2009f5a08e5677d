#include "core/fleet/slot_division.h"

#include <gtest/gtest.h>

#include <vector>

namespace freshet {
namespace {

TEST(SlotDivisionTest, EverySlotIsOfOneDivisionAndTheyHaveAsManyButForOne) {
  for (const uint32_t divisions : {1U, 2U, 3U, 7U, 256U, 4095U, 4096U}) {
    std::vector<uint32_t> slots(divisions);
    for (uint16_t i = 0; i < limits::kSlots; ++i) {
      const Slot slot(i);
      const uint32_t of = SlotDivision{.divisions = divisions}.Of(slot);
      ASSERT_LT(of, divisions);
      ++slots[of];
      EXPECT_TRUE((SlotDivision{.divisions = divisions, .division = of}.Has(slot)));
      EXPECT_EQ((SlotDivision{.divisions = divisions, .division = 0}.Has(slot)), of == 0);
    }
    for (const uint32_t has : slots) {
      EXPECT_GE(has, limits::kSlots / divisions);
      EXPECT_LE(has, limits::kSlots / divisions + 1);
    }
  }
}

TEST(SlotDivisionTest, AServerAloneHasThemAll) {
  EXPECT_TRUE(SlotDivision{}.Has(Slot(0)));
  EXPECT_TRUE(SlotDivision{}.Has(Slot(limits::kSlots - 1)));
}

// These numbers determine which hosts are on which server's disk.
TEST(SlotDivisionTest, IsFrozen) {
  const SlotDivision three{.divisions = 3, .division = 1};
  EXPECT_EQ(three.Of(Slot(0)), 0U);
  EXPECT_EQ(three.Of(Slot(1365)), 0U);
  EXPECT_EQ(three.Of(Slot(1366)), 1U);
  EXPECT_EQ(three.Of(Slot(2730)), 1U);
  EXPECT_EQ(three.Of(Slot(2731)), 2U);
  EXPECT_EQ(three.Of(Slot(4095)), 2U);
}

}  // namespace
}  // namespace freshet
