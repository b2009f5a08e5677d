// Tests freshet-sim what-if: its numbers agree with the optimum and with plans, and intervals widen
// with uncertainty.
#include "lab/sim/what_if.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "core/plan/continuous_optimum.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lab/sim/what_if_output.h"
#include "nlohmann/json.hpp"
#include "tests/support/run_program.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;

std::vector<WhatIfPage> SomePages(size_t count) {
  std::vector<WhatIfPage> pages;
  for (size_t i = 0; i < count; ++i) {
    const auto x = static_cast<double>(i);
    pages.push_back({.rates = {.importance = 1 + std::fmod(x, 7),
                               .change_rate = 0.01 + 0.02 * std::fmod(x * 0.37, 5),
                               .recall = std::fmod(x, 3) / 4,
                               .false_signal_rate = 0.01}});
  }
  return pages;
}

std::vector<PaperRates> RatesOfPages(const std::vector<WhatIfPage>& pages) {
  std::vector<PaperRates> rates;
  for (const WhatIfPage& page : pages) rates.push_back(page.rates);
  return rates;
}

WhatIfAnswer Asked(const std::vector<WhatIfPage>& pages, WhatIfOptions options) {
  if (options.all_pages == 0) options.all_pages = pages.size();
  double last = 0;
  const StatusOr<WhatIfAnswer> answer = AskWhatIf(pages, options, [&](double share) {
    EXPECT_GT(share, last);
    last = share;
  });
  EXPECT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(last, 1);
  return *answer;
}

const WhatIfPolicy& PolicyNamed(const WhatIfAnswer& answer, const std::string& name) {
  for (const WhatIfPolicy& policy : answer.policies) {
    if (policy.name == name) return policy;
  }
  ADD_FAILURE() << name;
  return answer.policies.front();
}

TEST(WhatIf, IsTheOptimumOfKnownRates) {
  const std::vector<WhatIfPage> pages = SomePages(60);
  const std::vector<PaperRates> rates = RatesOfPages(pages);
  const WhatIfAnswer answer =
      Asked(pages, {.crawls_per_day = 3, .factors = {0.5, 1, 2}, .draws = 2});
  ASSERT_EQ(answer.curve.size(), 3u);
  EXPECT_DOUBLE_EQ(answer.curve[2].crawls_per_day, 6);
  for (const WhatIfRate& point : answer.curve) {
    EXPECT_NEAR(point.with_signals.mean, SignalOptimum(rates, point.crawls_per_day), 1e-12);
    EXPECT_NEAR(point.without_signals.mean, *PlainOptimum(rates, point.crawls_per_day), 1e-12);
    EXPECT_NEAR(point.with_signals.high, point.with_signals.low, 1e-12);
  }
  EXPECT_EQ(answer.with_signals, answer.curve[1].with_signals.mean);
  EXPECT_NEAR(*PlainOptimum(rates, answer.crawls_without_signals), answer.with_signals, 1e-6);
  EXPECT_GT(answer.crawls_without_signals, 3);
  const double more = SignalOptimum(rates, 3.001) - SignalOptimum(rates, 3);
  EXPECT_NEAR(answer.gain_of_one_a_day, more / 0.001, 0.01 * more / 0.001);
  EXPECT_NEAR(answer.with_signals + answer.gain_of_one_a_second, SignalOptimum(rates, 86403), 1e-9);
}

TEST(WhatIf, PagesOfASampleStandForAll) {
  const std::vector<WhatIfPage> pages = SomePages(40);
  const WhatIfAnswer own = Asked(pages, {.crawls_per_day = 0.2, .factors = {1}, .draws = 20});
  const WhatIfAnswer ten =
      Asked(pages, {.crawls_per_day = 2, .all_pages = 400, .factors = {1}, .draws = 20});
  EXPECT_NEAR(ten.with_signals, own.with_signals, 1e-12);
  EXPECT_NEAR(ten.gain_of_one_a_day, own.gain_of_one_a_day / 10, 1e-9);
  EXPECT_NEAR(ten.crawls_without_signals, 10 * own.crawls_without_signals, 1e-4);
  EXPECT_NEAR(PolicyNamed(ten, "blc").never, 10 * PolicyNamed(own, "blc").never, 1e-9);
  // Chance decides which pages are in the sample.
  EXPECT_GT(ten.curve[0].with_signals.high - ten.curve[0].with_signals.low, 0.01);
  EXPECT_LT(own.curve[0].with_signals.high - own.curve[0].with_signals.low, 1e-9);
}

TEST(WhatIf, IntervalsWidenWithDoubt) {
  std::vector<WhatIfPage> pages = SomePages(40);
  double narrow = 0;
  for (const double doubt : {0.2, 1.0}) {
    for (WhatIfPage& page : pages) {
      page.low = page.rates.change_rate * (1 - doubt);
      page.high = page.rates.change_rate * (1 + doubt);
    }
    const FreshnessBand band =
        Asked(pages, {.crawls_per_day = 2, .factors = {1}, .draws = 200}).curve[0].without_signals;
    const double width = band.high - band.low;
    // Each of the 40 pages has a relative standard error of `doubt` / 1.96. The error of their mean
    // is about a sixth of this.
    EXPECT_GT(width, 0.02 * doubt);
    EXPECT_LT(width, 0.3 * doubt);
    EXPECT_GT(width, 2 * narrow);
    narrow = width;
    EXPECT_NEAR(band.mean, *PlainOptimum(RatesOfPages(pages), 2), 0.04);
  }
  // Pages with unknown rates count, too, as do small rates that have only an upper bound.
  for (WhatIfPage& page : pages) page.high = HUGE_VAL;
  pages[0] = {.rates = {.importance = 1}, .low = 0, .high = 0.1};
  EXPECT_GT(Asked(pages, {.crawls_per_day = 2}).curve[0].with_signals.high, 0);
}

TEST(WhatIf, TakesIntervalsOfAnyWidth) {
  std::vector<WhatIfPage> pages = SomePages(4);
  pages[0].high = 1e308;
  pages[1].rates.change_rate = 0;
  pages[1].high = 1e307;
  pages[2].rates.change_rate = 0;
  pages[2].high = 1e-300;
  const WhatIfAnswer answer = Asked(pages, {.crawls_per_day = 1, .factors = {1}, .draws = 20});
  EXPECT_GE(answer.curve[0].with_signals.low, 0);
  EXPECT_LE(answer.curve[0].with_signals.high, 1);
}

TEST(WhatIf, RefusesRatesThatPlansDoNotTake) {
  const std::vector<WhatIfPage> pages = SomePages(4);
  const auto asked = [&](double crawls_per_day, double factor) {
    WhatIfOptions options{
        .crawls_per_day = crawls_per_day, .all_pages = UINT64_MAX, .factors = {factor}, .draws = 2};
    return AskWhatIf(pages, options, [](double) {}).status().code();
  };
  EXPECT_EQ(asked(1e-12, 1e-6), absl::StatusCode::kOk);
  EXPECT_EQ(asked(1e12, 1e6), absl::StatusCode::kOk);
  for (const double crawls_per_day : {0., -1., 1e-307, 1e13, double{NAN}, double{INFINITY}}) {
    EXPECT_EQ(asked(crawls_per_day, 1), absl::StatusCode::kInvalidArgument) << crawls_per_day;
  }
  for (const double factor : {0., -1., 1e-307, 1e7, double{NAN}, double{INFINITY}}) {
    EXPECT_EQ(asked(1, factor), absl::StatusCode::kInvalidArgument) << factor;
  }
}

TEST(WhatIf, CountsWhoStarves) {
  // Two pages change far more often than there are crawls, so blc never crawls them.
  std::vector<WhatIfPage> pages(8, {.rates = {.importance = 1, .change_rate = 0.01}});
  pages[0].rates.change_rate = pages[1].rates.change_rate = 50;
  pages[2].rates.importance = 0;   // not important: does not starve
  pages[3].rates.change_rate = 0;  // never changes: does not starve
  const WhatIfAnswer answer =
      Asked(pages, {.crawls_per_day = 0.04, .draws = 2, .starve_days = 250});
  EXPECT_EQ(PolicyNamed(answer, "blc").never, 2);
  EXPECT_EQ(PolicyNamed(answer, "blc").starving, 2);
  EXPECT_EQ(PolicyNamed(answer, "greedy_ncis").never, 2);
  EXPECT_EQ(PolicyNamed(answer, "uniform").starving, 0);
  EXPECT_EQ(PolicyNamed(answer, "change_rate").starving, 4);
  EXPECT_EQ(PolicyNamed(answer, "change_rate").never, 0);
  EXPECT_NEAR(PolicyNamed(answer, "lds").freshness, *PlainOptimum(RatesOfPages(pages), 0.04),
              1e-12);
  // There are no signals.
  EXPECT_NEAR(answer.with_signals, answer.without_signals, 1e-9);
}

TEST(PageSample, IsEquallyLikelyToHoldEachPage) {
  double sum = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    PageSample sample(5, seed);
    for (int i = 0; i < 100; ++i) sample.Add({.rates = {.importance = i + 0.0}});
    EXPECT_EQ(sample.seen(), 100u);
    ASSERT_EQ(sample.items().size(), 5u);
    for (const WhatIfPage& page : sample.items()) sum += page.rates.importance;
  }
  EXPECT_NEAR(sum / 2000, 49.5, 3);  // the standard error is 0.65
}

StatusOr<std::vector<WhatIfPage>> PagesOfTable(const std::string& text) {
  PageSample sample(100, 1);
  std::istringstream input(text);
  RETURN_IF_ERROR(ReadWhatIfPages(input, &sample));
  return sample.items();
}

TEST(WhatIfTable, ReadsWhatPlanReadsAndMore) {
  const auto plan =
      *PagesOfTable("id\timportance\tchange_rate\tcomplete\na\t2\t0.5\t1\nb\t1\t3\t0\n");
  ASSERT_EQ(plan.size(), 2u);
  EXPECT_EQ(plan[0].rates.importance, 2);
  EXPECT_EQ(plan[0].rates.recall, 1);
  EXPECT_EQ(plan[1].rates.change_rate, 3);
  EXPECT_EQ(plan[1].rates.recall, 0);
  EXPECT_FALSE(plan[1].high > plan[1].low);
  const auto rich = *PagesOfTable(
      "id\timportance\tchange_rate\tlow\thigh\trecall\tprecision\na\t1\t0.5\t0.1\tinf\t0.5\t0.2\n");
  EXPECT_EQ(rich[0].low, 0.1);
  EXPECT_TRUE(std::isinf(rich[0].high));
  EXPECT_DOUBLE_EQ(rich[0].rates.false_signal_rate, 1);  // four false per true signal
  const auto error = [](const std::string& text) {
    return std::string(PagesOfTable(text).status().message());
  };
  const std::string head = "id\timportance\tchange_rate\t";
  EXPECT_THAT(error(head + "low\na\t1\t1\t0\n"), HasSubstr("give both columns, or none"));
  EXPECT_THAT(error(head + "recall\tprecision\tfalse_rate\n"),
              HasSubstr("give only one of these columns"));
  EXPECT_THAT(error(head + "low\thigh\na\t1\t1\t2\t3\n"), HasSubstr("row 1 (line 2): change_rate"));
  EXPECT_THAT(error(head + "recall\na\t1\t1\t2\n"), HasSubstr("recall"));
  EXPECT_THAT(error(head + "recall\tprecision\na\t1\t1\t1\t0\n"), HasSubstr("precision"));
  EXPECT_THAT(error("id\timportance\n"), HasSubstr("'change_rate' is missing"));
}

TEST(WhatIfCommand, AnswersAsTableJsonAndPlot) {
  std::string name = (std::filesystem::temp_directory_path() / "freshet-whatif-XXXXXX").string();
  const std::string folder = mkdtemp(name.data());
  std::string table = "id\timportance\tchange_rate\trecall\tfalse_rate\n";
  for (int i = 0; i < 50; ++i) {
    table += std::to_string(i) + "\t1\t0." + std::to_string(10 + i) + "\t0.5\t0.01\n";
  }
  const std::string command = "freshet-sim what-if --pages - --crawls-per-day 10 --draws 4 ";
  const ProgramResult text = RunProgram(command + "--sample 20 --plot " + folder + "/w.svg", table);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("50 pages, judged by 20, 10 crawls a day."));
  EXPECT_THAT(text.out, HasSubstr("\n| greedy_ncis | 0."));
  EXPECT_THAT(text.out, HasSubstr(" of freshness, one a second more 0."));
  EXPECT_THAT(ReadWholeFile(folder + "/w.svg"), HasSubstr("without signals"));
  const ProgramResult printed = RunProgram(command + "--json --factors 1,3", table);
  ASSERT_EQ(printed.exit_code, 0) << printed.err;
  const auto answer = nlohmann::json::parse(printed.out);
  EXPECT_EQ(answer["curve"].size(), 2u);
  EXPECT_EQ(answer["curve"][1]["crawls_per_day"], 30);
  EXPECT_GT(answer["freshness"], answer["freshness_without_signals"]);
  EXPECT_GT(answer["gain_of_one_crawl_a_day"], 0);
  const ProgramResult unwritable = RunProgram(command + "--plot " + folder + "/none/w.svg", table);
  EXPECT_EQ(unwritable.exit_code, 1);
  EXPECT_THAT(unwritable.err, HasSubstr("none/w.svg: cannot be written"));
  EXPECT_THAT(unwritable.out, HasSubstr("\n| greedy_ncis | 0."));
  std::filesystem::remove_all(folder);
  EXPECT_EQ(RunProgram("freshet-sim what-if", "").exit_code, 2);
  EXPECT_EQ(RunProgram("freshet-sim what-if --pages - --server x:1", "").exit_code, 2);
  EXPECT_EQ(RunProgram("freshet-sim what-if --pages -", table).exit_code, 2);
  EXPECT_EQ(RunProgram(command + "--draws 1", table).exit_code, 2);
  EXPECT_EQ(RunProgram(command, "id\timportance\tchange_rate\n").exit_code, 2);
  EXPECT_EQ(RunProgram(command, "id\timportance\tchange_rate\na\t0\t1\n").exit_code, 2);
}

}  // namespace
}  // namespace freshet
