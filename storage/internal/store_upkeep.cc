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

Status Store::Impl::Checkpoint(const std::string& dir) {
  ASSIGN_OR_RETURN(const std::string absolute, storage::AbsolutePath(dir));
  if (env_->FileExists(absolute).ok()) {
    return MakeStatus(absl::StatusCode::kAlreadyExists, "{} exists", absolute);
  }
  rocksdb::Checkpoint* raw = nullptr;
  RETURN_IF_ERROR(FromRocksDb(rocksdb::Checkpoint::Create(db_.get(), &raw), "checkpoint"));
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
  RETURN_IF_ERROR(FromRocksDb(checkpoint->CreateCheckpoint(absolute), "checkpoint to " + absolute));
  // RocksDB makes the files durable, but not the name of their directory.
  const std::string parent = absolute.substr(0, absolute.find_last_of('/') + 1);
  std::unique_ptr<rocksdb::Directory> directory;
  rocksdb::Status synced = env_->NewDirectory(parent, &directory);
  if (synced.ok()) synced = directory->Fsync();
  return FromRocksDb(synced, "checkpoint to " + absolute);
}

Status Store::Impl::StartCompactions() {
  if (!options_.hold_compactions) return absl::OkStatus();
  RETURN_IF_ERROR(LimitMemtables());
  return FromRocksDb(db_->EnableAutoCompaction(families()), "starting compactions");
}

Status Store::Impl::Compact() {
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  for (rocksdb::ColumnFamilyHandle* family : families()) {
    RETURN_IF_ERROR(FromRocksDb(db_->CompactRange(options, family, nullptr, nullptr), "compact"));
  }
  return absl::OkStatus();
}

StoreStats Store::Impl::Stats() const {
  StoreStats stats;
  const auto property = [&](rocksdb::ColumnFamilyHandle* family, const std::string& name) {
    uint64_t value = 0;
    return db_->GetIntProperty(family, name, &value) ? value : 0;
  };
  for (size_t i = 0; i < handles_.size(); ++i) {
    StoreStats::PerFamily& family = stats.families[i];
    family.table_bytes = property(handles_[i], rocksdb::DB::Properties::kLiveSstFilesSize);
    family.estimated_rows = property(handles_[i], rocksdb::DB::Properties::kEstimateNumKeys);
    stats.table_bytes += property(handles_[i], rocksdb::DB::Properties::kTotalSstFilesSize);
    stats.memtable_bytes += property(handles_[i], rocksdb::DB::Properties::kSizeAllMemTables);
    stats.pending_compaction_bytes +=
        property(handles_[i], rocksdb::DB::Properties::kEstimatePendingCompactionBytes);
    for (size_t level = 0; level < StoreStats::kLevels; ++level) {
      std::string files;
      const std::string name =
          rocksdb::DB::Properties::kNumFilesAtLevelPrefix + std::to_string(level);
      uint64_t number = 0;
      if (db_->GetProperty(handles_[i], name, &files) && absl::SimpleAtoi(files, &number)) {
        stats.table_files[level] += number;
      }
    }
  }
  // Of the whole database, whichever family is asked.
  stats.writes_stopped = property(handles_[0], rocksdb::DB::Properties::kIsWriteStopped) != 0;
  stats.delayed_bytes_per_second =
      property(handles_[0], rocksdb::DB::Properties::kActualDelayedWriteRate);
  stats.running_flushes = property(handles_[0], rocksdb::DB::Properties::kNumRunningFlushes);
  stats.running_compactions =
      property(handles_[0], rocksdb::DB::Properties::kNumRunningCompactions);
  rocksdb::VectorLogPtr logs;
  if (db_->GetSortedWalFiles(logs).ok()) {
    for (const auto& log : logs) stats.wal_bytes += log->SizeFileBytes();
  }
  stats.cache_bytes = cache_->GetUsage();
  stats.page_cache_bytes = page_cache_->bytes();
  stats.page_cache_hits = page_cache_hits_.load(std::memory_order_relaxed);
  stats.page_cache_misses = page_cache_misses_.load(std::memory_order_relaxed);
  env_->GetFreeSpace(dir_, &stats.free_bytes).PermitUncheckedError();
  stats.commits = commits_.load(std::memory_order_relaxed);
  stats.refused_commits = refused_commits_.load(std::memory_order_relaxed);
  stats.block_cache_hits = statistics_->getTickerCount(rocksdb::BLOCK_CACHE_HIT);
  stats.block_cache_misses = statistics_->getTickerCount(rocksdb::BLOCK_CACHE_MISS);
  stats.stalled_micros = statistics_->getTickerCount(rocksdb::STALL_MICROS);
  stats.syncs = statistics_->getTickerCount(rocksdb::WAL_FILE_SYNCED);
  stats.wal_written_bytes = statistics_->getTickerCount(rocksdb::WAL_FILE_BYTES);
  stats.flushed_bytes = statistics_->getTickerCount(rocksdb::FLUSH_WRITE_BYTES);
  stats.compacted_bytes = statistics_->getTickerCount(rocksdb::COMPACT_WRITE_BYTES);
  return stats;
}

}  // namespace freshet
