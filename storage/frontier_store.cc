#include "storage/frontier_store.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

#include "core/base/check.h"
#include "rocksdb/db.h"
#include "rocksdb/env.h"
#include "rocksdb/utilities/checkpoint.h"
#include "rocksdb/write_batch.h"
#include "storage/directory.h"
#include "storage/internal/closing.h"
#include "storage/internal/cursor.h"
#include "storage/internal/format_check.h"
#include "storage/internal/frontier_rows.h"
#include "storage/internal/frontier_tuning.h"
#include "storage/internal/keys.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/internal/store_impl.h"
#include "storage/internal/tuning.h"
#include "storage/internal/wal_check.h"

namespace freshet {

using storage::FromRocksDb;
using storage::FrontierDueKey;
using storage::FrontierFamily;
using storage::FrontierItemKey;
using storage::FrontierPrefix;
using storage::PrefixEnd;

namespace {

Status Damaged(std::string_view what) {
  return MakeStatus(absl::StatusCode::kDataLoss, "frontier: a row of {} is damaged", what);
}

}  // namespace

class FrontierBatch::Impl {
 public:
  explicit Impl(const std::vector<rocksdb::ColumnFamilyHandle*>& handles) : handles_(handles) {}

  void Put(FrontierFamily family, const std::string& key, const std::string& value) {
    Note(rows.Put(handles_[static_cast<size_t>(family)], key, value));
  }
  void Delete(FrontierFamily family, const std::string& key) {
    Note(rows.Delete(handles_[static_cast<size_t>(family)], key));
  }
  void DeleteAll(const std::string& prefix) {
    Note(storage::ForgetFrontier(handles_, prefix, &rows));
  }

  rocksdb::WriteBatch rows;

 private:
  static void Note(const rocksdb::Status& status) {
    CHECK(status.ok(), "a batch in memory takes what it is given: {}", status.ToString());
  }

  const std::vector<rocksdb::ColumnFamilyHandle*>& handles_;
};

// --- FrontierStore

class FrontierStore::Impl {
 public:
  Impl(std::string dir, const StoreOptions& options)
      : dir_(std::move(dir)),
        options_(options),
        env_(options_.env != nullptr ? options_.env : rocksdb::Env::Default()) {}
  // Of the frontier that a cache has.
  explicit Impl(Store::Impl& cache)
      : cache_(&cache), env_(nullptr), db_(&cache.db()), handles_(cache.frontier_handles()) {
    CHECK(cache.has_frontier(), "the store is no cache of a log");
  }
  ~Impl() { Close().IgnoreError(); }

  Status Open();
  Status CheckFormat();
  Status Close();
  Status Load(FrontierVisitor& visitor) const;
  std::vector<StatusOr<FrontierItem>> ReadItems(std::span<const ItemName> names) const;
  StatusOr<DueScan> ScanDue(FrontierQueueId queue, const FrontierDue& from, uint64_t now,
                            size_t most) const;
  Status ScanItems(
      FrontierQueueId queue, std::string_view after,
      const std::function<bool(std::string_view url, const FrontierItem& item)>& visit) const;
  Status Commit(FrontierBatch& batch);
  Status Checkpoint(const std::string& dir) const;
  FrontierStoreStats Stats() const;
  [[nodiscard]] const std::vector<rocksdb::ColumnFamilyHandle*>& handles() const {
    return handles_;
  }

 private:
  [[nodiscard]] rocksdb::ColumnFamilyHandle* Handle(FrontierFamily family) const {
    return handles_[static_cast<size_t>(family)];
  }
  Status PutFormat(rocksdb::WriteBatch* rows) const;
  // Writes, and returns once it is durable.
  Status Write(rocksdb::WriteBatch* rows);
  Status EnsureSpace();
  Status LoadMeta(FrontierVisitor& visitor) const;
  // Calls `visit` for every row of a family.
  Status ForAll(FrontierFamily family,
                const std::function<Status(std::string_view, std::string_view)>& visit) const;

  Store::Impl* const cache_ = nullptr;  // whose database it is; nullptr: one of its own
  const std::string dir_;
  const StoreOptions options_;
  rocksdb::Env* const env_;
  std::unique_ptr<rocksdb::DB> own_;
  rocksdb::DB* db_ = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;  // by FrontierFamily
  // Of Commit, which one thread calls at a time.
  bool unmarked_ = false;  // of a cache: the log has no format yet
  bool full_ = false;
  Status failure_;
};

Status FrontierStore::Impl::Open() {
  RETURN_IF_ERROR(FromRocksDb(env_->CreateDirIfMissing(dir_), "creating " + dir_));
  rocksdb::DBOptions db_options = storage::MakeDbOptions(options_);
  ASSIGN_OR_RETURN(const bool exists, storage::DatabaseExists(env_, dir_));
  if (exists) {
    RETURN_IF_ERROR(storage::CheckFrontierFormat(dir_, options_));
    const storage::WalPolicy policy = options_.durability == Durability::kSync
                                          ? storage::WalPolicy::kRefuse
                                          : storage::WalPolicy::kCut;
    RETURN_IF_ERROR(storage::CheckLogs(env_, dir_, policy, options_.log, nullptr));
  }
  const auto families = storage::FrontierColumnFamilies(options_);
  rocksdb::DB* db = nullptr;
  RETURN_IF_ERROR(FromRocksDb(rocksdb::DB::Open(db_options, dir_, families, &handles_, &db),
                              "opening " + dir_));
  own_.reset(db);
  db_ = db;
  return CheckFormat();
}

Status FrontierStore::Impl::CheckFormat() {
  std::string value;
  const rocksdb::Status found =
      db_->Get({}, Handle(FrontierFamily::kMeta), storage::kFrontierFormatKey, &value);
  if (found.ok()) {
    if (value == std::to_string(storage::kFrontierFormat)) return absl::OkStatus();
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "{}: its format {} is not {}: written by another release", dir_, value,
                      storage::kFrontierFormat);
  }
  if (!found.IsNotFound()) return FromRocksDb(found, "reading the format of " + dir_);
  // In a log it goes with the first changes: a start has nobody to tell that it is to try again.
  unmarked_ = cache_ != nullptr;
  if (unmarked_) return absl::OkStatus();
  rocksdb::WriteBatch batch;
  RETURN_IF_ERROR(PutFormat(&batch));
  return Write(&batch);
}

Status FrontierStore::Impl::PutFormat(rocksdb::WriteBatch* rows) const {
  return FromRocksDb(rows->Put(Handle(FrontierFamily::kMeta), storage::kFrontierFormatKey,
                               std::to_string(storage::kFrontierFormat)),
                     "writing the format of " + dir_);
}

Status FrontierStore::Impl::Close() {
  if (own_ == nullptr) {
    db_ = nullptr;
    return absl::OkStatus();
  }
  rocksdb::Status status = storage::FlushAtEnd(*db_, handles_, options_.durability);
  for (rocksdb::ColumnFamilyHandle* handle : handles_) {
    db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  handles_.clear();
  const rocksdb::Status closed = db_->Close();
  db_ = nullptr;
  own_.reset();
  return FromRocksDb(status.ok() ? closed : status, "closing " + dir_);
}

Status FrontierStore::Impl::ForAll(
    FrontierFamily family,
    const std::function<Status(std::string_view, std::string_view)>& visit) const {
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  read.readahead_size = size_t{2} << 20;
  const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(read, Handle(family)));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    RETURN_IF_ERROR(visit(it->key().ToStringView(), it->value().ToStringView()));
  }
  return FromRocksDb(it->status(), "loading the frontier");
}

Status FrontierStore::Impl::LoadMeta(FrontierVisitor& visitor) const {
  return ForAll(FrontierFamily::kMeta, [&](std::string_view key, std::string_view value) -> Status {
    if (key == storage::kFrontierFormatKey) return absl::OkStatus();
    if (key == storage::kFrontierSettingsKey) {
      FrontierSettings settings;
      if (!storage::DecodeFrontier(value, &settings)) return Damaged("settings");
      return visitor.OnSettings(settings);
    }
    uint32_t crawl = 0;
    if (!storage::ParseFrontierCrawlKey(key, &crawl)) return Damaged("crawl ids");
    return visitor.OnCrawl(crawl, value);
  });
}

Status FrontierStore::Impl::Load(FrontierVisitor& visitor) const {
  RETURN_IF_ERROR(LoadMeta(visitor));
  RETURN_IF_ERROR(
      ForAll(FrontierFamily::kQueues, [&](std::string_view key, std::string_view value) -> Status {
        FrontierQueueId id;
        FrontierQueueRecord record;
        if (!storage::ParseFrontierPrefix(&key, &id) || !key.empty() ||
            !storage::DecodeFrontier(value, &record)) {
          return Damaged("queues");
        }
        return visitor.OnQueue(id, std::move(record));
      }));
  return ForAll(
      FrontierFamily::kLeases, [&](std::string_view key, std::string_view value) -> Status {
        FrontierQueueId id;
        FrontierLease lease;
        if (!storage::ParseFrontierPrefix(&key, &id) || !storage::DecodeFrontier(value, &lease)) {
          return Damaged("leases");
        }
        return visitor.OnLease(id, key, lease);
      });
}

std::vector<StatusOr<FrontierItem>> FrontierStore::Impl::ReadItems(
    std::span<const ItemName> names) const {
  std::vector<std::string> keys;
  keys.reserve(names.size());
  for (const ItemName& name : names) keys.push_back(FrontierItemKey(name.queue, name.url));
  const std::vector<rocksdb::Slice> slices(keys.begin(), keys.end());
  std::vector<rocksdb::PinnableSlice> values(keys.size());
  std::vector<rocksdb::Status> statuses(keys.size());
  db_->MultiGet({}, Handle(FrontierFamily::kItems), keys.size(), slices.data(), values.data(),
                statuses.data());
  std::vector<StatusOr<FrontierItem>> items;
  items.reserve(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    FrontierItem item;
    if (!statuses[i].ok()) {
      items.emplace_back(FromRocksDb(statuses[i], "reading a URL"));
    } else if (!storage::DecodeFrontier(values[i].ToStringView(), &item)) {
      items.emplace_back(Damaged("URLs"));
    } else {
      items.emplace_back(std::move(item));
    }
  }
  return items;
}

StatusOr<FrontierStore::DueScan> FrontierStore::Impl::ScanDue(FrontierQueueId queue,
                                                              const FrontierDue& from, uint64_t now,
                                                              size_t most) const {
  storage::Cursor rows(db_, Handle(FrontierFamily::kDue), FrontierDueKey(queue, from.due, from.url),
                       PrefixEnd(FrontierPrefix(queue)), {});
  DueScan scan;
  for (; rows.valid(); rows.Next()) {
    FrontierQueueId id;
    FrontierDue due;
    if (!storage::ParseFrontierDueKey(rows.key(), &id, &due)) return Damaged("due URLs");
    if (due.due > now || scan.due.size() >= most) {
      scan.next = std::move(due);
      break;
    }
    scan.due.push_back(std::move(due));
  }
  RETURN_IF_ERROR(FromRocksDb(rows.status(), "looking for URLs that are due"));
  return scan;
}

Status FrontierStore::Impl::ScanItems(
    FrontierQueueId queue, std::string_view after,
    const std::function<bool(std::string_view url, const FrontierItem& item)>& visit) const {
  const std::string prefix = FrontierPrefix(queue);
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  std::string first = prefix;
  // No text lies between one and itself with a zero byte behind it.
  if (!after.empty()) first.append(after).push_back('\0');
  storage::Cursor rows(db_, Handle(FrontierFamily::kItems), first, PrefixEnd(prefix), read);
  FrontierItem item;
  for (; rows.valid(); rows.Next()) {
    if (!storage::DecodeFrontier(rows.value(), &item)) return Damaged("URLs");
    if (!visit(rows.key().substr(prefix.size()), item)) return absl::OkStatus();
  }
  return FromRocksDb(rows.status(), "reading URLs");
}

Status FrontierStore::Impl::EnsureSpace() {
  uint64_t free_bytes = 0;
  if (env_->GetFreeSpace(dir_, &free_bytes).ok() && free_bytes < options_.reserve_bytes) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "the disk is full: {} MiB are free, {} MiB are kept in reserve",
                      free_bytes >> 20, options_.reserve_bytes >> 20);
  }
  if (!full_) return absl::OkStatus();
  const rocksdb::Status resumed = db_->Resume();
  if (!resumed.ok()) return FromRocksDb(resumed, "writing again");
  full_ = false;
  return absl::OkStatus();
}

Status FrontierStore::Impl::Commit(FrontierBatch& batch) {
  CHECK(db_ != nullptr, "{} is closed", dir_);
  if (batch.empty()) return absl::OkStatus();
  return Write(&batch.impl_->rows);
}

Status FrontierStore::Impl::Write(rocksdb::WriteBatch* rows) {
  if (cache_ != nullptr) {
    if (unmarked_) RETURN_IF_ERROR(PutFormat(rows));
    RETURN_IF_ERROR(cache_->CommitFrontier(rows));
    unmarked_ = false;
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(failure_);
  RETURN_IF_ERROR(EnsureSpace());
  rocksdb::WriteOptions write;
  write.disableWAL = options_.durability == Durability::kNone;
  write.sync = options_.durability == Durability::kSync;
  const rocksdb::Status written = db_->Write(write, rows);
  if (written.ok()) return absl::OkStatus();
  const Status error = FromRocksDb(written, "writing the frontier");
  if (written.IsNoSpace()) {
    full_ = true;
  } else {
    failure_ = error;
  }
  return error;
}

Status FrontierStore::Impl::Checkpoint(const std::string& dir) const {
  if (own_ == nullptr) return absl::OkStatus();  // is in that of the cache
  ASSIGN_OR_RETURN(const std::string absolute, storage::AbsolutePath(dir));
  rocksdb::Checkpoint* raw = nullptr;
  RETURN_IF_ERROR(FromRocksDb(rocksdb::Checkpoint::Create(db_, &raw), "checkpoint"));
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
  return FromRocksDb(checkpoint->CreateCheckpoint(absolute), "checkpoint to " + absolute);
}

FrontierStoreStats FrontierStore::Impl::Stats() const {
  FrontierStoreStats stats;
  for (rocksdb::ColumnFamilyHandle* family : handles_) {
    uint64_t bytes = 0;
    if (db_->GetIntProperty(family, rocksdb::DB::Properties::kTotalSstFilesSize, &bytes)) {
      stats.table_bytes += bytes;
    }
    if (db_->GetIntProperty(family, rocksdb::DB::Properties::kSizeAllMemTables, &bytes)) {
      stats.memtable_bytes += bytes;
    }
  }
  return stats;
}

FrontierStore::FrontierStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
FrontierStore::~FrontierStore() = default;

StatusOr<std::unique_ptr<FrontierStore>> FrontierStore::Open(const std::string& dir,
                                                             const StoreOptions& options) {
  ASSIGN_OR_RETURN(std::string absolute, storage::AbsolutePath(dir));
  auto impl = std::make_unique<Impl>(std::move(absolute), options);
  RETURN_IF_ERROR(impl->Open());
  return std::unique_ptr<FrontierStore>(new FrontierStore(std::move(impl)));
}

StatusOr<std::unique_ptr<FrontierStore>> FrontierStore::OpenWithin(Store& cache) {
  auto impl = std::make_unique<Impl>(*cache.impl_);
  RETURN_IF_ERROR(impl->CheckFormat());
  return std::unique_ptr<FrontierStore>(new FrontierStore(std::move(impl)));
}

Status FrontierStore::Close() { return impl_->Close(); }
Status FrontierStore::Load(FrontierVisitor& visitor) const { return impl_->Load(visitor); }
std::vector<StatusOr<FrontierItem>> FrontierStore::ReadItems(
    std::span<const ItemName> names) const {
  return impl_->ReadItems(names);
}
StatusOr<FrontierStore::DueScan> FrontierStore::ScanDue(FrontierQueueId queue,
                                                        const FrontierDue& from, uint64_t now,
                                                        size_t most) const {
  return impl_->ScanDue(queue, from, now, most);
}
Status FrontierStore::ScanItems(
    FrontierQueueId queue, std::string_view after,
    const std::function<bool(std::string_view url, const FrontierItem& item)>& visit) const {
  return impl_->ScanItems(queue, after, visit);
}
Status FrontierStore::Commit(FrontierBatch& batch) { return impl_->Commit(batch); }
Status FrontierStore::Checkpoint(const std::string& dir) const { return impl_->Checkpoint(dir); }
FrontierStoreStats FrontierStore::Stats() const { return impl_->Stats(); }

// --- FrontierBatch

FrontierBatch::FrontierBatch(const FrontierStore& store)
    : impl_(std::make_unique<Impl>(store.impl_->handles())) {}
FrontierBatch::~FrontierBatch() = default;

void FrontierBatch::PutItem(FrontierQueueId queue, std::string_view url, const FrontierItem& item) {
  impl_->Put(FrontierFamily::kItems, FrontierItemKey(queue, url), storage::EncodeFrontier(item));
}
void FrontierBatch::DeleteItem(FrontierQueueId queue, std::string_view url) {
  impl_->Delete(FrontierFamily::kItems, FrontierItemKey(queue, url));
}
void FrontierBatch::PutDue(FrontierQueueId queue, uint64_t due, std::string_view url) {
  impl_->Put(FrontierFamily::kDue, FrontierDueKey(queue, due, url), "");
}
void FrontierBatch::DeleteDue(FrontierQueueId queue, uint64_t due, std::string_view url) {
  impl_->Delete(FrontierFamily::kDue, FrontierDueKey(queue, due, url));
}
void FrontierBatch::PutLease(FrontierQueueId queue, std::string_view url,
                             const FrontierLease& lease) {
  impl_->Put(FrontierFamily::kLeases, FrontierItemKey(queue, url), storage::EncodeFrontier(lease));
}
void FrontierBatch::DeleteLease(FrontierQueueId queue, std::string_view url) {
  impl_->Delete(FrontierFamily::kLeases, FrontierItemKey(queue, url));
}
void FrontierBatch::PutQueue(FrontierQueueId queue, const FrontierQueueRecord& record) {
  impl_->Put(FrontierFamily::kQueues, FrontierPrefix(queue), storage::EncodeFrontier(record));
}
void FrontierBatch::DeleteQueue(FrontierQueueId queue) { impl_->DeleteAll(FrontierPrefix(queue)); }
void FrontierBatch::PutCrawl(uint32_t crawl, std::string_view name) {
  impl_->Put(FrontierFamily::kMeta, storage::FrontierCrawlKey(crawl), std::string(name));
}
void FrontierBatch::DeleteCrawl(uint32_t crawl) {
  impl_->DeleteAll(storage::FrontierCrawlPrefix(crawl));
  impl_->Delete(FrontierFamily::kMeta, storage::FrontierCrawlKey(crawl));
}
void FrontierBatch::PutSettings(const FrontierSettings& settings) {
  impl_->Put(FrontierFamily::kMeta, storage::kFrontierSettingsKey,
             storage::EncodeFrontier(settings));
}
bool FrontierBatch::empty() const { return impl_->rows.Count() == 0; }
void FrontierBatch::Clear() { impl_->rows.Clear(); }

}  // namespace freshet
