#include "storage/internal/closing.h"

#include <cstdint>

#include "rocksdb/env.h"

namespace freshet::storage {
namespace {

constexpr uint64_t kFlushNanos = 1'000'000'000;

}  // namespace

rocksdb::Status FlushAtEnd(rocksdb::DB& db,
                           const std::vector<rocksdb::ColumnFamilyHandle*>& families,
                           Durability durability) {
  // Families without a log are written together or not at all.
  if (durability == Durability::kNone) return db.Flush(rocksdb::FlushOptions(), families);
  rocksdb::Env& env = *db.GetEnv();
  const uint64_t begun = env.NowNanos();
  rocksdb::Status status = db.SyncWAL();
  for (rocksdb::ColumnFamilyHandle* family : families) {
    if (!status.ok() || env.NowNanos() - begun > kFlushNanos) break;
    status = db.Flush(rocksdb::FlushOptions(), family);
  }
  return status;
}

}  // namespace freshet::storage
