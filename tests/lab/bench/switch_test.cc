// Tests freshet-bench switch on few pages: assignments continue through every change of policy.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/lab/bench/run_bench.h"

namespace freshet {
namespace {

using nlohmann::json;

TEST(BenchSwitch, ReportsEveryChange) {
  const std::vector<json> lines =
      RunBench("switch --pages 5000 --seconds 0.1 --policies greedy,lambda_crawl,uniform,harmonic");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0]["from"], "greedy");
  EXPECT_EQ(lines[0]["to"], "lambda_crawl");
  EXPECT_EQ(lines[2]["to"], "harmonic");
  for (const json& line : lines) {
    EXPECT_GT(line["assignments"].get<int>(), 10);
    EXPECT_GE(line["longest_gap_ms"].get<double>(), line["p50_ms"].get<double>());
    for (const char* member : {"seconds", "p999_ms", "before_longest_gap_ms", "commit", "cpu"}) {
      EXPECT_TRUE(line.contains(member)) << member;
    }
  }
}

TEST(BenchSwitch, RefusesBadUsage) {
  for (const char* flags : {"--pages 0", "--policies greedy", "--policies greedy,best",
                            "--durability maybe", "--seconds -1"}) {
    EXPECT_EQ(RunProgram(std::string("freshet-bench switch ") + flags, "").exit_code, 2) << flags;
  }
}

}  // namespace
}  // namespace freshet
