#include "storage/store.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/model/page.h"
#include "rocksdb/cache.h"
#include "rocksdb/env.h"
#include "rocksdb/listener.h"
#include "rocksdb/perf_level.h"
#include "rocksdb/statistics.h"
#include "rocksdb/wal_filter.h"
#include "storage/directory.h"
#include "storage/internal/batch_builder.h"
#include "storage/internal/closing.h"
#include "storage/internal/cursor.h"
#include "storage/internal/format_check.h"
#include "storage/internal/frontier_tuning.h"
#include "storage/internal/keys.h"
#include "storage/internal/migrate.h"
#include "storage/internal/records.h"
#include "storage/internal/rocksdb_env.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/internal/secret.h"
#include "storage/internal/store_impl.h"
#include "storage/internal/tuning.h"
#include "storage/internal/validate.h"
#include "storage/internal/wal_check.h"
#include "storage/pages_read.h"

namespace freshet {

using storage::Family;
using storage::FromRocksDb;
using storage::MetaKey;
using storage::MetaKeyOf;

namespace {

// What starting new logs and manifests takes.
constexpr uint64_t kResumeSlackBytes = 1 << 20;

}  // namespace

// Hears of what fails outside of commits. A failed sync of a log leaves unknown what is on the
// device, even when the reason is lack of space.
class Store::Impl::Listener : public rocksdb::EventListener {
 public:
  [[nodiscard]] bool sync_failed() const { return sync_failed_; }
  [[nodiscard]] bool background_failed() const { return background_failed_; }

  bool ShouldBeNotifiedOnFileIO() override { return true; }
  void OnIOError(const rocksdb::IOErrorInfo& info) override {
    using rocksdb::FileOperationType;
    const bool sync = info.operation == FileOperationType::kSync ||
                      info.operation == FileOperationType::kFsync ||
                      info.operation == FileOperationType::kRangeSync;
    if (sync && info.file_path.ends_with(".log")) sync_failed_ = true;
  }
  // Left to itself RocksDB tries to recover from a full device at times of its own choosing, and
  // refuses to be resumed meanwhile; commits try whenever there is reason to.
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status,
                            bool* auto_recovery) override {
    *auto_recovery = false;
  }
  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status* status) override {
    if (!status->IsNoSpace()) background_failed_ = true;
  }

 private:
  std::atomic<bool> sync_failed_ = false;
  std::atomic<bool> background_failed_ = false;
};

// RocksDB shows it every record of the logs that it replays, which takes seconds when there is much
// of them. Owner thread only.
class Store::Impl::ReplayWatch : public rocksdb::WalFilter {
 public:
  explicit ReplayWatch(OpenProgress& progress) : progress_(progress) {}
  const char* Name() const override { return "FreshetReplayWatch"; }
  WalProcessingOption LogRecordFound(unsigned long long, const std::string&,
                                     const rocksdb::WriteBatch& batch, rocksdb::WriteBatch*,
                                     bool*) override {
    // Where no bad record is tolerated (storage/internal/tuning.cc) this ends the replay, and
    // opening with it, before the database takes any of it in.
    if (progress_.cancelled) return WalProcessingOption::kCorruptedRecord;
    progress_.replayed_log_bytes.fetch_add(batch.GetDataSize(), std::memory_order_relaxed);
    return WalProcessingOption::kContinueProcessing;
  }

 private:
  OpenProgress& progress_;
};

namespace {

StoreOptions WithEnv(StoreOptions options, rocksdb::Env* env) {
  options.env = env;
  return options;
}

}  // namespace

Store::Impl::Impl(std::string dir, StoreOptions options)
    : dir_(std::move(dir)),
      watched_env_(storage::WatchWrites(storage::RocksDbEnv(options), writes_)),
      options_(WithEnv(std::move(options), watched_env_.get())),
      env_(watched_env_.get()),
      slot_hosts_(std::make_unique<std::array<SlotHosts, limits::kSlots>>()),
      next_serials_(std::make_unique<std::array<std::atomic<uint64_t>, limits::kSlots>>()),
      lease_logs_(std::make_unique<LeaseLogs>()),
      page_cache_(std::make_unique<storage::PageCache>(options_.page_cache_bytes)),
      log_mutexes_(std::make_unique<std::array<Mutex, limits::kMaxShards>>()),
      followed_(std::make_unique<std::array<Followed, limits::kMaxShards>>()) {}

Store::Impl::~Impl() { Close().IgnoreError(); }

void Store::Impl::Say(char level, std::string_view line) const {
  if (options_.log) options_.log(level, line);
}

void Store::Impl::Enter(OpenStage stage) const {
  if (options_.progress != nullptr) options_.progress->stage = stage;
}

Status Store::Impl::CheckExists() const {
  RETURN_IF_ERROR(storage::CheckDirectory(dir_));
  ASSIGN_OR_RETURN(const bool exists, storage::DatabaseExists(env_, dir_));
  return exists ? absl::OkStatus() : NotFound("{}: holds no store", dir_);
}

Status Store::Impl::Lock() {
  CHECK(lock_ == nullptr, "{} is locked", dir_);
  RETURN_IF_ERROR(FromRocksDb(env_->CreateDirIfMissing(dir_), "creating " + dir_));
  return storage::LockDirectory(env_, dir_, &lock_);
}

Status Store::Impl::OpenDatabase() {
  CHECK(lock_ != nullptr && db_ == nullptr, "{} is opened without its lock, or twice", dir_);
  rocksdb::DBOptions db_options = storage::MakeDbOptions(options_);
  statistics_ = db_options.statistics;
  listener_ = std::make_shared<Listener>();
  db_options.listeners.push_back(listener_);
  if (options_.progress != nullptr) {
    replay_watch_ = std::make_unique<ReplayWatch>(*options_.progress);
    db_options.wal_filter = replay_watch_.get();
  }
  uint64_t log_bytes = 0;
  bool has_frontier = options_.truth != nullptr;
  ASSIGN_OR_RETURN(const bool exists, storage::DatabaseExists(env_, dir_));
  if (exists) {
    // Before anything is written, as far as it can be known then.
    const StatusOr<bool> of_a_cache = CheckFamilies(db_options);
    if (absl::IsFailedPrecondition(of_a_cache.status())) return of_a_cache.status();
    RETURN_IF_ERROR(storage::CheckFormats(dir_, options_));
    // What is torn here is whole where the truth is, and was never promised to be here.
    const bool promised = options_.durability == Durability::kSync && options_.truth == nullptr &&
                          !options_.leave_log;
    const storage::WalPolicy policy =
        promised ? storage::WalPolicy::kRefuse : storage::WalPolicy::kCut;
    RETURN_IF_ERROR(storage::CheckLogs(env_, dir_, policy, options_.log, options_.progress));
    ASSIGN_OR_RETURN(log_bytes, storage::WalBytes(env_, dir_));
    RETURN_IF_ERROR(of_a_cache.status());
    has_frontier |= *of_a_cache;
  }
  cache_ = rocksdb::NewLRUCache(options_.block_cache_bytes);
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (size_t i = 0; i < storage::kFamilies; ++i) {
    rocksdb::ColumnFamilyOptions family =
        storage::MakeFamilyOptions(static_cast<Family>(i), options_, cache_);
    roomy_memtables_ = storage::MakeRoomForReplay(log_bytes, options_, &family);
    families.emplace_back(std::string(storage::kFamilyNames[i]), family);
  }
  if (exists) Enter(OpenStage::kReplayingLogs);
  // Keeping RocksDB's counters of one call costs a replay a few percent, and nobody reads them.
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  if (has_frontier) {
    db_options.create_missing_column_families = true;
    for (auto& family : storage::FrontierFamiliesOfCache(options_, cache_)) {
      families.push_back(family);
    }
  }
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status opened = rocksdb::DB::Open(db_options, dir_, families, &handles, &db);
  // A replay that was told to end looks like a damaged log.
  if (!opened.ok()) RETURN_IF_ERROR(storage::GoOn(options_.progress));
  RETURN_IF_ERROR(FromRocksDb(opened, "opening " + dir_));
  db_.reset(db);
  Enter(OpenStage::kOpening);
  CHECK(handles.size() == families.size());
  std::copy_n(handles.begin(), handles_.size(), handles_.begin());
  frontier_handles_.assign(handles.begin() + static_cast<long>(handles_.size()), handles.end());
  return options_.hold_compactions ? absl::OkStatus() : LimitMemtables();
}

StatusOr<bool> Store::Impl::CheckFamilies(const rocksdb::DBOptions& db_options) const {
  std::vector<std::string> stored_names;
  RETURN_IF_ERROR(
      FromRocksDb(rocksdb::DB::ListColumnFamilies(db_options, dir_, &stored_names), dir_));
  const auto is_among = [](const auto& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const std::string& name : stored_names) {
    if (is_among(storage::kRetiredFamilyNames, name)) {
      return MakeStatus(absl::StatusCode::kFailedPrecondition,
                        "{}: a development version wrote it, in a format that this release cannot "
                        "read: export its pages with the version that wrote it",
                        dir_);
    }
    if (!is_among(storage::kFamilyNames, name) && !is_among(storage::kFrontierFamilyNames, name)) {
      return MakeStatus(absl::StatusCode::kFailedPrecondition,
                        "{}: column family '{}' is unknown: written by a newer release", dir_,
                        name);
    }
  }
  return is_among(stored_names, std::string(storage::kFrontierFamilyNames[0]));
}

Status Store::Impl::LimitMemtables() {
  if (!roomy_memtables_) return absl::OkStatus();
  roomy_memtables_ = false;
  for (rocksdb::ColumnFamilyHandle* family : handles_) {
    RETURN_IF_ERROR(
        FromRocksDb(db_->SetOptions(family, storage::UsualMemtables(options_)), "limiting"));
  }
  return absl::OkStatus();
}

Status Store::Impl::CheckFormat() {
  const std::string key = MetaKeyOf(MetaKey::kFormat);
  ASSIGN_OR_RETURN(const std::optional<uint64_t> found, ReadNumber(key));
  if (!found) {
    // The format is the first row written: without it there can be no other.
    ASSIGN_OR_RETURN(const bool has_rows, HasRows());
    if (has_rows) {
      return MakeStatus(absl::StatusCode::kDataLoss, "{}: the format record is missing", dir_);
    }
    RETURN_IF_ERROR(WriteFirstRows());
    return ReadSecret();
  }
  RETURN_IF_ERROR(storage::CheckPagesFormat(dir_, *found));
  RETURN_IF_ERROR(MigrateFrom(static_cast<uint32_t>(*found)));
  return ReadSecret();
}

StatusOr<FingerprintSecret> Store::Impl::NewSecret() const {
  if (options_.fingerprint_secret) return *options_.fingerprint_secret;
  return storage::DrawSecret();
}

Status Store::Impl::WriteFirstRows() {
  ASSIGN_OR_RETURN(const FingerprintSecret secret, NewSecret());
  rocksdb::WriteBatch batch;
  const std::string format_key = MetaKeyOf(MetaKey::kFormat);
  std::string value;
  storage::EncodeNumber(format_key, storage::kFormatVersion, &value);
  RETURN_IF_ERROR(FromRocksDb(batch.Put(handle(Family::kMeta), format_key, value), dir_));
  const std::string secret_key = MetaKeyOf(MetaKey::kSecret);
  storage::EncodeSecret(secret_key, secret, &value);
  RETURN_IF_ERROR(FromRocksDb(batch.Put(handle(Family::kMeta), secret_key, value), dir_));
  return Write(&batch, true);
}

Status Store::Impl::MigrateFrom(uint32_t format) {
  if (format == storage::kFormatVersion) return absl::OkStatus();
  CHECK(format < storage::kFormatVersion, "format {}", format);
  if (read_only_) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "{}: has an older format, which only its cluster's log can update: start a "
                      "server of the cluster with it",
                      dir_);
  }
  const storage::MigrationContext context{
      .db = db_.get(), .families = handles_, .log = options_.log, .progress = options_.progress};
  return storage::Migrate(context, format, storage::kFormatVersion, storage::Migrations());
}

Status Store::Impl::ReadSecret() {
  const std::string key = MetaKeyOf(MetaKey::kSecret);
  rocksdb::PinnableSlice value;
  const rocksdb::Status status =
      db_->Get(rocksdb::ReadOptions(), handle(Family::kMeta), key, &value);
  if (status.IsNotFound()) {
    return MakeStatus(absl::StatusCode::kDataLoss, "{}: the secret of the fingerprints is missing",
                      dir_);
  }
  RETURN_IF_ERROR(FromRocksDb(status, "reading meta"));
  FingerprintSecret secret;
  RETURN_IF_ERROR(storage::DecodeSecret(key, value.ToStringView(), &secret));
  fingerprinter_ = Fingerprinter(secret, options_.fingerprint_bits);
  return absl::OkStatus();
}

Status Store::Impl::ReadMarks() {
  RETURN_IF_ERROR(ReadGeneration());
  RETURN_IF_ERROR(ReadSerialMarks());
  return OpenLeaseLogs();
}

Status Store::Impl::ReadGeneration() {
  CHECK(options_.generation_step >= 1, "the leases of this run would have ids of the last");
  ASSIGN_OR_RETURN(const std::optional<uint64_t> before,
                   ReadNumber(MetaKeyOf(MetaKey::kGeneration)));
  generation_ = before.value_or(0) + options_.generation_step;
  return absl::OkStatus();
}

Status Store::Impl::StartGeneration() {
  if (read_only_) return absl::OkStatus();
  const std::string key = MetaKeyOf(MetaKey::kGeneration);
  std::string value;
  storage::EncodeNumber(key, generation_, &value);
  rocksdb::WriteBatch batch;
  RETURN_IF_ERROR(FromRocksDb(batch.Put(handle(Family::kMeta), key, value), dir_));
  return options_.truth == nullptr ? Write(&batch, true) : WriteDurably(&batch, 0);
}

Status Store::Impl::ReadSerialMarks() {
  storage::Cursor marks(db_.get(), handle(Family::kMeta), MetaKeyOf(MetaKey::kNextSerial), {});
  for (; marks.valid(); marks.Next()) {
    const std::optional<uint16_t> slot = storage::ParseMetaKey(MetaKey::kNextSerial, marks.key());
    uint64_t serial = 0;
    RETURN_IF_ERROR(storage::DecodeNumber(marks.key(), marks.value(), &serial));
    if (!slot || *slot >= limits::kSlots) {
      return MakeStatus(absl::StatusCode::kDataLoss, "{}: a serial mark without slot", dir_);
    }
    (*next_serials_)[*slot].store(serial, std::memory_order_relaxed);
  }
  return FromRocksDb(marks.status(), "reading serial marks");
}

StatusOr<std::optional<uint64_t>> Store::Impl::ReadNumber(const std::string& key) const {
  rocksdb::PinnableSlice value;
  const rocksdb::Status status =
      db_->Get(rocksdb::ReadOptions(), handle(Family::kMeta), key, &value);
  if (status.IsNotFound()) return std::optional<uint64_t>();
  RETURN_IF_ERROR(FromRocksDb(status, "reading meta"));
  uint64_t number = 0;
  RETURN_IF_ERROR(storage::DecodeNumber(key, value.ToStringView(), &number));
  return std::optional<uint64_t>(number);
}

StatusOr<bool> Store::Impl::HasRows() const {
  for (rocksdb::ColumnFamilyHandle* family : families()) {
    const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(rocksdb::ReadOptions(), family));
    it->SeekToFirst();
    RETURN_IF_ERROR(FromRocksDb(it->status(), "looking for rows"));
    if (it->Valid()) return true;
  }
  return false;
}

Status Store::Impl::Close() {
  Status status;
  if (db_ != nullptr) {
    if (!failed_ && !full_) {
      status = FromRocksDb(storage::FlushAtEnd(*db_, families(), options_.durability),
                           "flushing " + dir_);
    }
    for (rocksdb::ColumnFamilyHandle* family : families()) {
      status.Update(FromRocksDb(db_->DestroyColumnFamilyHandle(family), "closing " + dir_));
    }
    handles_ = {};
    frontier_handles_.clear();
    status.Update(FromRocksDb(db_->Close(), "closing " + dir_));
    db_.reset();
  }
  if (lock_ != nullptr) {
    status.Update(FromRocksDb(env_->UnlockFile(lock_), "unlocking " + dir_));
    lock_ = nullptr;
  }
  return status;
}

Status Store::Impl::Commit(const Changes& changes) {
  if (failed_) return health();
  if (changes.empty()) return absl::OkStatus();
  if (const Status valid = storage::ValidateChanges(changes); !valid.ok()) {
    return MakeStatus(absl::StatusCode::kInternal, "invalid record: {}",
                      std::string(valid.message()));
  }
  if (Status space = EnsureSpace(); !space.ok()) {
    if (absl::IsResourceExhausted(space)) refused_commits_.fetch_add(1, std::memory_order_relaxed);
    return space;
  }
  BatchBuilder builder(*this);
  RETURN_IF_ERROR(builder.Add(changes));
  RETURN_IF_ERROR(WriteDurably(builder.batch(), changes.shard));
  builder.Install();
  commits_.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

Status Store::Impl::Write(rocksdb::WriteBatch* batch, bool sync) {
  CHECK(db_ != nullptr, "{} is closed", dir_);
  CHECK(!read_only_, "{} is a cache, and opened without its log", dir_);
  // Nobody reads RocksDB's counters of one call, and keeping them costs a few percent.
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  rocksdb::WriteOptions write;
  // Rows of a batch come in rising order of page: each insertion begins where the last one ended.
  // RocksDB takes the place of a row for that of a range, which is in another list.
  write.memtable_insert_hint_per_batch = !batch->HasDeleteRange();
  write.disableWAL = options_.durability == Durability::kNone;
  write.sync = sync && !write.disableWAL;
  rocksdb::Status status = db_->Write(write, batch);
  if (status.ok() && sync && write.disableWAL) {
    // Without a log only a flush makes anything durable.
    status = db_->Flush(rocksdb::FlushOptions(), families());
  }
  return NoteWriteError(status);
}

Status Store::Impl::NoteWriteError(const rocksdb::Status& status) {
  if (status.ok()) return absl::OkStatus();
  Status error = FromRocksDb(status, "writing");
  if (!status.IsNoSpace() || listener_->sync_failed()) return NoteFailure(error);
  full_ = true;
  refused_commits_.fetch_add(1, std::memory_order_relaxed);
  Say('W', std::string(error.message()));
  return error;
}

Status Store::Impl::NoteFailure(const Status& error) {
  CHECK(!error.ok(), "a failure without an error");
  // What is final must not look as if it could pass.
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

Status Store::Impl::EnsureSpace() {
  uint64_t free_bytes = 0;
  const rocksdb::Status status = env_->GetFreeSpace(dir_, &free_bytes);
  if (status.ok() && free_bytes < options_.reserve_bytes) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "the disk is full: {} MiB are free, {} MiB are kept in reserve",
                      free_bytes >> 20, options_.reserve_bytes >> 20);
  }
  return full_ ? Resume() : absl::OkStatus();
}

// After the device was full RocksDB stays read-only until it is told to flush what it holds and
// start a new log. It takes a failure to do so for final, so there must be room enough before.
Status Store::Impl::Resume() {
  const MutexLock lock(resume_mutex_);
  if (!full_) return absl::OkStatus();
  uint64_t memtable_bytes = 0;
  db_->GetAggregatedIntProperty(rocksdb::DB::Properties::kSizeAllMemTables, &memtable_bytes);
  const uint64_t needed = options_.reserve_bytes + 2 * memtable_bytes + kResumeSlackBytes;
  uint64_t free_bytes = 0;
  if (env_->GetFreeSpace(dir_, &free_bytes).ok() && free_bytes < needed) {
    return MakeStatus(
        absl::StatusCode::kResourceExhausted,
        "{}: the disk was full; writing goes on when {} bytes are free, and {} are free now", dir_,
        needed, free_bytes);
  }
  const rocksdb::Status status = db_->Resume();
  if (!status.ok())
    return NoteFailure(FromRocksDb(status, "writing again after the disk was full"));
  full_ = false;
  Say('I', "there is space again: writing goes on");
  return absl::OkStatus();
}

Status Store::Impl::health() const {
  if (failed_) {
    const MutexLock lock(mutex_);
    return failure_;
  }
  if (listener_->sync_failed() || listener_->background_failed()) {
    return MakeStatus(absl::StatusCode::kUnavailable, "{}: background write failed", dir_);
  }
  if (options_.truth != nullptr) RETURN_IF_ERROR(options_.truth->health());
  uint64_t free_bytes = 0;
  const bool low =
      env_->GetFreeSpace(dir_, &free_bytes).ok() && free_bytes < options_.reserve_bytes;
  if (full_ || low) {
    return MakeStatus(absl::StatusCode::kResourceExhausted, "{}: {} bytes are free", dir_,
                      free_bytes);
  }
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<Store>> Store::Open(const std::string& dir, const StoreOptions& options) {
  ASSIGN_OR_RETURN(std::string absolute, storage::AbsolutePath(dir));
  std::unique_ptr<Store> store(new Store(std::make_unique<Impl>(std::move(absolute), options)));
  Impl& impl = *store->impl_;
  if (!options.create_if_missing) RETURN_IF_ERROR(impl.CheckExists());
  RETURN_IF_ERROR(impl.Lock());
  RETURN_IF_ERROR(impl.OpenDatabase());
  if (options.truth == nullptr) RETURN_IF_ERROR(impl.OpenAlone());
  RETURN_IF_ERROR(impl.CheckFormat());
  RETURN_IF_ERROR(impl.CatchUp(*store));
  RETURN_IF_ERROR(impl.ReadMarks());
  RETURN_IF_ERROR(impl.StartGeneration());
  if (options.progress != nullptr) options.progress->stage = OpenStage::kOpen;
  return store;
}

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;

Status Store::Close() { return impl_->Close(); }
Status Store::CheckAge() const { return impl_->CheckAge(); }

uint64_t Store::generation() const { return impl_->generation(); }
const Fingerprinter& Store::fingerprinter() const { return impl_->fingerprinter(); }
StatusOr<GlobalRecords> Store::LoadGlobals() const { return impl_->LoadGlobals(); }
Status Store::Load(Slot first, Slot last, LoadVisitor& visitor) const {
  return impl_->Load(first, last, visitor);
}
Status Store::LoadLeases(LoadVisitor& visitor) const { return impl_->LoadLeases(visitor); }
Status Store::StartCompactions() { return impl_->StartCompactions(); }
Status Store::SetShards(uint32_t shards) { return impl_->SetShards(shards); }
std::vector<StatusOr<PageRecord>> Store::ReadPages(std::span<const PageNumber> numbers,
                                                   ReadFor what) const {
  return impl_->ReadPages(numbers, what);
}
StatusOr<ListResult> Store::List(const ListQuery& query, std::string_view token,
                                 size_t limit) const {
  return impl_->List(query, token, limit);
}
StatusOr<ScanResult> Store::ScanPages(PageNumber from, PageNumber end, size_t count) const {
  return impl_->ScanPages(from, end, count);
}
Status Store::Commit(const Changes& changes) { return impl_->Commit(changes); }
Status Store::health() const { return impl_->health(); }
StoreWrites Store::writes() const { return impl_->writes(); }
Status Store::TryResume() { return impl_->EnsureSpace(); }
Status Store::Checkpoint(const std::string& dir) { return impl_->Checkpoint(dir); }
StatusOr<VerifyReport> Store::Verify() const { return impl_->Verify(); }
Status Store::Compact() { return impl_->Compact(); }
StoreStats Store::Stats() const { return impl_->Stats(); }

}  // namespace freshet
