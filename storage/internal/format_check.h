// Looks at the format of a database before anything opens it for writing: opening replays logs,
// cuts torn tails and begins new files, so that a release that then finds the format too new, or
// too old, has changed files that it does not understand. Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_FORMAT_CHECK_H_
#define FRESHET_STORAGE_INTERNAL_FORMAT_CHECK_H_

#include <string>

#include "core/base/status.h"
#include "storage/options.h"

namespace freshet::storage {

// OK: nothing speaks against opening the pages' database in `dir`, and that of the crawl frontier
// below it, if there is one. FailedPrecondition, with directory, format and what this release
// reads: one of the two is newer than this release, or too old for it. Writes nothing.
//
// What is in tables, and the first row of the oldest log, is looked at: new databases and
// migrations put the format there. A database that cannot be read is OK here; opening it says why.
// Costs a reading of the manifest, and of the ends of a few tables. Thread-safe.
[[nodiscard]] Status CheckFormats(const std::string& dir, const StoreOptions& options);

// The same for the database of the crawl frontier alone, in its own directory.
[[nodiscard]] Status CheckFrontierFormat(const std::string& dir, const StoreOptions& options);

// Whether this release can read the pages' database of this format, perhaps by migrating it.
[[nodiscard]] Status CheckPagesFormat(const std::string& dir, uint64_t format);

// The only format of the crawl frontier's database so far.
inline constexpr uint64_t kFrontierFormat = 1;

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_FORMAT_CHECK_H_
