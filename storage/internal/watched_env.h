// Counts RocksDB's writes, which shows whether the disk responds. Waiting commits do not show this,
// because RocksDB also delays them while it compacts tables.
#ifndef FRESHET_STORAGE_INTERNAL_WATCHED_ENV_H_
#define FRESHET_STORAGE_INTERNAL_WATCHED_ENV_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "rocksdb/env.h"

namespace freshet::storage {

// Thread-safe.
struct WriteCounts {
  std::atomic<uint64_t> begun = 0;
  std::atomic<uint64_t> ended = 0;
};

// Wraps `base`, which outlives it, and counts appends and syncs of files. Reports an exceeded disk
// quota as a full disk. Thread-safe.
[[nodiscard]] std::unique_ptr<rocksdb::Env> WatchWrites(rocksdb::Env* base,
                                                        std::shared_ptr<WriteCounts> counts);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_WATCHED_ENV_H_
