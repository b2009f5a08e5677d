// Tests the program's plans against tests/vectors/lambdacrawl.json and frontera.json, and its
// answers to bad input.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/gzip.h"
#include "tests/support/run_program.h"

namespace freshet {
namespace {

using nlohmann::json;

json Load(const std::string& name) {
  std::ifstream in(FRESHET_SOURCE_DIR "/tests/vectors/" + name);
  return json::parse(in);
}

std::string LoadTable(const std::string& file) {
  const std::string path = FRESHET_SOURCE_DIR "/tests/vectors/" + file;
  return ReadMaybeGzip(std::ifstream(path).good() ? path : path + ".gz");
}

// Keeps all rows, or only those with complete signals. `complete_as` replaces the flag; nullptr =
// the flag is not changed.
std::string Filter(const std::string& table, bool only_complete, const char* complete_as) {
  std::string text = "id\timportance\tchange_rate\tcomplete\n";
  for (auto& row : ParseTsv(table)) {
    if (only_complete && row["complete"] != "1") continue;
    text += row["id"] + "\t" + row["importance"] + "\t" + row["change_rate"] + "\t" +
            (complete_as == nullptr ? row["complete"] : complete_as) + "\n";
  }
  return text;
}

json RunJson(const std::string& flags, const std::string& table) {
  const ProgramResult result = RunProgram("freshet-sim plan --json " + flags, table);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1);
  return json::parse(result.out);
}

TEST(SimPlan, LambdaCrawlAgreesWithTheReference) {
  const std::vector<std::pair<const char*, const char*>> methods = {
      {"LC", "lambda_crawl"},         {"LC-CO", "lc_compl"}, {"LC-IO", "lc_incompl"},
      {"LCA", "lambda_crawl_approx"}, {"BLC", "blc"},        {"LCA-IO", "lambda_crawl_approx"},
      {"BLC(0.4)", "blc_eps"},        {"UC", "uniform"},     {"CC", "change_rate"},
  };
  const json vectors = Load("lambdacrawl.json");
  for (const json& data : vectors["datasets"]) {
    const std::string table = LoadTable(data["file"]);
    for (const char* scope : {"full", "complete_only"}) {
      const json& expected = data["scopes"][scope];
      for (const auto& [label, method] : methods) {
        if (!expected["own"].contains(label)) continue;
        const json& own = expected["own"][label];
        const std::string input = Filter(table, scope == std::string("complete_only"),
                                         label == std::string("LCA-IO") ? "0" : nullptr);
        const json out = RunJson(
            fmt::format("--eps 0.4 --method {} --rate {}", method, expected["R"].get<double>()),
            input);
        EXPECT_EQ(out["method"], method);
        EXPECT_EQ(out["pages"], scope == std::string("full") ? data["n"].get<int>()
                                                             : data["n_complete"].get<int>());
        if (own["Jh"].is_string()) {
          EXPECT_TRUE(out["j_h"].is_null());
        } else {
          EXPECT_NEAR(out["j_h"].get<double>() / own["Jh"].get<double>(), 1, 1e-8) << label;
        }
        EXPECT_NEAR(out["j_b"].get<double>() / own["Jb"].get<double>(), 1, 1e-8) << label;
        EXPECT_NEAR(out["used"].get<double>() / expected["R"].get<double>(), 1, 1e-9) << label;
        if (own.contains("multiplier")) {
          EXPECT_NEAR(out["price"].get<double>() / own["multiplier"].get<double>(), 1, 1e-8);
        }
        EXPECT_TRUE(out.contains("accuracy") && out.contains("seconds") && out.contains("rate"));
      }
    }
  }
}

TEST(SimPlan, RowsAddUpToTheRate) {
  const std::string table = LoadTable("lc_d1000_4.tsv");
  const auto pages = ParseTsv(table);
  for (const char* method : {"lambda_crawl", "blc", "blc_eps", "lds", "frontera", "uniform"}) {
    const ProgramResult result =
        RunProgram(fmt::format("freshet-sim plan --method {} --rate 200", method), table);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto rows = ParseTsv(result.out);
    ASSERT_EQ(rows.size(), pages.size());
    double total = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].at("id"), pages[i].at("id"));
      total += std::stod(rows[i].at("rate")) +
               std::stod(rows[i].at("probability")) * std::stod(pages[i].at("change_rate"));
    }
    EXPECT_NEAR(total / 200, 1, 1e-9) << method;
  }
}

TEST(SimPlan, FronteraAgreesWithTheReference) {
  const json vectors = Load("frontera.json");
  for (const json& instance : vectors["instances"]) {
    std::string table = "id\timportance\tchange_rate\tcomplete\n";
    for (size_t i = 0; i < instance["w"].size(); ++i) {
      table += fmt::format("{}\t{}\t{}\t0\n", i, instance["w"][i].get<double>(),
                           instance["lam"][i].get<double>());
    }
    const double rate = instance["fbar"].get<double>() * static_cast<double>(instance["w"].size());
    const ProgramResult result =
        RunProgram(fmt::format("freshet-sim plan --method frontera --rate {:.17g}", rate), table);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto rows = ParseTsv(result.out);
    for (size_t i = 0; i < rows.size(); ++i) {
      const double f = instance["f"][i];
      EXPECT_NEAR(std::stod(rows[i].at("rate")), f, 1e-8 * f);
    }
    const json out = RunJson(fmt::format("--method frontera --rate {:.17g}", rate), table);
    EXPECT_NEAR(out["price"].get<double>() / instance["multiplier"].get<double>(), 1, 1e-8);
  }
}

TEST(SimPlan, NoPageIsAnEmptyAnswer) {
  const std::string header = "id\timportance\tchange_rate\tcomplete\n";
  const json out = RunJson("--method blc --rate 3", header);
  EXPECT_EQ(out["pages"], 0);
  EXPECT_TRUE(out["j_b"].is_null());
  EXPECT_EQ(RunProgram("freshet-sim plan --method blc --rate 3", header).out,
            "id\trate\tprobability\n");
}

// The help names all required columns.
TEST(SimPlan, HelpNamesTheColumns) {
  const std::string help = RunProgram("freshet-sim plan --help", "").out;
  std::string header = "id";
  for (const std::string column : {"importance", "change_rate", "complete"}) {
    EXPECT_NE(help.find(column), std::string::npos);
    const ProgramResult lacking =
        RunProgram("freshet-sim plan --method blc --rate 3", header + "\n");
    EXPECT_NE(lacking.err.find("column '" + column + "' is missing"), std::string::npos);
    header += "\t" + column;
  }
}

TEST(SimPlan, RefusesBadInputWithRowAndReason) {
  const std::string header = "id\timportance\tchange_rate\tcomplete\n";
  const std::string good = header + "a\t1\t1\t0\n";
  const struct {
    const char* flags;
    std::string input;
    const char* reason;
  } cases[] = {
      {"--method blc --rate 1", good + "b\t-1\t1\t0\n", "row 2"},
      {"--method blc --rate 1", good + "b\t1\tnan\t0\n", "row 2"},
      {"--method blc --rate 1", good + "b\t1\t1e99\t0\n", "row 2"},
      {"--method blc --rate 1", good + "b\t1\t1\t2\n", "row 2"},
      {"--method blc --rate 1", good + "b\t1\t1\n", "row 2"},
      {"--method blc --rate 1", "id\timportance\tchange_rate\na\t1\t1\n", "'complete'"},
      {"--method blc --rate -1", good, "crawl rate"},
      {"--method blc --rate nan", good, "rate"},
      {"--method blc", good, "--rate"},
      {"--method best --rate 1", good, "--method"},
      {"--method blc_eps --eps 2 --rate 1", good, "--eps"},
      {"--method frontera_clustered --clusters 0 --rate 1", good, "--clusters"},
      {"--method blc --rate 1 --fast", good, "--fast"},
  };
  for (const auto& c : cases) {
    const ProgramResult result = RunProgram(std::string("freshet-sim plan ") + c.flags, c.input);
    EXPECT_EQ(result.exit_code, 2) << c.flags << "\n" << c.input;
    EXPECT_THAT(result.err, ::testing::HasSubstr(c.reason));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

// The vectors come from an independent simulation of the same experiment.
TEST(SimPlan, ExploreCommitFindsTheTimeOfTheVectors) {
  const json expected = Load("regret.json");
  std::string table = "id\timportance\tchange_rate\tcomplete\n";
  double importance = 0;
  auto pages = ParseTsv(LoadTable("regret_instance.tsv"));
  for (auto& page : pages) {
    table += page["id"] + "\t" + page["zeta"] + "\t" + page["xi"] + "\t0\n";
    importance += std::stod(page["zeta"]);
  }
  const double horizon = expected["T"];
  const std::string flags = fmt::format("--method explore_commit --rate {} --horizon {} ",
                                        expected["R"].get<double>(), horizon);
  const json answer = RunJson(flags, table);
  EXPECT_NEAR(answer["accuracy_of_known_rates"], expected["F_opt"].get<double>() / importance,
              1e-6);
  EXPECT_NEAR(answer["accuracy_of_exploration"],
              expected["F_uniform_interval"].get<double>() / importance, 1e-6);
  // The best length in the vectors is 700. Within the errors, 500 and 1,000 are equally good.
  EXPECT_GE(answer["explore_time"], 300);
  EXPECT_LE(answer["explore_time"], 1500);
  const auto regret = [&](double accuracy) {
    return (answer["accuracy_of_known_rates"].get<double>() - accuracy) * importance * horizon /
           static_cast<double>(pages.size());
  };
  const json& best = expected["etc"][7];
  ASSERT_EQ(best["tau"], 700);
  EXPECT_NEAR(regret(answer["accuracy"]), best["mean"].get<double>(),
              4 * best["se"].get<double>() + 100);
  const ProgramResult all = RunProgram("freshet-sim plan " + flags, table);
  EXPECT_GT(ParseTsv(all.out).size(), 10u);
  for (const char* bad :
       {"--method explore_commit --rate 20", "--method blc --rate 20 --horizon 100",
        "--method explore_commit --rate 20 --horizon 10",
        "--method explore_commit --rate 20 --horizon 1e12",
        "--method explore_commit --rate 20 --horizon 100 --repeats 1"}) {
    EXPECT_EQ(RunProgram(std::string("freshet-sim plan ") + bad, table).exit_code, 2) << bad;
  }
}

}  // namespace
}  // namespace freshet
