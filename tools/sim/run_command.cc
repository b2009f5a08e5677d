// freshet-sim run: how much of the requests a policy serves fresh in a synthetic world.
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tools/sim/commands.h"
#include "tools/sim/continuous_optimum.h"
#include "tools/sim/mean_and_error.h"
#include "tools/sim/slot_policies.h"
#include "tools/sim/synthetic_worlds.h"
#include "tools/sim/worlds.h"

namespace freshet {
namespace {

struct RunFlags {
  std::string policy = "greedy_ncis";
  std::string world = "ncis-fig4";
  int pages = 1000;
  double rate = 100;
  double horizon = 1000;
  int repeats = 10;
  uint64_t seed = 1;
};

Status Validate(const RunFlags& flags) {
  if (flags.pages < 1) return InvalidArgument("--pages {}: at least 1 is needed", flags.pages);
  if (flags.repeats < 1)
    return InvalidArgument("--repeats {}: at least 1 is needed", flags.repeats);
  if (!(flags.rate > 0) || std::isinf(flags.rate)) {
    return InvalidArgument("--rate {}: must be positive and finite", flags.rate);
  }
  if (!(flags.horizon > 0) || flags.horizon > kLongestHorizon) {
    return InvalidArgument("--horizon {}: must be positive and at most {}", flags.horizon,
                           kLongestHorizon);
  }
  return {};
}

Status Run(const RunFlags& flags) {
  RETURN_IF_ERROR(Validate(flags));
  for (const WorldPlan& plan : WorldPlans()) {
    if (flags.world != plan.name) continue;
    return InvalidArgument("--world {0}: played by freshet-sim replay --world {0}", plan.name);
  }
  ASSIGN_OR_RETURN(const SyntheticWorld world, ParseSyntheticWorld(flags.world));
  const auto started = std::chrono::steady_clock::now();
  Random seeds(flags.seed);
  std::vector<double> accuracy;
  std::vector<double> baseline;
  std::vector<double> signal_baseline;
  for (int repeat = 0; repeat < flags.repeats; ++repeat) {
    const std::vector<PaperRates> pages = DrawPages(world, flags.pages, seeds.Split());
    ASSIGN_OR_RETURN(baseline.emplace_back(), PlainOptimum(pages, flags.rate));
    signal_baseline.push_back(SignalOptimum(pages, flags.rate));
    ASSIGN_OR_RETURN(const std::unique_ptr<SlotPolicy> policy,
                     MakeSlotPolicy(flags.policy, pages, flags.rate));
    accuracy.push_back(Simulate(world, pages, flags.rate, flags.horizon, seeds.Split(), *policy));
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
  const nlohmann::ordered_json line = {{"policy", flags.policy},
                                       {"pages", flags.pages},
                                       {"rate", flags.rate},
                                       {"repeats", flags.repeats},
                                       {"accuracy_mean", MeanOf(accuracy).mean},
                                       {"accuracy_stderr", MeanOf(accuracy).error},
                                       {"baseline_mean", MeanOf(baseline).mean},
                                       {"signal_baseline_mean", MeanOf(signal_baseline).mean},
                                       {"seconds", seconds.count()}};
  std::cout << line.dump() << '\n';
  return {};
}

}  // namespace

void AddRunCommand(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand("run", "Accuracy of a policy in a synthetic world");
  auto flags = std::make_shared<RunFlags>();
  command->add_option("--policy", flags->policy, "Index policy, plan or learner")
      ->capture_default_str();
  command->add_option("--world", flags->world, "ncis-fig2, -fig3, -fig4 or -fig8")
      ->capture_default_str();
  command->add_option("--pages", flags->pages, "Pages")->capture_default_str();
  command->add_option("--rate", flags->rate, "Crawls per unit of time")->capture_default_str();
  command->add_option("--horizon", flags->horizon, "Units of time")->capture_default_str();
  command->add_option("--repeats", flags->repeats, "Instances to average")->capture_default_str();
  command->add_option("--seed", flags->seed, "Seed of instances and events")->capture_default_str();
  command->callback([&action, flags] { action = [flags] { return Run(*flags); }; });
}

}  // namespace freshet
