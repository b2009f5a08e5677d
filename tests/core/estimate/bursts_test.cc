#include "core/estimate/bursts.h"

#include <cmath>
#include <vector>

#include "core/base/limits.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

constexpr double kVariance = kBurstDeviation * kBurstDeviation;

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

std::vector<PageNumber> Take(Bursts& bursts, size_t max = 1000) {
  std::vector<PageNumber> pages;
  bursts.TakeReweighed(max, &pages);
  return pages;
}

// Adds a page to a burst, in a separate batch.
uint32_t Join(Bursts& bursts, uint64_t poll, PageNumber page) {
  Bursts::Staged staged;
  const uint32_t burst = bursts.Join(poll, page, staged);
  bursts.Install(staged);
  return burst;
}

void Observe(Bursts& bursts, uint32_t burst, double precision, double truth) {
  Bursts::Staged staged;
  bursts.Observe(burst, precision, truth, staged);
  bursts.Install(staged);
}

TEST(Bursts, StartWithoutAShift) {
  Bursts bursts;
  const uint32_t burst = Join(bursts, 7, PageNumber(1));
  EXPECT_NE(burst, 0u);
  EXPECT_EQ(Join(bursts, 7, PageNumber(2)), burst) << "one poll, one burst";
  EXPECT_NE(Join(bursts, 8, PageNumber(3)), burst);
  EXPECT_EQ(bursts.Shift(burst, {}), 0);
}

// A sitemap or a bridge can repeat a page within a message and in many messages.
TEST(Bursts, HaveAPageOnce) {
  Bursts bursts;
  Bursts::Staged staged;
  for (int i = 0; i < 1000; ++i) (void)bursts.Join(7, PageNumber(4), staged);
  bursts.Install(staged);
  const uint32_t burst = Join(bursts, 7, PageNumber(4));
  (void)Join(bursts, 8, PageNumber(4));
  (void)Join(bursts, 7, PageNumber(4));
  EXPECT_EQ(bursts.pages(), 2u) << "one in either burst";
  Observe(bursts, burst, 0.5, 0);
  EXPECT_EQ(Take(bursts), std::vector<PageNumber>{PageNumber(4)});
}

// A standby restores a page again after each of its changes. The burst must still count the page
// once.
TEST(Bursts, HaveAPageOnceThatIsRestored) {
  Bursts bursts;
  for (int i = 0; i < 3; ++i) {
    for (uint64_t page = 1; page <= 2; ++page) bursts.Restore(41, 0.5, PageNumber(page));
  }
  EXPECT_EQ(bursts.pages(), 2u);
}

// At the shift the derivative of the posterior is zero: the excess of true signals over those
// expected balances the pull of the prior.
TEST(Bursts, ShiftsAreModesOfTheirPosterior) {
  Bursts bursts;
  const uint32_t burst = Join(bursts, 1, PageNumber(1));
  const double logit = std::log(0.4 / 0.6);
  double crawled = 0;
  double truth = 0;
  for (const double outcome : {1.0, 0.25, 0.0, 0.0, 0.0, 1.0}) {
    Observe(bursts, burst, 0.4, outcome);
    crawled += 1;
    truth += outcome;
    const double shift = bursts.Shift(burst, {});
    EXPECT_NEAR(truth - crawled * Logistic(logit + shift), shift / kVariance, 1e-5);
  }
}

// A signal whose class is rarely right is worth much if it belongs to a burst that was right.
TEST(Bursts, AFewCrawlsOutweighThePrecisionOfTheClass) {
  Bursts bursts;
  const uint32_t good = Join(bursts, 1, PageNumber(1));
  const uint32_t bad = Join(bursts, 2, PageNumber(2));
  for (int i = 0; i < 3; ++i) Observe(bursts, good, 0.1, 1);
  for (int i = 0; i < 3; ++i) Observe(bursts, bad, 0.9, 0);
  EXPECT_GT(Logistic(std::log(0.1 / 0.9) + bursts.Shift(good, {})), 0.7);
  EXPECT_LT(Logistic(std::log(0.9 / 0.1) + bursts.Shift(bad, {})), 0.3);
}

TEST(Bursts, HandOutPagesWhenTheirSignalsAreWorthLess) {
  Bursts bursts;
  for (uint64_t page = 1; page <= 5; ++page) (void)Join(bursts, 1, PageNumber(page));
  EXPECT_FALSE(bursts.has_reweighed());
  Observe(bursts, 1, 0.5, 0);
  ASSERT_TRUE(bursts.has_reweighed());
  EXPECT_EQ(Take(bursts, 2), (std::vector<PageNumber>{PageNumber(1), PageNumber(2)}));
  EXPECT_TRUE(bursts.has_reweighed());
  EXPECT_EQ(Take(bursts).size(), 3u);
  EXPECT_FALSE(bursts.has_reweighed());
  EXPECT_TRUE(Take(bursts).empty());
}

// The pages of a burst are weighed about ten times in total, not once for each crawl.
TEST(Bursts, AreWeighedRarely) {
  Bursts bursts;
  for (uint64_t page = 1; page <= 3000; ++page) (void)Join(bursts, 1, PageNumber(page));
  int times = 0;
  for (int i = 0; i < 1000; ++i) {
    Observe(bursts, 1, 0.3, i % 3 == 0 ? 1 : 0);
    if (!bursts.has_reweighed()) continue;
    ++times;
    EXPECT_EQ(Take(bursts, 5000).size(), 3000u);
  }
  EXPECT_GE(times, 1);
  EXPECT_LE(times, 12);
}

TEST(Bursts, NeverBecomeCertain) {
  for (const double precision : {0.0, 0.5, 1.0}) {
    for (const double truth : {0.0, 1.0}) {
      Bursts bursts;
      const uint32_t burst = Join(bursts, 1, PageNumber(1));
      for (int i = 0; i < 100'000; ++i) Observe(bursts, burst, precision, truth);
      EXPECT_LT(std::abs(bursts.Shift(burst, {})), 20);
    }
  }
}

TEST(Bursts, GoOnFromStoredPages) {
  Bursts bursts;
  bursts.Restore(41, -0.75, PageNumber(9));
  bursts.Restore(41, -0.75, PageNumber(10));
  EXPECT_EQ(bursts.Shift(41, {}), -0.75);
  EXPECT_GT(Join(bursts, 1, PageNumber(11)), 41u) << "numbers are not given twice";
  Observe(bursts, 41, 0.5, 1);
  EXPECT_GT(bursts.Shift(41, {}), 0);
  EXPECT_EQ(Take(bursts).size(), 2u);
  bursts.Restore(0, 0, PageNumber(12));
  EXPECT_EQ(bursts.pages(), 3u);
}

TEST(Bursts, ForgetTheOldestAtTheLimit) {
  Bursts bursts;
  const uint32_t first = Join(bursts, 1, PageNumber(1));
  for (uint64_t poll = 2; poll <= limits::kMaxBursts; ++poll) {
    (void)Join(bursts, poll, PageNumber(poll));
  }
  EXPECT_TRUE(bursts.Knows(first, {}));
  const uint32_t last = Join(bursts, limits::kMaxBursts + 1, PageNumber(1));
  EXPECT_FALSE(bursts.Knows(first, {}));
  EXPECT_TRUE(bursts.Knows(last, {}));
  EXPECT_EQ(bursts.pages(), limits::kMaxBursts);
  Observe(bursts, first, 0.5, 1);  // a forgotten burst learns nothing
  EXPECT_FALSE(bursts.has_reweighed());
}

TEST(Bursts, ForgetTheOldestWhenTooManyPagesWait) {
  Bursts bursts;
  const uint32_t first = Join(bursts, 1, PageNumber(1));
  for (uint64_t page = 1; page <= limits::kMaxBurstPages; ++page) {
    (void)Join(bursts, 2, PageNumber(page));
  }
  EXPECT_FALSE(bursts.Knows(first, {}));
  EXPECT_EQ(bursts.pages(), limits::kMaxBurstPages);
  // A poll that is too long adds no more pages.
  const uint32_t large = Join(bursts, 2, PageNumber(limits::kMaxBurstPages + 1));
  EXPECT_TRUE(bursts.Knows(large, {}));
  EXPECT_EQ(bursts.pages(), limits::kMaxBurstPages);
  (void)Join(bursts, 3, PageNumber(1));
  EXPECT_FALSE(bursts.Knows(large, {}));
  EXPECT_EQ(bursts.pages(), 1u);
}

// A batch sees the changes that it has staged. A dropped batch leaves no trace.
TEST(Bursts, LeaveNoTraceOfWhatIsDropped) {
  Bursts bursts;
  const uint32_t old = Join(bursts, 1, PageNumber(1));
  Bursts::Staged dropped;
  Bursts::Staged taken;
  for (Bursts::Staged* staged : {&dropped, &taken}) {
    EXPECT_EQ(bursts.Join(1, PageNumber(2), *staged), old);
    const uint32_t fresh = bursts.Join(2, PageNumber(3), *staged);
    EXPECT_EQ(fresh, old + 1);
    EXPECT_EQ(bursts.Join(2, PageNumber(4), *staged), fresh);
    bursts.Observe(fresh, 0.5, 0, *staged);
    bursts.Observe(old, 0.5, 1, *staged);
    EXPECT_LT(bursts.Shift(fresh, *staged), 0);
    EXPECT_GT(bursts.Shift(old, *staged), 0);
    EXPECT_FALSE(bursts.Knows(fresh, {}));
    EXPECT_EQ(bursts.Shift(old, {}), 0);
    EXPECT_EQ(bursts.pages(), 1u);
    EXPECT_FALSE(bursts.has_reweighed());
  }
  const double shift = bursts.Shift(old, taken);
  bursts.Install(taken);
  EXPECT_EQ(bursts.pages(), 4u);
  EXPECT_EQ(bursts.Shift(old, {}), shift);
  EXPECT_EQ(Take(bursts).size(), 4u);
}

}  // namespace
}  // namespace freshet
