#include "server/engine/departures.h"

#include <string>

#include "gtest/gtest.h"

namespace freshet {
namespace {

Instant At(int64_t millis) { return Instant::FromUnixSeconds(1000) + Duration::Millis(millis); }

TEST(Departures, WhatComesTooSoonAfterALateOneDoesNotLeave) {
  Departures departures;
  const Spacing second{Duration::Seconds(1), {}, {}};
  EXPECT_TRUE(departures.Leave("a", second, At(0), At(0)));
  EXPECT_TRUE(departures.Leave("a", second, At(1000), At(2600)));
  EXPECT_EQ(departures.LeftAt("a"), At(2600));
  EXPECT_FALSE(departures.Leave("a", second, At(2000), At(2610)));
  EXPECT_FALSE(departures.Leave("a", second, At(3599), At(3599)));
  EXPECT_TRUE(departures.Leave("b", second, At(2610), At(2610)));
  EXPECT_TRUE(departures.Leave("a", second, At(3600), At(3600)));
}

TEST(Departures, HostsOfAGroupWaitForOneAnother) {
  Departures departures;
  const Spacing grouped{.of_host = {}, .group = GroupKey(7), .of_group = Duration::Seconds(1)};
  EXPECT_TRUE(departures.Leave("a", grouped, At(0), At(500)));
  EXPECT_FALSE(departures.Leave("b", grouped, At(1000), At(1000)));
  EXPECT_TRUE(departures.Leave("c", {}, At(1000), At(1000)));
  EXPECT_TRUE(departures.Leave("b", grouped, At(1500), At(1500)));
}

TEST(Departures, RememberNoMoreThanTheyMay) {
  Departures departures;
  const Spacing hour{Duration::Hours(1), {}, {}};
  for (size_t i = 0; i < Departures::kMost; ++i) {
    ASSERT_TRUE(departures.Leave(std::to_string(i), hour, At(0), At(100)));
  }
  EXPECT_FALSE(departures.Leave("one more", hour, At(0), At(100)));
  EXPECT_TRUE(departures.Leave("on time", hour, At(100), At(100)));
  EXPECT_TRUE(departures.Leave("one more", hour, At(0), At(100) + Duration::Hours(1)));
}

}  // namespace
}  // namespace freshet
