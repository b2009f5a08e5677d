// The RocksDB database of a store: opens, writes and closes it, and tracks failures and free space.
// Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_DATABASE_H_
#define FRESHET_STORAGE_INTERNAL_DATABASE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "core/base/status.h"
#include "rocksdb/db.h"
#include "rocksdb/write_batch.h"
#include "storage/internal/migrate.h"
#include "storage/internal/watched_env.h"
#include "storage/internal/write_listener.h"
#include "storage/options.h"
#include "storage/store.h"
#include "sync/mutex.h"

namespace freshet::storage {

// A database in a directory that it locks. Thread-safe, except for opening and closing.
class Database {
 public:
  Database(std::string dir, StoreOptions options);
  ~Database();

  // Creates the directory if there is none, and locks it against other processes. Must be called
  // once, before all other functions. Not OK: FailedPrecondition if another process has the lock.
  [[nodiscard]] Status Lock();
  // Checks the existing files, opens the database, and replays the logs. Precondition: the
  // directory is locked.
  [[nodiscard]] Status Open();
  // Flushes, unless a write has failed, and unlocks the directory. Idempotent.
  Status Close();
  // Forbids all writes, because the rows are a cache of a log that is not available.
  void MakeReadOnly() { read_only_ = true; }
  [[nodiscard]] bool read_only() const { return read_only_; }
  // Starts the compactions that StoreOptions::hold_compactions has held back. No-op if none were
  // held back.
  [[nodiscard]] Status StartCompactions();

  [[nodiscard]] const std::string& dir() const { return dir_; }
  // The options, with an environment that counts writes.
  [[nodiscard]] const StoreOptions& options() const { return options_; }
  // Precondition: the database is open.
  [[nodiscard]] rocksdb::DB& db() const {
    CHECK(db_ != nullptr, "{} is closed", dir_);
    return *db_;
  }
  // The column families, indexed by Family.
  [[nodiscard]] const FamilyHandles& handles() const { return handles_; }
  [[nodiscard]] std::vector<rocksdb::ColumnFamilyHandle*> families() const {
    return {handles_.begin(), handles_.end()};
  }
  [[nodiscard]] rocksdb::ColumnFamilyHandle* handle(Family family) const {
    return handles_[IndexOf(family)];
  }
  // Logs a line, with a level of StoreOptions::log.
  void Say(char level, std::string_view line) const;
  // Sets the stage of OpenProgress, if there is one.
  void Enter(OpenStage stage) const;

  // Reads a number from `meta`; nullopt = no such row.
  [[nodiscard]] StatusOr<std::optional<uint64_t>> ReadNumber(const std::string& key) const;
  // Reads a row of `meta`. NotFound: no such row.
  [[nodiscard]] StatusOr<std::string> ReadMeta(const std::string& key) const;

  // Adds a number for `meta` to a batch.
  [[nodiscard]] Status PutNumber(rocksdb::WriteBatch* batch, const std::string& key,
                                 uint64_t number) const;

  // Writes a batch, durably if `sync` is true. Records a failure.
  [[nodiscard]] Status Write(rocksdb::WriteBatch* batch, bool sync);
  // Records the outcome of a write that was made in another way.
  [[nodiscard]] Status Note(const rocksdb::Status& status);
  // Ends writing permanently, because the content of the disk is unknown. Returns the first error
  // that ended writing.
  [[nodiscard]] Status NoteFailure(const Status& error);
  // OK if there is space for another commit. Resumes writing if space had run out. Costs a query of
  // the device's free space.
  [[nodiscard]] Status EnsureSpace();
  // See Store::health and Store::writes.
  [[nodiscard]] Status health() const;
  [[nodiscard]] StoreWrites writes() const;
  // Number of commits refused for lack of space. Commit increments it.
  [[nodiscard]] std::atomic<uint64_t>& refused_commits() const { return refused_commits_; }

 private:
  class ReplayWatch;

  // Refuses a database with column families that this release does not know.
  [[nodiscard]] Status CheckFamilies(const rocksdb::DBOptions& db_options) const;
  // Restores the normal limit of memtables after the replay.
  [[nodiscard]] Status LimitMemtables();
  // Makes RocksDB write again after the device was full, if there is enough space.
  [[nodiscard]] Status Resume();

  // --- Constant after opening ---
  const std::string dir_;
  const std::shared_ptr<WriteCounts> writes_ = std::make_shared<WriteCounts>();
  const std::unique_ptr<rocksdb::Env> env_;
  const StoreOptions options_;  // its env is env_
  rocksdb::FileLock* lock_ = nullptr;
  std::shared_ptr<rocksdb::Cache> cache_;
  std::shared_ptr<WriteListener> listener_;
  std::unique_ptr<ReplayWatch> replay_watch_;
  std::unique_ptr<rocksdb::DB> db_;
  bool roomy_memtables_ = false;  // until LimitMemtables
  bool read_only_ = false;
  FamilyHandles handles_{};

  // --- Synchronised by themselves ---
  std::atomic<bool> failed_ = false;  // failure_ is set
  std::atomic<bool> full_ = false;    // RocksDB ran out of space and has not been resumed
  std::atomic<int> writing_ = 0;      // calls of RocksDB that are writing now
  mutable std::atomic<uint64_t> refused_commits_ = 0;

  mutable Mutex mutex_;
  Status failure_ FRESHET_GUARDED_BY(mutex_);
  Mutex resume_mutex_;
};

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_DATABASE_H_
