#include "core/schedule/age_bin_wheel.h"

#include <algorithm>
#include <map>
#include <vector>

#include "core/base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/schedule/instants.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Duration kBucket = Duration::Seconds(86400 / 64);

std::vector<PageId> Due(AgeBinWheel& wheel, Instant now, size_t max = 1000) {
  std::vector<PageId> pages;
  wheel.TakeDue(now, max, &pages);
  return pages;
}

TEST(AgeBinWheel, NeverEarlyAndAtMostABucketLate) {
  Random random(11);
  AgeBinWheel wheel(Duration::Days(1));
  std::map<uint32_t, Instant> edges;
  Instant now = kStart;
  for (int step = 0; step < 20'000; ++step) {
    const auto page = static_cast<uint32_t>(random.Below(500));
    if (random.Below(10) == 0) {
      wheel.Set(PageId(page), Instant::Infinite());
      edges.erase(page);
    } else {
      const Instant edge = now + Duration::FromSeconds(random.Uniform(0, 86400 * 30));
      wheel.Set(PageId(page), edge);
      edges[page] = edge;
    }
    now = now + Duration::FromSeconds(random.Uniform(0, 2000));
    for (const PageId due : Due(wheel, now)) {
      ASSERT_TRUE(edges.contains(due.value())) << "an edge that was moved or taken";
      ASSERT_LE(edges[due.value()], now);
      edges.erase(due.value());
    }
    for (const auto& [id, edge] : edges) ASSERT_GT(edge + kBucket, now) << id;
  }
}

TEST(AgeBinWheel, GivesNoMoreThanAskedFor) {
  AgeBinWheel wheel(Duration::Days(1));
  for (uint32_t i = 0; i < 10; ++i) wheel.Set(PageId(i), kStart);
  EXPECT_GT(wheel.next(), kStart);
  EXPECT_THAT(Due(wheel, kStart), IsEmpty());
  const Instant later = kStart + kBucket;
  EXPECT_EQ(Due(wheel, later, 4).size(), 4u);
  EXPECT_LE(wheel.next(), later);
  EXPECT_EQ(Due(wheel, later, 100).size(), 6u);
  EXPECT_TRUE(wheel.next().infinite());
}

TEST(AgeBinWheel, APageHasOneEdge) {
  AgeBinWheel wheel(Duration::Days(1));
  wheel.Set(PageId(3), kStart);
  wheel.Set(PageId(3), kStart + Duration::Days(2));
  wheel.Set(PageId(3), kStart);
  EXPECT_THAT(Due(wheel, kStart + Duration::Days(3)), ElementsAre(PageId(3)));
}

// An edge (the time at which the rates of a page change because of its age) can be years away, and
// a standby does not handle due edges. Even so, replaced edges must not accumulate.
TEST(AgeBinWheel, EdgesThatMovedPileUpNowhere) {
  AgeBinWheel wheel(Duration::Days(1));
  for (uint32_t page = 0; page < 1000; ++page) wheel.Set(PageId(page), kStart);
  for (int i = 0; i < 100'000; ++i) {
    // Page 7 returns to the same instant, page 8 moves to another.
    wheel.Set(PageId(7), Instant::Infinite());
    wheel.Set(PageId(7), kStart + Duration::Days(900));
    wheel.Set(PageId(8), kStart + kBucket * static_cast<double>(1 + i % 5000));
  }
  EXPECT_LT(wheel.entries(), 20'000u);
  EXPECT_EQ(Due(wheel, kStart + Duration::Days(899)).size(), 999u);
  EXPECT_THAT(Due(wheel, kStart + Duration::Days(901)), ElementsAre(PageId(7)));
  EXPECT_EQ(wheel.entries(), 0u);
  EXPECT_TRUE(wheel.next().infinite());
}

}  // namespace
}  // namespace freshet
