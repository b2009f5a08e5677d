#include "core/model/crawl_cap.h"

#include <algorithm>
#include <random>

#include "gtest/gtest.h"

namespace freshet {
namespace {

Instant Micros(int64_t us) { return Instant::FromMicros(us); }

// Returns the largest number of `times` (rising) in any window (t - per, t].
size_t MostWithin(const std::vector<int64_t>& times, int64_t per) {
  size_t most = 0;
  size_t first = 0;
  for (size_t i = 0; i < times.size(); ++i) {
    while (times[first] <= times[i] - per) ++first;
    most = std::max(most, i - first + 1);
  }
  return most;
}

TEST(CrawlCap, WhatCameToNothingDoesNotCount) {
  const CrawlCap cap = {.count = 2, .per = Duration::Micros(1600)};
  RecentCrawls recent;
  CountCrawl(cap, Micros(10'000), &recent);
  CountCrawl(cap, Micros(10'500), &recent);
  EXPECT_EQ(CapAllows(cap, recent, 0, {}), Micros(11'600));
  UncountCrawl(Micros(10'500), &recent);
  EXPECT_EQ(CapAllows(cap, recent, 0, {}), Instant());
  UncountCrawl(Micros(10'500), &recent);
  EXPECT_EQ(CountsAt(cap, recent, Micros(10'500)), 1u);
  UncountCrawl(Micros(10'000), &recent);
  EXPECT_TRUE(recent.empty());
}

// Crawls are made at the earliest allowed time, in bursts and after pauses.
TEST(CrawlCap, NoWindowHasMoreThanTheCap) {
  std::mt19937_64 random(7);
  for (int run = 0; run < 300; ++run) {
    const CrawlCap cap = {.count = static_cast<uint32_t>(1 + random() % 60),
                          .per = Duration::Micros(static_cast<int64_t>(1 + random() % 100'000))};
    RecentCrawls recent;
    std::vector<int64_t> times;
    int64_t now = 1'000'000;
    for (int i = 0; i < 500; ++i) {
      now += static_cast<int64_t>(random() % static_cast<uint64_t>(cap.per.micros() / 10 + 2));
      if (random() % 20 == 0) now += cap.per.micros();
      if (CapAllows(cap, recent, 0, {}) > Micros(now)) continue;
      CountCrawl(cap, Micros(now), &recent);
      times.push_back(now);
      ASSERT_LE(recent.size(), kMostCounts);
      ASSERT_LE(CountsAt(cap, recent, Micros(now)), cap.count);
    }
    ASSERT_LE(MostWithin(times, cap.per.micros()), cap.count) << run;
  }
}

TEST(CrawlCap, ABusyHostGetsSixteenSeventeenthsInTheLongRun) {
  const CrawlCap cap = {.count = 1000, .per = Duration::Days(1)};
  RecentCrawls recent;
  int crawls = 0;
  Instant at = Instant::FromUnixSeconds(1'000'000);
  const Instant end = at + Duration::Days(100);
  for (; at < end; at = std::max(at, CapAllows(cap, recent, 0, {})) + Duration::Seconds(1)) {
    if (CapAllows(cap, recent, 0, {}) > at) continue;
    CountCrawl(cap, at, &recent);
    ++crawls;
  }
  EXPECT_GE(crawls, 100 * 1000 * 16 / 17);
  EXPECT_LE(crawls, 101 * 1000);
}

TEST(CrawlCap, WhatIsAboutToBeAssignedCounts) {
  const CrawlCap cap = {.count = 3, .per = Duration::Seconds(10)};
  RecentCrawls recent;
  EXPECT_TRUE(CapAllows(cap, recent, 2, Micros(5)).is_none());
  EXPECT_EQ(CapAllows(cap, recent, 3, Micros(5)), Micros(10'000'005));
  CountCrawl(cap, Micros(1), &recent);
  EXPECT_TRUE(CapAllows(cap, recent, 1, Micros(5)).is_none());
  EXPECT_EQ(CapAllows(cap, recent, 2, Micros(5)), Micros(10'000'001));
  EXPECT_TRUE(CapAllows({}, recent, 1000, Micros(5)).is_none()) << "no cap";
}

// A crawl that is reported late counts at the time of the last crawl before it. So the wait can be
// too long, but never too short.
TEST(CrawlCap, TimesThatStepBackCountAsTheLast) {
  const CrawlCap cap = {.count = 2, .per = Duration::Seconds(10)};
  RecentCrawls recent;
  CountCrawl(cap, Micros(9'000'000), &recent);
  CountCrawl(cap, Micros(1), &recent);
  EXPECT_EQ(CapAllows(cap, recent, 0, {}), Micros(19'000'000));
}

// A new cap uses the counts made for the previous one, and few counts are kept.
TEST(CrawlCap, WhatIsCountedStaysSmallWhenTheCapChanges) {
  RecentCrawls recent;
  int64_t now = 1;
  for (int64_t per = 1; per < 1'000'000'000; per *= 3) {
    const CrawlCap cap = {.count = 1000, .per = Duration::Micros(per)};
    uint64_t counted = CountsAt(cap, recent, Micros(now));
    for (int i = 0; i < 100; ++i) {
      now += per / 200;
      CountCrawl(cap, Micros(now), &recent);
      ASSERT_LE(recent.size(), kMostCounts);
    }
    if (per > 200) {
      EXPECT_GE(CountsAt(cap, recent, Micros(now)), std::max<uint64_t>(counted, 100));
    }
  }
}

}  // namespace
}  // namespace freshet
