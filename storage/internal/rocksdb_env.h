// The environment through which RocksDB uses the system.
#ifndef FRESHET_STORAGE_INTERNAL_ROCKSDB_ENV_H_
#define FRESHET_STORAGE_INTERNAL_ROCKSDB_ENV_H_

#include "rocksdb/env.h"
#include "storage/options.h"

namespace freshet::storage {

// The environment of the options, else the system's. Guards against assertions of RocksDB, which
// would end the process: hides clocks before 1970, and tables whose damage RocksDB checks too late
// (storage/internal/table_check.h). Never destroyed. Thread-safe.
[[nodiscard]] rocksdb::Env* RocksDbEnv(const StoreOptions& options);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_ROCKSDB_ENV_H_
