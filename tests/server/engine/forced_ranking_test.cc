// Tests how ticks of forced pages are divided if several shards bid.
#include <algorithm>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/engine/limited_ranking.h"

namespace freshet {
namespace {

using testing::ElementsAre;

constexpr double kForced = std::numeric_limits<double>::infinity();
const Instant kSince = Instant::FromUnixSeconds(1'700'000'000);

Pick ByWorth(double value) { return {.page = {}, .value = value}; }

Pick Forced(uint32_t domain, int late_seconds = 0, bool out_of_turn = false, uint64_t crawl = 1,
            uint64_t owner = 1) {
  return {.page = {},
          .value = kForced,
          .forced = {.owner = owner,
                     .crawl = crawl,
                     .domain = GroupId(domain),
                     .since = kSince - Duration::Seconds(late_seconds)},
          .out_of_turn = out_of_turn};
}

// Makes a bid with one pick for each tick.
ShardBid BidOf(std::vector<Pick> picks) {
  ShardBid bid;
  bid.pages = 1;
  for (uint32_t i = 0; i < picks.size(); ++i) bid.of_tick.push_back(i);
  bid.picks = std::move(picks);
  return bid;
}

// Returns the shard of each tick.
std::vector<size_t> Rank(const std::vector<ShardBid>& bids, const std::vector<bool>& forced_first,
                         BidRanking& ranking) {
  std::vector<Instant> at;
  for (size_t i = 0; i < forced_first.size(); ++i) {
    at.push_back(kSince + Duration::Millis(static_cast<int64_t>(i)));
  }
  TickOwners owners;
  owners.forced_first = forced_first;
  std::vector<size_t> shards;
  for (const TakenBid& taken : RankBids(bids, at, owners, ranking, nullptr).taken) {
    shards.push_back(taken.shard);
  }
  return shards;
}

TEST(ForcedRanking, TheyTakeTheirTicksAndNoMoreHoweverManyShardsBidThem) {
  BidRanking ranking;
  const ShardBid a = BidOf({Forced(1), ByWorth(5), ByWorth(4), ByWorth(3)});
  const ShardBid b = BidOf({Forced(2), ByWorth(9), ByWorth(8), ByWorth(1)});
  EXPECT_THAT(Rank({a, b}, {true, false, false, false}, ranking), ElementsAre(0, 1, 1, 0));
}

TEST(ForcedRanking, AtOtherTicksTheyGoWhereNothingElseIsBid) {
  BidRanking ranking;
  const ShardBid only_forced = BidOf({Forced(1), Forced(1, 0, true), Forced(1, 0, true)});
  const ShardBid cheap = BidOf({ByWorth(1e-9), ByWorth(1e-10)});
  EXPECT_THAT(Rank({only_forced, cheap}, {false, false, false}, ranking), ElementsAre(1, 1, 0));
  EXPECT_THAT(Rank({only_forced, cheap}, {true, true, true}, ranking), ElementsAre(0, 0, 0));
}

// The turns of domains do not depend on how late the pages of a large domain are.
TEST(ForcedRanking, DomainsTakeTurnsOverAllShards) {
  BidRanking ranking;
  int of_good = 0;
  for (int i = 0; i < 100; ++i) {
    const ShardBid evil = BidOf({Forced(1, 1000)});
    const ShardBid good = BidOf({Forced(2, 1)});
    of_good += Rank({evil, good}, {true}, ranking).front() == 1 ? 1 : 0;
  }
  EXPECT_NEAR(of_good, 50, 2);
}

TEST(ForcedRanking, CrawlIdsTakeTurnsOverAllShardsHoweverManyDomainsOneHas) {
  BidRanking ranking;
  int of_good = 0;
  for (uint32_t i = 0; i < 100; ++i) {
    const ShardBid evil = BidOf({Forced(100 + i, 1000)});
    const ShardBid good = BidOf({Forced(2, 1, false, /*crawl=*/2)});
    of_good += Rank({evil, good}, {true}, ranking).front() == 1 ? 1 : 0;
  }
  EXPECT_NEAR(of_good, 50, 2);
}

TEST(ForcedRanking, OwnersTakeTurnsHoweverManyCrawlIdsOneHas) {
  BidRanking ranking;
  int of_good = 0;
  for (uint32_t i = 0; i < 100; ++i) {
    const ShardBid evil = BidOf({Forced(100 + i, 1000, false, /*crawl=*/100 + i)});
    const ShardBid good = BidOf({Forced(2, 1, false, /*crawl=*/2, /*owner=*/2)});
    of_good += Rank({evil, good}, {true}, ranking).front() == 1 ? 1 : 0;
  }
  EXPECT_NEAR(of_good, 50, 2);
}

// The second shard bids the page of crawl id 2 behind a page of another crawl id.
TEST(ForcedRanking, APageDoesNotWaitBehindACrawlIdWhoseTurnItIsNot) {
  BidRanking ranking;
  int of_good = 0;
  for (uint32_t i = 0; i < 100; ++i) {
    const ShardBid evil = BidOf({Forced(100 + i, 1000), Forced(300 + i, 1000)});
    const ShardBid both = BidOf({Forced(500 + i, 1), Forced(2, 1, false, /*crawl=*/2)});
    const std::vector<size_t> shards = Rank({evil, both}, {true, true}, ranking);
    of_good += std::count(shards.begin(), shards.end(), 1);
  }
  EXPECT_NEAR(of_good, 100, 2);
}

TEST(ForcedRanking, OfADomainTheLatestGoesFirst) {
  BidRanking ranking;
  const ShardBid early = BidOf({Forced(1, 5)});
  const ShardBid late = BidOf({Forced(1, 50)});
  EXPECT_THAT(Rank({early, late}, {true, true}, ranking), ElementsAre(1, 0));
}

TEST(ForcedRanking, TheyGoBeforeValuesAndPlansAlike) {
  BidRanking ranking;
  ShardBid planned = BidOf({ByWorth(7e9), ByWorth(7e9)});
  planned.pages = 1'000'000;
  for (Pick& pick : planned.picks) pick.planned = true;
  const ShardBid valued = BidOf({Forced(1), ByWorth(1)});
  EXPECT_EQ(Rank({planned, valued}, {true, true}, ranking).front(), 1u);
  EXPECT_EQ(Rank({planned, valued}, {false, false}, ranking).front(), 0u);
}

}  // namespace
}  // namespace freshet
