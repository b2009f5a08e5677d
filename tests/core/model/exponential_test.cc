// Tests the series and the corrected logarithm by comparison with the long double functions of the
// standard library.
#include "core/model/exponential.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(Exponential, RestIsWithinItsBoundOnBothSides) {
  for (double s = -0.5; s <= 0.5; s += 1.0 / 1024) {
    if (std::abs(s) < 0.01) continue;  // the reference itself loses digits
    const long double reference = (std::expm1(static_cast<long double>(s)) - s) / s / s;
    EXPECT_NEAR(ExponentialRest(s), static_cast<double>(reference), 1e-14) << s;
  }
  EXPECT_EQ(ExponentialRest(0), 0.5);
}

TEST(Exponential, DecayAndLogarithmAreRelativelyAccurate) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int i = 0; i < 100'000; ++i) {
    const double x = std::pow(10, -18 + 20.5 * uniform(random));
    const auto wide = static_cast<long double>(x);
    const Decay decay = DecayAt(x);
    const auto left = static_cast<double>(std::exp(-wide));
    const auto lost = static_cast<double>(-std::expm1(-wide));
    ASSERT_NEAR(decay.left, left, 2e-15 * left) << x;
    ASSERT_NEAR(decay.lost, lost, 2e-15 * lost) << x;
    const auto above = static_cast<double>(std::log1p(wide));
    ASSERT_NEAR(LogOnePlus(x), above, 1e-15 * above) << x;
    if (x >= 1) continue;
    const auto below = static_cast<double>(std::log1p(-wide));
    ASSERT_NEAR(LogOnePlus(-x), below, -1e-15 * below) << x;
  }
  EXPECT_EQ(DecayAt(0).left, 1);
  EXPECT_EQ(DecayAt(0).lost, 0);
  EXPECT_EQ(DecayAt(HUGE_VAL).left, 0);
  EXPECT_EQ(DecayAt(HUGE_VAL).lost, 1);
}

}  // namespace
}  // namespace freshet
