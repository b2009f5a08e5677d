#include "core/base/shares.h"

#include "gtest/gtest.h"

namespace freshet {
namespace {

uint64_t Fill(Shares& shares, const Claim& claim) {
  uint64_t taken = 0;
  for (; shares.Left(claim) > 0; ++taken) shares.Take(claim.client);
  return taken;
}

TEST(Shares, AClientMayHaveAsManyPlacesAsAreFree) {
  for (const uint64_t most : {0, 1, 2, 3, 10, 63, 1000}) {
    uint64_t held = 0;
    uint64_t left = ShareLeft(0, 0, most);
    for (; ShareLeft(held, held, most) > 0; ++held) {
      EXPECT_EQ(ShareLeft(held, held, most), left--);
    }
    EXPECT_EQ(held, (most + 1) / 2);
  }
  // With another one that does the same, a third each.
  uint64_t one = 0;
  uint64_t two = 0;
  while (ShareLeft(one, one + two, 900) + ShareLeft(two, one + two, 900) > 0) {
    if (ShareLeft(one, one + two, 900) > 0) ++one;
    if (ShareLeft(two, one + two, 900) > 0) ++two;
  }
  EXPECT_EQ(one, 300U);
  EXPECT_EQ(two, 300U);
  EXPECT_EQ(ShareLeft(0, 900, 900), 0U);
  EXPECT_EQ(ShareLeft(0, 1000, 900), 0U);
  EXPECT_EQ(ShareLeft(UINT64_MAX, 0, UINT64_MAX), 0U);
}

TEST(Shares, OfNamesAQuarterIsKeptForWhatLimitsNameAndForOperators) {
  Shares shares(100);
  EXPECT_EQ(Fill(shares, {.client = 1}), 38U);
  EXPECT_EQ(Fill(shares, {.client = 2}), 19U);
  // However many clients there are.
  for (uint64_t client = 3; client < 100; ++client) (void)Fill(shares, {.client = client});
  EXPECT_EQ(shares.taken(), 75U);
  EXPECT_EQ(shares.Left({.client = 200}), 0U);
  EXPECT_EQ(shares.Left({.client = 1, .named = true}), 25U);
  EXPECT_EQ(Fill(shares, {}), 25U);
  EXPECT_EQ(shares.Left({.client = 1, .named = true}), 0U);
}

TEST(Shares, WhatIsGivenBackIsFreeAgain) {
  Shares shares(8);
  EXPECT_EQ(Fill(shares, {.client = 1}), 3U);
  shares.Give(1);
  EXPECT_EQ(shares.held(1), 2U);
  EXPECT_EQ(shares.Left({.client = 1}), 1U);
  EXPECT_EQ(shares.Left({.client = 1}, 0, 1), 0U) << "one of its own is about to be taken";
  EXPECT_EQ(shares.Left({.client = 2}, 4), 0U) << "others are about to take them";
}

}  // namespace
}  // namespace freshet
