// Checks the format of a database before anything opens it for writing. Opening replays logs, cuts
// torn tails and begins new files. If a release noticed only at that point that the format is too
// new or too old, it would already have changed files. Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_FORMAT_CHECK_H_
#define FRESHET_STORAGE_INTERNAL_FORMAT_CHECK_H_

#include <string>

#include "core/base/status.h"
#include "storage/options.h"

namespace freshet::storage {

// Checks that the format allows this release to open the database in `dir`. Not OK:
// FailedPrecondition, with the directory, the format and the formats that this release reads, if
// the format is too new or too old. Writes nothing.
//
// The check reads tables, and the first row of the oldest log, where new databases and migrations
// put the format. A database that cannot be read is OK here, because opening reports the reason.
// Reads the manifest and the ends of a few tables. Thread-safe.
[[nodiscard]] Status CheckFormat(const std::string& dir, const StoreOptions& options);

// OK if this release can read a database of this format, perhaps after a migration.
[[nodiscard]] Status CheckFormatNumber(const std::string& dir, uint64_t format);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_FORMAT_CHECK_H_
