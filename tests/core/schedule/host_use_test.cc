#include "core/schedule/host_use.h"

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/schedule/instants.h"

namespace freshet {
namespace {

// Previously, the times of forgotten hosts accumulated on a standby, which receives many hosts.
TEST(HostUse, HostsThatComeAndGoLeaveNothingBehind) {
  HostGate gate(PolitenessDefaults{});
  HostUse use(gate);
  for (int i = 1; i <= 1000; ++i) {
    const HostId host = gate.Put({.host = "host.test", .blocked_until = At(i)});
    use.Rest(host);
    EXPECT_EQ(use.next_rested(), At(i));
    use.Forget(host);
    EXPECT_TRUE(use.next_rested().infinite());
  }
  EXPECT_EQ(gate.id_limit(), 1U);
}

TEST(HostUse, APageKeepsItsHost) {
  const auto quota = std::make_shared<Quota>(100);
  HostGate gate(PolitenessDefaults{});
  HostUse use(gate, Duration::Seconds(600), quota);
  const HostId host = gate.Intern("host.test");
  EXPECT_EQ(quota->used(), 0U);
  use.AddPage(host);
  EXPECT_EQ(quota->used(), 1U);
  EXPECT_FALSE(use.CanForget(host, At(0)));
  use.RemovePage(host);
  EXPECT_EQ(quota->used(), 0U) << "at rest";
  EXPECT_TRUE(use.CanForget(host, At(0)));
  use.AddPage(host);
  EXPECT_TRUE(use.next_rested().infinite());
  EXPECT_EQ(quota->used(), 1U);
  use.RemovePage(host);
  use.Forget(host);
  EXPECT_EQ(quota->used(), 0U);
}

// Previously, one call examined all hosts whose time had come, even if they had got a later time
// since.
TEST(HostUse, FewHostsAreLookedAtAtATime) {
  HostGate gate(PolitenessDefaults{});
  HostUse use(gate);
  for (int i = 0; i < 100; ++i) {
    use.Rest(gate.Put({.host = std::to_string(i) + ".test", .last_assignment = At(i)}));
  }
  gate.SetDefaults({.min_delay = Duration::Seconds(1000)});
  std::vector<HostId> rested;
  use.TakeRested(At(500), 10, &rested);
  EXPECT_TRUE(rested.empty()) << "their delay is longer now";
  EXPECT_EQ(use.next_rested(), At(10)) << "ten were looked at";
  use.TakeRested(At(500), 1000, &rested);
  EXPECT_EQ(use.next_rested(), At(1000));
  use.TakeRested(At(1004), 1000, &rested);
  EXPECT_EQ(rested.size(), 5U);
}

}  // namespace
}  // namespace freshet
