// Compares the papers' baselines with known values.
#include "core/plan/continuous_optimum.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "lab/sim/synthetic_worlds.h"

namespace freshet {
namespace {

std::vector<PaperRates> PagesOf(const char* world, int size, uint64_t seed) {
  return DrawPages(*ParseSyntheticWorld(world), size, Random(seed));
}

TEST(SignalOptimum, IsThePlainOneWithoutSignals) {
  for (const double crawl_rate : {1.0, 30.0, 1000.0}) {
    const std::vector<PaperRates> pages = PagesOf("ncis-fig2", 200, 3);
    EXPECT_NEAR(SignalOptimum(pages, crawl_rate), *PlainOptimum(pages, crawl_rate), 1e-8);
  }
}

TEST(SignalOptimum, SignalsAreWorthSomethingAndMoreCrawlsMore) {
  const std::vector<PaperRates> pages = PagesOf("ncis-fig4", 200, 3);
  double before = 0;
  for (const double crawl_rate : {5.0, 20.0, 80.0, 320.0}) {
    const double accuracy = SignalOptimum(pages, crawl_rate);
    EXPECT_GT(accuracy, *PlainOptimum(pages, crawl_rate));
    EXPECT_GT(accuracy, before);
    EXPECT_LT(accuracy, 1);
    before = accuracy;
  }
  // Signals are worth more if none of them is false.
  EXPECT_GT(SignalOptimum(PagesOf("ncis-fig3", 200, 3), 20), SignalOptimum(pages, 20));
}

TEST(SignalOptimum, MixesWhereEveryChangeIsSignalled) {
  // Two pages change once per unit of time, and all changes have signals, none of which is false. A
  // page that is crawled at each signal is always fresh, and a page without crawls is never fresh.
  // One crawl per unit of time can follow half of the signals.
  const PaperRates page{.importance = 1, .change_rate = 1, .recall = 1, .false_signal_rate = 0};
  EXPECT_NEAR(SignalOptimum({page, page}, 1), 0.5, 1e-9);
  EXPECT_NEAR(SignalOptimum({page, page}, 2), 1, 1e-9);
  EXPECT_NEAR(SignalOptimum({page, page}, 50), 1, 1e-9);
}

TEST(SignalOptimum, ItsRatesAddUpAndAreThoseWithoutSignalsWhereThereAreNone) {
  const auto sum = [](const std::vector<double>& rates) {
    double all = 0;
    for (const double rate : rates) all += rate;
    return all;
  };
  const std::vector<PaperRates> plain = PagesOf("ncis-fig2", 100, 3);
  const OptimalCrawls with = PlanWithSignals(plain, 30);
  const OptimalCrawls without = *PlanWithoutSignals(plain, 30);
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(with.rate[i], without.rate[i], 1e-7);
  EXPECT_NEAR(sum(PlanWithSignals(PagesOf("ncis-fig4", 100, 3), 30).rate), 30, 1e-6);
  // Splits crawls between two pages with complete signals.
  const PaperRates page{.importance = 1, .change_rate = 1, .recall = 1, .false_signal_rate = 0};
  EXPECT_NEAR(PlanWithSignals({page, page}, 1).rate[0], 0.5, 1e-9);
  EXPECT_NEAR(sum(PlanWithSignals({page, page}, 50).rate), 2, 1e-9);
}

TEST(SignalOptimum, PagesThatNeverChangeAreFresh) {
  const PaperRates still{.importance = 1};
  EXPECT_EQ(SignalOptimum({still, still}, 1), 1);
  const PaperRates changing{.importance = 1, .change_rate = 1};
  EXPECT_NEAR(SignalOptimum({still, changing}, 1), (1 + (1 - std::exp(-1))) / 2, 1e-8);
  EXPECT_TRUE(std::isnan(SignalOptimum({PaperRates{.change_rate = 1}}, 1)));
}

}  // namespace
}  // namespace freshet
