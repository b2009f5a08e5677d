// Tests claims of the LambdaCrawl paper's figures, with sizes that take seconds.
#include <cmath>

#include "gtest/gtest.h"
#include "tests/lab/sim/paper_results.h"

namespace freshet {
namespace {

constexpr double kHarmonicCost = 0;
constexpr double kBinaryCost = 1;
constexpr double kStarved = 2;

// Returns by how many standard errors the series is above the reference series at this cost.
double ErrorsAbove(const PaperResult& result, const char* series, double cost) {
  const MeanAndError above = PointOf(result, series, cost).above;
  return above.mean / above.error;
}

TEST(LambdaFigure1, LambdaCrawlIsBestAtItsOwnPenaltyAndNearTheBestAtTheOther) {
  const PaperResult result = PlayExperiment("lambda-fig1", {.repeats = 6, .pages = {5000}});
  for (const char* rival : {"LCA", "BLC_eps", "UC", "CC"}) {
    EXPECT_GT(ErrorsAbove(result, rival, kHarmonicCost), 2) << rival;
  }
  EXPECT_TRUE(std::isinf(MeanAt(result, "BLC", kHarmonicCost)));
  EXPECT_GT(MeanAt(result, "BLC", kStarved), 20);
  EXPECT_EQ(MeanAt(result, "LC", kStarved), 0);
  EXPECT_LT(ErrorsAbove(result, "BLC", kBinaryCost), -2);
  EXPECT_LT(MeanAt(result, "LC", kBinaryCost), 1.05 * MeanAt(result, "BLC", kBinaryCost));
  for (const char* rival : {"BLC_eps", "UC", "CC"}) {
    EXPECT_GT(ErrorsAbove(result, rival, kBinaryCost), 2) << rival;
  }
}

TEST(LambdaFigure2, HeedingCompleteSignalsIsBest) {
  const PaperResult result = PlayExperiment("lambda-fig2", {.repeats = 6, .pages = {2000}});
  for (const double cost : {kHarmonicCost, kBinaryCost}) {
    EXPECT_GT(ErrorsAbove(result, "LC-IO", cost), 2);
    EXPECT_GT(ErrorsAbove(result, "BLC_eps", cost), 2);
  }
  EXPECT_GT(ErrorsAbove(result, "BLC", kBinaryCost), 2);
  EXPECT_LT(MeanAt(result, "LC-IO", kHarmonicCost), MeanAt(result, "BLC_eps", kHarmonicCost));
}

TEST(LambdaHarmonic, LeavesNoPageUncrawledAndIsAsGoodAsThePlanWithoutSignals) {
  const PaperResult result =
      PlayExperiment("lambda-harmonic", {.repeats = 3, .pages = {300}, .horizon = 1000});
  for (const char* fair : {"LC", "LC-IO", "harmonic", "harmonic_ncis"}) {
    EXPECT_EQ(MeanAt(result, fair, kStarved), 0) << fair;
  }
  for (const char* unfair : {"BLC", "greedy"}) {
    EXPECT_GT(MeanAt(result, unfair, kStarved), 10) << unfair;
    EXPECT_GT(ErrorsAbove(result, unfair, kHarmonicCost), 2) << unfair;
  }
  const double plan = MeanAt(result, "LC-IO", kHarmonicCost);
  EXPECT_NEAR(MeanAt(result, "harmonic", kHarmonicCost), plan, 0.02 * plan);
}

TEST(LambdaFigure3, LearnersApproachThePlansThatKnowTheRates) {
  const PaperResult result =
      PlayExperiment("lambda-fig3", {.repeats = 3, .pages = {3000}, .horizon = 21});
  ASSERT_EQ(result.x.size(), 22u);
  const char* const learners[] = {"LLC: J_h over LC's", "LLCA: J_h over LC's",
                                  "BLLC: J_b over BLC's"};
  for (const char* learner : learners) {
    for (const double epoch : {0.0, 7.0, 14.0}) {
      EXPECT_GT(MeanAt(result, learner, epoch), MeanAt(result, learner, epoch + 7)) << learner;
    }
  }
  EXPECT_LT(MeanAt(result, learners[0], 21), 1.04);
  EXPECT_GT(MeanAt(result, learners[0], 21), 1);
  // LLCA needs the rates of only a few pages, so it soon reaches its plan, which is worse.
  const double approximate = MeanAt(result, "LCA, rates known", 21);
  EXPECT_NEAR(MeanAt(result, learners[1], 7), approximate, 0.01);
  EXPECT_GT(approximate, MeanAt(result, learners[0], 7));
  EXPECT_NEAR(MeanAt(result, learners[2], 21), MeanAt(result, "BLC_eps, rates known", 21), 0.05);
}

}  // namespace
}  // namespace freshet
