// Tests freshet-bench store on few pages: the store keeps its promises about size.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/lab/bench/run_bench.h"

namespace freshet {
namespace {

using nlohmann::json;

// The highest allowed average size on the device, in bytes, of a page without validators.
constexpr double kMaxBytesPerPage = 250;

TEST(BenchStore, RealPagesStayWithinTheirBytes) {
  const std::vector<json> lines =
      RunBench("store --crawls 10 --history " FRESHET_SOURCE_DIR "/examples/histories/php.tsv.gz");
  ASSERT_EQ(lines.size(), 3u);
  const char* phases[] = {"added", "crawled", "removed"};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(lines[i]["phase"], phases[i]);
    EXPECT_GT(lines[i]["pages"], 0);
    EXPECT_GT(lines[i]["bytes_per_page"].get<double>(), 10);
    EXPECT_LE(lines[i]["bytes_per_page"].get<double>(), kMaxBytesPerPage);
    EXPECT_GE(lines[i]["write_amplification"].get<double>(), 1);
    EXPECT_TRUE(lines[i].contains("commit"));
  }
  // Removed rows are really deleted: after half of the pages are removed, half of the rows remain.
  EXPECT_EQ(lines[2]["pages"].get<int>(), (lines[1]["pages"].get<int>() + 1) / 2);
  EXPECT_LT(lines[2]["rows"].get<double>(), 0.55 * lines[1]["rows"].get<double>());
}

TEST(BenchStore, PagesThatAreSignalledBetweenAllCrawlsStayWithinTheirBytes) {
  const std::vector<json> lines =
      RunBench("store --crawls 26 --signals-per-crawl 1 --history " FRESHET_SOURCE_DIR
               "/examples/histories/php.tsv.gz");
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[2]["phase"], "signalled");
  for (const json& line : lines) EXPECT_LE(line["bytes_per_page"].get<double>(), kMaxBytesPerPage);
}

TEST(BenchStore, RefusesBadUsage) {
  EXPECT_EQ(RunProgram("freshet-bench store --pages 0", "").exit_code, 2);
  EXPECT_EQ(RunProgram("freshet-bench store --durability maybe", "").exit_code, 2);
  EXPECT_EQ(RunProgram("freshet-bench store --pages 10 --dir /", "").exit_code, 2);
}

}  // namespace
}  // namespace freshet
