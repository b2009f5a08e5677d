// The crawl frontier in a store, and its move from the separate database of earlier releases.
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "rocksdb/write_batch.h"
#include "storage/directory.h"
#include "storage/frontier_store.h"
#include "storage/internal/file_copy.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/internal/store_impl.h"
#include "storage/internal/tuning.h"
#include "storage/internal/wal_check.h"

namespace freshet {

using storage::Family;
using storage::FromRocksDb;

namespace {

// Bytes of rows that are moved at a time.
constexpr size_t kBytesMovedAtOnce = size_t{1} << 20;
// The column families of a frontier before format 5, from Family::kFrontierMeta on.
constexpr std::array<const char*, 5> kOldFamilyNames = {"default", "items", "due", "leases",
                                                        "queues"};

Family FamilyAt(size_t old) {
  return static_cast<Family>(storage::IndexOf(Family::kFrontierMeta) + old);
}

// The separate frontier database of a server before format 5. Owner thread only.
class OldFrontier {
 public:
  explicit OldFrontier(std::string dir) : dir_(std::move(dir)) {}
  ~OldFrontier() {
    for (rocksdb::ColumnFamilyHandle* handle : handles_) {
      db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    }
    if (db_ != nullptr) db_->Close().PermitUncheckedError();
  }
  OldFrontier(const OldFrontier&) = delete;
  OldFrontier& operator=(const OldFrontier&) = delete;

  Status Open(const StoreOptions& options) {
    CHECK(db_ == nullptr, "{} is opened twice", dir_);
    const storage::WalPolicy policy = options.durability == Durability::kSync
                                          ? storage::WalPolicy::kRefuse
                                          : storage::WalPolicy::kCut;
    RETURN_IF_ERROR(storage::CheckLogs(options.env, dir_, policy, options.log, options.progress));
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (size_t i = 0; i < kOldFamilyNames.size(); ++i) {
      families.emplace_back(kOldFamilyNames[i],
                            storage::MakeFamilyOptions(FamilyAt(i), options, /*cache=*/nullptr));
    }
    rocksdb::DB* db = nullptr;
    const rocksdb::Status opened =
        rocksdb::DB::Open(storage::MakeDbOptions(options), dir_, families, &handles_, &db);
    db_.reset(db);
    return FromRocksDb(opened, "opening " + dir_);
  }
  // Calls `write` with all rows, a batch at a time, translated into rows of these families.
  Status Read(const storage::FamilyHandles& families,
              const std::function<Status(rocksdb::WriteBatch*)>& write) const {
    CHECK(handles_.size() == kOldFamilyNames.size(), "{} is not open", dir_);
    rocksdb::ReadOptions read;
    read.fill_cache = false;
    rocksdb::WriteBatch batch;
    for (size_t i = 0; i < handles_.size(); ++i) {
      rocksdb::ColumnFamilyHandle* const family = families[storage::IndexOf(FamilyAt(i))];
      const std::unique_ptr<rocksdb::Iterator> rows(db_->NewIterator(read, handles_[i]));
      for (rows->SeekToFirst(); rows->Valid(); rows->Next()) {
        RETURN_IF_ERROR(FromRocksDb(batch.Put(family, rows->key(), rows->value()), dir_));
        if (batch.GetDataSize() < kBytesMovedAtOnce) continue;
        RETURN_IF_ERROR(write(&batch));
        batch.Clear();
      }
      RETURN_IF_ERROR(FromRocksDb(rows->status(), "reading " + dir_));
    }
    return write(&batch);
  }

 private:
  const std::string dir_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
};

}  // namespace

Status Store::Impl::CommitFrontier(rocksdb::WriteBatch* batch) {
  RETURN_IF_ERROR(base_.EnsureSpace());
  return log_.Write(batch, kFrontierPartition);
}

Status Store::Impl::MoveFrontier() {
  CHECK(!log_.is_cache(), "{} is not this server's own", base_.dir());
  const std::string dir = FrontierDirectory(base_.dir());
  // The directory is renamed once its rows are in the store. So its name shows whether they are
  // there.
  const std::string moved = dir + ".moved";
  const auto remove_moved = [&] {
    if (!base_.options().env->FileExists(moved).ok()) return;
    storage::RemoveFiles(base_.options().env, moved);
    base_.options().env->DeleteDir(moved).PermitUncheckedError();
  };
  remove_moved();
  if (!base_.options().env->FileExists(dir).ok()) return absl::OkStatus();
  RETURN_IF_ERROR(storage::CheckDirectory(dir));
  ASSIGN_OR_RETURN(const bool exists, storage::DatabaseExists(base_.options().env, dir));
  if (exists) {
    base_.Enter(OpenStage::kMigrating);
    base_.Say('I', fmt::format("moving the crawl frontier from {} into the store", dir));
    RETURN_IF_ERROR(CopyFrontier(dir));
  }
  RETURN_IF_ERROR(FromRocksDb(base_.options().env->RenameFile(dir, moved), "renaming " + dir));
  RETURN_IF_ERROR(storage::SyncDirectory(base_.options().env, base_.dir()));
  remove_moved();
  return absl::OkStatus();
}

// If the copy is interrupted, the next start writes the same rows again.
Status Store::Impl::CopyFrontier(const std::string& dir) {
  OldFrontier old(dir);
  RETURN_IF_ERROR(old.Open(base_.options()));
  // All families are flushed afterwards, so the log is not needed.
  rocksdb::WriteOptions unlogged;
  unlogged.disableWAL = true;
  RETURN_IF_ERROR(old.Read(base_.handles(), [&](rocksdb::WriteBatch* batch) -> Status {
    RETURN_IF_ERROR(storage::GoOn(base_.options().progress));
    RETURN_IF_ERROR(base_.EnsureSpace());
    return base_.Note(base_.db().Write(unlogged, batch));
  }));
  return base_.Note(base_.db().Flush({}, base_.families()));
}

}  // namespace freshet
