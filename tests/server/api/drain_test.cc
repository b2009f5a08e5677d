// Whether a server of a cluster may end for another to take over.
#include "server/api/drain.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

using testing::HasSubstr;

v1::FleetStandby Standby(const std::string& node, bool ready) {
  v1::FleetStandby standby;
  standby.set_node(node);
  standby.set_address(node + ":7071");
  standby.set_ready(ready);
  return standby;
}

// Kafka may choose any of them.
TEST(DrainTest, EndsWhereAllStandbysAreReadyAndOnOtherNodes) {
  EXPECT_EQ(WhyNotDrained("a", {Standby("b", true)}), "");
  EXPECT_EQ(WhyNotDrained("a", {Standby("b", true), Standby("c", true)}), "");
  EXPECT_THAT(WhyNotDrained("a", {}), HasSubstr("nobody would take over"));
  EXPECT_THAT(WhyNotDrained("a", {Standby("b", true), Standby("c", false)}),
              HasSubstr("c might take over and has not all of the log"));
  EXPECT_THAT(WhyNotDrained("a", {Standby("a", true), Standby("b", true)}),
              HasSubstr("its standby at a:7071 is of the same node"));
}

}  // namespace
}  // namespace freshet
