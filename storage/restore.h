// Restores a data directory from a checkpoint.
#ifndef FRESHET_STORAGE_RESTORE_H_
#define FRESHET_STORAGE_RESTORE_H_

#include <string>

#include "core/base/status.h"
#include "storage/store.h"

namespace freshet::storage {

// Generations that a restored or repaired store skips, because the original might have been opened
// again after the checkpoint. A lease id from that time must never name a lease of the restored
// store, because a late result would then apply to the wrong page.
inline constexpr uint32_t kSkippedGenerations = 1024;

// Makes `to` a data directory with the contents of `checkpoint`, and reads all of it. `to` must be
// missing or empty, except for the lost+found of a new disk. The checkpoint stays unchanged; tables
// become hard links if the file system allows and no other user may change them. If there is a
// problem, whether in the status or in the report, `to` is left as it was.
//
// The checkpoint of a cluster's server becomes a cache of the same log. The cache reads later rows
// when it is opened with that log, and skips no generations, because the log counts them.
// StoreOptions::leave_log makes the result a store of a single server instead. In that case
// `checkpoint` may also be the directory of a stopped server of a cluster.
//
// FailedPrecondition: Store::CheckAge fails; or leave_log is set for a store without a cluster's
// log; or a server has `checkpoint` open; or one of its files is a link, a pipe or a device.
// NotFound: `checkpoint` holds no database. PermissionDenied: CheckDirectory refuses one of the two
// directories. AlreadyExists: `to` is not empty. Thread-safe.
[[nodiscard]] StatusOr<VerifyReport> Restore(const std::string& checkpoint, const std::string& to,
                                             const StoreOptions& options);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_RESTORE_H_
