#include "core/schedule/host_census.h"

#include <memory>
#include <string>

#include "core/schedule/host_gate.h"
#include "core/schedule/host_use.h"
#include "gtest/gtest.h"
#include "tests/core/schedule/instants.h"

namespace freshet {
namespace {

class HostCensusTest : public testing::Test {
 protected:
  HostId Add(const HostRecord& record) {
    const HostId host = gate_.Put(record);
    use_.AddPage(host);
    return host;
  }
  uint64_t Count(HostStanding standing) { return census_.counts()[standing]; }

  HostGate gate_{{.min_delay = Duration::Seconds(10)}};
  HostUse use_{gate_};
  HostCensus census_;
};

TEST_F(HostCensusTest, EachHostIsCountedOnceByWhatHoldsIt) {
  Add({.host = "free.test"});
  Add({.host = "blocked.test", .blocked_until = At(200)});
  Add({.host = "delayed.test", .last_assignment = At(95)});
  Add({.host = "asleep.test", .hours = DayHours{.from = 0, .until = 1}});
  const HostId busy = Add({.host = "busy.test", .max_in_flight = 1});
  gate_.Pick(busy, At(50));
  gate_.OpenLease(busy, At(50));
  const HostId picked = Add({.host = "picked.test"});
  gate_.Pick(picked, At(100));
  gate_.Put({.host = "empty.test"});
  census_.Look(gate_, use_, At(100), 100);
  EXPECT_EQ(Count(HostStanding::kFree), 1u);
  EXPECT_EQ(Count(HostStanding::kBlocked), 1u);
  EXPECT_EQ(Count(HostStanding::kInFlight), 1u);
  EXPECT_EQ(Count(HostStanding::kDelayed), 2u) << "what is picked is as good as assigned";
  EXPECT_EQ(Count(HostStanding::kHours), 1u);
}

TEST_F(HostCensusTest, AHostWaitsForItsGroup) {
  auto group = std::make_shared<HostGroup>();
  group->name = "shared";
  group->terms = {.min_delay = Duration::Seconds(60)};
  const HostId first = Add({.host = "a.test"});
  const HostId second = Add({.host = "b.test"});
  for (const HostId host : {first, second}) gate_.SetGroup(host, group);
  gate_.NoteAssignment(first, At(80));
  census_.Look(gate_, use_, At(100), 100);
  EXPECT_EQ(Count(HostStanding::kGroup), 2u);
  census_.Look(gate_, use_, At(141), 100);
  EXPECT_EQ(Count(HostStanding::kFree), 2u);
}

TEST_F(HostCensusTest, APassOverManyHostsIsTakenInSlices) {
  for (int i = 0; i < 250; ++i) Add({.host = "h" + std::to_string(i) + ".test"});
  census_.Look(gate_, use_, At(0), 100);
  census_.Look(gate_, use_, At(0), 100);
  EXPECT_EQ(Count(HostStanding::kFree), 0u) << "not before the pass has come to its end";
  census_.Look(gate_, use_, At(0), 100);
  EXPECT_EQ(Count(HostStanding::kFree), 250u);
  for (int i = 0; i < 3; ++i) census_.Look(gate_, use_, At(0), 100);
  EXPECT_EQ(Count(HostStanding::kFree), 250u);
}

}  // namespace
}  // namespace freshet
