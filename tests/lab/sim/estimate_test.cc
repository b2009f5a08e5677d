// Tests the program's estimates against tests/vectors/estimators.json, and its answers to bad
// input.
#include <cmath>
#include <fstream>
#include <string>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/run_program.h"

namespace freshet {
namespace {

using nlohmann::json;
using Row = std::map<std::string, std::string>;

const json& Cases() {
  static const json kCases = [] {
    std::ifstream in(FRESHET_SOURCE_DIR "/tests/vectors/estimators.json");
    return json::parse(in).at("cases");
  }();
  return kCases;
}

// Returns one table of all histories, or of those for which `keep` returns true.
template <typename Keep>
std::string Table(Keep keep) {
  std::string text = "id\tobservations\n";
  for (const json& c : Cases()) {
    if (!keep(c)) continue;
    text += fmt::format("{}\t", c["id"].get<int>());
    for (size_t i = 0; i < c["tau"].size(); ++i) {
      text += fmt::format("{}{}:{}:{}", i == 0 ? "" : ",", c["tau"][i].get<double>(),
                          c["n"][i].get<int>(), c["z"][i].get<int>());
    }
    text += '\n';
  }
  return text;
}

std::vector<Row> Estimate(const std::string& flags, const std::string& table) {
  const ProgramResult result = RunProgram("freshet-sim estimate " + flags, table);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return ParseTsv(result.out);
}

std::vector<Row> EstimateAll(const std::string& flags) {
  const auto rows = Estimate(flags, Table([](const json&) { return true; }));
  EXPECT_EQ(rows.size(), Cases().size());
  return rows;
}

// Uses the tolerances of the vectors: relative 1e-8, or absolute 1e-10 for the value 0.
void ExpectCell(const Row& row, const std::string& column, const json& expected) {
  ASSERT_FALSE(expected.is_null());
  const double value = expected;
  EXPECT_NEAR(std::stod(row.at(column)), value, value == 0 ? 1e-10 : 1e-8 * std::abs(value))
      << "case " << row.at("id") << " " << column;
}

TEST(SimEstimate, DefaultPoolsOverTheSite) {
  const auto rows = Estimate("--method default",
                             "id\tobservations\n"
                             "busy\t5:1:1,5:1:1,5:0:1,5:1:1\n"
                             "quiet\t100:0:0,200:0:0\n"
                             "unseen\t\n");
  ASSERT_EQ(rows.size(), 3u);
  const auto rate = [&](int row) { return std::stod(rows[row].at("change_rate")); };
  EXPECT_GT(rate(0), 10 * rate(1));
  EXPECT_GT(rate(0), rate(2)) << "a page without crawls takes the prior of the site";
  EXPECT_GT(rate(2), rate(1));
  EXPECT_EQ(rows[1].at("status"), "pooled");
  EXPECT_EQ(rows[2].at("status"), "prior");
  for (const Row& row : rows) {
    EXPECT_LE(std::stod(row.at("low")), std::stod(row.at("high")));
  }
  // A signal is worth more if its page changes more often.
  const auto weight = [&](int row) { return std::stod(rows[row].at("signal_weight")); };
  EXPECT_GT(weight(0), weight(2));
  EXPECT_GT(weight(2), weight(1));
}

TEST(SimEstimate, DefaultNamesTheRowThatItCannotUse) {
  const ProgramResult result =
      RunProgram("freshet-sim estimate --method default", "id\tobservations\nhalf\t5:0.5:1\n");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, ::testing::HasSubstr("half"));
}

TEST(SimEstimate, MleAgreesWithTheReference) {
  const auto rows = EstimateAll("--method mle");
  for (size_t i = 0; i < rows.size(); ++i) {
    const json& expected = Cases()[i]["est"];
    EXPECT_EQ(rows[i].at("status"), expected["ak_status"].get<std::string>());
    if (!expected["alpha"].is_null()) ExpectCell(rows[i], "unsignalled_rate", expected["alpha"]);
    if (!expected["kappa"].is_null()) ExpectCell(rows[i], "signal_weight", expected["kappa"]);
    const std::map<std::string, std::pair<const char*, const char*>> limits = {
        {"all_changed", {"unsignalled_rate", "inf"}},
        {"kappa_inf", {"signal_weight", "inf"}},
        {"no_signals", {"signal_weight", "nan"}}};
    if (const auto limit = limits.find(rows[i].at("status")); limit != limits.end()) {
      EXPECT_EQ(rows[i].at(limit->second.first), limit->second.second);
    }
    EXPECT_LE(std::stod(rows[i].at("low")), std::stod(rows[i].at("change_rate")));
    EXPECT_GE(std::stod(rows[i].at("high")), std::stod(rows[i].at("change_rate")));
  }
}

TEST(SimEstimate, SignalsAgreesWithTheReference) {
  const auto rows = EstimateAll("--method signals");
  for (size_t i = 0; i < rows.size(); ++i) {
    const json& expected = Cases()[i]["est"];
    for (const auto& [column, key] : {std::pair{"signal_rate", "gamma_hat"},
                                      {"precision", "precision_hat"},
                                      {"recall", "recall_hat"},
                                      {"naive_precision", "naive_precision"},
                                      {"naive_recall", "naive_recall"}}) {
      if (expected.contains(key) && !expected[key].is_null()) {
        ExpectCell(rows[i], column, expected[key]);
      } else if (std::string(key).starts_with("naive")) {
        EXPECT_EQ(rows[i].at(column), "nan");
      }
    }
  }
}

TEST(SimEstimate, ChoGmAgreesWithTheReference) {
  const auto smoothed = EstimateAll("--method cho_gm");
  const auto plain = EstimateAll("--method cho_gm --smoothing 0");
  for (size_t i = 0; i < smoothed.size(); ++i) {
    const json& expected = Cases()[i]["est"];
    ExpectCell(smoothed[i], "change_rate", expected["mle_smoothed"]);
    if (expected["mle_plain"].is_null()) {
      EXPECT_EQ(plain[i].at("change_rate"), "inf");
      EXPECT_EQ(plain[i].at("status"), "all_changed");
    } else {
      ExpectCell(plain[i], "change_rate", expected["mle_plain"]);
    }
  }
}

TEST(SimEstimate, MomentAgreesWithTheReference) {
  size_t seen = 0;
  std::map<std::pair<double, double>, int> bounds;
  for (const json& c : Cases()) ++bounds[{c["ximin"], c["ximax"]}];
  for (const auto& [range, count] : bounds) {
    const auto in_range = [&, wanted = range](const json& c) {
      return c["ximin"] == wanted.first && c["ximax"] == wanted.second;
    };
    const auto rows = Estimate(
        fmt::format("--method moment --delta 0.05 --min {} --max {}", range.first, range.second),
        Table(in_range));
    EXPECT_EQ(rows.size(), static_cast<size_t>(count));
    for (const Row& row : rows) {
      ++seen;
      const json& expected = Cases()[std::stoul(row.at("id"))]["est"];
      ExpectCell(row, "change_rate", expected["moment"]);
      const double half = std::stod(row.at("high")) - std::stod(row.at("change_rate"));
      if (expected["moment_ci_halfwidth"].is_null()) {
        EXPECT_GT(half, 1e300);
      } else {
        EXPECT_NEAR(half / expected["moment_ci_halfwidth"].get<double>(), 1, 1e-8);
      }
    }
  }
  EXPECT_EQ(seen, Cases().size());
  const auto unclipped = EstimateAll("--method moment");
  for (size_t i = 0; i < unclipped.size(); ++i) {
    const json& expected = Cases()[i]["est"];
    if (expected["moment_unclipped_inf"]) {
      EXPECT_EQ(unclipped[i].at("change_rate"), "inf");
    } else {
      ExpectCell(unclipped[i], "change_rate", expected["moment_unclipped"]);
    }
  }
}

TEST(SimEstimate, ClosedFormsAgreeWithTheReference) {
  const auto complete = EstimateAll("--method complete");
  const auto closed = EstimateAll("--method closed_form");
  const auto lower = EstimateAll("--method lower_bound");
  for (size_t i = 0; i < complete.size(); ++i) {
    const json& expected = Cases()[i]["est"];
    ExpectCell(complete[i], "change_rate", expected["complete"]);
    ExpectCell(lower[i], "change_rate", expected["frontera_lower"]);
    if (!expected["equal_closed"].is_null()) {
      ExpectCell(closed[i], "change_rate", expected["equal_closed"]);
    }
  }
}

TEST(SimEstimate, TakesSeveralSourcesAndEmptyHistories) {
  const auto rows = Estimate("--method mle",
                             "id\tobservations\nnever\t\n"
                             "two\t1:1/0:1,2:0/3:0,1:2/2:1,3:1/1:0,2:0/0:1\n");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].at("status"), "no_observations");
  EXPECT_EQ(rows[0].at("low"), "0");
  EXPECT_EQ(rows[0].at("high"), "inf");
  EXPECT_EQ(rows[1].at("status"), "boundary_kappa0");
  EXPECT_THAT(rows[1].at("signal_weight"), ::testing::EndsWith("/0"));
}

TEST(SimEstimate, RefusesBadInputWithRowAndReason) {
  const std::string good = "id\tobservations\na\t1:0:1\n";
  const struct {
    const char* flags;
    std::string input;
    const char* reason;
  } cases[] = {
      {"--method mle", "id\tobservations\na\t1:0:1\nb\t1:0:2\n", "row 2"},
      {"--method mle", "id\tobservations\na\t0:0:1\n", "row 1"},
      {"--method mle", "id\tobservations\na\tnan:0:1\n", "row 1"},
      {"--method mle", "id\tobservations\na\t1:-1:1\n", "row 1"},
      {"--method mle", "id\tobservations\na\t1:1\n", "row 1"},
      {"--method mle", "id\tobservations\na\t1:1/2:0,1:1:0\n", "row 1"},
      {"--method mle", "id\tobservation\na\t1:1:0\n", "column 'observations'"},
      {"--method none", good, "--method"},
      {"--method mle --delta 1", good, "--delta"},
      {"--method moment --min 2 --max 1", good, "--min"},
      {"--method cho_gm --smoothing nan", good, "--smoothing"},
      {"--method mle --surprise", good, "surprise"},
      {"", good, "--method"},
  };
  for (const auto& c : cases) {
    const ProgramResult result =
        RunProgram(std::string("freshet-sim estimate ") + c.flags, c.input);
    EXPECT_EQ(result.exit_code, 2) << c.flags << "\n" << c.input;
    EXPECT_THAT(result.err, ::testing::HasSubstr(c.reason));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

// Repeats the intervals until there are as many as `burn_in` says. The error is then at most the
// requested share.
TEST(SimEstimate, MomentSaysHowLongItBurnsIn) {
  const std::string four = "1:0:1,1:0:0,1:0:0,1:0:0";
  const std::string flags = "--method moment --min 0.1 --max 1 --within 0.5 ";
  const auto once = Estimate(flags, "id\tobservations\na\t" + four + "\nnone\t\n");
  const double rate = std::stod(once[0].at("change_rate"));
  const double half = std::stod(once[0].at("half_width"));
  const double burn_in = std::stod(once[0].at("burn_in"));
  EXPECT_NEAR(half, std::exp(1.0) * std::sqrt(std::log(40.0) / 8), 1e-12);
  EXPECT_NEAR(burn_in, 4 * std::pow(half / (0.5 * rate), 2), 1e-9 * burn_in);
  EXPECT_EQ(once[1].at("burn_in"), "nan");
  std::string many = four;
  for (int i = 1; i < static_cast<int>(std::ceil(burn_in / 4)); ++i) many += "," + four;
  const auto then = Estimate(flags, "id\tobservations\na\t" + many + "\n");
  EXPECT_NEAR(std::stod(then[0].at("half_width")) / (0.5 * rate), 1, 0.02);
  EXPECT_EQ(RunProgram("freshet-sim estimate --method moment --within 0", "").exit_code, 2);
}

}  // namespace
}  // namespace freshet
