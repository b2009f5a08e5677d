// Tests the incomplete gamma function by comparison with tables of 20 digits, and by its recurrence
// relations.
#include "core/model/gamma.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "boost/math/special_functions/gamma.hpp"
#include "fmt/format.h"
#include "gtest/gtest.h"
#include "tests/core/model/reference_table.h"

namespace freshet {
namespace {

TEST(Gamma, MatchesReference) {
  const auto rows = ReadReference("gamma_reference.tsv");
  ASSERT_EQ(rows.size(), 250u);
  for (const auto& row : rows) {
    const IncompleteGamma gamma = RegularizedGamma(row["a"], row["x"]);
    const std::string what = "a = " + row.cells.at("a") + ", x = " + row.cells.at("x");
    EXPECT_NEAR(gamma.lower, row["lower"], 2e-15) << what;
    EXPECT_NEAR(gamma.upper, row["upper"], 2e-15) << what;
    const double smaller = std::min(row["lower"], row["upper"]);
    const double actual = row["lower"] < row["upper"] ? gamma.lower : gamma.upper;
    ExpectRelative(actual, smaller, smaller > 1e-15 ? 1e-13 : 2e-12, what);
    ExpectRelative(gamma.density, row["weight"], 2e-12, what);
    ExpectRelative(PoissonWeight(row["a"], row["x"]), row["weight"], 2e-12, what);
  }
}

// Compares with Boost at random points of all sizes: orders near the diagonal and far from it.
TEST(Gamma, AgreesWithBoost) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int i = 0; i < 100'000; ++i) {
    const double a = 1 + std::floor(std::exp(uniform(random) * 12));
    const double x = a * 2 * uniform(random);
    const IncompleteGamma gamma = RegularizedGamma(a, x);
    const double lower = boost::math::gamma_p(a, x);
    const double upper = boost::math::gamma_q(a, x);
    const std::string what = fmt::format("a = {}, x = {}", a, x);
    ASSERT_NEAR(gamma.lower, lower, 4e-15) << what;
    ASSERT_NEAR(gamma.upper, upper, 4e-15) << what;
    const double smaller = std::min(lower, upper);
    if (smaller < 1e-15) continue;
    ExpectRelative(lower < upper ? gamma.lower : gamma.upper, smaller, 2e-13, what);
    ASSERT_FALSE(HasFailure()) << what;
  }
}

TEST(Gamma, LimitsAreExact) {
  for (const double i : {0.0, 1.0, 7.0, 40.0, 1e6}) {
    EXPECT_EQ(RegularizedR(i, 0), 0);
    EXPECT_EQ(RegularizedR(i, HUGE_VAL), 1);
    EXPECT_EQ(PoissonWeight(i, HUGE_VAL), 0);
  }
  EXPECT_EQ(PoissonWeight(0, 0), 1);
  EXPECT_EQ(PoissonWeight(3, 0), 0);
  EXPECT_NEAR(RegularizedR(0, 1e-300), 1e-300, 1e-314);
}

// R^i - R^(i+1) = weight of i + 1, also across the border between summation and expansion.
TEST(Gamma, NeighbouringOrdersDifferByThePoissonWeight) {
  for (double a = 1; a < 60; ++a) {
    for (double x = 0.2 * a; x < 3 * a; x += 0.13 * a) {
      const IncompleteGamma here = RegularizedGamma(a, x);
      EXPECT_NEAR(here.lower - RegularizedGamma(a + 1, x).lower, PoissonWeight(a, x), 4e-15)
          << a << " " << x;
      EXPECT_DOUBLE_EQ(here.lower + here.upper, 1);
    }
  }
}

TEST(Gamma, RisesWithItsArgument) {
  for (const double a : {1.0, 2.0, 30.0, 32.0, 33.0, 100.0, 1e4, 1e8}) {
    double before = 0;
    for (double z = -9; z < 9; z += 0.01) {
      const double x = a + z * std::sqrt(a);
      if (x <= 0) continue;
      const double now = RegularizedGamma(a, x).lower;
      EXPECT_GE(now, before - 4e-16) << a << " " << x;
      before = now;
    }
  }
}

}  // namespace
}  // namespace freshet
