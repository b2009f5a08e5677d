#include "server/base/system_clock.h"

#include "gtest/gtest.h"

namespace freshet {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kDay = 86'400 * kSecond;
constexpr int64_t kStart = 1'700'000'000 * kSecond;

int64_t At(RisingTime& time, int64_t wall, int64_t steady) {
  return time.At(wall, steady).micros();
}

TEST(RisingTime, IsThatOfTheWallClock) {
  RisingTime time;
  EXPECT_EQ(At(time, kStart, 50), kStart);
  EXPECT_EQ(At(time, kStart + 7, 57), kStart + 7);
}

TEST(RisingTime, GoesOnAtItsPaceWhenTheWallClockIsSetBack) {
  RisingTime time;
  EXPECT_EQ(At(time, kStart, 0), kStart);
  EXPECT_EQ(At(time, kStart - kDay, kSecond), kStart + kSecond);
  EXPECT_EQ(At(time, kStart - kDay + kSecond, 2 * kSecond), kStart + 2 * kSecond);
  // Until the wall clock has been corrected.
  EXPECT_EQ(At(time, kStart + 3 * kSecond, 3 * kSecond), kStart + 3 * kSecond);
}

TEST(RisingTime, FollowsTheWallClockForward) {
  RisingTime time;
  EXPECT_EQ(At(time, kStart, 0), kStart);
  EXPECT_EQ(At(time, kStart + kDay, kSecond), kStart + kDay);
  // What it has told it cannot take back.
  EXPECT_EQ(At(time, kStart + 2 * kSecond, 2 * kSecond), kStart + kDay + kSecond);
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
