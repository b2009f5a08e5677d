// Runs the papers' experiments with sizes that take seconds, and tests wrong options, output and
// files. The claims of each paper have separate tests.
#include "lab/paper/paper.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lab/paper/output.h"
#include "nlohmann/json.hpp"
#include "pugixml.hpp"
#include "tests/lab/sim/paper_results.h"
#include "tests/support/run_program.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;

TEST(PaperFrontera, PagesOfLittleWorthGetNothingUntilThereIsPlenty) {
  const PaperResult result = PlayExperiment("frontera-f1f2", {});
  const std::string first = result.series[0].name;
  const std::string second = result.series[1].name;
  for (const double mean : result.x) {
    EXPECT_NEAR(MeanAt(result, first, mean) + MeanAt(result, second, mean), 2 * mean, 1e-9);
    EXPECT_EQ(MeanAt(result, first, mean) == 0, mean < 0.606510299) << mean;
    EXPECT_EQ(MeanAt(result, first, mean) > MeanAt(result, second, mean), mean > 1.305565057)
        << mean;
  }
}

TEST(Paper, NeitherThreadsNorOtherSizesChangeAResult) {
  PaperOptions options{.repeats = 2, .seed = 7, .pages = {50, 80}, .horizon = 30, .threads = 1};
  const PaperResult alone = PlayExperiment("ncis-fig4", options);
  options.threads = 4;
  EXPECT_EQ(PaperCsv(PlayExperiment("ncis-fig4", options)), PaperCsv(alone));
  options.pages = {80};
  EXPECT_EQ(MeanAt(PlayExperiment("ncis-fig4", options), "greedy_ncis", 80),
            MeanAt(alone, "greedy_ncis", 80));
  options.seed = 8;
  EXPECT_NE(MeanAt(PlayExperiment("ncis-fig4", options), "greedy_ncis", 80),
            MeanAt(alone, "greedy_ncis", 80));
}

TEST(Paper, TellsHowFarItIs) {
  std::vector<PaperProgress> calls;
  const PaperOptions options{.repeats = 2, .pages = {20, 40}, .horizon = 5};
  const auto result = PlayPaper("ncis-fig2", options,
                                [&](const PaperProgress& progress) { calls.push_back(progress); });
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(calls.size(), 12u);  // 3 lines, 2 sizes, 2 repeats
  for (size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(calls[i].done, i + 1);
    EXPECT_EQ(calls[i].parts, 12u);
    EXPECT_GT(calls[i].share, i == 0 ? 0 : calls[i - 1].share);
  }
  EXPECT_NEAR(calls.back().share, 1, 1e-9);
}

TEST(Paper, RefusesWhatMakesNoSense) {
  const auto error = [](const std::string& name, const PaperOptions& options) {
    return std::string(PlayPaper(name, options, [](const PaperProgress&) {}).status().message());
  };
  EXPECT_THAT(error("fig2", {}), HasSubstr("'fig2' is not an experiment"));
  EXPECT_THAT(error("ncis-fig2", {.repeats = 0}), HasSubstr("--repeats 0"));
  EXPECT_THAT(error("ncis-fig2", {.pages = {0}}), HasSubstr("--pages 0"));
  EXPECT_THAT(error("ncis-fig2", {.pages = {20, 10}}), HasSubstr("rising order"));
  EXPECT_THAT(error("ncis-fig2", {.pages = {20, 20}}), HasSubstr("rising order"));
  EXPECT_THAT(error("ncis-fig2", {.horizon = -1}), HasSubstr("--horizon -1"));
  EXPECT_THAT(error("ncis-fig2", {.horizon = NAN}), HasSubstr("--horizon nan"));
  EXPECT_THAT(error("ncis-fig10", {.horizon = 5}), HasSubstr("does not run over time"));
  EXPECT_THAT(error("learn-fig1b", {.horizon = 5}), HasSubstr("at least 100"));
  EXPECT_THAT(error("ncis-fig9", {.pages = {20, 30}}), HasSubstr("one number of pages"));
  EXPECT_THAT(error("frontera-f1f2", {.pages = {20}}), HasSubstr("computes a formula"));
}

TEST(PaperProgram, ListsTheExperiments) {
  const ProgramResult run = RunProgram("freshet-sim paper list", "");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  for (const PaperSummary& one : PaperExperiments()) {
    EXPECT_THAT(run.out, HasSubstr(one.name));
    EXPECT_THAT(run.out, HasSubstr(one.summary));
  }
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'),
            static_cast<std::ptrdiff_t>(PaperExperiments().size()));
}

// Checks that every line has as many fields as the header. Quoted fields are left out.
void ExpectCsv(const std::string& text, size_t rows) {
  std::istringstream lines(text);
  std::string line;
  size_t n = 0;
  while (std::getline(lines, line)) {
    const std::string plain =
        line.substr(0, line.find('"')) +
        (line.find('"') == std::string::npos ? "" : line.substr(line.rfind('"')));
    EXPECT_EQ(std::count(plain.begin(), plain.end(), ','), 6) << line;
    ++n;
  }
  EXPECT_EQ(n, rows + 1);
}

// Returns the flags that make an experiment small, if it has such flags.
std::string SmallFlags(const std::string& name) {
  if (name == "ncis-fig6" || name == "frontera-f1f2") return "";
  if (name == "ncis-fig10" || name == "ncis-fig11") return " --pages 4";
  if (name == "lambda-fig1" || name == "lambda-fig2") return " --pages 200";
  if (name == "ncis-fig5" || name == "lambda-harmonic") return " --pages 200 --horizon 20";
  if (name.rfind("learn-", 0) == 0) return " --pages 40 --horizon 320";
  for (const char* several : {"ncis-fig2", "ncis-fig3", "ncis-fig4", "ncis-fig8"}) {
    if (name == several) return " --pages 20,40 --horizon 4";
  }
  return " --pages 20 --horizon 8";
}

TEST(PaperProgram, WritesTableCsvAndPlotOfEveryExperiment) {
  const std::string folder = ::testing::TempDir() + "freshet_papers/deep";
  for (const PaperSummary& one : PaperExperiments()) {
    const std::string small = SmallFlags(one.name);
    const bool formula = small.empty();
    const ProgramResult run = RunProgram(
        "freshet-sim paper " + one.name + " --json --out " + folder + " --repeats 2" + small, "");
    ASSERT_EQ(run.exit_code, 0) << one.name << run.err;
    const auto json = nlohmann::json::parse(run.out);
    EXPECT_EQ(json["experiment"], one.name);
    EXPECT_EQ(json["repeats"], formula ? 1 : 2);
    const size_t series = json["rows"][0]["series"].size();
    ExpectCsv(ReadWholeFile(folder + "/" + one.name + ".csv"), json["rows"].size() * series);
    pugi::xml_document svg;
    const auto parsed = svg.load_file((folder + "/" + one.name + ".svg").c_str());
    ASSERT_TRUE(parsed) << one.name << ": " << parsed.description();
    EXPECT_STREQ(svg.document_element().name(), "svg");
    const bool scatter =
        !svg.select_node("//style[contains(text(), 'fill-opacity:.6')]").node().empty();
    EXPECT_EQ(svg.select_nodes("//path[starts-with(@class, 'line ')]").size(), scatter ? 0 : series)
        << one.name;
    // Some experiments have no error bars: without signals, crawls do not depend on chance, and the
    // best times of two repeats can be equal.
    const bool certain = formula || one.name == "ncis-fig7" || one.name == "learn-fig1b";
    EXPECT_EQ(svg.select_nodes("//path[starts-with(@class, 'bar')]").empty(), certain) << one.name;
    const std::string text = ReadWholeFile(folder + "/" + one.name + ".svg");
    EXPECT_THAT(text, HasSubstr("prefers-color-scheme:dark"));
    EXPECT_EQ(text.find("nan"), std::string::npos) << one.name;
    EXPECT_EQ(text.find("inf"), std::string::npos) << one.name;
  }
  std::error_code ignored;
  std::filesystem::remove_all(::testing::TempDir() + "freshet_papers", ignored);
}

TEST(PaperProgram, AFigureOfSeveralPanelsPlaysThemAll) {
  const ProgramResult run =
      RunProgram("freshet-sim paper learn-fig1 --pages 5 --horizon 100 --repeats 1 --quiet", "");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, testing::StartsWith("learn-fig1a:"));
  EXPECT_THAT(run.out, HasSubstr("\n\nlearn-fig1b:"));
  EXPECT_THAT(run.out, HasSubstr("\n\nlearn-fig1c:"));
  EXPECT_EQ(RunProgram("freshet-sim paper learn-fig", "").exit_code, 2);
}

TEST(PaperProgram, PrintsATableAndFailsClearly) {
  const std::string flags = "--pages 20 --horizon 4 --repeats 2";
  const ProgramResult table = RunProgram("freshet-sim paper ncis-fig2 " + flags, "");
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_THAT(table.out, HasSubstr("| pages | greedy | lds | continuous optimum |"));
  EXPECT_THAT(table.out, HasSubstr("Above continuous optimum, on the same instances"));
  EXPECT_THAT(table.out, HasSubstr(" ±0.0"));
  EXPECT_EQ(table.err, "");
  const ProgramResult unknown = RunProgram("freshet-sim paper fig99", "");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("'fig99' is not an experiment"));
  const ProgramResult nowhere =
      RunProgram("freshet-sim paper ncis-fig2 " + flags + " --out /dev/null/papers", "");
  EXPECT_NE(nowhere.exit_code, 0);
  EXPECT_THAT(nowhere.err, HasSubstr("--out /dev/null/papers"));
}

}  // namespace
}  // namespace freshet
