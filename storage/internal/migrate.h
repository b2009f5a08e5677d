// Upgrades of the stored format, one version at a time. Internal to storage/.
//
// A step may be interrupted anywhere: its writes and the new version number must be such that
// starting it again from the beginning gives the same result. The driver writes the new version
// after the step, synced, so that a step is repeated until it was finished.
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

// What steps work on and are given.
struct MigrationContext {
  rocksdb::DB* db = nullptr;
  const FamilyHandles& families;
  std::function<void(char, std::string_view)> log;  // may be unset
  OpenProgress* progress = nullptr;                 // may be null
};

// Brings a database from format `from` to `from + 1`.
struct Migration {
  uint32_t from = 0;
  std::function<Status(const MigrationContext& context)> run;
};

// The steps that this release knows, by rising `from`. Thread-safe.
[[nodiscard]] std::span<const Migration> Migrations();

// Runs the steps from `from` up to `to`, noting each new version durably. No-op for from == to.
// FailedPrecondition: a step is missing. A failed step leaves the version of the step before.
// Thread-compatible: nobody else uses the database meanwhile.
[[nodiscard]] Status Migrate(const MigrationContext& context, uint32_t from, uint32_t to,
                             std::span<const Migration> steps);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_MIGRATE_H_
