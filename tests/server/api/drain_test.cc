// Tests whether a server of a cluster may stop, so that another one takes over.
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
  standby.mutable_behind()->set_seconds(ready ? 1 : 30);
  return standby;
}

// Kafka can choose any of the standbys, so all must be ready.
TEST(DrainTest, EndsWhereAllStandbysAreReadyAndOnOtherNodes) {
  EXPECT_EQ(WhyNotDrained("a", {Standby("b", true)}), "");
  EXPECT_EQ(WhyNotDrained("a", {Standby("b", true), Standby("c", true)}), "");
  EXPECT_THAT(WhyNotDrained("a", {}), HasSubstr("no server could take over"));
  // Kafka does not choose a standby that has not read the whole log yet.
  v1::FleetStandby reads = Standby("d", false);
  reads.clear_behind();
  EXPECT_THAT(WhyNotDrained("a", {reads}), HasSubstr("no server could take over"));
  EXPECT_EQ(WhyNotDrained("a", {reads, Standby("b", true)}), "");
  EXPECT_THAT(WhyNotDrained("a", {Standby("b", true), Standby("c", false)}),
              HasSubstr("standby c could take over but has not read the whole log"));
  EXPECT_THAT(WhyNotDrained("a", {Standby("a", true), Standby("b", true)}),
              HasSubstr("its standby at a:7071 belongs to the same node"));
}

}  // namespace
}  // namespace freshet
