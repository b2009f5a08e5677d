// Tests that learners follow their plans in a replay, and learn.
#include "lab/sim/replay_learner.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lab/sim/replay_policies.h"
#include "tests/support/run_program.h"

namespace freshet {
namespace {

double StalenessOf(const std::string& policy, const World& world) {
  ReplayPolicyChoice choice;
  choice.policy = policy;
  choice.crawls_per_day = world.crawls_per_day;
  const auto played = MakeReplayPolicy(choice, world);
  EXPECT_TRUE(played.ok()) << played.status();
  const ReplayResult result = *Replay(world.pages, OptionsOf(world), **played);
  return 1 - result.weighted_freshness;
}

// In this world, rates differ widely and there are no signals. Learning the rates has a large
// effect with a plan that suits real pages. The effect is smaller with a plan that never crawls
// pages with many changes.
TEST(LearnerReplay, LearnsRates) {
  const World world = *MakeWorld("no_signals", 1);
  const double uniform = StalenessOf("uniform", world);
  const double learned = StalenessOf("lambda_learn", world);
  EXPECT_LT(learned, 0.75 * uniform);
  EXPECT_LT(StalenessOf("lambda_learn_approx", world), 0.8 * uniform);
  EXPECT_GT(StalenessOf("explore_commit", world), learned);
}

// With complete signals, pages are crawled when they signal, and hardly any crawl finds no change.
TEST(LearnerReplay, CrawlsOnCompleteSignals) {
  const World world = *MakeWorld("perfect_scarce", 1);
  for (const char* name : {"lambda_learn", "binary_learn"}) {
    ReplayPolicyChoice choice;
    choice.policy = name;
    choice.crawls_per_day = world.crawls_per_day;
    const ReplayResult result =
        *Replay(world.pages, OptionsOf(world), **MakeReplayPolicy(choice, world));
    if (choice.policy == "lambda_learn") {
      EXPECT_GT(result.changed_share, 0.99);
    } else {
      EXPECT_LT(result.changed_share, 0.8);
    }
  }
}

TEST(LearnerReplay, TakesFlagsOfTheCommand) {
  const auto freshness = [](const std::string& flags) {
    const ProgramResult run =
        RunProgram("freshet-sim replay --world liar_alone --quiet --policy " + flags, "");
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return run.out.substr(0, run.out.find("\"seconds\""));
  };
  EXPECT_NE(freshness("explore_commit"), freshness("explore_commit --explore-days 400"));
  EXPECT_NE(freshness("eps_greedy"), freshness("eps_greedy --eps 0.5"));
  EXPECT_NE(freshness("binary_learn"), freshness("binary_learn --eps 0.5"));
  EXPECT_EQ(freshness("binary_learn"), freshness("binary_learn --eps 0.2"));
  EXPECT_EQ(
      RunProgram("freshet-sim replay --world liar_alone --policy eps_greedy --eps 2", "").exit_code,
      2);
  EXPECT_EQ(RunProgram("freshet-sim replay --world liar_alone --explore-days 0", "").exit_code, 2);
}

}  // namespace
}  // namespace freshet
