// Reads what is left of a damaged database. Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_REPAIR_ROWS_H_
#define FRESHET_STORAGE_INTERNAL_REPAIR_ROWS_H_

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "rocksdb/db.h"
#include "storage/format.h"
#include "storage/options.h"
#include "storage/repair.h"

namespace freshet::storage {

// Told of each thing that is wrong, one line each.
using RepairNote = std::function<void(std::string)>;

// What is not repaired: the log has it.
[[nodiscard]] Status OfACluster(const std::string& dir);

// A database without the checks of Store. Owner thread only.
class DamagedDatabase {
 public:
  // Opens the database in `dir`, a copy that may be changed: logs are cut where they are damaged,
  // and where tables or the MANIFEST cannot be used at all, RocksDB makes a new MANIFEST of the
  // tables that can.
  [[nodiscard]] static StatusOr<std::unique_ptr<DamagedDatabase>> Open(const std::string& dir,
                                                                       const StoreOptions& options,
                                                                       const RepairNote& note);
  ~DamagedDatabase();
  DamagedDatabase(const DamagedDatabase&) = delete;
  DamagedDatabase& operator=(const DamagedDatabase&) = delete;

  // What the tables were like before anything was done.
  [[nodiscard]] const TableDamage& tables() const { return damage_; }

  using Visit = std::function<void(std::string_view key, std::string_view value)>;
  // Every row of a family that can be read, in order. Gaps are noted.
  void ForEach(Family family, const Visit& visit);
  // One row; nullopt when it is not there or cannot be read (`note` is told why).
  [[nodiscard]] std::optional<std::string> Get(Family family, const std::string& key);
  [[nodiscard]] Status Put(Family family, const std::string& key, const std::string& value);
  // Writes what was put to tables and closes.
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
  // Every table in `dir`, read to the end.
  [[nodiscard]] static StatusOr<Tables> ReadTables(rocksdb::Env* env, const std::string& dir);
  // `family`: of the table, empty where that is not known.
  void CountTable(const std::string& name, const std::string& family, const Table& table);
  // Counts the tables that the open database names, or, without its MANIFEST, those that there are.
  void CountTables(rocksdb::Env* env, const std::string& dir, const Tables& tables);
  [[nodiscard]] Status TryOpen(const std::string& dir, const StoreOptions& options);
  [[nodiscard]] bool Readable(Family family, const std::string& key);
  // The smallest key, found by steps that double, behind which reading works again.
  [[nodiscard]] std::optional<std::string> BehindGap(Family family, const std::string& key);

  const RepairNote note_;
  TableDamage damage_;
  std::unique_ptr<rocksdb::DB> db_;
  std::array<rocksdb::ColumnFamilyHandle*, kFamilies> handles_{};
};

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_REPAIR_ROWS_H_
