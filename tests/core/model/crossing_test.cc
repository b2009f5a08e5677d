// Tests the inverse of the value: round trips over the whole domain, and results at its ends.
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

// The price is a rounded value, so s is known up to one rounding of V over dV/ds.
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

// Returns a page with rates over more than thirty decades, including zero and infinite ones.
ValueParameters ExtremePage(std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto log_uniform = [&](double low, double high) {
    return std::pow(10, low + (high - low) * uniform(random));
  };
  const int width = static_cast<int>(random() % 3);
  PageRates rates;
  rates.unsignalled_rate = random() % 15 == 0 ? 0 : log_uniform(-1, 1);
  const double odds = width == 0   ? log_uniform(-17, 17)
                      : width == 1 ? log_uniform(-9, 9)
                                   : log_uniform(-2, 3);
  rates.signal_rate = odds * (rates.unsignalled_rate == 0 ? 1 : rates.unsignalled_rate);
  rates.signal_weight = width < 2 ? log_uniform(-12, 3) : log_uniform(-3, 1.5);
  if (random() % 20 == 0) rates.signal_weight = 0;
  if (random() % 20 == 0) rates.signal_weight = HUGE_VAL;
  rates.staleness_rate = rates.unsignalled_rate;
  const bool cut = random() % 5 == 0;
  const Policy policy{cut ? PolicyKind::kNcisApprox : PolicyKind::kGreedyNcis,
                      1 + static_cast<int>(random() % 6)};
  return MakeValueParameters(policy, log_uniform(-3, 3), rates);
}

// Returns a price near 0, near the ceiling, of a likely s, of a few signals, or exactly the value
// of one signal.
double ExtremePrice(const ValueParameters& page, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto log_uniform = [&](double low, double high) {
    return std::pow(10, low + (high - low) * uniform(random));
  };
  switch (random() % 5) {
    case 0:
      return page.ceiling * log_uniform(-20, 0);
    case 1:
      return page.ceiling * (1 - log_uniform(-15.5, 0));
    case 2:
      return CrawlValue(page, log_uniform(-9, 1.7));
    case 3:
      return CrawlValue(page, page.weight * log_uniform(-1, 1.5));
    default:
      return CrawlValue(page, page.weight * (1 + static_cast<double>(random() % 30)));
  }
}

// Inverts by bisection, which uses only the order of the values.
double Bisect(const ValueParameters& page, double price) {
  double low = 1e-200;
  double high = kSaturatedStaleness;
  for (;;) {
    const double s = high > 4 * low ? std::sqrt(low * high) : (low + high) / 2;
    if (s <= low || s >= high) return high;
    const NcisPoint point = EvaluateNcis(page, s);
    const bool by_shortfall = price > page.ceiling / 2 && s >= 0.25;
    const bool below = by_shortfall ? point.shortfall > page.ceiling - price : point.value < price;
    (below ? low : high) = s;
  }
}

// The tolerance is larger than 1e-11, because errors of the value within its bounds, and the
// rounding of the ceiling, move the crossing this far.
TEST(Crossing, AgreesWithBisectionForExtremeRatesAndPrices) {
  std::mt19937_64 random(7);
  int compared = 0;
  for (int i = 0; i < 60'000; ++i) {
    const ValueParameters page = ExtremePage(random);
    if (page.shape != ValueShape::kNcis) continue;
    const double price = ExtremePrice(page, random);
    if (!(price > 1e-290 && price < page.ceiling)) continue;
    const double s = Bisect(page, price);
    if (s > 59) continue;
    const NcisPoint point = EvaluateNcis(page, s);
    const double slope = page.scale * point.decay * point.reached;
    const bool by_shortfall = price > page.ceiling / 2 && s >= 0.25;
    const double noise =
        by_shortfall ? 4e-13 * (page.ceiling - price) + 1e-15 * page.ceiling : 2e-12 * price;
    ASSERT_NEAR(ExponentReaching(page, price), s, 1e-11 * s + noise / slope)
        << "odds " << page.odds << " weight " << page.weight << " terms " << page.terms
        << " price/ceiling " << price / page.ceiling << " draw " << i;
    ++compared;
  }
  EXPECT_GT(compared, 50'000);
}

// Without unsignalled changes psi is a staircase, and V has a kink at each multiple of kappa.
TEST(Crossing, FindsTheKinksOfAPageThatOnlySignalsChange) {
  PageRates rates;
  rates.signal_rate = 2;
  for (const double weight : {1e-6, 1e-3, 0.1, 0.7}) {
    rates.signal_weight = weight;
    const ValueParameters page = MakeValueParameters({PolicyKind::kGreedyNcis, 1}, 1, rates);
    ASSERT_EQ(page.odds, HUGE_VAL);
    for (const double count : {1e-3, 0.5, 1 - 1e-7, 1.0, 1 + 1e-7, 1.5, 2.0, 3.0, 3.7, 9.0}) {
      // V in units of mu/gamma: a sum of r^i (1 - e^-(s - i kappa)).
      double value = 0;
      for (int i = 0; i < count; ++i) {
        value += std::exp(-i * weight) * -std::expm1(-(count - i) * weight);
      }
      const double s = ExponentReaching(page, page.scale * value);
      EXPECT_NEAR(s, count * weight, 2e-12 * s) << weight << " x " << count;
    }
  }
}

// Near the ceiling the price determines s through the shortfall, which a double holds to 1e-16 of
// the ceiling. The result must be as good as that allows.
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

TEST(Crossing, PricesOfZeroAndOfTheCeilingAreReachedAtOnceAndNever) {
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
