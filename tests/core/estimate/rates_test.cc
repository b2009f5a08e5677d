// Tests the one-parameter estimators and signal quality: degenerate input, intervals, and the
// equations behind them.
#include <cmath>
#include <random>
#include <vector>

#include "core/base/root.h"
#include "core/estimate/cho_gm.h"
#include "core/estimate/rate_equation.h"
#include "core/estimate/signals.h"
#include "gtest/gtest.h"
#include "tests/core/estimate/without_signals.h"

namespace freshet {
namespace {

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

TEST(Signals, ChangeRateSolvesTheProduct) {
  const double gamma[] = {0.5, 2.0, 0.1};
  const double kappa[] = {0.7, 0.2, HUGE_VAL};
  const double alpha = 0.3;
  const double rate = ChangeRate(alpha, gamma, kappa);
  double product = rate;
  for (int k = 0; k < 3; ++k) product *= 1 - gamma[k] * -std::expm1(-kappa[k]) / rate;
  EXPECT_NEAR(product / alpha, 1, 1e-14);
  EXPECT_EQ(ChangeRate(alpha, {gamma, 1}, {kappa, 1}), alpha + 0.5 * -std::expm1(-0.7));
  // One source signals every change, so the unsignalled rate is 0.
  EXPECT_EQ(ChangeRate(0, gamma, kappa), 2.0 * -std::expm1(-0.2));
  EXPECT_EQ(ChangeRate(HUGE_VAL, gamma, kappa), HUGE_VAL);
  const double silent[] = {0.0};
  const double unknown[] = {NAN};
  EXPECT_EQ(ChangeRate(0.25, silent, unknown), 0.25);
}

TEST(Signals, QualityFollowsFromTheParameters) {
  // With lambda = 0.4, Delta = 1 and nu = 0.6, gamma is 1 and kappa is ln(1/0.6).
  const SignalQuality quality = QualityOf(1, 1, -std::log(0.6));
  EXPECT_NEAR(quality.false_signal_rate, 0.6, 1e-15);
  EXPECT_NEAR(quality.precision, 0.4, 1e-15);
  EXPECT_NEAR(quality.recall, 0.4, 1e-15);
  EXPECT_EQ(QualityOf(1, 1, HUGE_VAL).precision, 1);
  EXPECT_EQ(QualityOf(1, 1, HUGE_VAL).false_signal_rate, 0);
  EXPECT_TRUE(std::isnan(QualityOf(0, 0, 0).recall));
}

TEST(Signals, NaiveRatiosAreBiased) {
  // The signals of the source are all false, and the page changes in 63% of the intervals. The
  // naive precision is 63%; the real one is 0.
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
