// Tests freshet-bench index on few pages: its lines are complete, and the index picks the same
// pages as a full scan.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/lab/bench/run_bench.h"

namespace freshet {
namespace {

using nlohmann::json;

std::vector<json> BenchIndex(const std::string& flags) {
  return RunBench("index --seconds 0.05 " + flags);
}

TEST(BenchIndex, ReportsTheIndexAndItsRivals) {
  const auto lines = BenchIndex("--pages 2000 --policy greedy_ncis --against brute,heap");
  ASSERT_EQ(lines.size(), 3u);
  const char* names[] = {"index", "brute", "heap"};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(lines[i]["structure"], names[i]);
    EXPECT_EQ(lines[i]["pages"], 2000);
    EXPECT_GT(lines[i]["picks_per_second"].get<double>(), 0);
    EXPECT_GT(lines[i]["signals_per_second"].get<double>(), 0);
    for (const char* member :
         {"p50_ns", "p999_ns", "evaluations_per_pick", "bytes_per_page", "build_seconds",
          "slow_picks", "machine_slow_picks", "commit", "cpu"}) {
      EXPECT_TRUE(lines[i].contains(member)) << member;
    }
  }
  // The digests of the first picks of the two exact structures.
  EXPECT_EQ(lines[0]["digest"], lines[1]["digest"]);
}

TEST(BenchIndex, HoldsHostsBack) {
  const auto lines = BenchIndex("--pages 2000 --hosts 200 --host-delay 1 --against brute");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["digest"], lines[1]["digest"]);
}

TEST(BenchIndex, ChangesRatesUnderDefault) {
  const auto lines = BenchIndex("--pages 2000 --policy default --against brute");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_GT(lines[0]["edges_per_second"].get<double>(), 0);
  EXPECT_EQ(lines[0]["digest"], lines[1]["digest"]);
}

TEST(BenchIndex, RefusesBadUsage) {
  EXPECT_EQ(RunProgram("freshet-bench index --policy default --against heap", "").exit_code, 2);
  EXPECT_EQ(RunProgram("freshet-bench index --pages 0", "").exit_code, 2);
  EXPECT_EQ(RunProgram("freshet-bench index --policy none", "").exit_code, 2);
  EXPECT_EQ(RunProgram("freshet-bench index --seconds -1", "").exit_code, 2);
}

}  // namespace
}  // namespace freshet
