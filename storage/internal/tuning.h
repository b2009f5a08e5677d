// Translates StoreOptions into RocksDB's options. Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_TUNING_H_
#define FRESHET_STORAGE_INTERNAL_TUNING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "rocksdb/options.h"
#include "storage/format.h"
#include "storage/options.h"

namespace freshet::storage {

// The options of the whole database. Thread-safe.
[[nodiscard]] rocksdb::DBOptions MakeDbOptions(const StoreOptions& options);

// The options for one column family's keys and values. All share `cache`. Thread-safe.
[[nodiscard]] rocksdb::ColumnFamilyOptions MakeFamilyOptions(
    Family family, const StoreOptions& options, const std::shared_ptr<rocksdb::Cache>& cache);

// Raises the limit of a family's memtable, so that the rows of `log_bytes` of logs fit. With the
// usual limit, RocksDB would flush each memtable that outgrows the limit during the replay, and
// then all others, before opening ends. Returns false and changes nothing if the rows fit anyway,
// or if the logs are longer than logs should become. Thread-safe.
[[nodiscard]] bool MakeRoomForReplay(uint64_t log_bytes, const StoreOptions& options,
                                     rocksdb::ColumnFamilyOptions* family);

// Returns the usual limit of memtables, for rocksdb::DB::SetOptions after a replay. `usual`: what
// MakeFamilyOptions returns for the family. Thread-safe.
[[nodiscard]] std::unordered_map<std::string, std::string> UsualMemtables(
    const rocksdb::ColumnFamilyOptions& usual);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_TUNING_H_
