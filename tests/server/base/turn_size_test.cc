#include "server/base/turn_size.h"

#include "gtest/gtest.h"

namespace freshet {
namespace {

// Makes `turns` turns, each with as many events as allowed. Each event takes `cost`. Returns the
// number of events that the next turn may have.
size_t After(TurnSize& size, int turns, Duration cost) {
  for (int i = 0; i < turns; ++i) {
    size.Took(size.events(), cost * static_cast<int64_t>(size.events()));
  }
  return size.events();
}

TEST(TurnSize, FollowsTheCostOfEvents) {
  TurnSize size(100, 4000, Duration::Millis(20));
  EXPECT_EQ(size.events(), 4000U);
  EXPECT_EQ(After(size, 1, Duration::Micros(40)), 500U);
  EXPECT_EQ(After(size, 5, Duration::Micros(40)), 500U);
  EXPECT_EQ(After(size, 1, Duration::Micros(10'000)), 100U) << "one commit covers so many";
  EXPECT_EQ(After(size, 1, Duration::Micros(5)), 200U) << "it grows step by step";
  EXPECT_EQ(After(size, 5, Duration::Micros(5)), 4000U);
}

// The next turn might have many expensive events, although the last few were cheap.
TEST(TurnSize, ShortTurnsDoNotMakeItGrow) {
  TurnSize size(100, 4000, Duration::Millis(20));
  (void)After(size, 1, Duration::Micros(40));
  for (int i = 0; i < 100; ++i) size.Took(3, Duration::Micros(3));
  size.Took(0, Duration());
  EXPECT_EQ(size.events(), 500U);
}

// Making a turn much shorter than its commit would only reduce the throughput.
TEST(TurnSize, TurnsMayTakeAsLongAsASlowCommit) {
  TurnSize size(100, 4000, Duration::Millis(20));
  size.Took(4000, Duration::Millis(250), Duration::Millis(300));
  EXPECT_EQ(size.events(), 4000U);
  size.Took(4000, Duration::Millis(250), Duration::Millis(50));
  EXPECT_NEAR(static_cast<double>(size.events()), 800, 1);
}

}  // namespace
}  // namespace freshet
