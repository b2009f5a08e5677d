// Compares the default policy with simple rules, each in a world that suits the rule: just enough
// crawls for perfect signals, pages that die all the time, only false signals, no signals.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lab/sim/compare.h"

namespace freshet {
namespace {

struct Contest {
  std::string world;
  uint64_t seeds;
  double at_most;  // weighted staleness of the default divided by that of the best rule
};

class DefaultPolicy : public testing::TestWithParam<Contest> {};

TEST_P(DefaultPolicy, IsAsGoodAsTheBestRule) {
  CompareOptions options;
  options.worlds = {GetParam().world};
  options.policies = {"default", "pings_first", "greedy", "greedy_cis"};
  options.seeds = GetParam().seeds;
  options.jobs = 1;
  const StatusOr<std::vector<ComparedRow>> rows = Compare(options, [](const std::string&) {});
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 1u);
  const ComparedPolicy* best = rows->front().BestRule("default");
  ASSERT_NE(best, nullptr);
  EXPECT_LT(rows->front().AgainstBest("default"), GetParam().at_most) << best->policy;
}

// This number of seeds suffices to detect a difference of some percent.
INSTANTIATE_TEST_SUITE_P(Worlds, DefaultPolicy,
                         testing::Values(Contest{"liar_alone", 4, 1.05},
                                         Contest{"critical", 2, 1.02}, Contest{"churn", 2, 1.04},
                                         Contest{"no_signals", 1, 1.05},
                                         Contest{"pings_all_daily", 1, 0.7}),
                         [](const auto& named) { return named.param.world; });

}  // namespace
}  // namespace freshet
