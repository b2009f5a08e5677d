#include "core/model/policy.h"

#include <string>

#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(Policy, NamesRoundTrip) {
  for (const std::string_view name : PolicyNames()) {
    if (name == "ncis_approx_J") continue;
    const StatusOr<Policy> policy = ParsePolicy(name);
    ASSERT_TRUE(policy.ok()) << policy.status();
    EXPECT_EQ(PolicyName(*policy), name);
  }
  for (const int terms : {1, 2, 17, kMaxApproximationTerms}) {
    const std::string name = "ncis_approx_" + std::to_string(terms);
    const StatusOr<Policy> policy = ParsePolicy(name);
    ASSERT_TRUE(policy.ok()) << policy.status();
    EXPECT_EQ(*policy, (Policy{PolicyKind::kNcisApprox, terms}));
    EXPECT_EQ(PolicyName(*policy), name);
  }
}

TEST(Policy, OtherNamesAreRefused) {
  for (const char* name : {"", "Greedy", "greedy ", "ncis_approx_", "ncis_approx_0",
                           "ncis_approx_-1", "ncis_approx_2x", "ncis_approx_J", "ncis_approx_1001",
                           "ncis_approx_99999999999999999999"}) {
    EXPECT_EQ(ParsePolicy(name).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

TEST(Policy, SignalsCountForPoliciesThatUseThemUnlessTheyComeTooEarly) {
  EXPECT_FALSE(CountsSignal({PolicyKind::kGreedy, 1}, 100, 5));
  EXPECT_FALSE(CountsSignal({PolicyKind::kHarmonic, 1}, 100, 5));
  EXPECT_FALSE(CountsSignal({PolicyKind::kNewContent, 1}, 100, 5));
  EXPECT_TRUE(CountsSignal({PolicyKind::kGreedyNcis, 1}, 1, 5));
  EXPECT_FALSE(CountsSignal({PolicyKind::kGreedyNcisDelay, 1}, 5, 5));
  EXPECT_TRUE(CountsSignal({PolicyKind::kGreedyNcisDelay, 1}, 5.1, 5));
}

TEST(Policy, SignalsAreGoodAboveBothThresholdsOnly) {
  EXPECT_TRUE(SignalsAreGood(0.71, 0.61));
  EXPECT_FALSE(SignalsAreGood(0.7, 0.61));
  EXPECT_FALSE(SignalsAreGood(0.71, 0.6));
}

}  // namespace
}  // namespace freshet
