#include "core/base/shares.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"

namespace freshet {
namespace {

uint64_t Fill(Shares& shares, const Claim& claim) {
  uint64_t taken = 0;
  for (; shares.Left(claim) > 0; ++taken) shares.Take(claim.client);
  return taken;
}

TEST(Shares, AClientMayHaveAsManyPlacesAsAreFreeOfThreeQuarters) {
  for (const uint64_t most : {0, 1, 2, 3, 10, 63, 1000}) {
    const uint64_t shared = most - most / 4;
    uint64_t held = 0;
    uint64_t left = ShareLeft(0, 0, most);
    for (; ShareLeft(held, held, most) > 0; ++held) {
      EXPECT_EQ(ShareLeft(held, held, most), left--);
    }
    EXPECT_EQ(held, (shared + 1) / 2);
  }
  // Two clients each take as many places as they can. Each of them gets a quarter of all places.
  uint64_t one = 0;
  uint64_t two = 0;
  while (ShareLeft(one, one + two, 900) + ShareLeft(two, one + two, 900) > 0) {
    if (ShareLeft(one, one + two, 900) > 0) ++one;
    if (ShareLeft(two, one + two, 900) > 0) ++two;
  }
  EXPECT_EQ(one, 225U);
  EXPECT_EQ(two, 225U);
  EXPECT_EQ(ShareLeft(0, 900, 900), 0U);
  EXPECT_EQ(ShareLeft(0, 1000, 900), 0U);
  EXPECT_EQ(ShareLeft(UINT64_MAX, 0, UINT64_MAX), 0U);
}

// Returns the number of places that are taken if each client takes as many as it may. `in_turn`:
// the clients take one place each in turn; otherwise, each client takes all its places before the
// next client starts.
uint64_t TakenByGreedy(uint64_t clients, uint64_t most, bool in_turn) {
  std::vector<uint64_t> held(clients);
  uint64_t taken = 0;
  const auto take = [&](uint64_t client) {
    if (ShareLeft(held[client], taken, most) == 0) return false;
    ++held[client];
    ++taken;
    return true;
  };
  for (bool more = true; more;) {
    more = false;
    for (uint64_t client = 0; client < clients; ++client) {
      while (take(client)) {
        more = true;
        if (in_turn) break;
      }
    }
  }
  EXPECT_EQ(std::count(held.begin(), held.end(), 0U), 0) << "each was a newcomer once";
  return taken;
}

TEST(Shares, HoweverGreedyClientsAreANewcomerFindsAPlace) {
  for (const uint64_t most : {16, 63, 64, 100, 1000}) {
    for (const bool in_turn : {false, true}) {
      for (uint64_t clients = 0; clients < most * 3 / 16; ++clients) {
        const uint64_t taken = TakenByGreedy(clients, most, in_turn);
        EXPECT_GT(ShareLeft(0, taken, most), 0U) << clients << " of " << most << " take all";
      }
    }
  }
  // Seven clients that take all that they may, one after the other, leave 15 of the 64 places free.
  EXPECT_EQ(TakenByGreedy(7, 64, /*in_turn=*/false), 49U);
}

TEST(Shares, AdminsFindASixteenthThatNobodyElseMayTake) {
  for (const uint64_t most : {16, 64, 1000}) {
    const uint64_t taken = TakenByGreedy(most * 3 / 16, most, /*in_turn=*/true);
    uint64_t all = taken;
    while (ShareLeft(0, all, most) > 0) ++all;
    EXPECT_EQ(all, most - most / 16);
    EXPECT_EQ(ShareLeft(3, all, most, /*admin=*/true), most / 16);
  }
}

TEST(Shares, OfNamesAQuarterIsKeptForWhatLimitsNameAndForOperators) {
  Shares shares(100);
  EXPECT_EQ(Fill(shares, {.client = 1}), 29U);
  EXPECT_EQ(Fill(shares, {.client = 2}), 14U);
  // The reserved places stay free for any number of clients.
  for (uint64_t client = 3; client < 100; ++client) (void)Fill(shares, {.client = client});
  EXPECT_EQ(shares.taken(), 71U);
  EXPECT_EQ(shares.Left({.client = 200}), 0U);
  EXPECT_EQ(shares.Left({.client = 1, .named = true}), 29U);
  EXPECT_EQ(shares.Left({.client = 1, .admin = true}), 29U);
  EXPECT_EQ(Fill(shares, {}), 29U);
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

TEST(Shares, PlacesAreLeftForClientsThatHaveFew) {
  for (const uint64_t most : {64U, 10'000U}) {
    uint64_t taken = 0;
    while (MayTakePlace(taken, taken, most)) ++taken;
    EXPECT_EQ(taken, most - most / 4);
    uint64_t clients = 0;
    for (uint64_t held = 0; MayTakePlace(0, taken, most); held = 0, ++clients) {
      for (; MayTakePlace(held, taken, most); ++held) ++taken;
    }
    EXPECT_GE(clients, most / 64 + most / 16);
    EXPECT_EQ(taken, most - most / 16);
    while (MayTakePlace(taken, taken, most, /*admin=*/true)) ++taken;
    EXPECT_EQ(taken, most);
  }
  EXPECT_TRUE(MayTakePlace(2, 2, 3)) << "a small table has nothing to keep";
}

}  // namespace
}  // namespace freshet
