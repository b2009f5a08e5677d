// Tests the moment estimator and closed forms: degenerate input, confidence intervals, and the
// reference values.
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "core/estimate/cho_gm.h"
#include "gtest/gtest.h"
#include "lab/methods/closed_form.h"
#include "lab/methods/moment.h"
#include "tests/core/estimate/estimator_cases.h"
#include "tests/core/estimate/without_signals.h"

namespace freshet {
namespace {

TEST(Moment, ClipsAndSaysSo) {
  const Observations mixed = WithoutSignals({{1, true}, {2, false}, {3, true}});
  const double root = EstimateMoment(mixed).change_rate;
  EXPECT_NEAR((std::exp(-root) + std::exp(-2 * root) + std::exp(-3 * root)) / 3, 1.0 / 3, 1e-14);
  EXPECT_EQ(EstimateMoment(mixed, {2 * root, 9}).status, EstimateStatus::kClippedLow);
  EXPECT_EQ(EstimateMoment(mixed, {2 * root, 9}).change_rate, 2 * root);
  EXPECT_EQ(EstimateMoment(mixed, {0, root / 2}).status, EstimateStatus::kClippedHigh);
  EXPECT_EQ(EstimateMoment(mixed, {0, root / 2}).change_rate, root / 2);
  EXPECT_EQ(EstimateMoment(WithoutSignals({{1, true}}), {0, 5}).change_rate, 5);
  EXPECT_EQ(EstimateMoment(WithoutSignals({{1, true}})).status, EstimateStatus::kAllChanged);
  EXPECT_EQ(EstimateMoment(WithoutSignals({{1, false}}), {0.25, 5}).change_rate, 0.25);
  EXPECT_EQ(EstimateMoment(WithoutSignals({{1, false}})).status, EstimateStatus::kAllUnchanged);
  EXPECT_TRUE(std::isnan(EstimateMoment(WithoutSignals({})).change_rate));
}

TEST(Moment, StandsLengthsOfTwelveDecades) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> log10(-6, 6);
  for (int trial = 0; trial < 500; ++trial) {
    Observations observations(0);
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(observations.Add(std::pow(10, log10(random)), {}, random() % 3 == 0).ok());
    }
    if (observations.changed_count() == 0) continue;
    const double x = EstimateMoment(observations).change_rate;
    double sum = 0;
    for (size_t i = 0; i < 20; ++i) sum += std::exp(-x * observations.elapsed(i));
    EXPECT_NEAR(sum, static_cast<double>(observations.unchanged_count()), 1e-9) << trial;
  }
}

// Solves sum e^(-x tau) = U for x, by bisection in extended precision. A term above 1/2 is added as
// 1 and a small negative rest. The rests are added separately, because next to a million ones, even
// extended precision would lose them.
long double MomentByBisection(const Observations& observations) {
  const auto excess = [&](long double x) {
    long double whole = -static_cast<long double>(observations.unchanged_count());
    long double sum = 0;
    for (size_t i = 0; i < observations.size(); ++i) {
      const long double missing = std::expm1(-x * observations.elapsed(i));
      whole += missing > -0.5L ? 1 : 0;
      sum += missing > -0.5L ? missing : std::exp(-x * observations.elapsed(i));
    }
    return sum + whole;
  };
  long double low = -40;
  long double high = 40;
  for (int step = 0; step < 70; ++step) {
    const long double middle = (low + high) / 2;
    (excess(std::exp(middle)) > 0 ? low : high) = middle;
  }
  return std::exp((low + high) / 2);
}

Observations RandomIntervals(size_t size, size_t changed, double decades, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> log10(-decades, decades);
  std::vector<std::pair<double, bool>> items;
  for (size_t i = 0; i < size; ++i) items.emplace_back(std::pow(10, log10(random)), i < changed);
  return WithoutSignals(items);
}

TEST(Moment, IsExactNearBothEndsAndForAllLengths) {
  for (const double decades : {0.0, 0.3, 2.0, 6.0}) {
    for (const size_t size : {2, 3, 20, 300, 10'000}) {
      for (const size_t changed : {size_t{1}, size / 3, size / 2, size - size / 10, size - 1}) {
        if (changed == 0 || changed == size) continue;
        const Observations observations = RandomIntervals(size, changed, decades, size + changed);
        const auto expected = static_cast<double>(MomentByBisection(observations));
        EXPECT_NEAR(EstimateMoment(observations).change_rate / expected, 1, 4e-15)
            << changed << " of " << size << " changed, " << decades << " decades";
      }
    }
  }
}

// Nearly every interval is either far shorter or far longer than 1/x. As many intervals changed as
// are far longer, so the sum is nearly U for a wide range of x.
TEST(Moment, IsExactWhereTheSumIsFlat) {
  for (const double ratio : {1e3, 1e6, 1e12}) {
    const Observations observations =
        WithoutSignals({{1, false}, {2, false}, {1.5, true}, {ratio, true}, {3 * ratio, false}});
    const auto expected = static_cast<double>(MomentByBisection(observations));
    EXPECT_NEAR(EstimateMoment(observations).change_rate / expected, 1, 4e-15) << ratio;
  }
}

// The share of unchanged intervals is 1 - 1e-6, so its logarithm has lost six digits.
TEST(Moment, IsExactForOneChangeInAMillion) {
  Observations observations(0);
  long double total = 0;
  long double squares = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const double tau = 1 + 1e-6 * i;
    ASSERT_TRUE(observations.Add(tau, {}, i == 0).ok());
    total += tau;
    squares += static_cast<long double>(tau) * tau;
  }
  // x total - x^2 squares/2 + x^3 cubes/6 = 1, with the cubes for the mean length.
  long double x = 1 / total;
  const long double cubes = 3.75e6L;
  for (int step = 0; step < 20; ++step) {
    x = (1 + x * x * squares / 2 - x * x * x * cubes / 6) / total;
  }
  EXPECT_NEAR(EstimateMoment(observations).change_rate / static_cast<double>(x), 1, 1e-14);
}

TEST(Moment, Lemma3HoldsAndIsInfiniteWithoutABound) {
  std::mt19937_64 random(4);
  std::exponential_distribution<double> exponential(1.0);
  const RateBounds bounds{0.1, 1.5};
  int covered = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    Observations observations(0);
    for (int i = 0; i < 50; ++i) {
      const double tau = 0.5 + 0.01 * i;
      ASSERT_TRUE(observations.Add(tau, {}, exponential(random) < 0.7 * tau).ok());
    }
    const RateEstimate estimate = EstimateMoment(observations, bounds);
    const RateInterval interval = MomentInterval(observations, estimate, bounds, 0.2);
    covered += interval.low <= 0.7 && 0.7 <= interval.high ? 1 : 0;
  }
  EXPECT_GE(covered, 800);
  const Observations one = WithoutSignals({{1, false}});
  EXPECT_EQ(MomentHalfWidth(one, {}, 0.05), HUGE_VAL);
  EXPECT_EQ(MomentHalfWidth(Observations(0), bounds, 0.05), HUGE_VAL);
  EXPECT_EQ(MomentInterval(one, EstimateMoment(one), {}, 0.05).high, HUGE_VAL);
}

TEST(ClosedForm, EveryCaseHasItsAnswerAndIntervalsHoldTheEstimate) {
  EXPECT_EQ(EstimateClosedForm(WithoutSignals({{1, true}, {2, false}})).status,
            EstimateStatus::kUnequalIntervals);
  EXPECT_EQ(EstimateClosedForm(WithoutSignals({{1, true}})).change_rate, HUGE_VAL);
  EXPECT_EQ(EstimateClosedForm(WithoutSignals({{1, false}})).change_rate, 0);
  EXPECT_EQ(EstimateClosedForm(WithoutSignals({})).status, EstimateStatus::kNoObservations);
  const Observations equal = WithoutSignals({{4, true}, {4, true}, {4, false}});
  const RateEstimate closed = EstimateClosedForm(equal);
  EXPECT_NEAR(closed.change_rate, EstimateChoGm(equal, 0).change_rate, 1e-15);
  EXPECT_NEAR(closed.change_rate, EstimateMoment(equal).change_rate, 1e-15);
  const RateInterval interval = ClosedFormInterval(equal, closed, 0.05);
  EXPECT_LT(interval.low, closed.change_rate);
  EXPECT_GT(interval.high, closed.change_rate);
  EXPECT_LT(EstimateLowerBound(equal).change_rate, closed.change_rate);
  EXPECT_EQ(EstimateLowerBound(WithoutSignals({{2, false}})).status, EstimateStatus::kAllUnchanged);
  EXPECT_EQ(LowerBoundInterval(WithoutSignals({{2, false}}), 0.05).low, 0);
  EXPECT_EQ(LowerBoundInterval(WithoutSignals({}), 0.05).high, HUGE_VAL);
  EXPECT_EQ(EstimateComplete(WithoutSignals({})).change_rate, 1);
  EXPECT_LT(CompleteInterval(equal, 0.05).low, EstimateComplete(equal).change_rate);
  EXPECT_GT(CompleteInterval(equal, 0.05).high, EstimateComplete(equal).change_rate);
}

TEST(Moment, AgreesWithTheReference) {
  for (const json& c : Cases()) {
    const Observations observations = Load(c);
    const json& expected = c["est"];
    const RateBounds bounds{c["ximin"], c["ximax"]};
    const RateEstimate unclipped = EstimateMoment(observations);
    if (expected["moment_unclipped_inf"]) {
      EXPECT_EQ(unclipped.change_rate, HUGE_VAL);
    } else {
      ExpectNear(unclipped.change_rate, expected["moment_unclipped"], c, 1e-12);
    }
    ExpectNear(EstimateMoment(observations, bounds).change_rate, expected["moment"], c, 1e-12);
    const double half = MomentHalfWidth(observations, bounds, expected["moment_delta"]);
    if (expected["moment_ci_halfwidth"].is_null()) {
      EXPECT_GT(half, 1e300);
    } else {
      ExpectNear(half, expected["moment_ci_halfwidth"], c, 1e-10);
    }
  }
}

TEST(ClosedForm, AgreesWithTheReference) {
  for (const json& c : Cases()) {
    const Observations observations = Load(c);
    const json& expected = c["est"];
    ExpectNear(EstimateComplete(observations).change_rate, expected["complete"], c, 1e-12);
    ExpectNear(EstimateLowerBound(observations).change_rate, expected["frontera_lower"], c, 1e-12);
    const RateEstimate closed = EstimateClosedForm(observations);
    if (!expected["equal_closed"].is_null()) {
      ExpectNear(closed.change_rate, expected["equal_closed"], c, 1e-12);
    } else {
      EXPECT_FALSE(std::isfinite(closed.change_rate)) << "case " << c["id"];
    }
  }
}

}  // namespace
}  // namespace freshet
