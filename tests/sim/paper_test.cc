// The experiments of the papers at a size that takes seconds: what the papers claim holds, and what
// is written is well-formed.
#include "tools/sim/paper.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "pugixml.hpp"
#include "tests/support/run_program.h"
#include "tools/sim/paper_output.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;

PaperResult PlayExperiment(const std::string& name, const PaperOptions& options) {
  StatusOr<PaperResult> result = PlayPaper(name, options, [](const PaperProgress&) {});
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *std::move(result) : PaperResult{};
}

const PaperPoint& PointOf(const PaperResult& result, const std::string& series, double x) {
  for (const PaperSeries& one : result.series) {
    if (one.name != series) continue;
    for (size_t i = 0; i < result.x.size(); ++i) {
      if (std::abs(result.x[i] - x) < 1e-9) return one.points[i];
    }
  }
  ADD_FAILURE() << series << " at " << x << ": not in " << result.name;
  static const PaperPoint kNothing;
  return kNothing;
}

double MeanAt(const PaperResult& result, const std::string& series, double x) {
  return PointOf(result, series, x).value.mean;
}

constexpr const char* kBest = "continuous optimum";

TEST(PaperFigure2, GreedyAndLdsReachTheContinuousOptimum) {
  const PaperResult result =
      PlayExperiment("ncis-fig2", {.repeats = 3, .pages = {100, 400}, .horizon = 300});
  for (const double pages : result.x) {
    const double optimum = MeanAt(result, kBest, pages);
    EXPECT_NEAR(MeanAt(result, "greedy", pages), optimum, 0.01 * optimum);
    EXPECT_NEAR(MeanAt(result, "lds", pages), optimum, 0.01 * optimum);
  }
  // An independent simulation has 0.83158 over 30 instances, which spread by 0.01022.
  EXPECT_NEAR(MeanAt(result, kBest, 100), 0.83158, 4 * 0.01022 / std::sqrt(3));
}

TEST(PaperFigure3, HeedingSignalsReachesTheOptimumWithSignals) {
  const PaperResult result =
      PlayExperiment("ncis-fig3", {.repeats = 3, .pages = {100, 400}, .horizon = 300});
  for (const double pages : result.x) {
    const double optimum = MeanAt(result, kBest, pages);
    EXPECT_NEAR(MeanAt(result, "greedy_cis", pages), optimum, 0.01 * optimum);
    EXPECT_NEAR(MeanAt(result, "greedy", pages), MeanAt(result, "optimum without signals", pages),
                0.01 * optimum);
    EXPECT_LT(PointOf(result, "greedy", pages).above.mean, -0.05);
  }
}

TEST(PaperFigure4, WeighingNoisySignalsIsBest) {
  const PaperResult result =
      PlayExperiment("ncis-fig4", {.repeats = 3, .pages = {100, 1000}, .horizon = 300});
  for (const double pages : result.x) {
    for (const char* rival : {"greedy", "greedy_cis"}) {
      const MeanAndError above = PointOf(result, rival, pages).above;
      EXPECT_LT(above.mean, -3 * above.error) << rival << " at " << pages;
    }
    for (const char* rough : {"ncis_approx_1", "ncis_approx_2"}) {
      EXPECT_LT(PointOf(result, rough, pages).above.mean, 0.002) << rough << " at " << pages;
    }
    EXPECT_NEAR(PointOf(result, kBest, pages).above.mean, 0, 0.01);
  }
  // Where crawls are scarce believing every signal is worse than ignoring all, and so is one term.
  EXPECT_GT(MeanAt(result, "greedy_cis", 100), MeanAt(result, "greedy", 100));
  EXPECT_LT(MeanAt(result, "greedy_cis", 1000), MeanAt(result, "greedy", 1000));
  EXPECT_LT(MeanAt(result, "ncis_approx_1", 1000), MeanAt(result, "ncis_approx_2", 1000));
}

TEST(PaperFigure6, EveryTermAddsToTheValueAndEachSumHasItsOwnCeiling) {
  const PaperResult result = PlayExperiment("ncis-fig6", {});
  for (const double time : result.x) {
    const double all = MeanAt(result, "all terms", time);
    const double three = MeanAt(result, "3 terms", time);
    const double two = MeanAt(result, "2 terms", time);
    EXPECT_LE(MeanAt(result, "1 term", time), two + 1e-12);
    EXPECT_LE(two, three + 1e-12);
    EXPECT_LE(three, all + 1e-12);
  }
  EXPECT_EQ(MeanAt(result, "1 term", 0.5), MeanAt(result, "all terms", 0.5));
  // nu/(Delta + nu) = 1/2: the ceilings of one, two, three terms are 1/2, 3/4, 7/8 of mu/Delta.
  EXPECT_NEAR(MeanAt(result, "1 term", 12), 0.5, 0.01);
  EXPECT_NEAR(MeanAt(result, "2 terms", 12), 0.75, 0.01);
  EXPECT_NEAR(MeanAt(result, "3 terms", 12), 0.875, 0.02);
  EXPECT_GT(MeanAt(result, "all terms", 12), 0.97);
}

TEST(PaperFigure8, DiscardingSignalsSoonAfterACrawlMakesUpForSomeOfTheDelay) {
  const PaperResult result =
      PlayExperiment("ncis-fig8", {.repeats = 4, .pages = {100, 200}, .horizon = 500});
  for (const double pages : result.x) {
    const MeanAndError discarded = PointOf(result, "late, discarded", pages).above;
    EXPECT_GT(discarded.mean, 0);
    EXPECT_LT(discarded.mean, PointOf(result, "signals on time", pages).above.mean);
  }
  // 0.00347 by an independent simulation.
  EXPECT_NEAR(PointOf(result, "late, discarded", 200).above.mean, 0.0034, 0.0015);
}

TEST(PaperFigure9, GreedyFollowsTheCrawlRateAtOnce) {
  const PaperResult result = PlayExperiment("ncis-fig9", {.repeats = 2, .pages = {500}});
  ASSERT_EQ(result.x.size(), 80u);
  const auto mean_over = [&](const std::string& series, double from, double to) {
    double sum = 0;
    int n = 0;
    for (const double time : result.x) {
      if (time <= from || time > to) continue;
      sum += MeanAt(result, series, time);
      ++n;
    }
    return sum / n;
  };
  const std::string changing = "R = 100, 150, 100";
  EXPECT_EQ(mean_over(changing, 20, 130), mean_over("R = 100", 20, 130));
  EXPECT_NEAR(mean_over(changing, 150, 265), mean_over("R = 150", 150, 265), 0.01);
  EXPECT_NEAR(mean_over(changing, 290, 400), mean_over("R = 100", 290, 400), 0.01);
  EXPECT_GT(mean_over("R = 150", 150, 265), mean_over("R = 100", 150, 265) + 0.05);
}

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
  EXPECT_THAT(error("fig2", {}), HasSubstr("'fig2' is none of ncis-fig2, ncis-fig3"));
  EXPECT_THAT(error("ncis-fig2", {.repeats = 0}), HasSubstr("--repeats 0"));
  EXPECT_THAT(error("ncis-fig2", {.pages = {0}}), HasSubstr("--pages 0"));
  EXPECT_THAT(error("ncis-fig2", {.pages = {20, 10}}), HasSubstr("rising order"));
  EXPECT_THAT(error("ncis-fig2", {.pages = {20, 20}}), HasSubstr("rising order"));
  EXPECT_THAT(error("ncis-fig2", {.horizon = -1}), HasSubstr("--horizon -1"));
  EXPECT_THAT(error("ncis-fig2", {.horizon = NAN}), HasSubstr("--horizon nan"));
  EXPECT_THAT(error("ncis-fig9", {.pages = {20, 30}}), HasSubstr("one number of pages"));
  EXPECT_THAT(error("frontera-f1f2", {.pages = {20}}), HasSubstr("plays nothing"));
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

// Every line has as many fields as the header; what is quoted holds no comma here.
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

TEST(PaperProgram, WritesTableCsvAndPlotOfEveryExperiment) {
  const std::string folder = ::testing::TempDir() + "freshet_papers/deep";
  for (const PaperSummary& one : PaperExperiments()) {
    const bool formula = one.name == "ncis-fig6" || one.name == "frontera-f1f2";
    const bool one_size = one.name == "ncis-fig9";
    const ProgramResult run =
        RunProgram("freshet-sim paper " + one.name + " --json --out " + folder + " --repeats 2" +
                       (formula    ? ""
                        : one_size ? " --pages 20 --horizon 8"
                                   : " --pages 20,40 --horizon 4"),
                   "");
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
    EXPECT_EQ(svg.select_nodes("//path[starts-with(@class, 'line ')]").size(), series);
    EXPECT_EQ(svg.select_nodes("//path[starts-with(@class, 'bar')]").empty(), formula) << one.name;
    const std::string text = ReadWholeFile(folder + "/" + one.name + ".svg");
    EXPECT_THAT(text, HasSubstr("prefers-color-scheme:dark"));
    EXPECT_EQ(text.find("nan"), std::string::npos) << one.name;
    EXPECT_EQ(text.find("inf"), std::string::npos) << one.name;
  }
  std::error_code ignored;
  std::filesystem::remove_all(::testing::TempDir() + "freshet_papers", ignored);
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
  EXPECT_THAT(unknown.err, HasSubstr("'fig99' is none of"));
  const ProgramResult nowhere =
      RunProgram("freshet-sim paper ncis-fig2 " + flags + " --out /dev/null/papers", "");
  EXPECT_NE(nowhere.exit_code, 0);
  EXPECT_THAT(nowhere.err, HasSubstr("--out /dev/null/papers"));
}

}  // namespace
}  // namespace freshet
