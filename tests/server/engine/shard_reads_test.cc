// Reads that clients ask a shard for: few enough at a time that its work does not wait for them.
#include <future>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "server/base/limits.h"
#include "tests/server/engine/test_shards.h"

namespace freshet {
namespace {

const std::vector<CrawlPolicy> kOneShard = {Policy{.kind = PolicyKind::kGreedy}};

TEST(ShardReads, OneTooManyIsRefused) {
  TestShards shards(kOneShard);
  std::promise<void> release;
  shards.Hold(0, release);
  std::promise<void> done;
  std::atomic<size_t> served{0};
  for (size_t i = 0; i < limits::kMaxWaitingReads; ++i) {
    EXPECT_EQ(shards[0].Read([&](const ShardView&) {
      if (++served == limits::kMaxWaitingReads) done.set_value();
    }),
              PushOutcome::kTaken);
  }
  const auto never = [](const ShardView&) { ADD_FAILURE(); };
  EXPECT_EQ(shards[0].Read(never), PushOutcome::kFull);
  release.set_value();
  done.get_future().get();
  // There is room again.
  std::promise<void> again;
  EXPECT_EQ(shards[0].Read([&](const ShardView&) { again.set_value(); }), PushOutcome::kTaken);
  again.get_future().get();
  shards[0].Stop();
  EXPECT_EQ(shards[0].Read(never), PushOutcome::kClosed);
  EXPECT_FALSE(shards[0].ReadMany(never));
}

// An event that comes behind any number of reads is answered after those of one turn.
TEST(ShardReads, DoNotHoldUpEvents) {
  TestShards shards(kOneShard);
  std::promise<void> release;
  shards.Hold(0, release);
  std::atomic<size_t> served{0};
  std::atomic<size_t> parts{0};
  for (size_t i = 0; i < limits::kMaxWaitingReads; ++i) {
    EXPECT_EQ(shards[0].Read([&](const ShardView&) { ++served; }), PushOutcome::kTaken);
    EXPECT_TRUE(shards[0].ReadMany([&](const ShardView&) { ++parts; }));
  }
  std::promise<std::pair<size_t, size_t>> before;
  shards[0].SubmitAlways({.events = {shards.PageOf(0, "a")}, .done = [&](std::vector<Reply>) {
                            before.set_value({served, parts});
                          }});
  release.set_value();
  const auto [reads, long_reads] = before.get_future().get();
  // The turn that was held may have gone on with some of its own.
  EXPECT_LE(reads, limits::kReadsPerTurn);
  EXPECT_LE(long_reads, 1u);
  shards[0].Stop();
  EXPECT_EQ(served, limits::kMaxWaitingReads);
  EXPECT_EQ(parts, limits::kMaxWaitingReads);
}

}  // namespace
}  // namespace freshet
