// StoreOptions as RocksDB's own options. Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_TUNING_H_
#define FRESHET_STORAGE_INTERNAL_TUNING_H_

#include <memory>

#include "rocksdb/options.h"
#include "storage/format.h"
#include "storage/options.h"

namespace freshet::storage {

// What all column families share. Thread-safe.
[[nodiscard]] rocksdb::DBOptions MakeDbOptions(const StoreOptions& options);

// What suits one column family's keys and values. `cache` is shared by all. Thread-safe.
[[nodiscard]] rocksdb::ColumnFamilyOptions MakeFamilyOptions(
    Family family, const StoreOptions& options, const std::shared_ptr<rocksdb::Cache>& cache);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_TUNING_H_
