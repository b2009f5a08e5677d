// The source of truth of a store: its own database, or a ChangeLog whose rows the database caches.
// Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_STORE_LOG_H_
#define FRESHET_STORAGE_INTERNAL_STORE_LOG_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/status.h"
#include "rocksdb/write_batch.h"
#include "storage/change_log.h"
#include "storage/internal/database.h"
#include "storage/internal/log_tail.h"
#include "storage/store.h"
#include "sync/mutex.h"

namespace freshet::storage {

// Commits go to the source of truth first. A start reads the rows that the database lacks, follows
// the log as long as another server owns it, and then takes ownership of the log. Thread-safe, with
// the exceptions of Store.
class StoreLog {
 public:
  // Precondition: `base` outlives this object.
  explicit StoreLog(Database& base);

  // Without a log: checks that the store is not a cache, or is opened read-only. Called before
  // anything is written.
  [[nodiscard]] Status OpenAlone();
  // Takes ownership of the log, and reads the rows that the store lacks. `store` is the Store of
  // this object; `read_marks` rereads the rows that the store keeps in memory.
  [[nodiscard]] Status CatchUp(Store& store, const std::function<Status()>& read_marks);
  // Checks that the log still has all removals that came after this cache was last written.
  [[nodiscard]] Status CheckAge() const;
  // Returns true if the source of truth is a log.
  [[nodiscard]] bool is_cache() const { return options_.truth != nullptr || base_.read_only(); }
  // Writes a batch to the source of truth, and then to the database. If only the second write
  // fails, the store accepts no further writes, and the next start reads the rows from the log.
  [[nodiscard]] Status Write(rocksdb::WriteBatch* batch, uint16_t partition);

 private:
  // The last rows that were read from a partition, and when they were read.
  struct Followed {
    LogTail tail;
    uint64_t looked_micros = 0;
  };
  // Writes rows of one partition into the store.
  class RowTaker;

  // Periodically stores the time at which the store last had all rows of the log. All removals
  // before that time are in the store.
  [[nodiscard]] Status MarkTime(uint64_t seconds);
  // Removes the rows that make this store a cache.
  [[nodiscard]] Status LeaveLog(uint64_t complete_seconds);
  // Checks that this store can be a cache of `log`.
  [[nodiscard]] Status CheckCache(const ChangeLog& log) const;
  // Counts new range deletions, and flushes the frontier when there are enough of them to slow down
  // reads. Called only on the frontier's thread, because no other thread removes queues.
  void NoteRanges(size_t ranges);
  // Checks that the store was filled from this partition, and not from one of a deleted log with
  // the same name.
  [[nodiscard]] Status CheckBirth(uint16_t partition) const;
  // Makes this store a cache of `log`, and of no other log from now on.
  [[nodiscard]] Status MarkName(const ChangeLog& log);
  // Reads rows that others append, until this store may own the log.
  [[nodiscard]] Status Follow(Store& store, const std::function<Status()>& read_marks);
  // Calls the follower's Prepare if MayOwnSoon returns true and the follower has no prepared state.
  [[nodiscard]] Status Prepare(Store& store, const std::function<Status()>& read_marks);
  void OutdatePrepared();
  // Not OK: DataLoss if the partition no longer has the rows that this store has read last.
  [[nodiscard]] Status CheckTail(uint16_t partition) const;
  // Reads a partition up to `end`, as ChangeLog::Read does, into the store.
  [[nodiscard]] Status TakeIn(uint16_t partition, std::optional<uint64_t> end);
  // Reads all partitions, `at_once` of them at a time.
  [[nodiscard]] Status TakeInAll(uint32_t at_once);
  // Takes ownership of a partition, and reads the rest of it.
  [[nodiscard]] Status Own(uint16_t partition);
  // Calls `work` for all partitions, `at_once` of them at a time. Returns the first failure.
  [[nodiscard]] Status OfAll(uint32_t at_once, const std::function<Status(uint16_t)>& work) const;
  // AppendOwners and AppendFirst append rows to a partition that this store owns. Once the store
  // has read these rows back, it has read all rows of other servers. Both functions return the
  // offset after their rows.
  [[nodiscard]] StatusOr<uint64_t> AppendOwners(uint16_t partition);
  [[nodiscard]] StatusOr<uint64_t> AppendFirst(uint16_t partition);
  using Numbers = std::vector<std::pair<MetaKey, uint64_t>>;
  [[nodiscard]] StatusOr<uint64_t> AppendNumbers(uint16_t partition, const Numbers& numbers);

  // --- Constant ---
  Database& base_;
  const StoreOptions& options_;
  const std::string& dir_;
  rocksdb::Env* const env_;

  // --- While it opens ---
  std::atomic<uint64_t> rows_taken_in_ = 0;
  uint64_t marked_seconds_ = 0;         // the time that MarkTime last wrote
  bool prepared_ = false;               // the follower has prepared its state from the store
  std::atomic<bool> outdated_ = false;  // the follower missed later changes
  // By partition; each is used only by the thread that reads it.
  const std::unique_ptr<std::array<Followed, limits::kMaxShards>> followed_;

  // Range deletions of queues and crawl ids since NoteRanges last flushed; used only by the
  // frontier's thread.
  size_t ranges_ = 0;
  // By partition. A commit holds the mutex from its append to the log until its write to the
  // database. Otherwise the offset of a later commit could cover an earlier one that is not yet
  // written.
  const std::unique_ptr<std::array<Mutex, limits::kMaxShards>> mutexes_;
};

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_STORE_LOG_H_
