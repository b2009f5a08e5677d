#include "lab/common/rounded.h"

#include <limits>

#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(Rounded, KeepsSoManyDecimals) {
  EXPECT_EQ(Rounded(1.0 / 3, 6).dump(), "0.333333");
  EXPECT_EQ(Rounded(0.5, 6).dump(), "0.5");
  EXPECT_EQ(Rounded(-2.345678, 2).dump(), "-2.35");
}

TEST(Rounded, ToNoDecimalsIsAnInteger) {
  EXPECT_EQ(Rounded(1234567.8, 0).dump(), "1234568");
  EXPECT_EQ(Rounded(-0.2, 0).dump(), "0");
  EXPECT_EQ(Rounded(1e300, 0).get<double>(), 1e300);
}

TEST(Rounded, KeepsSoManyDigits) {
  EXPECT_EQ(Significant(123456, 3).get<double>(), 123000);
  EXPECT_EQ(Significant(6.6613e-16, 3).get<double>(), 6.66e-16);
}

TEST(Rounded, WhatIsNoFiniteNumberIsNull) {
  for (const double value :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_TRUE(Rounded(value, 2).is_null());
    EXPECT_TRUE(Significant(value, 2).is_null());
  }
}

}  // namespace
}  // namespace freshet
