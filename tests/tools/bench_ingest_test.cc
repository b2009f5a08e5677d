// freshet-bench ingest at smoke size: everything sent is applied, and many items share a sync.
#include <sstream>
#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/run_program.h"

namespace freshet {
namespace {

using nlohmann::json;
using testing::ProgramResult;
using testing::RunProgram;

TEST(BenchIngest, AppliesEveryItemOfBothModes) {
  const ProgramResult result =
      RunProgram("freshet-bench ingest --pages 3000 --items 6000 --batch 100", "");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::istringstream text(result.out);
  int lines = 0;
  for (std::string line; std::getline(text, line); ++lines) {
    const json row = json::parse(line);
    const std::string mode = lines == 0 ? "signals" : "results";
    EXPECT_EQ(row["mode"], mode);
    EXPECT_EQ(row["applied"], 6000);
    EXPECT_GT(row[mode + "_per_second"].get<double>(), 0);
    EXPECT_GT(row["items_per_sync"].get<double>(), 50);
    EXPECT_GT(row["log_bytes_per_item"].get<double>(), 0);
  }
  EXPECT_EQ(lines, 2);
}

TEST(BenchIngest, RefusesBadUsage) {
  for (const char* flags :
       {"--mode upserts", "--items 0", "--durability maybe", "--batch 100000"}) {
    EXPECT_EQ(RunProgram(std::string("freshet-bench ingest ") + flags, "").exit_code, 2) << flags;
  }
}

}  // namespace
}  // namespace freshet
