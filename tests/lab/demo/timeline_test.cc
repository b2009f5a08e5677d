#include "lab/demo/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/lab/demo/small_history.h"

namespace freshet::demo {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(const std::vector<HistoryPage>& history, double seconds, double days) {
  return std::string(MakeTimeline(history, seconds, days).status().message());
}

TEST(TimelineTest, MapsThereAndBack) {
  const Timeline timeline = TenDays();
  EXPECT_EQ(timeline.ToWallMicros(HistoryDay(2.5)), WallDay(2.5));
  EXPECT_EQ(timeline.ToHistorySeconds(WallDay(2.5)), HistoryDay(2.5));
  EXPECT_EQ(timeline.ToWallMicros(HistoryDay(-1)), WallDay(-1));
  EXPECT_EQ(timeline.wall_end_micros(), WallDay(10));
  EXPECT_EQ(timeline.days(), 10);
}

TEST(TimelineTest, NeverMapsBackwards) {
  Timeline timeline = TenDays();
  timeline.wall_micros_per_day = 16'000.37;  // a microsecond is about five seconds of history
  int64_t earlier = timeline.ToWallMicros(HistoryDay(3));
  for (int64_t second = 1; second < 1000; ++second) {
    const int64_t wall = timeline.ToWallMicros(HistoryDay(3) + second);
    ASSERT_GE(wall, earlier);
    ASSERT_LE(timeline.ToHistorySeconds(wall), HistoryDay(3) + second);
    ASSERT_GT(timeline.ToHistorySeconds(wall + 1), HistoryDay(3) + second - 6);
    earlier = wall;
  }
}

TEST(MakeTimelineTest, PlaysTheEndOfALongHistory) {
  const auto timeline = MakeTimeline(ThreePages(), 4, 4);
  ASSERT_TRUE(timeline.ok()) << timeline.status();
  EXPECT_EQ(timeline->history_end_seconds, HistoryDay(11));  // the birth of the last page
  EXPECT_EQ(timeline->history_begin_seconds, HistoryDay(7));
  EXPECT_EQ(timeline->wall_begin_micros, 0);
  EXPECT_EQ(timeline->wall_micros_per_day, kWallDay);
}

TEST(MakeTimelineTest, StretchesAShortHistory) {
  const auto timeline = MakeTimeline(ThreePages(), 32, 32);
  ASSERT_TRUE(timeline.ok()) << timeline.status();
  EXPECT_EQ(timeline->history_begin_seconds, HistoryDay(-5));
  EXPECT_EQ(timeline->wall_micros_per_day, 2 * kWallDay);
  EXPECT_EQ(timeline->wall_end_micros() - timeline->wall_begin_micros, 32 * kWallDay);
}

TEST(MakeTimelineTest, RefusesWhatCannotBePlayed) {
  EXPECT_THAT(ErrorOf(ThreePages(), 0.5, 1), HasSubstr("seconds: 0.5 is not a number from 1"));
  EXPECT_THAT(ErrorOf(ThreePages(), 1e6, 1), HasSubstr("is not a number from 1"));
  EXPECT_THAT(ErrorOf(ThreePages(), std::nan(""), 1), HasSubstr("is not a number from 1"));
  std::vector<HistoryPage> long_history = ThreePages();
  long_history[0].first_seen_seconds = 0;
  EXPECT_THAT(ErrorOf(long_history, 1, 1001),
              HasSubstr("one day of the history would take 0.999 ms"));
  const std::vector<HistoryPage> still = {{.url = "https://x.example/", .first_seen_seconds = 77}};
  EXPECT_THAT(ErrorOf(still, 60, 10), HasSubstr("no length"));
}

TEST(FormatDateTest, IsUtc) {
  EXPECT_EQ(FormatDate(0), "1970-01-01");
  EXPECT_EQ(FormatDate(951868799), "2000-02-29");
  EXPECT_EQ(FormatDate(951868800), "2000-03-01");
}

}  // namespace
}  // namespace freshet::demo
