// Copies of whole databases, file by file, for what must not touch the original.
#ifndef FRESHET_STORAGE_INTERNAL_FILE_COPY_H_
#define FRESHET_STORAGE_INTERNAL_FILE_COPY_H_

#include <string>
#include <vector>

#include "core/base/status.h"

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace freshet::storage {

// Names of the files in `dir` that belong to a database: tables, logs, CURRENT, MANIFEST, IDENTITY;
// not the locks, nor what others put there. Sorted, CURRENT last: without it a directory of tables
// and logs is not taken for a database (storage/internal/wal_check.h). Thread-safe.
[[nodiscard]] StatusOr<std::vector<std::string>> DatabaseFiles(rocksdb::Env* env,
                                                               const std::string& dir);

// Others may have made a directory that somebody restores, checks or repairs. FailedPrecondition,
// with the path: it is a link, a pipe, a device or a directory, and so no file of a database. What
// is not there is for others to say. Thread-safe.
[[nodiscard]] Status CheckIsFile(const std::string& path);
// Checks all files that RocksDB opens with the database in the same way.
[[nodiscard]] Status CheckAreFiles(rocksdb::Env* env, const std::string& dir);

// Makes the new directory `to` a durable copy of the database in `from`, which must be at rest.
// Tables, which are never changed in place, become hard links where the file system allows and
// nobody but the user of this process may change them; all else is copied, as long as it was when
// it was opened. CURRENT comes last. Errors: those of CheckIsFile too. Thread-safe.
[[nodiscard]] Status CopyDatabase(rocksdb::Env* env, const std::string& from,
                                  const std::string& to);

// Moves the database's files from one directory into another of the same file system, CURRENT last
// when `current_last`, else first: the directory that must not look whole decides. Durable.
[[nodiscard]] Status MoveDatabase(rocksdb::Env* env, const std::string& from, const std::string& to,
                                  bool current_last);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_FILE_COPY_H_
