#include "server/engine/offers.h"

#include <algorithm>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

using testing::ElementsAre;

OfferRanking::Offer ByValue(std::vector<double> values, uint64_t pages = 1) {
  OfferRanking::Offer offer{.picks = {}, .pages = pages};
  for (const double value : values) offer.picks.push_back({.page = {}, .value = value});
  return offer;
}

OfferRanking::Offer ByPlan(const std::vector<double>& urgencies, uint64_t pages = 1) {
  OfferRanking::Offer offer = ByValue(urgencies, pages);
  for (Pick& pick : offer.picks) pick.planned = true;
  return offer;
}

constexpr double kForced = std::numeric_limits<double>::infinity();

TEST(OfferRanking, TheDearestGoesFirst) {
  OfferRanking ranking;
  EXPECT_THAT(ranking.Rank({ByValue({9, 5, 4}), ByValue({7, 6}), ByValue({})}, 4),
              ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(ranking.Rank({ByPlan({3, 1}), ByPlan({2})}, 9), ElementsAre(0, 1, 0));
  EXPECT_THAT(ranking.Rank({ByPlan({})}, 2), ElementsAre());
}

TEST(OfferRanking, ValuesAndUrgenciesTakeTurnsByPages) {
  OfferRanking ranking;
  // Urgencies are in the billions, values anything: neither may push the other out.
  const OfferRanking::Offer planned = ByPlan({7e9, 7e9}, 300);
  const OfferRanking::Offer cheap = ByValue({1e-3, 1e-3}, 60);
  const OfferRanking::Offer dear = ByValue({1e12, 1e12}, 40);
  std::vector<size_t> served(3, 0);
  for (int i = 0; i < 400; ++i) {
    const std::vector<size_t> ranked = ranking.Rank({planned, cheap, dear}, 1);
    ASSERT_EQ(ranked.size(), 1u);
    ++served[ranked.front()];
  }
  EXPECT_THAT(served, ElementsAre(300, 0, 100)) << "and by value among those that have one";
}

TEST(OfferRanking, WhereOneKindHasNoPageTheOtherGetsTheTick) {
  OfferRanking ranking;
  EXPECT_THAT(ranking.Rank({ByPlan({1}, 1), ByValue({1, 1, 1, 1}, 1'000'000)}, 5),
              testing::UnorderedElementsAre(0, 1, 1, 1, 1));
  EXPECT_THAT(ranking.Rank({ByPlan({1, 1, 1}, 1), ByValue({}, 1'000'000)}, 5),
              ElementsAre(0, 0, 0));
}

TEST(OfferRanking, ForcedPagesGoBeforeBothKinds) {
  OfferRanking ranking;
  EXPECT_THAT(ranking.Rank({ByPlan({7e9}, 1'000'000), ByValue({kForced, 1}, 1)}, 2),
              ElementsAre(1, 0));
  EXPECT_THAT(ranking.Rank({ByPlan({kForced, 7e9}, 1), ByValue({5, 1}, 1'000'000)}, 2),
              ElementsAre(0, 1));
}

}  // namespace
}  // namespace freshet
