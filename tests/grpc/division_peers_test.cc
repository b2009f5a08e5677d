// Tests that callers do not wait while the servers of other divisions are searched for.
#include "server/forward/division_peers.h"

#include <atomic>
#include <memory>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/config.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

// A slow search for the server of one division does not delay searches for others.
TEST(DivisionPeersTest, AreLookedForAtTheSameTime) {
  constexpr uint32_t kOthers = 5;
  ServerConfig config;
  SystemClock clock;
  const StatusOr<std::unique_ptr<Door>> door = Door::Open(config, clock);
  ASSERT_TRUE(door.ok()) << door.status();
  std::atomic<uint32_t> searches = 0;
  std::atomic<bool> over = false;
  DivisionPeers peers(config, **door, clock,
                      [&](uint32_t /*division*/) -> StatusOr<std::optional<ServingPeer>> {
                        ++searches;
                        WaitUntil([&] { return searches >= kOthers || over; });
                        return std::optional<ServingPeer>();
                      });
  for (uint32_t division = 0; division < kOthers; ++division) {
    EXPECT_FALSE(peers.IsServed(division));
  }
  EXPECT_TRUE(Eventually([&] { return searches >= kOthers; }));
  over = true;
}

// Previously, each call of the console to a division that nobody serves made the console's only
// thread wait for five seconds.
TEST(DivisionPeersTest, TheConsoleWaitsForNoDivisionThatHasBeenAway) {
  ServerConfig config;
  SystemClock clock;
  const StatusOr<std::unique_ptr<Door>> door = Door::Open(config, clock);
  ASSERT_TRUE(door.ok()) << door.status();
  DivisionPeers peers(
      config, **door, clock,
      [](uint32_t /*division*/) -> StatusOr<std::optional<ServingPeer>> {
        return std::optional<ServingPeer>();
      },
      Duration::Hours(1));
  std::atomic<int> refused = 0;
  std::atomic<bool> stopped = false;
  const auto patient = peers.Open(1, "/of.some/Client", {});
  patient->Send({}, [&](const auto& /*answer*/) { EXPECT_TRUE(stopped); });
  const auto console = peers.Open(1, "/of.the/Console", {.hurried = true});
  for (int i = 1; i <= 3; ++i) {
    console->Send({}, [&](const StatusOr<grpc::ByteBuffer>& answer) {
      EXPECT_TRUE(absl::IsUnavailable(answer.status())) << answer.status();
      ++refused;
    });
    EXPECT_TRUE(Eventually([&] { return refused == i; }));
  }
  stopped = true;
}

}  // namespace
}  // namespace freshet
