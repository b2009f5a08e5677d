#include "storage/internal/repair_rows.h"

#include <algorithm>
#include <vector>

#include "rocksdb/cache.h"
#include "rocksdb/env.h"
#include "rocksdb/options.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/table_properties.h"
#include "storage/internal/file_copy.h"
#include "storage/internal/rocksdb_env.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/internal/sealing.h"
#include "storage/internal/tuning.h"
#include "storage/internal/wal_check.h"

namespace freshet::storage {
namespace {

constexpr size_t kPrefixBytes = 8;
constexpr size_t kBytesCopiedAtOnce = size_t{1} << 20;

rocksdb::DBOptions RepairOptions(const StoreOptions& options) {
  rocksdb::DBOptions db = MakeDbOptions(options);
  // Damaged files must not stop the reading of intact ones.
  db.paranoid_checks = false;
  db.track_and_verify_wals_in_manifest = false;
  db.wal_recovery_mode = rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
  return db;
}

std::vector<rocksdb::ColumnFamilyDescriptor> Families(const StoreOptions& options) {
  const std::shared_ptr<rocksdb::Cache> cache = rocksdb::NewLRUCache(options.block_cache_bytes);
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (size_t i = 0; i < kFamilies; ++i) {
    families.emplace_back(std::string(kFamilyNames[i]),
                          MakeFamilyOptions(static_cast<Family>(i), options, cache));
  }
  return families;
}

rocksdb::ReadOptions Checked() {
  rocksdb::ReadOptions read;
  read.verify_checksums = true;
  read.fill_cache = false;
  return read;
}

uint64_t PrefixOf(std::string_view key) {
  uint64_t prefix = 0;
  for (size_t i = 0; i < kPrefixBytes; ++i) {
    prefix = prefix << 8 | (i < key.size() ? static_cast<uint8_t>(key[i]) : 0);
  }
  return prefix;
}

std::string KeyOf(uint64_t prefix) {
  std::string key(kPrefixBytes, '\0');
  for (size_t i = kPrefixBytes; i-- > 0; prefix >>= 8) key[i] = static_cast<char>(prefix & 0xFF);
  return key;
}

}  // namespace

DamagedDatabase::~DamagedDatabase() { Close().IgnoreError(); }

Status DamagedDatabase::TryOpen(const std::string& dir, const StoreOptions& options) {
  std::vector<std::string> names;
  const rocksdb::DBOptions db_options = RepairOptions(options);
  RETURN_IF_ERROR(
      FromRocksDb(rocksdb::DB::ListColumnFamilies(db_options, dir, &names), "opening " + dir));
  for (const std::string& name : names) {
    if (std::find(kFamilyNames.begin(), kFamilyNames.end(), name) == kFamilyNames.end()) {
      return MakeStatus(absl::StatusCode::kFailedPrecondition,
                        "column family '{}' is unknown: written by a newer release", name);
    }
  }
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  RETURN_IF_ERROR(FromRocksDb(rocksdb::DB::Open(db_options, dir, Families(options), &handles, &db),
                              "opening " + dir));
  db_.reset(db);
  std::copy(handles.begin(), handles.end(), handles_.begin());
  return absl::OkStatus();
}

StatusOr<DamagedDatabase::Tables> DamagedDatabase::ReadTables(rocksdb::Env* env,
                                                              const std::string& dir) {
  ASSIGN_OR_RETURN(const std::vector<std::string> files, DatabaseFiles(env, dir));
  rocksdb::Options options;
  options.env = env;
  Tables tables;
  for (const std::string& name : files) {
    if (!name.ends_with(".sst")) continue;
    const std::string path = dir + "/" + name;
    Table& table = tables[name];
    RETURN_IF_ERROR(FromRocksDb(env->GetFileSize(path, &table.bytes), "looking at " + path));
    rocksdb::SstFileReader reader(options);
    rocksdb::Status status = reader.Open(path);
    table.opens = status.ok();
    if (table.opens) {
      table.rows = reader.GetTableProperties()->num_entries;
      status = reader.VerifyChecksum();
    }
    table.status = FromRocksDb(status, "reading it");
  }
  return tables;
}

void DamagedDatabase::CountTable(const std::string& name, const std::string& family,
                                 const Table& table) {
  ++damage_.tables;
  if (table.status.ok()) return;
  const std::string what = family.empty() ? name : fmt::format("{} of {}", name, family);
  const std::string why(table.status.message());
  if (!table.opens) {
    ++damage_.unreadable;
    damage_.unreadable_bytes += table.bytes;
    note_(fmt::format("table {}, {} bytes, cannot be read at all: {}", what, table.bytes, why));
    return;
  }
  ++damage_.damaged;
  damage_.damaged_bytes += table.bytes;
  damage_.damaged_rows += table.rows;
  note_(fmt::format("table {}, {} rows in {} bytes, is damaged: {}", what, table.rows, table.bytes,
                    why));
}

void DamagedDatabase::CountTables(rocksdb::Env* env, const std::string& dir, const Tables& tables) {
  if (!damage_.complete) {
    for (const auto& [name, table] : tables) CountTable(name, "", table);
    return;
  }
  std::vector<rocksdb::LiveFileMetaData> live;
  db_->GetLiveFilesMetaData(&live);
  for (const rocksdb::LiveFileMetaData& file : live) {
    const auto found = tables.find(file.relative_filename);
    if (found != tables.end()) {
      Table table = found->second;
      table.bytes = file.size;  // size before the cut
      CountTable(found->first, file.column_family_name, table);
    } else if (!env->FileExists(dir + "/" + file.relative_filename).ok()) {
      CountTable(file.relative_filename, file.column_family_name,
                 {.bytes = file.size, .status = NotFound("it is missing")});
    }
  }
}

StatusOr<std::unique_ptr<DamagedDatabase>> DamagedDatabase::Open(const std::string& dir,
                                                                 const StoreOptions& options,
                                                                 const RepairNote& note) {
  std::unique_ptr<DamagedDatabase> database(new DamagedDatabase(note));
  rocksdb::Env* env = RocksDbEnv(options);
  ASSIGN_OR_RETURN(const Tables tables, ReadTables(env, dir));
  const auto log = [&](char, std::string_view line) { note(std::string(line)); };
  Status status = CheckLogs(env, dir, WalPolicy::kCut, log);
  if (status.ok()) status = database->TryOpen(dir, options);
  if (status.ok()) {
    database->CountTables(env, dir, tables);
    return database;
  }
  if (absl::IsFailedPrecondition(status)) return status;
  note(fmt::format("{}; trying again with the tables that can be read",
                   std::string(status.message())));
  RETURN_IF_ERROR(FromRocksDb(rocksdb::RepairDB(dir, RepairOptions(options), Families(options)),
                              "making a new MANIFEST in " + dir));
  RETURN_IF_ERROR(database->TryOpen(dir, options));
  database->damage_.complete = false;
  database->CountTables(env, dir, tables);
  return database;
}

void DamagedDatabase::ForEach(Family family, const Visit& visit) {
  std::optional<std::string> from = std::string();
  while (from) {
    const std::unique_ptr<rocksdb::Iterator> it(
        db_->NewIterator(Checked(), handles_[IndexOf(family)]));
    std::string last = *from;
    for (it->Seek(*from); it->Valid(); it->Next()) {
      last = it->key().ToString();
      visit(last, it->value().ToStringView());
    }
    if (it->status().ok()) return;
    from = BehindGap(family, last);
    note_(fmt::format("{}: rows behind key {} {} cannot be read: {}", NameOf(family),
                      Printable(last),
                      from ? "and before key " + Printable(*from) : std::string("and to the end"),
                      it->status().ToString()));
  }
}

bool DamagedDatabase::Readable(Family family, const std::string& key) {
  const std::unique_ptr<rocksdb::Iterator> it(
      db_->NewIterator(Checked(), handles_[IndexOf(family)]));
  it->Seek(key);
  return it->status().ok();
}

// Treats keys as numbers: the whole key of a page, or the first bytes of another key. Doubles the
// distance from `key` until a row can be read, and then searches back for the smallest distance.
std::optional<std::string> DamagedDatabase::ByDoubling(Family family, const std::string& key) {
  const uint64_t base = PrefixOf(key);
  uint64_t bad = 0;
  uint64_t good = 1;
  while (!Readable(family, KeyOf(base + good))) {
    if (good > (UINT64_MAX - base) / 2) return std::nullopt;
    bad = good;
    good *= 2;
  }
  while (good - bad > 1) {
    const uint64_t middle = bad + (good - bad) / 2;
    (Readable(family, KeyOf(base + middle)) ? good : bad) = middle;
  }
  return KeyOf(base + good);
}

// The rows of a queue of the crawl frontier share their first bytes, however many rows there are.
// ByDoubling would skip all rows of a queue. The ends of tables are therefore tried too, so at most
// one table of the queue is skipped.
std::optional<std::string> DamagedDatabase::BehindGap(Family family, const std::string& key) {
  std::optional<std::string> behind = ByDoubling(family, key);
  std::vector<rocksdb::LiveFileMetaData> live;
  db_->GetLiveFilesMetaData(&live);
  for (const rocksdb::LiveFileMetaData& file : live) {
    if (file.column_family_name == NameOf(family) && file.largestkey > key &&
        (!behind || file.largestkey < *behind) && Readable(family, file.largestkey)) {
      behind = file.largestkey;
    }
  }
  return behind;
}

std::optional<std::string> DamagedDatabase::Get(Family family, const std::string& key) {
  std::string value;
  const rocksdb::Status status = db_->Get(Checked(), handles_[IndexOf(family)], key, &value);
  if (status.ok()) return value;
  if (!status.IsNotFound()) {
    note_(fmt::format("{}, key {}: {}", NameOf(family), Printable(key), status.ToString()));
  }
  return std::nullopt;
}

Status DamagedDatabase::Put(Family family, const std::string& key, const std::string& value) {
  rocksdb::WriteOptions write;
  write.sync = true;
  return FromRocksDb(db_->Put(write, handles_[IndexOf(family)], key, value), "writing");
}

Status DamagedDatabase::CopyRows(Family family, DamagedDatabase& from) {
  CHECK(&from != this && db_ != nullptr, "rows are copied into a database that is open");
  rocksdb::WriteBatch batch;
  rocksdb::Status status;
  const auto write = [&] {
    if (status.ok()) status = db_->Write({}, &batch);
    batch.Clear();
  };
  from.ForEach(family, [&](std::string_view key, std::string_view value) {
    if (status.ok()) status = batch.Put(handles_[IndexOf(family)], key, value);
    if (batch.GetDataSize() >= kBytesCopiedAtOnce) write();
  });
  write();
  return FromRocksDb(status, "writing");
}

Status DamagedDatabase::Close() {
  if (db_ == nullptr) return absl::OkStatus();
  const std::vector<rocksdb::ColumnFamilyHandle*> all(handles_.begin(), handles_.end());
  Status status = FromRocksDb(db_->Flush(rocksdb::FlushOptions(), all), "flushing");
  for (rocksdb::ColumnFamilyHandle* handle : handles_) {
    status.Update(FromRocksDb(db_->DestroyColumnFamilyHandle(handle), "closing"));
  }
  status.Update(FromRocksDb(db_->Close(), "closing"));
  db_.reset();
  return status;
}

}  // namespace freshet::storage
