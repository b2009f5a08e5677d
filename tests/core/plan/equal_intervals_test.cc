#include "core/plan/equal_intervals.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace freshet {
namespace {

// Returns 1 - (1 + x) e^-x with 64 bits of mantissa. Uses a series if that is not exact enough.
long double Reference(long double x) {
  if (x > 2) return 1 - (1 + x) * std::exp(-x);
  long double term = x * x / 2;
  long double sum = 0;
  for (int j = 2; j < 60; ++j) {
    sum += term;
    term *= x / (j + 1);
  }
  return sum * std::exp(-x);
}

TEST(CrawlGain, AgreesWithExtendedPrecision) {
  EXPECT_EQ(CrawlGain(0), 0);
  EXPECT_EQ(CrawlGain(HUGE_VAL), 1);
  for (double x = 1e-150; x < 800; x *= 1.003) {
    EXPECT_NEAR(static_cast<double>(CrawlGain(x) / Reference(x)), 1, 1.2e-15) << x;
  }
}

TEST(InverseCrawlGain, InvertsOverTheWholeRange) {
  EXPECT_EQ(InverseCrawlGain(0), 0);
  for (double y = 1e-300; y < 0.5; y *= 1.01) {
    const long double back = Reference(InverseCrawlGain(y));
    // d ln x = d ln P / (x P'/P). The divisor is between 1/2 and 1 here.
    EXPECT_NEAR(static_cast<double>(back / y), 1, 4e-15) << y;
  }
  for (double c = 0.5; c > 1e-15; c *= 0.99) {
    const double y = 1 - c;
    const long double x = InverseCrawlGain(y);
    const long double rest = (1 + x) * std::exp(-x);
    // Here x has a relative error of 2e-16, so its exponential has x times that.
    EXPECT_NEAR(static_cast<double>(rest / (1 - static_cast<long double>(y))), 1,
                1e-15 * (2 + static_cast<double>(x)))
        << c;
  }
  const double last = InverseCrawlGain(1 - std::numeric_limits<double>::epsilon() / 2);
  EXPECT_GT(last, 40.4);
  EXPECT_LT(last, 40.6);
}

TEST(InverseCrawlGain, RisesAcrossThePiecesOfItsTable) {
  double before = 0;
  for (int i = 1; i < 100'000; ++i) {
    const double w = i * 8.5e-5;
    const double x = InverseCrawlGain(-std::expm1(-w * w / 2));
    // Neighbouring arguments round to the same y if 1 - y is small.
    EXPECT_GE(x, before) << w;
    before = x;
  }
}

}  // namespace
}  // namespace freshet
