#include "lab/bench/recover_killed.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lab/bench/commands.h"
#include "lab/bench/load.h"
#include "lab/bench/scratch_dir.h"
#include "lab/common/rounded.h"

namespace freshet {
namespace {

constexpr int kItemsOfMessage = 1000;
constexpr uint32_t kCredit = 10'000;
constexpr std::chrono::milliseconds kLook{5};

using KilledClock = std::chrono::steady_clock;

double SecondsUpTo(KilledClock::time_point end, KilledClock::time_point start) {
  return std::chrono::duration<double>(end - start).count();
}

// Loads the server with streams of assignments, results and signals, as fast as the server allows.
class FullLoad {
 public:
  FullLoad(const Served& served, const SyntheticOptions& pages) : channel_(served.NewChannel()) {
    clients_.push_back(
        MakeCrawlWorker(channel_, {.name = "bench-killed", .credit = kCredit}, tally_));
    for (uint64_t i = 0; i < 2; ++i) {
      clients_.push_back(MakeSignalStream(channel_,
                                          RandomSignals(pages, kItemsOfMessage, pages.seed + i),
                                          /*in_flight=*/4, tally_));
    }
    for (const auto& client : clients_) client->Start();
  }
  // Ends the streams after the server has ended.
  void End() {
    for (const auto& client : clients_) (void)client->End();
  }
  [[nodiscard]] const LoadTally& tally() const { return tally_; }

 private:
  LoadTally tally_;
  std::shared_ptr<grpc::Channel> channel_;
  std::vector<std::unique_ptr<LoadClient>> clients_;
};

Status LoadPages(const Served& served, const SyntheticOptions& pages) {
  LoadTally tally;
  std::atomic<uint64_t> next = 0;
  const auto channel = served.NewChannel();
  const auto stream =
      MakeUpsertStream(channel, AllPages(pages, kItemsOfMessage, next), /*in_flight=*/8, tally);
  stream->Start();
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (!stream->quiet());
  RETURN_IF_ERROR(stream->End());
  if (tally.upserts == pages.pages) return {};
  return MakeStatus(absl::StatusCode::kUnavailable, "{} of {} pages were loaded",
                    tally.upserts.load(), pages.pages);
}

// Reads from the server's metrics in which stage the start is, until Stop.
class StageWatch {
 public:
  explicit StageWatch(std::string address)
      : address_(std::move(address)), thread_([this] { Run(); }) {}
  // Returns the seconds spent in each stage, in the order of the stages.
  std::vector<std::pair<std::string, double>> Stop() {
    over_ = true;
    thread_.join();
    return seconds_;
  }
  // Must be called after Stop.
  [[nodiscard]] double log_bytes() const { return log_bytes_; }

 private:
  void Run() {
    auto last = KilledClock::now();
    while (!over_) {
      const auto metrics = ReadMetrics(address_);
      const auto now = KilledClock::now();
      if (metrics.ok()) Note(*metrics, SecondsUpTo(now, std::exchange(last, now)));
      std::this_thread::sleep_for(kLook);
    }
  }
  void Note(const std::map<std::string, double>& metrics, double seconds) {
    constexpr std::string_view kStage = "freshet_recovery_stage_info{stage=\"";
    const auto bytes = metrics.find("freshet_recovery_log_bytes");
    if (bytes != metrics.end()) log_bytes_ = std::max(log_bytes_, bytes->second);
    const auto stage = metrics.lower_bound(std::string(kStage));
    if (stage == metrics.end() || !stage->first.starts_with(kStage)) return;
    const std::string name =
        stage->first.substr(kStage.size(), stage->first.find('"', kStage.size()) - kStage.size());
    if (seconds_.empty() || seconds_.back().first != name) seconds_.emplace_back(name, 0);
    seconds_.back().second += seconds;
  }

  const std::string address_;
  std::atomic<bool> over_ = false;
  std::vector<std::pair<std::string, double>> seconds_;  // used only by the thread until it ends
  double log_bytes_ = 0;                                 // like seconds_
  std::thread thread_;
};

}  // namespace

Status MeasureKilled(const SyntheticOptions& pages, const ServedOptions& options,
                     double load_seconds) {
  ASSIGN_OR_RETURN(const ScratchDir scratch, ScratchDir::Make("freshet-killed"));
  Served served(options);
  RETURN_IF_ERROR(served.Start(scratch.path()));
  RETURN_IF_ERROR(LoadPages(served, pages));
  RETURN_IF_ERROR(served.SetCrawlRate(kGreatestRate));
  FullLoad load(served, pages);
  std::this_thread::sleep_for(std::chrono::duration<double>(load_seconds));
  served.daemon().Kill();
  load.End();

  const auto start = KilledClock::now();
  RETURN_IF_ERROR(served.Launch(scratch.path()));
  StageWatch watch(served.daemon().http_address());
  const Status ready = served.daemon().AwaitReady();
  const double seconds = SecondsUpTo(KilledClock::now(), start);
  const std::optional<ProcessUse> use = served.Use();
  const auto stages = watch.Stop();
  RETURN_IF_ERROR(ready);
  nlohmann::ordered_json line = {
      {"case", "killed under load"},
      {"pages", served.daemon().pages()},
      {"seconds", Rounded(seconds, 3)},
      {"recovered_seconds", Rounded(served.daemon().recovered_seconds(), 3)}};
  for (const auto& [stage, took] : stages) line[stage + "_seconds"] = Rounded(took, 3);
  line["cpu_seconds"] = use ? Rounded(use->cpu_seconds, 2) : nullptr;
  line["log_bytes"] = watch.log_bytes();
  line["crawls"] = load.tally().results.load();
  line["signals"] = load.tally().signals.load();
  line["load_seconds"] = load_seconds;
  line["shards"] = options.shards;
  PrintLine(std::move(line));
  return served.Stop();
}

}  // namespace freshet
