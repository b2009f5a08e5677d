// Checkpoints, verification, compaction, statistics.
#include <algorithm>

#include "absl/strings/numbers.h"
#include "rocksdb/cache.h"
#include "rocksdb/env.h"
#include "rocksdb/statistics.h"
#include "rocksdb/utilities/checkpoint.h"
#include "storage/directory.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/internal/store_impl.h"

namespace freshet {

using storage::FromRocksDb;

Status Store::Checkpoint(const std::string& dir) {
  const storage::Database& base = impl_->base();
  rocksdb::Env* const env = base.options().env;
  ASSIGN_OR_RETURN(const std::string absolute, storage::AbsolutePath(dir));
  if (env->FileExists(absolute).ok()) {
    return MakeStatus(absl::StatusCode::kAlreadyExists, "{} exists", absolute);
  }
  rocksdb::Checkpoint* raw = nullptr;
  RETURN_IF_ERROR(FromRocksDb(rocksdb::Checkpoint::Create(&base.db(), &raw), "checkpoint"));
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
  RETURN_IF_ERROR(FromRocksDb(checkpoint->CreateCheckpoint(absolute), "checkpoint to " + absolute));
  // RocksDB syncs the files, but not the parent directory, which has the name of their directory.
  const std::string parent = absolute.substr(0, absolute.find_last_of('/') + 1);
  std::unique_ptr<rocksdb::Directory> directory;
  rocksdb::Status synced = env->NewDirectory(parent, &directory);
  if (synced.ok()) synced = directory->Fsync();
  return FromRocksDb(synced, "checkpoint to " + absolute);
}

Status Store::Compact() {
  const storage::Database& base = impl_->base();
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  for (rocksdb::ColumnFamilyHandle* family : base.families()) {
    RETURN_IF_ERROR(
        FromRocksDb(base.db().CompactRange(options, family, nullptr, nullptr), "compact"));
  }
  return absl::OkStatus();
}

StoreStats Store::Stats() const {
  const storage::Database& base = impl_->base();
  rocksdb::DB& db = base.db();
  const storage::FamilyHandles& handles = base.handles();
  StoreStats stats;
  const auto property = [&](rocksdb::ColumnFamilyHandle* family, const std::string& name) {
    uint64_t value = 0;
    return db.GetIntProperty(family, name, &value) ? value : 0;
  };
  for (size_t i = 0; i < handles.size(); ++i) {
    StoreStats::PerFamily& family = stats.families[i];
    family.table_bytes = property(handles[i], rocksdb::DB::Properties::kLiveSstFilesSize);
    family.estimated_rows = property(handles[i], rocksdb::DB::Properties::kEstimateNumKeys);
    stats.table_bytes += property(handles[i], rocksdb::DB::Properties::kTotalSstFilesSize);
    stats.memtable_bytes += property(handles[i], rocksdb::DB::Properties::kSizeAllMemTables);
    stats.pending_compaction_bytes +=
        property(handles[i], rocksdb::DB::Properties::kEstimatePendingCompactionBytes);
    for (size_t level = 0; level < StoreStats::kLevels; ++level) {
      std::string files;
      const std::string name =
          rocksdb::DB::Properties::kNumFilesAtLevelPrefix + std::to_string(level);
      uint64_t number = 0;
      if (db.GetProperty(handles[i], name, &files) && absl::SimpleAtoi(files, &number)) {
        stats.table_files[level] += number;
      }
    }
  }
  // The values are those of the whole database, whichever family is asked.
  stats.writes_stopped = property(handles[0], rocksdb::DB::Properties::kIsWriteStopped) != 0;
  stats.delayed_bytes_per_second =
      property(handles[0], rocksdb::DB::Properties::kActualDelayedWriteRate);
  stats.running_flushes = property(handles[0], rocksdb::DB::Properties::kNumRunningFlushes);
  stats.running_compactions = property(handles[0], rocksdb::DB::Properties::kNumRunningCompactions);
  rocksdb::VectorLogPtr logs;
  if (db.GetSortedWalFiles(logs).ok()) {
    for (const auto& log : logs) stats.wal_bytes += log->SizeFileBytes();
  }
  stats.cache_bytes = property(handles[0], rocksdb::DB::Properties::kBlockCacheUsage);
  impl_->reads().AddTo(&stats);
  base.options().env->GetFreeSpace(base.dir(), &stats.free_bytes).PermitUncheckedError();
  stats.commits = impl_->commits();
  stats.refused_commits = base.refused_commits();
  const auto count = [statistics = db.GetDBOptions().statistics](uint32_t ticker) {
    return statistics->getTickerCount(ticker);
  };
  stats.block_cache_hits = count(rocksdb::BLOCK_CACHE_HIT);
  stats.block_cache_misses = count(rocksdb::BLOCK_CACHE_MISS);
  stats.stalled_micros = count(rocksdb::STALL_MICROS);
  stats.syncs = count(rocksdb::WAL_FILE_SYNCED);
  stats.wal_written_bytes = count(rocksdb::WAL_FILE_BYTES);
  stats.flushed_bytes = count(rocksdb::FLUSH_WRITE_BYTES);
  stats.compacted_bytes = count(rocksdb::COMPACT_WRITE_BYTES);
  return stats;
}

}  // namespace freshet
