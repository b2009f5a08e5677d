// Tests freshet-bench recover on few pages: every page is recovered, for any number of shards.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/lab/bench/run_bench.h"

namespace freshet {
namespace {

using nlohmann::json;

json Recover(const std::string& flags) {
  const std::vector<json> lines = RunBench("recover " + flags);
  EXPECT_EQ(lines.size(), 1u);
  return lines.at(0);
}

TEST(BenchRecover, FindsEveryPageAndTheSameBestOne) {
  const json one = Recover("--pages 5000 --log-rows 1000");
  const json three = Recover("--pages 5000 --log-rows 1000 --shards 3 --threads 1");
  for (const json& line : {one, three}) {
    EXPECT_EQ(line["pages"], 5000);
    EXPECT_GT(line["pages_per_second"].get<double>(), 0);
    for (const char* member : {"seconds", "open_seconds", "load_seconds", "cpu_seconds",
                               "resident_bytes_per_page", "commit", "cpu"}) {
      EXPECT_TRUE(line.contains(member)) << member;
    }
  }
  EXPECT_EQ(one["first_value"], three["first_value"]) << "the best page over all shards";
}

TEST(BenchRecover, TimesAServerThatWasKilledUnderLoad) {
  const json line = Recover("--pages 3000 --pages-per-host 10 --killed-under-load 2");
  EXPECT_EQ(line["case"], "killed under load");
  EXPECT_EQ(line["pages"], 3000);
  EXPECT_GT(line["seconds"].get<double>(), 0);
  EXPECT_GT(line["crawls"].get<double>(), 0);
  EXPECT_GT(line["signals"].get<double>(), 0);
}

TEST(BenchRecover, RefusesBadUsage) {
  for (const char* flags : {"--pages 0", "--killed-under-load 0", "--server /bin/true",
                            "--policy best", "--shards 0", "--fast"}) {
    EXPECT_EQ(RunProgram(std::string("freshet-bench recover ") + flags, "").exit_code, 2) << flags;
  }
}

}  // namespace
}  // namespace freshet
