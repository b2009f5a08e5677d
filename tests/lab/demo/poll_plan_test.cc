#include "lab/demo/poll_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/lab/demo/small_history.h"

namespace freshet::demo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PollPlanTest, FindsEachDaysBirthsAndTouchesOnce) {
  const ReplayedHistory replayed(ThreePages(), TenDays());
  PollPlan plan(replayed, kWallBegin);
  std::vector<Poll> polls;
  while (!plan.done()) polls.push_back(plan.Next(plan.next_micros()));
  ASSERT_EQ(polls.size(), 10U);
  EXPECT_EQ(polls[0].time_micros, WallDay(1));
  EXPECT_THAT(polls[0].touched, IsEmpty());
  EXPECT_THAT(polls[1].touched, ElementsAre(TouchedPage{0, WallDay(2)}));
  EXPECT_THAT(polls[3].births, ElementsAre(2U));
  EXPECT_THAT(polls[4].touched, ElementsAre(TouchedPage{2, WallDay(5)}));
  // The poll of day 6 finds the change of that day. The next poll finds the minor touch of day 6.5.
  EXPECT_THAT(polls[5].touched, ElementsAre(TouchedPage{0, WallDay(6)}));
  EXPECT_THAT(polls[6].touched, ElementsAre(TouchedPage{0, WallDay(6.5)}));
  EXPECT_EQ(polls[9].time_micros, WallDay(10));
}

TEST(PollPlanTest, APageTouchedTwiceADayIsFoundOnceWithItsLatestTouch) {
  std::vector<HistoryPage> pages = ThreePages();
  pages[0].touches = {{HistoryDay(2.1), true}, {HistoryDay(2.7), false}};
  pages[1].touches = {{HistoryDay(2.4), true}};
  const ReplayedHistory replayed(pages, TenDays());
  PollPlan plan(replayed, WallDay(2));
  EXPECT_THAT(plan.Next(WallDay(3)).touched,
              ElementsAre(TouchedPage{1, WallDay(2.4)}, TouchedPage{0, WallDay(2.7)}));
}

TEST(PollPlanTest, APollerThatIsLateLooksOnce) {
  const ReplayedHistory replayed(ThreePages(), TenDays());
  PollPlan plan(replayed, WallDay(1));
  const Poll late = plan.Next(WallDay(6.7));
  EXPECT_EQ(late.time_micros, WallDay(6));
  EXPECT_THAT(late.births, ElementsAre(2U));
  EXPECT_THAT(late.touched, ElementsAre(TouchedPage{2, WallDay(5)}, TouchedPage{0, WallDay(6)}));
  EXPECT_EQ(plan.next_micros(), WallDay(7));
  EXPECT_EQ(plan.Next(WallDay(99)).time_micros, WallDay(10)) << "the last one";
  EXPECT_TRUE(plan.done());
}

TEST(PollPlanTest, WithoutRecallOnlyBirthsAndMinorTouchesAreFound) {
  const ReplayedHistory replayed(ThreePages(), TenDays(), 0);
  PollPlan plan(replayed, WallDay(0));
  const Poll all = plan.Next(WallDay(10));
  EXPECT_THAT(all.births, ElementsAre(2U));
  EXPECT_THAT(all.touched, ElementsAre(TouchedPage{0, WallDay(6.5)}));
}

TEST(PollPlanTest, GoesOnAfterTheLastPoll) {
  const ReplayedHistory replayed(ThreePages(), TenDays());
  PollPlan at_a_poll(replayed, WallDay(5));
  EXPECT_EQ(at_a_poll.next_micros(), WallDay(6));
  PollPlan between(replayed, WallDay(5.5));
  EXPECT_EQ(between.next_micros(), WallDay(6));
  EXPECT_THAT(between.Next(WallDay(6)).touched, ElementsAre(TouchedPage{0, WallDay(6)}));
  EXPECT_FALSE(between.done());
  const PollPlan over(replayed, WallDay(10));
  EXPECT_TRUE(over.done());
}

}  // namespace
}  // namespace freshet::demo
