#include "server/shard_loader.h"

#include <algorithm>
#include <functional>
#include <thread>
#include <utility>

#include "core/base/check.h"
#include "core/base/limits.h"
#include "core/base/url.h"
#include "server/mutex.h"

namespace freshet {
namespace {

// Slots that a thread takes at a time: few enough that no thread is left with a long last one,
// enough that opening iterators does not count.
constexpr uint32_t kSlotsPerRange = 16;
static_assert(limits::kSlots % kSlotsPerRange == 0);
// Pages that are filed under one lock.
constexpr size_t kPagesPerBatch = 2048;

// A shard and the lock under which it is loaded.
struct Target {
  Mutex mutex;
  ShardState* state FRESHET_GUARDED_BY(mutex) = nullptr;
  // The same; PrepareLoad needs no lock.
  const ShardState* reader = nullptr;
};

// What all threads of one load share. Thread-safe.
class Load {
 public:
  Load(const Store& store, const std::vector<ShardState*>& shards, Instant now,
       LoadProgress& progress)
      : store_(store), targets_(shards.size()), now_(now), progress_(progress) {
    for (size_t i = 0; i < shards.size(); ++i) {
      const MutexLock lock(targets_[i].mutex);
      targets_[i].state = shards[i];
      targets_[i].reader = shards[i];
    }
  }

  [[nodiscard]] Status status() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return status_;
  }
  // Whether an instant is known to have passed.
  [[nodiscard]] bool Passed(Instant at) const { return !now_.infinite() && at <= now_; }
  // Starts the threads, calls `report` every `interval` until they are done, and joins them.
  void RunAll(unsigned threads, Duration interval, const std::function<void()>& report)
      FRESHET_EXCLUDES(mutex_);

 private:
  class Range;

  // Loads ranges until there are no more; the work of one thread.
  void Run() FRESHET_EXCLUDES(mutex_);

  const Store& store_;
  std::vector<Target> targets_;
  const Instant now_;
  LoadProgress& progress_;
  std::atomic<uint32_t> next_slot_ = 0;
  Mutex mutex_;
  Condition ended_;
  unsigned running_ FRESHET_GUARDED_BY(mutex_) = 0;
  Status status_ FRESHET_GUARDED_BY(mutex_);
};

// Files what the store gives of some slots. Owner thread only.
class Load::Range final : public LoadVisitor {
 public:
  explicit Range(Load& load) : load_(load) { batch_.reserve(kPagesPerBatch); }

  Status OnHost(const HostRecord& host, uint32_t host_serial) override {
    Target& target = TargetOf(SlotOfHost(host.host));
    const MutexLock lock(target.mutex);
    HostRecord record = host;
    record.last_assignment = std::min(record.last_assignment, load_.now_);
    const HostId id = target.state->LoadHost(record);
    if (host_serial >= hosts_.size()) hosts_.resize(host_serial + size_t{1});
    hosts_[host_serial] = id;
    return {};
  }

  Status OnPage(const LoadedPage& page) override {
    target_ = &TargetOf(SlotOf(page.number));
    PageToLoad& prepared = batch_.emplace_back(target_->reader->PrepareLoad(
        page.number, page.fingerprint, hosts_[page.host_serial], page.spec, page.state));
    // What has passed needs no alarm, which costs more than all else that is filed of a page.
    if (load_.Passed(prepared.entry.eligible_from)) prepared.entry.eligible_from = Instant();
    return batch_.size() == kPagesPerBatch ? Flush() : Status();
  }

  Status OnLease(const LeaseRecord& lease) override {
    RETURN_IF_ERROR(Flush());
    Target& target = TargetOf(SlotOfLease(lease.id));
    const MutexLock lock(target.mutex);
    LeaseRecord record = lease;
    record.assigned = std::min(record.assigned, load_.now_);
    target.state->LoadLease(record);
    return {};
  }

  Status OnSlotEnd(Slot slot, uint64_t next_serial) override {
    RETURN_IF_ERROR(Flush());
    hosts_.clear();
    load_.progress_.slots.fetch_add(1, std::memory_order_relaxed);
    Target& target = TargetOf(slot);
    const MutexLock lock(target.mutex);
    target.state->LoadNextSerial(slot, next_serial);
    return {};
  }

 private:
  [[nodiscard]] Target& TargetOf(Slot slot) {
    return load_.targets_[slot.value() % load_.targets_.size()];
  }
  Status Flush() {
    if (batch_.empty()) return {};
    const MutexLock lock(target_->mutex);
    RETURN_IF_ERROR(target_->state->LoadPages(batch_));
    load_.progress_.pages.fetch_add(batch_.size(), std::memory_order_relaxed);
    batch_.clear();
    return {};
  }

  Load& load_;
  std::vector<HostId> hosts_;  // of the slot, by serial
  Target* target_ = nullptr;   // of the batch
  std::vector<PageToLoad> batch_;
};

void Load::Run() {
  Range range(*this);
  while (status().ok()) {
    const uint32_t first = next_slot_.fetch_add(kSlotsPerRange);
    if (first >= limits::kSlots) break;
    const auto last = static_cast<uint16_t>(first + kSlotsPerRange - 1);
    Status loaded = store_.Load(Slot(static_cast<uint16_t>(first)), Slot(last), range);
    if (loaded.ok()) continue;
    const MutexLock lock(mutex_);
    status_.Update(std::move(loaded));
  }
  const MutexLock lock(mutex_);
  --running_;
  ended_.NotifyAll();
}

void Load::RunAll(unsigned threads, Duration interval, const std::function<void()>& report) {
  std::vector<std::thread> workers;
  MutexLock lock(mutex_);
  running_ = threads;
  for (unsigned i = 0; i < threads; ++i) workers.emplace_back([this] { Run(); });
  while (running_ > 0) {
    ended_.WaitFor(mutex_, interval);
    if (running_ == 0 || !report) continue;
    lock.Unlock();
    report();
    lock.Lock();
  }
  lock.Unlock();
  for (std::thread& worker : workers) worker.join();
}

}  // namespace

Status LoadShards(const Store& store, const std::vector<ShardState*>& shards,
                  const LoadOptions& options, LoadProgress& progress) {
  CHECK(!shards.empty());
  const unsigned threads =
      options.threads != 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
  // Rows that were rewritten count twice until they are compacted: too little reserved costs less
  // than too much.
  const uint64_t rows =
      store.Stats().families[storage::IndexOf(storage::Family::kStates)].estimated_rows;
  progress.expected_pages = rows;
  for (ShardState* shard : shards) shard->ReservePages(rows / shards.size() * 2 / 3);
  Load load(store, shards, options.now, progress);
  load.RunAll(threads, options.report_interval, options.report);
  RETURN_IF_ERROR(load.status());
  for (ShardState* shard : shards) shard->FinishLoad();
  return {};
}

}  // namespace freshet
