#include "core/estimate/mle.h"

#include <cmath>
#include <random>
#include <vector>

#include "core/estimate/cho_gm.h"
#include "core/estimate/mle_several.h"
#include "core/estimate/rate_equation.h"
#include "core/estimate/signals.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

struct Item {
  double elapsed;
  std::vector<double> signals;
  bool changed;
};

Observations Make(const std::vector<Item>& items) {
  Observations observations(items.empty() ? 1 : items[0].signals.size());
  for (const Item& item : items) {
    EXPECT_TRUE(observations.Add(item.elapsed, item.signals, item.changed).ok());
  }
  return observations;
}

// Draws a history from the model. Signals of source k are Poisson with rate gamma_k, and an
// interval is unchanged with probability e^-(alpha tau + kappa.n).
Observations Simulate(std::mt19937_64& random, size_t size, double alpha,
                      const std::vector<double>& gamma, const std::vector<double>& kappa) {
  Observations observations(gamma.size());
  std::exponential_distribution<double> exponential(1.0);
  std::vector<double> n(gamma.size());
  for (size_t i = 0; i < size; ++i) {
    const double tau = 0.1 + exponential(random);
    double s = alpha * tau;
    for (size_t k = 0; k < gamma.size(); ++k) {
      n[k] = std::poisson_distribution<int>(gamma[k] * tau)(random);
      s += kappa[k] * n[k];
    }
    EXPECT_TRUE(observations.Add(tau, n, exponential(random) < s).ok());
  }
  return observations;
}

// Returns how far a finite estimate is from the maximum of the log likelihood, by the KKT
// conditions. If g_i is the gradient for parameter i, the condition is violated by |g_i| if the
// parameter is above 0, and by max(0, g_i) if the parameter is 0. The result is the largest
// violation, relative to the size of the terms of g_i.
double KktResidual(const Observations& observations, const SignalEstimate& estimate) {
  const size_t columns = observations.sources() + 1;
  std::vector<double> up(columns), down(columns);
  const auto column = [&](size_t i, size_t c) {
    return c == 0 ? observations.elapsed(i) : observations.signals(i, c - 1);
  };
  const auto parameter = [&](size_t c) {
    return c == 0 ? estimate.unsignalled_rate : estimate.signal_weight[c - 1];
  };
  for (size_t i = 0; i < observations.size(); ++i) {
    double s = 0;
    for (size_t c = 0; c < columns; ++c) {
      if (column(i, c) > 0) s += parameter(c) * column(i, c);
    }
    for (size_t c = 0; c < columns; ++c) {
      if (observations.changed(i)) {
        up[c] += column(i, c) / std::expm1(s);
      } else {
        down[c] += column(i, c);
      }
    }
  }
  double worst = 0;
  for (size_t c = 0; c < columns; ++c) {
    if (!std::isfinite(parameter(c)) || up[c] + down[c] == 0) continue;
    const double gradient = (up[c] - down[c]) / (up[c] + down[c]);
    worst = std::max(worst, parameter(c) > 0 ? std::abs(gradient) : gradient);
  }
  return worst;
}

TEST(Mle, HistoriesWithoutAnInteriorOptimumHaveAStatusAndAnAnswer) {
  EXPECT_EQ(EstimateMle(Observations()).status, EstimateStatus::kNoObservations);
  EXPECT_TRUE(std::isnan(EstimateMle(Observations()).unsignalled_rate));

  const SignalEstimate unchanged = EstimateMle(Make({{1, {2}, false}, {2, {0}, false}}));
  EXPECT_EQ(unchanged.status, EstimateStatus::kAllUnchanged);
  EXPECT_EQ(unchanged.unsignalled_rate, 0);
  EXPECT_EQ(unchanged.signal_weight[0], 0);

  const SignalEstimate changed = EstimateMle(Make({{1, {2}, true}}));
  EXPECT_EQ(changed.status, EstimateStatus::kAllChanged);
  EXPECT_EQ(changed.unsignalled_rate, HUGE_VAL);
  EXPECT_TRUE(std::isnan(changed.signal_weight[0]));

  const SignalEstimate silent = EstimateMle(Make({{2, {0}, true}, {2, {0}, false}}));
  EXPECT_EQ(silent.status, EstimateStatus::kNoSignals);
  EXPECT_NEAR(silent.unsignalled_rate, std::log(2.0) / 2, 1e-14);
  EXPECT_TRUE(std::isnan(silent.signal_weight[0]));

  const SignalEstimate perfect = EstimateMle(Make({{1, {1}, true}, {1, {0}, false}}));
  EXPECT_EQ(perfect.status, EstimateStatus::kKappaInfinite);
  EXPECT_EQ(perfect.unsignalled_rate, 0);
  EXPECT_EQ(perfect.signal_weight[0], HUGE_VAL);

  // Every change has a signal, and time adds nothing: 1 - e^-kappa = 1/2.
  const SignalEstimate signalled =
      EstimateMle(Make({{1, {1}, true}, {1, {1}, false}, {9, {0}, false}}));
  EXPECT_EQ(signalled.status, EstimateStatus::kBoundaryAlpha0);
  EXPECT_EQ(signalled.unsignalled_rate, 0);
  EXPECT_NEAR(signalled.signal_weight[0], std::log(2.0), 1e-14);

  const SignalEstimate useless = EstimateMle(Make({{1, {0}, true}, {1, {1}, false}}));
  EXPECT_EQ(useless.status, EstimateStatus::kBoundaryKappa0);
  EXPECT_NEAR(useless.unsignalled_rate, std::log(2.0), 1e-14);
  EXPECT_EQ(useless.signal_weight[0], 0);

  const SignalEstimate ridge = EstimateMle(Make({{1, {2}, true}, {3, {6}, false}}));
  EXPECT_EQ(ridge.status, EstimateStatus::kRidge);
  EXPECT_EQ(ridge.signal_weight[0], 0);
}

TEST(Mle, MeetsTheOptimalityConditionsOverManyScales) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> log10(-3, 2);
  int interior = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const double alpha = std::pow(10, log10(random));
    const Observations observations =
        Simulate(random, 3 + static_cast<size_t>(random() % 60), alpha,
                 {std::pow(10, log10(random))}, {std::pow(10, log10(random))});
    const SignalEstimate estimate = EstimateMle(observations);
    if (estimate.status == EstimateStatus::kAllChanged) continue;
    interior += estimate.status == EstimateStatus::kInterior ? 1 : 0;
    EXPECT_LT(KktResidual(observations, estimate), 1e-9) << "trial " << trial;
  }
  EXPECT_GT(interior, 200);
}

TEST(Mle, GeneralSolverAgreesWithOneSource) {
  std::mt19937_64 random(8);
  for (int trial = 0; trial < 1000; ++trial) {
    const Observations observations =
        Simulate(random, 2 + trial % 40, 0.05 * (1 + trial % 7), {0.3 * (1 + trial % 5)}, {0.8});
    if (observations.changed_count() == 0 || observations.unchanged_count() == 0) continue;
    const SignalEstimate one = EstimateMle(observations);
    const SignalEstimate general = internal::EstimateMleSeveral(observations);
    EXPECT_EQ(one.status, general.status) << "trial " << trial;
    EXPECT_NEAR(one.unsignalled_rate, general.unsignalled_rate, 1e-7 * (1 + one.unsignalled_rate));
    if (std::isfinite(one.signal_weight[0])) {
      EXPECT_NEAR(one.signal_weight[0], general.signal_weight[0],
                  1e-7 * (1 + one.signal_weight[0]));
    }
  }
}

TEST(Mle, SeveralSourcesMeetTheOptimalityConditions) {
  std::mt19937_64 random(9);
  for (int trial = 0; trial < 500; ++trial) {
    const Observations observations = Simulate(random, 10 + trial % 90, 0.01 * (1 + trial % 50),
                                               {0.5, 1.5, 0.2}, {0.05, 0.7, trial % 2 ? 3.0 : 0.0});
    const SignalEstimate estimate = EstimateMle(observations);
    if (estimate.status == EstimateStatus::kAllChanged ||
        estimate.status == EstimateStatus::kKappaInfinite) {
      continue;
    }
    EXPECT_LT(KktResidual(observations, estimate), 1e-8) << "trial " << trial;
  }
}

TEST(Mle, SeveralSourcesRecoverTheTruth) {
  std::mt19937_64 random(10);
  const Observations observations = Simulate(random, 200000, 0.3, {0.4, 1.1}, {1.2, 0.15});
  const SignalEstimate estimate = EstimateMle(observations);
  EXPECT_EQ(estimate.status, EstimateStatus::kInterior);
  EXPECT_NEAR(estimate.unsignalled_rate, 0.3, 0.01);
  EXPECT_NEAR(estimate.signal_weight[0], 1.2, 0.05);
  EXPECT_NEAR(estimate.signal_weight[1], 0.15, 0.01);
}

TEST(Mle, SourceThatOnlyComesWithChangesExplainsThem) {
  // Source 1 is perfect. Source 0 explains the other changes.
  const Observations observations = Make({{1, {0, 1}, true},
                                          {1, {1, 0}, true},
                                          {1, {1, 0}, false},
                                          {1, {0, 0}, false},
                                          {1, {0, 2}, true}});
  const SignalEstimate estimate = EstimateMle(observations);
  EXPECT_EQ(estimate.status, EstimateStatus::kKappaInfinite);
  EXPECT_EQ(estimate.signal_weight[1], HUGE_VAL);
  EXPECT_NEAR(estimate.signal_weight[0], std::log(2.0), 1e-9);
  EXPECT_NEAR(estimate.unsignalled_rate, 0, 1e-9);
}

TEST(MleInterval, ContainsTheEstimateAndEndsWhereTheLikelihoodHasFallen) {
  std::mt19937_64 random(11);
  for (int trial = 0; trial < 200; ++trial) {
    const Observations observations = Simulate(random, 2 + trial % 30, 0.2, {0.4}, {0.9});
    const SignalEstimate estimate = EstimateMle(observations);
    const RateInterval interval = MleChangeRateInterval(observations, estimate, 0.05);
    const double rate = MleChangeRate(observations, estimate);
    EXPECT_LE(interval.low, rate);
    EXPECT_GE(interval.high, rate);
    EXPECT_EQ(interval.low == 0, observations.changed_count() == 0) << "trial " << trial;
    EXPECT_EQ(std::isinf(interval.high), observations.unchanged_count() == 0);
    // For each end of the interval, a grid search over signal rate and precision finds the largest
    // log likelihood with this change rate. It must be lower than the overall maximum by exactly
    // the allowed drop, up to the error of the grid.
    const double best =
        MleLogLikelihood(observations, estimate.unsignalled_rate, estimate.signal_weight);
    const double count = observations.total_signals(0);
    const double time = observations.total_elapsed();
    const double gamma_best = count / time;
    for (const double end : {interval.low, interval.high}) {
      if (end == 0 || std::isinf(end)) continue;
      double on_grid = -HUGE_VAL;
      for (int g = 0; g <= 60; ++g) {
        const double factor = std::exp((g - 30) / 15.0);
        const double gamma = gamma_best * factor;
        const double loss = count == 0 ? 0 : count * (factor - 1 - std::log(factor));
        for (int i = 0; i <= 200; ++i) {
          const double pi = i / 200.0;
          const double alpha = end - gamma * pi;
          if (alpha < 0) break;
          const double kappa = -std::log1p(-pi);
          on_grid = std::max(on_grid, MleLogLikelihood(observations, alpha, {&kappa, 1}) - loss);
        }
      }
      EXPECT_GE(best - on_grid, LikelihoodDrop(0.05) - 1e-7) << "trial " << trial;
      EXPECT_LE(best - on_grid, LikelihoodDrop(0.05) + 0.12) << "trial " << trial;
    }
  }
}

TEST(MleInterval, CoversTheTruthAsOftenAsItSays) {
  std::mt19937_64 random(12);
  const double alpha = 0.3;
  const double gamma = 0.5;
  const double kappa = 0.9;
  const double truth = alpha + gamma * (1 - std::exp(-kappa));
  int covered = 0;
  const int trials = 1000;
  for (int trial = 0; trial < trials; ++trial) {
    const Observations observations = Simulate(random, 40, alpha, {gamma}, {kappa});
    const RateInterval interval =
        MleChangeRateInterval(observations, EstimateMle(observations), 0.1);
    covered += interval.low <= truth && truth <= interval.high ? 1 : 0;
  }
  // The intervals cover 90% only asymptotically. With 40 observations, the coverage is slightly
  // lower. Over these trials, the measured coverage has a standard error of 1%.
  EXPECT_NEAR(covered, 0.89 * trials, 0.03 * trials);
}

TEST(MleInterval, SeveralSourcesWithSilentOnesEqualOneSource) {
  std::mt19937_64 random(13);
  const Observations one = Simulate(random, 30, 0.3, {0.5}, {0.9});
  Observations two(2);
  for (size_t i = 0; i < one.size(); ++i) {
    const double n[] = {0, one.signals(i, 0)};
    ASSERT_TRUE(two.Add(one.elapsed(i), n, one.changed(i)).ok());
  }
  const RateInterval a = MleChangeRateInterval(one, EstimateMle(one), 0.05);
  const RateInterval b = MleChangeRateInterval(two, EstimateMle(two), 0.05);
  EXPECT_NEAR(a.low / b.low, 1, 1e-7);
  EXPECT_NEAR(a.high / b.high, 1, 1e-7);
}

}  // namespace
}  // namespace freshet
