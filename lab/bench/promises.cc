// freshet-bench promises: measures whether workers on real sockets get assignments at the constant
// rate that the server promises, while the server does any other work.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/schedule/pacer.h"
#include "fmt/format.h"
#include "lab/bench/commands.h"
#include "lab/bench/disturbance.h"
#include "lab/bench/load.h"
#include "lab/bench/resources.h"
#include "lab/bench/scratch_dir.h"
#include "lab/bench/served.h"
#include "lab/bench/synthetic_store.h"
#include "lab/bench/windows.h"
#include "lab/common/rounded.h"
#include "nlohmann/json.hpp"
#include "server/base/limits.h"
#include "server/base/system_clock.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

struct PromisesFlags {
  SyntheticOptions synthetic = {.pages = 1'000'000, .pages_per_host = 10};
  ServedOptions served;
  std::vector<double> rates = {1, 100, 5000, 20'000};
  std::vector<int> workers = {1, 10, 1000};
  std::vector<std::string> beside = {kNothingBeside};
  double seconds = 10;
};

// The arrival times of assignments, and their workers. Thread-safe.
class Arrivals {
 public:
  void Add(int worker, int64_t at_us, int count) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    times_.insert(times_.end(), static_cast<size_t>(count), at_us);
    of_worker_[worker] += count;
  }
  // Returns the times since the last call, in order, and the number of assignments of each worker.
  void Take(std::vector<int64_t>* times, std::map<int, int>* of_worker) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    times->swap(times_);
    of_worker->swap(of_worker_);
    times_.clear();
    of_worker_.clear();
    std::sort(times->begin(), times->end());
  }

 private:
  Mutex mutex_;
  std::vector<int64_t> times_ FRESHET_GUARDED_BY(mutex_);
  std::map<int, int> of_worker_ FRESHET_GUARDED_BY(mutex_);
};

// A thread that does nothing but wait for ticks. Ticks that even this thread misses are the
// machine's fault. Owner thread only.
class BareTicker {
 public:
  explicit BareTicker(double rate) : thread_([this, rate] { Run(rate); }) {}
  ~BareTicker() { Join(); }
  // Ends the thread. Returns the share of ticks for which it woke too late.
  [[nodiscard]] double LateShare() {
    Join();
    return ticks_ > 0 ? static_cast<double>(late_) / static_cast<double>(ticks_) : 0;
  }

 private:
  void Join() {
    ended_ = true;
    if (thread_.joinable()) thread_.join();
  }
  // Works like the server: one wake-up handles all ticks within kTogether, and a tick that is too
  // late is dropped.
  void Run(double rate) {
    SystemClock clock;
    Pacer pacer(Rate::PerSecond(rate), clock.Now());
    while (!ended_) {
      const Duration wait = std::max(pacer.next() - clock.Now(), kTogether);
      std::this_thread::sleep_for(std::min(wait, kLongest).chrono());
      const Instant now = clock.Now();
      const auto late = static_cast<uint64_t>(pacer.SkipMissed(now));
      late_ += late;
      ticks_ += late;
      for (; pacer.next() <= now; ++ticks_) (void)pacer.Use();
    }
  }

  static constexpr Duration kTogether = Duration::Micros(250);
  static constexpr Duration kLongest = Duration::Millis(100);
  std::atomic<bool> ended_ = false;
  uint64_t late_ = 0;   // used only by the thread until it ends
  uint64_t ticks_ = 0;  // like late_
  std::thread thread_;
};

constexpr const char* kTickReasons[] = {"late", "page", "credit"};

std::string TickMetric(const std::string& reason) {
  return fmt::format("freshet_unused_ticks_total{{reason=\"{}\"}}", reason);
}

struct Row {
  double rate = 0;
  int workers = 1;
  std::string beside;
};

// Starts workers with enough credit for some seconds at the rate.
std::vector<std::unique_ptr<LoadClient>> StartWorkers(const Row& row, const Served& served,
                                                      Arrivals& arrivals, LoadTally& tally) {
  constexpr int kMostConnections = 100;
  constexpr double kSecondsOfCredit = 4;
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; i < std::min(row.workers, kMostConnections); ++i) {
    channels.push_back(served.NewChannel());
  }
  const double credit = std::ceil(kSecondsOfCredit * row.rate / row.workers) + 4;
  std::vector<std::unique_ptr<LoadClient>> workers;
  for (int i = 0; i < row.workers; ++i) {
    WorkerSettings settings = {
        .name = fmt::format("promises-{}-{}", row.workers, i),
        .credit = static_cast<uint32_t>(std::min<double>(credit, limits::kMaxCreditPerWorker))};
    settings.on_assignments = [i, &arrivals](int count, int64_t unix_us) {
      arrivals.Add(i, unix_us, count);
    };
    workers.push_back(MakeCrawlWorker(channels[static_cast<size_t>(i) % channels.size()],
                                      std::move(settings), tally));
    workers.back()->Start();
  }
  return workers;
}

// Adds the spread among workers with credit: the smallest and the largest number of assignments of
// one worker, relative to the mean.
void AddSpread(const std::map<int, int>& of_worker, int workers, nlohmann::ordered_json& line) {
  int64_t all = 0;
  int most = 0;
  int least = of_worker.size() < static_cast<size_t>(workers) ? 0 : INT32_MAX;
  for (const auto& [worker, count] : of_worker) {
    all += count;
    most = std::max(most, count);
    least = std::min(least, count);
  }
  const double mean = static_cast<double>(all) / workers;
  line["least_of_mean"] = Rounded(least / mean, 3);
  line["most_of_mean"] = Rounded(most / mean, 3);
}

Status MeasureRow(const PromisesFlags& flags, const Row& row, Served& served) {
  fmt::print(stderr, "rate {:g}, {} workers, beside: {}\n", row.rate, row.workers, row.beside);
  constexpr double kWarmup = 1;
  served.AwaitRest();
  LoadTally tally;
  Arrivals arrivals;
  auto workers = StartWorkers(row, served, arrivals, tally);
  RETURN_IF_ERROR(served.SetCrawlRate(row.rate));
  const auto disturbance = MakeDisturbance(row.beside, served, flags.synthetic, row.rate);
  std::this_thread::sleep_for(std::chrono::duration<double>(kWarmup));
  std::vector<int64_t> times;
  std::map<int, int> of_worker;
  arrivals.Take(&times, &of_worker);
  tally.ticks.Clear();
  BareTicker bare(row.rate);
  auto before = served.Metrics();
  std::this_thread::sleep_for(std::chrono::duration<double>(flags.seconds));
  arrivals.Take(&times, &of_worker);
  auto after = served.Metrics();
  const double bare_late = bare.LateShare();
  RETURN_IF_ERROR(disturbance->End());
  RETURN_IF_ERROR(served.SetCrawlRate(0));

  const double greatest = disturbance->greatest_rate().value_or(row.rate);
  const WindowExtremes windows = ExtremesOfWindows(times, row.rate, greatest);
  const auto grown = [&](const std::string& name) { return after[name] - before[name]; };
  double ticks = grown("freshet_assignments_total");
  for (const char* reason : kTickReasons) ticks += grown(TickMetric(reason));
  nlohmann::ordered_json line = {{"mode", "promises"},
                                 {"rate", row.rate},
                                 {"workers", row.workers},
                                 {"beside", row.beside},
                                 {"beside_per_second", Rounded(disturbance->per_second(), 1)},
                                 {"assignments", times.size()},
                                 {"seconds", flags.seconds},
                                 {"too_many_in_a_window", windows.too_many},
                                 {"too_many_window_ms", Rounded(windows.too_many_us / 1e3, 2)},
                                 {"too_few_in_a_window", windows.too_few},
                                 {"tick_to_worker_p50_us", tally.ticks.Quantile(0.5)},
                                 {"tick_to_worker_p99_us", tally.ticks.Quantile(0.99)},
                                 {"tick_to_worker_p999_us", tally.ticks.Quantile(0.999)}};
  for (const char* reason : kTickReasons) {
    line[fmt::format("{}_ticks_share", reason)] =
        ticks > 0 ? nlohmann::ordered_json(Rounded(grown(TickMetric(reason)) / ticks, 6)) : nullptr;
  }
  line["bare_late_ticks_share"] = Rounded(bare_late, 6);
  AddSpread(of_worker, row.workers, line);
  PrintLine(line);
  Status ended;
  for (const auto& worker : workers) worker->Finish();
  for (const auto& worker : workers) ended.Update(worker->End());
  return ended;
}

// Loads all pages of the synthetic store.
Status LoadPages(const PromisesFlags& flags, const Served& served) {
  constexpr int kInFlight = 8;
  LoadTally tally;
  std::atomic<uint64_t> next = 0;
  const auto stream = MakeUpsertStream(served.NewChannel(),
                                       AllPages(flags.synthetic, limits::kMaxItemsPerMessage, next),
                                       kInFlight, tally);
  stream->Start();
  while (!stream->quiet()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const Status ended = stream->End();
  if (!ended.ok() || tally.upserts == flags.synthetic.pages) return ended;
  return MakeStatus(absl::StatusCode::kUnavailable, "{} of {} pages were taken",
                    tally.upserts.load(), flags.synthetic.pages);
}

Status RunPromises(const PromisesFlags& flags) {
  const bool certificates =
      std::find(flags.beside.begin(), flags.beside.end(), kCertificates) != flags.beside.end();
  if (certificates && !flags.served.tls) {
    return MakeStatus(absl::StatusCode::kInvalidArgument, "beside certificates: needs --tls");
  }
  ASSIGN_OR_RETURN(const ScratchDir scratch, ScratchDir::Make("freshet-promises"));
  Served served(flags.served);
  RETURN_IF_ERROR(served.Start(scratch.path()));
  RETURN_IF_ERROR(LoadPages(flags, served));
  for (const std::string& beside : flags.beside) {
    for (const double rate : flags.rates) {
      for (const int workers : flags.workers) {
        RETURN_IF_ERROR(MeasureRow(flags, {rate, workers, beside}, served));
      }
    }
  }
  return served.Stop();
}

}  // namespace

void AddPromisesBench(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "promises",
      "Check that the server hands out pages at a constant rate while it does other work");
  auto flags = std::make_shared<PromisesFlags>();
  AddSyntheticFlags(*command, flags->synthetic);
  command->add_option("--rate", flags->rates, "Crawls a second")
      ->delimiter(',')
      ->check(CLI::Range(0.1, 1e6));
  command->add_option("--workers", flags->workers, "Numbers of workers to measure with")
      ->delimiter(',')
      ->check(CLI::Range(1, 1000));
  command
      ->add_option("--beside", flags->beside,
                   "Other work that the server does during the measurement; each gives one row of "
                   "the output")
      ->delimiter(',')
      ->check(CLI::IsMember(Besides()));
  command
      ->add_option("--seconds", flags->seconds, "Seconds of measurement for each row of the output")
      ->capture_default_str()
      ->check(CLI::Range(0.05, 86'400.0));
  command->add_option("--server", flags->served.program, "Path of the program freshetd")
      ->check(CLI::ExistingFile);
  command->add_option("--shards", flags->served.shards, "Number of shards")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  command->add_flag("--tls", flags->served.tls, "Use TLS, with certificates made for the run");
  command
      ->add_option("--durability", flags->served.durability,
                   "What the server's data survives: a power cut (sync), only a crash of the "
                   "server (wal) or neither (none)")
      ->capture_default_str();
  command->callback([&action, flags] { action = [flags] { return RunPromises(*flags); }; });
}

}  // namespace freshet
