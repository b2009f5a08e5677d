#include "server/base/log_limit.h"

#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(LogLimit, LetsOneThroughAMinuteAndCountsTheOthers) {
  const Instant start = Instant::FromMicros(1'700'000'000'000'000);
  LogLimit limit;
  EXPECT_EQ(limit.Admit(start), "");
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(limit.Admit(start + Duration::Millis(59 * i)));
  EXPECT_EQ(limit.Admit(start + Duration::Seconds(60)), " (1000 more like this were left out)");
  EXPECT_FALSE(limit.Admit(start + Duration::Seconds(119)));
  EXPECT_EQ(limit.Admit(start + Duration::Seconds(121)), " (1 more like this were left out)");
  EXPECT_EQ(limit.Admit(start + Duration::Hours(1)), "");
}

}  // namespace
}  // namespace freshet
