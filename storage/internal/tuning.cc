#include "storage/internal/tuning.h"

#include <algorithm>

#include "core/base/check.h"
#include "rocksdb/cache.h"
#include "rocksdb/env.h"
#include "rocksdb/file_checksum.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/table_properties_collectors.h"
#include "storage/internal/rocksdb_env.h"

namespace freshet::storage {
namespace {

constexpr double kBloomBitsPerKey = 10;  // 1% false positives
constexpr size_t kBlockBytes = 16 << 10;
// The share of a memtable that a filter of its keys takes. Most pages that are read have no row in
// the memtable, and the filter shows this much faster than a search.
constexpr double kMemtableFilterShare = 0.02;
// A large memtable allocates blocks of kMostArenaBytes, and a small one allocates an eighth of its
// size at a time.
constexpr uint64_t kMostArenaBytes = 1 << 20;
constexpr uint64_t kArenasInMemtable = 8;
// A row takes more space in a memtable than in a log; a lease of 40 bytes takes twice as much. If
// logs are longer than kLongestLogs times their limit, their rows are not all held in memory.
constexpr uint64_t kMemtablePerLog = 3;
constexpr uint64_t kLongestLogs = 2;
// The number of flushed tables at which they are compacted. They then have about a quarter of the
// bytes of the level below. With half this number, compactions of randomly rewritten rows make a
// commit cost a sixth more.
constexpr int kTablesToCompact = 8;
constexpr uint32_t kDictionaryBytes = 16 << 10;
// RocksDB buffers this many bytes of a new table to make a dictionary.
constexpr uint64_t kDictionaryBufferBytes = 4 << 20;
constexpr size_t kSyncStepBytes = 1 << 20;
constexpr uint64_t kRewriteAfterSeconds = uint64_t{30} * 24 * 3600;
constexpr size_t kManifestBytes = 1 << 20;
constexpr size_t kFileBufferBytes = 4 << 20;
// A table with kMostDeletions deletions among kNeighbours consecutive rows is compacted at once,
// because scans skip deleted rows one by one until then.
constexpr size_t kNeighbours = 128 << 10;
constexpr size_t kMostDeletions = 64 << 10;

// Forwards RocksDB's log to the program's log: errors as errors, and warnings as debug messages.
class ForwardingLogger : public rocksdb::Logger {
 public:
  explicit ForwardingLogger(std::function<void(char, std::string_view)> log)
      : Logger(rocksdb::InfoLogLevel::WARN_LEVEL), log_(std::move(log)) {}
  using Logger::Logv;
  void Logv(const rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
    if (!log_ || level < GetInfoLogLevel() || level == rocksdb::InfoLogLevel::HEADER_LEVEL) return;
    char line[1024];
    const int size = std::vsnprintf(line, sizeof(line), format, arguments);
    if (size <= 0) return;
    const size_t length = std::min<size_t>(static_cast<size_t>(size), sizeof(line) - 1);
    // RocksDB also logs warnings in normal operation, which should not alarm an operator.
    const char mark = level >= rocksdb::InfoLogLevel::ERROR_LEVEL ? 'E' : 'D';
    log_(mark, std::string_view(line, length));
  }
  void Logv(const char* format, va_list arguments) override {
    Logv(rocksdb::InfoLogLevel::INFO_LEVEL, format, arguments);
  }

 private:
  const std::function<void(char, std::string_view)> log_;
};

// Puts all keys under one insertion hint, so that an insertion searches from where the last one
// ended.
class OneNeighbourhood : public rocksdb::SliceTransform {
 public:
  [[nodiscard]] const char* Name() const override { return "FreshetOneNeighbourhood"; }
  [[nodiscard]] rocksdb::Slice Transform(const rocksdb::Slice& key) const override {
    return {key.data(), 0};
  }
  [[nodiscard]] bool InDomain(const rocksdb::Slice&) const override { return true; }
};

}  // namespace

rocksdb::DBOptions MakeDbOptions(const StoreOptions& options) {
  rocksdb::DBOptions db;
  db.env = RocksDbEnv(options);
  db.create_if_missing = true;
  db.create_missing_column_families = true;
  db.info_log = std::make_shared<ForwardingLogger>(options.log);
  db.statistics = rocksdb::CreateDBStatistics();
  db.statistics->set_stats_level(rocksdb::StatsLevel::kExceptDetailedTimers);
  db.stats_dump_period_sec = 0;
  db.stats_persist_period_sec = 0;

  // Every inconsistency must stop writes.
  db.paranoid_checks = true;
  // Torn tails are cut off before RocksDB opens the log (storage/internal/wal_check.h), so any
  // fault that RocksDB finds is an error.
  db.wal_recovery_mode = rocksdb::WALRecoveryMode::kAbsoluteConsistency;
  db.track_and_verify_wals_in_manifest = true;
  // Only a full device can be recovered from (Store::Commit); all other errors end writing.
  db.max_bgerror_resume_count = 0;
  // A reused log file would hold old records after the new ones, and would not sync faster.
  db.recycle_log_file_num = 0;
  // Whole-file checksums, so that verification covers every byte of every table file.
  db.file_checksum_gen_factory = rocksdb::GetFileChecksumGenCrc32cFactory();
  // Without a log, only flushing all families together is atomic.
  db.atomic_flush = options.durability == Durability::kNone;

  db.max_background_jobs = options.background_jobs;
  // RocksDB reserves ten of these for itself.
  db.max_open_files = options.max_open_tables < 0 ? -1 : options.max_open_tables + 10;
  db.max_total_wal_size = options.max_wal_bytes;
  db.db_write_buffer_size = options.write_buffer_bytes * 4;
  // After recovery has replayed the log into memtables, the store can serve at once. Flushing can
  // wait. RocksDB flushes only if a memtable outgrows its limit (MakeRoomForReplay).
  db.avoid_flush_during_recovery = true;
  // Written table bytes reach the device steadily, so that no sync waits for a backlog of them.
  db.bytes_per_sync = kSyncStepBytes;
  // A write batch reaches the log in one append, so that a batch repeated after a full device can
  // be recognised (storage/internal/wal_check.h).
  db.writable_file_max_buffer_size = kFileBufferBytes;
  // Keeps the MANIFEST short, because it retains the first and last keys of tables that were
  // deleted long ago.
  db.max_manifest_file_size = kManifestBytes;
  db.avoid_unnecessary_blocking_io = true;
  return db;
}

rocksdb::ColumnFamilyOptions MakeFamilyOptions(Family family, const StoreOptions& options,
                                               const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::ColumnFamilyOptions cf;
  cf.write_buffer_size = options.write_buffer_bytes;
  cf.arena_block_size =
      std::min<uint64_t>(kMostArenaBytes, options.write_buffer_bytes / kArenasInMemtable);
  // If a commit's rows come in key order, an insertion costs a tenth less, also during replay.
  cf.memtable_insert_with_hint_prefix_extractor = std::make_shared<OneNeighbourhood>();
  cf.memtable_prefix_bloom_size_ratio = kMemtableFilterShare;
  cf.memtable_whole_key_filtering = true;
  cf.level0_file_num_compaction_trigger = kTablesToCompact;
  cf.target_file_size_base = options.table_file_bytes;
  cf.max_bytes_for_level_base = options.table_file_bytes * 4;
  // Keeps 90% of the data in the last level, so that rows that are rewritten often take less space.
  cf.level_compaction_dynamic_level_bytes = true;
  cf.force_consistency_checks = true;
  // Removed rows leave the device within this time, even if nothing else is written.
  cf.periodic_compaction_seconds = kRewriteAfterSeconds;
  cf.disable_auto_compactions = options.hold_compactions;
  cf.compression = rocksdb::kLZ4Compression;
  cf.bottommost_compression = rocksdb::kZSTD;

  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.block_size = kBlockBytes;
  table.format_version = 5;
  table.checksum = rocksdb::kXXH3;
  // Index and filters are cached in pieces and count against the cache, so memory is bounded for
  // any number of pages.
  table.cache_index_and_filter_blocks = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kBloomBitsPerKey));
  switch (family) {
    case Family::kPages:
      // Reads ask only for pages that exist, so the last level, 90% of the data, needs no filter.
      cf.optimize_filters_for_hits = true;
      // With a dictionary, the common parts of a table's blocks are stored once: Zstandard then
      // takes a fifth less space than LZ4. Level 1 is the fastest compression level, with 3% more
      // bytes than the default level.
      cf.bottommost_compression_opts.enabled = true;
      cf.bottommost_compression_opts.level = 1;
      cf.bottommost_compression_opts.max_dict_bytes = kDictionaryBytes;
      cf.bottommost_compression_opts.zstd_max_train_bytes = 100 * kDictionaryBytes;
      cf.bottommost_compression_opts.max_dict_buffer_bytes = kDictionaryBufferBytes;
      break;
    case Family::kMeta:
    case Family::kHosts:
    case Family::kLeases:
    case Family::kSources:
      break;
    case Family::kFrontierItems:
    case Family::kFrontierDue:
      cf.table_properties_collector_factories.push_back(
          rocksdb::NewCompactOnDeletionCollectorFactory(kNeighbours, kMostDeletions));
      break;
    case Family::kFrontierMeta:
    case Family::kFrontierLeases:
    case Family::kFrontierQueues:
      break;
    case Family::kFrontierGone:
      CHECK(false, "family {} is in logs alone", IndexOf(family));
  }
  if (family >= Family::kFrontierMeta) {
    // The rows of a frontier batch belong to many queues, and do not come in key order.
    cf.memtable_insert_with_hint_prefix_extractor = nullptr;
    if (family != Family::kFrontierItems) cf.memtable_prefix_bloom_size_ratio = 0;
  }
  if (!options.compress) cf.compression = cf.bottommost_compression = rocksdb::kNoCompression;
  cf.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return cf;
}

bool MakeRoomForReplay(uint64_t log_bytes, const StoreOptions& options,
                       rocksdb::ColumnFamilyOptions* family) {
  const uint64_t needed = kMemtablePerLog * log_bytes;
  if (needed <= options.write_buffer_bytes) return false;
  if (log_bytes > kLongestLogs * options.max_wal_bytes) return false;
  family->write_buffer_size = needed;
  // The share is lowered, so that the filter keeps its usual size.
  family->memtable_prefix_bloom_size_ratio *=
      static_cast<double>(options.write_buffer_bytes) / static_cast<double>(needed);
  return true;
}

std::unordered_map<std::string, std::string> UsualMemtables(
    const rocksdb::ColumnFamilyOptions& usual) {
  return {
      {"write_buffer_size", std::to_string(usual.write_buffer_size)},
      {"memtable_prefix_bloom_size_ratio", std::to_string(usual.memtable_prefix_bloom_size_ratio)}};
}

}  // namespace freshet::storage
