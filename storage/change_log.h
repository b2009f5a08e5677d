// A replicated log, divided into partitions, that is the source of truth of a store. Only the owner
// of a partition writes to it, and a partition has one owner at a time. The store's local database
// is a cache of the log (docs/decisions/0100-fleet-on-kafka.md).
#ifndef FRESHET_STORAGE_CHANGE_LOG_H_
#define FRESHET_STORAGE_CHANGE_LOG_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "storage/format.h"

namespace freshet {

// A row as the local database stores it, with its checksum.
struct LogRow {
  storage::Family family = storage::Family::kMeta;
  std::string_view key;
  std::optional<std::string_view> value;  // unset = the row is removed
};

// Value type, thread-compatible.
struct ChangeLogStats {
  uint64_t transactions = 0;  // appended transactions
  uint64_t aborted = 0;
  uint64_t rows = 0;  // rows in these transactions
  uint64_t bytes = 0;
  uint64_t transaction_micros = 0;  // total time that these transactions took
  uint64_t rows_read = 0;
  uint32_t waiting = 0;  // partitions whose current transaction has taken more than five seconds
};

// The error (DataLoss) for a partition of the log that ends before the offset up to which a store
// has read. `log`: the name of the log.
[[nodiscard]] inline Status EndsTooSoon(std::string_view log, uint32_t partition) {
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "partition {} of {} ends before the last row that the local store has read",
                    partition, log);
}

// The error (DataLoss) for a partition whose first rows are missing, so that no store can be filled
// from it.
[[nodiscard]] inline Status BeginsTooLate(std::string_view log, uint32_t partition) {
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "partition {} of {} has lost its beginning: somebody has deleted rows, or "
                    "cleanup.policy was not compact alone",
                    partition, log);
}

// Not OK: Internal if the key and value of a row are too large for the log. Retries cannot help.
[[nodiscard]] inline Status CheckRowSize(storage::Family family, size_t bytes) {
  if (bytes <= storage::kMaxRowBytes) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kInternal, "a row of family {} has {} bytes, at most {} fit",
                    storage::IndexOf(family), bytes, storage::kMaxRowBytes);
}

// The log. Thread-safe, except that only one of Own, Append and Read may run at a time for each
// partition.
class ChangeLog {
 public:
  // `next` is the offset at which reading continues after this row. A status that is not OK ends
  // the reading and is returned.
  using Visit = std::function<Status(const LogRow& row, uint64_t next)>;

  virtual ~ChangeLog() = default;

  // The name of the log on its server. A cache of one log cannot be used with another.
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual uint32_t partitions() const = 0;

  // Makes this process the only owner of the partition: ends transactions that an earlier owner
  // left open, and makes all later appends by earlier owners fail. Waits until the log answers. Not
  // OK: Cancelled if StopWaiting was called. The call then returns when the current request ends,
  // which takes at most about ten seconds. Any other status: the partition cannot be owned.
  [[nodiscard]] virtual Status Own(uint32_t partition) = 0;

  // Appends all of `rows` or nothing, and returns when they are replicated. `rows` is not empty.
  // Returns the offset after the rows, or an earlier offset (down to 0) if the log has not reported
  // that one. Waits while the log is unreachable, because only the log knows whether the rows were
  // appended. Precondition: Own.
  //
  // ResourceExhausted: nothing was appended; the next call may succeed. Internal: nothing was
  // appended, because a row is too large (CheckRowSize). Any other status is final, and later calls
  // return it too. Unavailable: another process owns the partition now. After a final status, only
  // reading the partition shows whether the rows were appended.
  [[nodiscard]] virtual StatusOr<uint64_t> Append(uint32_t partition,
                                                  std::span<const LogRow> rows) = 0;

  // Visits all rows from the offset `from` to at least `end`, which is an offset that Append
  // returned in any process; unset = the current end. The rows come in order, but rows that later
  // rows replace may be missing. Returns the offset up to which it has read. If others append rows
  // meanwhile, Read continues with these rows. Waits while the log is unreachable. DataLoss: the
  // partition ends before `from`, or holds an invalid row, or has lost its beginning and `from` is
  // 0. Aborted: at first the partition ended before `from`, but now it is longer. Rows before
  // `from` may then have been replaced by others. Read detects this before the first visit.
  [[nodiscard]] virtual StatusOr<uint64_t> Read(uint32_t partition, uint64_t from,
                                                std::optional<uint64_t> end,
                                                const Visit& visit) = 0;

  // OK, or the reason why appends to some partition fail permanently.
  [[nodiscard]] virtual Status health() const = 0;
  [[nodiscard]] virtual ChangeLogStats Stats() const = 0;

  // Makes all calls that wait for the log return, now and later.
  virtual void StopWaiting() = 0;
};

}  // namespace freshet

#endif  // FRESHET_STORAGE_CHANGE_LOG_H_
