// Tests freshet-sim fleet: nodes that share one rate do nearly as well as one index, and never
// exceed the rate.
#include "lab/sim/fleet.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/run_program.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;

FleetOptions Small() {
  FleetOptions options;
  options.world.pages = 2000;
  options.world.hosts = 100;
  options.nodes = 6;
  options.days = 6;
  options.deaths = options.joins = options.leader_changes = 1;
  return options;
}

FleetResult Play(const FleetOptions& options) {
  const StatusOr<FleetResult> result = PlayFleet(options, [](double) {});
  EXPECT_TRUE(result.ok()) << result.status();
  return *result;
}

TEST(Fleet, IsAsFreshAsOneIndexWithinHalfAPercent) {
  // A few pages have most of the importance, so the result of a single play can be off by half a
  // percent.
  double loss = 0;
  for (const uint64_t seed : {1, 2, 3}) {
    FleetOptions options = Small();
    options.seed = seed;
    const FleetResult result = Play(options);
    loss += result.loss() / 3;
    EXPECT_GT(result.one_index, 0.7);
    EXPECT_LE(result.largest_sum_of_grants, 1);
    EXPECT_GT(result.used_rate, 0.97);
    // The fleet may exceed the rate by one assignment for each node that ever existed.
    EXPECT_LE(result.largest_excess, 7 + 1);
    EXPECT_GT(result.largest_excess, 0);
    EXPECT_LT(result.fleet_crawls, result.one_index_crawls + 10);
    EXPECT_GT(static_cast<double>(result.fleet_crawls),
              0.95 * static_cast<double>(result.one_index_crawls));
    EXPECT_EQ(result.partitions, 12u);
    EXPECT_GE(result.most_nodes - result.least_nodes, 1u);
    EXPECT_LT(result.mean_price_gap, 0.15);
    EXPECT_GT(result.largest_node, 1.1);
  }
  EXPECT_LT(loss, 0.005);
  EXPECT_GT(loss, -0.005);
}

TEST(Fleet, PricesAreWorthMoreThanNumbersOfPages) {
  FleetOptions options = Small();
  options.days = 4;
  const FleetResult by_price = Play(options);
  options.by_pages = true;
  const FleetResult by_pages = Play(options);
  EXPECT_EQ(by_price.one_index, by_pages.one_index);
  EXPECT_GT(by_pages.loss(), by_price.loss() + 0.005);
  EXPECT_GT(by_pages.mean_price_gap, 2 * by_price.mean_price_gap);
}

TEST(Fleet, KeepsToTheRateWhenHalfOfTheMessagesAreLostOrLate) {
  FleetOptions options = Small();
  options.world.pages = 500;
  options.world.hosts = 50;
  options.days = 20;
  options.crawls_per_page_per_day = 0.2;
  options.loss = 0.5;
  options.late = 0.3;
  options.deaths = options.joins = options.leader_changes = 5;
  const FleetResult result = Play(options);
  EXPECT_LE(result.largest_sum_of_grants, 1);
  EXPECT_GT(result.largest_sum_of_grants, 0.8);
  EXPECT_LE(result.largest_excess, 13);
}

TEST(Fleet, SameSeedPlaysTheSame) {
  FleetOptions options = Small();
  options.world.pages = 300;
  options.days = 3;
  options.learn = true;
  options.epoch_days = 1;
  const FleetResult first = Play(options);
  const FleetResult again = Play(options);
  EXPECT_EQ(first.fleet, again.fleet);
  EXPECT_EQ(first.one_index, again.one_index);
  EXPECT_EQ(first.largest_excess, again.largest_excess);
  options.seed = 2;
  EXPECT_NE(Play(options).fleet, first.fleet);
}

TEST(Fleet, OneNodeOfOnePartitionIsOneIndexButForItsStart) {
  FleetOptions options = Small();
  options.world.pages = 300;
  options.nodes = options.partitions = 1;
  options.deaths = options.joins = options.leader_changes = 0;
  options.loss = options.late = 0;
  const FleetResult result = Play(options);
  EXPECT_NEAR(result.loss(), 0, 0.005);
  // The fleet does not crawl during the first leader's quiet time.
  EXPECT_NEAR(static_cast<double>(result.fleet_crawls),
              static_cast<double>(result.one_index_crawls) * (1 - 13.0 / 864), 5);
}

TEST(FleetCommand, PrintsTableAndJson) {
  const std::string command = "freshet-sim fleet --nodes 3 --pages 200 --hosts 20 --days 1 --quiet";
  const ProgramResult table = RunProgram(command, "");
  ASSERT_EQ(table.exit_code, 0);
  EXPECT_THAT(table.out, HasSubstr("weighted freshness, fleet"));
  const ProgramResult json = RunProgram(command + " --json", "");
  ASSERT_EQ(json.exit_code, 0);
  const auto line = nlohmann::json::parse(json.out);
  EXPECT_EQ(line["nodes"], 3);
  EXPECT_EQ(line["pages"], 200);
  EXPECT_NEAR(line["loss"].get<double>(),
              1 - line["fleet_freshness"].get<double>() / line["one_index_freshness"].get<double>(),
              1e-12);
  EXPECT_LE(line["largest_sum_of_grants"].get<double>(), 1);
}

TEST(Fleet, RefusesWhatMakesNoSenseNamingTheFlag) {
  const auto error = [](auto change) {
    FleetOptions options = Small();
    change(options);
    return std::string(PlayFleet(options, [](double) {}).status().message());
  };
  EXPECT_THAT(error([](auto& o) { o.nodes = 0; }), HasSubstr("--nodes: '0'"));
  EXPECT_THAT(error([](auto& o) { o.nodes = 1001; }), HasSubstr("--nodes: '1001'"));
  EXPECT_THAT(error([](auto& o) { o.world.pages = 5; }), HasSubstr("--pages: '5'"));
  EXPECT_THAT(error([](auto& o) { o.world.hosts = 5000; }), HasSubstr("--hosts: '5000'"));
  EXPECT_THAT(error([](auto& o) { o.partitions = 5000; }), HasSubstr("--partitions: '5000'"));
  EXPECT_THAT(error([](auto& o) { o.world.skew = -1; }), HasSubstr("--skew: '-1'"));
  EXPECT_THAT(error([](auto& o) { o.crawls_per_page_per_day = 0; }),
              HasSubstr("--crawls-per-page-per-day: '0'"));
  EXPECT_THAT(error([](auto& o) { o.days = 0; }), HasSubstr("--days: '0'"));
  EXPECT_THAT(error([](auto& o) { o.round_seconds = 0; }), HasSubstr("--round-seconds: '0'"));
  EXPECT_THAT(error([](auto& o) { o.gain = 0; }), HasSubstr("--gain: '0'"));
  EXPECT_THAT(error([](auto& o) { o.loss = 2; }), HasSubstr("--loss: '2'"));
  EXPECT_THAT(error([](auto& o) { o.late = -1; }), HasSubstr("--late: '-1'"));
  EXPECT_THAT(error([](auto& o) { o.policy = "lds"; }), HasSubstr("--policy lds"));
  EXPECT_THAT(error([](auto& o) { o.policy = "wild"; }), HasSubstr("wild"));
}

}  // namespace
}  // namespace freshet
