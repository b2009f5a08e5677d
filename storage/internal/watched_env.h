// Counts what RocksDB writes, so that somebody may see whether the disk answers: RocksDB itself
// makes commits wait where tables are behind, while it goes on writing them.
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

// Does what `base` does, which outlives it, and counts appends and syncs of files. Thread-safe.
[[nodiscard]] std::unique_ptr<rocksdb::Env> WatchWrites(rocksdb::Env* base,
                                                        std::shared_ptr<WriteCounts> counts);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_WATCHED_ENV_H_
