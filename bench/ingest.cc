// freshet-bench ingest: durable signals and crawl results through shards and store, no network.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/commands.h"
#include "bench/lease_best.h"
#include "bench/resources.h"
#include "bench/scratch_dir.h"
#include "bench/stack.h"
#include "bench/synthetic_store.h"
#include "core/base/random.h"
#include "core/base/url.h"
#include "fmt/format.h"
#include "server/engine/router.h"
#include "storage/store.h"
#include "sync/mutex.h"
#include "tools/common/rounded.h"

namespace freshet {
namespace {

struct IngestFlags {
  SyntheticOptions synthetic;
  std::vector<std::string> modes = {"signals", "results"};
  uint64_t items = 1'000'000;
  int shards = 2;
  size_t batch = 500;
  size_t in_flight = 64;
  std::string durability = "sync";
};

// Batches that were submitted and not yet answered: at most so many. Thread-safe.
class Window {
 public:
  explicit Window(size_t limit) : limit_(limit) {}
  void Enter() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (open_ >= limit_) changed_.Wait(mutex_);
    ++open_;
  }
  void Leave() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    --open_;
    changed_.NotifyAll();
  }
  void WaitUntilEmpty() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (open_ > 0) changed_.Wait(mutex_);
  }

 private:
  const size_t limit_;
  Mutex mutex_;
  Condition changed_;
  size_t open_ FRESHET_GUARDED_BY(mutex_) = 0;
};

// Events for pages in an order that comes back to a page only when all had their turn.
std::vector<std::vector<RoutedEvent>> MakeBatches(const IngestFlags& flags, bool signals,
                                                  Instant now) {
  constexpr uint64_t kStride = 2'654'435'761;  // prime: visits every page
  std::vector<std::vector<RoutedEvent>> batches;
  for (uint64_t i = 0; i < flags.items; ++i) {
    if (i % flags.batch == 0) batches.emplace_back();
    const uint64_t page = i * kStride % flags.synthetic.pages;
    const Slot slot = SlotOfHost(SyntheticHost(flags.synthetic, page));
    PageKey key = SyntheticKey(flags.synthetic, page);
    if (signals) {
      batches.back().push_back({slot, SignalChange{.key = std::move(key)}});
      continue;
    }
    ReportCrawl report{.key = std::move(key), .fetched = now + Duration::Micros(int64_t(i))};
    report.outcome = i % 4 == 0 ? CrawlOutcome::kChanged : CrawlOutcome::kUnchanged;
    report.http_status = 200;
    batches.back().push_back({slot, std::move(report)});
  }
  return batches;
}

uint64_t Applied(const std::vector<Reply>& replies) {
  return static_cast<uint64_t>(
      std::count_if(replies.begin(), replies.end(),
                    [](const Reply& reply) { return reply.disposition == Disposition::kApplied; }));
}

void SendBatches(std::vector<std::vector<RoutedEvent>> batches, Router& router, Window& window,
                 std::atomic<uint64_t>& applied) {
  for (std::vector<RoutedEvent>& batch : batches) {
    window.Enter();
    (void)router.Submit(std::move(batch), [&](const std::vector<Reply>& replies) {
      applied += Applied(replies);
      window.Leave();
    });
  }
  window.WaitUntilEmpty();
}

// Reports what a shard has just leased, by the leases alone.
void ReportLeased(const std::vector<std::optional<Assignment>>& assignments, Shard& shard,
                  Window& window, std::atomic<uint64_t>& applied) {
  EventBatch results;
  for (const std::optional<Assignment>& assignment : assignments) {
    if (!assignment) continue;
    ReportCrawl report{.lease = assignment->lease, .fetched = assignment->at};
    report.outcome = CrawlOutcome::kUnchanged;
    results.events.emplace_back(std::move(report));
  }
  results.done = [&](const std::vector<Reply>& replies) {
    applied += Applied(replies);
    window.Leave();
  };
  shard.SubmitAlways(std::move(results));
}

// Takes pages from the shards in turn.
void TakeAndReport(const IngestFlags& flags, BenchStack& stack, Window& window,
                   std::atomic<uint64_t>& applied) {
  const std::vector<Shard*> shards = stack.Shards();
  for (uint64_t i = 0; i * flags.batch < flags.items; ++i) {
    window.Enter();
    Shard* const shard = shards[i % shards.size()];
    const LeaseTerms terms{.at = stack.clock.Now(), .worker = "bench", .lease = Duration::Hours(1)};
    LeaseBest(*shard, std::vector<LeaseTerms>(flags.batch, terms),
              [&, shard](const std::vector<std::optional<Assignment>>& assignments) {
                ReportLeased(assignments, *shard, window, applied);
              });
  }
  window.WaitUntilEmpty();
}

Status RunMode(const IngestFlags& flags, const std::string& mode, BenchStack& stack) {
  Router router(stack.Shards());
  std::vector<std::vector<RoutedEvent>> batches;
  if (mode != "crawls") batches = MakeBatches(flags, mode == "signals", stack.clock.Now());
  Window window(flags.in_flight);
  std::atomic<uint64_t> applied = 0;
  const StoreStats before = stack.store->Stats();
  const double cpu_before = CpuSeconds();
  const auto start = std::chrono::steady_clock::now();
  if (mode == "crawls") {
    TakeAndReport(flags, stack, window, applied);
  } else {
    SendBatches(std::move(batches), router, window, applied);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double cpu_seconds = CpuSeconds() - cpu_before;
  const StoreStats after = stack.store->Stats();
  const auto items = static_cast<double>(flags.items);
  const uint64_t syncs = after.syncs - before.syncs;
  const auto logged = static_cast<double>(after.wal_written_bytes - before.wal_written_bytes);
  PrintLine(
      {{"mode", mode},
       {"pages", flags.synthetic.pages},
       {"items", flags.items},
       {"applied", applied.load()},
       {"seconds", Rounded(seconds, 4)},
       {fmt::format("{}_per_second", mode), Rounded(items / seconds, 0)},
       {"syncs_per_second", Rounded(static_cast<double>(syncs) / seconds, 1)},
       {"items_per_sync", Rounded(items / static_cast<double>(std::max<uint64_t>(1, syncs)), 1)},
       {"cpu_s_per_million", Rounded(cpu_seconds / items * 1e6, 3)},
       {"log_bytes_per_item", Rounded(logged / items, 1)},
       {"shards", flags.shards},
       {"batch", flags.batch},
       {"durability", flags.durability}});
  return {};
}

Status RunIngestBench(IngestFlags flags) {
  BenchStack::Options options = {.shards = flags.shards};
  ASSIGN_OR_RETURN(options.durability, ParseDurability(flags.durability));
  flags.synthetic.now = SystemClock().Now() - Duration::Hours(1);
  ASSIGN_OR_RETURN(const ScratchDir scratch, ScratchDir::Make("freshet-ingest"));
  const std::string dir = scratch.path() + "/store";
  RETURN_IF_ERROR(MakeSyntheticStore(dir, flags.synthetic));
  BenchStack stack;
  RETURN_IF_ERROR(stack.Start(dir, options));
  for (const std::string& mode : flags.modes) RETURN_IF_ERROR(RunMode(flags, mode, stack));
  return stack.Stop();
}

}  // namespace

void AddIngestBench(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand("ingest", "Durable signals and results, without network");
  auto flags = std::make_shared<IngestFlags>();
  command->add_option("--mode", flags->modes, "signals, results, crawls (pages leased, reported)")
      ->delimiter(',')
      ->check(CLI::IsMember({"signals", "results", "crawls"}));
  command->add_option("--pages", flags->synthetic.pages, "Pages in the store")
      ->capture_default_str()
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000'000}));
  command->add_option("--items", flags->items, "Signals or results to send")
      ->capture_default_str()
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000'000}));
  command->add_option("--shards", flags->shards)->capture_default_str()->check(CLI::Range(1, 64));
  command->add_option("--batch", flags->batch, "Items of one message")
      ->capture_default_str()
      ->check(CLI::Range(size_t{1}, size_t{limits::kMaxItemsPerMessage}));
  command->add_option("--in-flight", flags->in_flight, "Messages that wait for an answer")
      ->capture_default_str()
      ->check(CLI::Range(size_t{1}, size_t{10'000}));
  command->add_option("--durability", flags->durability)->capture_default_str();
  command->add_option("--seed", flags->synthetic.seed)->capture_default_str();
  command->callback([&action, flags] { action = [flags] { return RunIngestBench(*flags); }; });
}

}  // namespace freshet
