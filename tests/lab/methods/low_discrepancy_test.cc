#include "lab/methods/low_discrepancy.h"

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "core/plan/lds.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

std::vector<double> RandomShares(size_t pages, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> rates(pages);
  for (double& rate : rates) rate = std::exp(2 * normal(random));
  const double total = std::accumulate(rates.begin(), rates.end(), 0.0);
  for (double& rate : rates) rate /= total;
  return rates;
}

TEST(LowDiscrepancy, NoPageIsEverACrawlAheadOrBehind) {
  for (const size_t pages : {1, 2, 3, 10, 100, 1000}) {
    for (uint64_t seed = 0; seed < 5; ++seed) {
      std::vector<double> rates = RandomShares(pages, seed);
      for (double& rate : rates) rate *= 7;
      StatusOr<LowDiscrepancySchedule> schedule = LowDiscrepancySchedule::Create(rates, 7);
      ASSERT_TRUE(schedule.ok());
      std::vector<double> crawls(pages);
      for (int slot = 1; slot <= 5000; ++slot) {
        const std::optional<size_t> page = schedule->Next();
        ASSERT_TRUE(page.has_value()) << "all of the rate is planned, so no slot is idle";
        crawls[*page] += 1;
        for (size_t i = 0; i < pages; ++i) {
          ASSERT_LT(std::abs(crawls[i] - slot * rates[i] / 7), 1 + 1e-9)
              << pages << " pages, slot " << slot;
        }
      }
    }
  }
}

TEST(LowDiscrepancy, UnplannedRateIsIdleAndZeroIsNever) {
  const std::vector<double> rates = {0.25, 0, 0.125};
  StatusOr<LowDiscrepancySchedule> schedule = LowDiscrepancySchedule::Create(rates, 1);
  ASSERT_TRUE(schedule.ok());
  std::vector<int> crawls(3);
  int idle = 0;
  for (int slot = 0; slot < 800; ++slot) {
    const std::optional<size_t> page = schedule->Next();
    if (page) {
      ++crawls[*page];
    } else {
      ++idle;
    }
  }
  EXPECT_EQ(crawls, (std::vector<int>{200, 0, 100}));
  EXPECT_EQ(idle, 500);
  EXPECT_EQ(schedule->slots(), 800u);
}

TEST(LowDiscrepancy, NoPageAtAllIsAlwaysIdle) {
  StatusOr<LowDiscrepancySchedule> schedule = LowDiscrepancySchedule::Create({}, 1);
  ASSERT_TRUE(schedule.ok());
  EXPECT_FALSE(schedule->Next().has_value());
}

TEST(LowDiscrepancy, EqualPagesTakeTurns) {
  const std::vector<double> rates(4, 0.25);
  StatusOr<LowDiscrepancySchedule> schedule = LowDiscrepancySchedule::Create(rates, 1);
  for (size_t slot = 0; slot < 40; ++slot) EXPECT_EQ(*schedule->Next(), slot % 4);
}

TEST(LowDiscrepancy, NewRatesKeepWhatPagesHaveWaited) {
  // Ten pages are each due once in 10 slots. After 5 slots, all rates except those of pages 0 and 9
  // become 0.
  std::vector<double> rates(10, 0.1);
  StatusOr<LowDiscrepancySchedule> schedule = LowDiscrepancySchedule::Create(rates, 1);
  for (int slot = 0; slot < 5; ++slot) EXPECT_EQ(*schedule->Next(), static_cast<size_t>(slot));
  rates.assign(10, 0);
  rates[0] = 0.05;
  rates[9] = 0.05;
  ASSERT_TRUE(schedule->Replan(rates, 1).ok());
  // By the old rates, page 9 is due in five slots, which is half of its interval. By the new rates,
  // half of its interval is ten slots.
  std::vector<int> crawled_at(10, 0);
  for (int slot = 6; slot <= 200; ++slot) {
    const std::optional<size_t> page = schedule->Next();
    if (page && crawled_at[*page] == 0) crawled_at[*page] = slot;
  }
  EXPECT_LE(crawled_at[9], 15);
  // Page 0 was crawled in slot 1. By the old rates, its next interval would begin at slot 10. By
  // the new rates, it begins later.
  EXPECT_GT(crawled_at[0], 10);
  EXPECT_LE(crawled_at[0], 36);
  for (size_t i = 1; i < 9; ++i) EXPECT_EQ(crawled_at[i], 0);
  EXPECT_FALSE(schedule->Replan(std::vector<double>(9, 0.1), 1).ok());
}

TEST(LowDiscrepancy, StaysExactThroughManyReplans) {
  std::mt19937_64 random(3);
  std::vector<double> rates = RandomShares(50, 1);
  StatusOr<LowDiscrepancySchedule> schedule = LowDiscrepancySchedule::Create(rates, 1);
  std::vector<double> crawls(50);
  std::vector<double> fluid(50);
  for (int epoch = 0; epoch < 100; ++epoch) {
    for (int slot = 0; slot < 97; ++slot) {
      if (const auto page = schedule->Next()) crawls[*page] += 1;
      for (size_t i = 0; i < 50; ++i) fluid[i] += rates[i];
    }
    rates = RandomShares(50, random());
    ASSERT_TRUE(schedule->Replan(rates, 1).ok());
  }
  // New rates can make several pages due at once, so the number of crawls of a page can be off by a
  // few.
  for (size_t i = 0; i < 50; ++i) EXPECT_LT(std::abs(crawls[i] - fluid[i]), 4) << i;
}

TEST(LowDiscrepancy, RefusesBadRates) {
  const auto create = [](std::vector<double> rates, double crawl_rate) {
    return LowDiscrepancySchedule::Create(rates, crawl_rate).status().code();
  };
  EXPECT_EQ(create({1, 1}, 1.5), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(create({-1, 1}, 2), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(create({NAN}, 2), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(create({0}, 0), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(create({0}, HUGE_VAL), absl::StatusCode::kInvalidArgument);
}

// Simulates the world of the first experiment of the noisy-signals paper: importance and change
// rate are uniform on (0, 1), there are 100 crawls per unit of time for 1000 units, and every page
// is fresh at the start.
double SimulatedFreshness(size_t pages, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<double> importance(pages);
  std::vector<double> change_rate(pages);
  for (size_t i = 0; i < pages; ++i) {
    importance[i] = uniform(random);
    change_rate[i] = uniform(random);
  }
  const StatusOr<RatePlan> plan = PlanLds({importance, change_rate, {}}, 100);
  StatusOr<LowDiscrepancySchedule> schedule = LowDiscrepancySchedule::Create(plan->rate, 100);
  std::vector<double> last(pages, 0.0);
  double fresh = 0;
  double total = 0;
  const auto add = [&](size_t i, double until) {
    fresh += importance[i] * -std::expm1(-change_rate[i] * (until - last[i])) / change_rate[i];
  };
  for (int slot = 1; slot <= 100'000; ++slot) {
    const std::optional<size_t> page = schedule->Next();
    if (!page) continue;
    add(*page, slot / 100.0);
    last[*page] = slot / 100.0;
  }
  for (size_t i = 0; i < pages; ++i) {
    add(i, 1000);
    total += importance[i] * 1000;
  }
  return fresh / total;
}

TEST(LowDiscrepancy, ReachesTheFreshnessOfAnIndependentSimulation) {
  // Mean and standard error of time-weighted freshness over 30 worlds, computed by an independent
  // program.
  const struct {
    size_t pages;
    double mean;
    double error;
  } rows[] = {{100, 0.83093, 0.00190}, {1000, 0.36519, 0.00190}};
  for (const auto& row : rows) {
    double sum = 0;
    constexpr int kRepeats = 20;
    for (int seed = 0; seed < kRepeats; ++seed) {
      sum += SimulatedFreshness(row.pages, 100 + static_cast<uint64_t>(seed));
    }
    // The tolerance is three standard errors of the difference between the two means.
    EXPECT_NEAR(sum / kRepeats, row.mean, 3 * row.error * std::sqrt(1 + 30.0 / kRepeats))
        << row.pages;
  }
}

}  // namespace
}  // namespace freshet
