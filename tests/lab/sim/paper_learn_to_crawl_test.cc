// Tests claims of the figures of "Learning to Crawl", with sizes that take seconds.
#include <cmath>

#include "gtest/gtest.h"
#include "tests/lab/sim/paper_results.h"

namespace freshet {
namespace {

// Returns the slope of the logarithm of a series over that of x, by least squares.
double LogSlope(const PaperResult& result, size_t series) {
  double sums[4] = {};  // x, y, xx, xy
  const auto n = static_cast<double>(result.x.size());
  for (size_t i = 0; i < result.x.size(); ++i) {
    const double x = std::log(result.x[i]);
    const double y = std::log(result.series[series].points[i].value.mean);
    const double terms[] = {x, y, x * x, x * y};
    for (size_t k = 0; k < 4; ++k) sums[k] += terms[k] / n;
  }
  return (sums[3] - sums[0] * sums[1]) / (sums[2] - sums[0] * sums[0]);
}

TEST(LearnFigure1, MomentsAreAsGoodAsMaximumLikelihoodAndTheNaiveRateIsNot) {
  const PaperResult result = PlayExperiment("learn-fig1a", {.repeats = 10});
  for (const double time : {50.0, 100.0, 500.0, 1000.0}) {
    const double moment = MeanAt(result, "moment", time);
    EXPECT_NEAR(MeanAt(result, "MLE", time), moment, 0.05 * moment) << time;
    const MeanAndError naive = PointOf(result, "naive", time).above;
    EXPECT_GT(naive.mean, 2 * naive.error) << time;
  }
  EXPECT_LT(MeanAt(result, "moment", 1000), MeanAt(result, "moment", 20) / 5);
}

TEST(LearnFigure1, TheBestExplorationAndTheRegretGoWithTheRootOfTheHorizon) {
  const PaperOptions options{.repeats = 8, .horizon = 1e4};
  const PaperResult time = PlayExperiment("learn-fig1b", options);
  const PaperResult regret = PlayExperiment("learn-fig1c", options);
  ASSERT_EQ(time.x.size(), 5u);
  EXPECT_NEAR(LogSlope(time, 0), 0.5, 0.1);
  EXPECT_NEAR(LogSlope(time, 1), 0.5, 1e-6);
  EXPECT_NEAR(LogSlope(regret, 0), -0.5, 0.1);
}

TEST(LearnFigure2, PhasedEpsilonGreedyNeedsNoHorizonAndKeepsPayingForItsEpsilon) {
  const char* const phased = "phased ε-greedy";
  const char* const best = "explore and commit, best";
  const PaperResult epsilon = PlayExperiment("learn-fig2a", {.repeats = 6});
  EXPECT_GT(MeanAt(epsilon, phased, 0.5), 2 * MeanAt(epsilon, phased, 0.1));
  EXPECT_EQ(MeanAt(epsilon, best, 0.01), MeanAt(epsilon, best, 0.5));
  const PaperResult phases = PlayExperiment("learn-fig2b", {.repeats = 4, .horizon = 300});
  EXPECT_GT(MeanAt(phases, phased, 2), 2 * MeanAt(phases, phased, 20));
  const MeanAndError few = PointOf(phases, phased, 2).above;
  EXPECT_GT(few.mean, 2 * few.error);
  // With a longer horizon, the loss through exploring vanishes, but the loss through epsilon does
  // not.
  const PaperResult horizon = PlayExperiment("learn-fig2c", {.repeats = 4, .horizon = 3000});
  const MeanAndError shortest = PointOf(horizon, phased, 100).above;
  EXPECT_LT(shortest.mean, -2 * shortest.error);
  EXPECT_GT(MeanAt(horizon, phased, 3000), 0.6 * MeanAt(horizon, phased, 1000));
  EXPECT_LT(MeanAt(horizon, best, 3000), 0.6 * MeanAt(horizon, best, 1000));
}

}  // namespace
}  // namespace freshet
