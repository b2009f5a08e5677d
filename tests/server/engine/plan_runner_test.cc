#include "server/engine/plan_runner.h"

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/schedule/policy_switch.h"
#include "gtest/gtest.h"
#include "lab/bench/lease_best.h"
#include "tests/server/engine/test_shards.h"

namespace freshet {
namespace {

class PlanRunnerTest : public testing::Test {
 protected:
  // Adds a page that lc_compl crawls only after signals.
  void Add(const std::string& path) {
    UpsertPage page = shards_.PageOf(0, path);
    page.known_change_rate = Rate::PerDay(1);
    page.complete_signals = true;
    ASSERT_TRUE(shards_.Apply(0, page).status.ok());
  }
  bool Take() {
    std::promise<bool> answer;
    LeaseBest(shards_[0],
              {{.at = shards_.clock().Now(), .worker = "w", .lease = Duration::Hours(1)}},
              [&](auto assignments) { answer.set_value(assignments.front().has_value()); });
    return answer.get_future().get();
  }
  // Waits until the shard has filed all pages of the plan. Each check files one slice.
  void AwaitFiling() {
    const auto filing = [](const ShardView& view) { return view.epochs.Due(view.now); };
    while (shards_.Ask(0, filing)) {
    }
  }
  static Status Plan(PlanRunner& runner) {
    std::promise<Status> planned;
    runner.SetMethod(PlanMethod::kLcComplete,
                     [&](const Status& status) { planned.set_value(status); });
    return planned.get_future().get();
  }

  TestShards shards_{{CrawlPolicy(PlanMethod::kLcComplete)}};
};

TEST_F(PlanRunnerTest, NewPagesAreAskedForWithEveryPlanAndAlsoAfterOneThatWasNotMade) {
  std::atomic<double> rate = 0;
  PlanRunner runner({}, shards_.router(), [&] { return Rate::PerSecond(rate); });
  Add("first");
  ASSERT_TRUE(Plan(runner).ok()) << "nothing is planned at rate 0";
  rate = 1;
  ASSERT_TRUE(Plan(runner).ok());
  AwaitFiling();
  EXPECT_TRUE(Take());
  EXPECT_FALSE(Take());
  Add("second");
  ASSERT_TRUE(Plan(runner).ok());
  AwaitFiling();
  EXPECT_TRUE(Take());
  EXPECT_FALSE(Take());
  runner.Stop();
}

TEST_F(PlanRunnerTest, StopDoesNotWaitForThePlanToBeHandedOut) {
  Add("page");
  std::promise<void> planning;
  std::promise<void> stopped;
  // The runner asks for the rate after it has gathered the pages and before it hands out the plan.
  PlanRunner runner({}, shards_.router(), [&] {
    planning.set_value();
    stopped.get_future().get();
    return Rate::PerSecond(1);
  });
  std::promise<Status> planned;
  runner.SetMethod(PlanMethod::kLcComplete,
                   [&](const Status& status) { planned.set_value(status); });
  planning.get_future().get();
  std::thread stop([&] { runner.Stop(); });
  // The calls of SetMethod() are answered at once as soon as the runner is stopping.
  for (bool stops = false; !stops;) {
    auto answered = std::make_shared<std::atomic<bool>>(false);
    runner.SetMethod(PlanMethod::kLcComplete, [answered](const Status&) { *answered = true; });
    stops = *answered;
  }
  stopped.set_value();
  stop.join();
  EXPECT_TRUE(absl::IsUnavailable(planned.get_future().get()));
}

TEST_F(PlanRunnerTest, APlanThatAnotherPolicyOverrulesIsNotReportedAsInForce) {
  Add("page");
  PlanRunner runner({}, shards_.router(), [] { return Rate::PerSecond(1); });
  ASSERT_TRUE(Plan(runner).ok());
  ASSERT_TRUE(shards_.Ask(0, [](const ShardView& view) {
    return view.state.policies().SetPolicy(Policy{.kind = PolicyKind::kGreedy});
  }));
  EXPECT_TRUE(absl::IsAborted(Plan(runner)));
  runner.Stop();
}

TEST_F(PlanRunnerTest, APlanThatIsNotWantedAnyMoreIsGivenUp) {
  Add("page");
  std::promise<void> planning;
  std::promise<void> overruled;
  std::atomic<bool> first = true;
  PlanRunner runner({}, shards_.router(), [&] {
    if (first.exchange(false)) {
      planning.set_value();
      overruled.get_future().get();
    }
    return Rate::PerSecond(1);
  });
  std::promise<Status> under_way;
  runner.SetMethod(PlanMethod::kLcComplete,
                   [&](const Status& status) { under_way.set_value(status); });
  planning.get_future().get();
  std::promise<Status> waiting;
  runner.SetMethod(PlanMethod::kLcComplete,
                   [&](const Status& status) { waiting.set_value(status); });
  std::promise<Status> none;
  runner.SetMethod(std::nullopt, [&](const Status& status) { none.set_value(status); });
  EXPECT_TRUE(absl::IsAborted(waiting.get_future().get())) << "told at once";
  overruled.set_value();
  EXPECT_TRUE(absl::IsAborted(under_way.get_future().get()));
  EXPECT_TRUE(none.get_future().get().ok());
  runner.Stop();
}

}  // namespace
}  // namespace freshet
