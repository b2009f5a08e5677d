// The directory of a store: its name, whether it can be looked at, and the lock on it.
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

// `path` from the root of the file system: a relative one is in the working directory. Without
// repeated and trailing slashes and without `.`; `..` stays, since what it leads to depends on
// symbolic links. Nothing of it need exist. Unavailable: there is no working directory.
//
// RocksDB's own GetAbsolutePath gives the working directory alone for every relative path.
// Thread-safe.
[[nodiscard]] StatusOr<std::string> AbsolutePath(std::string_view path);

// Whether this user may list and enter `dir`, which RocksDB does not tell from whether it is there.
// NotFound: it does not exist. FailedPrecondition: it is no directory. PermissionDenied: names the
// user, and the directory that refuses it, which may be one above. Unavailable: for another reason,
// which is named. Thread-safe.
[[nodiscard]] Status CheckDirectory(const std::string& dir);

// Takes the lock of the store in the existing directory `dir`; the caller gives it back by
// Env::UnlockFile. FailedPrecondition: another store has it, in this process or another one.
// PermissionDenied; ResourceExhausted: the device is full; Unavailable: it cannot be locked for
// another reason, which is named. Thread-safe.
[[nodiscard]] Status LockDirectory(rocksdb::Env* env, const std::string& dir,
                                   rocksdb::FileLock** lock);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_DIRECTORY_H_
