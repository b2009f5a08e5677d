#include "tools/sitemap/state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/status.h"
#include "tools/sitemap/site_url.h"
#include "tools/sitemap/spool.h"

namespace freshet::sitemap {
namespace {

constexpr int kVersion = 3;
constexpr const char* kLogName = "-wal";

// No later process reads this database, not even after an error, so it has no journal and is never
// synced. With larger pages, URLs would leave most of the space unused.
constexpr const char* kStaging = R"(
PRAGMA page_size=1024;
PRAGMA journal_mode=OFF;
PRAGMA synchronous=OFF;
BEGIN;
CREATE TABLE staged (
  url TEXT PRIMARY KEY, modified INTEGER NOT NULL, row INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX staged_row ON staged (row);
)";

// Times and intervals are in microseconds; 0 = none.
constexpr const char* kDocuments = R"(
CREATE TABLE documents (
  site TEXT, url TEXT, etag TEXT NOT NULL, last_modified TEXT NOT NULL, polled INTEGER NOT NULL,
  interval INTEGER NOT NULL, next INTEGER NOT NULL, not_before INTEGER NOT NULL,
  site_public INTEGER NOT NULL, PRIMARY KEY (site, url)) WITHOUT ROWID;
CREATE INDEX waits ON documents (url, not_before) WHERE not_before > 0;
)";
constexpr const char* kTables = R"(
CREATE TABLE pages (url TEXT PRIMARY KEY, modified INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
)";

std::string SetVersion() { return fmt::format("PRAGMA user_version={}", kVersion); }

// Returns the key of a document that has this name in a file of version 1. There, the name of a
// document at another host was the site, a blank and the URL. Names of files begin with a slash and
// can contain blanks.
DocumentKey KeyOfVersion1(const std::string& name) {
  const size_t blank = name.starts_with('/') ? std::string::npos : name.find(' ');
  if (blank != std::string::npos) return {name.substr(0, blank), name.substr(blank + 1)};
  const absl::StatusOr<SiteUrl> site = ParseSiteUrl(name);
  return {site.ok() ? SiteOfHost(site->host) : "", name};
}

// Returns the file's modification time, and the beginning of its log. The beginning changes when
// the log is rewritten.
std::pair<std::filesystem::file_time_type, std::string> StampOf(const std::string& path) {
  constexpr size_t kLogHeaderBytes = 32;
  std::error_code none;
  std::ifstream log(path + kLogName, std::ios::binary);
  std::string header(kLogHeaderBytes, '\0');
  log.read(header.data(), static_cast<std::streamsize>(header.size()));
  return {std::filesystem::last_write_time(path, none), header};
}

// Copies a database that another process may be writing. SQLite writes transactions to its log, and
// later moves them to the file. So a copy of both is consistent, unless such a move happened during
// the copy. In that case the copy is repeated.
absl::Status CopyDatabase(const std::string& from, const std::string& to) {
  constexpr int kAttempts = 10;
  std::error_code error;
  if (!std::filesystem::exists(from, error)) return absl::OkStatus();
  for (int i = 0; i < kAttempts; ++i) {
    const auto before = StampOf(from);
    for (const char* part : {"", kLogName}) {
      std::filesystem::remove(to + part, error);
      std::filesystem::copy_file(from + part, to + part, error);  // the log might not exist
    }
    if (StampOf(from) == before) return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      fmt::format("the state {}: another process writes it all the time", from));
}

}  // namespace

// A statement that runs repeatedly. Thread-compatible.
class PollState::Statement {
 public:
  Statement(sqlite3* database, const char* sql) : database_(database) {
    sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Binds the next argument of the run; copies texts.
  Statement& Bind(std::string_view text) {
    sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()),
                      SQLITE_TRANSIENT);
    return *this;
  }
  Statement& Bind(int64_t number) {
    sqlite3_bind_int64(statement_, ++bound_, number);
    return *this;
  }
  // Moves to the next row, which stays readable until Reset. Returns false if there is none.
  [[nodiscard]] absl::StatusOr<bool> Step() {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    return absl::InternalError(sqlite3_errmsg(database_));
  }
  void Reset() {
    sqlite3_reset(statement_);
    bound_ = 0;
  }
  // Runs a statement that returns no rows.
  [[nodiscard]] absl::Status Run() {
    const absl::StatusOr<bool> row = Step();
    Reset();
    return row.status();
  }
  [[nodiscard]] std::string Text(int column) const {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return text == nullptr ? "" : text;
  }
  [[nodiscard]] int64_t Number(int column) const {
    return sqlite3_column_int64(statement_, column);
  }

 private:
  sqlite3* const database_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

// The rows of one stage, in a separate temporary database. Closing the database deletes the rows,
// even if the disk is full. Thread-compatible.
class PollState::Staging {
 public:
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Staging>> Create() {
    std::string name = TemporaryDirectory() + "/freshet-stage-XXXXXX";
    const int descriptor = mkostemp(name.data(), O_CLOEXEC);
    if (descriptor < 0) return TemporaryFileError("made", std::strerror(errno));
    close(descriptor);
    sqlite3* opened = nullptr;
    sqlite3_open_v2(name.c_str(), &opened, SQLITE_OPEN_READWRITE, nullptr);
    unlink(name.c_str());
    Database database(opened, sqlite3_close);
    if (sqlite3_exec(opened, kStaging, nullptr, nullptr, nullptr) != SQLITE_OK) {
      return TemporaryFileError("written", sqlite3_errmsg(opened));
    }
    return std::unique_ptr<Staging>(new Staging(std::move(database)));
  }

  [[nodiscard]] absl::StatusOr<std::optional<KnownPage::Staged>> Find(const std::string& url) {
    std::optional<KnownPage::Staged> staged;
    const absl::StatusOr<bool> found = find_.Bind(url).Step();
    if (found.ok() && *found) {
      staged = {static_cast<uint64_t>(find_.Number(0)), Instant::FromMicros(find_.Number(1))};
    }
    find_.Reset();
    if (!found.ok()) return Failed(found.status());
    return staged;
  }
  [[nodiscard]] absl::Status Put(uint64_t row, const std::string& url, Instant modified) {
    return Failed(put_.Bind(url).Bind(modified.micros()).Bind(static_cast<int64_t>(row)).Run());
  }
  [[nodiscard]] absl::Status Remove(uint64_t first, uint64_t last) {
    return Failed(remove_.Bind(static_cast<int64_t>(first)).Bind(static_cast<int64_t>(last)).Run());
  }
  // Calls `take` for all rows up to this one until it fails. Returns the error of `take`.
  [[nodiscard]] absl::Status ForEach(
      uint64_t row, const std::function<absl::Status(const std::string&, Instant)>& take) {
    absl::Status taken;
    absl::StatusOr<bool> found = list_.Bind(static_cast<int64_t>(row)).Step();
    for (; found.ok() && *found && taken.ok(); found = list_.Step()) {
      taken = take(list_.Text(0), Instant::FromMicros(list_.Number(1)));
    }
    list_.Reset();
    return taken.ok() ? Failed(found.status()) : taken;
  }

 private:
  using Database = std::unique_ptr<sqlite3, int (*)(sqlite3*)>;
  explicit Staging(Database database) : database_(std::move(database)) {}
  // Converts an error; OK stays OK.
  [[nodiscard]] static absl::Status Failed(const absl::Status& status) {
    return status.ok() ? status : TemporaryFileError("written", std::string(status.message()));
  }

  const Database database_;
  Statement find_{database_.get(), "SELECT row, modified FROM staged WHERE url=?"};
  Statement put_{database_.get(), "INSERT OR REPLACE INTO staged VALUES (?,?,?)"};
  Statement remove_{database_.get(), "DELETE FROM staged WHERE row BETWEEN ? AND ?"};
  Statement list_{database_.get(), "SELECT url, modified FROM staged WHERE row<=?"};
};

PollState::PollState(sqlite3* database) : database_(database, sqlite3_close) {}
PollState::~PollState() = default;

absl::Status PollState::Failed() const {
  return absl::InternalError(sqlite3_errmsg(database_.get()));
}

absl::Status PollState::Execute(const char* sql) {
  if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) {
    return absl::OkStatus();
  }
  if (sqlite3_errcode(database_.get()) == SQLITE_BUSY) {
    return absl::FailedPreconditionError("another process has it open");
  }
  return Failed();
}

absl::Status PollState::Prepare(const std::string& crawl_id) {
  // Keeps the lock of the first transaction until the process ends, however it ends. Temporary data
  // stays in memory, because this connection sorts little; so there are no errors of temporary
  // files.
  RETURN_IF_ERROR(
      Execute("PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
              "PRAGMA temp_store=MEMORY; BEGIN EXCLUSIVE;"));
  Statement version(database_.get(), "PRAGMA user_version");
  const absl::StatusOr<bool> has_version = version.Step();
  RETURN_IF_ERROR(has_version.status());
  const int64_t found = version.Number(0);
  version.Reset();
  if (found == 0) {
    RETURN_IF_ERROR(Execute(kDocuments));
    RETURN_IF_ERROR(Execute(kTables));
    RETURN_IF_ERROR(Execute(SetVersion().c_str()));
    Statement put(database_.get(), "INSERT INTO settings VALUES ('crawl_id', ?)");
    RETURN_IF_ERROR(put.Bind(crawl_id).Run());
  } else if (found == 1) {
    RETURN_IF_ERROR(MigrateFromVersion1());
  } else if (found == 2) {
    RETURN_IF_ERROR(
        Execute("ALTER TABLE documents ADD COLUMN site_public INTEGER NOT NULL DEFAULT 0"));
    RETURN_IF_ERROR(Execute(SetVersion().c_str()));
  } else if (found != kVersion) {
    return absl::FailedPreconditionError(
        fmt::format("it has version {}, and this program knows {}", found, kVersion));
  }
  Statement owner(database_.get(), "SELECT value FROM settings WHERE name='crawl_id'");
  const absl::StatusOr<bool> has_owner = owner.Step();
  RETURN_IF_ERROR(has_owner.status());
  const std::string kept_for = *has_owner ? owner.Text(0) : "";
  owner.Reset();
  if (kept_for != crawl_id) {
    return absl::FailedPreconditionError(
        fmt::format("it was kept for the crawl id '{}', not '{}'", kept_for, crawl_id));
  }
  RETURN_IF_ERROR(Execute("COMMIT"));
  const auto make = [this](const char* sql) {
    return std::make_unique<Statement>(database_.get(), sql);
  };
  find_document_ = make("SELECT * FROM documents WHERE site=? AND url=?");
  put_document_ = make("INSERT OR REPLACE INTO documents VALUES (?,?,?,?,?,?,?,?,?)");
  keep_documents_ = make(
      "DELETE FROM documents WHERE site=?1 AND (not_before > ?2, polled) <= "
      "(SELECT not_before > ?2, polled FROM documents WHERE site=?1 ORDER BY 1 DESC, 2 DESC "
      "LIMIT 1 OFFSET ?3)");
  find_wait_ = make(
      "SELECT max(not_before) FROM documents WHERE url=?1 AND not_before > 0 AND not_before <= ?2 "
      "AND site IN (?3, ?4)");
  find_page_ = make("SELECT modified FROM pages WHERE url=?");
  put_page_ = make("INSERT OR REPLACE INTO pages VALUES (?,?)");
  return absl::OkStatus();
}

absl::Status PollState::MigrateFromVersion1() {
  RETURN_IF_ERROR(Execute("ALTER TABLE documents RENAME TO documents1"));
  RETURN_IF_ERROR(Execute(kDocuments));
  Statement rows(database_.get(), "SELECT url FROM documents1");
  Statement put(database_.get(),
                "INSERT OR REPLACE INTO documents SELECT ?2, ?3, etag, last_modified, polled, "
                "interval, next, not_before, 0 FROM documents1 WHERE url=?1");
  absl::StatusOr<bool> row = rows.Step();
  for (; row.ok() && *row; row = rows.Step()) {
    const std::string name = rows.Text(0);
    const DocumentKey key = KeyOfVersion1(name);
    RETURN_IF_ERROR(put.Bind(name).Bind(key.site).Bind(key.url).Run());
  }
  rows.Reset();
  RETURN_IF_ERROR(row.status());
  RETURN_IF_ERROR(Execute("DROP TABLE documents1"));
  return Execute(SetVersion().c_str());
}

absl::StatusOr<std::unique_ptr<PollState>> PollState::Open(const std::string& path,
                                                           const std::string& crawl_id) {
  return Open(path, crawl_id, path);
}

absl::StatusOr<std::unique_ptr<PollState>> PollState::OpenCopy(const std::string& path,
                                                               const std::string& crawl_id) {
  std::string folder = TemporaryDirectory() + "/freshet-state-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    return absl::InternalError(
        fmt::format("a temporary folder cannot be made as {}: {}", folder, std::strerror(errno)));
  }
  const std::string copy = folder + "/state";
  const absl::Status copied = CopyDatabase(path, copy);
  auto state =
      copied.ok() ? Open(copy, crawl_id, path) : absl::StatusOr<std::unique_ptr<PollState>>(copied);
  // SQLite keeps the deleted files open and continues to use them.
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return state;
}

absl::StatusOr<std::unique_ptr<PollState>> PollState::Open(const std::string& path,
                                                           const std::string& crawl_id,
                                                           const std::string& name) {
  const mode_t before = umask(077);
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  sqlite3* database = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  std::unique_ptr<PollState> state(new PollState(database));
  const absl::Status status = code == SQLITE_OK ? state->Prepare(crawl_id) : state->Failed();
  umask(before);
  if (status.ok()) return state;
  return absl::Status(status.code(), fmt::format("the state {}: {}", name,
                                                 std::string_view(status.message().data(),
                                                                  status.message().size())));
}

absl::StatusOr<DocumentState> PollState::FindDocument(const DocumentKey& key) {
  const absl::StatusOr<bool> found = find_document_->Bind(key.site).Bind(key.url).Step();
  DocumentState document;
  if (found.ok() && *found) {
    document.etag = find_document_->Text(2);
    document.last_modified = find_document_->Text(3);
    document.polled = Instant::FromMicros(find_document_->Number(4));
    document.interval = Duration::Micros(find_document_->Number(5));
    document.next = Instant::FromMicros(find_document_->Number(6));
    document.not_before = Instant::FromMicros(find_document_->Number(7));
    document.site_public = find_document_->Number(8) != 0;
  }
  find_document_->Reset();
  if (!found.ok()) return found.status();
  return document;
}

absl::Status PollState::PutDocument(const DocumentKey& key, const DocumentState& document) {
  return put_document_->Bind(key.site)
      .Bind(key.url)
      .Bind(document.etag)
      .Bind(document.last_modified)
      .Bind(document.polled.micros())
      .Bind(document.interval.micros())
      .Bind(document.next.micros())
      .Bind(document.not_before.micros())
      .Bind(int64_t{document.site_public})
      .Run();
}

absl::Status PollState::KeepDocuments(const std::string& site, size_t most, Instant now) {
  return keep_documents_->Bind(site).Bind(now.micros()).Bind(static_cast<int64_t>(most)).Run();
}

absl::StatusOr<Instant> PollState::FindWait(const std::string& site, const std::string& url,
                                            Instant latest) {
  const absl::StatusOr<SiteUrl> origin = ParseSiteUrl(url);
  const std::string own = origin.ok() ? SiteOfHost(origin->host) : site;
  const absl::StatusOr<bool> found =
      find_wait_->Bind(url).Bind(latest.micros()).Bind(site).Bind(own).Step();
  const Instant wait = Instant::FromMicros(found.ok() && *found ? find_wait_->Number(0) : 0);
  find_wait_->Reset();
  if (!found.ok()) return found.status();
  return wait;
}

absl::StatusOr<KnownPage> PollState::FindPage(const std::string& url, uint64_t stage) {
  KnownPage page;
  const absl::StatusOr<bool> found = find_page_->Bind(url).Step();
  if (found.ok() && *found) {
    page.known = true;
    page.modified = Instant::FromMicros(find_page_->Number(0));
  }
  find_page_->Reset();
  RETURN_IF_ERROR(found.status());
  if (const auto it = stages_.find(stage); it != stages_.end()) {
    ASSIGN_OR_RETURN(page.staged, it->second->Find(url));
  }
  return page;
}

absl::Status PollState::Stage(uint64_t stage, uint64_t row, const std::string& url,
                              Instant modified) {
  std::unique_ptr<Staging>& staging = stages_[stage];
  if (!staging) {
    auto created = Staging::Create();
    if (!created.ok()) {
      stages_.erase(stage);
      return created.status();
    }
    staging = *std::move(created);
  }
  return staging->Put(row, url, modified);
}

absl::Status PollState::Unstage(uint64_t stage, uint64_t row) {
  const auto it = stages_.find(stage);
  return it == stages_.end() ? absl::OkStatus() : it->second->Remove(row, row);
}

absl::Status PollState::Commit(uint64_t stage, uint64_t row) {
  const auto it = stages_.find(stage);
  if (it == stages_.end()) return absl::OkStatus();
  RETURN_IF_ERROR(Execute("BEGIN"));
  absl::Status status = it->second->ForEach(row, [this](const std::string& url, Instant modified) {
    return put_page_->Bind(url).Bind(modified.micros()).Run();
  });
  if (status.ok()) status = Execute("COMMIT");
  if (!status.ok()) {
    (void)Execute("ROLLBACK");
    return status;
  }
  return it->second->Remove(0, row);
}

void PollState::Forget(uint64_t stage) { stages_.erase(stage); }

}  // namespace freshet::sitemap
