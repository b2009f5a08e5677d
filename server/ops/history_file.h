// Where the rows of a history outlive the server: a small SQLite database, written a transaction at
// a time, of bounded size.
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

// Thread-compatible.
class HistoryFile {
 public:
  // What the database may take, in pages of 4 KiB: three times what full rings of all series need.
  static constexpr int kMaxPages = 4096;

  // What is added at once: rows of each level, oldest first.
  using Batch = std::array<std::vector<HistoryRow>, HistoryRings::kLevels.size()>;

  // Opens or makes the database. DataLoss: it is damaged, or is none. FailedPrecondition: a later
  // version wrote it, or another process has it open.
  [[nodiscard]] static StatusOr<std::unique_ptr<HistoryFile>> Open(const std::string& path);
  ~HistoryFile();
  HistoryFile(const HistoryFile&) = delete;
  HistoryFile& operator=(const HistoryFile&) = delete;

  // Gives `rings`, which are new, all rows that are not after `now`, in Unix seconds.
  [[nodiscard]] Status Load(int64_t now, HistoryRings* rings);
  // Adds rows, and takes away those that are older than their level holds; all or nothing. `names`
  // are those of the series.
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
