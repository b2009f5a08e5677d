// Copies whole databases, file by file, for work that must not touch the original.
#ifndef FRESHET_STORAGE_INTERNAL_FILE_COPY_H_
#define FRESHET_STORAGE_INTERNAL_FILE_COPY_H_

#include <string>
#include <vector>

#include "core/base/status.h"

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace freshet::storage {

// Lists the files in `dir` that belong to a database: tables, logs, CURRENT, MANIFEST, IDENTITY;
// locks and unrelated files are left out. Sorted, but CURRENT is last, because without it a
// directory of tables and logs does not count as a database (storage/internal/wal_check.h).
// Thread-safe.
[[nodiscard]] StatusOr<std::vector<std::string>> DatabaseFiles(rocksdb::Env* env,
                                                               const std::string& dir);

// Guards against crafted directories before a restore, check or repair. Not OK: FailedPrecondition,
// with the path, if `path` is a link, a pipe, a device or a directory. None of these is a file of a
// database. A missing path is OK here, because opening reports it. Thread-safe.
[[nodiscard]] Status CheckIsFile(const std::string& path);
// Checks all files that RocksDB opens with the database in the same way.
[[nodiscard]] Status CheckAreFiles(rocksdb::Env* env, const std::string& dir);

// Makes the new directory `to` a durable copy of the database in `from`, which no process may have
// open. Tables never change, so they become hard links if the file system allows and only this
// process's user may change them. All other files are copied, up to the length that they had when
// they were opened. CURRENT is copied last. Errors: also from CheckIsFile. Thread-safe.
[[nodiscard]] Status CopyDatabase(rocksdb::Env* env, const std::string& from,
                                  const std::string& to);

// Makes the list of files in the directory durable. Thread-safe.
[[nodiscard]] Status SyncDirectory(rocksdb::Env* env, const std::string& dir);

// Removes all files in `dir` that can be removed, but not those in its subdirectories. Thread-safe.
void RemoveFiles(rocksdb::Env* env, const std::string& dir);

// Moves the database's files durably into another directory of the same file system. Moves CURRENT
// last if `current_last`, otherwise first, so that a directory that is only partly moved does not
// look like a database.
[[nodiscard]] Status MoveDatabase(rocksdb::Env* env, const std::string& from, const std::string& to,
                                  bool current_last);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_FILE_COPY_H_
