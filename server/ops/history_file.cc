#include "server/ops/history_file.h"

#include <sqlite3.h>

#include <cstring>
#include <utility>

namespace freshet {
namespace {

constexpr int kFileVersion = 1;
constexpr const char* kSeriesTable =
    "CREATE TABLE series (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)";
// `vals` is an array of doubles in the machine's format, indexed by the number of the series.
constexpr const char* kRowsTable =
    "CREATE TABLE rows (level INTEGER, at INTEGER, vals BLOB NOT NULL, PRIMARY KEY (level, at)) "
    "WITHOUT ROWID";

}  // namespace

// A prepared statement. Thread-compatible.
class HistoryFile::Statement {
 public:
  Statement(sqlite3* database, const char* sql) {
    sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Sets the arguments of the next run, in order. A bound value must outlive the run.
  Statement& Bind(int64_t number) {
    sqlite3_bind_int64(statement_, ++bound_, number);
    return *this;
  }
  Statement& Bind(const std::string& text) {
    sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()),
                      SQLITE_STATIC);
    return *this;
  }
  Statement& Bind(const std::vector<double>& values) {
    const void* bytes = values.empty() ? static_cast<const void*>("") : values.data();
    sqlite3_bind_blob(statement_, ++bound_, bytes, static_cast<int>(values.size() * sizeof(double)),
                      SQLITE_STATIC);
    return *this;
  }
  // Runs the statement up to the next row. SQLITE_ROW: the row can be read until Reset.
  [[nodiscard]] int Step() { return sqlite3_step(statement_); }
  // Runs a statement without results, and resets it. Returns true if it succeeded.
  [[nodiscard]] bool Run() {
    const int code = Step();
    sqlite3_reset(statement_);
    bound_ = 0;
    return code == SQLITE_DONE;
  }
  [[nodiscard]] int64_t Number(int column) const {
    return sqlite3_column_int64(statement_, column);
  }
  [[nodiscard]] std::string Text(int column) const {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return text == nullptr ? "" : text;
  }
  [[nodiscard]] std::vector<double> Values(int column) const {
    const void* bytes = sqlite3_column_blob(statement_, column);
    const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_, column));
    std::vector<double> values(size / sizeof(double));
    if (!values.empty()) std::memcpy(values.data(), bytes, values.size() * sizeof(double));
    return values;
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

HistoryFile::HistoryFile(sqlite3* database) : database_(database, sqlite3_close) {}
HistoryFile::~HistoryFile() = default;

Status HistoryFile::Failed() const {
  const int code = sqlite3_errcode(database_.get()) & 0xff;
  const bool damaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_SCHEMA;
  const bool busy = code == SQLITE_BUSY || code == SQLITE_LOCKED;
  return MakeStatus(damaged ? absl::StatusCode::kDataLoss
                    : busy  ? absl::StatusCode::kFailedPrecondition
                            : absl::StatusCode::kUnavailable,
                    "{}", busy ? "another process has it open" : sqlite3_errmsg(database_.get()));
}

Status HistoryFile::Execute(const char* sql) {
  const int code = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Failed();
}

StatusOr<std::unique_ptr<HistoryFile>> HistoryFile::Open(const std::string& path) {
  sqlite3* database = nullptr;
  const int code = sqlite3_open(path.c_str(), &database);
  std::unique_ptr<HistoryFile> file(new HistoryFile(database));
  if (code != SQLITE_OK) return file->Failed();
  RETURN_IF_ERROR(file->Prepare());
  return file;
}

Status HistoryFile::Prepare() {
  // The lock of the first transaction is held until the process ends in any way. Commits are not
  // synced, so a power failure may lose the last minutes, but damages nothing.
  RETURN_IF_ERROR(
      Execute("PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
              "PRAGMA journal_size_limit=1048576;"));
  RETURN_IF_ERROR(Execute(fmt::format("PRAGMA max_page_count={}", kMaxPages).c_str()));
  int64_t found = 0;
  {
    Statement version(database_.get(), "PRAGMA user_version");
    if (version.Step() != SQLITE_ROW) return Failed();
    found = version.Number(0);
  }
  if (found > kFileVersion) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "the file has version {}, but this program knows only up to {}", found,
                      kFileVersion);
  }
  if (found == 0) {
    return Execute(fmt::format("BEGIN; {}; {}; PRAGMA user_version={}; COMMIT;", kSeriesTable,
                               kRowsTable, kFileVersion)
                       .c_str());
  }
  RETURN_IF_ERROR(CheckTables());
  Statement check(database_.get(), "PRAGMA quick_check(1)");
  if (check.Step() != SQLITE_ROW) return Failed();
  if (const std::string said = check.Text(0); said != "ok") {
    return MakeStatus(absl::StatusCode::kDataLoss, "{}", said);
  }
  return absl::OkStatus();
}

// A view in place of a table might have endlessly many rows.
Status HistoryFile::CheckTables() {
  Statement tables(database_.get(),
                   "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name LIMIT 3");
  std::vector<std::string> found;
  int code = SQLITE_ROW;
  while ((code = tables.Step()) == SQLITE_ROW) found.push_back(tables.Text(0));
  if (code != SQLITE_DONE) return Failed();
  if (found == std::vector<std::string>{kRowsTable, kSeriesTable}) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kDataLoss, "it has other tables");
}

Status HistoryFile::LoadNames(HistoryRings* rings) {
  Statement names(database_.get(), "SELECT number, name FROM series ORDER BY number");
  int code = SQLITE_ROW;
  while ((code = names.Step()) == SQLITE_ROW) {
    if (rings->SeriesOf(names.Text(1)) != static_cast<size_t>(names.Number(0))) {
      return MakeStatus(absl::StatusCode::kDataLoss, "series {} is numbered {}", names.Text(1),
                        names.Number(0));
    }
  }
  return code == SQLITE_DONE ? absl::OkStatus() : Failed();
}

Status HistoryFile::Load(int64_t now, HistoryRings* rings) {
  RETURN_IF_ERROR(LoadNames(rings));
  Statement rows(database_.get(),
                 "SELECT level, at, vals FROM rows WHERE at <= ? ORDER BY level, at");
  rows.Bind(now);
  int code = SQLITE_ROW;
  while ((code = rows.Step()) == SQLITE_ROW) {
    const int64_t level = rows.Number(0);
    HistoryRow row{.at = rows.Number(1), .values = rows.Values(2)};
    if (level < 0 || level >= static_cast<int64_t>(HistoryRings::kLevels.size()) || row.at < 0 ||
        row.values.size() > rings->names().size()) {
      return MakeStatus(
          absl::StatusCode::kDataLoss,
          "the file of the history is damaged: it has an impossible row (of level {})", level);
    }
    rings->Restore(static_cast<size_t>(level), std::move(row));
  }
  if (code != SQLITE_DONE) return Failed();
  rings->FinishRestoring();
  return absl::OkStatus();
}

Status HistoryFile::WriteRows(const std::vector<std::string>& names, const Batch& rows) {
  Statement name(database_.get(), "INSERT OR IGNORE INTO series VALUES (?, ?)");
  for (size_t i = 0; i < names.size(); ++i) {
    if (!name.Bind(static_cast<int64_t>(i)).Bind(names[i]).Run()) return Failed();
  }
  Statement add(database_.get(), "INSERT OR REPLACE INTO rows VALUES (?, ?, ?)");
  // Rows later than the last one were written while the clock ran ahead.
  Statement prune(database_.get(), "DELETE FROM rows WHERE level = ? AND (at < ? OR at > ?)");
  for (size_t level = 0; level < rows.size(); ++level) {
    if (rows[level].empty()) continue;
    const auto number = static_cast<int64_t>(level);
    for (const HistoryRow& row : rows[level]) {
      if (!add.Bind(number).Bind(row.at).Bind(row.values).Run()) return Failed();
    }
    const int64_t last = rows[level].back().at;
    if (!prune.Bind(number).Bind(last - HistoryRings::kLevels[level].span()).Bind(last).Run()) {
      return Failed();
    }
  }
  return absl::OkStatus();
}

Status HistoryFile::Write(const std::vector<std::string>& names, const Batch& rows) {
  RETURN_IF_ERROR(Execute("BEGIN"));
  Status status = WriteRows(names, rows);
  if (status.ok()) status = Execute("COMMIT");
  // The transaction may have been rolled back already.
  if (!status.ok()) Execute("ROLLBACK").IgnoreError();
  return status;
}

}  // namespace freshet
