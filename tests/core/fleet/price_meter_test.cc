// Tests the prices that nodes report.
#include "core/fleet/price_meter.h"

#include <cmath>
#include <vector>

#include "core/base/random.h"
#include "core/model/crawl_value.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

constexpr Instant kStart = Instant::FromUnixSeconds(1'000'000);

TEST(PriceMeter, IsTheGeometricMeanOverItsMemory) {
  PriceMeter meter(Duration::Seconds(10));
  EXPECT_EQ(meter.price(), 0);
  meter.Add(3, kStart);
  EXPECT_NEAR(meter.price(), 3, 1e-12);
  meter.Add(HUGE_VAL, kStart + Duration::Seconds(1));
  EXPECT_NEAR(meter.price(), 3, 1e-12);
  for (int i = 1; i <= 1000; ++i) {
    meter.Add(i % 2 == 0 ? 1 : 4, kStart + Duration::Millis(100 * i));
  }
  EXPECT_NEAR(meter.price(), 2, 0.02);
  meter.Add(0, kStart + Duration::Seconds(101));
  EXPECT_GT(meter.price(), 0);
}

PageRates Changing(double change_rate, double recall, double false_rate) {
  return RatesFromPaper({.importance = 1,
                         .change_rate = change_rate,
                         .recall = recall,
                         .false_signal_rate = false_rate});
}

TEST(DemandAt, IsTheRateOfPagesCrawledAtThatPrice) {
  // Without signals, each page is crawled every tau. After this time its value (mu/Delta) R^1(Delta
  // tau) has reached the price.
  std::vector<PricedPage> pages;
  for (int i = 1; i <= 20; ++i) {
    pages.push_back({.importance = 1.0 * i, .rates = Changing(0.1 * i, 0, 0)});
  }
  const double price = 5;
  double expected = 0;
  for (const PricedPage& page : pages) {
    const double delta = page.rates.change_rate;
    double low = 0;
    double high = 1e6;
    for (int i = 0; i < 200; ++i) {
      const double tau = (low + high) / 2;
      const double x = delta * tau;
      const double value = page.importance / delta * (1 - std::exp(-x) * (1 + x));
      (value < price ? low : high) = tau;
    }
    expected += 1 / low;
  }
  const auto demand = DemandAt(pages, 40, price);
  ASSERT_TRUE(demand.has_value());
  EXPECT_NEAR(demand->rate.per_second(), 2 * expected, 0.01 * expected);
  const double step = 1.1;
  const double log_slope = std::log(DemandAt(pages, 40, price * step)->rate.per_second() /
                                    DemandAt(pages, 40, price / step)->rate.per_second()) /
                           (2 * std::log(step));
  EXPECT_NEAR(demand->elasticity, 1 / log_slope, 0.02);
}

TEST(DemandAt, IsUnknownWhereNothingIsWorthThePrice) {
  const std::vector<PricedPage> pages = {{.importance = 1, .rates = Changing(1, 0.5, 0.1)}};
  EXPECT_TRUE(DemandAt(pages, 1, 0.1).has_value());
  EXPECT_FALSE(DemandAt(pages, 1, 2).has_value());
  EXPECT_FALSE(DemandAt(pages, 1, 0).has_value());
  EXPECT_FALSE(DemandAt({}, 0, 1).has_value());
}

}  // namespace
}  // namespace freshet
