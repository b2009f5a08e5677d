// The leases of a store: the log of each shard, and the rows that start-up reads from all of them.
// Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_STORED_LEASES_H_
#define FRESHET_STORAGE_INTERNAL_STORED_LEASES_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/status.h"
#include "rocksdb/write_batch.h"
#include "storage/internal/database.h"
#include "storage/internal/lease_log.h"
#include "storage/store.h"
#include "sync/mutex.h"

namespace freshet::storage {

// The rows that start-up needs are read once for all slots, and again only if there were commits in
// between. Thread-safe, with the exceptions of Store.
class StoredLeases {
 public:
  using Logs = std::array<LeaseLog, limits::kMaxShards>;
  // The rows about leases that start-up reads.
  struct Rows {
    uint64_t commits = 0;             // number of commits before the read
    std::vector<LeaseRecord> leases;  // by slot and id
    std::vector<std::pair<PageNumber, Instant>>
        assignments;  // the last assignment of each page, by page number

    // Visits the rows of one slot.
    [[nodiscard]] Status Visit(Slot slot, LoadVisitor& visitor) const;
  };

  // Precondition: `base` outlives this object.
  explicit StoredLeases(const Database& base) : base_(base) {}

  // Opens the logs. Called again when the rows have changed. Does not return DataLoss, so that a
  // damaged store can still be opened and examined; Read and Deal return it.
  [[nodiscard]] Status Open();
  // Returns the rows. Reads them only if `commits`, the number of commits so far, has changed since
  // the last read.
  [[nodiscard]] StatusOr<std::shared_ptr<const Rows>> Read(uint64_t commits) const
      FRESHET_EXCLUDES(mutex_);
  // Frees the rows; Read reads them again if needed.
  void ForgetRows() const FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    rows_.reset();
  }
  // Rewrites all leases in the batch, divided among this number of shards. Returns the new logs.
  // The caller passes them to Install after the batch was written.
  [[nodiscard]] StatusOr<std::unique_ptr<Logs>> Deal(uint32_t shards, uint64_t commits,
                                                     rocksdb::WriteBatch* batch) const;
  // Replaces the logs, after their rows were written.
  void Install(std::unique_ptr<Logs> logs) {
    logs_ = std::move(logs);
    ForgetRows();
  }
  // The log of a shard, used only by the shard's commits.
  [[nodiscard]] LeaseLog& log(uint16_t shard) const { return (*logs_)[shard]; }
  // Reads a row of the shard's log.
  [[nodiscard]] StatusOr<std::vector<LeaseEntry>> ReadRow(uint16_t shard, uint64_t sequence) const;

 private:
  class Replay;
  using RowVisit =
      std::function<void(uint16_t shard, uint64_t sequence, std::vector<LeaseEntry>& entries)>;
  [[nodiscard]] Status ForEachRow(const RowVisit& visit) const;

  const Database& base_;
  Status damage_;
  std::unique_ptr<Logs> logs_;
  mutable Mutex mutex_;
  mutable std::shared_ptr<Rows> rows_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_STORED_LEASES_H_
