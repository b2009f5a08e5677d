#include "storage/internal/migrate.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "rocksdb/write_batch.h"
#include "storage/internal/keys.h"
#include "storage/internal/records.h"
#include "storage/internal/rocksdb_status.h"

namespace freshet::storage {
namespace {

Status WriteFormat(rocksdb::DB* db, const FamilyHandles& families, uint32_t version) {
  const std::string key = MetaKeyOf(MetaKey::kFormat);
  std::string value;
  EncodeNumber(key, version, &value);
  // A flush makes the step durable even if its writes bypassed the log.
  const std::vector<rocksdb::ColumnFamilyHandle*> all(families.begin(), families.end());
  RETURN_IF_ERROR(FromRocksDb(db->Flush(rocksdb::FlushOptions(), all), "flushing a migration"));
  rocksdb::WriteOptions write;
  write.sync = true;
  rocksdb::ColumnFamilyHandle* const meta = families[IndexOf(Family::kMeta)];
  RETURN_IF_ERROR(FromRocksDb(db->Put(write, meta, key, value), "writing the format version"));
  // The version is flushed, because an older release looks for it in tables before it changes
  // anything (format_check.h).
  return FromRocksDb(db->Flush(rocksdb::FlushOptions(), meta), "flushing the format version");
}

}  // namespace

std::span<const Migration> Migrations() {
  // Format 4 adds kEpochPart; a kEpoch row that holds everything keeps its meaning. Format 5 adds
  // the families of the crawl frontier: opening creates them, and the store then fills them
  // (Store::Impl::MoveFrontier).
  constexpr auto kNothing = [](const MigrationContext&) { return absl::OkStatus(); };
  static const std::array<Migration, 2> kSteps = {
      {{.from = 3, .run = kNothing}, {.from = 4, .run = kNothing}}};
  return kSteps;
}

Status Migrate(const MigrationContext& context, uint32_t from, uint32_t to,
               std::span<const Migration> steps) {
  CHECK(from <= to, "format {} to {}", from, to);
  for (uint32_t version = from; version < to; ++version) {
    const auto step = std::find_if(steps.begin(), steps.end(),
                                   [&](const Migration& s) { return s.from == version; });
    if (step == steps.end()) {
      return MakeStatus(absl::StatusCode::kFailedPrecondition,
                        "format {} cannot be migrated by this release", version);
    }
    if (context.log) {
      context.log('I', fmt::format("migrating from format {} to {}", version, version + 1));
    }
    if (context.progress != nullptr) context.progress->stage = OpenStage::kMigrating;
    RETURN_IF_ERROR(step->run(context));
    RETURN_IF_ERROR(WriteFormat(context.db, context.families, version + 1));
  }
  return absl::OkStatus();
}

}  // namespace freshet::storage
