// Compares the simulated worlds with accuracies that were computed independently of the project.
#include "lab/sim/synthetic_worlds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "lab/sim/slot_policies.h"
#include "nlohmann/json.hpp"

namespace freshet {
namespace {

nlohmann::json RunSimulation(const std::string& arguments) {
  const std::string command = std::string(FRESHET_BIN_DIR) + "/freshet-sim run " + arguments;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
  std::string output;
  std::array<char, 4096> buffer{};
  while (const size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) {
    output.append(buffer.data(), n);
  }
  return nlohmann::json::parse(output);
}

struct Expected {
  const char* world;
  const char* policy;
  int pages;
  double accuracy;  // accuracy.tsv: mean over 30 instances
  double error;     // standard error of the mean
};

class WorldsTest : public testing::TestWithParam<Expected> {};

TEST_P(WorldsTest, AccuracyIsThatOfTheIndependentSimulation) {
  const Expected& expected = GetParam();
  constexpr int kRepeats = 4;
  const auto line = RunSimulation("--world " + std::string(expected.world) + " --policy " +
                                  expected.policy + " --pages " + std::to_string(expected.pages) +
                                  " --repeats " + std::to_string(kRepeats));
  const double error = std::hypot(expected.error, expected.error * std::sqrt(30.0 / kRepeats));
  EXPECT_NEAR(line["accuracy_mean"].get<double>(), expected.accuracy, 3 * error);
  EXPECT_EQ(line["repeats"], kRepeats);
}

INSTANTIATE_TEST_SUITE_P(
    Figures, WorldsTest,
    testing::Values(Expected{"ncis-fig2", "greedy", 100, 0.83115, 0.00188},
                    Expected{"ncis-fig2", "greedy", 500, 0.50714, 0.00227},
                    Expected{"ncis-fig2", "lds", 100, 0.83062, 0.00191},
                    Expected{"ncis-fig2", "lds", 500, 0.50698, 0.00222},
                    Expected{"ncis-fig3", "greedy_cis", 100, 0.92241, 0.00182},
                    Expected{"ncis-fig4", "greedy_cis", 500, 0.43793, 0.00228},
                    Expected{"ncis-fig4", "greedy_ncis", 100, 0.90894, 0.00193},
                    Expected{"ncis-fig4", "greedy_ncis", 500, 0.54347, 0.00227},
                    Expected{"ncis-fig4", "ncis_approx_1", 500, 0.52943, 0.00236},
                    Expected{"ncis-fig8", "greedy_ncis", 200, 0.77626, 0.00274},
                    Expected{"ncis-fig8", "greedy_ncis_d", 200, 0.77960, 0.00253}),
    [](const auto& each) {
      std::string name = std::string(each.param.world) + "_" + each.param.policy + "_" +
                         std::to_string(each.param.pages);
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

TEST(Worlds, TheBaselineIsAboutWhatGreedyReaches) {
  const auto line = RunSimulation("--world ncis-fig2 --policy greedy --pages 300 --repeats 2");
  EXPECT_NEAR(line["accuracy_mean"].get<double>(), line["baseline_mean"].get<double>(), 0.003);
}

TEST(Worlds, TheBaselineWithSignalsIsThatOfTheIndependentComputation) {
  const auto line = RunSimulation("--world ncis-fig4 --pages 500 --repeats 6 --horizon 1");
  EXPECT_NEAR(line["signal_baseline_mean"].get<double>(), 0.54297, 3 * 0.00226 * std::sqrt(1 + 5));
}

TEST(Worlds, TheSameSeedGivesTheSameRunOnAnyNumberOfThreads) {
  const std::string flags = "--pages 100 --repeats 5 --horizon 100 --seed 5";
  nlohmann::json one = RunSimulation(flags + " --threads 1");
  nlohmann::json many = RunSimulation(flags + " --threads 4");
  one.erase("seconds");
  many.erase("seconds");
  EXPECT_EQ(one, many);
  EXPECT_GT(one["accuracy_stderr"], 0);
}

// A policy without crawls.
class IdlePolicy final : public SlotPolicy {
 public:
  void Signal(uint32_t, double) override {}
  std::optional<uint32_t> Pick(double time) override {
    slots.push_back(time);
    return std::nullopt;
  }
  std::vector<double> slots;
};

TEST(Worlds, SlotsFollowTheCrawlRateAndPartsCoverTheHorizon) {
  const SyntheticWorld world = *ParseSyntheticWorld("ncis-fig2");
  const std::vector<PaperRates> pages = DrawPages(world, 300, Random(4));
  const std::vector<CrawlRateStep> steps = {{0, 2}, {1, 4}, {2.5, 1}};
  IdlePolicy idle;
  const std::vector<double> parts = SimulateOverTime(world, pages, steps, 4, 8, Random(5), idle);
  EXPECT_EQ(idle.slots, (std::vector<double>{0.5, 1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 3.5}));
  ASSERT_EQ(parts.size(), 8u);
  double sum = 0;
  double fresh = 1;
  for (const double part : parts) {
    EXPECT_LT(part, fresh);  // without crawls freshness only falls
    fresh = part;
    sum += part;
  }
  IdlePolicy other;
  EXPECT_NEAR(sum / 8, Simulate(world, pages, 2, 4, Random(5), other), 1e-12);
}

// Crawls pages in turn.
class RoundPolicy final : public SlotPolicy {
 public:
  explicit RoundPolicy(uint32_t pages) : pages_(pages) {}
  void Signal(uint32_t, double) override {}
  std::optional<uint32_t> Pick(double) override { return next_++ % pages_; }

 private:
  uint32_t pages_;
  uint32_t next_ = 0;
};

TEST(Worlds, CostsAreWhatPagesCrawledEvenlyCost) {
  // For a Poisson count n of mean x, the mean of H(n) is Ein(x), the integral of (1 - e^-u)/u up to
  // x.
  const SyntheticWorld world = *ParseSyntheticWorld("ncis-fig2");
  const std::vector<PaperRates> pages(200, {.importance = 2, .change_rate = 0.8});
  RoundPolicy round(200);
  const SimulatedCosts costs = SimulateCosts(world, pages, 100, 20, 520, Random(5), round);
  const double x = 0.8 * 2;  // a crawl every 2 units of time
  double series = 0;
  double term = 1;  // x^k / k!, with alternating signs
  for (int k = 1; k < 40; ++k) {
    term *= (k == 1 ? 1 : -1) * x / k;
    series += term / k;
  }
  // The mean of Ein over an interval.
  const double harmonic = series - 1 - std::expm1(-x) / x;
  const double stale = 1 + std::expm1(-x) / x;
  EXPECT_NEAR(costs.j_h, 2 * harmonic, 0.01);
  EXPECT_NEAR(costs.j_b, 2 * stale, 0.01);
  EXPECT_NEAR(costs.accuracy, 1 - stale, 0.005);
  for (const uint32_t crawls : costs.crawls) EXPECT_EQ(crawls, 260u);
  RoundPolicy other(200);
  RoundPolicy whole(200);
  EXPECT_NEAR(SimulateCosts(world, pages, 100, 0, 50, Random(5), other).accuracy,
              Simulate(world, pages, 100, 50, Random(5), whole), 1e-12);
}

TEST(Worlds, PlansAreCrawledAtTheirRatesAndAtSignals) {
  SyntheticWorld world{.name = "half", .signals = true};
  std::vector<PaperRates> pages(100, {.importance = 1, .change_rate = 0.5});
  for (size_t i = 0; i < 50; ++i) pages[i].recall = 1;
  const auto run = [&](const char* name) {
    const auto policy = MakeSlotPolicy(name, pages, 60);
    EXPECT_TRUE(policy.ok()) << policy.status();
    return SimulateCosts(world, pages, 60, 10, 210, Random(3), **policy);
  };
  // Pages that are crawled at each signal get 25 of the 60 crawls, and are stale for at most one
  // slot.
  const SimulatedCosts heeding = run("lambda_crawl");
  const SimulatedCosts polling = run("lc_incompl");
  double signalled = 0;
  for (size_t i = 0; i < 50; ++i) signalled += heeding.crawls[i];
  EXPECT_NEAR(signalled / 210, 25, 1.5);
  EXPECT_GT(heeding.accuracy, polling.accuracy + 0.05);
  for (const uint32_t crawls : polling.crawls) EXPECT_NEAR(crawls, 0.6 * 210, 1.5);
  EXPECT_LT(run("blc").j_b, 1);
  const auto unknown = MakeSlotPolicy("lamda", pages, 60);
  EXPECT_NE(unknown.status().message().find("lambda_crawl_approx"), std::string::npos);
}

double AccuracyBy(const char* name, const std::vector<PaperRates>& pages) {
  const SyntheticWorld world{.name = "half", .signals = true};
  const auto policy = MakeSlotPolicy(name, pages, 50);
  EXPECT_TRUE(policy.ok()) << policy.status();
  return SimulateCosts(world, pages, 50, 200, 600, Random(3), **policy).accuracy;
}

TEST(Worlds, LearnersComeNearThePlansThatKnowTheRates) {
  std::vector<PaperRates> pages = DrawPages(*ParseSyntheticWorld("ncis-fig2"), 100, Random(8));
  const double uniform = AccuracyBy("uniform", pages);
  const double blc = AccuracyBy("blc", pages);
  EXPECT_GT(AccuracyBy("explore_commit", pages), uniform);
  EXPECT_GT(AccuracyBy("eps_greedy", pages), (uniform + blc) / 2);
  EXPECT_NEAR(AccuracyBy("eps_greedy", pages), blc, 0.03);
  EXPECT_NEAR(AccuracyBy("binary_learn", pages), AccuracyBy("blc_eps", pages), 0.02);
  EXPECT_NEAR(AccuracyBy("lambda_learn_approx", pages), AccuracyBy("lambda_crawl_approx", pages),
              0.01);
  EXPECT_NEAR(AccuracyBy("lambda_learn", pages), AccuracyBy("lambda_crawl", pages), 0.01);
  // Here the learner crawls at complete signals, and learns the rates from them.
  for (size_t i = 0; i < 50; ++i) pages[i].recall = 1;
  EXPECT_NEAR(AccuracyBy("lambda_learn", pages), AccuracyBy("lambda_crawl", pages), 0.01);
  EXPECT_GT(AccuracyBy("lambda_learn", pages), AccuracyBy("lc_incompl", pages) + 0.05);
}

}  // namespace
}  // namespace freshet
