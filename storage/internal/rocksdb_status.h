// Translates RocksDB's status into absl::Status. Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_ROCKSDB_STATUS_H_
#define FRESHET_STORAGE_INTERNAL_ROCKSDB_STATUS_H_

#include <string_view>

#include "core/base/status.h"
#include "rocksdb/status.h"

namespace freshet::storage {

// OK; NotFound; DataLoss for corruption; ResourceExhausted for a full device; FailedPrecondition
// when another process holds the lock; Unavailable for other I/O errors and aborted work; Internal
// for the rest. `what` names the operation. Thread-safe.
[[nodiscard]] Status FromRocksDb(const rocksdb::Status& status, std::string_view what);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_ROCKSDB_STATUS_H_
