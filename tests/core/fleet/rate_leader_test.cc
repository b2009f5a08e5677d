// Tests the common price: the rates that result from it, nodes that cannot take part, and how the
// fleet adapts to changes.
#include "core/fleet/rate_leader.h"

#include <algorithm>
#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/fleet/lossy_fleet.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;

void RunFor(LossyFleet& fleet, double seconds) {
  const double end = fleet.seconds() + seconds;
  while (fleet.seconds() < end) fleet.Step(0.25);
}

// Returns the rates with sum `total` at which all nodes have the same price, p =
// (demand/rate)^elasticity.
std::vector<double> OnePrice(LossyFleet& fleet, double total) {
  double low = -50;
  double high = 50;
  std::vector<double> rates;
  for (int i = 0; i < 200; ++i) {
    const double log_price = (low + high) / 2;
    rates.clear();
    double sum = 0;
    for (const auto& [id, member] : fleet.members()) {
      rates.push_back(member->pages.demand * std::exp(-log_price / member->pages.elasticity));
      sum += rates.back();
    }
    (sum > total ? low : high) = log_price;
  }
  return rates;
}

void ExpectOnePrice(LossyFleet& fleet, double total, double tolerance) {
  const std::vector<double> expected = OnePrice(fleet, total);
  size_t i = 0;
  for (const auto& [id, member] : fleet.members()) {
    EXPECT_NEAR(fleet.RateOf(*member), expected[i], tolerance * expected[i]) << "node " << i;
    ++i;
  }
}

TEST(RateLeader, ConvergesToOnePriceWhetherPricesAnswerAtOnceOrLate) {
  for (const double relaxation : {0.0, 5.0, 60.0, 1000.0}) {
    for (const double told : {1.0, 0.7, 0.0}) {
      FleetRateOptions options;
      options.memory = Duration::FromSeconds(2 * relaxation + 60);
      LossyFleet fleet(options, {}, 1);
      double tells = told;
      for (const double demand : {1.0, 2.0, 10.0, 100.0}) {
        for (const double elasticity : {0.5, 1.0, 2.0}) {
          fleet.Join({.demand = demand,
                      .elasticity = elasticity,
                      .relaxation_seconds = relaxation,
                      .tells_demand = tells});
          if (told > 0) tells = 1 / tells;
        }
      }
      fleet.NewLeader(Rate::PerSecond(150));
      RunFor(fleet, 400 + 9 * relaxation);
      EXPECT_LT(fleet.PriceSpread(), 1.05) << relaxation << ' ' << told;
      EXPECT_NEAR(fleet.Sum(), 150, 1) << relaxation << ' ' << told;
      ExpectOnePrice(fleet, 150, 0.15);
    }
  }
}

TEST(RateLeader, LossesAndNoiseLeavePricesNearOneAnother) {
  LossyFleet fleet({}, {.loss = 0.2, .repeat = 0.1, .most_delay = Duration::Millis(500)}, 2);
  for (const double demand : {1.0, 5.0, 20.0, 100.0}) {
    fleet.Join({.demand = demand, .relaxation_seconds = 100, .noise = 0.1});
  }
  fleet.NewLeader(Rate::PerSecond(50));
  RunFor(fleet, 1000);
  double mean = 0;
  double spread = 0;
  for (int i = 0; i < 100; ++i) {
    RunFor(fleet, 1);
    mean += fleet.Sum() / 100;
    spread = std::max(spread, fleet.PriceSpread());
  }
  EXPECT_LT(spread, 1.15);
  EXPECT_GT(mean, 48.5);
}

TEST(RateLeader, NodeWithoutCreditGetsWhatItUsesAndOthersTheRest) {
  LossyFleet fleet({}, {}, 3);
  LossyFleet::Member& short_of_workers = fleet.Join({.demand = 50, .capacity = 5});
  LossyFleet::Member& without_workers = fleet.Join({.demand = 50, .capacity = 0});
  LossyFleet::Member& other = fleet.Join({.demand = 10});
  fleet.NewLeader(Rate::PerSecond(60));
  RunFor(fleet, 200);
  EXPECT_NEAR(fleet.RateOf(short_of_workers), 5, 1.5);
  EXPECT_LT(fleet.RateOf(without_workers), 0.1);
  EXPECT_NEAR(fleet.RateOf(other), 55, 2);
  // The node gets workers and has its share again.
  without_workers.pages.capacity = 1e9;
  RunFor(fleet, 200);
  EXPECT_NEAR(fleet.RateOf(without_workers) / fleet.RateOf(other), 5, 0.5);
}

// For a while, both nodes can use only a low rate, as if a server on which all workers depend were
// down. The leader remembers these low rates.
TEST(RateLeader, WorkersOfAllThatWereAwayHaveTheRateAgainInSeconds) {
  LossyFleet fleet({}, {}, 9);
  LossyFleet::Member& first = fleet.Join({.demand = 50});
  LossyFleet::Member& second = fleet.Join({.demand = 50});
  fleet.NewLeader(Rate::PerSecond(100));
  RunFor(fleet, 60);
  EXPECT_NEAR(fleet.Sum(), 100, 1);
  for (LossyFleet::Member* member : {&first, &second}) member->pages.most = 2;
  RunFor(fleet, 20);
  EXPECT_LT(fleet.Sum(), 30);
  for (LossyFleet::Member* member : {&first, &second}) member->pages.most = 1e9;
  RunFor(fleet, 12);
  EXPECT_GT(fleet.Sum(), 80);
}

TEST(RateLeader, NodeWithoutPagesGetsNothingAndOneWhoseHostsAreBusyWhatTheyTake) {
  LossyFleet fleet({}, {}, 4);
  LossyFleet::Member& empty = fleet.Join({.demand = 50, .pages = 0});
  LossyFleet::Member& polite = fleet.Join({.demand = 50, .most = 4});
  LossyFleet::Member& other = fleet.Join({.demand = 10});
  fleet.NewLeader(Rate::PerSecond(60));
  RunFor(fleet, 200);
  EXPECT_EQ(fleet.RateOf(empty), 0);
  EXPECT_GT(fleet.RateOf(polite), 4);
  EXPECT_LT(fleet.RateOf(polite), 6.5);
  EXPECT_NEAR(fleet.Sum(), 60, 1);
  EXPECT_GT(fleet.RateOf(other), 53);
}

TEST(RateLeader, NewNodeIsGivenItsShareWithinAMinute) {
  LossyFleet fleet({}, {}, 5);
  for (int i = 0; i < 9; ++i) fleet.Join({.demand = 10});
  fleet.NewLeader(Rate::PerSecond(100));
  RunFor(fleet, 100);
  LossyFleet::Member& joined = fleet.Join({.demand = 10});
  RunFor(fleet, 60);
  EXPECT_NEAR(fleet.RateOf(joined), 10, 1);
  EXPECT_NEAR(fleet.Sum(), 100, 1);
}

TEST(RateLeader, DeadNodesShareGoesToOthersOnceItHasRunOut) {
  const FleetRateOptions options;
  LossyFleet fleet(options, {}, 6);
  LossyFleet::Member& dies = fleet.Join({.demand = 10});
  fleet.Join({.demand = 10});
  fleet.NewLeader(Rate::PerSecond(100));
  RunFor(fleet, 100);
  dies.connected = false;  // so the fleet considers it dead
  RunFor(fleet, options.silence.seconds());
  EXPECT_GT(fleet.RateOf(dies), 0);
  EXPECT_NEAR(fleet.Sum(), 100, 1);
  RunFor(fleet, (options.lifetime + options.clock_bound * 2).seconds() + 3);
  EXPECT_EQ(fleet.RateOf(dies), 0);
  EXPECT_NEAR(fleet.Sum(), 100, 1);
}

TEST(RateLeader, ChangeOfLeaderLeavesTheRateInUse) {
  const FleetRateOptions options;
  LossyFleet fleet(options, {}, 7);
  for (const double demand : {1.0, 10.0, 30.0}) fleet.Join({.demand = demand});
  fleet.NewLeader(Rate::PerSecond(100));
  RunFor(fleet, 100);
  for (int change = 0; change < 5; ++change) {
    fleet.LoseLeader();
    RunFor(fleet, 3);
    fleet.NewLeader(Rate::PerSecond(100));
    double least = 1000;
    for (int i = 0; i < 40; ++i) {
      RunFor(fleet, 1);
      least = std::min(least, fleet.Sum());
      if (i == 5) {
        EXPECT_TRUE(fleet.leader().figures().quiet);
      }
    }
    EXPECT_FALSE(fleet.leader().figures().quiet);
    EXPECT_GT(least, 97);
  }
  ExpectOnePrice(fleet, 100, 0.1);
}

FleetRateOptions WithPlaces(uint32_t places) {
  FleetRateOptions options;
  options.places = places;
  return options;
}

TEST(RateLeader, WhoTakesAPlaceHasItsRateAtOnce) {
  LossyFleet fleet(WithPlaces(3), {}, 17);
  for (uint32_t i = 0; i < 3; ++i) fleet.TakePlace(i, {.demand = 1.0 + 20 * i});
  fleet.NewLeader(Rate::PerSecond(100));
  RunFor(fleet, 100);
  const LossyFleet::Member& before = *fleet.members().rbegin()->second;
  const double rate = fleet.RateOf(before);
  EXPECT_GT(rate, 40);
  const LossyFleet::Member& after = fleet.TakePlace(2, before.pages);
  EXPECT_EQ(fleet.RateOf(after), 0);
  RunFor(fleet, 3);  // a round until the leader has the report, and one for the grant
  EXPECT_NEAR(fleet.RateOf(after), rate, rate / 4);
  EXPECT_GT(fleet.Sum(), 80);
}

TEST(RateLeader, NewLeaderIsQuietNoLongerThanUntilAllPlacesHaveAnswered) {
  LossyFleet fleet(WithPlaces(3), {}, 18);
  for (uint32_t i = 0; i < 3; ++i) fleet.TakePlace(i, {});
  fleet.NewLeader(Rate::PerSecond(100));
  RunFor(fleet, 7);
  EXPECT_FALSE(fleet.leader().figures().quiet);
  EXPECT_GT(fleet.Sum(), 90);
  // One node is cut off. It still has a grant and might obey it.
  fleet.LoseLeader();
  fleet.members().begin()->second->connected = false;
  fleet.NewLeader(Rate::PerSecond(100));
  RunFor(fleet, 6);
  EXPECT_TRUE(fleet.leader().figures().quiet);
  EXPECT_LE(fleet.Sum(), 100.001);
  // The next node in the same place has no grant.
  const LossyFleet::Member& next = fleet.TakePlace(0, {});
  RunFor(fleet, 6);
  EXPECT_FALSE(fleet.leader().figures().quiet);
  EXPECT_GT(fleet.RateOf(next), 30);
}

TEST(RateLeader, RateIsFollowedUpAndDown) {
  const FleetRateOptions options;
  LossyFleet fleet(options, {}, 8);
  for (const double demand : {1.0, 10.0, 30.0}) fleet.Join({.demand = demand});
  fleet.NewLeader(Rate::PerSecond(100));
  RunFor(fleet, 60);
  fleet.leader().SetRate(Rate::PerSecond(10));
  // All nodes answer, so the leader need not wait for grants to expire.
  RunFor(fleet, 4);
  EXPECT_LE(fleet.Sum(), 10.0001);
  RunFor(fleet, 20);
  EXPECT_NEAR(fleet.Sum(), 10, 0.2);
  fleet.leader().SetRate(Rate());
  RunFor(fleet, 4);
  EXPECT_EQ(fleet.Sum(), 0);
  fleet.leader().SetRate(Rate::PerSecond(200));
  RunFor(fleet, 60);
  EXPECT_NEAR(fleet.Sum(), 200, 2);
  ExpectOnePrice(fleet, 200, 0.1);
}

TEST(RateLeader, OneNodeGetsAll) {
  LossyFleet fleet({}, {}, 9);
  fleet.Join({.demand = 3});
  fleet.NewLeader(Rate::PerSecond(7));
  RunFor(fleet, 40);
  EXPECT_NEAR(fleet.Sum(), 7, 1e-6);
  EXPECT_LE(fleet.Sum(), 7);
}

TEST(RateLeader, NodesWithoutAPriceShareByPages) {
  LossyFleet fleet({}, {}, 10);
  LossyFleet::Member& small = fleet.Join({.pages = 100});
  LossyFleet::Member& large = fleet.Join({.pages = 900});
  for (auto* member : {&small, &large}) member->pages.noise = 0;
  RateLeader leader({}, 1, Rate::PerSecond(10), Instant::FromUnixSeconds(1'000'000));
  Instant now = Instant::FromUnixSeconds(1'000'100);
  for (const uint64_t node : {1, 2}) {
    RateReport report{.node = NodeId(node), .number = 1, .sent = now};
    report.credit = 1000;
    report.pages = node == 1 ? 100 : 900;
    ASSERT_TRUE(leader.Hear(report, now).ok());
  }
  const std::vector<RateGrant> grants = leader.Round(now);
  ASSERT_EQ(grants.size(), 2u);
  EXPECT_NEAR(grants[0].rate.per_second(), 1, 1e-6);
  EXPECT_NEAR(grants[1].rate.per_second(), 9, 1e-6);
}

TEST(RateLeader, ThousandNodesOfSkewedDemandComeToOnePrice) {
  LossyFleet fleet({}, {.loss = 0.02}, 11);
  for (int i = 1; i <= 1000; ++i) {
    fleet.Join({.demand = 1000.0 / i, .relaxation_seconds = 30, .noise = 0.02});
  }
  fleet.NewLeader(Rate::PerSecond(5000));
  while (fleet.seconds() < 200) fleet.Step(1);
  EXPECT_LT(fleet.PriceSpread(), 1.1);
  EXPECT_GT(fleet.Sum(), 4950);
  EXPECT_LE(fleet.Sum(), 5000);
  EXPECT_EQ(fleet.leader().figures().nodes, 1000u);
}

class HearTest : public testing::Test {
 protected:
  [[nodiscard]] RateReport Good() const {
    RateReport report{.node = NodeId(1), .number = ++numbers_, .sent = now_, .price = 1};
    report.credit = report.pages = 10;
    return report;
  }
  template <typename Change>
  std::string Refusal(Change change) {
    RateReport report = Good();
    change(report);
    return std::string(leader_.Hear(report, now_).message());
  }

  mutable uint64_t numbers_ = 0;
  Instant now_ = Instant::FromUnixSeconds(1'000'000);
  // The quiet time of this leader ended long ago.
  RateLeader leader_{{}, 5, Rate::PerSecond(10), Instant::FromUnixSeconds(900'000)};
};

TEST_F(HearTest, RefusesWhatNoNodeCanMeanNamingIt) {
  EXPECT_THAT(Refusal([](auto& r) { r.price = -1; }), HasSubstr("price"));
  EXPECT_THAT(Refusal([](auto& r) { r.price = NAN; }), HasSubstr("price"));
  EXPECT_THAT(Refusal([](auto& r) {
                r.demand = {Rate::PerSecond(1), 1};
              }),
              HasSubstr("demand.elasticity"));
  EXPECT_THAT(Refusal([](auto& r) { r.used = Rate::PerSecond(-1); }), HasSubstr("used"));
  EXPECT_THAT(Refusal([](auto& r) { r.held.rate = Rate::PerSecond(HUGE_VAL); }), HasSubstr("rate"));
  EXPECT_THAT(Refusal([](auto& r) { r.held = {NodeId(2), 5, 0}; }), HasSubstr("another node"));
  EXPECT_THAT(Refusal([](auto& r) {
                r.held = {NodeId(1), 5, 3};
              }),
              HasSubstr("share number 3 of the crawl rate is unknown"));
  EXPECT_THAT(Refusal([](auto& r) { r.sent = r.sent + Duration::Seconds(1); }),
              HasSubstr("in the future"));
  EXPECT_THAT(Refusal([](auto& r) { r.sent = r.sent - Duration::Seconds(60); }),
              HasSubstr("too long ago"));
  EXPECT_EQ(Refusal([](auto&) {}), "");
  EXPECT_THAT(Refusal([](auto& r) { r.number = 1; }), HasSubstr("later report"));
  // A refused report must not create a node.
  EXPECT_EQ(leader_.Round(now_).size(), 1u);
}

TEST_F(HearTest, StopsOnceANodeHasHeardOfALaterLeader) {
  EXPECT_EQ(Refusal([](auto& r) { r.held = {NodeId(1), 6, 1}; }), "");
  EXPECT_TRUE(leader_.Round(now_).empty());
  EXPECT_TRUE(leader_.figures().deposed);
}

TEST_F(HearTest, RefusesWhoHasLostItsPlace) {
  leader_ = RateLeader(WithPlaces(2), 5, Rate::PerSecond(10), Instant::FromUnixSeconds(900'000));
  EXPECT_THAT(Refusal([](auto& r) { r.place = 2; }), HasSubstr("place"));
  EXPECT_EQ(Refusal([](auto& r) { r.node = NodeId(7); }), "");
  EXPECT_EQ(Refusal([](auto& r) { r.place = 1; }), "");
  EXPECT_EQ(Refusal([](auto& r) { r.node = NodeId(9); }), "");
  EXPECT_THAT(Refusal([](auto& r) { r.node = NodeId(8); }), HasSubstr("another has its place"));
  EXPECT_EQ(leader_.Round(now_).size(), 2u);
}

TEST_F(HearTest, TakesNoMoreNodesThanItMay) {
  for (size_t i = 0; i < kMaxFleetNodes; ++i) {
    RateReport report = Good();
    report.node = NodeId(i + 1);
    ASSERT_TRUE(leader_.Hear(report, now_).ok());
  }
  EXPECT_THAT(Refusal([](auto& r) { r.node = NodeId(kMaxFleetNodes + 1); }),
              HasSubstr("there are 4096 already"));
  EXPECT_EQ(leader_.Round(now_).size(), kMaxFleetNodes);
  // Nodes that are silent for long free their places.
  now_ = now_ + Duration::Seconds(60);
  (void)leader_.Round(now_);
  EXPECT_EQ(Refusal([](auto& r) { r.node = NodeId(kMaxFleetNodes + 1); }), "");
}

}  // namespace
}  // namespace freshet
