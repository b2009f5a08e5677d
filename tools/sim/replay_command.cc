// freshet-sim replay: a policy against a real history of page changes.
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>

#include "core/model/policy.h"
#include "nlohmann/json.hpp"
#include "tools/common/history.h"
#include "tools/sim/commands.h"
#include "tools/sim/replay.h"
#include "tools/sim/replay_rules.h"
#include "tools/sim/replay_shard.h"

namespace freshet {
namespace {

// What freshetd does when nothing is configured.
constexpr const char* kDefaultPolicy = "default";

struct ReplayFlags {
  std::string history;
  std::string policy = kDefaultPolicy;
  std::string estimator;  // empty: that of the policy
  double crawls_per_day = 0;
  double signal_delay_days = 1;
  double signal_recall = 1;
  std::optional<int64_t> from;
  std::optional<int64_t> to;
  uint64_t seed = 1;
  double epoch_days = 10;
  bool unnamed_polls = false;
};

StatusOr<EstimatorKind> ParseEstimator(const std::string& name) {
  if (name == "default") return EstimatorKind::kDefault;
  if (name == "mle") return EstimatorKind::kMle;
  if (name == "cho_gm") return EstimatorKind::kChoGm;
  return InvalidArgument("--estimator {}: not default, mle or cho_gm", name);
}

// The papers run their policies on their own estimators: one rate where signals are ignored, the
// two-parameter likelihood where they count.
EstimatorKind UsualEstimator(PolicyKind kind) {
  switch (kind) {
    case PolicyKind::kGreedy:
    case PolicyKind::kHarmonic:
    case PolicyKind::kNewContent:
      return EstimatorKind::kChoGm;
    default:
      return EstimatorKind::kMle;
  }
}

StatusOr<ShardOptions> OptionsOf(const ReplayFlags& flags) {
  ShardOptions options;
  if (flags.policy == kDefaultPolicy) {
    options.policy = Policy{.kind = PolicyKind::kGreedyNcis};
    options.estimator.kind = EstimatorKind::kDefault;
  } else {
    ASSIGN_OR_RETURN(options.policy, ParseCrawlPolicy(flags.policy));
    options.estimator.kind =
        options.policy.plan ? EstimatorKind::kDefault : UsualEstimator(options.policy.index.kind);
  }
  if (!flags.estimator.empty()) {
    ASSIGN_OR_RETURN(options.estimator.kind, ParseEstimator(flags.estimator));
  }
  return options;
}

StatusOr<Instant> ParseBound(int64_t seconds, const char* flag) {
  constexpr int64_t kLastSecond = 253402300799;  // end of the year 9999
  if (seconds < 0 || seconds > kLastSecond) {
    return InvalidArgument("{} {}: not a Unix time", flag, seconds);
  }
  return Instant::FromUnixSeconds(seconds);
}

Status RunReplay(const ReplayFlags& flags) {
  ReplayOptions options;
  options.crawls_per_day = flags.crawls_per_day;
  options.signal_recall = flags.signal_recall;
  options.seed = flags.seed;
  if (!(flags.signal_delay_days >= 0) || flags.signal_delay_days > 36500) {
    return InvalidArgument("--signal-delay-days {}: not in [0, 36500]", flags.signal_delay_days);
  }
  if (!(flags.epoch_days > 0) || flags.epoch_days > 36500) {
    return InvalidArgument("--epoch-days {}: not in (0, 36500]", flags.epoch_days);
  }
  options.signal_delay = Duration::FromSeconds(flags.signal_delay_days * 86400);
  if (flags.from) {
    ASSIGN_OR_RETURN(options.from, ParseBound(*flags.from, "--from"));
  }
  if (flags.to) {
    ASSIGN_OR_RETURN(options.to, ParseBound(*flags.to, "--to"));
  }
  ASSIGN_OR_RETURN(const std::vector<HistoryPage> history, ReadHistory(flags.history));
  ASSIGN_OR_RETURN(const std::vector<ReplayPage> pages, PrepareReplay(history));
  std::unique_ptr<ReplayPolicy> policy = MakeReplayRule(flags.policy, pages);
  if (policy == nullptr) {
    ASSIGN_OR_RETURN(const ShardOptions shard, OptionsOf(flags));
    policy =
        std::make_unique<ShardReplay>(pages, shard, Duration::FromSeconds(flags.epoch_days * 86400),
                                      Rate::PerDay(flags.crawls_per_day), !flags.unnamed_polls);
  }
  const auto started = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(const ReplayResult result, Replay(pages, options, *policy));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
  const nlohmann::ordered_json line = {{"policy", flags.policy},
                                       {"pages", result.pages},
                                       {"crawls", result.crawls},
                                       {"freshness", result.freshness},
                                       {"weighted_freshness", result.weighted_freshness},
                                       {"changed_share", result.changed_share},
                                       {"seconds", seconds.count()}};
  std::cout << line.dump() << '\n';
  return {};
}

}  // namespace

void AddReplayCommand(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand("replay", "Freshness of a policy on a real history");
  auto flags = std::make_shared<ReplayFlags>();
  command->add_option("--history", flags->history, "History file, plain or gzip")->required();
  command
      ->add_option(
          "--policy", flags->policy,
          "default, an index or rate policy, uniform, importance, pings_first or nutch_adaptive")
      ->capture_default_str();
  command->add_option("--estimator", flags->estimator,
                      "default, mle or cho_gm; unset: that of the policy");
  command->add_option("--crawls-per-day", flags->crawls_per_day, "Crawls a day of all pages")
      ->required();
  command->add_option("--signal-delay-days", flags->signal_delay_days, "Days between two polls")
      ->capture_default_str();
  command->add_option("--signal-recall", flags->signal_recall, "Share of changes signalled")
      ->capture_default_str();
  command->add_option("--from", flags->from, "Begin, Unix seconds");
  command->add_option("--to", flags->to, "End, Unix seconds");
  command->add_option("--seed", flags->seed, "Seed of the signals dropped")->capture_default_str();
  command->add_option("--epoch-days", flags->epoch_days, "Days between two epochs")
      ->capture_default_str();
  command->add_flag("--unnamed-polls", flags->unnamed_polls,
                    "Signals do not tell which poll they came with: nothing is learned of bursts");
  command->callback([&action, flags] { action = [flags] { return RunReplay(*flags); }; });
}

}  // namespace freshet
