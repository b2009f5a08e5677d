// freshet-bench ingest at smoke size: everything sent is applied, and many items share a sync.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/run_bench.h"

namespace freshet {
namespace {

using nlohmann::json;

TEST(BenchIngest, AppliesEveryItemOfBothModes) {
  const std::vector<json> lines = RunBench("ingest --pages 3000 --items 6000 --batch 100");
  ASSERT_EQ(lines.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const json& row = lines[i];
    const std::string mode = i == 0 ? "signals" : "results";
    EXPECT_EQ(row["mode"], mode);
    EXPECT_EQ(row["applied"], 6000);
    EXPECT_GT(row[mode + "_per_second"].get<double>(), 0);
    EXPECT_GT(row["items_per_sync"].get<double>(), 50);
    EXPECT_GT(row["log_bytes_per_item"].get<double>(), 0);
  }
}

TEST(BenchIngest, ReportsEveryPageThatItWasLeased) {
  const std::vector<json> lines =
      RunBench("ingest --mode crawls --pages 3000 --items 1000 --batch 100 --in-flight 4");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["mode"], "crawls");
  EXPECT_EQ(lines[0]["applied"], 1000);
}

TEST(BenchIngest, RefusesBadUsage) {
  for (const char* flags :
       {"--mode upserts", "--items 0", "--durability maybe", "--batch 100000"}) {
    EXPECT_EQ(RunProgram(std::string("freshet-bench ingest ") + flags, "").exit_code, 2) << flags;
  }
}

}  // namespace
}  // namespace freshet
