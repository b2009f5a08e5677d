#include "server/engine/shard_loader.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/base/check.h"
#include "core/base/id_limits.h"
#include "core/base/url.h"
#include "core/model/page.h"
#include "core/schedule/clock_ahead.h"
#include "core/schedule/leases.h"
#include "core/schedule/page_book.h"
#include "core/schedule/page_to_load.h"
#include "core/schedule/shard_loading.h"
#include "core/schedule/shard_state.h"
#include "core/schedule/transaction.h"
#include "server/base/reporting.h"
#include "server/logs/loggers.h"
#include "storage/store.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

// A thread takes a share of the remaining slots. Shares get smaller, so that all threads end at
// about the same time, but not so small that opening iterators costs much.
constexpr uint32_t kRangesAhead = 16;  // ranges for each thread
constexpr uint32_t kLeastSlots = 4;
// The number of pages that are filed under one lock. If another thread has the lock, a thread reads
// on and tries again every kPagesToTryAgain pages. Once it has kMostPagesPerBatch pages, it waits
// for the lock.
constexpr size_t kPagesPerBatch = 1024;
constexpr size_t kPagesToTryAgain = 256;
constexpr size_t kMostPagesPerBatch = 8192;

// A shard and the lock under which it is loaded.
struct Target {
  Mutex mutex;
  ShardState* state FRESHET_GUARDED_BY(mutex) = nullptr;
  // Used for PrepareLoad, which needs no lock.
  std::optional<ShardLoading> reader;
};

// The state that the threads of one load share. Thread-safe.
class Load {
 public:
  Load(const Store& store, const std::vector<ShardState*>& shards, const LoadOptions& options,
       LoadProgress& progress)
      : store_(store),
        targets_(shards.size()),
        now_(options.now),
        without_leases_(options.without_leases),
        cancelled_(options.cancelled),
        progress_(progress) {
    for (size_t i = 0; i < shards.size(); ++i) {
      const MutexLock lock(targets_[i].mutex);
      targets_[i].state = shards[i];
      targets_[i].reader = shards[i]->loading();
    }
  }

  [[nodiscard]] Status status() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return status_;
  }
  [[nodiscard]] Status GoOn() const {
    if (cancelled_ == nullptr || !*cancelled_) return {};
    return MakeStatus(absl::StatusCode::kCancelled, "stopped while loading");
  }
  // Reads everything, then finishes every shard. Starts the threads, calls `report` every
  // `interval` until they are done, and joins them.
  void RunAll(unsigned threads, Duration interval, const std::function<void()>& report)
      FRESHET_EXCLUDES(mutex_);

 private:
  class Range;

  // The work of one thread of the first phase.
  void ReadRanges() FRESHET_EXCLUDES(mutex_);
  void FinishShards() FRESHET_EXCLUDES(mutex_);
  void LookForTwin(const ShardState& state, PageNumber number);
  void RunThreads(unsigned threads, void (Load::*work)(), Duration interval,
                  const std::function<void()>& report) FRESHET_EXCLUDES(mutex_);
  void Note(Status status) FRESHET_EXCLUDES(mutex_);
  // Takes the next slots to read: the first and the last one; unset = all slots are taken, or a
  // range has failed.
  [[nodiscard]] std::optional<std::pair<Slot, Slot>> NextRange() FRESHET_EXCLUDES(mutex_);

  const Store& store_;
  std::vector<Target> targets_;
  const Instant now_;
  const bool without_leases_;
  const std::atomic<bool>* const cancelled_;
  LoadProgress& progress_;
  std::atomic<size_t> next_shard_ = 0;
  Mutex mutex_;
  unsigned running_ FRESHET_GUARDED_BY(mutex_) = 0;
  uint32_t next_slot_ FRESHET_GUARDED_BY(mutex_) = 0;
  Status status_ FRESHET_GUARDED_BY(mutex_);
};

// Files the records of some slots. Owner thread only.
class Load::Range final : public LoadVisitor {
 public:
  explicit Range(Load& load) : load_(load), batches_(load.targets_.size()) {}

  Status OnHost(const HostRecord& host, uint32_t host_serial) override {
    Batch& batch = BatchOf(SlotOfHost(host.host));
    if (host_serial >= places_.size()) places_.resize(host_serial + size_t{1});
    places_[host_serial] = HostId(static_cast<uint32_t>(batch.ids.size() + batch.hosts.size()));
    load_.progress_.NoteAhead(CapAtNow(load_.now_, &batch.hosts.emplace_back(host)));
    return {};
  }

  Status OnPage(const LoadedPage& page) override {
    const size_t shard = ShardOf(SlotOf(page.number));
    Batch& batch = batches_[shard];
    const PageState* state = &page.state;
    PageState capped;
    const Duration ahead = AheadOf(load_.now_, page.state);
    if (ahead > Duration()) {
      capped = page.state;
      CapAtNow(load_.now_, &capped);
      state = &capped;
      load_.progress_.NoteAhead(ahead);
    }
    batch.pages.push_back(load_.targets_[shard].reader->PrepareLoad(
        page.number, page.fingerprint, places_[page.host_serial], page.spec, *state));
    batch.pages.back().crawl = batch.PlaceOf(page.crawl_id);
    batch.pages.back().ahead = ahead > Duration();
    const size_t size = batch.pages.size();
    if (size % kPagesToTryAgain == 0) RETURN_IF_ERROR(load_.GoOn());
    if (size < kPagesPerBatch || size % kPagesToTryAgain != 0) return {};
    Target& target = load_.targets_[shard];
    if (!target.mutex.TryLock()) {
      if (size < kMostPagesPerBatch) return {};
      target.mutex.Lock();
    }
    const Status filed = File(batch, target);
    target.mutex.Unlock();
    return filed;
  }

  Status OnAssignment(PageNumber page, Instant at) override {
    if (load_.without_leases_) return {};
    BatchOf(SlotOf(page)).assignments.emplace_back(page, std::min(at, load_.now_));
    return {};
  }

  Status OnLease(const LeaseRecord& lease) override {
    if (load_.without_leases_) return {};
    LeaseRecord& record = BatchOf(SlotOfLease(lease.id)).leases.emplace_back(lease);
    load_.progress_.NoteAhead(CapAtNow(load_.now_, &record));
    return {};
  }

  Status OnSlotEnd(Slot slot, uint64_t next_serial) override {
    BatchOf(slot).next_serials.emplace_back(slot, next_serial);
    places_.clear();
    load_.progress_.slots.fetch_add(1, std::memory_order_relaxed);
    return load_.GoOn();
  }

  // Files the remaining records. After that, the next range can begin.
  Status Finish() {
    for (size_t shard = 0; shard < batches_.size(); ++shard) {
      Target& target = load_.targets_[shard];
      const MutexLock lock(target.mutex);
      RETURN_IF_ERROR(File(batches_[shard], target));
      batches_[shard].ids.clear();
    }
    return {};
  }

 private:
  // Records to be filed in a shard. Until they are filed, the host of a page is an index among the
  // hosts of this range and shard, counted from the start of the range. The crawl id of a page is
  // an index in `crawls`.
  struct Batch {
    [[nodiscard]] CrawlIndex PlaceOf(std::string_view crawl_id) {
      size_t place = 0;
      // Neighboring pages usually have the same crawl id.
      if (last_crawl < crawls.size() && crawls[last_crawl] == crawl_id) {
        place = last_crawl;
      } else {
        const auto [it, first] = crawl_places.try_emplace(std::string(crawl_id), crawls.size());
        if (first) crawls.emplace_back(crawl_id);
        place = last_crawl = it->second;
      }
      return CrawlIndex(static_cast<uint16_t>(place));
    }

    std::vector<HostId> ids;
    std::vector<HostRecord> hosts;
    std::vector<PageToLoad> pages;
    std::vector<std::string> crawls;
    std::vector<std::pair<PageNumber, Instant>> assignments;
    std::vector<LeaseRecord> leases;
    std::vector<std::pair<Slot, uint64_t>> next_serials;
    absl::flat_hash_map<std::string, size_t> crawl_places;
    size_t last_crawl = 0;
  };

  [[nodiscard]] size_t ShardOf(Slot slot) const { return slot.value() % batches_.size(); }
  [[nodiscard]] Batch& BatchOf(Slot slot) { return batches_[ShardOf(slot)]; }

  Status File(Batch& batch, Target& target) FRESHET_REQUIRES(target.mutex) {
    ShardLoading loading = target.state->loading();
    for (const HostRecord& host : batch.hosts) batch.ids.push_back(loading.LoadHost(host));
    batch.hosts.clear();
    std::vector<CrawlIndex> crawls;
    for (const std::string& crawl_id : batch.crawls) {
      ASSIGN_OR_RETURN(crawls.emplace_back(), loading.InternCrawl(crawl_id));
    }
    for (PageToLoad& page : batch.pages) {
      page.entry.host = batch.ids[page.entry.host.value()];
      page.crawl = crawls[page.crawl.value()];
    }
    batch.crawls.clear();
    batch.crawl_places.clear();
    RETURN_IF_ERROR(
        loading.LoadPages(batch.pages, load_.now_.infinite() ? Instant::None() : load_.now_));
    load_.progress_.pages.fetch_add(batch.pages.size(), std::memory_order_relaxed);
    batch.pages.clear();
    for (const auto& [page, at] : batch.assignments) loading.LoadAssignment(page, at);
    batch.assignments.clear();
    for (const LeaseRecord& lease : batch.leases) loading.LoadLease(lease);
    batch.leases.clear();
    for (const auto& [slot, serial] : batch.next_serials) {
      loading.LoadNextSerial(slot, serial);
    }
    batch.next_serials.clear();
    return {};
  }

  Load& load_;
  std::vector<HostId> places_;  // index of each host of the slot in its batch, by serial
  std::vector<Batch> batches_;  // by shard
};

void Load::Note(Status status) {
  const MutexLock lock(mutex_);
  status_.Update(std::move(status));
}

std::optional<std::pair<Slot, Slot>> Load::NextRange() {
  const MutexLock lock(mutex_);
  const uint32_t left = limits::kSlots - next_slot_;
  if (left == 0 || !status_.ok()) return std::nullopt;
  const uint32_t share = left / (running_ * kRangesAhead);
  const auto first = static_cast<uint16_t>(next_slot_);
  next_slot_ += std::min(left, std::max(share, kLeastSlots));
  return std::pair(Slot(first), Slot(static_cast<uint16_t>(next_slot_ - 1)));
}

void Load::ReadRanges() {
  Range range(*this);
  while (const auto slots = NextRange()) {
    Status loaded = store_.Load(slots->first, slots->second, range);
    if (loaded.ok()) loaded = range.Finish();
    if (!loaded.ok()) Note(std::move(loaded));
  }
}

void Load::FinishShards() {
  for (size_t shard = next_shard_++; shard < targets_.size(); shard = next_shard_++) {
    Target& target = targets_[shard];
    const MutexLock lock(target.mutex);
    Note(GoOn());
    for (const PageNumber number : target.state->loading().FinishLoad())
      LookForTwin(*target.state, number);
  }
}

// Checks whether two pages with the same fingerprint have the same URL, as they nearly always do.
void Load::LookForTwin(const ShardState& state, PageNumber number) {
  const StatusOr<PageRecord> page = std::move(store_.ReadPages({&number, 1}).front());
  if (!page.ok()) return;
  std::vector<PageNumber> candidates;
  state.pages().FindNumbers(page->key, &candidates);
  std::erase(candidates, number);
  for (const StatusOr<PageRecord>& other : store_.ReadPages(candidates)) {
    if (!other.ok() || other->key != page->key) continue;
    progress_.stored_twice.fetch_add(1, std::memory_order_relaxed);
    Logger(LogModule::kEngine)
        .warn(
            "{} is stored twice, as page {:#x} and as page {:#x}: run freshetd --repair, which "
            "keeps one",
            page->key.url, number.value(), other->number.value());
    return;
  }
}

void Load::RunThreads(unsigned threads, void (Load::*work)(), Duration interval,
                      const std::function<void()>& report) {
  {
    const MutexLock lock(mutex_);
    running_ = threads;
  }
  const std::function<void()> piece = [this, work] {
    (this->*work)();
    const MutexLock lock(mutex_);
    --running_;
  };
  RunReporting(std::vector<std::function<void()>>(threads, piece), interval, report);
}

void Load::RunAll(unsigned threads, Duration interval, const std::function<void()>& report) {
  RunThreads(threads, &Load::ReadRanges, interval, report);
  if (status().ok()) RunThreads(threads, &Load::FinishShards, interval, report);
}

// Loads leases into shards. Owner thread only.
class LeaseLoad final : public LoadVisitor {
 public:
  LeaseLoad(const std::vector<ShardState*>& shards, Instant now) : shards_(shards), now_(now) {}

  Status OnHost(const HostRecord& /*host*/, uint32_t /*host_serial*/) override { return {}; }
  Status OnPage(const LoadedPage& /*page*/) override { return {}; }
  Status OnAssignment(PageNumber page, Instant at) override {
    ShardOf(SlotOf(page)).LoadAssignment(page, std::min(at, now_));
    return {};
  }
  Status OnLease(const LeaseRecord& lease) override {
    LeaseRecord record = lease;
    CapAtNow(now_, &record);
    ShardOf(SlotOfLease(lease.id)).LoadLease(record);
    return {};
  }
  Status OnSlotEnd(Slot slot, uint64_t next_serial) override {
    ShardOf(slot).LoadNextSerial(slot, next_serial);
    return {};
  }

 private:
  [[nodiscard]] ShardLoading ShardOf(Slot slot) {
    return shards_[slot.value() % shards_.size()]->loading();
  }

  const std::vector<ShardState*>& shards_;
  const Instant now_;
};

}  // namespace

void LoadProgress::NoteAhead(Duration by) {
  if (by <= kClocksDiffer) return;
  ahead.fetch_add(1, std::memory_order_relaxed);
  int64_t most = ahead_micros;
  while (by.micros() > most && !ahead_micros.compare_exchange_weak(most, by.micros())) {
  }
}

Status LoadLeases(const Store& store, const std::vector<ShardState*>& shards, Instant now) {
  LeaseLoad load(shards, now);
  RETURN_IF_ERROR(store.LoadLeases(load));
  for (ShardState* shard : shards) shard->loading().FinishLeases();
  return {};
}

Status LoadShards(const Store& store, const std::vector<ShardState*>& shards,
                  const LoadOptions& options, LoadProgress& progress) {
  CHECK(!shards.empty());
  const unsigned threads =
      options.threads != 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
  progress.expected_pages =
      store.Stats().families[storage::IndexOf(storage::Family::kPages)].estimated_rows;
  Load load(store, shards, options, progress);
  load.RunAll(threads, options.report_interval, options.report);
  return load.status();
}

}  // namespace freshet
