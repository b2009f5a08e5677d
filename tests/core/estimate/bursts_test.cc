#include "core/estimate/bursts.h"

#include <cmath>
#include <set>
#include <vector>

#include "core/base/limits.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

double Precision(const Bursts& bursts, uint32_t burst) {
  return -std::expm1(-bursts.Weight(burst));
}

std::vector<PageNumber> Take(Bursts& bursts, size_t max = 1000) {
  std::vector<PageNumber> pages;
  bursts.TakeReweighed(max, &pages);
  return pages;
}

TEST(Bursts, StartAtThePrecisionOfTheirClass) {
  Bursts bursts;
  const uint32_t burst = bursts.Join(7, 0.3, PageNumber(1));
  EXPECT_NE(burst, 0u);
  EXPECT_EQ(bursts.Join(7, 0.9, PageNumber(2)), burst) << "one poll, one burst";
  EXPECT_NE(bursts.Join(8, 0.9, PageNumber(3)), burst);
  EXPECT_NEAR(Precision(bursts, burst), 0.3, 1e-12);
}

TEST(Bursts, ArePosteriorMeansOfABetaPrior) {
  Bursts bursts;
  const uint32_t burst = bursts.Join(1, 0.4, PageNumber(1));
  bursts.Observe(burst, 1);
  EXPECT_NEAR(Precision(bursts, burst), (1 + 2 * 0.4) / 3, 1e-12);
  bursts.Observe(burst, 0.25);
  bursts.Observe(burst, 0);
  EXPECT_NEAR(Precision(bursts, burst), (1.25 + 2 * 0.4) / 5, 1e-12);
}

TEST(Bursts, HandOutPagesWhenTheirSignalsAreWorthLess) {
  Bursts bursts;
  for (uint64_t page = 1; page <= 5; ++page) (void)bursts.Join(1, 0.5, PageNumber(page));
  EXPECT_FALSE(bursts.has_reweighed());
  bursts.Observe(1, 0);
  ASSERT_TRUE(bursts.has_reweighed());
  EXPECT_EQ(Take(bursts, 2), (std::vector<PageNumber>{PageNumber(1), PageNumber(2)}));
  EXPECT_TRUE(bursts.has_reweighed());
  EXPECT_EQ(Take(bursts).size(), 3u);
  EXPECT_FALSE(bursts.has_reweighed());
  EXPECT_TRUE(Take(bursts).empty());
}

// However many crawls a burst gets, its pages are weighed some ten times, not once a crawl.
TEST(Bursts, AreWeighedRarely) {
  Bursts bursts;
  for (uint64_t page = 1; page <= 3000; ++page) (void)bursts.Join(1, 0.3, PageNumber(page));
  int times = 0;
  for (int i = 0; i < 1000; ++i) {
    bursts.Observe(1, i % 3 == 0 ? 1 : 0);
    if (!bursts.has_reweighed()) continue;
    ++times;
    EXPECT_EQ(Take(bursts, 5000).size(), 3000u);
  }
  EXPECT_GE(times, 1);
  EXPECT_LE(times, 12);
}

TEST(Bursts, NeverBecomeCertain) {
  Bursts bursts;
  const uint32_t burst = bursts.Join(1, 0.99, PageNumber(1));
  for (int i = 0; i < 100'000; ++i) bursts.Observe(burst, 1);
  EXPECT_LT(bursts.Weight(burst), 7);
  EXPECT_GT(bursts.Weight(burst), 6);
}

TEST(Bursts, GoOnFromStoredPages) {
  Bursts bursts;
  const double weight = -std::log1p(-0.2);
  bursts.Restore(41, weight, PageNumber(9));
  bursts.Restore(41, weight, PageNumber(10));
  EXPECT_NEAR(Precision(bursts, 41), 0.2, 1e-6);
  EXPECT_GT(bursts.Join(1, 0.5, PageNumber(11)), 41u) << "numbers are not given twice";
  bursts.Observe(41, 1);
  EXPECT_EQ(Take(bursts).size(), 2u);
  bursts.Restore(0, 0, PageNumber(12));
  EXPECT_EQ(bursts.pages(), 3u);
}

TEST(Bursts, ForgetTheOldestAtTheLimit) {
  Bursts bursts;
  const uint32_t first = bursts.Join(1, 0.5, PageNumber(1));
  for (uint64_t poll = 2; poll <= limits::kMaxBursts; ++poll) {
    (void)bursts.Join(poll, 0.5, PageNumber(poll));
  }
  EXPECT_TRUE(bursts.Knows(first));
  const uint32_t last = bursts.Join(limits::kMaxBursts + 1, 0.5, PageNumber(1));
  EXPECT_FALSE(bursts.Knows(first));
  EXPECT_TRUE(bursts.Knows(last));
  EXPECT_EQ(bursts.pages(), limits::kMaxBursts);
  bursts.Observe(first, 1);  // nothing to learn from
  EXPECT_FALSE(bursts.has_reweighed());
}

TEST(Bursts, ForgetTheOldestWhenTooManyPagesWait) {
  Bursts bursts;
  const uint32_t first = bursts.Join(1, 0.5, PageNumber(1));
  for (uint64_t page = 0; page < limits::kMaxBurstPages; ++page) {
    (void)bursts.Join(2, 0.5, PageNumber(page));
  }
  EXPECT_FALSE(bursts.Knows(first));
  EXPECT_EQ(bursts.pages(), limits::kMaxBurstPages);
}

}  // namespace
}  // namespace freshet
