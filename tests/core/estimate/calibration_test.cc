// Tests that the intervals of the default estimator have their stated coverage, in worlds drawn
// from its model.
#include <algorithm>
#include <cmath>
#include <string>

#include "core/estimate/estimator.h"
#include "fmt/format.h"
#include "gtest/gtest.h"
#include "tests/core/estimate/world.h"

namespace freshet {
namespace {

TEST(Interval95, HoldsTheEstimateWhateverTheShape) {
  for (const double shape : {0.05, 0.1, 0.3, 0.5, 1.0, 3.0, 10.0, 100.0}) {
    PageEstimate estimate;
    estimate.rates.change_rate = 1e-6;
    estimate.shape = shape;
    const auto [low, high] = estimate.Interval95();
    EXPECT_LT(low, 1e-6) << shape;
    EXPECT_GT(high, 1e-6) << shape;
  }
}

// Days are stretched so that evidence does not fade. Evidence fades because rates can change, but
// the rates here are constant.
TEST(Interval95, CoversTheTruthAsOftenAsItSays) {
  constexpr int kWorlds = 24;
  constexpr double kStretch = 100;
  double covered = 0;
  double above = 0;
  double pages = 0;
  for (int seed = 1; seed <= kWorlds; ++seed) {
    World world({.pages = 400,
                 .mean = 0.05,
                 .shape = 0.8,
                 .false_mean = 0.02,
                 .recall = 0.5,
                 .interval = 8,
                 .random_crawls = true,
                 .estimator = {.day = Duration::Days(kStretch)},
                 .seed = static_cast<uint64_t>(seed)});
    world.Run(160, 40);
    for (const World::Page& page : world.pages) {
      if (page.crawls < 10) continue;
      const auto [low, high] = world.Estimate(page).Interval95();
      pages += 1;
      covered += low * 86400 <= page.rate && page.rate <= high * 86400 ? 1 : 0;
      above += page.rate > high * 86400 ? 1 : 0;
    }
  }
  RecordProperty("coverage", fmt::format("{:.4f}, {:.4f} above", covered / pages, above / pages));
  EXPECT_GT(covered / pages, 0.93);
  EXPECT_LT(covered / pages, 0.97);
}

}  // namespace
}  // namespace freshet
