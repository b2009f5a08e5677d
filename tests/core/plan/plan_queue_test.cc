#include "core/plan/plan_queue.h"

#include <cmath>
#include <numeric>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

constexpr Instant kStart = Instant::FromUnixSeconds(1'700'000'000);

Instant Tick(int64_t j, double rate) {
  return kStart + Duration::FromSeconds(static_cast<double>(j) / rate);
}

TEST(PlanQueue, KeepsEveryPageWithinOneCrawlOfItsPlan) {
  Random random(3);
  constexpr double kRate = 10;
  constexpr size_t kPages = 60;
  std::vector<double> rates(kPages);
  for (double& rate : rates) rate = std::pow(10, random.Uniform(-2, 0));
  const double sum = std::accumulate(rates.begin(), rates.end(), 0.0);
  for (double& rate : rates) rate *= kRate / sum;
  PlanQueue queue;
  for (uint32_t i = 0; i < kPages; ++i) queue.Add(PageId(i), {.rate = rates[i]}, kStart, kStart);
  std::vector<int> crawls(kPages);
  for (int64_t j = 1; j <= 20'000; ++j) {
    const Instant at = Tick(j, kRate);
    const auto pick = queue.Best(at);
    ASSERT_TRUE(pick);
    ++crawls[pick->page.value()];
    queue.Crawled(pick->page, at);
    for (size_t i = 0; i < kPages; ++i) {
      // Ticks and due times are whole microseconds.
      ASSERT_LT(std::abs(crawls[i] - static_cast<double>(j) * rates[i] / kRate), 1.01) << i;
    }
  }
}

TEST(PlanQueue, UsesEveryTickEvenWhenThePlanIsForFewer) {
  PlanQueue queue;
  queue.Add(PageId(0), {.rate = 0.1}, kStart, kStart);
  queue.Add(PageId(1), {.rate = 0.3}, kStart, kStart);
  int crawls[2] = {};
  for (int64_t j = 1; j <= 400; ++j) {
    const auto pick = queue.Best(Tick(j, 1));
    ASSERT_TRUE(pick);
    ++crawls[pick->page.value()];
    queue.Crawled(pick->page, Tick(j, 1));
  }
  EXPECT_GT(crawls[1], 2 * crawls[0]);
  EXPECT_GT(crawls[0], 40) << "no less than planned";
}

TEST(PlanQueue, ForcedPagesGoFirstAndPagesOfRateZeroOnlyThen) {
  PlanQueue queue;
  queue.Add(PageId(0), {.rate = 1}, kStart - Duration::Seconds(100), kStart);
  queue.Add(PageId(1), {.rate = 0, .forced_at = Tick(5, 1)}, kStart, kStart);
  queue.Add(PageId(2), {.rate = 0}, kStart, kStart);
  EXPECT_EQ(queue.Best(Tick(1, 1))->page, PageId(0));
  const auto forced = queue.Best(Tick(5, 1));
  EXPECT_EQ(forced->page, PageId(1));
  EXPECT_TRUE(std::isinf(forced->urgency));
  queue.Withhold(PageId(1));
  EXPECT_EQ(queue.Best(Tick(6, 1))->page, PageId(0));
  queue.Withhold(PageId(0));
  EXPECT_FALSE(queue.Best(Tick(7, 1)));
  queue.Offer(PageId(1));
  EXPECT_EQ(queue.Best(Tick(8, 1))->page, PageId(1));
}

TEST(PlanQueue, WaitsForHostsAndForEligibility) {
  PlanQueue queue;
  queue.SetHostFree(HostId(1), Tick(10, 1));
  queue.Add(PageId(0), {.rate = 1, .host = HostId(1)}, kStart, kStart);
  queue.Add(PageId(1), {.rate = 1, .host = HostId(2), .eligible_from = Tick(4, 1)}, kStart, kStart);
  EXPECT_FALSE(queue.Best(Tick(3, 1)));
  EXPECT_EQ(queue.Best(Tick(4, 1))->page, PageId(1));
  queue.Remove(PageId(1));
  EXPECT_FALSE(queue.Best(Tick(9, 1)));
  queue.SetHostFree(HostId(1), Instant::Infinite());
  EXPECT_FALSE(queue.Best(Tick(11, 1)));
  queue.SetHostFree(HostId(1), Tick(12, 1));
  EXPECT_EQ(queue.Best(Tick(12, 1))->page, PageId(0));
}

TEST(PlanQueue, ASignalThatAsksMakesThePageDue) {
  PlanQueue queue;
  queue.Add(PageId(0), {.rate = 0, .asked_at = Tick(2, 1)}, kStart, kStart);
  queue.Add(PageId(1), {.rate = 0.1}, kStart, kStart);
  const auto pick = queue.Best(Tick(3, 1));
  EXPECT_EQ(pick->page, PageId(0));
  queue.Crawled(PageId(0), Tick(3, 1));
  EXPECT_EQ(queue.Best(Tick(4, 1))->page, PageId(1)) << "asked for once, crawled once";
}

TEST(PlanQueue, ALongBlockIsNotFollowedByABurst) {
  PlanQueue queue;
  queue.SetHostFree(HostId(0), Tick(1000, 1));
  queue.Add(PageId(0), {.rate = 0.5, .host = HostId(0)}, kStart, kStart);
  queue.Add(PageId(1), {.rate = 0.5, .host = HostId(1)}, kStart, kStart);
  int crawls = 0;
  for (int64_t j = 1; j <= 1100; ++j) {
    const auto pick = queue.Best(Tick(j, 1));
    ASSERT_TRUE(pick);
    crawls += pick->page == PageId(0) ? 1 : 0;
    queue.Crawled(pick->page, Tick(j, 1));
  }
  EXPECT_NEAR(crawls, 50, 3);
}

TEST(PlanQueue, AnotherRateKeepsTheShareOfTheWay) {
  PlanQueue queue;
  queue.Add(PageId(0), {.rate = 0.01}, kStart, kStart);
  queue.Update(PageId(0), {.rate = 0.1}, Tick(50, 1));
  EXPECT_EQ(queue.Due(PageId(0)), Tick(55, 1));
  queue.Update(PageId(0), {.rate = 0}, Tick(50, 1));
  EXPECT_TRUE(queue.Due(PageId(0)).infinite());
  queue.Update(PageId(0), {.rate = 0.1}, Tick(60, 1));
  EXPECT_EQ(queue.Due(PageId(0)), Tick(70, 1));
}

}  // namespace
}  // namespace freshet
