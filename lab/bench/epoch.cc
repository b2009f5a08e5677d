// freshet-bench epoch: measures how long an epoch over many pages takes, how long each of its parts
// takes, and how long requests wait during it.
#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/estimate/estimator.h"
#include "core/estimate/learned_sites.h"
#include "core/estimate/page_estimate.h"
#include "lab/bench/commands.h"
#include "lab/bench/resources.h"
#include "lab/bench/scratch_dir.h"
#include "lab/bench/stack.h"
#include "lab/bench/synthetic_store.h"
#include "lab/common/rounded.h"
#include "server/engine/epochs_of_all.h"
#include "server/engine/router.h"
#include "storage/pages_read.h"
#include "storage/store.h"

namespace freshet {
namespace {

struct EpochFlags {
  SyntheticOptions synthetic;
  int shards = 2;
  int epochs = 3;
  std::string durability = "none";
};

using SteadyClock = std::chrono::steady_clock;

// The maximum length of the measurement without an epoch, in seconds.
constexpr double kLongestIdle = 20;

double Elapsed(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

double SecondsOf(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// The waiting times of requests, in milliseconds.
struct Waits {
  std::vector<double> all;
  // CPU time of the shard's thread during each request. It is the waiting time without the effects
  // of the disk and of other processes.
  std::vector<double> worked;

  void Sort() {
    std::sort(all.begin(), all.end());
    std::sort(worked.begin(), worked.end());
  }
  static double At(const std::vector<double>& sorted, double share) {
    if (sorted.empty()) return 0;
    return Rounded(sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))], 3);
  }
};

// Sends a shard trivial requests one after the other, and records the time of each answer.
// Thread-safe.
class Prober {
 public:
  explicit Prober(Shard& shard) : shard_(shard), thread_([this] { Run(); }) {}
  ~Prober() { Stop(); }
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;

  void Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  // The results. Must be called after Stop.
  [[nodiscard]] const Waits& waits() const { return waits_; }

 private:
  // Sends a request, and returns the CPU clock of the shard's thread at its answer.
  double Ask(clockid_t* clock) {
    std::promise<double> answer;
    (void)shard_.Query([&answer, clock](const ShardView&) {
      (void)pthread_getcpuclockid(pthread_self(), clock);
      answer.set_value(SecondsOf(*clock));
    });
    return answer.get_future().get();
  }
  void Run() {
    clockid_t clock{};
    (void)Ask(&clock);
    while (!stop_) {
      const auto start = SteadyClock::now();
      const double worked = SecondsOf(clock);
      waits_.worked.push_back((Ask(&clock) - worked) * 1e3);
      waits_.all.push_back(Elapsed(start) * 1e3);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  Shard& shard_;
  std::atomic<bool> stop_ = false;
  Waits waits_;  // used only by the thread until it ends
  std::thread thread_;
};

// Runs a Prober for each shard from construction until Stop.
class Probers {
 public:
  explicit Probers(const Router& router) {
    for (Shard* shard : router.shards()) probers_.push_back(std::make_unique<Prober>(*shard));
  }
  Waits Stop() {
    Waits waits;
    for (const auto& prober : probers_) {
      prober->Stop();
      const Waits& more = prober->waits();
      waits.all.insert(waits.all.end(), more.all.begin(), more.all.end());
      waits.worked.insert(waits.worked.end(), more.worked.begin(), more.worked.end());
    }
    waits.Sort();
    return waits;
  }

 private:
  std::vector<std::unique_ptr<Prober>> probers_;
};

// The CPU seconds of each part.
struct Parts {
  double scan = 0;
  double estimate = 0;
  double collect = 0;  // collects and estimates
  double learn = 0;
  uint64_t pages = 0;
  double change_rates = 0;  // sum of the rates
};

StatusOr<Parts> RunParts(const EpochFlags& flags, const Store& store, Estimator& estimator) {
  constexpr size_t kBatch = 256;
  Parts parts;
  double last = CpuSeconds();
  const auto lap = [&last](double* part) {
    const double now = CpuSeconds();
    *part += now - std::exchange(last, now);
  };
  estimator.BeginEpoch(flags.synthetic.now);
  for (uint32_t slot = 0; slot < limits::kSlots; ++slot) {
    PageNumber from = FirstNumber(slot);
    for (bool done = false; !done;) {
      ASSIGN_OR_RETURN(ScanResult read, store.ScanPages(from, FirstNumber(slot + 1), kBatch));
      lap(&parts.scan);
      for (const PageRecord& page : read.pages) {
        parts.change_rates += estimator.Estimate(page, flags.synthetic.now).rates.change_rate;
      }
      lap(&parts.estimate);
      for (PageRecord& page : read.pages) {
        (void)estimator.CollectAndEstimate(page, flags.synthetic.now);
      }
      lap(&parts.collect);
      parts.pages += read.pages.size();
      from = read.next;
      done = read.done;
    }
  }
  estimator.FinishEpoch();
  lap(&parts.learn);
  return parts;
}

// Measures the cost per page of each part, on one thread without other work.
Status MeasureParts(const EpochFlags& flags, const Store& store) {
  Estimator estimator({});
  // The first run is not measured. It only lets the estimator learn, so that the second run costs
  // as much as an epoch of a running server.
  RETURN_IF_ERROR(RunParts(flags, store, estimator).status());
  ASSIGN_OR_RETURN(const Parts parts, RunParts(flags, store, estimator));
  const auto pages = static_cast<double>(std::max<uint64_t>(parts.pages, 1));
  PrintLine({{"part", "single thread"},
             {"pages", parts.pages},
             {"scan_us_per_page", Rounded(parts.scan * 1e6 / pages, 3)},
             {"estimate_us_per_page", Rounded(parts.estimate * 1e6 / pages, 3)},
             {"collect_and_estimate_us_per_page", Rounded(parts.collect * 1e6 / pages, 3)},
             {"learn_ms", Rounded(parts.learn * 1e3, 3)},
             {"mean_change_rate_per_day", Rounded(parts.change_rates * 86400 / pages, 6)}});
  return {};
}

Status MeasureEpoch(const EpochFlags& flags, int number, BenchStack& stack, const Router& router) {
  Probers probers(router);
  uint64_t commits = 0;
  for (Shard* shard : router.shards()) commits += shard->snapshot().commits.count;
  (void)stack.TakeLongestCommit();
  const double cpu = CpuSeconds();
  const auto start = SteadyClock::now();
  std::promise<StatusOr<EpochResult>> done;
  RunEpochs(router, [&done](const Status& status, const EpochResult& result) {
    if (!status.ok()) return done.set_value(status);
    done.set_value(result);
  });
  ASSIGN_OR_RETURN(const EpochResult result, done.get_future().get());
  const double seconds = Elapsed(start);
  const double cpu_seconds = CpuSeconds() - cpu;
  const Waits waits = probers.Stop();
  // Probes for the same time without an epoch, for comparison.
  Probers idle_probers(router);
  std::this_thread::sleep_for(std::chrono::duration<double>(std::min(seconds, kLongestIdle)));
  const Waits idle = idle_probers.Stop();
  uint64_t commits_after = 0;
  for (Shard* shard : router.shards()) commits_after += shard->snapshot().commits.count;
  const auto pages = static_cast<double>(flags.synthetic.pages);
  PrintLine({{"epoch", number},
             {"pages", flags.synthetic.pages},
             {"shards", flags.shards},
             {"seconds", Rounded(seconds, 3)},
             {"seconds_per_10m_pages", Rounded(seconds * 1e7 / pages, 2)},
             {"cpu_seconds_per_10m_pages", Rounded(cpu_seconds * 1e7 / pages, 2)},
             {"pages_again", result.again},
             {"pages_written", result.changed},
             {"commits", commits_after - commits},
             {"longest_commit_ms", Rounded(stack.TakeLongestCommit().seconds() * 1e3, 3)},
             {"wait_p50_ms", Waits::At(waits.all, 0.5)},
             {"wait_p99_ms", Waits::At(waits.all, 0.99)},
             {"longest_wait_ms", Waits::At(waits.all, 1)},
             {"worked_p50_ms", Waits::At(waits.worked, 0.5)},
             {"worked_p99_ms", Waits::At(waits.worked, 0.99)},
             {"longest_worked_ms", Waits::At(waits.worked, 1)},
             {"idle_wait_p99_ms", Waits::At(idle.all, 0.99)},
             {"idle_longest_wait_ms", Waits::At(idle.all, 1)},
             {"idle_longest_worked_ms", Waits::At(idle.worked, 1)},
             {"resident_bytes_per_page", Rounded(ResidentBytes() / pages, 1)},
             {"durability", flags.durability}});
  return {};
}

Status RunEpochBench(EpochFlags flags) {
  BenchStack::Options options;
  ASSIGN_OR_RETURN(options.durability, ParseDurability(flags.durability));
  options.shards = flags.shards;
  flags.synthetic.varied = true;
  flags.synthetic.now = SystemClock().Now() - Duration::Hours(1);
  ASSIGN_OR_RETURN(const ScratchDir scratch, ScratchDir::Make("freshet-epoch"));
  const std::string dir = scratch.path() + "/store";
  RETURN_IF_ERROR(MakeSyntheticStore(dir, flags.synthetic));
  BenchStack stack;
  RETURN_IF_ERROR(stack.Start(dir, options));
  RETURN_IF_ERROR(MeasureParts(flags, *stack.store));
  {
    const Router router(stack.Shards());
    for (int i = 1; i <= flags.epochs; ++i) {
      RETURN_IF_ERROR(MeasureEpoch(flags, i, stack, router));
    }
  }
  return stack.Stop();
}

}  // namespace

void AddEpochBench(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand("epoch",
                                         "Measure how long an epoch (new estimates of all pages) "
                                         "takes, and how long other work waits for it");
  auto flags = std::make_shared<EpochFlags>();
  AddSyntheticFlags(*command, flags->synthetic);
  command->add_option("--shards", flags->shards, "Number of shards")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  command
      ->add_option(
          "--epochs", flags->epochs,
          "Number of epochs to time; the first computes the estimates of all pages from scratch")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command
      ->add_option("--durability", flags->durability,
                   "What written data survives: a power cut (sync), only a crash of the program "
                   "(wal) or neither (none)")
      ->capture_default_str();
  command->callback([&action, flags] { action = [flags] { return RunEpochBench(*flags); }; });
}

}  // namespace freshet
