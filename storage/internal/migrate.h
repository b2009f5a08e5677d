// Upgrades of the stored format, one version at a time. Internal to storage/.
//
// A step may be interrupted at any point, so starting it again from the beginning must give the
// same result. Migrate writes the new version durably after each step, and repeats steps that did
// not finish.
#ifndef FRESHET_STORAGE_INTERNAL_MIGRATE_H_
#define FRESHET_STORAGE_INTERNAL_MIGRATE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "core/base/status.h"
#include "rocksdb/db.h"
#include "storage/format.h"
#include "storage/open_progress.h"

namespace freshet::storage {

using FamilyHandles = std::array<rocksdb::ColumnFamilyHandle*, kFamilies>;

// The database and the tools of a step.
struct MigrationContext {
  rocksdb::DB* db = nullptr;
  const FamilyHandles& families;
  std::function<void(char, std::string_view)> log;  // unset = no messages
  OpenProgress* progress = nullptr;                 // nullptr = not reported
};

// Brings a database from format `from` to `from + 1`.
struct Migration {
  uint32_t from = 0;
  std::function<Status(const MigrationContext& context)> run;
};

// The steps that this release knows, in ascending order of `from`. Thread-safe.
[[nodiscard]] std::span<const Migration> Migrations();

// Runs the steps from `from` up to `to`, and stores each new version durably. No-op if from == to.
// Not OK: FailedPrecondition if a step is missing. After a failed step the version is that of the
// previous step. Thread-compatible: no other thread may use the database meanwhile.
[[nodiscard]] Status Migrate(const MigrationContext& context, uint32_t from, uint32_t to,
                             std::span<const Migration> steps);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_MIGRATE_H_
