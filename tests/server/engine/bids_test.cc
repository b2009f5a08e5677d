#include "server/engine/bids.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

using testing::ElementsAre;

ShardBid ByValue(std::vector<double> values, uint64_t pages = 1) {
  ShardBid bid;
  bid.pages = pages;
  for (const double value : values) bid.picks.push_back({.page = {}, .value = value});
  return bid;
}

ShardBid ByPlan(const std::vector<double>& urgencies, uint64_t pages = 1) {
  ShardBid bid = ByValue(urgencies, pages);
  for (Pick& pick : bid.picks) pick.planned = true;
  return bid;
}

TEST(BidRanking, TheDearestGoesFirst) {
  BidRanking ranking;
  EXPECT_THAT(ranking.Rank({ByValue({9, 5, 4}), ByValue({7, 6}), ByValue({})}, 4),
              ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(ranking.Rank({ByPlan({3, 1}), ByPlan({2})}, 9), ElementsAre(0, 1, 0));
  EXPECT_THAT(ranking.Rank({ByPlan({})}, 2), ElementsAre());
}

TEST(BidRanking, ValuesAndUrgenciesTakeTurnsByPages) {
  BidRanking ranking;
  // Plans bid urgencies, which are in the billions. Other policies bid values, which can have any
  // size. Neither kind may displace the other.
  const ShardBid planned = ByPlan({7e9, 7e9}, 300);
  const ShardBid cheap = ByValue({1e-3, 1e-3}, 60);
  const ShardBid dear = ByValue({1e12, 1e12}, 40);
  std::vector<size_t> served(3, 0);
  for (int i = 0; i < 400; ++i) {
    const std::vector<size_t> ranked = ranking.Rank({planned, cheap, dear}, 1);
    ASSERT_EQ(ranked.size(), 1u);
    ++served[ranked.front()];
  }
  EXPECT_THAT(served, ElementsAre(300, 0, 100)) << "and by value among those that have one";
}

TEST(BidRanking, WhereOneKindHasNoPageTheOtherGetsTheTick) {
  BidRanking ranking;
  EXPECT_THAT(ranking.Rank({ByPlan({1}, 1), ByValue({1, 1, 1, 1}, 1'000'000)}, 5),
              testing::UnorderedElementsAre(0, 1, 1, 1, 1));
  EXPECT_THAT(ranking.Rank({ByPlan({1, 1, 1}, 1), ByValue({}, 1'000'000)}, 5),
              ElementsAre(0, 0, 0));
}

}  // namespace
}  // namespace freshet
