// Tests freshet-bench serve on few pages: every mode does its work, with and without gRPC.
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/lab/bench/run_bench.h"

namespace freshet {
namespace {

using nlohmann::json;

constexpr const char* kSmall = " --pages 3000 --seconds 0.3 --warmup 0.05 --items 0";

const std::map<std::string, std::string> kRateOf = {
    {"upsert", "upserts_per_second"},        {"crawl", "results_per_second"},
    {"next", "assignments_per_second"},      {"signals", "signals_per_second"},
    {"results", "results_per_second"},       {"frontier_put", "upserts_per_second"},
    {"frontier_crawl", "results_per_second"}};

void ExpectWork(const json& line) {
  const std::string mode = line["mode"];
  EXPECT_GT(line[kRateOf.at(mode)].get<double>(), 0) << line;
  EXPECT_EQ(line["refused"], 0) << line;
  for (const char* member : {"p50_us", "p99_us", "p999_us", "ack_p99_us", "server_rss_mb",
                             "server_cpu_s_per_million", "log_bytes_per_item"}) {
    EXPECT_TRUE(line[member].is_number()) << member << ": " << line;
  }
}

TEST(BenchServe, MeasuresTheWholeTableUnlessToldOtherwise) {
  std::map<std::string, int> rows;
  for (const json& line : RunBench("serve" + std::string(kSmall))) {
    ExpectWork(line);
    ++rows[line["mode"]];
  }
  const std::map<std::string, int> all = {
      {"upsert", 1}, {"crawl", 6}, {"next", 2}, {"signals", 4}, {"results", 2}};
  EXPECT_EQ(rows, all);
}

TEST(BenchServe, MeasuresTheCrawlFrontierWhereItIsNamed) {
  std::map<std::string, int> rows;
  for (const json& line :
       RunBench("serve --mode frontier_put,frontier_crawl --pages 60000 --seconds 0.3 "
                "--warmup 0.05")) {
    ExpectWork(line);
    ++rows[line["mode"]];
  }
  const std::map<std::string, int> all = {{"frontier_put", 1}, {"frontier_crawl", 2}};
  EXPECT_EQ(rows, all);
}

TEST(BenchServe, LoadsWhatIsAskedForAndGoesAtTheRateThatItIsGiven) {
  const std::vector<json> lines = RunBench(
      "serve --mode crawl --workers 2 --credit 100 --rate 200 --shards 2" + std::string(kSmall));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["mode"], "crawl");
  EXPECT_EQ(lines[0]["workers"], 2);
  EXPECT_LE(lines[0]["assignments_per_second"].get<double>(), 220);
  ExpectWork(lines[0]);
}

TEST(BenchServe, MeasuresHalfTheLoadAndIdleStreams) {
  const std::vector<json> lines = RunBench(
      "serve --mode crawl --workers 1 --credit 100 --half --idle-streams 20" + std::string(kSmall));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_LT(lines[1]["crawl_rate"].get<double>(), lines[0]["crawl_rate"].get<double>());
  EXPECT_EQ(lines[2]["mode"], "idle");
  EXPECT_EQ(lines[2]["workers"], 20);
  EXPECT_TRUE(lines[2]["streams_mb"].is_number());
}

TEST(BenchServe, MeasuresShardsAndStoreAlone) {
  std::map<std::string, int> rows;
  for (const json& line : RunBench("serve --in-process" + std::string(kSmall))) {
    ExpectWork(line);
    EXPECT_EQ(line["in_process"], true);
    ++rows[line["mode"]];
  }
  const std::map<std::string, int> all = {
      {"upsert", 1}, {"crawl", 2}, {"signals", 3}, {"results", 2}};
  EXPECT_EQ(rows, all);
}

TEST(BenchServe, RefusesBadUsage) {
  for (const char* flags : {"--mode fetch", "--workers 0", "--workers 1001", "--batch 1001",
                            "--durability maybe", "--server /nowhere/freshetd"}) {
    EXPECT_EQ(RunProgram(std::string("freshet-bench serve ") + flags, "").exit_code, 2) << flags;
  }
}

TEST(BenchServe, FailsWithoutTheServerThatItIsToMeasure) {
  const ProgramResult result = RunProgram("freshet-bench serve --server /bin/false --pages 10", "");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("did not get ready"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace freshet
