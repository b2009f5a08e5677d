// Tests that the tables of docs/experiments.md are those of the recorded rows, and that plots show
// the rows that were played.
#include "lab/sim/compare_docs.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lab/sim/compare_plot.h"
#include "lab/sim/compare_table.h"
#include "tests/support/run_program.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;

constexpr const char* kExperiments = FRESHET_SOURCE_DIR "/docs/experiments";

// To update the page: freshet-sim compare --rows docs/experiments/NAME.tsv --docs
// docs/experiments.md --block NAME.
TEST(ExperimentsPage, ShowsTheRecordedRows) {
  const std::string page = ReadWholeFile(std::string(kExperiments) + ".md");
  for (const std::string name : {"histories", "gallery", "close"}) {
    std::ifstream file(std::string(kExperiments) + "/" + name + ".tsv");
    const StatusOr<RecordedComparison> recorded = ReadComparison(file);
    ASSERT_TRUE(recorded.ok()) << recorded.status();
    CompareOptions options;
    options.policies = recorded->policies;
    const std::string table = FormatTable(recorded->rows, options, TableFormat::kMarkdown);
    const StatusOr<std::string> mended = ReplaceBlock(page, name, table);
    ASSERT_TRUE(mended.ok()) << mended.status();
    EXPECT_EQ(*mended, page) << name;
  }
}

RecordedComparison Recorded() {
  RecordedComparison all;
  all.policies = {"default", "uniform", "greedy"};
  for (const double rate : {5.0, 0.5}) {
    ComparedRow row{.source = "a b", .recall = 0.5, .crawls_per_day_per_1000 = rate};
    row.policies = {{.policy = "default", .weighted_staleness = {0.01 / rate, 0.001}},
                    {.policy = "uniform", .weighted_staleness = {0.0, 0}, .crawls = 17}};
    all.rows.push_back(row);
  }
  all.rows.push_back({.source = "w", .is_world = true, .crawls_per_day_per_1000 = 3});
  all.rows.back().policies = {{.policy = "greedy",
                               .weighted_staleness = {0.3, 0},
                               .settled_weighted_staleness = {0.2, 0.1}}};
  return all;
}

TEST(RecordedComparison, IsReadAsItWasPrinted) {
  const RecordedComparison all = Recorded();
  CompareOptions options;
  options.policies = all.policies;
  const std::string text = FormatTable(all.rows, options, TableFormat::kTsv);
  std::istringstream input(text);
  const StatusOr<RecordedComparison> read = ReadComparison(input);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->policies, all.policies);
  EXPECT_EQ(read->rows.size(), 3u);
  EXPECT_EQ(FormatTable(read->rows, options, TableFormat::kTsv), text);
  const auto refused = [](std::string bad) {
    std::istringstream in(bad);
    return std::string(ReadComparison(in).status().message());
  };
  EXPECT_THAT(refused(text.substr(0, text.find('\n') + 1)), HasSubstr("no row"));
  EXPECT_THAT(refused("source\tkind\n"), HasSubstr("recall"));
  std::string other = text;
  other.replace(other.find("history"), 7, "hearsay");
  EXPECT_THAT(refused(other), HasSubstr("neither world nor history"));
}

TEST(ReplaceBlock, KeepsAllAround) {
  const std::string page =
      "before\n<!-- freshet-sim compare: x -->\nold\n<!-- end of x -->\nafter\n";
  EXPECT_EQ(*ReplaceBlock(page, "x", "new\n"),
            "before\n<!-- freshet-sim compare: x -->\nnew\n<!-- end of x -->\nafter\n");
  EXPECT_FALSE(ReplaceBlock(page, "y", "new\n").ok());
  EXPECT_FALSE(ReplaceBlock(page + page, "x", "new\n").ok());
}

TEST(ComparePlots, AreALineAPolicyOverTheRate) {
  const RecordedComparison all = Recorded();
  CompareOptions options;
  options.policies = all.policies;
  const std::vector<ComparePlot> plots = ComparePlots(all.rows, options);
  ASSERT_EQ(plots.size(), 1u);
  EXPECT_EQ(plots[0].name, "a-b-recall-0.5");
  ASSERT_EQ(plots[0].plot.series.size(), 3u);
  const std::vector<PlotPoint>& line = plots[0].plot.series[0].points;
  ASSERT_EQ(line.size(), 2u);
  EXPECT_DOUBLE_EQ(line[0].x, 0.5);
  EXPECT_EQ(line[0].y, 0.02);
  EXPECT_FALSE(WritePlots({}, "none.svg").ok());
}

TEST(NeededPlots, AreABarAPolicyThatReachesTheShare) {
  ComparedRow scarce{.source = "s", .recall = 1, .crawls_per_day_per_1000 = 1};
  scarce.policies = {{.policy = "default", .weighted_staleness = {0.1, 0}},
                     {.policy = "uniform", .weighted_staleness = {0.4, 0}},
                     {.policy = "importance", .weighted_staleness = {0.9, 0}},
                     {.policy = "clairvoyant", .weighted_staleness = {0.1, 0}}};
  ComparedRow plenty = scarce;
  plenty.crawls_per_day_per_1000 = 4;
  plenty.policies[0].weighted_staleness.mean = 0.001;
  plenty.policies[1].weighted_staleness.mean = 0.025;
  plenty.policies[2].weighted_staleness.mean = 0.2;
  plenty.policies[3].weighted_staleness.mean = 0.001;
  CompareOptions options;
  options.policies = {"default", "uniform", "importance", "clairvoyant"};
  const std::vector<ComparePlot> plots = NeededPlots({scarce, plenty}, options, 0.1);
  ASSERT_EQ(plots.size(), 1u);
  EXPECT_EQ(plots[0].name, "s-recall-1");
  // While the rate quadruples, the staleness of uniform falls from .4 to .025. On a logarithmic
  // scale, .1 is half-way.
  const std::vector<PlotSeries>& bars = plots[0].plot.series;
  ASSERT_EQ(bars.size(), 2u);
  EXPECT_EQ(bars[0].name, "default: 1");
  EXPECT_EQ(bars[1].name, "uniform: 2");
  EXPECT_NEAR(bars[1].points.at(0).y, 2, 1e-12);
  EXPECT_TRUE(NeededPlots({scarce, plenty}, options, 0.0001).empty());
}

// To update the plot: freshet-sim compare --rows docs/experiments/histories.tsv --fresh 95 --plot
// docs/experiments/crawls-needed.svg.
TEST(ExperimentsPage, DrawsTheCrawlsNeededByTheRecordedRows) {
  std::ifstream file(std::string(kExperiments) + "/histories.tsv");
  const StatusOr<RecordedComparison> recorded = ReadComparison(file);
  ASSERT_TRUE(recorded.ok()) << recorded.status();
  CompareOptions options;
  options.policies = recorded->policies;
  const std::vector<ComparePlot> plots = NeededPlots(recorded->rows, options, 0.05);
  ASSERT_GE(plots.size(), 4u);
  for (const ComparePlot& plot : plots) {
    const std::string drawn = std::string(kExperiments) + "/crawls-needed-" + plot.name + ".svg";
    EXPECT_EQ(ReadWholeFile(drawn), FormatSvg(plot.plot)) << drawn;
  }
}

TEST(CompareCommand, DrawsWhatItPlayed) {
  std::string name = (std::filesystem::temp_directory_path() / "freshet-plots-XXXXXX").string();
  const std::string folder = mkdtemp(name.data());
  const ProgramResult run = RunProgram(
      "freshet-sim compare --history php=" FRESHET_SOURCE_DIR
      "/examples/histories/php.tsv.gz --policies pings_first,uniform --subject pings_first "
      "--rates 0.5,2 --recalls 1,0.5 --plot " +
          folder + "/s.svg",
      "");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("less stale than the best simple rule on average"));
  EXPECT_EQ(run.out.back(), '\n');
  EXPECT_THAT(run.err, HasSubstr(" left\n"));
  EXPECT_THAT(ReadWholeFile(folder + "/s-php-recall-0.5.svg"), HasSubstr("pings_first: 0.5, 0.20"));
  EXPECT_THAT(ReadWholeFile(folder + "/s-php-recall-1.svg"), HasSubstr("<title>php, recall 1"));
  std::filesystem::remove_all(folder);
  for (const char* bad :
       {"--rows x.tsv --world fast", "--docs page.md --world fast", "--rows /nonexistent.tsv",
        "--world liar_alone --plot x.svg", "--world liar_alone --fresh 95"}) {
    EXPECT_NE(
        RunProgram(std::string("freshet-sim compare --policies uniform --subject uniform ") + bad,
                   "")
            .exit_code,
        0)
        << bad;
  }
}

}  // namespace
}  // namespace freshet
