// Tests every plan by comparison with independent reference values: LambdaCrawl and its relatives
// on three data sets (tests/vectors/lambdacrawl.json), and Frontera's objective
// (tests/vectors/frontera.json).
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "core/plan/frontera.h"
#include "core/plan/planner.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/core/plan/plan_columns.h"
#include "tests/support/gzip.h"
#include "tests/support/run_program.h"

namespace freshet {
namespace {

using nlohmann::json;

json Load(const std::string& name) {
  std::ifstream in(FRESHET_SOURCE_DIR "/tests/vectors/" + name);
  return json::parse(in);
}

PlanColumns LoadPages(const std::string& file, bool only_complete) {
  const std::string path = FRESHET_SOURCE_DIR "/tests/vectors/" + file;
  const std::string text = ReadMaybeGzip(std::ifstream(path).good() ? path : path + ".gz");
  PlanColumns columns;
  for (auto& row : ParseTsv(text)) {
    const bool complete = row["complete"] == "1";
    if (only_complete && !complete) continue;
    columns.importance.push_back(std::stod(row["importance"]));
    columns.change_rate.push_back(std::stod(row["change_rate"]));
    columns.complete.push_back(complete ? 1 : 0);
  }
  return columns;
}

double Number(const json& value) { return value.is_string() ? HUGE_VAL : value.get<double>(); }

// The relative tolerance is 1e-8 for costs and prices, and 1e-9 for the used rate, as the vectors
// state.
void Check(const std::string& name, const PlanPages& pages, const StatusOr<RatePlan>& plan,
           double crawl_rate, CrawlTimes times, const json& expected) {
  ASSERT_TRUE(plan.ok()) << plan.status();
  const PlanCosts costs = ComputePlanCosts(pages, *plan, times);
  const double j_h = Number(expected["Jh"]);
  if (std::isinf(j_h)) {
    EXPECT_EQ(costs.j_h, HUGE_VAL) << name;
  } else {
    EXPECT_NEAR(costs.j_h / j_h, 1, 1e-8) << name;
  }
  EXPECT_NEAR(costs.j_b / Number(expected["Jb"]), 1, 1e-8) << name;
  EXPECT_NEAR(plan->used / crawl_rate, 1, 1e-9) << name;
  double total = 0;
  for (size_t i = 0; i < pages.size(); ++i) {
    total += plan->rate[i];
    if (!plan->probability.empty()) total += plan->probability[i] * pages.change_rate[i];
  }
  EXPECT_NEAR(total / crawl_rate, 1, 1e-11) << name;
  EXPECT_LT(plan->kkt_residual, 1e-11) << name;
  if (expected.contains("multiplier")) {
    EXPECT_NEAR(plan->price / expected["multiplier"].get<double>(), 1, 1e-8) << name;
  }
  if (expected.contains("n_starved")) {
    EXPECT_EQ(std::count(plan->rate.begin(), plan->rate.end(), 0.0),
              expected["n_starved"].get<int>());
  }
  if (expected.contains("n_p_equal_1")) {
    EXPECT_EQ(std::count(plan->probability.begin(), plan->probability.end(), 1.0),
              expected["n_p_equal_1"].get<int>());
  }
  if (expected.contains("R_complete")) {
    double signalled = 0;
    for (size_t i = 0; i < pages.size(); ++i) {
      signalled += plan->probability[i] * pages.change_rate[i];
    }
    EXPECT_NEAR(signalled / expected["R_complete"].get<double>(), 1, 1e-8) << name;
  }
}

TEST(LambdaCrawlVectors, EveryPlanOfEveryDataSetIsThatOfTheReference) {
  const std::vector<std::pair<std::string, PlanMethod>> methods = {
      {"LC", PlanMethod::kLambdaCrawl},
      {"LC-CO", PlanMethod::kLcComplete},
      {"LC-IO", PlanMethod::kLcIncomplete},
      {"LCA", PlanMethod::kLambdaCrawlApprox},
      {"LCA-IO", PlanMethod::kLambdaCrawlApprox},
      {"BLC", PlanMethod::kBlc},
      {"BLC(0.4)", PlanMethod::kBlcEps},
      {"UC", PlanMethod::kUniform},
      {"CC", PlanMethod::kChangeRate},
  };
  int checked = 0;
  const json vectors = Load("lambdacrawl.json");
  for (const json& data : vectors["datasets"]) {
    for (const char* scope : {"full", "complete_only"}) {
      const PlanColumns columns =
          LoadPages(data["file"].get<std::string>(), scope == std::string("complete_only"));
      const double crawl_rate = data["scopes"][scope]["R"];
      const json& expected = data["scopes"][scope]["own"];
      for (const auto& [label, method] : methods) {
        if (!expected.contains(label)) continue;
        ++checked;
        PlanPages pages = columns.pages();
        if (label == "LCA-IO") pages.complete = {};
        Check(data["name"].get<std::string>() + " " + scope + " " + label, pages,
              MakePlan(method, pages, crawl_rate), crawl_rate, CrawlTimesOf(method),
              expected[label]);
      }
    }
  }
  EXPECT_EQ(checked, 3 * (8 + 7));
}

void CheckFrontera(const json& item, double tolerance) {
  const std::vector<double> w =
      item.contains("w") ? item["w"].get<std::vector<double>>() : std::vector<double>{1, 5};
  const std::vector<double> lambda =
      item.contains("lam") ? item["lam"].get<std::vector<double>>() : std::vector<double>{5, 1};
  const PlanPages pages{w, lambda, {}};
  const double crawl_rate = item["fbar"].get<double>() * static_cast<double>(w.size());
  const StatusOr<RatePlan> plan = PlanFrontera(pages, crawl_rate);
  ASSERT_TRUE(plan.ok());
  for (size_t i = 0; i < w.size(); ++i) {
    const double f = item["f"][i];
    EXPECT_NEAR(plan->rate[i], f, f == 0 ? 0 : tolerance * f) << item["fbar"];
  }
  EXPECT_NEAR(plan->price / item["multiplier"].get<double>(), 1, 1e-8);
  EXPECT_NEAR(FronteraValue(pages, *plan) / item["value"].get<double>(), 1, 1e-10);
  EXPECT_LT(plan->kkt_residual, 1e-12);
  if (item.contains("alpha_doc")) {
    EXPECT_NEAR(-plan->price * static_cast<double>(w.size()) / item["alpha_doc"].get<double>(), 1,
                1e-8);
  }
}

TEST(FronteraVectors, EveryInstanceHasThePlanOfTheReference) {
  const json instances = Load("frontera.json")["instances"];
  EXPECT_EQ(instances.size(), 5u);
  for (const json& instance : instances) CheckFrontera(instance, 1e-8);
}

TEST(FronteraVectors, ThePageOfLessWeightIsCrawledFromTheThresholdOfTheReferenceOn) {
  const json sweep = Load("frontera.json")["sweep"];
  for (const json& point : sweep["points"]) CheckFrontera(point, 1e-8);
  const std::vector<double> w = {1, 5};
  const std::vector<double> lambda = {5, 1};
  const PlanPages pages{w, lambda, {}};
  const double below = sweep["fbar_below_which_f1_is_zero"];
  EXPECT_EQ(PlanFrontera(pages, 2 * below * (1 - 1e-9))->rate[0], 0);
  EXPECT_GT(PlanFrontera(pages, 2 * below * (1 + 1e-9))->rate[0], 0);
  const double equal = sweep["fbar_where_f1_equals_f2"];
  const StatusOr<RatePlan> plan = PlanFrontera(pages, 2 * equal);
  EXPECT_NEAR(plan->rate[0] / plan->rate[1], 1, 1e-8);
}

}  // namespace
}  // namespace freshet
