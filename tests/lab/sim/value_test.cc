// Tests freshet-sim value: every column of tests/vectors/value_vectors.json, several sources, and
// bad input.
#include <cmath>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/run_program.h"

namespace freshet {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr char kHeader[] =
    "policy\timportance\tchange_rate\trecall\tfalse_signal_rate\telapsed\tsignals\n";

double ValueOf(const std::string& row) {
  const ProgramResult result = RunProgram("freshet-sim value", kHeader + row + "\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto rows = ParseTsv(result.out);
  EXPECT_EQ(rows.size(), 1u);
  return rows.empty() ? NAN : std::stod(rows[0].at("value"));
}

TEST(SimValue, ReproducesTheVectors) {
  const std::vector<std::pair<std::string, std::string>> columns = {
      {"greedy", "V_greedy"},         {"greedy_cis", "V_cis"},
      {"greedy_ncis", "V_ncis"},      {"ncis_approx_1", "V_approx1"},
      {"ncis_approx_2", "V_approx2"}, {"ncis_approx_3", "V_approx3"},
      {"harmonic", "V_harm"}};
  std::ifstream in(FRESHET_SOURCE_DIR "/tests/vectors/value_vectors.json");
  const json cases = json::parse(in).at("cases");
  std::string table = kHeader;
  std::vector<double> expected;
  for (const json& c : cases) {
    for (const auto& [policy, column] : columns) {
      table += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", policy, c["mu"].get<double>(),
                           c["Delta"].get<double>(), c["lam"].get<double>(), c["nu"].get<double>(),
                           c["tau"].get<double>(), c["n"].get<int>());
      expected.push_back(c[column]);
    }
  }
  const ProgramResult result = RunProgram("freshet-sim value", table);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto rows = ParseTsv(result.out);
  ASSERT_EQ(rows.size(), expected.size());
  ASSERT_EQ(rows.size(), 290u * 7);
  for (size_t i = 0; i < rows.size(); ++i) {
    const double value = std::strtod(rows[i].at("value").c_str(), nullptr);
    if (std::abs(value - expected[i]) <= 1e-300) continue;
    EXPECT_LE(std::abs(value - expected[i]), 1e-12 * std::abs(expected[i]))
        << "case " << i / 7 << " " << rows[i].at("policy");
  }
}

TEST(SimValue, CarriesRowsAndColumnsAlong) {
  const ProgramResult result = RunProgram(
      "freshet-sim value",
      "note\tsignals\telapsed\tfalse_signal_rate\trecall\tchange_rate\timportance\tpolicy\r\n"
      "a b\t0\t3\t0\t0\t2\t1\tgreedy\r\n\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            "note\tsignals\telapsed\tfalse_signal_rate\trecall\tchange_rate\timportance\tpolicy\t"
            "value\na b\t0\t3\t0\t0\t2\t1\tgreedy\t0.49132436738166774\n");
}

TEST(SimValue, ASourceThatTellsNothingChangesNoValue) {
  // A useless source changes no value, at any position. Without sources greedy_ncis is greedy.
  const double one = ValueOf("greedy_ncis\t1\t2\t0.5\t0.3\t0.3\t1");
  EXPECT_NEAR(ValueOf("greedy_ncis\t1\t2\t0.5,0\t0.3,0.7\t0.3\t1,4"), one, 1e-14);
  EXPECT_NEAR(ValueOf("greedy_ncis\t1\t2\t0,0.5\t0.7,0.3\t0.3\t4,1"), one, 1e-14);
  EXPECT_EQ(ValueOf("greedy_ncis\t1\t2\t\t\t0.3\t"), ValueOf("greedy\t1\t2\t\t\t0.3\t"));
  // A second signal, from any source, raises the value.
  const double first = ValueOf("greedy_ncis\t1\t2\t0.5,0.2\t0.3,0.1\t0.3\t1,0");
  EXPECT_GT(ValueOf("greedy_ncis\t1\t2\t0.5,0.2\t0.3,0.1\t0.3\t1,1"), first);
  EXPECT_EQ(ValueOf("greedy_cis\t1\t2\t0.5,0.2\t0.3,0.1\t0.3\t0,1"), 0.5);
}

TEST(SimValue, ABadCellIsRefusedWithItsRowAndReason) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"greedy\t1\tnan\t0\t0\t3\t0", "change_rate: 'nan'"},
      {"greedy\t-1\t2\t0\t0\t3\t0", "importance: '-1' is negative"},
      {"greedy\tinf\t2\t0\t0\t3\t0", "importance: 'inf'"},
      {"greedy\t1\t2\t1.5\t0\t3\t0", "recall: 1.5 is not from 0 to 1"},
      {"greedy\t1\t2\t0\t0\t3x\t0", "elapsed: '3x'"},
      {"greedy\t1\t2\t0\t0\t\t0", "elapsed: ''"},
      {"greedy\t1\t2\t0\t0\t3\t0.5", "signals: 0.5 is not a whole number"},
      {"greedy\t1\t1e999\t0\t0\t3\t0", "change_rate: '1e999' is out of range"},
      {"greedy\t1\t2\t0,0\t0\t3\t0", "name 2, 1 and 1 sources"},
      {"greedy\t1\t2\t0\t0,\t3\t0", "false_signal_rate: ''"},
      {"ncis_approx_0\t1\t2\t0\t0\t3\t0", "ncis_approx_0"},
      {"best\t1\t2\t0\t0\t3\t0", "policy: 'best' is not a policy; these are known: greedy,"},
      {"greedy\t1\t2\t0\t0\t3", "6 cells where the header has 7"},
      {"ncis_approx_1000\t1\t1e6\t0.3,0.3,0.3\t1e9,2e9,3e9\t1e-6\t0,0,0",
       "combinations of signal counts"}};
  for (const auto& [row, reason] : bad) {
    const ProgramResult result =
        RunProgram("freshet-sim value", kHeader + std::string("greedy\t1\t2\t0\t0\t3\t0\n") + row);
    EXPECT_EQ(result.exit_code, 2) << row;
    EXPECT_THAT(result.err, HasSubstr("row 2 (line 3): ")) << row;
    EXPECT_THAT(result.err, HasSubstr(reason)) << row;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

TEST(SimValue, BadUsageHasAnExitCodeOfItsOwn) {
  const std::string twice = std::string(kHeader, sizeof kHeader - 2) + "\trecall\n";
  const std::vector<std::pair<std::string, std::string>> headers = {
      {"", "no header"},
      {"policy\timportance\tchange_rate\n", "column 'recall' is missing"},
      {twice, "column 'recall' is there twice"}};
  for (const auto& [header, reason] : headers) {
    const ProgramResult result = RunProgram("freshet-sim value", header);
    EXPECT_EQ(result.exit_code, 2) << header;
    EXPECT_THAT(result.err, HasSubstr(reason));
  }
  EXPECT_EQ(RunProgram("freshet-sim value --speed", kHeader).exit_code, 2);
  EXPECT_EQ(RunProgram("freshet-sim", "").exit_code, 2);
  EXPECT_EQ(RunProgram("freshet-sim value /nonexistent", "").exit_code, 1);
  EXPECT_EQ(RunProgram("freshet-sim value --help", "").exit_code, 0);
}

}  // namespace
}  // namespace freshet
