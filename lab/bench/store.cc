// freshet-bench store: measures the cost of the store on the device. Adds real or synthetic pages,
// crawls them several times with the shard's own state machine, runs an epoch after each time, and
// compacts. Then removes some pages.
#include "storage/store.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/base/url.h"
#include "core/estimate/epoch_sums.h"
#include "core/estimate/learned_sites.h"
#include "core/schedule/learning.h"
#include "core/schedule/page_to_load.h"
#include "core/schedule/shard_options.h"
#include "core/schedule/shard_state.h"
#include "core/schedule/transaction.h"
#include "fmt/format.h"
#include "lab/bench/commands.h"
#include "lab/bench/resources.h"
#include "lab/common/history.h"
#include "lab/common/rounded.h"
#include "storage/pages_read.h"

namespace freshet {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBatch = 512;  // events in a commit; a busy shard gets about this many at a time
constexpr Duration kCrawlInterval = Duration::Days(30);
// Crawls come up to three days early, because regular times would compress better than real ones.
constexpr uint64_t kJitterMicros = uint64_t{3} * 86'400 * 1'000'000;
constexpr int64_t kMadeEnd = 1'700'000'000;

struct StoreFlags {
  std::vector<std::string> histories;
  size_t pages = 100'000;
  int crawls = 10;
  double signals_per_crawl = 0;  // generated signals, in addition to those of a history
  int signal_sources = 1;
  double removed_share = 0.5;
  std::string durability = "wal";
  std::string dir;
  uint64_t seed = 1;
};

struct BenchPage {
  PageKey key;
  std::string host;
  HistoryPage history;
};

// Makes pages with about four signals and two changes in 300 days.
std::vector<HistoryPage> MadePages(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<HistoryPage> pages(count);
  for (size_t i = 0; i < count; ++i) {
    pages[i].url = fmt::format("https://site{}.example/section-{}/article-{:08x}-{}.html", i % 97,
                               i % 13, random() & 0xFFFFFFFF, i);
    pages[i].importance = static_cast<double>(1 + random() % 50);
    pages[i].first_seen_seconds = kMadeEnd - 400 * 86'400 - static_cast<int64_t>(random() % 1'000);
    for (int t = 0; t < 4; ++t) {
      const auto back = static_cast<int64_t>(random() % (300 * 86'400));
      pages[i].touches.push_back({.unix_seconds = kMadeEnd - back, .change = t % 2 == 0});
    }
    std::sort(pages[i].touches.begin(), pages[i].touches.end(),
              [](const Touch& a, const Touch& b) { return a.unix_seconds < b.unix_seconds; });
  }
  return pages;
}

StatusOr<std::vector<BenchPage>> LoadPages(const StoreFlags& flags, int64_t* end) {
  std::vector<HistoryPage> histories;
  for (const std::string& path : flags.histories) {
    ASSIGN_OR_RETURN(std::vector<HistoryPage> part, ReadHistory(path));
    std::move(part.begin(), part.end(), std::back_inserter(histories));
  }
  if (flags.histories.empty()) histories = MadePages(flags.pages, flags.seed);
  std::vector<BenchPage> pages;
  *end = 0;
  for (HistoryPage& history : histories) {
    ASSIGN_OR_RETURN(CanonicalUrl url, Canonicalise(history.url));
    *end = std::max(*end, history.first_seen_seconds);
    for (const Touch& touch : history.touches) *end = std::max(*end, touch.unix_seconds);
    pages.push_back({.key = {.crawl_id = "DEFAULT", .url = std::move(url.text)},
                     .host = std::move(url.host),
                     .history = std::move(history)});
  }
  return pages;
}

// A shard with a store. It does the work of the server's shard thread, but on the calling thread.
// Owner thread only.
class StoredShard {
 public:
  explicit StoredShard(Store& store)
      : store_(store),
        state_({.policy = {},
                .estimator = {},
                .generation = 1,
                .fingerprinter = store.fingerprinter()}) {}

  Status Apply(std::span<const Event> events, Instant now) {
    numbers_.clear();
    for (const Event& event : events) state_.Want(event, &numbers_);
    std::sort(numbers_.begin(), numbers_.end());
    numbers_.erase(std::unique(numbers_.begin(), numbers_.end()), numbers_.end());
    for (StatusOr<PageRecord>& page : store_.ReadPages(numbers_)) {
      RETURN_IF_ERROR(page.status());
      txn_.Load(*std::move(page));
    }
    for (const Event& event : events) {
      const Reply reply = state_.Step(event, now, txn_);
      RETURN_IF_ERROR(reply.status);
    }
    return Commit();
  }

  // Runs an epoch over all pages, and uses their new rates.
  Status RunEpoch(Instant now) {
    state_.learning().BeginEpoch(now);
    std::vector<PageNumber> numbers;
    PageNumber from;
    for (bool done = false; !done;) {
      ASSIGN_OR_RETURN(ScanResult scan, store_.ScanPages(from, PageNumber(UINT64_MAX), kBatch));
      for (PageRecord& page : scan.pages) {
        (void)state_.learning().CollectForEpoch(page, now);
        numbers.push_back(page.number);
      }
      from = scan.next;
      done = scan.done;
    }
    state_.learning().EndCollecting();
    LearnedSites learned =
        state_.learning().LearnEpoch(state_.learning().CollectedInEpoch(), false);
    txn_.epoch = state_.learning().RecordOf(learned, now);
    state_.learning().FinishEpoch(std::move(learned));
    RETURN_IF_ERROR(Commit());
    std::vector<Event> events;
    for (const PageNumber number : numbers) {
      events.emplace_back(Reestimate{number});
      if (events.size() < kBatch && number != numbers.back()) continue;
      RETURN_IF_ERROR(Apply(events, now));
      events.clear();
    }
    return absl::OkStatus();
  }

 private:
  Status Commit() {
    RETURN_IF_ERROR(store_.Commit(txn_.Finish(state_.learning().estimator())));
    state_.Install(txn_);
    txn_.Reset();
    return absl::OkStatus();
  }

  Store& store_;
  ShardState state_;
  Transaction txn_;
  std::vector<PageNumber> numbers_;
};

// Returns the total size of all files in a directory.
uint64_t BytesIn(const std::string& dir) {
  uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(dir)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

// Runs all phases, and prints a line for each. Owner thread only.
class StoreBench {
 public:
  StoreBench(const StoreFlags& flags, std::string dir, std::vector<BenchPage> pages, int64_t end)
      : flags_(flags), dir_(std::move(dir)), pages_(std::move(pages)), end_(end) {}

  Status Run() {
    StoreOptions options;
    options.reserve_bytes = 0;
    ASSIGN_OR_RETURN(options.durability, ParseDurability(flags_.durability));
    ASSIGN_OR_RETURN(store_, Store::Open(dir_, options));
    Changes sources;
    for (int i = 0; i < flags_.signal_sources; ++i) {
      sources.sources.push_back(
          {.name = fmt::format("sitemap{}", i), .index = static_cast<uint8_t>(i)});
    }
    RETURN_IF_ERROR(store_->Commit(sources));
    StoredShard shard(*store_);
    live_ = pages_.size();
    RETURN_IF_ERROR(Add(shard));
    RETURN_IF_ERROR(Report("added", 0));
    for (int crawl = 1; crawl <= flags_.crawls; ++crawl) {
      if (crawl > 1) RETURN_IF_ERROR(Signal(shard, crawl));
      RETURN_IF_ERROR(Crawl(shard, crawl));
      RETURN_IF_ERROR(shard.RunEpoch(CrawlTime(crawl)));
    }
    RETURN_IF_ERROR(Report("crawled", flags_.crawls));
    if (flags_.signals_per_crawl > 0) {
      RETURN_IF_ERROR(Signal(shard, flags_.crawls + 1));
      RETURN_IF_ERROR(Report("signalled", flags_.crawls));
    }
    RETURN_IF_ERROR(Remove(shard));
    RETURN_IF_ERROR(Report("removed", flags_.crawls));
    return store_->Close();
  }

 private:
  [[nodiscard]] Instant CrawlTime(int crawl) const {
    return Instant::FromUnixSeconds(end_) - kCrawlInterval * (flags_.crawls - crawl);
  }

  // Applies the event that `make` returns for each page, in successive batches. Each batch has a
  // different instant, because equal ones would compress better than real data.
  template <typename Make>
  Status ForEachPage(StoredShard& shard, Instant now, size_t count, Make make) {
    std::vector<Event> events;
    for (size_t i = 0; i < count; ++i) {
      make(pages_[i], &events);
      now = now + Duration::Micros(static_cast<int64_t>(random_() % 100'000));
      if (events.size() < kBatch && i + 1 < count) continue;
      RETURN_IF_ERROR(shard.Apply(events, now));
      events.clear();
    }
    return absl::OkStatus();
  }

  Status Add(StoredShard& shard) {
    return ForEachPage(shard, CrawlTime(0), pages_.size(),
                       [](const BenchPage& page, std::vector<Event>* events) {
                         UpsertPage upsert;
                         upsert.key = page.key;
                         upsert.host = page.host;
                         upsert.importance = page.history.importance;
                         events->emplace_back(std::move(upsert));
                       });
  }

  // Sends the signals of each page before a crawl, spread over the time since the last crawl. Their
  // number is signals_per_crawl, rounded up or down at random.
  Status Signal(StoredShard& shard, int crawl) {
    const auto rounds = static_cast<int>(std::ceil(flags_.signals_per_crawl));
    for (int round = 0; round < rounds; ++round) {
      const double share = std::min(1.0, flags_.signals_per_crawl - round);
      const Instant now = CrawlTime(crawl - 1) + Duration::Micros(kCrawlInterval.micros() *
                                                                  (2 * round + 1) / (2 * rounds));
      RETURN_IF_ERROR(
          ForEachPage(shard, now, live_, [&](const BenchPage& page, std::vector<Event>* events) {
            if (static_cast<double>(random_()) * 0x1p-64 >= share) return;
            SignalChange signal;
            signal.key = page.key;
            signal.source = static_cast<uint8_t>(random_() % flags_.signal_sources);
            signal.changed =
                now - Duration::Micros(static_cast<int64_t>(random_() % kJitterMicros));
            events->emplace_back(std::move(signal));
          }));
    }
    return absl::OkStatus();
  }

  // Applies the events of each page since its last crawl, and then the crawl.
  Status Crawl(StoredShard& shard, int crawl) {
    const Instant from = CrawlTime(crawl - 1);
    const Instant now = CrawlTime(crawl);
    return ForEachPage(
        shard, now, pages_.size(), [&](const BenchPage& page, std::vector<Event>* events) {
          bool changed = false;
          for (const Touch& touch : page.history.touches) {
            const Instant at = Instant::FromUnixSeconds(touch.unix_seconds);
            if (at <= from || at > now) continue;
            changed |= touch.change;
            SignalChange signal;
            signal.key = page.key;
            signal.changed = at;
            if (crawl > 1) events->emplace_back(std::move(signal));
          }
          ReportCrawl report;
          report.key = page.key;
          report.fetched = now - Duration::Micros(static_cast<int64_t>(random_() % kJitterMicros));
          report.outcome = changed ? CrawlOutcome::kChanged : CrawlOutcome::kUnchanged;
          report.http_status = 200;
          events->emplace_back(std::move(report));
        });
  }

  Status Remove(StoredShard& shard) {
    const auto count = static_cast<size_t>(flags_.removed_share * static_cast<double>(live_));
    live_ -= count;
    return ForEachPage(shard, Instant::FromUnixSeconds(end_), count,
                       [](const BenchPage& page, std::vector<Event>* events) {
                         events->emplace_back(RemovePage{page.key});
                       });
  }

  // Reports the write amplification without extra compaction, and the bytes per page before and
  // after a full compaction.
  Status Report(std::string_view phase, int crawls) {
    const StoreStats before = store_->Stats();
    const uint64_t bytes_before = BytesIn(dir_);
    RETURN_IF_ERROR(store_->Compact());
    const StoreStats after = store_->Stats();
    uint64_t rows = 0;
    for (const auto& family : after.families) rows += family.estimated_rows;
    const auto per_page = [&](uint64_t bytes) {
      return live_ == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(live_);
    };
    const auto family = [&](storage::Family f) {
      return per_page(after.families[storage::IndexOf(f)].table_bytes);
    };
    const uint64_t written =
        before.wal_written_bytes + before.flushed_bytes + before.compacted_bytes;
    const uint64_t logged = std::max<uint64_t>(before.wal_written_bytes, 1);
    PrintLine({{"phase", phase},
               {"pages", live_},
               {"crawls_per_page", crawls},
               {"signals_per_crawl", flags_.signals_per_crawl},
               {"signal_sources", flags_.signal_sources},
               {"bytes_per_page", Rounded(per_page(after.table_bytes), 1)},
               {"pages_bytes", Rounded(family(storage::Family::kPages), 1)},
               {"hosts_bytes", Rounded(family(storage::Family::kHosts), 1)},
               {"leases_bytes", Rounded(family(storage::Family::kLeases), 1)},
               {"bytes_per_page_before_compaction", Rounded(per_page(bytes_before), 1)},
               {"wal_bytes", before.wal_written_bytes},
               {"flushed_bytes", before.flushed_bytes},
               {"compacted_bytes", before.compacted_bytes},
               {"write_amplification",
                Rounded(static_cast<double>(written) / static_cast<double>(logged), 2)},
               {"rows", rows},
               {"durability", flags_.durability},
               {"seconds", Rounded(Seconds(), 2)},
               {"seed", flags_.seed}});
    return absl::OkStatus();
  }

  [[nodiscard]] double Seconds() const { return SecondsSince(begun_); }

  const StoreFlags flags_;
  const std::string dir_;
  const std::vector<BenchPage> pages_;
  const int64_t end_;
  std::mt19937_64 random_{flags_.seed};
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::unique_ptr<Store> store_;
  size_t live_ = 0;
};

Status RunStoreBench(const StoreFlags& flags) {
  int64_t end = 0;
  ASSIGN_OR_RETURN(std::vector<BenchPage> pages, LoadPages(flags, &end));
  std::string dir = flags.dir;
  if (dir.empty()) {
    std::string name = (fs::temp_directory_path() / "freshet-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      return MakeStatus(absl::StatusCode::kUnavailable, "cannot create {}", name);
    }
    dir = name;
  } else if (fs::exists(dir)) {
    return InvalidArgument("--dir: {} exists", dir);
  }
  const Status status = StoreBench(flags, dir, std::move(pages), end).Run();
  std::error_code ignored;
  if (flags.dir.empty()) fs::remove_all(dir, ignored);
  return status;
}

}  // namespace

void AddStoreBench(CLI::App& app, CommandAction& action) {
  CLI::App* command =
      app.add_subcommand("store", "Measure bytes per page and write amplification of the store");
  auto flags = std::make_shared<StoreFlags>();
  command->add_option("--history", flags->histories,
                      "History files to play, instead of generated pages");
  command->add_option("--pages", flags->pages, "Number of generated pages")
      ->capture_default_str()
      ->check(CLI::Range(size_t{1}, size_t{1'000'000'000}));
  command->add_option("--crawls", flags->crawls, "Crawls of every page, 30 days apart")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000));
  command
      ->add_option("--signals-per-crawl", flags->signals_per_crawl,
                   "Signals to add per page between two crawls, besides those in the history files")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 100.0));
  command
      ->add_option("--signal-sources", flags->signal_sources,
                   "Number of sources that send the signals of --signals-per-crawl")
      ->capture_default_str()
      ->check(CLI::Range(1, 16));
  command
      ->add_option("--removed-share", flags->removed_share,
                   "Share (0 to 1) of the pages to remove at the end")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0));
  command
      ->add_option("--durability", flags->durability,
                   "What written data survives: a power cut (sync), only a crash of the program "
                   "(wal) or neither (none)")
      ->capture_default_str()
      ->check(CLI::IsMember({"sync", "wal", "none"}));
  command->add_option("--dir", flags->dir,
                      "New directory for the store, kept at the end (default: a temporary one, "
                      "removed at the end)");
  command->add_option("--seed", flags->seed, "Random seed of generated pages")
      ->capture_default_str();
  command->callback([&action, flags] { action = [flags] { return RunStoreBench(*flags); }; });
}

}  // namespace freshet
