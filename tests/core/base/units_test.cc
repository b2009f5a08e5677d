#include "core/base/units.h"

#include <cmath>

#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(Duration, FromSecondsSaturates) {
  EXPECT_EQ(Duration::FromSeconds(1.5).micros(), 1'500'000);
  EXPECT_TRUE(Duration::FromSeconds(1e300).infinite());
  EXPECT_TRUE(Duration::FromSeconds(HUGE_VAL).infinite());
  EXPECT_LT(Duration::FromSeconds(-1e300), Duration::Days(-1'000'000));
  EXPECT_EQ(Duration::FromSeconds(NAN), Duration());
}

TEST(Instant, NeverStaysNever) {
  EXPECT_TRUE((Instant::FromMicros(5) + Duration::Infinite()).infinite());
  EXPECT_EQ(Instant::FromUnixSeconds(3) - Instant::FromUnixSeconds(1), Duration::Seconds(2));
}

TEST(Instant, NoneIsTheDefaultAndNoOtherInstant) {
  EXPECT_TRUE(Instant().is_none());
  EXPECT_FALSE(Instant::FromMicros(1).is_none());
  EXPECT_LT(Instant::None(), Instant::FromMicros(1));
  EXPECT_FALSE(Instant::Infinite().is_none());
}

}  // namespace
}  // namespace freshet
