// What RocksDB uses of the system.
#ifndef FRESHET_STORAGE_INTERNAL_ROCKSDB_ENV_H_
#define FRESHET_STORAGE_INTERNAL_ROCKSDB_ENV_H_

#include "rocksdb/env.h"
#include "storage/options.h"

namespace freshet::storage {

// That of the options, else the system's, where RocksDB sees nothing by which it would end the
// process by an assertion: no wall clock before 1970, and no table that is damaged where RocksDB
// checks too late (storage/internal/table_check.h). Lives for ever. Thread-safe.
[[nodiscard]] rocksdb::Env* RocksDbEnv(const StoreOptions& options);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_ROCKSDB_ENV_H_
