#include "lab/bench/synthetic_store.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "core/base/id_limits.h"
#include "core/base/limits.h"
#include "core/base/random.h"
#include "core/base/url.h"
#include "core/model/page.h"
#include "core/schedule/changes.h"
#include "fmt/format.h"
#include "storage/internal/keys.h"
#include "storage/store.h"

namespace freshet {
namespace {

constexpr size_t kPagesPerCommit = 20'000;
constexpr int kWriters = 2;
constexpr int kObservations = 8;
constexpr size_t kFillBufferBytes = size_t{128} << 20;

// Gives a page a history of some crawls. Few pages have many crawls.
void AddVaried(const SyntheticOptions& options, Random& random, PageRecord& page) {
  PageState& state = page.state;
  const double rate = state.rates.change_rate;
  const bool signalled = random.Below(3) == 0;
  const auto count = static_cast<int>(random.Below(1 + random.Below(limits::kMaxObservations + 1)));
  if (count == 0 && random.Below(2) == 0) return;  // never crawled
  Instant at = state.first_seen + Duration::FromSeconds(random.Uniform(0, 30 * 86400.0));
  page.detail.crawls = 1;
  for (int k = 0; k < count; ++k) {
    CrawlObservation observation;
    const double left = (options.now - at).seconds() / (count - k + 1);
    observation.elapsed = CoarseSpan(Duration::FromSeconds(left * random.Uniform(0.2, 1.2)));
    at = at + observation.elapsed;
    observation.fetched = at;
    observation.exposure = CoarseExposure(observation.elapsed.seconds());
    observation.changed = random.Uniform() < -std::expm1(-rate * observation.elapsed.seconds());
    if (signalled && random.Uniform() < (observation.changed ? 0.6 : 0.1)) {
      observation.signals.Add(
          SourceClass(static_cast<uint8_t>(random.Below(2)), BurstClassOf(1 + random.Below(5))));
    }
    page.detail.changes += observation.changed ? 1 : 0;
    ++page.detail.crawls;
    page.detail.statistics.recent.push_back(observation);
  }
  state.last_crawl = state.carried_at = page.detail.last_result = at;
  state.last_event = at;
  state.staleness = 0;
  state.evidence_exposure = static_cast<float>((at - state.first_seen).seconds());
}

PageRecord MakePage(const SyntheticOptions& options, uint64_t i, PageNumber number) {
  Random random(options.seed ^ (i * 0x9E3779B97F4A7C15u));
  PageRecord page;
  page.key = SyntheticKey(options, i);
  page.host = SyntheticHost(options, i);
  page.number = number;
  page.spec.importance = std::exp(1.5 * (random.Uniform() + random.Uniform() - 1));
  PageState& state = page.state;
  state.first_seen = options.now - Duration::Days(400);
  state.last_event = state.first_seen;
  state.carried_at = state.first_seen;
  const double change_rate = std::pow(10, random.Uniform(-3, 0)) / 86400;
  PageRates& rates = state.rates;
  rates.change_rate = change_rate;
  rates.unsignalled_rate = change_rate * random.Uniform(0.2, 1);
  rates.signal_rate = change_rate - rates.unsignalled_rate + 0.1 * change_rate;
  rates.signal_weight = std::log1p((change_rate - rates.unsignalled_rate) / (0.1 * change_rate));
  rates.staleness_rate = rates.unsignalled_rate;
  if (options.varied) {
    AddVaried(options, random, page);
    return page;
  }
  if (random.Below(10) == 0) return page;
  state.last_crawl = options.now - Duration::FromSeconds(random.Uniform(0, 30 * 86400));
  state.carried_at = state.last_crawl;
  state.staleness = 0;
  page.detail.crawls = kObservations + 1;
  page.detail.last_result = state.last_crawl;
  for (int k = kObservations; k > 0; --k) {
    CrawlObservation observation;
    observation.elapsed = Duration::Days(2);
    observation.fetched = state.last_crawl - Duration::Days(2 * (k - 1));
    observation.exposure = 2 * 86400.0F;
    observation.changed = random.Below(4) == 0;
    page.detail.statistics.recent.push_back(observation);
    page.detail.changes += observation.changed ? 1 : 0;
  }
  return page;
}

// Fills the pages of every kWriters-th slot, starting at slot `part`.
Status FillPart(Store& store, const SyntheticOptions& options, int part, bool again,
                uint64_t count) {
  std::vector<uint64_t> next_serial(limits::kSlots, 1);
  std::vector<std::unique_ptr<PageRecord>> records;
  const auto commit = [&]() -> Status {
    Changes changes;
    for (const auto& record : records) {
      changes.pages.push_back({.record = record.get(), .created = !again});
    }
    RETURN_IF_ERROR(store.Commit(changes));
    records.clear();
    return {};
  };
  for (uint64_t i = 0; i < count; ++i) {
    const Slot slot = SlotOfHost(SyntheticHost(options, i));
    if (slot.value() % kWriters != part) continue;
    const PageNumber number = MakePageNumber(slot, next_serial[slot.value()]++);
    records.push_back(std::make_unique<PageRecord>(MakePage(options, i, number)));
    if (records.size() == kPagesPerCommit) RETURN_IF_ERROR(commit());
  }
  return records.empty() ? Status() : commit();
}

Status Fill(Store& store, const SyntheticOptions& options, bool again, uint64_t count) {
  std::array<Status, kWriters> statuses;
  std::vector<std::thread> writers;
  for (int part = 0; part < kWriters; ++part) {
    writers.emplace_back([&, part] {
      statuses[static_cast<size_t>(part)] = FillPart(store, options, part, again, count);
    });
  }
  for (std::thread& writer : writers) writer.join();
  for (const Status& status : statuses) RETURN_IF_ERROR(status);
  return {};
}

Status MakeTablesAndLog(const std::string& dir, const SyntheticOptions& options) {
  StoreOptions store_options;
  store_options.durability = Durability::kNone;
  store_options.write_buffer_bytes = kFillBufferBytes;
  {
    ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, Store::Open(dir, store_options));
    RETURN_IF_ERROR(Fill(*store, options, false, options.pages));
    RETURN_IF_ERROR(store->Close());
  }
  store_options = StoreOptions();
  store_options.durability = Durability::kWal;
  ASSIGN_OR_RETURN(std::unique_ptr<Store> store, Store::Open(dir, store_options));
  RETURN_IF_ERROR(Fill(*store, options, true, std::min(options.log_rows, options.pages)));
  // The store is never closed, so that the process ends with these rows only in the log.
  (void)store.release();
  return {};
}

}  // namespace

std::string SyntheticHost(const SyntheticOptions& options, uint64_t i) {
  return fmt::format("h{}.example", i / options.pages_per_host);
}

void WriteSyntheticUrl(const SyntheticOptions& options, uint64_t i, std::string* url) {
  const fmt::format_int number(i);
  const fmt::format_int host(i / options.pages_per_host);
  const fmt::format_int section(i % 1000);
  url->assign("https://h").append(host.data(), host.size()).append(".example/articles/");
  url->append(section.data(), section.size()).append("/page-");
  url->append(number.data(), number.size()).append(".html");
}

PageKey SyntheticKey(const SyntheticOptions& options, uint64_t i) {
  PageKey key{.crawl_id = "DEFAULT", .url = {}};
  WriteSyntheticUrl(options, i, &key.url);
  return key;
}

void AddSyntheticFlags(CLI::App& command, SyntheticOptions& options) {
  command.add_option("--pages", options.pages, "Pages in the store")
      ->capture_default_str()
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000'000}));
  command.add_option("--pages-per-host", options.pages_per_host, "Pages of each host")
      ->capture_default_str()
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000'000}));
  command.add_option("--seed", options.seed, "Random seed of the pages")->capture_default_str();
}

Status MakeSyntheticStore(const std::string& dir, const SyntheticOptions& options) {
  const pid_t child = fork();
  if (child < 0) return MakeStatus(absl::StatusCode::kUnavailable, "cannot start a process");
  if (child == 0) {
    const Status status = MakeTablesAndLog(dir, options);
    if (!status.ok()) fmt::print(stderr, "filling {}: {}\n", dir, status.ToString());
    _exit(status.ok() ? 0 : 1);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return MakeStatus(absl::StatusCode::kInternal, "the synthetic store could not be made");
  }
  return {};
}

}  // namespace freshet
