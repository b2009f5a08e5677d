// The border at which RocksDB's status becomes ours. Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_ROCKSDB_STATUS_H_
#define FRESHET_STORAGE_INTERNAL_ROCKSDB_STATUS_H_

#include <string_view>

#include "core/base/status.h"
#include "rocksdb/status.h"

namespace freshet::storage {

// OK; NotFound; DataLoss for corruption; ResourceExhausted for a full device; FailedPrecondition
// when another process holds the lock; Unavailable for other I/O errors and for work that was
// aborted; Internal for the rest. `what` says what was being done. Thread-safe.
[[nodiscard]] Status FromRocksDb(const rocksdb::Status& status, std::string_view what);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_ROCKSDB_STATUS_H_
