// freshet-sim replay: plays a policy on a real history of page changes, or on a generated world.
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>

#include "lab/common/wrong_flag.h"
#include "lab/sim/commands.h"
#include "lab/sim/replay.h"
#include "lab/sim/replay_policies.h"
#include "lab/sim/replay_progress.h"
#include "lab/sim/worlds.h"
#include "nlohmann/json.hpp"

namespace freshet {
namespace {

struct ReplayFlags {
  std::string history;
  std::string world;
  ReplayPolicyChoice choice;
  std::optional<double> crawls_per_day;
  std::optional<double> signal_delay_days;
  double signal_recall = 1;
  std::optional<int64_t> from;
  std::optional<int64_t> to;
  uint64_t seed = 1;
  double epoch_days = 10;
  double explore_days = 100;
  double warm_up_crawls_per_page = 20;
  bool unnamed_polls = false;
  bool quiet = false;
};

StatusOr<Instant> ParseBound(int64_t seconds, const char* flag) {
  constexpr int64_t kLastSecond = 253402300799;  // end of the year 9999
  if (seconds < 0 || seconds > kLastSecond) {
    return WrongFlag(flag, seconds, "a Unix time");
  }
  return Instant::FromUnixSeconds(seconds);
}

Status Validate(const ReplayFlags& flags) {
  if (flags.history.empty() == flags.world.empty()) {
    return InvalidArgument("give either --history or --world");
  }
  if (!flags.history.empty() && !flags.crawls_per_day) {
    return InvalidArgument("--crawls-per-day: is missing; a history has no crawl rate of its own");
  }
  if (flags.crawls_per_day && !(*flags.crawls_per_day > 0 && *flags.crawls_per_day <= 1e12)) {
    return WrongFlag("--crawls-per-day", *flags.crawls_per_day, "a number above 0 and up to 1e12");
  }
  const double delay = flags.signal_delay_days.value_or(1);
  if (!(delay >= 0) || delay > 36500) {
    return WrongFlag("--signal-delay-days", delay, "a number from 0 to 36500");
  }
  if (!(flags.explore_days > 0 && flags.explore_days <= 36500)) {
    return WrongFlag("--explore-days", flags.explore_days, "a number above 0 and up to 36500");
  }
  return ValidatePace(flags.epoch_days, flags.warm_up_crawls_per_page);
}

// Makes the world of --world, or reads the pages of --history into a world without true rates.
StatusOr<World> LoadWorld(const ReplayFlags& flags) {
  if (!flags.world.empty()) return MakeWorld(flags.world, flags.seed);
  return WorldOfHistory(flags.history);
}

StatusOr<ReplayOptions> OptionsOf(const ReplayFlags& flags, const World& world) {
  ReplayOptions options;
  if (world.truth.empty()) {
    options.crawls_per_day = *flags.crawls_per_day;
  } else {
    options = OptionsOf(world);
    if (flags.crawls_per_day) options.crawls_per_day = *flags.crawls_per_day;
    options.count_from = SettledAfter(world, flags.warm_up_crawls_per_page, options.crawls_per_day);
  }
  if (flags.signal_delay_days) {
    options.signal_delay = Duration::FromSeconds(*flags.signal_delay_days * 86400);
  }
  options.signal_recall = flags.signal_recall;
  options.seed = flags.seed;
  if (flags.from) {
    ASSIGN_OR_RETURN(options.from, ParseBound(*flags.from, "--from"));
  }
  if (flags.to) {
    ASSIGN_OR_RETURN(options.to, ParseBound(*flags.to, "--to"));
  }
  return options;
}

Status RunReplay(const ReplayFlags& flags) {
  RETURN_IF_ERROR(Validate(flags));
  ASSIGN_OR_RETURN(World world, LoadWorld(flags));
  ASSIGN_OR_RETURN(const ReplayOptions options, OptionsOf(flags, world));
  world.signal_delay = options.signal_delay;
  ReplayPolicyChoice choice = flags.choice;
  choice.crawls_per_day = options.crawls_per_day;
  choice.signal_recall = options.signal_recall;
  choice.epoch = Duration::FromSeconds(flags.epoch_days * 86400);
  choice.explore = Duration::FromSeconds(flags.explore_days * 86400);
  choice.named_polls = !flags.unnamed_polls;
  ASSIGN_OR_RETURN(const std::unique_ptr<ReplayPolicy> policy, MakeReplayPolicy(choice, world));
  ASSIGN_OR_RETURN(const ReplaySpan span, SpanOf(world.pages, options));
  ReplayProgress told(*policy, span, [&flags](const std::string& text) {
    if (!flags.quiet) std::cerr << text + "\n";
  });
  const auto started = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(const ReplayResult result, Replay(world.pages, options, told));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
  nlohmann::ordered_json line = {{"policy", choice.policy},
                                 {"pages", result.pages},
                                 {"crawls", result.crawls},
                                 {"freshness", result.freshness},
                                 {"weighted_freshness", result.weighted_freshness},
                                 {"changed_share", result.changed_share}};
  if (!world.truth.empty()) {  // null if the replay ends before the warm-up
    line["settled_freshness"] = result.settled_freshness;
    line["settled_weighted_freshness"] = result.settled_weighted_freshness;
  }
  line["seconds"] = seconds.count();
  std::cout << line.dump() << '\n';
  return {};
}

}  // namespace

void AddReplayCommand(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "replay",
      "Simulate a policy on a real history or in a generated world, and measure its freshness");
  auto flags = std::make_shared<ReplayFlags>();
  command->add_option("--history", flags->history, "History file, plain or gzip");
  command->add_option("--world", flags->world, "Generated world (freshet-sim worlds lists them)");
  command
      ->add_option(
          "--policy", flags->choice.policy,
          "Crawl policy: default; one that ranks pages or plans rates; a learner (lambda_learn, "
          "lambda_learn_approx, binary_learn, explore_commit, eps_greedy); a simple rule "
          "(uniform, importance, pings_first, nutch_adaptive); or hindsight and "
          "clairvoyant, which use knowledge that no crawler has in time")
      ->capture_default_str();
  command->add_option(
      "--estimator", flags->choice.estimator,
      "Estimator of change rates: mle, cho_gm or default (that of policy default); without this "
      "flag each policy uses its own");
  command->add_option(
      "--crawls-per-day", flags->crawls_per_day,
      "Crawls a day for all pages together (default: the rate that --world brings)");
  command->add_option("--signal-delay-days", flags->signal_delay_days,
                      "Days between two polls for signals, the longest delay of one (default: that "
                      "of the world; 1 for a history)");
  command
      ->add_option("--signal-recall", flags->signal_recall,
                   "Share (0 to 1) of the changes that signals announce")
      ->capture_default_str();
  command->add_option("--from", flags->from, "Begin of the simulated time, in Unix seconds");
  command->add_option("--to", flags->to, "End of the simulated time, in Unix seconds");
  command
      ->add_option("--seed", flags->seed, "Random seed of the world and of the choice of signals")
      ->capture_default_str();
  command
      ->add_option(
          "--epoch-days", flags->epoch_days,
          "Days between two epochs; each epoch estimates the change rates of all pages anew")
      ->capture_default_str();
  command
      ->add_option("--warm-up-crawls-per-page", flags->warm_up_crawls_per_page,
                   "Crawls per page in a generated world before the measurement begins")
      ->capture_default_str();
  command
      ->add_option("--explore-days", flags->explore_days,
                   "Days of uniform crawls before policy explore_commit fixes its plan (only for "
                   "that policy)")
      ->capture_default_str();
  command->add_option(
      "--eps", flags->choice.epsilon,
      "With --policy eps_greedy the share of uniform crawls (default 0.1); with binary_learn the "
      "smallest rate, as a fraction of the mean rate (default 0.2)");
  command->add_flag(
      "--unnamed-polls", flags->unnamed_polls,
      "Hide from the policy which signals came in the same poll; it then cannot learn how "
      "signals come in bursts");
  command->add_flag("--quiet", flags->quiet, "Print no progress on standard error");
  command->callback([&action, flags] { action = [flags] { return RunReplay(*flags); }; });
}

}  // namespace freshet
