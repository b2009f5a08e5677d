// Tests freshet-bench plan on few pages: its lines are complete, exact and reproducible.
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/lab/bench/run_bench.h"

namespace freshet {
namespace {

using nlohmann::json;

std::vector<json> BenchPlans(const std::string& flags) { return RunBench("plan " + flags); }

TEST(BenchPlan, ReportsEveryMethodAskedFor) {
  const auto lines = BenchPlans("--pages 100000 --method lambda_crawl,blc,lds,frontera");
  ASSERT_EQ(lines.size(), 4u);
  for (const json& line : lines) {
    EXPECT_EQ(line["pages"], 100000);
    EXPECT_LT(line["kkt_residual"].get<double>(), 1e-10);
    EXPECT_LT(std::abs(line["budget_error"].get<double>()), 1e-11);
    EXPECT_GT(line["pages_per_second"].get<double>(), 0);
    for (const char* member : {"seconds", "peak_mb", "commit", "cpu", "digest"}) {
      EXPECT_TRUE(line.contains(member)) << member;
    }
  }
}

TEST(BenchPlan, DigestDependsOnTheSeedAlone) {
  const auto one = BenchPlans("--pages 50000 --method lds --threads 1");
  const auto two = BenchPlans("--pages 50000 --method lds --threads 2");
  const auto other = BenchPlans("--pages 50000 --method lds --seed 2");
  EXPECT_EQ(one[0]["digest"], two[0]["digest"]);
  EXPECT_NE(one[0]["digest"], other[0]["digest"]);
}

TEST(BenchPlan, RefusesBadUsage) {
  for (const char* flags :
       {"plan --pages 0", "plan --method best", "plan --fast", "", "plan --rate-per-page -1"}) {
    const ProgramResult result = RunProgram(std::string("freshet-bench ") + flags, "");
    EXPECT_EQ(result.exit_code, 2) << flags;
  }
}

}  // namespace
}  // namespace freshet
