// The inverse: round trips over the whole domain, and the answers at its ends.
#include "core/model/crossing.h"

#include <cmath>
#include <random>

#include "core/model/ncis_value.h"
#include "gtest/gtest.h"
#include "tests/core/model/reference_table.h"

namespace freshet {
namespace {

ValueParameters RandomPage(std::mt19937_64& random, PolicyKind kind) {
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto log_uniform = [&](double low, double high) {
    return std::pow(10, low + (high - low) * uniform(random));
  };
  PageRates rates;
  rates.unsignalled_rate = log_uniform(-6, 6);
  rates.signal_rate = rates.unsignalled_rate * log_uniform(-9, 9);
  rates.signal_weight = random() % 20 == 0 ? HUGE_VAL : log_uniform(-9, 2);
  rates.staleness_rate = rates.unsignalled_rate;
  rates.change_rate = rates.unsignalled_rate - rates.signal_rate * std::expm1(-rates.signal_weight);
  const Policy policy{kind,
                      kind == PolicyKind::kNcisApprox ? 1 + static_cast<int>(random() % 5) : 1};
  return MakeValueParameters(policy, log_uniform(-6, 6), rates);
}

// The price is a rounded value, so s is known to about one rounding of V over dV/ds.
TEST(Crossing, RoundTripsOverTheWholeDomain) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int i = 0; i < 60'000; ++i) {
    const PolicyKind kinds[] = {PolicyKind::kGreedy,     PolicyKind::kGreedyCis,
                                PolicyKind::kGreedyNcis, PolicyKind::kNcisApprox,
                                PolicyKind::kHarmonic,   PolicyKind::kNewContent};
    const PolicyKind kind = kinds[i % 6];
    const ValueParameters page = RandomPage(random, kind);
    const double s = std::pow(10, -9 + 10.4 * uniform(random));
    const ValueJet jet = CrawlValueJet(page, s);
    if (jet.value >= page.ceiling || jet.value < 1e-280) continue;
    const double slope = jet.slope / page.speed;  // dV/ds
    const double rounding = 16 * 2.3e-16 * jet.value / slope;
    const double back = ExponentReaching(page, jet.value);
    ASSERT_NEAR(back, s, 1e-11 * s + rounding)
        << static_cast<int>(kind) << " odds " << page.odds << " weight " << page.weight;
    const double now = s * uniform(random);
    ASSERT_NEAR(TimeToReach(page, now, jet.value), (s - now) / page.speed,
                (1e-11 * s + rounding) / page.speed);
  }
}

// Close to the ceiling the price fixes s through the shortfall, which double holds to 1e-16 of the
// ceiling: the answer is as good as that allows, not worse.
TEST(Crossing, IsExactCloseToTheCeiling) {
  PageRates rates;
  rates.change_rate = 1;
  const ValueParameters page = MakeValueParameters({PolicyKind::kGreedy, 1}, 1, rates);
  for (const int bits : {10, 20, 30, 40, 50, 52}) {
    const double shortfall = std::ldexp(1.0, -bits);  // (1 + s) e^-s, exactly
    const double s = ExponentReaching(page, 1 - shortfall);
    EXPECT_NEAR(std::log1p(s) - s, std::log(shortfall), 1e-13 * s) << bits;
  }
  PageRates noisy;
  noisy.unsignalled_rate = 1;
  noisy.signal_rate = 3;
  noisy.signal_weight = 0.7;
  noisy.staleness_rate = 1;
  const ValueParameters noisy_page = MakeValueParameters({PolicyKind::kGreedyNcis, 1}, 1, noisy);
  for (const int bits : {10, 20, 30, 40, 50}) {
    const double price = noisy_page.ceiling - std::ldexp(noisy_page.ceiling, -bits);
    const double s = ExponentReaching(noisy_page, price);
    const double shortfall = EvaluateNcis(noisy_page, s).shortfall;
    EXPECT_NEAR(shortfall, noisy_page.ceiling - price, 1e-11 * shortfall) << bits;
  }
}

TEST(Crossing, EndsOfTheDomain) {
  PageRates rates;
  rates.change_rate = 2;
  rates.unsignalled_rate = 1;
  rates.signal_rate = 2;
  rates.signal_weight = std::log(2);
  rates.staleness_rate = 1;
  for (const PolicyKind kind : {PolicyKind::kGreedy, PolicyKind::kGreedyNcis}) {
    const ValueParameters page = MakeValueParameters({kind, 1}, 3, rates);
    EXPECT_EQ(ExponentReaching(page, 0), 0);
    EXPECT_EQ(ExponentReaching(page, -1), 0);
    EXPECT_EQ(ExponentReaching(page, page.ceiling), HUGE_VAL);
    EXPECT_EQ(ExponentReaching(page, HUGE_VAL), HUGE_VAL);
    EXPECT_LT(ExponentReaching(page, std::nextafter(page.ceiling, 0)), 60);
    EXPECT_EQ(TimeToReach(page, 0.5, page.ceiling), HUGE_VAL);
    EXPECT_EQ(TimeToReach(page, 5, CrawlValue(page, 4)), 0);
    EXPECT_EQ(TimeToReach(page, HUGE_VAL, 1), 0);
    const double tiny = 1e-250;
    EXPECT_NEAR(CrawlValue(page, ExponentReaching(page, tiny)) / tiny, 1, 1e-9);
  }
  const ValueParameters nothing = MakeValueParameters({PolicyKind::kGreedy, 1}, 0, rates);
  EXPECT_EQ(ExponentReaching(nothing, 0), 0);
  EXPECT_EQ(ExponentReaching(nothing, 1e-300), HUGE_VAL);
  const ValueParameters harmonic = MakeValueParameters({PolicyKind::kHarmonic, 1}, 3, rates);
  EXPECT_NEAR(ExponentReaching(harmonic, 1.5e12), 1e12 + 1, 1e-3);
}

}  // namespace
}  // namespace freshet
