// The column families of the frontier's database. Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_FRONTIER_TUNING_H_
#define FRESHET_STORAGE_INTERNAL_FRONTIER_TUNING_H_

#include <vector>

#include "rocksdb/db.h"
#include "storage/options.h"

namespace freshet::storage {

// In the order of FrontierFamily, with a block cache that they share. Thread-safe.
[[nodiscard]] std::vector<rocksdb::ColumnFamilyDescriptor> FrontierColumnFamilies(
    const StoreOptions& options);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_FRONTIER_TUNING_H_
