// freshet-bench serve: measures the throughput and the cost of a server over gRPC, and how long
// clients wait.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "lab/bench/commands.h"
#include "lab/bench/frontier_load.h"
#include "lab/bench/in_process.h"
#include "lab/bench/load.h"
#include "lab/bench/resources.h"
#include "lab/bench/scratch_dir.h"
#include "lab/bench/serve_rows.h"
#include "lab/bench/served.h"
#include "lab/bench/synthetic_store.h"
#include "lab/common/rounded.h"
#include "server/base/limits.h"
#include "storage/store.h"

namespace freshet {
namespace {

void Sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

ServeSample TakeSample(const Served& served, const LoadTally& tally, const ServeMode& mode) {
  return {.at = std::chrono::steady_clock::now(),
          .assignments = tally.assignments,
          .results = tally.results,
          .signals = tally.signals,
          .upserts = tally.upserts,
          .items = tally.*mode.items,
          .client_cpu_seconds = CpuSeconds(),
          .server = served.Use(),
          .metrics = served.Metrics()};
}

// The clients of a row, and the objects that they share.
struct Clients {
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  std::vector<std::unique_ptr<LoadClient>> all;
  VisitQueue visits;               // from Next, to be reported
  ItemStream* reporter = nullptr;  // one of `all`, or nullptr
  std::atomic<uint64_t> next_page = 0;
};

std::vector<std::shared_ptr<grpc::Channel>> Connect(const Served& served, int connections) {
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; i < connections; ++i) channels.push_back(served.NewChannel());
  return channels;
}

WorkerSettings SettingsOf(const ServeRow& row, int worker) {
  return {.name = fmt::format("bench-{}-{}", row.workers, worker),
          .credit = row.mode == "next" ? static_cast<uint32_t>(row.batch) : row.credit};
}

void MakeClients(const ServeFlags& flags, const ServeRow& row, const Served& served,
                 LoadTally& tally, Clients& clients) {
  clients.channels = Connect(served, std::min(row.workers, flags.connections));
  const auto& channels = clients.channels;
  const int in_flight = row.batch > 0 ? InFlight(flags, row.batch) : 0;
  for (int i = 0; i < row.workers; ++i) {
    const auto& channel = channels[static_cast<size_t>(i) % channels.size()];
    const uint64_t seed = flags.synthetic.seed * 1000 + static_cast<uint64_t>(i);
    std::unique_ptr<LoadClient>& client = clients.all.emplace_back();
    if (row.mode == "crawl") {
      client = MakeCrawlWorker(channel, SettingsOf(row, i), tally);
    } else if (row.mode == "next") {
      const auto pass_on = [&clients](const v1::NextResponse& response) {
        clients.visits.Add(response);
        clients.reporter->Wake();
      };
      client = MakeNextCaller(channel, SettingsOf(row, i), pass_on, tally);
    } else if (row.mode == "signals") {
      client = MakeSignalStream(channel, RandomSignals(flags.synthetic, row.batch, seed), in_flight,
                                tally);
    } else if (row.mode == "results") {
      client = MakeResultStream(channel, RandomResults(flags.synthetic, row.batch, seed), in_flight,
                                tally);
    } else if (row.mode == "frontier_put") {
      client = MakeFrontierPutter(channel, flags.synthetic, clients.next_page, tally);
    } else if (row.mode == "frontier_crawl") {
      client = MakeFrontierCrawler(channel, tally);
    } else {
      client = MakeUpsertStream(channel, AllPages(flags.synthetic, row.batch, clients.next_page),
                                in_flight, tally);
    }
  }
  if (row.mode != "next") return;
  auto reporter = MakeResultStream(
      channels.front(),
      [&clients](v1::ReportCrawlsRequest* request) { return clients.visits.Fill(request); },
      limits::kMaxUnackedMessagesPerStream, tally);
  clients.reporter = reporter.get();
  clients.all.push_back(std::move(reporter));
}

bool AllQuiet(const Clients& clients) {
  return std::all_of(clients.all.begin(), clients.all.end(),
                     [](const auto& client) { return client->quiet(); });
}

// Waits until no request has been in flight at three checks in a row. Returns false if this takes
// more than half a minute.
bool AwaitQuiet(const Clients& clients) {
  int quiet = 0;
  for (int i = 0; i < 600 && quiet < 3; ++i) {
    Sleep(0.05);
    quiet = AllQuiet(clients) ? quiet + 1 : 0;
  }
  return quiet == 3;
}

// Runs a row. A loading row runs until all pages are sent. Other rows run for their time, or until
// they have handled their last item.
Status RunFor(const ServeFlags& flags, const ServeMode& mode, const ServeRow& row,
              const Clients& clients, const LoadTally& tally) {
  if (!IsLoading(row)) {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(flags.seconds);
    const uint64_t last = tally.*mode.items + MostItems(flags, mode);
    while (std::chrono::steady_clock::now() < end && tally.*mode.items < last) Sleep(0.005);
    return {};
  }
  while (!AllQuiet(clients)) Sleep(0.005);
  if (tally.upserts + tally.refused >= flags.synthetic.pages) return {};
  return MakeStatus(absl::StatusCode::kUnavailable, "the streams ended after {} of {} pages",
                    tally.upserts.load(), flags.synthetic.pages);
}

// Measures a row, and returns its items per second.
StatusOr<double> MeasureRow(const ServeFlags& flags, const ServeMode& mode, const ServeRow& row,
                            Served& served, bool print) {
  served.AwaitRest();
  const bool crawls = row.mode == "crawl" || row.mode == "next";
  RETURN_IF_ERROR(served.SetCrawlRate(crawls ? row.rate : 0));
  LoadTally tally;
  Clients clients;
  MakeClients(flags, row, served, tally, clients);
  ServeSample before = TakeSample(served, tally, mode);
  for (const auto& client : clients.all) client->Start();
  if (!IsLoading(row)) {
    Sleep(flags.warmup);
    for (Latencies* latencies : {&tally.ticks, &tally.acks, &tally.calls}) latencies->Clear();
    before = TakeSample(served, tally, mode);
  }
  const Status ran = RunFor(flags, mode, row, clients, tally);
  const ServeSample after = TakeSample(served, tally, mode);
  const nlohmann::ordered_json line = LineOf(flags, mode, row, before, after, tally);
  // Stops all clients except the reporter, which must still report leased pages. In mode next,
  // waiting calls first get their pages at the crawl rate. Then the rate is set to 0, because
  // workers on streams leave unused credit at the server, which would lease further pages for it.
  for (const auto& client : clients.all) {
    if (client.get() != clients.reporter) client->Finish();
  }
  if (row.mode == "next") (void)AwaitQuiet(clients);
  RETURN_IF_ERROR(served.SetCrawlRate(0));
  const bool quiet = AwaitQuiet(clients);
  Status ended = ran;
  for (const auto& client : clients.all) ended.Update(client->End());
  RETURN_IF_ERROR(ended);
  if (!quiet) fmt::print(stderr, "{}: the server left some of it unanswered\n", row.mode);
  if (print) PrintLine(line);
  return static_cast<double>(after.items - before.items) /
         std::chrono::duration<double>(after.at - before.at).count();
}

Status MeasureMode(const ServeFlags& flags, const ServeMode& mode, Served& served) {
  for (const ServeRow& row : RowsOf(mode, flags)) {
    fmt::print(stderr, "{}: {} clients, batch {}, credit {}\n", row.mode, row.workers, row.batch,
               row.credit);
    ASSIGN_OR_RETURN(const double rate, MeasureRow(flags, mode, row, served, true));
    if (!flags.half || row.mode != "crawl") continue;
    ServeRow half = row;
    half.rate = rate / 2;
    RETURN_IF_ERROR(MeasureRow(flags, mode, half, served, true).status());
  }
  return {};
}

// Measures the cost of streams that send nothing after their hello.
Status MeasureIdle(const ServeFlags& flags, Served& served) {
  served.AwaitRest();
  const std::optional<ProcessUse> before = served.Use();
  constexpr int kStreamsOfAConnection = 100;
  LoadTally tally;
  const auto channels = Connect(served, (flags.idle_streams - 1) / kStreamsOfAConnection + 1);
  std::vector<std::unique_ptr<LoadClient>> streams;
  for (int i = 0; i < flags.idle_streams; ++i) {
    streams.push_back(MakeCrawlWorker(channels[static_cast<size_t>(i) % channels.size()],
                                      {.name = fmt::format("idle-{}", i), .credit = 0}, tally));
    streams.back()->Start();
  }
  for (int i = 0; i < 600 && !std::all_of(streams.begin(), streams.end(),
                                          [](const auto& stream) { return stream->quiet(); });
       ++i) {
    Sleep(0.05);
  }
  served.AwaitRest();
  const std::optional<ProcessUse> after = served.Use();
  const bool known = before && after;
  PrintLine({{"mode", "idle"},
             {"workers", flags.idle_streams},
             {"connections", channels.size()},
             {"server_rss_mb", known ? Rounded(after->resident_mb, 1) : nullptr},
             {"streams_mb", known ? Rounded(after->resident_mb - before->resident_mb, 1) : nullptr},
             {"pages", flags.synthetic.pages}});
  Status ended;
  for (const auto& stream : streams) ended.Update(stream->End());
  return ended;
}

bool IsOfFrontier(const std::string& mode) { return mode.starts_with("frontier_"); }

// Returns the row that loads the pages for other modes.
ServeRow LoadingRow(const std::string& mode) {
  return {.mode = mode, .workers = 2, .batch = IsOfFrontier(mode) ? 0 : 1000};
}

Status MeasureAll(const ServeFlags& flags, Served& served) {
  const auto asked = [&flags](const std::string& mode) {
    if (flags.modes.empty()) return !IsOfFrontier(mode);
    return std::count(flags.modes.begin(), flags.modes.end(), mode) > 0;
  };
  // Whether a requested mode needs the pages. The modes of the crawl-frontier API have separate
  // URLs.
  const bool pages = std::any_of(ServeModes().begin(), ServeModes().end(), [&](const auto& mode) {
    return asked(mode.name) && !IsOfFrontier(mode.name);
  });
  for (const ServeMode& mode : ServeModes()) {
    if (asked(mode.name)) {
      RETURN_IF_ERROR(MeasureMode(flags, mode, served));
    } else if (const ServeRow row = LoadingRow(mode.name);
               IsLoading(row) && !flags.loaded &&
               (row.mode == "upsert" ? pages : asked("frontier_crawl"))) {
      fmt::print(stderr, "loading {} pages\n", flags.synthetic.pages);
      RETURN_IF_ERROR(MeasureRow(flags, mode, row, served, false).status());
    }
  }
  return flags.idle_streams > 0 ? MeasureIdle(flags, served) : Status();
}

Status RunServeBench(const ServeFlags& flags) {
  RETURN_IF_ERROR(ParseDurability(flags.served.durability).status());
  if (flags.in_process) return MeasureInProcess(flags);
  ASSIGN_OR_RETURN(const ScratchDir scratch, ScratchDir::Make("freshet-serve"));
  Served served(flags.served);
  RETURN_IF_ERROR(served.Start(scratch.path()));
  RETURN_IF_ERROR(MeasureAll(flags, served));
  return served.Stop();
}

void AddRowFlags(CLI::App& command, ServeFlags& flags) {
  command
      .add_option("--mode", flags.modes,
                  "Kinds of load to measure (default: upsert, crawl, next, signals and results)")
      ->delimiter(',')
      ->check(CLI::IsMember(
          {"upsert", "crawl", "next", "signals", "results", "frontier_put", "frontier_crawl"}));
  command
      .add_option("--workers", flags.workers,
                  "Numbers of clients to measure with; each client has its own stream")
      ->delimiter(',')
      ->check(CLI::Range(1, 1000));
  command
      .add_option("--batch", flags.batches,
                  "Batch sizes: items in a message, or pages in a call of Next")
      ->delimiter(',')
      ->check(CLI::Range(1, limits::kMaxItemsPerMessage));
  command
      .add_option("--credit", flags.credits,
                  "Credits to measure with: how many pages each crawl worker asks for in advance")
      ->delimiter(',')
      ->check(CLI::Range(int64_t{1}, limits::kMaxCreditPerWorker));
  command
      .add_option("--seconds", flags.seconds,
                  "Seconds of measurement for each row of the output, without the loading")
      ->capture_default_str()
      ->check(CLI::Range(0.05, 86'400.0));
  command
      .add_option("--warmup", flags.warmup,
                  "Seconds of load before each row of the output, which are not measured")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 3600.0));
  command
      .add_option("--items", flags.items,
                  "Maximum number of items per row of the output; 0 for no maximum (default in "
                  "modes crawl and next: 1/20 of the pages, with --half 1/40)")
      ->check(CLI::Range(uint64_t{0}, uint64_t{1'000'000'000'000}));
  command.add_option("--rate", flags.rate, "Crawl rate of the server, per second")
      ->capture_default_str()
      ->check(CLI::Range(1.0, kGreatestRate));
  command.add_flag(
      "--half", flags.half,
      "After each row of --mode crawl, measure one more at half the rate that it reached");
  command
      .add_option("--idle-streams", flags.idle_streams,
                  "Also measure the memory of this many idle streams, at the end")
      ->check(CLI::Range(1, limits::kMaxWorkers));
  command
      .add_option("--connections", flags.connections,
                  "Maximum number of connections; the clients share them")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command
      .add_option("--in-flight", flags.in_flight,
                  "Maximum number of unacknowledged messages of a stream (default 64, with at most "
                  "8,000 items in all)")
      ->check(CLI::Range(1, 10'000));
}

}  // namespace

void AddServeBench(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand("serve", "Measure a server under load over gRPC");
  auto flags = std::make_shared<ServeFlags>();
  AddSyntheticFlags(*command, flags->synthetic);
  AddRowFlags(*command, *flags);
  ServedOptions& served = flags->served;
  command->add_option("--target", served.target,
                      "Address of a running server to measure, instead of starting one");
  command->add_option("--target-http", served.target_http,
                      "HTTP address of the --target server, for its metrics");
  AddSecurityOptions(*command, served.security);
  command->add_option("--server-pid", served.server_pid,
                      "Process id of the --target server, if it runs on this machine");
  command->add_flag("--in-process", flags->in_process,
                    "Measure store and shards without network (any --mode except next)");
  command->add_flag("--loaded", flags->loaded,
                    "Do not load pages first; the --target server has them already");
  command->add_option("--server", served.program, "Path of the program freshetd")
      ->check(CLI::ExistingFile);
  command->add_option("--shards", served.shards, "Number of shards")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  command
      ->add_option("--durability", served.durability,
                   "What the server's data survives: a power cut (sync), only a crash of the "
                   "server (wal) or neither (none)")
      ->capture_default_str();
  command->callback([&action, flags] { action = [flags] { return RunServeBench(*flags); }; });
}

}  // namespace freshet
