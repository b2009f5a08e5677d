// One-parameter estimators and signal quality: degenerate input, intervals, and the equation
// behind.
#include <cmath>
#include <random>
#include <vector>

#include "core/base/root.h"
#include "core/estimate/cho_gm.h"
#include "core/estimate/closed_form.h"
#include "core/estimate/moment.h"
#include "core/estimate/rate_equation.h"
#include "core/estimate/signals.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

Observations WithoutSignals(const std::vector<std::pair<double, bool>>& items) {
  Observations observations(0);
  for (const auto& [elapsed, changed] : items) {
    EXPECT_TRUE(observations.Add(elapsed, {}, changed).ok());
  }
  return observations;
}

TEST(ObservationsTest, RefuseWhatBreaksTheInvariants) {
  Observations observations(1);
  const double one = 1;
  const double negative = -1;
  const double nan = NAN;
  EXPECT_FALSE(observations.Add(0, {&one, 1}, true).ok());
  EXPECT_FALSE(observations.Add(-1, {&one, 1}, true).ok());
  EXPECT_FALSE(observations.Add(NAN, {&one, 1}, true).ok());
  EXPECT_FALSE(observations.Add(HUGE_VAL, {&one, 1}, true).ok());
  EXPECT_FALSE(observations.Add(1, {&negative, 1}, true).ok());
  EXPECT_FALSE(observations.Add(1, {&nan, 1}, true).ok());
  EXPECT_FALSE(observations.Add(1, {}, true).ok());
  EXPECT_TRUE(observations.empty());
  EXPECT_TRUE(observations.Add(2, {&one, 1}, true).ok());
  EXPECT_TRUE(observations.Add(3, {&one, 1}, false).ok());
  EXPECT_EQ(observations.total_elapsed(), 5);
  EXPECT_EQ(observations.total_signals(0), 2);
  EXPECT_EQ(observations.changed_count(), 1u);
  EXPECT_EQ(observations.unchanged_count(), 1u);
  observations.Clear();
  EXPECT_EQ(observations.size(), 0u);
  EXPECT_EQ(observations.total_elapsed(), 0);
}

TEST(RateEquation, InverseExpm1AgreesWithExtendedPrecision) {
  for (double s = 1e-12; s < 800; s *= 1.01) {
    const auto expected = static_cast<double>(1 / std::expm1(static_cast<long double>(s)));
    if (expected < 1e-300) continue;
    EXPECT_NEAR(InverseExpm1(s) / expected, 1, 1.5e-15) << s;
  }
  EXPECT_EQ(InverseExpm1(0), HUGE_VAL);
  EXPECT_EQ(InverseExpm1(1000), 0);
  EXPECT_EQ(InverseExpm1(HUGE_VAL), 0);
}

TEST(RateEquation, RootHoldsOverTwelveDecadesOfLengths) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> log10(-6, 6);
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> lengths(1 + random() % 30);
    for (double& a : lengths) a = std::pow(10, log10(random));
    const double quiet = std::pow(10, log10(random));
    const double x = SolveRateEquation(lengths, quiet);
    long double sum = 0;
    for (const double a : lengths) sum += a / std::expm1(static_cast<long double>(a) * x);
    EXPECT_NEAR(static_cast<double>(sum / quiet), 1, 1e-11) << "trial " << trial;
  }
}

TEST(RateEquation, IntervalEndsWhereTheLikelihoodHasFallen) {
  const std::vector<double> lengths = {1, 2, 0.5};
  const double drop = 1.92;
  for (const double quiet : {0.0, 0.01, 3.0, 500.0}) {
    const double root = SolveRateEquation(lengths, quiet);
    const RateInterval interval = RateLikelihoodInterval(lengths, quiet, root, drop);
    const double top = RateLogLikelihood(lengths, quiet, root);
    EXPECT_NEAR(top - RateLogLikelihood(lengths, quiet, interval.low), drop, 1e-8);
    if (quiet == 0) {
      EXPECT_EQ(interval.high, HUGE_VAL);
    } else {
      EXPECT_NEAR(top - RateLogLikelihood(lengths, quiet, interval.high), drop, 1e-8);
    }
  }
  const RateInterval none = RateLikelihoodInterval({}, 4, 0, drop);
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, drop / 4, 1e-9);
}

TEST(RateEquation, LikelihoodDropsAreChiSquareQuantiles) {
  EXPECT_NEAR(LikelihoodDrop(0.05), 3.841458820694124 / 2, 1e-13);
  EXPECT_NEAR(LikelihoodDrop(0.3173105078629141), 0.5, 1e-13);
  EXPECT_NEAR(LikelihoodDrop(1e-10), 20.910728182380652, 1e-12);
  EXPECT_NEAR(std::erfc(std::sqrt(LikelihoodDrop(0.999))), 0.999, 1e-14);
}

TEST(RateEquation, PoissonIntervalsEndWhereTheLikelihoodHasFallen) {
  for (const double events : {0.5, 1.0, 7.0, 1e6}) {
    const RateInterval interval = PoissonLikelihoodInterval(events, 3, 1.92);
    const auto log_likelihood = [&](double x) { return events * std::log(x * 3 / events) - x * 3; };
    const double top = log_likelihood(events / 3);
    EXPECT_LT(interval.low, events / 3);
    EXPECT_GT(interval.high, events / 3);
    EXPECT_NEAR(top - log_likelihood(interval.low), 1.92, 1e-7 + 1e-14 * events);
    EXPECT_NEAR(top - log_likelihood(interval.high), 1.92, 1e-7 + 1e-14 * events);
  }
  EXPECT_EQ(PoissonLikelihoodInterval(0, 4, 2).low, 0);
  EXPECT_EQ(PoissonLikelihoodInterval(0, 4, 2).high, 0.5);
}

TEST(ChoGm, WithoutAFiniteOptimumTheAnswerIsTheLimitAndNamed) {
  EXPECT_EQ(EstimateChoGm(Observations(), 0).status, EstimateStatus::kNoObservations);
  EXPECT_TRUE(std::isnan(EstimateChoGm(Observations(), 0).change_rate));
  EXPECT_NEAR(EstimateChoGm(Observations(), 2).change_rate, std::log(2.0) / 2, 1e-14);
  EXPECT_EQ(EstimateChoGm(WithoutSignals({{1, true}}), 0).status, EstimateStatus::kAllChanged);
  EXPECT_EQ(EstimateChoGm(WithoutSignals({{1, true}}), 0).change_rate, HUGE_VAL);
  EXPECT_EQ(EstimateChoGm(WithoutSignals({{1, false}}), 0).status, EstimateStatus::kAllUnchanged);
  EXPECT_EQ(EstimateChoGm(WithoutSignals({{1, false}}), 0).change_rate, 0);
  for (const bool changed : {false, true}) {
    const RateEstimate estimate = EstimateChoGm(WithoutSignals({{1e6, changed}}));
    EXPECT_EQ(estimate.status, EstimateStatus::kOk);
    EXPECT_TRUE(std::isfinite(estimate.change_rate));
    EXPECT_GT(estimate.change_rate, 0);
  }
}

TEST(ChoGm, IntervalCoversTheTruthAsOftenAsItSays) {
  std::mt19937_64 random(2);
  std::exponential_distribution<double> exponential(1.0);
  int covered = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    Observations observations(0);
    for (int i = 0; i < 30; ++i) {
      const double tau = 0.2 + exponential(random);
      ASSERT_TRUE(observations.Add(tau, {}, exponential(random) < 0.7 * tau).ok());
    }
    const RateEstimate estimate = EstimateChoGm(observations, 0);
    const RateInterval interval = ChoGmInterval(observations, estimate, 0.05, 0);
    EXPECT_LE(interval.low, estimate.change_rate);
    EXPECT_GE(interval.high, estimate.change_rate);
    covered += interval.low <= 0.7 && 0.7 <= interval.high ? 1 : 0;
  }
  EXPECT_NEAR(covered / 2000.0, 0.95, 0.02);
}

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

// The root of sum e^(-x tau) = U by bisection in extended precision. Terms above 1/2 count as 1
// less what is missing: beside a million ones even extended precision would lose it.
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

// As many intervals are far longer than 1/x as have changed: the sum is nearly U whatever x.
TEST(Moment, IsExactWhereTheSumIsFlat) {
  for (const double ratio : {1e3, 1e6, 1e12}) {
    const Observations observations =
        WithoutSignals({{1, false}, {2, false}, {1.5, true}, {ratio, true}, {3 * ratio, false}});
    const auto expected = static_cast<double>(MomentByBisection(observations));
    EXPECT_NEAR(EstimateMoment(observations).change_rate / expected, 1, 4e-15) << ratio;
  }
}

// One change in a million intervals: a share of 1 - 1e-6 alone has lost six digits of its
// logarithm.
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
  // x total - x^2 squares/2 + x^3 cubes/6 = 1, the cubes those of a mean length.
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

TEST(Signals, ChangeRateSolvesTheProduct) {
  const double gamma[] = {0.5, 2.0, 0.1};
  const double kappa[] = {0.7, 0.2, HUGE_VAL};
  const double alpha = 0.3;
  const double rate = ChangeRate(alpha, gamma, kappa);
  double product = rate;
  for (int k = 0; k < 3; ++k) product *= 1 - gamma[k] * -std::expm1(-kappa[k]) / rate;
  EXPECT_NEAR(product / alpha, 1, 1e-14);
  EXPECT_EQ(ChangeRate(alpha, {gamma, 1}, {kappa, 1}), alpha + 0.5 * -std::expm1(-0.7));
  // Every change signalled by one source: no unsignalled rate is left.
  EXPECT_EQ(ChangeRate(0, gamma, kappa), 2.0 * -std::expm1(-0.2));
  EXPECT_EQ(ChangeRate(HUGE_VAL, gamma, kappa), HUGE_VAL);
  const double silent[] = {0.0};
  const double unknown[] = {NAN};
  EXPECT_EQ(ChangeRate(0.25, silent, unknown), 0.25);
}

TEST(Signals, QualityFollowsFromTheParameters) {
  // lambda = 0.4, Delta = 1, nu = 0.6: gamma = 1, kappa = ln(1/0.6).
  const SignalQuality quality = QualityOf(1, 1, -std::log(0.6));
  EXPECT_NEAR(quality.false_signal_rate, 0.6, 1e-15);
  EXPECT_NEAR(quality.precision, 0.4, 1e-15);
  EXPECT_NEAR(quality.recall, 0.4, 1e-15);
  EXPECT_EQ(QualityOf(1, 1, HUGE_VAL).precision, 1);
  EXPECT_EQ(QualityOf(1, 1, HUGE_VAL).false_signal_rate, 0);
  EXPECT_TRUE(std::isnan(QualityOf(0, 0, 0).recall));
}

TEST(Signals, NaiveRatiosAreBiased) {
  // A source whose signals are all false, beside a page that changes in 63% of the intervals: the
  // naive precision is that share, the real one 0.
  std::mt19937_64 random(5);
  std::exponential_distribution<double> exponential(1.0);
  Observations observations(1);
  for (int i = 0; i < 20000; ++i) {
    const double n = random() % 2 ? 1 : 0;
    ASSERT_TRUE(observations.Add(1, {&n, 1}, exponential(random) < 1).ok());
  }
  EXPECT_NEAR(NaiveSignalQuality(observations, 0).precision, 0.632, 0.02);
}

TEST(Root, NewtonNeverLeavesTheBracketAndSurvivesBadSlopes) {
  const auto cube = [](double x) { return ValueAndSlope{x * x * x - 8, 3 * x * x}; };
  EXPECT_NEAR(FindRoot(cube, 0, 1e9, 0), 2, 1e-14);
  const auto lying = [](double x) { return ValueAndSlope{x - 3, -1}; };
  EXPECT_NEAR(FindRoot(lying, -10, 10, 9), 3, 1e-12);
  const auto flat = [](double x) { return ValueAndSlope{x < 1.5 ? -1.0 : 1.0, 0}; };
  EXPECT_NEAR(FindRoot(flat, 0, 8, 7), 1.5, 1e-12);
  const auto logarithm = [](double x) { return std::log(x); };
  EXPECT_NEAR(FindRootWithoutSlope(logarithm, 0, -HUGE_VAL, 50, std::log(50.0)), 1, 1e-11);
}

}  // namespace
}  // namespace freshet
