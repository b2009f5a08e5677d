// From a checkpoint back to a data directory.
#ifndef FRESHET_STORAGE_RESTORE_H_
#define FRESHET_STORAGE_RESTORE_H_

#include <string>

#include "core/base/status.h"
#include "storage/store.h"

namespace freshet::storage {

// Generations that a restored or repaired store skips. The database that the checkpoint was taken
// of may have been opened some more times since, and a lease id that it gave out then must never
// name a lease of the restored one: a late result would hit another page.
inline constexpr uint32_t kSkippedGenerations = 1024;

// Makes `to`, which must be missing or empty (but for the lost+found of a new disk), a data
// directory with the contents of `checkpoint`, which stays as it is (tables that nobody else may
// change are shared by hard links where the file system allows), and reads all of it. When
// something is wrong, by status or in the report, `to` is left as it was. Of a server of a cluster
// it is a cache of its log as the checkpoint was: opened with that, it takes in what has come
// since, and skips nothing, as the log counts generations.
//
// With StoreOptions::leave_log it is a store of a single server instead, and `checkpoint` may be
// the directory of a server of a cluster as well, which has to be at rest.
//
// FailedPrecondition: Store::CheckAge, or leave_log where there is none to leave, or a server has
// `checkpoint` open, or a file of it is a link, a pipe or a device. NotFound: `checkpoint` holds no
// database. PermissionDenied: CheckDirectory's, of either. AlreadyExists: `to` is not empty.
// Thread-safe.
[[nodiscard]] StatusOr<VerifyReport> Restore(const std::string& checkpoint, const std::string& to,
                                             const StoreOptions& options);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_RESTORE_H_
