// StoreOptions as RocksDB's own options. Internal to storage/.
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

// What all column families share. Thread-safe.
[[nodiscard]] rocksdb::DBOptions MakeDbOptions(const StoreOptions& options);

// What suits one column family's keys and values. `cache` is shared by all. Thread-safe.
[[nodiscard]] rocksdb::ColumnFamilyOptions MakeFamilyOptions(
    Family family, const StoreOptions& options, const std::shared_ptr<rocksdb::Cache>& cache);

// Lets a family's memtable take in all rows of `log_bytes` of logs: RocksDB would write each that
// outgrows its limit during the replay, and then all others with it, before it opens. False, and
// nothing is changed: logs of that length fit as it is, or are longer than logs become.
// Thread-safe.
[[nodiscard]] bool MakeRoomForReplay(uint64_t log_bytes, const StoreOptions& options,
                                     rocksdb::ColumnFamilyOptions* family);

// For rocksdb::DB::SetOptions: the limit of memtables without room for a replay. Thread-safe.
[[nodiscard]] std::unordered_map<std::string, std::string> UsualMemtables(
    const StoreOptions& options);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_TUNING_H_
