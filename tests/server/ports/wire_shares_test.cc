#include "server/ports/wire_shares.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/client_network.h"

namespace freshet {
namespace {

constexpr uint64_t kCalls = WireShares::kCallsPerPlace;
constexpr uint64_t kBytes = WireShares::kBytesPerPlace;

IpAddress Network(int number) {
  return NetworkOfPeer("ipv4:192.0.2." + std::to_string(number) + ":1");
}

// A network may have three eighths of 64 places for calls, and as many for bytes.
class WireSharesTest : public testing::Test {
 protected:
  WireSharesTest() { shares_->SetMost({.calls = 64 * kCalls, .bytes = 64 * kBytes}); }

  [[nodiscard]] std::unique_ptr<WireAccount> Connect(int network) {
    return std::make_unique<WireAccount>(shares_, Network(network));
  }

  const std::shared_ptr<WireShares> shares_ = std::make_shared<WireShares>();
};

TEST_F(WireSharesTest, ANetworkHasItsShareOverAllItsConnections) {
  const auto one = Connect(1);
  const auto other = Connect(1);
  EXPECT_EQ(one->Hold({.calls = 12 * kCalls + WireAccount::kFree.calls}), "");
  EXPECT_EQ(other->Hold({.calls = 13 * kCalls}), "calls whose answers it does not take");
  EXPECT_EQ(other->Hold({.calls = 6 * kCalls}), "");
  EXPECT_EQ(other->Hold({.bytes = 25 * kBytes}), "messages at a time that are not whole");
  EXPECT_EQ(other->Hold({.bytes = 24 * kBytes}), "");
  EXPECT_EQ(one->Hold({.bytes = kBytes}), "messages at a time that are not whole");
  // Other networks have separate shares.
  EXPECT_EQ(Connect(2)->Hold({.calls = 12 * kCalls, .bytes = 12 * kBytes}), "");
}

TEST_F(WireSharesTest, WhatIsRefusedOrGivenBackCountsForNothing) {
  auto one = Connect(1);
  EXPECT_NE(one->Hold({.calls = 30 * kCalls}), "");
  EXPECT_EQ(one->Hold({.calls = 24 * kCalls, .bytes = 24 * kBytes}), "");
  EXPECT_NE(Connect(1)->Hold({.calls = 4 * kCalls}), "");
  one = nullptr;
  EXPECT_EQ(Connect(1)->Hold({.calls = 24 * kCalls, .bytes = 24 * kBytes}), "");
}

// There is a place for a new network, however many others use their whole share. The first few
// calls and bytes of a connection are free.
TEST_F(WireSharesTest, NewcomersFindAPlace) {
  std::vector<std::unique_ptr<WireAccount>> greedy;
  for (int network = 1; network <= 4; ++network) {
    greedy.push_back(Connect(network));
    for (uint64_t places = 1; places < 64; ++places) {
      const uint64_t calls = places * kCalls + WireAccount::kFree.calls;
      if (!greedy.back()->Hold({.calls = calls, .bytes = places * kBytes}).empty()) break;
    }
  }
  const auto newcomer = Connect(5);
  EXPECT_EQ(newcomer->Hold({.calls = kCalls, .bytes = kBytes}), "");
  EXPECT_NE(newcomer->Hold({.calls = 8 * kCalls, .bytes = 8 * kBytes}), "");
  for (int i = 0; i < 1000; ++i) greedy.push_back(Connect(5));
  for (const auto& one : greedy) EXPECT_EQ(one->Hold(WireAccount::kFree), "");
}

// Shares are counted in steps. So a connection that opens and ends a few calls does not have to ask
// for each of them.
TEST_F(WireSharesTest, CountsBySteps) {
  const auto one = Connect(1);
  const auto other = Connect(1);
  EXPECT_EQ(one->Hold({.calls = 24 * kCalls + WireAccount::kFree.calls}), "");
  EXPECT_EQ(one->Hold({.calls = 24 * kCalls - 1}), "");
  EXPECT_NE(other->Hold({.calls = WireAccount::kFree.calls + 1}), "");
  EXPECT_EQ(one->Hold({.calls = 22 * kCalls}), "");
  EXPECT_EQ(other->Hold({.calls = WireAccount::kFree.calls + 1}), "");
}

}  // namespace
}  // namespace freshet
