// Tests freshet-sim compare: the table does not depend on the number of threads, and rows are kept.
#include "lab/sim/compare.h"

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lab/sim/compare_table.h"
#include "nlohmann/json.hpp"
#include "tests/support/run_program.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;

class CompareTest : public testing::Test {
 protected:
  CompareTest() {
    std::string name = (std::filesystem::temp_directory_path() / "freshet-compare-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    std::ofstream history(folder_ + "/small.tsv", std::ios::binary);
    for (int i = 0; i < 100; ++i) {
      history << fmt::format("https://site.test/{}\t{}\t1600000000\t", i, 1 + i % 5);
      for (int k = 1; k < 20; ++k) {
        history << fmt::format("{}{}:{}", k > 1 ? "," : "",
                               1600000000 + k * 86400 * (1 + i % 9) + i * 977, i % 4 ? 'c' : 'm');
      }
      history << '\n';
    }
  }
  ~CompareTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  [[nodiscard]] CompareOptions Options() const {
    CompareOptions options;
    options.histories = {{"small", folder_ + "/small.tsv"}};
    options.worlds = {"liar_alone"};
    options.policies = {"default", "uniform", "pings_first", "hindsight", "clairvoyant", "bound"};
    options.rates = {20, 50};
    options.recalls = {1, 0.5};
    options.seeds = 2;
    options.jobs = 1;
    return options;
  }
  std::vector<ComparedRow> Play(const CompareOptions& options) {
    lines_.clear();
    StatusOr<std::vector<ComparedRow>> rows = Compare(options, [this](const std::string& line) {
      // Ignores the progress lines within a long replay.
      if (line.find(" s), ") != std::string::npos) lines_.push_back(line);
    });
    EXPECT_TRUE(rows.ok()) << rows.status();
    return *rows;
  }

  std::string folder_;
  std::vector<std::string> lines_;  // progress
};

std::string TableOf(const std::vector<ComparedRow>& rows, const CompareOptions& options) {
  return FormatTable(rows, options, TableFormat::kMarkdown);
}

TEST_F(CompareTest, ThreadsDoNotChangeTheTable) {
  CompareOptions options = Options();
  const std::string alone = TableOf(Play(options), options);
  options.jobs = 4;
  EXPECT_EQ(TableOf(Play(options), options), alone);
  EXPECT_THAT(alone, HasSubstr("| small | 1 | 20 |"));
  EXPECT_THAT(alone, HasSubstr("In worlds after the warm-up, default is "));
}

TEST_F(CompareTest, RowsAreInOrderWithWhatCouldBeHad) {
  const std::vector<ComparedRow> rows = Play(Options());
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[1].recall, 1);
  EXPECT_EQ(rows[1].crawls_per_day_per_1000, 50);
  EXPECT_DOUBLE_EQ(rows[1].crawls_per_day, 5);
  EXPECT_EQ(rows[2].recall, 0.5);
  // A replay of a history has no settled part.
  ASSERT_NE(rows[0].Find("hindsight"), nullptr);
  EXPECT_TRUE(std::isnan(rows[0].Find("hindsight")->settled_weighted_staleness.mean));
  EXPECT_NEAR(rows[0].AgainstHindsight("default"),
              rows[0].Find("default")->weighted_staleness.mean /
                  rows[0].Find("hindsight")->weighted_staleness.mean,
              1e-6);
  for (const ComparedRow& row : rows) {
    ASSERT_NE(row.Find("bound"), nullptr);
    for (const ComparedPolicy& policy : row.policies) {
      EXPECT_LE(row.Find("bound")->weighted_staleness.mean, policy.weighted_staleness.mean)
          << row.source << ' ' << policy.policy;
    }
  }
  EXPECT_TRUE(rows[4].is_world);
  ASSERT_NE(rows[4].Find("hindsight"), nullptr);
  EXPECT_GT(rows[4].AgainstHindsight("default"), 0);
  // With recall 1 the seed has no effect, so the error is 0. Synthetic worlds differ between seeds.
  EXPECT_EQ(rows[0].Find("pings_first")->weighted_staleness.error, 0);
  EXPECT_GT(rows[2].Find("pings_first")->weighted_staleness.error, 0);
  EXPECT_GT(rows[4].Find("uniform")->weighted_staleness.error, 0);
}

TEST_F(CompareTest, KeepsWhatItHasPlayed) {
  CompareOptions options = Options();
  options.out = folder_ + "/rows.tsv";
  const std::string first = TableOf(Play(options), options);
  const size_t all = lines_.size();
  EXPECT_EQ(all, 48u);  // 6 policies: 2 rates x (1 + 2 seeds), and 2 seeds of a world
  EXPECT_EQ(TableOf(Play(options), options), first);
  EXPECT_TRUE(lines_.empty());
  options.again = {"default"};
  EXPECT_EQ(TableOf(Play(options), options), first);
  EXPECT_EQ(lines_.size(), 8u);
  // A row that was cut off is played again. If a history has changed, all of its rows are played
  // again.
  std::filesystem::resize_file(options.out, std::filesystem::file_size(options.out) - 5);
  options.again.clear();
  EXPECT_EQ(TableOf(Play(options), options), first);
  std::ofstream(folder_ + "/small.tsv", std::ios::app)
      << "https://site.test/new\t1\t1600000000\t\n";
  (void)Play(options);
  EXPECT_EQ(lines_.size(), 36u);
}

TEST_F(CompareTest, RefusesWhatMakesNoSense) {
  const auto error = [this](auto change) {
    CompareOptions options = Options();
    change(options);
    return std::string(Compare(options, [](const std::string&) {}).status().message());
  };
  EXPECT_THAT(error([](auto& o) { o.worlds = {"nowhere"}; }),
              HasSubstr("'nowhere' is not a world"));
  EXPECT_THAT(error([](auto& o) { o.worlds = {"fast", "fast"}; }), HasSubstr("named twice"));
  EXPECT_THAT(error([](auto& o) { o.policies = {"default", "wild"}; }), HasSubstr("wild"));
  EXPECT_THAT(error([](auto& o) { o.policies = {"uniform"}; }), HasSubstr("--subject: 'default'"));
  EXPECT_THAT(error([](auto& o) { o.rates = {0}; }), HasSubstr("--rates: '0'"));
  EXPECT_THAT(error([](auto& o) { o.recalls = {2}; }), HasSubstr("--recalls: '2'"));
  EXPECT_THAT(error([](auto& o) { o.seeds = 0; }), HasSubstr("--seeds: '0'"));
  EXPECT_THAT(error([](auto& o) { o.histories[0].second = "/nonexistent"; }),
              HasSubstr("/nonexistent"));
  EXPECT_THAT(error([](auto& o) { o.histories.clear(), o.worlds.clear(); }),
              HasSubstr("give --history or --world"));
  std::ofstream(folder_ + "/other.txt") << "something else\n";
  EXPECT_THAT(error([this](auto& o) { o.out = folder_ + "/other.txt"; }),
              HasSubstr("line 1 is not a result"));
}

ComparedRow MadeRow(const std::string& source, bool is_world, double own, double rule,
                    double truth) {
  ComparedRow row{.source = source, .is_world = is_world, .crawls_per_day_per_1000 = 5};
  row.policies = {{.policy = "default", .weighted_staleness = {own, 0}},
                  {.policy = "uniform", .weighted_staleness = {rule * 2, 0}},
                  {.policy = "greedy", .weighted_staleness = {rule, 0.001}}};
  row.policies[0].settled_weighted_staleness.mean = own;
  if (is_world) {
    row.policies.push_back({.policy = "hindsight", .weighted_staleness = {truth, 0}});
    row.policies.back().settled_weighted_staleness.mean = truth;
  }
  return row;
}

TEST(CompareTable, SaysWhatIsBestAndSumsUp) {
  const std::vector<ComparedRow> rows = {MadeRow("a", false, 0.1, 0.2, 0),
                                         MadeRow("b", false, 0.4, 0.2, 0),
                                         MadeRow("w", true, 0.3, 0.2, 0.1)};
  CompareOptions options;
  options.policies = {"default", "uniform", "greedy", "hindsight"};
  const std::string text = FormatTable(rows, options, TableFormat::kMarkdown);
  EXPECT_THAT(text, HasSubstr("| a | 1 | 5 | **0.10000** | 0.40000 | _0.20000 ±0.00100_ |  | "
                              "-50.0% |  |"));
  EXPECT_THAT(text, HasSubstr("| 0.10000 | +50.0% | +200.0% |"));
  EXPECT_THAT(text,
              HasSubstr("In histories, default is 0.0% more stale than the best simple rule on "
                        "average (geometric mean of 2 rows). In the worst row, b at recall 1"));
  EXPECT_THAT(text, HasSubstr(", it is 100.0% more stale.\n"));
  EXPECT_THAT(text, HasSubstr("In worlds after the warm-up, default is 200.0% more stale than "
                              "hindsight on average (geometric mean of 1 rows). In the worst row, "
                              "w, it is 200.0% more stale.\n"));
  const auto json = nlohmann::json::parse(FormatTable(rows, options, TableFormat::kJson));
  EXPECT_EQ(json["rows"][0]["best_rule"], "greedy");
  EXPECT_EQ(json["worlds_against_hindsight"]["worst"], 3.0);
  EXPECT_TRUE(json["rows"][0]["against_hindsight"].is_null());
}

TEST(CompareCommand, IsWhatReplaySays) {
  const ProgramResult table = RunProgram(
      "freshet-sim compare --world liar_alone --policies default,greedy --quiet --json", "");
  ASSERT_EQ(table.exit_code, 0);
  const auto row = nlohmann::json::parse(table.out)["rows"][0];
  for (const char* policy : {"default", "greedy"}) {
    const ProgramResult one =
        RunProgram(fmt::format("freshet-sim replay --world liar_alone --policy {}", policy), "");
    ASSERT_EQ(one.exit_code, 0);
    const auto line = nlohmann::json::parse(one.out);
    EXPECT_NEAR(1 - line["weighted_freshness"].get<double>(),
                row["policies"][policy]["weighted_staleness"]["mean"].get<double>(), 1e-7);
    EXPECT_NEAR(1 - line["settled_weighted_freshness"].get<double>(),
                row["policies"][policy]["settled_weighted_staleness"]["mean"].get<double>(), 1e-7);
  }
}

TEST(WorldsCommand, ListsTheGalleryAndWritesHistories) {
  const ProgramResult list = RunProgram("freshet-sim worlds", "");
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_THAT(list.out, HasSubstr("\nliar_alone\t3\t900\t"));
  std::string name = (std::filesystem::temp_directory_path() / "freshet-world-XXXXXX").string();
  const std::string folder = mkdtemp(name.data());
  const std::string file = folder + "/liar.tsv";
  EXPECT_EQ(RunProgram("freshet-sim worlds --world liar_alone --out " + file, "").exit_code, 0);
  const ProgramResult played =
      RunProgram("freshet-sim replay --policy uniform --crawls-per-day 3 --history " + file, "");
  ASSERT_EQ(played.exit_code, 0);
  EXPECT_EQ(nlohmann::json::parse(played.out)["pages"], 60);
  // The example history lying-sitemap.tsv.gz is the world pings_all_daily.
  const std::string scene = folder + "/scene.tsv";
  const std::string kept = FRESHET_SOURCE_DIR "/examples/histories/lying-sitemap.tsv.gz";
  const std::string make = "freshet-sim worlds --world pings_all_daily --out " + scene;
  EXPECT_EQ(RunProgram(make, "").exit_code, 0);
  EXPECT_EQ(std::system(("zcat " + kept + " | cmp - " + scene).c_str()), 0);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(RunProgram("freshet-sim worlds --world liar_alone", "").exit_code, 2);
  EXPECT_EQ(RunProgram("freshet-sim replay --world liar_alone --history x", "").exit_code, 2);
  EXPECT_EQ(RunProgram("freshet-sim replay", "").exit_code, 2);
  EXPECT_EQ(RunProgram("freshet-sim run --world liar_alone", "").exit_code, 2);
}

}  // namespace
}  // namespace freshet
