// The environment through which RocksDB uses the system.
#ifndef FRESHET_STORAGE_INTERNAL_ROCKSDB_ENV_H_
#define FRESHET_STORAGE_INTERNAL_ROCKSDB_ENV_H_

#include "rocksdb/env.h"
#include "storage/options.h"

namespace freshet::storage {

// The environment of the options, or the system's if they have none. Guards against failing
// assertions of RocksDB, which would end the process: corrects clocks before 1970, and refuses
// tables whose damage RocksDB would detect too late (storage/internal/table_check.h). Never
// destroyed. Thread-safe.
[[nodiscard]] rocksdb::Env* RocksDbEnv(const StoreOptions& options);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_ROCKSDB_ENV_H_
