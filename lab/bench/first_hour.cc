// freshet-bench first-hour: loads a corpus of identical pages, crawls it once and then again. Shows
// how the cost changes during the first round, either for the shard's state machine or only for the
// index.
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/check.h"
#include "core/index/price_index.h"
#include "core/model/page.h"
#include "core/schedule/changes.h"
#include "core/schedule/crawl_policy.h"
#include "core/schedule/learning.h"
#include "core/schedule/pick.h"
#include "core/schedule/shard_options.h"
#include "core/schedule/shard_state.h"
#include "core/schedule/transaction.h"
#include "fmt/format.h"
#include "lab/bench/commands.h"
#include "lab/bench/resources.h"
#include "lab/common/brute_index.h"
#include "lab/common/rounded.h"

namespace freshet {
namespace {

struct FirstHourFlags {
  uint32_t pages = 1'000'000;
  uint32_t hosts = 100'000;
  std::string policy = "default";
  std::vector<std::string> layers = {"shard", "index"};
  uint32_t importances = 1;
  double rate = 10'000;
  uint32_t out = 1000;
  uint32_t batch = 100;
  double host_delay = 1;
  double before = 1;
  double rounds = 3;
};

// The parts of a cycle that are measured separately.
enum Part : uint8_t { kLoading, kPicking, kLeasing, kLeased, kReporting, kReported, kParts };

// Measures CPU time. Each call of Add counts the time since the previous call for one part.
class Laps {
 public:
  void Begin() { last_ = ThreadCpuSeconds(); }
  void Add(Part part) {
    const double now = ThreadCpuSeconds();
    seconds_[part] += now - last_;
    longest_[part] = std::max(longest_[part], now - last_);
    last_ = now;
  }
  [[nodiscard]] double operator[](Part part) const { return seconds_[part]; }
  // Returns the longest lap of the part since the last call.
  [[nodiscard]] double TakeLongest(Part part) { return std::exchange(longest_[part], 0); }

 private:
  double last_ = 0;
  std::array<double, kParts> seconds_{};
  std::array<double, kParts> longest_{};
};

// The structure that is loaded and crawled. Owner thread only.
class Cycle {
 public:
  virtual ~Cycle() = default;
  // Adds pages `first` to `end`, all first seen at `now`.
  virtual void Load(uint32_t first, uint32_t end, Instant now, Laps& laps) = 0;
  // Picks and leases a page for each of the ticks. Returns the number of leased pages.
  virtual size_t Lease(const std::vector<Instant>& ticks, Laps& laps) = 0;
  // Reports results for the `pages` pages that were leased first.
  virtual void Report(size_t pages, Instant now, Laps& laps) = 0;
  [[nodiscard]] virtual uint64_t evaluations() const = 0;
  // A digest of the picked pages, in order. It is the same for every exact structure.
  [[nodiscard]] uint64_t digest() const { return digest_; }

 protected:
  void Digest(uint64_t page) { digest_ = (digest_ ^ page) * 0x100000001b3; }

 private:
  uint64_t digest_ = 0xcbf29ce484222325;
};

uint32_t HostOf(const FirstHourFlags& flags, uint32_t page) { return page % flags.hosts; }
double ImportanceOf(const FirstHourFlags& flags, uint32_t page) {
  return 1 + page / flags.hosts % flags.importances;
}

// The state machine of a shard. Its store is a list in memory, so the time of a real store is not
// measured.
class ShardCycle final : public Cycle {
 public:
  ShardCycle(const FirstHourFlags& flags, const CrawlPolicy& policy)
      : flags_(flags), state_(OptionsOf(flags, policy)) {
    for (uint32_t i = 0; i < flags.hosts; ++i) hosts_.push_back(fmt::format("www.h{}.example", i));
  }

  void Load(uint32_t first, uint32_t end, Instant now, Laps& laps) override {
    std::vector<Event> events;
    for (uint32_t i = first; i < end; ++i) {
      const std::string& host = hosts_[HostOf(flags_, i)];
      UpsertPage event{.key = {"DEFAULT", fmt::format("https://{}/page/{}", host, i)},
                       .host = host};
      event.importance = ImportanceOf(flags_, i);
      events.emplace_back(std::move(event));
    }
    laps.Begin();
    Step(events, now);
    state_.Install(txn_);
    laps.Add(kLoading);
    Store();
  }

  size_t Lease(const std::vector<Instant>& ticks, Laps& laps) override {
    std::vector<Event> events;
    laps.Begin();
    for (const Instant at : ticks) {
      const std::optional<Pick> pick = state_.Take(at);
      if (!pick) continue;
      Digest(IndexOf(pick->page));
      LeasePage event{.page = pick->page, .worker = "worker", .at = at};
      event.lease = Duration::Hours(1);
      event.value = pick->value;
      events.emplace_back(std::move(event));
    }
    laps.Add(kPicking);
    Fetch(events);
    laps.Begin();
    for (Reply& reply : Step(events, ticks.back())) {
      CHECK(reply.assignment, "a page that was picked is not leased");
      out_.push_back(reply.assignment->lease);
    }
    laps.Add(kLeasing);
    state_.Install(txn_);
    laps.Add(kLeased);
    Store();
    return events.size();
  }

  void Report(size_t pages, Instant now, Laps& laps) override {
    std::vector<Event> events;
    for (size_t i = 0; i < pages; ++i) {
      ReportCrawl event{.lease = out_.front(), .fetched = now};
      event.outcome = reported_++ % 3 == 0 ? CrawlOutcome::kChanged : CrawlOutcome::kUnchanged;
      events.emplace_back(std::move(event));
      out_.pop_front();
    }
    Timers(now, events);
    Fetch(events);
    laps.Begin();
    for (const Reply& reply : Step(events, now)) {
      CHECK(reply.disposition == Disposition::kApplied, "a result was not taken");
    }
    laps.Add(kReporting);
    state_.Install(txn_);
    laps.Add(kReported);
    Store();
  }

  [[nodiscard]] uint64_t evaluations() const override { return 0; }

 private:
  static ShardOptions OptionsOf(const FirstHourFlags& flags, const CrawlPolicy& policy) {
    ShardOptions options;
    options.policy = policy;
    options.politeness = {.min_delay = Duration::FromSeconds(flags.host_delay), .max_in_flight = 1};
    return options;
  }
  uint32_t IndexOf(PageNumber page) const { return index_of_.at(page); }
  // Adds the events of due timers to the results, as the server does.
  void Timers(Instant now, std::vector<Event>& events) {
    if (state_.next_timer() <= now) state_.TakeDueTimers(now, 4 * flags_.batch, &events);
  }
  void Fetch(const std::vector<Event>& events) {
    wanted_.clear();
    for (const Event& event : events) state_.Want(event, &wanted_);
    read_.clear();
    for (const PageNumber page : wanted_) read_.push_back(stored_[IndexOf(page)]);
  }
  std::vector<Reply> Step(const std::vector<Event>& events, Instant now) {
    for (PageRecord& record : read_) txn_.Load(std::move(record));
    read_.clear();
    std::vector<Reply> replies;
    replies.reserve(events.size());
    for (const Event& event : events) replies.push_back(state_.Step(event, now, txn_));
    changes_ = txn_.Finish(state_.learning().estimator());
    return replies;
  }
  void Store() {
    for (const PageWrite& write : changes_.pages) {
      if (write.created) {
        index_of_[write.record->number] = static_cast<uint32_t>(stored_.size());
        stored_.push_back(*write.record);
      } else {
        stored_[IndexOf(write.record->number)] = *write.record;
      }
    }
    txn_.Reset();
  }

  const FirstHourFlags& flags_;
  ShardState state_;
  Transaction txn_;
  Changes changes_;
  std::vector<std::string> hosts_;
  std::deque<PageRecord> stored_;
  absl::flat_hash_map<PageNumber, uint32_t> index_of_;
  std::vector<PageNumber> wanted_;
  std::vector<PageRecord> read_;
  std::deque<LeaseId> out_;
  uint64_t reported_ = 0;
};

// PriceIndex or BruteIndex, called in the same way as by the shard.
template <typename Index>
class IndexCycle final : public Cycle {
 public:
  IndexCycle(const FirstHourFlags& flags, const Policy& policy) : flags_(flags), policy_(policy) {}

  void Load(uint32_t first, uint32_t end, Instant now, Laps& laps) override {
    laps.Begin();
    for (uint32_t i = first; i < end; ++i) {
      index_.Put(PageId(i), EntryOf(i, kNeverCrawledStaleness, now));
    }
    laps.Add(kLoading);
  }

  size_t Lease(const std::vector<Instant>& ticks, Laps& laps) override {
    const size_t before = out_.size();
    laps.Begin();
    for (const Instant at : ticks) {
      const std::optional<IndexPick> pick = index_.Best(at);
      if (!pick) continue;
      Digest(pick->page.value());
      index_.Suspend(pick->page);
      index_.SetHostFree(HostId(HostOf(flags_, pick->page.value())), Instant::Infinite());
      out_.emplace_back(pick->page.value(), at);
    }
    laps.Add(kPicking);
    return out_.size() - before;
  }

  void Report(size_t pages, Instant now, Laps& laps) override {
    laps.Begin();
    for (size_t i = 0; i < pages; ++i) {
      const auto [page, at] = out_.front();
      out_.pop_front();
      index_.Put(PageId(page), EntryOf(page, 0, now));
      index_.Resume(PageId(page));
      index_.SetHostFree(HostId(HostOf(flags_, page)),
                         at + Duration::FromSeconds(flags_.host_delay));
    }
    laps.Add(kReported);
  }

  [[nodiscard]] uint64_t evaluations() const override {
    if constexpr (requires { index_.evaluations(); }) return index_.evaluations();
    return 0;
  }

 private:
  [[nodiscard]] IndexEntry EntryOf(uint32_t page, double exponent, Instant since) const {
    PaperRates rates;
    rates.change_rate = 1.0 / 86400 / 7;
    IndexEntry entry;
    entry.policy = policy_;
    entry.rates = MakeIndexRates(ImportanceOf(flags_, page), RatesFromPaper(rates));
    entry.exponent = exponent;
    entry.since = since;
    entry.host = HostId(HostOf(flags_, page));
    return entry;
  }

  const FirstHourFlags& flags_;
  Policy policy_;
  Index index_;
  std::deque<std::pair<uint32_t, Instant>> out_;
};

// Loads and crawls pages, and prints a line for each phase.
class FirstHour {
 public:
  FirstHour(const FirstHourFlags& flags, const std::string& layer, Cycle& cycle)
      : flags_(flags), layer_(layer), cycle_(cycle) {}

  void Run() {
    const auto loaded = static_cast<uint32_t>(flags_.before * flags_.pages);
    while (loaded_ < loaded) LoadSome(loaded);
    Report("load", 0);
    const auto round = static_cast<double>(flags_.pages);
    for (int tenth = 1; tenth <= 10; ++tenth) {
      CrawlUntil(round * tenth / 10);
      Report(fmt::format("first {}%", 10 * tenth), crawled_before_);
    }
    for (double end = 1.5; end <= flags_.rounds; end += 0.5) {
      CrawlUntil(round * end);
      Report(fmt::format("round {}", end), crawled_before_);
    }
  }

 private:
  void LoadSome(uint32_t limit) {
    constexpr uint32_t kBatch = 1000;
    const uint32_t end = std::min(limit, loaded_ + kBatch);
    cycle_.Load(loaded_, end, now_, laps_);
    loaded_ = end;
    now_ = now_ + Duration::FromSeconds(kBatch / flags_.rate / 4);
  }

  void CrawlUntil(double picks) {
    const Duration tick = Duration::FromSeconds(1 / flags_.rate);
    while (static_cast<double>(crawled_) < picks) {
      // The remaining pages are loaded four times as fast as pages are crawled.
      while (loaded_ < flags_.pages && loaded_ < flags_.before * flags_.pages + 4.0 * crawled_) {
        LoadSome(flags_.pages);
      }
      ticks_.clear();
      for (uint32_t i = 0; i < flags_.batch; ++i) ticks_.push_back(now_ = now_ + tick);
      const size_t leased = cycle_.Lease(ticks_, laps_);
      crawled_ += leased;
      unused_ += ticks_.size() - leased;
      batches_.push_back(leased);
      if (batches_.size() * flags_.batch < flags_.out) continue;
      cycle_.Report(batches_.front(), now_, laps_);
      batches_.pop_front();
    }
  }

  void Report(const std::string& phase, uint64_t before) {
    const double crawls = std::max<double>(crawled_ - before, 1);
    const auto a_crawl = [&](Part part) {
      return Rounded((laps_[part] - reported_[part]) / crawls * 1e9, 0);
    };
    const double loaded = std::max<double>(loaded_ - loaded_before_, 1);
    const auto evaluations = static_cast<double>(cycle_.evaluations() - evaluations_before_);
    PrintLine({{"layer", layer_},
               {"policy", flags_.policy},
               {"phase", phase},
               {"crawls", crawled_ - before},
               {"load_ns", Rounded((laps_[kLoading] - reported_[kLoading]) / loaded * 1e9, 0)},
               {"pick_ns", a_crawl(kPicking)},
               {"longest_pick_us", Rounded(laps_.TakeLongest(kPicking) * 1e6, 0)},
               {"lease_step_ns", a_crawl(kLeasing)},
               {"lease_install_ns", a_crawl(kLeased)},
               {"result_step_ns", a_crawl(kReporting)},
               {"result_install_ns", a_crawl(kReported)},
               {"evaluations_per_pick", Rounded(evaluations / crawls, 2)},
               {"unused_ticks", unused_ - unused_before_},
               {"pages", flags_.pages},
               {"hosts", flags_.hosts},
               {"importances", flags_.importances},
               {"digest", fmt::format("{:016x}", cycle_.digest())}});
    reported_ = laps_;
    crawled_before_ = crawled_;
    loaded_before_ = loaded_;
    unused_before_ = unused_;
    evaluations_before_ = cycle_.evaluations();
  }

  const FirstHourFlags& flags_;
  std::string layer_;
  Cycle& cycle_;
  Instant now_ = Instant::FromUnixSeconds(1'700'000'000);
  std::vector<Instant> ticks_;
  std::deque<size_t> batches_;  // pages of each leased batch
  uint32_t loaded_ = 0;
  uint64_t crawled_ = 0;
  uint64_t unused_ = 0;
  Laps laps_;
  Laps reported_;
  uint64_t crawled_before_ = 0;
  uint32_t loaded_before_ = 0;
  uint64_t unused_before_ = 0;
  uint64_t evaluations_before_ = 0;
};

Status RunFirstHour(const FirstHourFlags& flags) {
  ASSIGN_OR_RETURN(const CrawlPolicy policy, ResolvePolicy(flags.policy));
  if (policy.plan) return InvalidArgument("--policy: an index policy or default");
  if (!(flags.rate > 0) || !(flags.host_delay >= 0) || !(flags.before > 0 && flags.before <= 1)) {
    return InvalidArgument("--rate, --host-delay and --before must be positive, --before <= 1");
  }
  for (const std::string& layer : flags.layers) {
    std::unique_ptr<Cycle> cycle;
    if (layer == "shard") {
      cycle = std::make_unique<ShardCycle>(flags, policy);
    } else if (layer == "index") {
      cycle = std::make_unique<IndexCycle<PriceIndex>>(flags, policy.index);
    } else {
      cycle = std::make_unique<IndexCycle<BruteIndex>>(flags, policy.index);
    }
    FirstHour(flags, layer, *cycle).Run();
  }
  return {};
}

}  // namespace

void AddFirstHourBench(CLI::App& app, CommandAction& action) {
  CLI::App* command = app.add_subcommand(
      "first-hour", "Measure how fast many pages of equal value are first crawled after loading");
  auto flags = std::make_shared<FirstHourFlags>();
  const auto positive = CLI::Range(1u, 100'000'000u);
  command->add_option("--pages", flags->pages, "Number of pages")
      ->capture_default_str()
      ->check(positive);
  command->add_option("--hosts", flags->hosts, "Number of hosts")
      ->capture_default_str()
      ->check(positive);
  command
      ->add_option("--policy", flags->policy,
                   "Crawl policy (only those that rank pages), such as default or greedy")
      ->capture_default_str();
  command
      ->add_option("--layers", flags->layers,
                   "Parts to measure: shard (all of a shard), index (its index alone) or brute (a "
                   "full scan instead of the index)")
      ->delimiter(',')
      ->check(CLI::IsMember({"shard", "index", "brute"}));
  command
      ->add_option("--importances", flags->importances,
                   "Number of different importances that pages have")
      ->capture_default_str()
      ->check(positive);
  command->add_option("--rate", flags->rate, "Crawls per second of simulated time")
      ->capture_default_str();
  command
      ->add_option("--out", flags->out,
                   "Maximum number of pages that are out (leased) at the same time")
      ->capture_default_str()
      ->check(positive);
  command->add_option("--batch", flags->batch, "Number of pages in one request")
      ->capture_default_str()
      ->check(positive);
  command
      ->add_option("--host-delay", flags->host_delay,
                   "Shortest time between two pages of a host, in seconds")
      ->capture_default_str();
  command
      ->add_option("--before", flags->before,
                   "Share (0 to 1) of the pages to load before the first crawl; the rest is loaded "
                   "during the crawls")
      ->capture_default_str();
  command->add_option("--rounds", flags->rounds, "Number of crawls of each page")
      ->capture_default_str();
  command->callback([&action, flags] { action = [flags] { return RunFirstHour(*flags); }; });
}

}  // namespace freshet
