// What RocksDB uses of the system.
#ifndef FRESHET_STORAGE_INTERNAL_ROCKSDB_ENV_H_
#define FRESHET_STORAGE_INTERNAL_ROCKSDB_ENV_H_

#include "rocksdb/env.h"
#include "storage/options.h"

namespace freshet::storage {

// That of the options, else the system's, whose wall clock RocksDB never sees before 1970: there it
// would end the process by an assertion. Lives for ever. Thread-safe.
[[nodiscard]] rocksdb::Env* RocksDbEnv(const StoreOptions& options);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_ROCKSDB_ENV_H_
