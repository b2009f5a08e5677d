// Tests the list of standbys from which a server has received messages.
#include "server/api/standby_roster.h"

#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

constexpr Instant kHeard = Instant::FromUnixSeconds(1'700'000'000);

v1::FleetStandby Called(const std::string& node, const std::string& address = "") {
  v1::FleetStandby standby;
  standby.set_node(node);
  standby.set_address(address);
  return standby;
}

TEST(StandbyRosterTest, ShowsWhatEachSaidLastUntilItFallsSilent) {
  StandbyRoster roster;
  v1::FleetStandby ready = Called("b", "b:7071");
  ASSERT_TRUE(roster.Hear(ready, kHeard).ok());
  ASSERT_TRUE(roster.Hear(Called("b", "b:7072"), kHeard).ok()) << "two on one machine";
  ASSERT_TRUE(roster.Hear(Called("a"), kHeard).ok());
  ready.set_ready(true);
  ASSERT_TRUE(roster.Hear(ready, kHeard + Duration::Seconds(3)).ok());
  const auto all = roster.All(kHeard + Duration::Seconds(4));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].node(), "a");
  EXPECT_TRUE(all[1].ready());
  EXPECT_EQ(all[2].address(), "b:7072");
  const auto rest = roster.All(kHeard + Duration::Seconds(6));
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].address(), "b:7071");
}

TEST(StandbyRosterTest, IsBounded) {
  StandbyRoster roster;
  EXPECT_TRUE(absl::IsInvalidArgument(roster.Hear(Called(""), kHeard)));
  EXPECT_TRUE(absl::IsInvalidArgument(
      roster.Hear(Called(std::string(StandbyRoster::kMostBytes + 1, 'x')), kHeard)));
  EXPECT_TRUE(absl::IsInvalidArgument(
      roster.Hear(Called("a", std::string(StandbyRoster::kMostBytes + 1, 'x')), kHeard)));
  for (size_t i = 0; i < StandbyRoster::kMost; ++i) {
    ASSERT_TRUE(roster.Hear(Called(std::to_string(i)), kHeard).ok());
  }
  EXPECT_TRUE(absl::IsResourceExhausted(roster.Hear(Called("new"), kHeard)));
  EXPECT_TRUE(roster.Hear(Called("7"), kHeard).ok()) << "it has its place";
  EXPECT_EQ(roster.All(kHeard).size(), StandbyRoster::kMost);
  EXPECT_TRUE(roster.Hear(Called("new"), kHeard + Duration::Seconds(6)).ok())
      << "who is silent has lost his";
}

// This test waits in real time.
TEST(StandbyRosterTest, AwaitsThoseThatMayTakeOverAndCanLoad) {
  StandbyRoster roster;
  SystemClock clock;
  constexpr Duration kSoon = Duration::Millis(1);
  EXPECT_FALSE(roster.asked_to_load());
  roster.AskToLoad();
  EXPECT_TRUE(roster.asked_to_load());
  EXPECT_TRUE(roster.AwaitLoaded(clock, kSoon)) << "there is nobody";
  // Neither of these delays the wait. `reading` has never read the whole log, so it cannot take
  // over. `before` is of an earlier release, which loads the pages only after it has taken over.
  v1::FleetStandby reading = Called("reading");
  reading.set_loaded(false);
  v1::FleetStandby before = Called("before");
  before.mutable_behind();
  ASSERT_TRUE(roster.Hear(reading, clock.Now()).ok());
  ASSERT_TRUE(roster.Hear(before, clock.Now()).ok());
  EXPECT_TRUE(roster.AwaitLoaded(clock, kSoon));
  v1::FleetStandby two[] = {Called("a"), Called("b")};
  for (v1::FleetStandby& standby : two) {
    standby.mutable_behind();
    standby.set_loaded(false);
    standby.set_ready(true);
    ASSERT_TRUE(roster.Hear(standby, clock.Now()).ok());
  }
  two[0].set_loaded(true);
  two[1].set_loaded(true);
  two[1].set_ready(false);
  ASSERT_TRUE(roster.Hear(two[0], clock.Now()).ok());
  ASSERT_TRUE(roster.Hear(two[1], clock.Now()).ok());
  EXPECT_FALSE(roster.AwaitLoaded(clock, kSoon)) << "one has yet to read what came meanwhile";
  two[1].set_loaded(false);
  two[1].set_ready(true);
  ASSERT_TRUE(roster.Hear(two[1], clock.Now()).ok());
  EXPECT_FALSE(roster.AwaitLoaded(clock, kSoon)) << "either may take over";
  std::thread later([&] {
    LetPass(Duration::Millis(20));
    two[1].set_loaded(true);
    EXPECT_TRUE(roster.Hear(two[1], clock.Now()).ok());
  });
  // AwaitLoaded() returns early after each message, so the loop repeats it until both are loaded.
  while (!roster.AwaitLoaded(clock, Duration::Seconds(100))) continue;
  later.join();
  // The server does not wait for a standby that has disconnected.
  two[1].set_loaded(false);
  ASSERT_TRUE(roster.Hear(two[1], clock.Now() - Duration::Seconds(6)).ok());
  EXPECT_TRUE(roster.AwaitLoaded(clock, kSoon));
}

}  // namespace
}  // namespace freshet
