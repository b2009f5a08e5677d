// Tests changes of policy over several shards of different speed.
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "core/schedule/policy_switch.h"
#include "gtest/gtest.h"
#include "server/config.h"
#include "server/engine/epochs_of_all.h"
#include "tests/server/engine/test_shards.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

const CrawlPolicy kGreedy = Policy{.kind = PolicyKind::kGreedy};
const CrawlPolicy kHarmonic = Policy{.kind = PolicyKind::kHarmonic};
const CrawlPolicy kUniform = CrawlPolicy(PlanMethod::kUniform);

class ChangePolicyTest : public testing::Test {
 protected:
  ChangePolicyTest() {
    for (int i = 0; i < 20; ++i) {
      const std::string path = std::to_string(i);
      EXPECT_TRUE(shards_.Apply(0, shards_.PageOf(0, path)).status.ok());
      EXPECT_TRUE(shards_.Apply(1, shards_.PageOf(1, path)).status.ok());
    }
  }
  ~ChangePolicyTest() override { plans_.Stop(); }

  // Begins a change in the same way as AdminService.
  std::future<Status> Begin(const std::string& name) {
    settings_.set_policy(name, Now().pending.empty());
    auto done = std::make_shared<std::promise<Status>>();
    ChangePolicy(shards_.router(), plans_, *ResolvePolicy(name),
                 [done](const Status& status) { done->set_value(status); });
    return done->get_future();
  }
  PolicyStatus Now() { return PolicyNow(shards_.router(), settings_); }
  void AwaitInForce(size_t shard, const CrawlPolicy& policy) {
    WaitUntil([&] { return shards_[shard].snapshot().in_force == policy; });
  }

  TestShards shards_{{kGreedy, kGreedy}};
  RuntimeSettings settings_{{}, "greedy", [](const Settings&, const RuntimeSettings::Done&) {}};
  PlanRunner plans_{{}, shards_.router(), [] { return Rate::PerSecond(1); }};
};

TEST_F(ChangePolicyTest, ThePolicyBeforeIsNamedUntilAllShardsFollowTheNewOne) {
  EXPECT_EQ(Now(), (PolicyStatus{.in_force = "greedy", .pending = ""}));
  std::promise<void> free;
  shards_.Hold(1, free);
  std::future<Status> changed = Begin("harmonic");
  AwaitInForce(0, kHarmonic);
  EXPECT_EQ(Now(), (PolicyStatus{.in_force = "greedy", .pending = "harmonic"}));
  free.set_value();
  EXPECT_TRUE(changed.get().ok());
  EXPECT_EQ(Now(), (PolicyStatus{.in_force = "harmonic", .pending = ""}));
}

TEST_F(ChangePolicyTest, SoItIsBetweenAnIndexAndPlans) {
  for (const std::string name : {"uniform", "blc", "default"}) {
    const std::string before = Now().in_force;
    std::promise<void> free;
    shards_.Hold(1, free);
    std::future<Status> changed = Begin(name);
    EXPECT_EQ(Now(), (PolicyStatus{.in_force = before, .pending = name}));
    free.set_value();
    ASSERT_TRUE(changed.get().ok());
    EXPECT_EQ(Now(), (PolicyStatus{.in_force = name, .pending = ""}));
  }
}

TEST_F(ChangePolicyTest, OneThatIsOverruledIsNotReportedAsInForce) {
  for (const auto& [first, second] : {std::pair("harmonic", "uniform"),
                                      {"blc", "greedy"},
                                      {"harmonic", "greedy"},
                                      {"uniform", "blc"}}) {
    std::promise<void> free;
    shards_.Hold(1, free);
    std::future<Status> overruled = Begin(first);
    std::future<Status> changed = Begin(second);
    free.set_value();
    EXPECT_TRUE(absl::IsAborted(overruled.get())) << first << " overruled by " << second;
    const Status status = changed.get();
    EXPECT_TRUE(status.ok()) << first << " overruled by " << second << ": " << status.ToString();
    EXPECT_EQ(Now(), (PolicyStatus{.in_force = second, .pending = ""}));
  }
}

TEST_F(ChangePolicyTest, ReadsNothingBetweenPlans) {
  ASSERT_TRUE(Begin("uniform").get().ok());
  std::promise<void> free;
  shards_.Hold(1, free);
  std::future<Status> changed = Begin("blc");
  const auto filing = [](const ShardView& view) { return view.epochs.Due(view.now); };
  EXPECT_FALSE(shards_.Ask(0, filing));
  free.set_value();
  EXPECT_TRUE(changed.get().ok());
  EXPECT_EQ(shards_.Ask(0, [](const ShardView& view) { return view.state.policies().in_force(); }),
            *ResolvePolicy("blc"));
}

TEST_F(ChangePolicyTest, AStoppedShardIsToldOf) {
  shards_[1].Stop();
  EXPECT_TRUE(absl::IsUnavailable(Begin("uniform").get()));
  EXPECT_TRUE(absl::IsUnavailable(Begin("harmonic").get()));
  EXPECT_EQ(Now(), (PolicyStatus{.in_force = "greedy", .pending = "harmonic"}));
}

}  // namespace
}  // namespace freshet
