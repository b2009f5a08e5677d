// The history on disk: a small SQLite database of bounded size. Each write is one transaction.
#ifndef FRESHET_SERVER_OPS_HISTORY_FILE_H_
#define FRESHET_SERVER_OPS_HISTORY_FILE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "server/ops/history_rings.h"

struct sqlite3;

namespace freshet {

// The open database. Thread-compatible.
class HistoryFile {
 public:
  // The limit of the database in pages of 4 KiB. Full rings of all series need a third of this.
  static constexpr int kMaxPages = 4096;

  // Rows to be added, by level, oldest first.
  using Batch = std::array<std::vector<HistoryRow>, HistoryRings::kLevels.size()>;

  // Opens or creates the database. Not OK: DataLoss if the file is damaged or not a database;
  // FailedPrecondition if a later version wrote it or another process has it open.
  [[nodiscard]] static StatusOr<std::unique_ptr<HistoryFile>> Open(const std::string& path);
  ~HistoryFile();
  HistoryFile(const HistoryFile&) = delete;
  HistoryFile& operator=(const HistoryFile&) = delete;

  // Loads all rows up to `now`, in Unix seconds, into `rings`. Precondition: `rings` is empty.
  [[nodiscard]] Status Load(int64_t now, HistoryRings* rings);
  // Adds rows, and removes rows that are older than their level keeps, in one transaction. `names`:
  // the names of all series.
  [[nodiscard]] Status Write(const std::vector<std::string>& names, const Batch& rows);

 private:
  class Statement;

  explicit HistoryFile(sqlite3* database);
  [[nodiscard]] Status Prepare();
  [[nodiscard]] Status CheckTables();
  [[nodiscard]] Status Execute(const char* sql);
  [[nodiscard]] Status Failed() const;
  [[nodiscard]] Status WriteRows(const std::vector<std::string>& names, const Batch& rows);
  [[nodiscard]] Status LoadNames(HistoryRings* rings);

  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> database_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_HISTORY_FILE_H_
