// Tests freshet-bench first-hour on few pages: it prints every phase, and the index picks the same
// pages as a full scan.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/lab/bench/run_bench.h"

namespace freshet {
namespace {

using nlohmann::json;

// Runs `freshet-bench first-hour`. The last line describes the last round.
std::vector<json> BenchFirstHour(const std::string& flags) {
  return RunBench("first-hour --pages 2000 --hosts 300 --out 40 --batch 20 --rate 20000 " +
                  std::string("--host-delay 0.01 --rounds 2 ") + flags);
}

TEST(BenchFirstHour, TellsEveryPhase) {
  const auto lines = BenchFirstHour("--layers shard");
  // One line for the load, ten for the first round, two for the second.
  ASSERT_EQ(lines.size(), 13u);
  EXPECT_GT(lines.front()["load_ns"].get<double>(), 0);
  for (size_t i = 1; i < lines.size(); ++i) {
    EXPECT_GT(lines[i]["crawls"].get<int>(), 0);
    for (const char* member :
         {"pick_ns", "lease_step_ns", "lease_install_ns", "result_step_ns", "result_install_ns"}) {
      EXPECT_GT(lines[i][member].get<double>(), 0) << member;
    }
    for (const char* member : {"longest_pick_us", "commit", "cpu"}) {
      EXPECT_TRUE(lines[i].contains(member)) << member;
    }
  }
}

TEST(BenchFirstHour, PicksWhatAScanPicks) {
  for (const char* flags : {"--policy greedy", "--policy greedy_ncis --importances 3",
                            "--policy greedy --before 0.1"}) {
    const auto lines = BenchFirstHour(std::string("--layers index,brute ") + flags);
    ASSERT_EQ(lines.size(), 26u) << flags;
    for (size_t i = 0; i < 13; ++i) {
      EXPECT_EQ(lines[i]["digest"], lines[13 + i]["digest"]) << flags << " " << lines[i]["phase"];
      EXPECT_EQ(lines[i]["unused_ticks"], lines[13 + i]["unused_ticks"]);
    }
  }
}

TEST(BenchFirstHour, RefusesBadUsage) {
  for (const char* flags : {"--pages 0", "--policy lds", "--policy none", "--before 0", "--rate 0",
                            "--layers heap", "--host-delay -1"}) {
    EXPECT_EQ(RunProgram(std::string("freshet-bench first-hour ") + flags, "").exit_code, 2)
        << flags;
  }
}

}  // namespace
}  // namespace freshet
