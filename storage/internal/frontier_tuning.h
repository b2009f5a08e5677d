// The column families of the frontier's database. Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_FRONTIER_TUNING_H_
#define FRESHET_STORAGE_INTERNAL_FRONTIER_TUNING_H_

#include <memory>
#include <vector>

#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "storage/options.h"

namespace freshet::storage {

// In the order of FrontierFamily, with a block cache that they share. Thread-safe.
[[nodiscard]] std::vector<rocksdb::ColumnFamilyDescriptor> FrontierColumnFamilies(
    const StoreOptions& options);

// The same of a cache of a cluster's log, which has them beside its own, and one block cache.
[[nodiscard]] std::vector<rocksdb::ColumnFamilyDescriptor> FrontierFamiliesOfCache(
    const StoreOptions& options, const std::shared_ptr<rocksdb::Cache>& blocks);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_FRONTIER_TUNING_H_
