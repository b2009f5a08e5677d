// Tests claims of the noisy-signals paper's figures, with sizes that take seconds.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lab/paper/corpus.h"
#include "lab/paper/output.h"
#include "tests/lab/sim/paper_results.h"

namespace freshet {
namespace {

constexpr const char* kBest = "continuous optimum";

TEST(PaperFigure2, GreedyAndLdsReachTheContinuousOptimum) {
  const PaperResult result =
      PlayExperiment("ncis-fig2", {.repeats = 3, .pages = {100, 400}, .horizon = 300});
  for (const double pages : result.x) {
    const double optimum = MeanAt(result, kBest, pages);
    EXPECT_NEAR(MeanAt(result, "greedy", pages), optimum, 0.01 * optimum);
    EXPECT_NEAR(MeanAt(result, "lds", pages), optimum, 0.01 * optimum);
  }
  // An independent simulation gave a mean of 0.83158 over 30 instances, with a standard deviation
  // of 0.01022.
  EXPECT_NEAR(MeanAt(result, kBest, 100), 0.83158, 4 * 0.01022 / std::sqrt(3));
}

TEST(PaperFigure3, HeedingSignalsReachesTheOptimumWithSignals) {
  const PaperResult result =
      PlayExperiment("ncis-fig3", {.repeats = 3, .pages = {100, 400}, .horizon = 300});
  for (const double pages : result.x) {
    const double optimum = MeanAt(result, kBest, pages);
    EXPECT_NEAR(MeanAt(result, "greedy_cis", pages), optimum, 0.01 * optimum);
    EXPECT_NEAR(MeanAt(result, "greedy", pages), MeanAt(result, "optimum without signals", pages),
                0.01 * optimum);
    EXPECT_LT(PointOf(result, "greedy", pages).above.mean, -0.05);
  }
}

TEST(PaperFigure4, WeighingNoisySignalsIsBest) {
  const PaperResult result =
      PlayExperiment("ncis-fig4", {.repeats = 3, .pages = {100, 1000}, .horizon = 300});
  for (const double pages : result.x) {
    for (const char* rival : {"greedy", "greedy_cis"}) {
      const MeanAndError above = PointOf(result, rival, pages).above;
      EXPECT_LT(above.mean, -3 * above.error) << rival << " at " << pages;
    }
    for (const char* rough : {"ncis_approx_1", "ncis_approx_2"}) {
      EXPECT_LT(PointOf(result, rough, pages).above.mean, 0.002) << rough << " at " << pages;
    }
    EXPECT_NEAR(PointOf(result, kBest, pages).above.mean, 0, 0.01);
  }
  // With few crawls per page greedy_cis is worse than greedy, and one term is worse than two.
  EXPECT_GT(MeanAt(result, "greedy_cis", 100), MeanAt(result, "greedy", 100));
  EXPECT_LT(MeanAt(result, "greedy_cis", 1000), MeanAt(result, "greedy", 1000));
  EXPECT_LT(MeanAt(result, "ncis_approx_1", 1000), MeanAt(result, "ncis_approx_2", 1000));
}

TEST(PaperFigure6, EveryTermAddsToTheValueAndEachSumHasItsOwnCeiling) {
  const PaperResult result = PlayExperiment("ncis-fig6", {});
  for (const double time : result.x) {
    const double all = MeanAt(result, "all terms", time);
    const double three = MeanAt(result, "3 terms", time);
    const double two = MeanAt(result, "2 terms", time);
    EXPECT_LE(MeanAt(result, "1 term", time), two + 1e-12);
    EXPECT_LE(two, three + 1e-12);
    EXPECT_LE(three, all + 1e-12);
  }
  EXPECT_EQ(MeanAt(result, "1 term", 0.5), MeanAt(result, "all terms", 0.5));
  // Because nu/(Delta + nu) = 1/2, the limits of one, two and three terms are 1/2, 3/4 and 7/8 of
  // mu/Delta.
  EXPECT_NEAR(MeanAt(result, "1 term", 12), 0.5, 0.01);
  EXPECT_NEAR(MeanAt(result, "2 terms", 12), 0.75, 0.01);
  EXPECT_NEAR(MeanAt(result, "3 terms", 12), 0.875, 0.02);
  EXPECT_GT(MeanAt(result, "all terms", 12), 0.97);
}

TEST(PaperFigure8, DiscardingSignalsSoonAfterACrawlMakesUpForSomeOfTheDelay) {
  const PaperResult result =
      PlayExperiment("ncis-fig8", {.repeats = 4, .pages = {100, 200}, .horizon = 500});
  for (const double pages : result.x) {
    const MeanAndError discarded = PointOf(result, "late, discarded", pages).above;
    EXPECT_GT(discarded.mean, 0);
    EXPECT_LT(discarded.mean, PointOf(result, "signals on time", pages).above.mean);
  }
  // An independent simulation gave 0.00347.
  EXPECT_NEAR(PointOf(result, "late, discarded", 200).above.mean, 0.0034, 0.0015);
}

TEST(PaperFigure9, GreedyFollowsTheCrawlRateAtOnce) {
  const PaperResult result = PlayExperiment("ncis-fig9", {.repeats = 2, .pages = {500}});
  ASSERT_EQ(result.x.size(), 80u);
  const auto mean_over = [&](const std::string& series, double from, double to) {
    double sum = 0;
    int n = 0;
    for (const double time : result.x) {
      if (time <= from || time > to) continue;
      sum += MeanAt(result, series, time);
      ++n;
    }
    return sum / n;
  };
  const std::string changing = "R = 100, 150, 100";
  EXPECT_EQ(mean_over(changing, 20, 130), mean_over("R = 100", 20, 130));
  EXPECT_NEAR(mean_over(changing, 150, 265), mean_over("R = 150", 150, 265), 0.01);
  EXPECT_NEAR(mean_over(changing, 290, 400), mean_over("R = 100", 290, 400), 0.01);
  EXPECT_GT(mean_over("R = 150", 150, 265), mean_over("R = 100", 150, 265) + 0.05);
}

TEST(PaperFigure5, WeighingSignalsIsBestAlsoWhereTheirQualityIsToldWrongly) {
  const PaperResult result =
      PlayExperiment("ncis-fig5", {.repeats = 3, .pages = {3000}, .horizon = 60});
  for (const double p : result.x) {
    for (const std::string how : {"", ", shifted"}) {
      const MeanAndError ncis = PointOf(result, "greedy_ncis" + how, p).above;
      const MeanAndError plus = PointOf(result, "greedy_cis_plus" + how, p).above;
      EXPECT_GT(plus.mean, 2 * plus.error) << p << how;
      EXPECT_GT(ncis.mean - plus.mean, 2 * std::hypot(ncis.error, plus.error)) << p << how;
    }
    EXPECT_EQ(MeanAt(result, "greedy", p), MeanAt(result, "greedy", 0));
  }
  EXPECT_EQ(MeanAt(result, "greedy_ncis", 0), MeanAt(result, "greedy_ncis, shifted", 0));
  EXPECT_GT(MeanAt(result, "greedy_ncis", 0), MeanAt(result, "greedy_ncis", 0.2));
}

// Returns the correlation between the rates of a series and the optimal rates.
double CorrelationOf(const PaperResult& result, size_t series) {
  double sums[5] = {};  // x, y, xx, yy, xy
  for (size_t i = 0; i < result.x.size(); ++i) {
    const double x = result.x[i];
    const double y = result.series[series].points[i].value.mean;
    const double terms[] = {x, y, x * x, y * y, x * y};
    for (size_t k = 0; k < 5; ++k) sums[k] += terms[k] / static_cast<double>(result.x.size());
  }
  return (sums[4] - sums[0] * sums[1]) /
         std::sqrt((sums[2] - sums[0] * sums[0]) * (sums[3] - sums[1] * sums[1]));
}

TEST(PaperRateFigures, CrawlsComeAtTheOptimalRates) {
  const PaperOptions options{.repeats = 2, .pages = {150}, .horizon = 400};
  const PaperResult plain = PlayExperiment("ncis-fig7", options);
  ASSERT_EQ(plain.x.size(), 150u);
  EXPECT_TRUE(std::is_sorted(plain.x.begin(), plain.x.end()));
  double sum = 0;
  for (size_t i = 0; i < plain.x.size(); ++i) {
    sum += plain.x[i];
    EXPECT_NEAR(plain.series[1].points[i].value.mean, plain.x[i], 1.01 / 400);  // lds
  }
  EXPECT_NEAR(sum, 100, 1e-6);
  EXPECT_GT(CorrelationOf(plain, 0), 0.995);
  EXPECT_GT(CorrelationOf(PlayExperiment("ncis-fig12", options), 0), 0.95);
  const double exact = CorrelationOf(PlayExperiment("ncis-fig13", options), 0);
  EXPECT_GT(exact, 0.98);
  const PaperResult rough = PlayExperiment("ncis-fig14", options);
  EXPECT_GT(exact, CorrelationOf(rough, 1));  // two terms
  EXPECT_GT(CorrelationOf(rough, 1), CorrelationOf(rough, 0));
  EXPECT_GT(CorrelationOf(rough, 0), CorrelationOf(rough, 2));  // greedy_cis
  EXPECT_NE(PaperTable(rough).find("| ncis_approx_1 | 150 |"), std::string::npos);
  EXPECT_NE(PaperTable(rough).find("Means of 2 runs of one instance."), std::string::npos);
}

TEST(PaperQualityFigures, NaiveRatiosStayBiasedAndMaximumLikelihoodDoesNot) {
  for (const char* name : {"ncis-fig10", "ncis-fig11"}) {
    const PaperResult result = PlayExperiment(name, {.repeats = 4, .pages = {60}});
    for (const double crawls : {300.0, 1000.0, 3000.0}) {
      EXPECT_GT(MeanAt(result, "naive, bias", crawls), 0.1) << name;
      EXPECT_LT(std::abs(MeanAt(result, "MLE, bias", crawls)), 0.03) << name;
    }
    for (const double crawls : result.x) {
      EXPECT_LT(MeanAt(result, "MLE, absolute error", crawls),
                MeanAt(result, "naive, absolute error", crawls))
          << name << " at " << crawls;
    }
    // With 30 times as many crawls, the error is less than a quarter.
    EXPECT_LT(MeanAt(result, "MLE, absolute error", 3000),
              MeanAt(result, "MLE, absolute error", 100) / 4);
  }
}

TEST(Corpus, HasTheShapeThatItSays) {
  const std::vector<PaperRates> pages = DrawCorpus(20'000, CorpusSignals::kNoisy, Random(2));
  double below_1000 = 0;
  double slower = 0;
  double complete = 0;
  double noisy = 0;
  for (const PaperRates& page : pages) {
    ASSERT_TRUE(ValidatePaperRates(page).ok());
    below_1000 += page.importance < 1000 ? 1 : 0;
    slower += page.change_rate < 0.25 ? 1 : 0;
    complete += page.recall == 1 && page.false_signal_rate == 0 ? 1 : 0;
    noisy += page.false_signal_rate > 0 ? 1 : 0;
  }
  EXPECT_NEAR(below_1000 / 20'000, 0.977, 0.005);
  EXPECT_NEAR(slower / 20'000, 0.5, 0.02);
  EXPECT_NEAR(complete / 20'000, 0.04, 0.006);
  EXPECT_NEAR(noisy / 20'000, 0.48, 0.02);
  for (const PaperRates& page : DrawCorpus(500, CorpusSignals::kComplete, Random(2))) {
    EXPECT_TRUE(page.recall == 1 || page.recall == 0);
    EXPECT_EQ(page.false_signal_rate, 0);
  }
}

}  // namespace
}  // namespace freshet
