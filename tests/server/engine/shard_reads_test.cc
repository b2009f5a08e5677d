// Tests reads of clients at a shard. The shard serves only a few reads at a time, so that other
// work does not wait.
#include <algorithm>
#include <cstdint>
#include <future>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/base/limits.h"
#include "tests/server/engine/test_shards.h"

namespace freshet {
namespace {

constexpr uint64_t kServer = 0;

const std::vector<CrawlPolicy> kOneShard = {Policy{.kind = PolicyKind::kGreedy}};

TEST(ShardReads, OneTooManyIsRefused) {
  TestShards shards(kOneShard);
  std::promise<void> release;
  shards.Hold(0, release);
  std::promise<void> done;
  std::atomic<size_t> served{0};
  for (size_t i = 0; i < limits::kMaxWaitingReads; ++i) {
    const auto serve = [&](const ShardView&) {
      if (++served == limits::kMaxWaitingReads) done.set_value();
    };
    EXPECT_EQ(shards[0].Read(serve, kServer), PushOutcome::kTaken);
  }
  const auto never = [](const ShardView&) { ADD_FAILURE(); };
  EXPECT_EQ(shards[0].Read(never, kServer), PushOutcome::kFull);
  release.set_value();
  done.get_future().get();
  // There is room for a read again.
  std::promise<void> again;
  EXPECT_EQ(shards[0].Read([&](const ShardView&) { again.set_value(); }, kServer),
            PushOutcome::kTaken);
  again.get_future().get();
  shards[0].Stop();
  EXPECT_EQ(shards[0].Read(never, kServer), PushOutcome::kClosed);
  EXPECT_FALSE(shards[0].ReadMany(never, kServer));
}

// Previously, the reads of all clients were refused if one client had many.
TEST(ShardReads, OfOneClientLeaveRoomAndTurnsToOthers) {
  TestShards shards(kOneShard);
  std::promise<void> release;
  shards.Hold(0, release);
  std::vector<uint64_t> order;  // shard's thread only
  const auto read = [&](uint64_t client) {
    return shards[0].Read([&order, client](const ShardView&) { order.push_back(client); }, client);
  };
  size_t taken = 0;
  while (read(1) == PushOutcome::kTaken) ++taken;
  EXPECT_EQ(taken, limits::kMaxWaitingReads * 3 / 4);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(read(3), PushOutcome::kTaken);
  EXPECT_EQ(read(1), PushOutcome::kFull);
  release.set_value();
  shards[0].Stop();
  ASSERT_EQ(order.size(), taken + 3);
  EXPECT_EQ(std::count(order.begin(), order.begin() + 6, 3U), 3);
}

// A shard serves one part of a list in each turn. Previously, a client with many lists delayed the
// lists of all others.
TEST(ShardReads, PartsOfListsTakeTurnsByClient) {
  TestShards shards(kOneShard);
  std::promise<void> release;
  shards.Hold(0, release);
  std::vector<uint64_t> order;  // shard's thread only
  const auto list = [&](uint64_t client) {
    return shards[0].ReadMany([&order, client](const ShardView&) { order.push_back(client); },
                              client);
  };
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(list(1));
  EXPECT_TRUE(list(3));
  release.set_value();
  shards[0].Stop();
  ASSERT_EQ(order.size(), 21U);
  // The turn that Hold() blocked might have served one part itself.
  EXPECT_LE(std::find(order.begin(), order.end(), 3U) - order.begin(), 2);
}

// An event that comes after any number of reads waits only for the reads of one turn.
TEST(ShardReads, DoNotHoldUpEvents) {
  TestShards shards(kOneShard);
  std::promise<void> release;
  shards.Hold(0, release);
  std::atomic<size_t> served{0};
  std::atomic<size_t> parts{0};
  for (size_t i = 0; i < limits::kMaxWaitingReads; ++i) {
    EXPECT_EQ(shards[0].Read([&](const ShardView&) { ++served; }, kServer), PushOutcome::kTaken);
    EXPECT_TRUE(shards[0].ReadMany([&](const ShardView&) { ++parts; }, kServer));
  }
  std::promise<void> answered;
  shards[0].SubmitAlways({.events = {shards.PageOf(0, "a")},
                          .done = [&](std::vector<Reply>) { answered.set_value(); }});
  // The query runs at the end of the event's turn.
  std::promise<std::pair<size_t, size_t>> before;
  EXPECT_TRUE(shards[0].Query([&](const ShardView&) { before.set_value({served, parts}); }));
  release.set_value();
  answered.get_future().get();
  const auto [reads, long_reads] = before.get_future().get();
  // The turn that Hold() blocked might have served some of these reads itself.
  EXPECT_LE(reads, limits::kReadsPerTurn);
  EXPECT_LE(long_reads, 1u);
  shards[0].Stop();
  EXPECT_EQ(served, limits::kMaxWaitingReads);
  EXPECT_EQ(parts, limits::kMaxWaitingReads);
}

}  // namespace
}  // namespace freshet
