#include "server/base/system_clock.h"

#include <cstdint>

#include "gtest/gtest.h"
#include "server/base/wall_clock.h"

namespace freshet {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kDay = 86'400 * kSecond;
constexpr int64_t kStart = 1'700'000'000 * kSecond;

int64_t At(RisingTime& time, int64_t wall, int64_t steady) {
  return time.At(wall, steady).micros();
}

TEST(WallTime, IsOfTimesThatCanBeTrue) {
  for (const Instant can_be : {kFirstWallTime, Instant::FromMicros(kStart)}) {
    EXPECT_TRUE(CheckWallTime(can_be).ok()) << can_be.micros();
  }
  const Status before = CheckWallTime(Instant::FromMicros(-kDay));
  EXPECT_TRUE(absl::IsFailedPrecondition(before));
  EXPECT_EQ(before.message(),
            "the clock of this machine says 1969-12-31T00:00:00+00:00, which cannot be true: set "
            "the clock, then start again");
  for (const Instant wrong : {Instant(), kFirstWallTime - Duration::Seconds(1), kLastWallTime,
                              Instant::FromMicros(INT64_MIN), Instant::Infinite()}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(CheckWallTime(wrong))) << wrong.micros();
  }
}

TEST(RisingTime, IsThatOfTheWallClock) {
  RisingTime time;
  EXPECT_EQ(At(time, kStart, 50), kStart);
  EXPECT_EQ(At(time, kStart + 7, 57), kStart + 7);
}

TEST(RisingTime, LosesUntilTheWallClockHasCaughtUp) {
  RisingTime time;
  EXPECT_EQ(At(time, kStart, 0), kStart);
  EXPECT_EQ(time.ahead(), Duration());
  // The wall clock jumps two seconds forward and back again.
  EXPECT_EQ(At(time, kStart + 3 * kSecond, kSecond), kStart + 3 * kSecond);
  int64_t last = kStart + 3 * kSecond;
  int64_t seconds = 1;
  for (; last > kStart + seconds * kSecond; ++seconds) {
    const int64_t now = At(time, kStart + (seconds + 1) * kSecond, (seconds + 1) * kSecond);
    EXPECT_EQ(now - last, kSecond * 3 / 4);
    last = now;
  }
  EXPECT_EQ(seconds, 9);
  EXPECT_EQ(At(time, kStart + 10 * kSecond, 10 * kSecond), kStart + 10 * kSecond);
  EXPECT_EQ(time.ahead(), Duration());
}

TEST(RisingTime, SaysHowFarItIsAhead) {
  RisingTime time;
  (void)At(time, kStart, 0);
  (void)At(time, kStart - kDay, 0);
  EXPECT_EQ(time.ahead(), Duration::Days(1));
}

// The limit on the loss also holds if the time is rarely read.
TEST(RisingTime, NeverLosesMoreThanItsPart) {
  RisingTime time;
  EXPECT_EQ(At(time, kStart, 0), kStart);
  EXPECT_EQ(At(time, kStart - kDay, kSecond), kStart + kSecond * 3 / 4);
  EXPECT_EQ(At(time, kStart - kDay + 9 * kSecond, 10 * kSecond),
            kStart + 10 * kSecond - kSecond / 2);
}

TEST(RisingTime, FollowsTheWallClockForward) {
  RisingTime time;
  EXPECT_EQ(At(time, kStart, 0), kStart);
  EXPECT_EQ(At(time, kStart + kDay, kSecond), kStart + kDay);
  EXPECT_EQ(At(time, kStart + kDay + kSecond, 2 * kSecond), kStart + kDay + kSecond);
}

TEST(RisingTime, NeverFallsWhateverTheClocksShow) {
  RisingTime time;
  int64_t last = At(time, kStart, 100);
  for (const int64_t wall : {kStart - 5, int64_t{0}, kStart + kDay, kStart, kStart + 2 * kDay}) {
    for (const int64_t steady : {100, 100, 90, 200}) {
      const int64_t now = At(time, wall, steady);
      EXPECT_GE(now, last);
      last = now;
    }
  }
}

}  // namespace
}  // namespace freshet
