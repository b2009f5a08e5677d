// The audit log: a line of JSON for each change of the server by an authorized client, and for each
// refused attempt. Lines are on the disk before `done` is called, so an answer that waits for it
// never leaves without its line.
//
// The file is bounded: past `max_bytes` it becomes FILE.1, the former FILE.1 becomes FILE.2 and so
// on; the oldest goes.
#ifndef FRESHET_SERVER_LOGS_AUDIT_LOG_H_
#define FRESHET_SERVER_LOGS_AUDIT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "server/base/log_limit.h"
#include "server/base/system_clock.h"
#include "server/logs/repeats.h"
#include "sync/mutex.h"

namespace freshet {

// One change, or an attempt. Texts longer than kMaxAuditTextBytes are cut. Value type,
// thread-compatible.
struct AuditEntry {
  Instant at;              // set by Append
  std::string request_id;  // as in the answer and in the log
  std::string who;         // "identity ops", "network 192.0.2.7", "signal SIGHUP"
  std::string from;        // the client's network; empty = not known
  std::string action;      // the method as in server/auth/methods.cc, or another name
  std::string request;     // the request as JSON
  std::string before;      // the state before, as JSON; empty = not known, or none
  std::string after;       // the state after, as JSON; empty = not known, or none
  std::string outcome;     // "OK", or the name of a code and the reason
  uint64_t repeats = 0;    // similar entries left out since the last one
};

inline constexpr size_t kMaxAuditTextBytes = 4096;
// Entries kept in memory for Recent.
inline constexpr size_t kMaxRecentAudit = 1000;
// Entries that wait for the disk; one more is refused.
inline constexpr size_t kMaxWaitingAudit = 4096;

struct AuditOptions {
  std::string path;
  size_t max_bytes = size_t{16} << 20;  // of one file
  int older_files = 4;
};

// Counts of entries. Value type, thread-compatible.
struct AuditStats {
  uint64_t written = 0;
  uint64_t failed = 0;  // entries that are not on the disk
};

// The audit log. Thread-safe.
class AuditLog {
 public:
  using Done = std::function<void(const Status&)>;

  // Opens the log, and reads the end of its files for Recent. InvalidArgument says why the file
  // cannot be written. `clock` outlives the log.
  [[nodiscard]] static StatusOr<std::unique_ptr<AuditLog>> Open(AuditOptions options, Clock& clock);
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // Writes the entry, then calls `done` if there is one: on the log's thread, or on this one when
  // too many wait. Not OK: the entry is not on the disk, which the server's log reports too.
  void Append(AuditEntry entry, Done done = nullptr) FRESHET_EXCLUDES(mutex_);
  // Appends an entry that anybody can cause at will, such as a refused attempt: a few a minute of a
  // kind are written, the others counted (AuditEntry::repeats).
  void AppendLimited(AuditEntry entry, const std::string& kind, Done done = nullptr)
      FRESHET_EXCLUDES(mutex_);
  // Appends a change of a thing that programs may change all the time. A few a minute of each kind
  // are written, and all entries of a kind that is not remembered.
  void AppendChange(AuditEntry entry, const std::string& kind, Done done = nullptr)
      FRESHET_EXCLUDES(mutex_);
  // The newest entries that came at `since` or later, newest first.
  [[nodiscard]] std::vector<AuditEntry> Recent(size_t most, Instant since = Instant()) const
      FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] AuditStats stats() const FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] const std::string& path() const { return options_.path; }

 private:
  class File;
  struct Waiting {
    AuditEntry entry;
    Done done;
  };

  AuditLog(AuditOptions options, Clock& clock, std::unique_ptr<File> file,
           std::deque<AuditEntry> recent);
  void Run() FRESHET_EXCLUDES(mutex_);
  // Admits an entry to be written; false = it was counted, and `done` will be called.
  [[nodiscard]] bool Admit(Repeats<AuditEntry>& repeats, AuditEntry* entry, const std::string& kind,
                           Done* done) FRESHET_REQUIRES(mutex_);
  // The entries about left-out entries that are due.
  [[nodiscard]] std::vector<Waiting> Overdue(bool all) FRESHET_REQUIRES(mutex_);
  void Write(std::vector<Waiting> entries) FRESHET_EXCLUDES(mutex_);

  const AuditOptions options_;
  Clock& clock_;
  const std::unique_ptr<File> file_;  // used by the thread alone
  mutable Mutex mutex_;
  Condition wake_;
  std::vector<Waiting> waiting_ FRESHET_GUARDED_BY(mutex_);
  std::deque<AuditEntry> recent_ FRESHET_GUARDED_BY(mutex_);
  Repeats<AuditEntry> repeats_ FRESHET_GUARDED_BY(mutex_);
  // Separate, because clients choose the number of kinds.
  Repeats<AuditEntry> changes_ FRESHET_GUARDED_BY(mutex_);
  AuditStats stats_ FRESHET_GUARDED_BY(mutex_);
  LogLimit log_unwritten_ FRESHET_GUARDED_BY(mutex_);
  bool stopping_ FRESHET_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses all of them
};

// Makes one line of JSON without an end of line, in ASCII: no text of a client can end it or reach
// a terminal. Thread-safe.
[[nodiscard]] std::string AuditLine(const AuditEntry& entry);
// Reads such a line; unset = the text is no such line.
[[nodiscard]] std::optional<AuditEntry> ParseAuditLine(std::string_view line);

}  // namespace freshet

#endif  // FRESHET_SERVER_LOGS_AUDIT_LOG_H_
