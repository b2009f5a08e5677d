// Reads the remaining rows of a damaged database. Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_REPAIR_ROWS_H_
#define FRESHET_STORAGE_INTERNAL_REPAIR_ROWS_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "rocksdb/db.h"
#include "storage/format.h"
#include "storage/internal/migrate.h"
#include "storage/options.h"
#include "storage/repair.h"

namespace freshet::storage {

// Receives one line for each problem.
using RepairNote = std::function<void(std::string)>;

// A database opened without the checks of Store. Owner thread only.
class DamagedDatabase {
 public:
  // Opens the database in `dir`, a copy that may be changed: cuts logs where they are damaged. If
  // tables or the MANIFEST cannot be used at all, RocksDB makes a new MANIFEST from the usable
  // tables.
  [[nodiscard]] static StatusOr<std::unique_ptr<DamagedDatabase>> Open(const std::string& dir,
                                                                       const StoreOptions& options,
                                                                       const RepairNote& note);
  ~DamagedDatabase();
  DamagedDatabase(const DamagedDatabase&) = delete;
  DamagedDatabase& operator=(const DamagedDatabase&) = delete;

  // Damage of the tables before the repair.
  [[nodiscard]] const TableDamage& tables() const { return damage_; }

  using Visit = std::function<void(std::string_view key, std::string_view value)>;
  // Calls `visit` for every readable row of a family, in order. Reports unreadable ranges to
  // `note`.
  void ForEach(Family family, const Visit& visit);
  // Reads one row; nullopt = it does not exist or cannot be read (`note` gets the reason).
  [[nodiscard]] std::optional<std::string> Get(Family family, const std::string& key);
  [[nodiscard]] Status Put(Family family, const std::string& key, const std::string& value);
  // Copies every readable row of the family from `from`, unchanged. Close makes the copied rows
  // durable.
  [[nodiscard]] Status CopyRows(Family family, DamagedDatabase& from);
  // Writes the copied rows to tables and closes.
  [[nodiscard]] Status Close();

 private:
  struct Table {
    uint64_t bytes = 0;
    uint64_t rows = 0;
    Status status;
    bool opens = false;
  };
  using Tables = std::map<std::string, Table>;  // by file name

  DamagedDatabase(RepairNote note) : note_(std::move(note)) {}
  // Reads every table in `dir` to its end.
  [[nodiscard]] static StatusOr<Tables> ReadTables(rocksdb::Env* env, const std::string& dir);
  // `family`: family of the table, empty if unknown.
  void CountTable(const std::string& name, const std::string& family, const Table& table);
  // Counts the tables that the open database lists. Without a MANIFEST, counts the existing tables.
  void CountTables(rocksdb::Env* env, const std::string& dir, const Tables& tables);
  [[nodiscard]] Status TryOpen(const std::string& dir, const StoreOptions& options);
  [[nodiscard]] bool Readable(Family family, const std::string& key);
  // Returns a key after `key` from which rows can be read again; nullopt = there is none.
  [[nodiscard]] std::optional<std::string> BehindGap(Family family, const std::string& key);
  // Returns the smallest of these keys that a search with doubling steps finds; nullopt = it finds
  // none.
  [[nodiscard]] std::optional<std::string> ByDoubling(Family family, const std::string& key);

  const RepairNote note_;
  TableDamage damage_;
  std::unique_ptr<rocksdb::DB> db_;
  FamilyHandles handles_{};
};

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_REPAIR_ROWS_H_
