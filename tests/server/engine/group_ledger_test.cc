#include "server/engine/group_ledger.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace freshet {
namespace {

constexpr Instant kNow = Instant::FromUnixSeconds(1'700'000'000);
constexpr GroupKey kGroup(17);
constexpr GroupTerms kTwoAtATime = {.min_delay = Duration::Seconds(10), .max_in_flight = 2};

GroupStanding Standing(uint32_t in_flight, Instant last = Instant::None()) {
  return {.key = kGroup, .terms = kTwoAtATime, .in_flight = in_flight, .last_assignment = last};
}

TEST(GroupLedger, AddsUpWhatShardsHave) {
  GroupLedger ledger(3);
  EXPECT_EQ(ledger.FreeAt(kGroup, kTwoAtATime), Instant::None());
  ledger.Hear(0, {Standing(1, kNow - Duration::Seconds(3))}, kNow);
  EXPECT_EQ(ledger.FreeAt(kGroup, kTwoAtATime), kNow + Duration::Seconds(7));
  ledger.Hear(2, {Standing(1)}, kNow);
  EXPECT_TRUE(ledger.FreeAt(kGroup, kTwoAtATime).infinite());
  // A later message of a shard replaces its earlier one.
  ledger.Hear(0, {Standing(0)}, kNow);
  EXPECT_EQ(ledger.FreeAt(kGroup, kTwoAtATime), kNow + Duration::Seconds(7));
}

TEST(GroupLedger, CountsWhatIsTakenUntilTheShardSaysWhatBecameOfIt) {
  GroupLedger ledger(2);
  const Instant tick = kNow + Duration::Millis(20);
  ledger.Take(0, kGroup, kTwoAtATime, tick);
  EXPECT_EQ(ledger.FreeAt(kGroup, kTwoAtATime), tick + kTwoAtATime.min_delay);
  ledger.Take(0, kGroup, kTwoAtATime, tick);
  EXPECT_TRUE(ledger.FreeAt(kGroup, kTwoAtATime).infinite());
  // One of the two picks was not leased.
  ledger.Hear(0, {Standing(1, tick)}, kNow);
  EXPECT_EQ(ledger.FreeAt(kGroup, kTwoAtATime), tick + kTwoAtATime.min_delay);
}

TEST(GroupLedger, TellsEachShardOfTheOthers) {
  GroupLedger ledger(2);
  ledger.Hear(0, {Standing(1, kNow)}, kNow);
  ledger.Hear(1, {Standing(3)}, kNow);
  const auto news = ledger.TakeNews();
  ASSERT_EQ(news.size(), 2U);
  ASSERT_EQ(news[0].size(), 1U);
  EXPECT_EQ(news[0].front().key, kGroup);
  EXPECT_EQ(news[0].front().in_flight, 3U);
  ASSERT_EQ(news[1].size(), 1U);
  EXPECT_EQ(news[1].front().in_flight, 1U);
  EXPECT_EQ(news[1].front().delayed_until, kNow + kTwoAtATime.min_delay);
  for (const auto& more : ledger.TakeNews()) EXPECT_TRUE(more.empty()) << "each is told once";
}

TEST(GroupLedger, ForgetsGroupsOfWhichNothingIsOut) {
  GroupLedger ledger(2);
  Instant now = kNow;
  size_t most = 0;
  for (uint64_t i = 1; i <= 100'000; ++i) {
    GroupStanding standing = Standing(1, now);
    standing.key = GroupKey(i);
    ledger.Hear(i % 2, {standing}, now);
    now = now + Duration::Millis(10);
    standing.in_flight = 0;
    ledger.Hear(i % 2, {standing}, now);
    (void)ledger.TakeNews();
    most = std::max(most, ledger.size());
  }
  // Groups are remembered for a delay of ten seconds, in which 1,000 groups come.
  EXPECT_LT(most, 5000U);
  EXPECT_GT(most, 900U);
}

// While assignments are paused, nobody takes the updates from the ledger, but hosts can still move
// between groups.
TEST(GroupLedger, ForgetsThemAlsoWhereNobodyTakesTheNews) {
  GroupLedger ledger(2);
  Instant now = kNow;
  for (uint64_t i = 1; i <= 100'000; ++i) {
    GroupStanding standing = Standing(1, kNow);
    standing.key = GroupKey(i);
    ledger.Hear(0, {standing}, now);
    now = now + Duration::Millis(10);
    standing.in_flight = 0;
    ledger.Hear(0, {standing}, now);
  }
  EXPECT_LT(ledger.size(), 5000U);
  EXPECT_LT(ledger.TakeNews().at(1).size(), 5000U);
}

}  // namespace
}  // namespace freshet
