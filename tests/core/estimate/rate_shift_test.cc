// Tests pages whose rate changes. The estimator soon notices pages that begin or cease to change
// often, and does not affect the others.
#include <cmath>

#include "gtest/gtest.h"
#include "tests/core/estimate/world.h"

namespace freshet {
namespace {

constexpr size_t kShifted = 40;

// Returns the mean ratio of the estimated and the true rate over the shifted pages, `days` after
// the shift.
double AfterShift(double from, double to, int days) {
  World world({.pages = 300, .mean = 0.02, .false_mean = 0.002, .recall = 0.7, .interval = 20});
  for (size_t i = 0; i < kShifted; ++i) world.pages[i].rate = from;
  world.Run(600, 20);
  for (size_t i = 0; i < kShifted; ++i) world.pages[i].rate = to;
  world.Run(days, 20);
  double sum = 0;
  for (size_t i = 0; i < kShifted; ++i) sum += world.Rate(world.pages[i]);
  return sum / kShifted / to;
}

TEST(RateShift, APageThatWakesIsBelieved) {
  const double ratio = AfterShift(0.001, 0.3, 100);
  EXPECT_GT(ratio, 0.5);
  EXPECT_LT(ratio, 1.5);
}

TEST(RateShift, APageThatFallsAsleepIsBelieved) {
  EXPECT_LT(AfterShift(0.3, 0.001, 100) * 0.001, 0.04);
}

// Over all pages of a world with constant rates, the estimates are as good as without shifts.
TEST(RateShift, PagesThatDoNotShiftAreLeftAlone) {
  World world({.pages = 600, .mean = 0.03, .false_mean = 0.002, .recall = 0.7, .interval = 20});
  world.Run(700, 20);
  double estimated = 0;
  double true_rate = 0;
  double error = 0;
  for (const World::Page& page : world.pages) {
    const double rate = world.Rate(page);
    estimated += rate;
    true_rate += page.rate;
    error += std::pow(std::log((rate + 0.002) / (page.rate + 0.002)), 2);
  }
  EXPECT_NEAR(estimated / true_rate, 1, 0.1);
  EXPECT_LT(std::sqrt(error / 600), 0.4);
}

}  // namespace
}  // namespace freshet
