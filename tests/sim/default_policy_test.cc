// The default against the simple rules where each of them is at its best: perfect signals that just
// about suffice, pages that die all the time, signals that are all lies, none at all.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tools/sim/compare.h"

namespace freshet {
namespace {

struct Contest {
  std::string world;
  uint64_t seeds;
  double at_most;  // weighted staleness of the default over that of the best rule
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

// Seeds as many as it takes for their mean to be told from one within some percent.
INSTANTIATE_TEST_SUITE_P(Worlds, DefaultPolicy,
                         testing::Values(Contest{"liar_alone", 4, 1.05},
                                         Contest{"critical", 2, 1.02}, Contest{"churn", 2, 1.04},
                                         Contest{"no_signals", 1, 1.05},
                                         Contest{"pings_all_daily", 1, 0.7}),
                         [](const auto& named) { return named.param.world; });

}  // namespace
}  // namespace freshet
