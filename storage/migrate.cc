#include "storage/migrate.h"

#include <algorithm>
#include <string>

#include "core/base/check.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/keys.h"
#include "storage/records.h"

namespace freshet::storage {
namespace {

Status WriteFormat(rocksdb::DB* db, const FamilyHandles& families, uint32_t version) {
  const std::string key = MetaKeyOf(MetaKey::kFormat);
  std::string value;
  EncodeNumber(key, version, &value);
  // A flush makes the step durable whether or not its writes went through the log.
  const std::vector<rocksdb::ColumnFamilyHandle*> all(families.begin(), families.end());
  RETURN_IF_ERROR(FromRocksDb(db->Flush(rocksdb::FlushOptions(), all), "flushing a migration"));
  rocksdb::WriteOptions write;
  write.sync = true;
  return FromRocksDb(db->Put(write, families[IndexOf(Family::kMeta)], key, value),
                     "writing the format version");
}

}  // namespace

std::span<const Migration> Migrations() {
  // Format 1 is the first.
  return {};
}

Status Migrate(rocksdb::DB* db, const FamilyHandles& families, uint32_t from, uint32_t to,
               std::span<const Migration> steps,
               const std::function<void(char, std::string_view)>& log) {
  CHECK(from <= to, "format {} to {}", from, to);
  for (uint32_t version = from; version < to; ++version) {
    const auto step = std::find_if(steps.begin(), steps.end(),
                                   [&](const Migration& s) { return s.from == version; });
    if (step == steps.end()) {
      return MakeStatus(absl::StatusCode::kFailedPrecondition,
                        "format {} cannot be migrated by this release", version);
    }
    if (log) log('I', fmt::format("migrating from format {} to {}", version, version + 1));
    RETURN_IF_ERROR(step->run(db, families));
    RETURN_IF_ERROR(WriteFormat(db, families, version + 1));
  }
  return absl::OkStatus();
}

}  // namespace freshet::storage
