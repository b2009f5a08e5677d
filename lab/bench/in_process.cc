#include "lab/bench/in_process.h"

#include <unistd.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "core/base/random.h"
#include "core/base/url.h"
#include "fmt/format.h"
#include "lab/bench/commands.h"
#include "lab/bench/lease_best.h"
#include "lab/bench/resources.h"
#include "lab/bench/scratch_dir.h"
#include "lab/bench/stack.h"
#include "server/engine/router.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

using Steady = std::chrono::steady_clock;

int64_t MicrosSince(Steady::time_point start) {
  return std::chrono::duration_cast<std::chrono::microseconds>(Steady::now() - start).count();
}

// Limits the number of unanswered batches. Thread-safe.
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

// Leased pages whose crawls were not reported yet. Thread-safe.
class Assigned {
 public:
  struct Pages {
    Shard* shard = nullptr;
    std::vector<std::optional<Assignment>> assignments;
  };
  void Add(Pages pages) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    waiting_.push_back(std::move(pages));
    changed_.NotifyOne();
  }
  // Waits for pages and takes them.
  Pages Take() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (waiting_.empty()) changed_.Wait(mutex_);
    Pages pages = std::move(waiting_.front());
    waiting_.pop_front();
    return pages;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::deque<Pages> waiting_ FRESHET_GUARDED_BY(mutex_);
};

// Measures one row of the table (ServeRow). Makes the events of the row on the calling thread.
// Owner thread only.
class InProcessRow {
 public:
  InProcessRow(const ServeFlags& flags, const ServeMode& mode, ServeRow row, BenchStack& stack)
      : flags_(flags),
        mode_(mode),
        row_(std::move(row)),
        stack_(stack),
        shards_(stack.Shards()),
        router_(shards_),
        random_(flags.synthetic.seed) {}

  void Run(bool print) {
    const double seconds = row_.mode == "upsert" ? 1e9 : flags_.seconds;
    if (row_.mode != "upsert") Drive(flags_.warmup);
    for (Latencies* latencies : {&tally_.ticks, &tally_.acks}) latencies->Clear();
    const ServeSample before = TakeSample();
    Drive(seconds);
    const ServeSample after = TakeSample();
    if (!print) return;
    nlohmann::ordered_json line = LineOf(flags_, mode_, row_, before, after, tally_);
    line["in_process"] = true;
    PrintLine(std::move(line));
  }

 private:
  // Sends items, or crawls pages, until `seconds` have passed or all pages were sent. Returns when
  // all requests have been answered.
  void Drive(double seconds) {
    const auto end = Steady::now() + std::chrono::duration<double>(seconds);
    if (row_.mode == "crawl") {
      Crawl(end);
    } else {
      SendItems(end);
    }
  }
  template <typename End>
  void SendItems(const End& end) {
    Window window(static_cast<size_t>(InFlight(flags_, row_.batch)) * 2);
    while (Steady::now() < end && next_page_ < flags_.synthetic.pages) {
      std::vector<RoutedEvent> events = MakeEvents();
      window.Enter();
      const auto sent = Steady::now();
      (void)router_.Submit(std::move(events),
                           [this, &window, sent](const std::vector<Reply>& replies) {
                             Count(replies, tally_.*mode_.items);
                             tally_.acks.Add(MicrosSince(sent));
                             window.Leave();
                           });
    }
    window.WaitUntilEmpty();
  }
  std::vector<RoutedEvent> MakeEvents() {
    const uint64_t pages = flags_.synthetic.pages;
    std::vector<RoutedEvent> events;
    events.reserve(static_cast<size_t>(row_.batch));
    const bool upserts = row_.mode == "upsert";
    const Instant now = stack_.clock.Now();
    for (int i = 0; i < row_.batch && next_page_ < pages; ++i) {
      const uint64_t page = upserts ? next_page_++ : random_.Below(pages);
      std::string host = SyntheticHost(flags_.synthetic, page);
      const Slot slot = SlotOfHost(host);
      PageKey key = SyntheticKey(flags_.synthetic, page);
      if (upserts) {
        events.push_back({slot, UpsertPage{.key = std::move(key), .host = std::move(host)}});
      } else if (row_.mode == "signals") {
        events.push_back({slot, SignalChange{.key = std::move(key)}});
      } else {
        const uint64_t version = random_.Below(4) == 0 ? random_.Next() : 0;
        ReportCrawl report{.key = std::move(key), .fetched = now, .http_status = 200};
        report.outcome = version > 0 ? CrawlOutcome::kChanged : CrawlOutcome::kUnchanged;
        FillDigest(report.key->url, version, &report.digest);
        events.push_back({slot, std::move(report)});
      }
    }
    return events;
  }

  // Keeps about `credit` pages leased, with a few requests in flight, like the dispatcher.
  template <typename End>
  void Crawl(const End& end) {
    const uint64_t last = tally_.results + MostItems(flags_, mode_);
    const size_t batch = std::clamp<size_t>(row_.credit / 2, 1, limits::kMaxItemsPerMessage);
    const size_t requests = std::max<size_t>(1, row_.credit / batch);
    Window results(SIZE_MAX);
    Assigned assigned;
    for (size_t i = 0; i < requests; ++i) Lease(batch, shards_[i % shards_.size()], assigned);
    for (size_t open = requests; open > 0; --open) {
      Assigned::Pages pages = assigned.Take();
      if (Steady::now() < end && tally_.results < last) {
        Lease(batch, pages.shard, assigned);
        ++open;
      }
      Report(pages, results);
    }
    results.WaitUntilEmpty();
  }
  void Lease(size_t count, Shard* shard, Assigned& assigned) {
    const LeaseTerms terms{
        .at = stack_.clock.Now(), .worker = "bench", .lease = Duration::Seconds(60)};
    LeaseBest(*shard, std::vector<LeaseTerms>(count, terms),
              [&assigned, shard](std::vector<std::optional<Assignment>> assignments) {
                assigned.Add({shard, std::move(assignments)});
              });
  }
  void Report(const Assigned::Pages& pages, Window& window) {
    const Instant now = stack_.clock.Now();
    EventBatch batch;
    for (const std::optional<Assignment>& assignment : pages.assignments) {
      if (!assignment) continue;
      ++tally_.assignments;
      tally_.ticks.Add((now - assignment->at).micros());
      const bool changed = assignment->lease.value() % 4 == 0;
      ReportCrawl report{.lease = assignment->lease, .fetched = now, .http_status = 200};
      report.outcome = changed ? CrawlOutcome::kChanged : CrawlOutcome::kUnchanged;
      FillDigest(assignment->key.url, changed ? assignment->lease.value() : 0, &report.digest);
      batch.events.emplace_back(std::move(report));
    }
    if (batch.events.empty()) return;
    window.Enter();
    batch.done = [this, &window, sent = Steady::now()](const std::vector<Reply>& replies) {
      Count(replies, tally_.results);
      tally_.acks.Add(MicrosSince(sent));
      window.Leave();
    };
    pages.shard->SubmitAlways(std::move(batch));
  }

  void Count(const std::vector<Reply>& replies, std::atomic<uint64_t>& taken) {
    const auto refused =
        static_cast<uint64_t>(std::count_if(replies.begin(), replies.end(), [](const Reply& reply) {
          return reply.disposition == Disposition::kRefused;
        }));
    taken += replies.size() - refused;
    tally_.refused += refused;
  }

  ServeSample TakeSample() const {
    const StoreStats stats = stack_.store->Stats();
    const double own = ThreadCpuSeconds();
    std::optional<ProcessUse> use = UseOf(getpid());
    if (use) use->cpu_seconds = CpuSeconds() - own;
    return {.at = Steady::now(),
            .assignments = tally_.assignments,
            .results = tally_.results,
            .signals = tally_.signals,
            .upserts = tally_.upserts,
            .items = tally_.*mode_.items,
            .client_cpu_seconds = own,
            .server = use,
            .metrics = {{"freshet_store_syncs_total", static_cast<double>(stats.syncs)},
                        {"freshet_store_written_bytes_total{by=\"wal\"}",
                         static_cast<double>(stats.wal_written_bytes)}}};
  }

  const ServeFlags& flags_;
  const ServeMode& mode_;
  const ServeRow row_;
  BenchStack& stack_;
  const std::vector<Shard*> shards_;
  Router router_;
  Random random_;
  LoadTally tally_;
  uint64_t next_page_ = 0;
};

bool Asked(const ServeFlags& flags, const std::string& mode) {
  return flags.modes.empty() || std::count(flags.modes.begin(), flags.modes.end(), mode) > 0;
}

void MeasureModeInProcess(const ServeFlags& flags, const ServeMode& mode, BenchStack& stack) {
  std::set<std::tuple<int, uint32_t>> done;
  for (ServeRow row : RowsOf(mode, flags)) {
    if (!done.emplace(row.batch, row.credit).second) continue;
    row.workers = 1;
    fmt::print(stderr, "{} in process: batch {}, credit {}\n", row.mode, row.batch, row.credit);
    InProcessRow(flags, mode, row, stack).Run(Asked(flags, row.mode));
  }
}

}  // namespace

Status MeasureInProcess(const ServeFlags& flags) {
  BenchStack::Options options = {.shards = flags.served.shards};
  ASSIGN_OR_RETURN(options.durability, ParseDurability(flags.served.durability));
  ASSIGN_OR_RETURN(options.policy, ResolvePolicy("default"));
  ASSIGN_OR_RETURN(const ScratchDir scratch, ScratchDir::Make("freshet-serve"));
  BenchStack stack;
  RETURN_IF_ERROR(stack.Start(scratch.path() + "/store", options));
  for (const ServeMode& mode : ServeModes()) {
    const std::string name = mode.name;
    if (name == "next" || name.starts_with("frontier_") ||
        (name != "upsert" && !Asked(flags, name)))
      continue;
    MeasureModeInProcess(flags, mode, stack);
  }
  return stack.Stop();
}

}  // namespace freshet
