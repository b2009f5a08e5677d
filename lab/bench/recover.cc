// freshet-bench recover: measures how long it takes to open a store and rebuild the shards from it,
// as after a kill.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/model/policy.h"
#include "core/schedule/pick.h"
#include "core/schedule/shard_counters.h"
#include "core/schedule/shard_options.h"
#include "core/schedule/shard_state.h"
#include "lab/bench/commands.h"
#include "lab/bench/recover_killed.h"
#include "lab/bench/resources.h"
#include "lab/bench/scratch_dir.h"
#include "lab/bench/synthetic_store.h"
#include "lab/common/rounded.h"
#include "server/engine/shard_loader.h"
#include "storage/store.h"

namespace freshet {
namespace {

struct RecoverFlags {
  SyntheticOptions synthetic;
  int shards = 1;
  unsigned threads = 0;
  std::string policy = "greedy_ncis";
  std::string dir;
  double load_seconds = 0;
  std::string server;
};

class Stopwatch {
 public:
  [[nodiscard]] double Lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

Status RunRecoverBench(RecoverFlags flags) {
  if (flags.load_seconds > 0) {
    return MeasureKilled(flags.synthetic, {.program = flags.server, .shards = flags.shards},
                         flags.load_seconds);
  }
  ASSIGN_OR_RETURN(const Policy policy, ParsePolicy(flags.policy));
  flags.synthetic.now = Instant::FromUnixSeconds(1'800'000'000);
  ASSIGN_OR_RETURN(const ScratchDir scratch, ScratchDir::Make("freshet-recover"));
  const std::string dir = flags.dir.empty() ? scratch.path() + "/store" : flags.dir;
  Stopwatch watch;
  if (!std::filesystem::exists(dir)) RETURN_IF_ERROR(MakeSyntheticStore(dir, flags.synthetic));
  const double prepare_seconds = watch.Lap();

  const double cpu_before = CpuSeconds();
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> store,
                   Store::Open(dir, {.hold_compactions = true}));
  const double open_seconds = watch.Lap();
  const double before = ResidentBytes();
  (void)watch.Lap();
  std::vector<std::unique_ptr<ShardState>> states;
  std::vector<ShardState*> shards;
  for (int i = 0; i < flags.shards; ++i) {
    ShardOptions options;
    options.policy = policy;
    options.shard = static_cast<uint16_t>(i);
    options.fingerprinter = store->fingerprinter();
    states.push_back(std::make_unique<ShardState>(options));
    shards.push_back(states.back().get());
  }
  LoadProgress progress;
  RETURN_IF_ERROR(
      LoadShards(*store, shards, {.threads = flags.threads, .now = flags.synthetic.now}, progress));
  const double load_seconds = watch.Lap();
  const double cpu_seconds = CpuSeconds() - cpu_before;
  const double resident = ResidentBytes() - before;
  (void)watch.Lap();
  double first_value = 0;
  for (ShardState* shard : shards) {
    const std::optional<Pick> first = shard->Peek(flags.synthetic.now);
    if (first) first_value = std::max(first_value, first->value);
  }
  const double first_pick_seconds = watch.Lap();

  uint64_t pages = 0;
  for (const ShardState* shard : shards) pages += shard->counters().pages;
  const double seconds = open_seconds + load_seconds;
  PrintLine({{"pages", pages},
             {"seconds", Rounded(seconds, 4)},
             {"pages_per_second", Rounded(static_cast<double>(pages) / seconds, 0)},
             {"open_seconds", Rounded(open_seconds, 4)},
             {"load_seconds", Rounded(load_seconds, 4)},
             {"cpu_seconds", Rounded(cpu_seconds, 4)},
             {"first_pick_seconds", Rounded(first_pick_seconds, 4)},
             {"resident_bytes_per_page", Rounded(resident / static_cast<double>(pages), 1)},
             {"shards", flags.shards},
             {"log_rows", flags.synthetic.log_rows},
             {"policy", flags.policy},
             {"first_value", Significant(first_value, 6)},
             {"prepare_seconds", Rounded(prepare_seconds, 2)}});
  return {};
}

}  // namespace

void AddRecoverBench(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "recover", "Measure the time from the kill of a server until it can serve again");
  auto flags = std::make_shared<RecoverFlags>();
  AddSyntheticFlags(*command, flags->synthetic);
  flags->synthetic.log_rows = 200'000;
  command
      ->add_option("--log-rows", flags->synthetic.log_rows,
                   "Number of changes in the log, which the recovery must replay")
      ->capture_default_str();
  command->add_option("--shards", flags->shards, "Number of shards")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  command->add_option("--threads", flags->threads, "Number of threads; 0 for one per core")
      ->capture_default_str();
  command->add_option("--policy", flags->policy, "Policy of the server")->capture_default_str();
  command->add_option("--dir", flags->dir,
                      "Directory in which the command keeps the store; if it has one from an "
                      "earlier run, the command uses that store");
  command
      ->add_option("--killed-under-load", flags->load_seconds,
                   "Start a server (freshetd) and kill it after this many seconds of full load; "
                   "without this flag only the store is opened")
      ->check(CLI::Range(0.01, 86'400.0))
      ->excludes("--log-rows", "--threads", "--policy", "--dir");
  command->add_option("--server", flags->server, "Path of the program freshetd")
      ->check(CLI::ExistingFile)
      ->needs("--killed-under-load");
  command->callback([&action, flags] { action = [flags] { return RunRecoverBench(*flags); }; });
}

}  // namespace freshet
