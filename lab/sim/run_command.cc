// freshet-sim run: computes which share of requests a policy serves fresh in a synthetic world.
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/continuous_optimum.h"
#include "fmt/format.h"
#include "lab/common/threaded_for.h"
#include "lab/common/wrong_flag.h"
#include "lab/sim/commands.h"
#include "lab/sim/mean_and_error.h"
#include "lab/sim/progress_clock.h"
#include "lab/sim/slot_policies.h"
#include "lab/sim/synthetic_worlds.h"
#include "lab/sim/worlds.h"
#include "nlohmann/json.hpp"
#include "sync/mutex.h"

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
  unsigned threads = 0;
  bool quiet = false;
};

Status Validate(const RunFlags& flags) {
  if (flags.pages < 1) return WrongFlag("--pages", flags.pages, "a whole number above 0");
  if (flags.repeats < 1) return WrongFlag("--repeats", flags.repeats, "a whole number above 0");
  if (!(flags.rate > 0) || std::isinf(flags.rate)) {
    return WrongFlag("--rate", flags.rate, "a number above 0");
  }
  if (!(flags.horizon > 0) || flags.horizon > kLongestHorizon) {
    return InvalidArgument("--horizon: '{}' is not a number above 0 and up to {}", flags.horizon,
                           kLongestHorizon);
  }
  return {};
}

// The accuracy in one instance, and the best possible one.
struct RunOutcome {
  double accuracy = 0;
  double baseline = 0;
  double signal_baseline = 0;
};

StatusOr<RunOutcome> PlayInstance(const SyntheticWorld& world, const RunFlags& flags,
                                  const Random& drawn, const Random& events) {
  RunOutcome outcome;
  const std::vector<PaperRates> pages = DrawPages(world, flags.pages, drawn);
  ASSIGN_OR_RETURN(const std::unique_ptr<SlotPolicy> policy,
                   MakeSlotPolicy(flags.policy, pages, flags.rate));
  ASSIGN_OR_RETURN(outcome.baseline, PlainOptimum(pages, flags.rate));
  outcome.signal_baseline = SignalOptimum(pages, flags.rate);
  outcome.accuracy = Simulate(world, pages, flags.rate, flags.horizon, events, *policy);
  return outcome;
}

// Plays all instances on all threads. The result does not depend on the number of threads.
StatusOr<std::vector<RunOutcome>> PlayInstances(const SyntheticWorld& world,
                                                const RunFlags& flags) {
  const auto repeats = static_cast<size_t>(flags.repeats);
  Random seeds(flags.seed);
  std::vector<std::pair<Random, Random>> randoms;
  for (size_t i = 0; i < repeats; ++i) {
    const Random drawn = seeds.Split();
    randoms.emplace_back(drawn, seeds.Split());
  }
  std::vector<RunOutcome> outcomes(repeats);
  ProgressClock clock;
  Mutex mutex;
  Status failed;
  size_t done = 0;
  ThreadedFor(flags.threads)(repeats, [&](size_t i) {
    {
      const MutexLock lock(mutex);
      if (!failed.ok()) return;
    }
    const StatusOr<RunOutcome> played =
        PlayInstance(world, flags, randoms[i].first, randoms[i].second);
    const MutexLock lock(mutex);
    if (!played.ok()) {
      failed = played.status();
      return;
    }
    outcomes[i] = *played;
    ++done;
    if (flags.quiet || done == repeats) return;
    const double share = static_cast<double>(done) / static_cast<double>(repeats);
    if (const auto left = clock.TimeLeftIfDue(share)) {
      std::cerr << fmt::format("[{}/{}] {}\n", done, repeats, *left);
    }
  });
  if (!failed.ok()) return failed;
  return outcomes;
}

double MeanOfOutcomes(const std::vector<RunOutcome>& outcomes, double RunOutcome::*figure) {
  double sum = 0;
  for (const RunOutcome& outcome : outcomes) sum += outcome.*figure;
  return sum / static_cast<double>(outcomes.size());
}

Status Run(const RunFlags& flags) {
  RETURN_IF_ERROR(Validate(flags));
  for (const WorldPlan& plan : WorldPlans()) {
    if (flags.world != plan.name) continue;
    return InvalidArgument(
        "--world {0}: this command cannot play this world: use freshet-sim replay --world {0}",
        plan.name);
  }
  ASSIGN_OR_RETURN(const SyntheticWorld world, ParseSyntheticWorld(flags.world));
  const auto started = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(const std::vector<RunOutcome> outcomes, PlayInstances(world, flags));
  std::vector<double> accuracy;
  for (const RunOutcome& outcome : outcomes) accuracy.push_back(outcome.accuracy);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
  const nlohmann::ordered_json line = {
      {"policy", flags.policy},
      {"pages", flags.pages},
      {"rate", flags.rate},
      {"repeats", flags.repeats},
      {"accuracy_mean", MeanOf(accuracy).mean},
      {"accuracy_stderr", MeanOf(accuracy).error},
      {"baseline_mean", MeanOfOutcomes(outcomes, &RunOutcome::baseline)},
      {"signal_baseline_mean", MeanOfOutcomes(outcomes, &RunOutcome::signal_baseline)},
      {"seconds", seconds.count()}};
  std::cout << line.dump() << '\n';
  return {};
}

}  // namespace

void AddRunCommand(CLI::App& app, CommandAction& action) {
  CLI::App* command =
      app.add_subcommand("run",
                         "Simulate a policy on the synthetic pages of the research papers, and "
                         "measure its accuracy (the share of requests that it serves fresh)");
  auto flags = std::make_shared<RunFlags>();
  command
      ->add_option("--policy", flags->policy,
                   "Crawl policy: any that ranks pages, plans rates or learns")
      ->capture_default_str();
  command
      ->add_option("--world", flags->world, "World: ncis-fig2, ncis-fig3, ncis-fig4 or ncis-fig8")
      ->capture_default_str();
  command->add_option("--pages", flags->pages, "Number of pages")->capture_default_str();
  command->add_option("--rate", flags->rate, "Crawls per unit of time for all pages together")
      ->capture_default_str();
  command
      ->add_option("--horizon", flags->horizon,
                   "Length of the simulation, in the unit of time of the change rates")
      ->capture_default_str();
  command->add_option("--repeats", flags->repeats, "Number of runs to average")
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "Random seed")->capture_default_str();
  command->add_option("--threads", flags->threads, "Number of threads; 0 for one per core")
      ->capture_default_str();
  command->add_flag("--quiet", flags->quiet, "Print no progress on standard error");
  command->callback([&action, flags] { action = [flags] { return Run(*flags); }; });
}

}  // namespace freshet
