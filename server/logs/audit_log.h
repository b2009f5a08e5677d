// The audit log: one line of JSON for each change that an authorized client makes to the server,
// and for each refused attempt. AuditLog::Append calls its `done` once the line is on disk. So an
// answer that waits for `done` is never sent before its line is written.
//
// The log is bounded. When the file would exceed `max_bytes`, it is renamed to FILE.1, the former
// FILE.1 to FILE.2 and so on; the oldest file is deleted.
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

// One change, or one attempt. Texts longer than kMaxAuditTextBytes are cut. Value type,
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
  std::string outcome;     // "OK", or an error code and the reason
  uint64_t repeats = 0;    // similar entries that were left out since the last one
};

inline constexpr size_t kMaxAuditTextBytes = 4096;
// The number of entries that are kept in memory for Recent.
inline constexpr size_t kMaxRecentAudit = 1000;
// The number of entries that may wait for the disk. Further entries are refused.
inline constexpr size_t kMaxWaitingAudit = 4096;

struct AuditOptions {
  std::string path;
  size_t max_bytes = size_t{16} << 20;  // size of one file
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

  // Queues the entry, and calls `done` (nullptr = none) once it is written, on the log's thread. If
  // kMaxWaitingAudit entries wait already, calls `done` at once on the caller's thread. Not OK: the
  // entry is not on disk; the server's log reports this too.
  void Append(AuditEntry entry, Done done = nullptr) FRESHET_EXCLUDES(mutex_);
  // Appends an entry that any client can cause at will, such as a refused attempt. Only a few
  // entries of a kind are written each minute. The others are counted (AuditEntry::repeats).
  void AppendLimited(AuditEntry entry, const std::string& kind, Done done = nullptr)
      FRESHET_EXCLUDES(mutex_);
  // Appends a change of something that programs can change all the time. Works like AppendLimited
  // with one difference: once the log remembers the maximum number of kinds, all entries of new
  // kinds are written.
  void AppendChange(AuditEntry entry, const std::string& kind, Done done = nullptr)
      FRESHET_EXCLUDES(mutex_);
  // Returns the newest entries, newest first: those since `since`, and at most `most`.
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
  // Returns true if the entry must be written. False = the entry is only counted, and `done` is
  // called later.
  [[nodiscard]] bool Admit(Repeats<AuditEntry>& repeats, AuditEntry* entry, const std::string& kind,
                           Done* done) FRESHET_REQUIRES(mutex_);
  // Takes the entries that report how many entries were left out: for kinds whose minute has ended,
  // or for all kinds if `all` is set.
  [[nodiscard]] std::vector<Waiting> Overdue(bool all) FRESHET_REQUIRES(mutex_);
  // Writes the entries, and then calls `counted` with the outcome.
  void Write(std::vector<Waiting> entries, std::vector<Done> counted) FRESHET_EXCLUDES(mutex_);

  const AuditOptions options_;
  Clock& clock_;
  const std::unique_ptr<File> file_;  // used only by the thread
  mutable Mutex mutex_;
  Condition wake_;
  std::vector<Waiting> waiting_ FRESHET_GUARDED_BY(mutex_);
  // Callbacks for entries that are only counted. kMaxWaitingAudit does not limit them: each belongs
  // to an open call, and open calls are limited.
  std::vector<Done> counted_ FRESHET_GUARDED_BY(mutex_);
  std::deque<AuditEntry> recent_ FRESHET_GUARDED_BY(mutex_);
  Repeats<AuditEntry> repeats_ FRESHET_GUARDED_BY(mutex_);
  // Separate from repeats_, because clients can invent kinds of changes.
  Repeats<AuditEntry> changes_ FRESHET_GUARDED_BY(mutex_);
  AuditStats stats_ FRESHET_GUARDED_BY(mutex_);
  LogLimit log_unwritten_ FRESHET_GUARDED_BY(mutex_);
  bool stopping_ FRESHET_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses all other members
};

// Writes the entry as one line of JSON in ASCII, without the end of the line. No text of a client
// can end the line or send escape sequences to a terminal. Thread-safe.
[[nodiscard]] std::string AuditLine(const AuditEntry& entry);
// Reads a line that AuditLine made; unset = the text is no entry.
[[nodiscard]] std::optional<AuditEntry> ParseAuditLine(std::string_view line);

}  // namespace freshet

#endif  // FRESHET_SERVER_LOGS_AUDIT_LOG_H_
