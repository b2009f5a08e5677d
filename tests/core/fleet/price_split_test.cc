// Tests that the rate is split so that all nodes that can reach the common price have it.
#include "core/fleet/price_split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

double Sum(const std::vector<double>& rates) {
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

TEST(SplitByPrice, RatesFollowPricesAndSumUpToTheTotal) {
  Random random(1);
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<PriceShare> shares(1 + random.Below(20));
    double least = 0;
    double most = 0;
    for (PriceShare& share : shares) {
      share.usual = std::exp(random.Uniform(-10, 10));
      share.price = std::exp(random.Uniform(-100, 100));
      share.exponent = random.Uniform(0.05, 12);
      share.least = random.Uniform() < 0.3 ? random.Uniform() : 0;
      share.most = share.least + std::exp(random.Uniform(-3, 6));
      least += share.least;
      most += share.most;
    }
    const double total = random.Uniform(0, 1.2 * most);
    const PriceSplit split = SplitByPrice(shares, total, std::exp(random.Uniform(-5, 5)));
    EXPECT_NEAR(Sum(split.rates), std::min(total, most), 1e-6 * most);
    if (total <= least || total >= most) continue;
    for (size_t i = 0; i < shares.size(); ++i) {
      const PriceShare& share = shares[i];
      const double log_rate =
          std::log(share.usual) + share.exponent * (std::log(share.price) - std::log(split.price));
      const double expected = std::clamp(std::exp(log_rate), share.least, share.most);
      EXPECT_NEAR(split.rates[i], expected, 1e-6 * expected);
    }
  }
}

TEST(SplitByPrice, WhoHasNoPriceGoesWithTheOthers) {
  const std::vector<PriceShare> some = {{.usual = 1, .price = 2, .most = 100},
                                        {.usual = 3, .price = 0, .most = 100}};
  const PriceSplit split = SplitByPrice(some, 8);
  EXPECT_NEAR(split.rates[0], 2, 1e-6);
  EXPECT_NEAR(split.rates[1], 6, 1e-6);
  const std::vector<PriceShare> nobody = {{.usual = 1, .most = 100}, {.usual = 3, .most = 100}};
  const PriceSplit by_usual = SplitByPrice(nobody, 8);
  EXPECT_NEAR(by_usual.rates[0], 2, 1e-6);
  EXPECT_EQ(by_usual.price, 0);
}

TEST(SplitByPrice, TooLittleForTheLeastIsShared) {
  const std::vector<PriceShare> shares = {{.usual = 1, .price = 1, .least = 2, .most = 5},
                                          {.usual = 1, .price = 1, .least = 6, .most = 7}};
  EXPECT_EQ(SplitByPrice(shares, 4).rates, (std::vector<double>{1, 3}));
  EXPECT_EQ(SplitByPrice(shares, 0).rates, (std::vector<double>{0, 0}));
  EXPECT_EQ(SplitByPrice(shares, 20).rates, (std::vector<double>{5, 7}));
  EXPECT_TRUE(SplitByPrice({}, 20).rates.empty());
}

}  // namespace
}  // namespace freshet
