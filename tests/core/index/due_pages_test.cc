#include "core/index/due_pages.h"

#include <limits>
#include <vector>

#include "gmock/gmock.h"

namespace freshet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void AddPages(DuePages& due, const std::vector<uint32_t>& pages, double by, double slow_high = 1) {
  for (const uint32_t page : pages) due.Room()->push_back({PageId(page), 0});
  due.Add(by, slow_high);
}

std::vector<uint32_t> TakeFirst(DuePages& due) {
  std::vector<uint32_t> pages;
  for (const WakeEntry& entry : due.First().entries) pages.push_back(entry.page.value());
  due.DropFirst();
  return pages;
}

TEST(DuePages, TheBatchThatIsDueFirstComesFirst) {
  DuePages due;
  EXPECT_TRUE(due.empty());
  EXPECT_EQ(due.by(), kInfinity);
  AddPages(due, {1, 2, 3}, 20);
  AddPages(due, {4}, 10);
  AddPages(due, {5, 6}, 30);
  EXPECT_EQ(due.by(), 10);
  EXPECT_THAT(TakeFirst(due), testing::ElementsAre(4));
  EXPECT_EQ(due.by(), 20);
  EXPECT_THAT(TakeFirst(due), testing::ElementsAre(1, 2, 3));
  EXPECT_THAT(TakeFirst(due), testing::ElementsAre(5, 6));
  EXPECT_TRUE(due.empty());
}

TEST(DuePages, ABatchThatIsBegunWaitsForOneThatIsDueBefore) {
  DuePages due;
  AddPages(due, {1, 2, 3}, 20);
  due.First().next = 2;
  due.First().fetched = 3;
  AddPages(due, {4}, 10);
  EXPECT_EQ(due.First().next, 0u);
  due.DropFirst();
  EXPECT_EQ(due.First().next, 2u);
  EXPECT_EQ(due.First().fetched, 3u);
}

TEST(DuePages, WhenTheThresholdFallsSlowPagesMoveFurther) {
  DuePages due;
  AddPages(due, {1}, 20, 2);
  AddPages(due, {2}, 30, 10);
  due.ThresholdFell(1);
  EXPECT_LE(due.by(), 18);
  EXPECT_NEAR(due.by(), 18, 1e-7);
  due.ThresholdFell(0.5);
  EXPECT_LE(due.by(), 15);
  EXPECT_NEAR(due.by(), 15, 1e-7);
  EXPECT_THAT(TakeFirst(due), testing::ElementsAre(2));
  EXPECT_LE(due.by(), 17);
  EXPECT_NEAR(due.by(), 17, 1e-7);
  EXPECT_THAT(TakeFirst(due), testing::ElementsAre(1));
  EXPECT_EQ(due.by(), kInfinity);
}

TEST(DuePages, WhatIsDroppedLeavesNothingToTheNext) {
  DuePages due;
  AddPages(due, {1, 2}, 20);
  due.First().next = 2;
  due.First().fetched = 2;
  due.DropFirst();
  AddPages(due, {3}, 30);
  EXPECT_EQ(due.First().next, 0u);
  EXPECT_EQ(due.First().fetched, 0u);
  EXPECT_THAT(TakeFirst(due), testing::ElementsAre(3));
}

}  // namespace
}  // namespace freshet
