// The directory of a store: its absolute name, checks of access, and its lock.
#ifndef FRESHET_STORAGE_DIRECTORY_H_
#define FRESHET_STORAGE_DIRECTORY_H_

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace rocksdb {
class Env;
class FileLock;
}  // namespace rocksdb

namespace freshet::storage {

// Returns the absolute form of `path`; a relative path is resolved from the working directory.
// Removes repeated and trailing slashes and `.`. Keeps `..`, because its meaning depends on
// symbolic links. The path need not exist. Not OK: Unavailable if there is no working directory.
//
// RocksDB's own GetAbsolutePath returns only the working directory for every relative path.
// Thread-safe.
[[nodiscard]] StatusOr<std::string> AbsolutePath(std::string_view path);

// Checks that this user may list and enter `dir`; RocksDB cannot tell a forbidden directory from a
// missing one. NotFound: it does not exist. FailedPrecondition: it is not a directory.
// PermissionDenied: access is refused. The message names the user and the directory, which can be a
// parent of `dir`. Unavailable: any other reason, which is named. Thread-safe.
[[nodiscard]] Status CheckDirectory(const std::string& dir);

// Takes the lock of the store in the existing directory `dir`; the caller releases it with
// Env::UnlockFile. Not OK: FailedPrecondition if another store has the lock, in this process or
// another one; PermissionDenied; ResourceExhausted if the device is full; Unavailable for any other
// reason, which is named. Thread-safe.
[[nodiscard]] Status LockDirectory(rocksdb::Env* env, const std::string& dir,
                                   rocksdb::FileLock** lock);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_DIRECTORY_H_
