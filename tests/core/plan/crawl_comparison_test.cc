#include "core/plan/crawl_comparison.h"

#include <cmath>
#include <vector>

#include "core/plan/continuous_optimum.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

ComparedPage Page(double change_rate, double crawl_rate, double importance = 1) {
  return {.rates = {.importance = importance, .change_rate = change_rate},
          .crawl_rate = crawl_rate};
}

PageStatistics Intervals(const std::vector<int>& days) {
  PageStatistics statistics;
  Instant at = Instant::FromUnixSeconds(1'000'000);
  for (const int span : days) {
    at = at + Duration::Days(span);
    statistics.recent.push_back({.fetched = at, .elapsed = Duration::Days(span), .signals = {}});
  }
  return statistics;
}

TEST(CrawlComparison, EqualCrawlsOfEqualPagesCannotBeBettered) {
  const std::vector<ComparedPage> pages(50, Page(0.5, 2));
  const StatusOr<CrawlComparison> comparison = CompareCrawls(pages);
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  EXPECT_DOUBLE_EQ(comparison->crawl_rate, 100);
  // Equal intervals of 1/2: the page is fresh for (1 - e^(-1/4)) / (1/4) of the time.
  EXPECT_NEAR(comparison->freshness, (1 - std::exp(-0.25)) / 0.25, 1e-12);
  EXPECT_NEAR(comparison->best, comparison->freshness, 1e-8);
  EXPECT_NEAR(comparison->best_without_signals, comparison->freshness, 1e-8);
  EXPECT_NEAR(comparison->rate_for_same, 100, 0.2);
  for (const double rate : comparison->best_rate) EXPECT_NEAR(rate, 2, 1e-6);
}

TEST(CrawlComparison, ServesWhatIsCrawledAlikeAndChangesOtherwise) {
  std::vector<ComparedPage> pages;
  std::vector<PaperRates> rates;
  for (int i = 0; i < 60; ++i) {
    pages.push_back(Page(i % 2 == 0 ? 0.01 : 1, 1, i % 3 == 0 ? 5 : 1));
    rates.push_back(pages.back().rates);
  }
  const StatusOr<CrawlComparison> comparison = CompareCrawls(pages);
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  EXPECT_GT(comparison->best, comparison->freshness + 0.02);
  EXPECT_LT(comparison->rate_for_same, 0.9 * comparison->crawl_rate);
  EXPECT_NEAR(SignalOptimum(rates, comparison->rate_for_same), comparison->freshness, 1e-3);
  double sum = 0;
  for (size_t i = 0; i < pages.size(); ++i) {
    sum += comparison->best_rate[i];
    EXPECT_EQ(comparison->best_rate[i] > 1, i % 2 == 1) << i;
  }
  EXPECT_NEAR(sum, comparison->crawl_rate, 1e-6);
}

TEST(CrawlComparison, SignalsAreWorthSomething) {
  std::vector<ComparedPage> pages(20, Page(1, 1));
  for (ComparedPage& page : pages) page.rates.recall = 0.8;
  const StatusOr<CrawlComparison> comparison = CompareCrawls(pages);
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  EXPECT_GT(comparison->best, comparison->best_without_signals + 0.05);
  EXPECT_LT(comparison->rate_for_same, comparison->crawl_rate);
}

TEST(CrawlComparison, RefusesWhatHasNothingToCompare) {
  EXPECT_TRUE(absl::IsInvalidArgument(CompareCrawls({}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(CompareCrawls(std::vector{Page(1, 0)}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(CompareCrawls(std::vector{Page(0, 1)}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(CompareCrawls(std::vector{Page(1, 1, 0)}).status()));
}

TEST(ObservedCrawlRate, GoesByIntervalsAndByALongWait) {
  const double day = 1.0 / 86400;
  EXPECT_EQ(ObservedCrawlRate({}, Duration::Days(1)), 0);
  EXPECT_NEAR(ObservedCrawlRate(Intervals({2, 2, 2}), Duration::Days(1)), day / 2, 1e-12);
  // The time since the last crawl counts as another interval once it is longer than the mean
  // interval.
  EXPECT_NEAR(ObservedCrawlRate(Intervals({2, 2, 2}), Duration::Days(10)), day / 4, 1e-12);
  EXPECT_NEAR(ObservedCrawlRate(Intervals({3}), Duration()), day / 3, 1e-12);
}

}  // namespace
}  // namespace freshet
