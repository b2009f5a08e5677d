#include "storage/internal/database.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "rocksdb/cache.h"
#include "rocksdb/env.h"
#include "rocksdb/perf_level.h"
#include "rocksdb/wal_filter.h"
#include "storage/change_log.h"
#include "storage/directory.h"
#include "storage/internal/closing.h"
#include "storage/internal/format_check.h"
#include "storage/internal/keys.h"
#include "storage/internal/records.h"
#include "storage/internal/rocksdb_env.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/internal/tuning.h"
#include "storage/internal/wal_check.h"

namespace freshet::storage {
namespace {

// The space that new logs and manifests need, in bytes.
constexpr uint64_t kResumeSlackBytes = 1 << 20;

// ResourceExhausted: the device reports less free space than `needed`.
Status CheckFree(rocksdb::Env* env, const std::string& dir, uint64_t needed) {
  uint64_t free_bytes = 0;
  if (!env->GetFreeSpace(dir, &free_bytes).ok() || free_bytes >= needed) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    "the disk is full: {} MiB are free, {} MiB are kept in reserve",
                    free_bytes >> 20, needed >> 20);
}

StoreOptions WithEnv(StoreOptions options, rocksdb::Env* env) {
  options.env = env;
  return options;
}

}  // namespace

// Observes the progress of a replay with a RocksDB WAL filter, which gets every record. A long log
// takes seconds. Owner thread only.
class Database::ReplayWatch : public rocksdb::WalFilter {
 public:
  explicit ReplayWatch(OpenProgress& progress) : progress_(progress) {}
  const char* Name() const override { return "FreshetReplayWatch"; }
  WalProcessingOption LogRecordFound(unsigned long long, const std::string&,
                                     const rocksdb::WriteBatch& batch, rocksdb::WriteBatch*,
                                     bool*) override {
    // No bad record is tolerated (storage/internal/tuning.cc). So this result ends the replay and
    // the opening before the database has read any row.
    if (progress_.cancelled) return WalProcessingOption::kCorruptedRecord;
    progress_.replayed_log_bytes.fetch_add(batch.GetDataSize(), std::memory_order_relaxed);
    return WalProcessingOption::kContinueProcessing;
  }

 private:
  OpenProgress& progress_;
};

Database::Database(std::string dir, StoreOptions options)
    : dir_(std::move(dir)),
      env_(WatchWrites(RocksDbEnv(options), writes_)),
      options_(WithEnv(std::move(options), env_.get())) {}

Database::~Database() { Close().IgnoreError(); }

void Database::Say(char level, std::string_view line) const {
  if (options_.log) options_.log(level, line);
}

void Database::Enter(OpenStage stage) const {
  if (options_.progress != nullptr) options_.progress->stage = stage;
}

Status Database::Lock() {
  CHECK(lock_ == nullptr, "{} is locked", dir_);
  RETURN_IF_ERROR(FromRocksDb(env_->CreateDirIfMissing(dir_), "creating " + dir_));
  RETURN_IF_ERROR(LockDirectory(options_.env, dir_, &lock_));
  RemoveProbe(*env_, dir_);
  return absl::OkStatus();
}

Status Database::Open() {
  CHECK(lock_ != nullptr && db_ == nullptr, "{} is opened without its lock, or twice", dir_);
  rocksdb::DBOptions db_options = MakeDbOptions(options_);
  listener_ = std::make_shared<WriteListener>();
  db_options.listeners.push_back(listener_);
  if (options_.progress != nullptr) {
    replay_watch_ = std::make_unique<ReplayWatch>(*options_.progress);
    db_options.wal_filter = replay_watch_.get();
  }
  uint64_t log_bytes = 0;
  ASSIGN_OR_RETURN(const bool exists, DatabaseExists(options_.env, dir_));
  if (exists) {
    // These checks come first, before anything is written.
    const Status known = CheckFamilies(db_options);
    if (absl::IsFailedPrecondition(known)) return known;
    RETURN_IF_ERROR(CheckFormat(dir_, options_));
    // Damage in the logs is refused only if the store has promised that their rows are on this
    // disk. A cache of a cluster's log promises nothing, because the cluster's log has the rows,
    // too.
    const bool promised = options_.durability == Durability::kSync && options_.truth == nullptr &&
                          !options_.leave_log;
    const WalPolicy policy = promised ? WalPolicy::kRefuse : WalPolicy::kCut;
    RETURN_IF_ERROR(CheckLogs(options_.env, dir_, policy, options_.log, options_.progress));
    ASSIGN_OR_RETURN(log_bytes, WalBytes(options_.env, dir_));
    RETURN_IF_ERROR(known);
  }
  cache_ = rocksdb::NewLRUCache(options_.block_cache_bytes);
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (size_t i = 0; i < kFamilies; ++i) {
    rocksdb::ColumnFamilyOptions family =
        MakeFamilyOptions(static_cast<Family>(i), options_, cache_);
    roomy_memtables_ = MakeRoomForReplay(log_bytes, options_, &family);
    families.emplace_back(std::string(kFamilyNames[i]), family);
  }
  if (exists) Enter(OpenStage::kReplayingLogs);
  // RocksDB's counters per call would slow a replay by a few percent, and are never read.
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status opened = rocksdb::DB::Open(db_options, dir_, families, &handles, &db);
  // A cancelled replay looks like a damaged log, so this checks first whether the opening was
  // cancelled.
  if (!opened.ok()) RETURN_IF_ERROR(GoOn(options_.progress));
  RETURN_IF_ERROR(FromRocksDb(opened, "opening " + dir_));
  db_.reset(db);
  Enter(OpenStage::kOpening);
  CHECK(handles.size() == handles_.size());
  std::copy(handles.begin(), handles.end(), handles_.begin());
  return options_.hold_compactions ? absl::OkStatus() : LimitMemtables();
}

Status Database::StartCompactions() {
  if (!options_.hold_compactions) return absl::OkStatus();
  RETURN_IF_ERROR(LimitMemtables());
  return FromRocksDb(db_->EnableAutoCompaction(families()), "starting compactions");
}

Status Database::CheckFamilies(const rocksdb::DBOptions& db_options) const {
  std::vector<std::string> stored_names;
  RETURN_IF_ERROR(
      FromRocksDb(rocksdb::DB::ListColumnFamilies(db_options, dir_, &stored_names), dir_));
  const auto is_among = [](const auto& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const std::string& name : stored_names) {
    if (is_among(kRetiredFamilyNames, name)) {
      return MakeStatus(absl::StatusCode::kFailedPrecondition,
                        "{}: a development version wrote it, in a format that this release cannot "
                        "read: export its pages with the version that wrote it",
                        dir_);
    }
    if (!is_among(kFamilyNames, name)) {
      return MakeStatus(absl::StatusCode::kFailedPrecondition,
                        "{}: column family '{}' is unknown: written by a newer release", dir_,
                        name);
    }
  }
  return absl::OkStatus();
}

Status Database::LimitMemtables() {
  if (!roomy_memtables_) return absl::OkStatus();
  roomy_memtables_ = false;
  for (size_t i = 0; i < handles_.size(); ++i) {
    const auto usual = MakeFamilyOptions(static_cast<Family>(i), options_, cache_);
    RETURN_IF_ERROR(
        FromRocksDb(db_->SetOptions(handles_[i], UsualMemtables(usual)), "limiting memtables"));
  }
  return absl::OkStatus();
}

Status Database::Close() {
  Status status;
  if (db_ != nullptr) {
    if (!failed_ && !full_) {
      status = FromRocksDb(FlushAtEnd(*db_, families(), options_.durability), "flushing " + dir_);
    }
    for (rocksdb::ColumnFamilyHandle* family : families()) {
      status.Update(FromRocksDb(db_->DestroyColumnFamilyHandle(family), "closing " + dir_));
    }
    handles_ = {};
    status.Update(FromRocksDb(db_->Close(), "closing " + dir_));
    db_.reset();
  }
  if (lock_ != nullptr) {
    status.Update(FromRocksDb(env_->UnlockFile(lock_), "unlocking " + dir_));
    lock_ = nullptr;
  }
  return status;
}

StatusOr<std::optional<uint64_t>> Database::ReadNumber(const std::string& key) const {
  const StatusOr<std::string> value = ReadMeta(key);
  if (absl::IsNotFound(value.status())) return std::optional<uint64_t>();
  RETURN_IF_ERROR(value.status());
  uint64_t number = 0;
  RETURN_IF_ERROR(DecodeNumber(key, *value, &number));
  return std::optional<uint64_t>(number);
}

StatusOr<std::string> Database::ReadMeta(const std::string& key) const {
  std::string value;
  const rocksdb::Status found =
      db_->Get(rocksdb::ReadOptions(), handle(Family::kMeta), key, &value);
  if (found.IsNotFound()) return NotFound("meta: no such row");
  RETURN_IF_ERROR(FromRocksDb(found, "reading meta"));
  return value;
}

Status Database::PutNumber(rocksdb::WriteBatch* batch, const std::string& key,
                           uint64_t number) const {
  std::string value;
  EncodeNumber(key, number, &value);
  return FromRocksDb(batch->Put(handle(Family::kMeta), key, value), "writing meta");
}

Status Database::Write(rocksdb::WriteBatch* batch, bool sync) {
  CHECK(db_ != nullptr, "{} is closed", dir_);
  CHECK(!read_only_, "{} is a cache, and opened without its log", dir_);
  // RocksDB's counters per call would cost a few percent, and are never read.
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  rocksdb::WriteOptions write;
  // The rows of a batch come in ascending order of page, so each insertion begins where the
  // previous one ended. The option must be off for a batch with range deletions: rows and ranges
  // are in different lists, and RocksDB would confuse positions in them.
  write.memtable_insert_hint_per_batch = !batch->HasDeleteRange();
  write.disableWAL = options_.durability == Durability::kNone;
  write.sync = sync && !write.disableWAL;
  const Writing writing(&writing_);
  if (full_) return MakeStatus(absl::StatusCode::kResourceExhausted, "{}: the disk is full", dir_);
  rocksdb::Status status = db_->Write(write, batch);
  if (status.ok() && sync && write.disableWAL) {
    // Without a log only a flush makes rows durable.
    status = db_->Flush(rocksdb::FlushOptions(), families());
  }
  return Note(status);
}

Status Database::Note(const rocksdb::Status& status) {
  if (status.ok()) return absl::OkStatus();
  Status error = FromRocksDb(status, "writing");
  if (!status.IsNoSpace() || listener_->sync_failed()) return NoteFailure(error);
  full_ = true;
  refused_commits_.fetch_add(1, std::memory_order_relaxed);
  Say('W', std::string(error.message()));
  return error;
}

Status Database::NoteFailure(const Status& error) {
  CHECK(!error.ok(), "a failure without an error");
  // A permanent failure must not have the status of a full device, which is temporary.
  const Status final =
      absl::IsResourceExhausted(error)
          ? MakeStatus(absl::StatusCode::kUnavailable, "{}", std::string(error.message()))
          : error;
  const MutexLock lock(mutex_);
  if (failure_.ok()) {
    failure_ = final;
    failed_ = true;
    Say('E', std::string(final.message()));
  }
  return failure_;
}

Status Database::EnsureSpace() {
  if (failed_) return health();
  RETURN_IF_ERROR(CheckFree(options_.env, dir_, options_.reserve_bytes));
  if (listener_->TakeRanOut()) full_ = true;
  return full_ ? Resume() : absl::OkStatus();
}

// After the device was full, RocksDB stays read-only until it is resumed. Resuming flushes its
// memtables and starts a new log.
Status Database::Resume() {
  const MutexLock lock(resume_mutex_);
  if (!full_) return absl::OkStatus();
  uint64_t memtable_bytes = 0;
  db_->GetAggregatedIntProperty(rocksdb::DB::Properties::kSizeAllMemTables, &memtable_bytes);
  RETURN_IF_ERROR(CheckFree(options_.env, dir_,
                            options_.reserve_bytes + 2 * memtable_bytes + kResumeSlackBytes));
  // All writers that began before the device was full must end before writing resumes.
  for (int busy = writing_; busy > 0; busy = writing_) writing_.wait(busy);
  RETURN_IF_ERROR(FromRocksDb(ProbeSpace(*env_, dir_, memtable_bytes + kResumeSlackBytes),
                              "looking for space after the disk was full"));
  const rocksdb::Status status =
      ResumeWriting(*db_, *listener_, options_.durability != Durability::kNone,
                    handle(Family::kMeta), MetaKeyOf(MetaKey::kFormat));
  if (!status.ok())
    return NoteFailure(FromRocksDb(status, "writing again after the disk was full"));
  full_ = false;
  Say('I', "there is space again: writing goes on");
  return absl::OkStatus();
}

StoreWrites Database::writes() const {
  // Reads the numbers in this order, so that a write that ends in between still counts as in
  // progress.
  const uint64_t ended = writes_->ended;
  return {.begun = writes_->begun, .ended = ended};
}

Status Database::health() const {
  if (failed_) {
    const MutexLock lock(mutex_);
    return failure_;
  }
  if (listener_->sync_failed() || listener_->background_failed()) {
    return MakeStatus(absl::StatusCode::kUnavailable, "{}: background write failed", dir_);
  }
  if (options_.truth != nullptr) RETURN_IF_ERROR(options_.truth->health());
  if (full_ || listener_->ran_out()) {
    return MakeStatus(absl::StatusCode::kResourceExhausted, "{}: the disk is full", dir_);
  }
  return CheckFree(options_.env, dir_, options_.reserve_bytes);
}

}  // namespace freshet::storage
