// Kills freshetd again and again. Each time, checks that everything that was acknowledged is there.
// The command line sets the number of kills and the first seed.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "tests/crash/lane.h"

namespace freshet::crash {
namespace {

struct Options {
  uint64_t runs = 200;
  uint64_t seed = 1;
  uint64_t lanes = 2;
  uint64_t slow_sync = 0;
};

// Makes the disk of servers that are started from now on slow, so that the servers read the next
// messages during a commit.
void SlowSyncs(uint64_t millis) {
  setenv("LD_PRELOAD", FRESHET_SLOW_SYNC, 1);
  setenv("FRESHET_SLOW_SYNC_MS", std::to_string(millis).c_str(), 1);
}

// Each lane has a different seed and does its share of the kills.
int Main(const Options& options) {
  if (options.slow_sync > 0) SlowSyncs(options.slow_sync);
  std::string pattern = std::filesystem::temp_directory_path() / "freshet_crash_XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) {
    fmt::print(stderr, "crash: cannot create {}\n", pattern);
    return 1;
  }
  Tally tally;
  std::atomic<bool> failed{false};
  const int64_t start = NowMicros();
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < options.lanes; ++i) {
    threads.emplace_back([&, i] {
      const uint64_t seed = options.seed + i;
      Lane lane(seed, fmt::format("{}/lane{}", pattern, i), &tally);
      for (uint64_t run = 0; !failed; ++run) {
        const bool last = tally.kills >= options.runs;
        const std::string wrong = last ? lane.Verify() : lane.Run(run);
        if (wrong.empty() && last) return;
        if (wrong.empty()) continue;
        failed = true;
        fmt::print(stderr,
                   "crash: FAILED seed={} run={}: {}; data in {}/lane{}; "
                   "again: ./dev crash --runs {} --seed {} --lanes 1{}\n",
                   seed, run, wrong, pattern, i, std::max<uint64_t>(options.runs, 2 * run + 2),
                   seed,
                   options.slow_sync == 0 ? "" : fmt::format(" --slow-sync {}", options.slow_sync));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  fmt::print(
      "crash: {} kills ({} while starting, {} in epochs, {} in checkpoints, {} while stopping, {} "
      "when idle), {} orderly stops, {} operations acknowledged, {} stores verified, {:.1f} s\n",
      tally.kills.load(), tally.starting.load(), tally.epochs.load(), tally.copies.load(),
      tally.stopping.load(), tally.quiet.load(), tally.stops.load(), tally.acknowledged.load(),
      tally.verified.load(), static_cast<double>(NowMicros() - start) / 1e6);
  if (failed) return 1;
  std::error_code error;
  std::filesystem::remove_all(pattern, error);
  return 0;
}

}  // namespace
}  // namespace freshet::crash

int main(int argc, char** argv) {
  CLI::App app("Kills freshetd under load and compares what comes back with what was promised.");
  freshet::crash::Options options;
  app.add_option("--runs", options.runs, "kills, of all lanes together (200)");
  app.add_option("--seed", options.seed, "seed of the first lane (1)");
  app.add_option("--lanes", options.lanes, "servers at a time (2)");
  app.add_option("--slow-sync", options.slow_sync,
                 "milliseconds that each fdatasync of a server takes longer (0)");
  CLI11_PARSE(app, argc, argv);
  return freshet::crash::Main(options);
}
