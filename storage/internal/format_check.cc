#include "storage/internal/format_check.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "rocksdb/db.h"
#include "rocksdb/wal_filter.h"
#include "storage/format.h"
#include "storage/internal/keys.h"
#include "storage/internal/migrate.h"
#include "storage/internal/records.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/internal/tuning.h"
#include "storage/internal/wal_check.h"

namespace freshet::storage {
namespace {

// Reads the first record of the oldest log and nothing after it, because logs can be long, and
// opening the database reads them anyway. Owner thread only.
class FirstRecordOnly final : public rocksdb::WalFilter {
 public:
  const char* Name() const override { return "FreshetFirstRecordOnly"; }
  WalProcessingOption LogRecordFound(unsigned long long, const std::string&,
                                     const rocksdb::WriteBatch&, rocksdb::WriteBatch*,
                                     bool*) override {
    return std::exchange(seen_, true) ? WalProcessingOption::kStopReplay
                                      : WalProcessingOption::kContinueProcessing;
  }

 private:
  bool seen_ = false;
};

// Reads a row of the default column family without writing anything; nullopt = the row cannot be
// read.
std::optional<std::string> Peek(const std::string& dir, const std::string& key,
                                const StoreOptions& options) {
  CHECK(!key.empty(), "no key to look for in {}", dir);
  rocksdb::Env* const env = options.env != nullptr ? options.env : rocksdb::Env::Default();
  const StatusOr<bool> exists = DatabaseExists(env, dir);
  if (!exists.ok() || !*exists) return std::nullopt;
  StoreOptions quiet = options;
  quiet.log = [](char, std::string_view) {};
  rocksdb::DBOptions db_options = MakeDbOptions(quiet);
  FirstRecordOnly first;
  db_options.wal_filter = &first;
  db_options.create_if_missing = false;
  // Must be off: a database that is opened for reading has no purge thread, and with this option
  // RocksDB asserts that there is one.
  db_options.avoid_unnecessary_blocking_io = false;
  const std::vector<rocksdb::ColumnFamilyDescriptor> families = {
      {rocksdb::kDefaultColumnFamilyName, rocksdb::ColumnFamilyOptions()}};
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* raw = nullptr;
  if (!rocksdb::DB::OpenForReadOnly(db_options, dir, families, &handles, &raw).ok()) {
    return std::nullopt;
  }
  const std::unique_ptr<rocksdb::DB> db(raw);
  std::string value;
  const rocksdb::Status found = db->Get({}, handles.front(), key, &value);
  db->DestroyColumnFamilyHandle(handles.front()).PermitUncheckedError();
  return found.ok() ? std::optional(value) : std::nullopt;
}

// The oldest format that this release can migrate.
uint32_t OldestFormat() {
  return Migrations().empty() ? kFormatVersion : Migrations().front().from;
}

}  // namespace

Status CheckFormatNumber(const std::string& dir, uint64_t format) {
  if (format > kFormatVersion) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "{}: format {} was written by a newer release; this one knows formats up to "
                      "{}. Use the release that wrote it, or restore an older checkpoint",
                      dir, format, kFormatVersion);
  }
  if (format < OldestFormat()) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "{}: format {} is too old for this release, which knows formats from {}: "
                      "export its pages with the release that wrote it",
                      dir, format, OldestFormat());
  }
  return absl::OkStatus();
}

Status CheckFormat(const std::string& dir, const StoreOptions& options) {
  const std::string key = MetaKeyOf(MetaKey::kFormat);
  const std::optional<std::string> value = Peek(dir, key, options);
  uint64_t format = 0;
  if (value && DecodeNumber(key, *value, &format).ok()) {
    return CheckFormatNumber(dir, format);
  }
  return absl::OkStatus();
}

}  // namespace freshet::storage
