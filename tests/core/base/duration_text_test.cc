#include "core/base/duration_text.h"

#include <limits>

#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(SecondsText, IsExactAndShort) {
  EXPECT_EQ(SecondsText(Duration::Millis(100)), "0.1 s");
  EXPECT_EQ(SecondsText(Duration()), "0 s");
  EXPECT_EQ(SecondsText(Duration::Seconds(300)), "300 s");
  EXPECT_EQ(SecondsText(Duration::Micros(1)), "0.000001 s");
  EXPECT_EQ(SecondsText(Duration::Micros(-1'500'000)), "-1.5 s");
  EXPECT_EQ(SecondsText(Duration::Micros(10'010'000)), "10.01 s");
  EXPECT_EQ(SecondsText(Duration::Micros(std::numeric_limits<int64_t>::min())),
            "-9223372036854.775808 s");
}

}  // namespace
}  // namespace freshet
