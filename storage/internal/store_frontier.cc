// The crawl frontier that a cache has beside its pages.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "storage/frontier_store.h"
#include "storage/internal/frontier_tuning.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/internal/store_impl.h"
#include "storage/internal/tuning.h"

namespace freshet {
namespace {

// That are written at a time where they are moved.
constexpr int kRowsMovedAtOnce = 4096;

Status CopyRows(rocksdb::DB& from, rocksdb::ColumnFamilyHandle* of, rocksdb::DB& to,
                rocksdb::ColumnFamilyHandle* into) {
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> rows(from.NewIterator(read, of));
  rocksdb::WriteBatch batch;
  // Flushed as a whole afterwards.
  rocksdb::WriteOptions write;
  write.disableWAL = true;
  rocksdb::Status status;
  for (rows->SeekToFirst(); rows->Valid() && status.ok(); rows->Next()) {
    status = batch.Put(into, rows->key(), rows->value());
    if (!status.ok() || batch.Count() < kRowsMovedAtOnce) continue;
    status = to.Write(write, &batch);
    batch.Clear();
  }
  if (status.ok()) status = rows->status();
  if (status.ok()) status = to.Write(write, &batch);
  return storage::FromRocksDb(status, "moving rows of the frontier");
}

}  // namespace

using storage::FromRocksDb;

std::vector<rocksdb::ColumnFamilyHandle*> Store::Impl::families() const {
  std::vector<rocksdb::ColumnFamilyHandle*> all(handles_.begin(), handles_.end());
  all.insert(all.end(), frontier_handles_.begin(), frontier_handles_.end());
  return all;
}

Status Store::Impl::CommitFrontier(rocksdb::WriteBatch* batch) {
  CHECK(has_frontier(), "{} has no frontier", dir_);
  if (failed_) return health();
  RETURN_IF_ERROR(EnsureSpace());
  return WriteDurably(batch, kFrontierPartition);
}

Status Store::Impl::MoveFrontier() {
  if (!has_frontier()) return absl::OkStatus();
  const std::string dir = FrontierDirectory(dir_);
  // RocksDB makes it as well, and says before that it is not there, as an error.
  RETURN_IF_ERROR(FromRocksDb(env_->CreateDirIfMissing(dir), "making " + dir));
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* raw = nullptr;
  RETURN_IF_ERROR(
      FromRocksDb(rocksdb::DB::Open(storage::MakeDbOptions(options_), dir,
                                    storage::FrontierColumnFamilies(options_), &handles, &raw),
                  "making " + dir));
  const std::unique_ptr<rocksdb::DB> frontier(raw);
  Status status;
  for (size_t i = 0; i < handles.size(); ++i) {
    if (status.ok()) status = CopyRows(*db_, frontier_handles_[i], *frontier, handles[i]);
  }
  if (status.ok()) status = FromRocksDb(frontier->Flush({}, handles), "making " + dir);
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    frontier->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  status.Update(FromRocksDb(frontier->Close(), "making " + dir));
  if (status.ok()) {
    status = FromRocksDb(db_->DropColumnFamilies(frontier_handles_), "moving the frontier");
  }
  for (rocksdb::ColumnFamilyHandle* handle : std::exchange(frontier_handles_, {})) {
    db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  return status;
}

}  // namespace freshet
