// The simulated worlds against accuracies that were computed independently of the project.
#include "tools/sim/synthetic_worlds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
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
  double error;     // and its standard error
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

TEST(Worlds, TheSameSeedGivesTheSameRun) {
  const std::string flags = "--pages 100 --repeats 1 --horizon 100 --seed 5";
  EXPECT_EQ(RunSimulation(flags)["accuracy_mean"], RunSimulation(flags)["accuracy_mean"]);
}

// Crawls nothing.
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
    EXPECT_LT(part, fresh);  // nothing is ever crawled
    fresh = part;
    sum += part;
  }
  IdlePolicy other;
  EXPECT_NEAR(sum / 8, Simulate(world, pages, 2, 4, Random(5), other), 1e-12);
}

}  // namespace
}  // namespace freshet
