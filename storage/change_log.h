// A replicated log that is the source of truth of a store: partitions of rows, each written by one
// owner at a time. The local database is then a cache of the log
// (docs/decisions/0100-fleet-on-kafka.md).
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
  std::optional<std::string_view> value;  // unset: the row is removed
};

// Value type, thread-compatible.
struct ChangeLogStats {
  uint64_t transactions = 0;  // appended transactions
  uint64_t aborted = 0;
  uint64_t rows = 0;  // rows in these transactions
  uint64_t bytes = 0;
  uint64_t transaction_micros = 0;  // total time of these transactions
  uint64_t rows_read = 0;
  uint32_t waiting = 0;  // partitions whose transaction has taken more than five seconds
};

// DataLoss: this partition of the log with this name ends before the offset up to which a store has
// read.
[[nodiscard]] inline Status EndsTooSoon(std::string_view log, uint32_t partition) {
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "partition {} of {} ends before the last row that the local store has read",
                    partition, log);
}

// DataLoss: the first rows of the partition are missing, so no store can be filled from it.
[[nodiscard]] inline Status BeginsTooLate(std::string_view log, uint32_t partition) {
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "partition {} of {} has lost its beginning: somebody has deleted rows, or "
                    "cleanup.policy was not compact alone",
                    partition, log);
}

// Internal: the key and value of the row are too large for the log; retries cannot help.
[[nodiscard]] inline Status CheckRowSize(storage::Family family, size_t bytes) {
  if (bytes <= storage::kMaxRowBytes) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kInternal, "a row of family {} has {} bytes, at most {} fit",
                    storage::IndexOf(family), bytes, storage::kMaxRowBytes);
}

// Thread-safe, except that only one of Own, Append and Read may run at a time for one partition.
class ChangeLog {
 public:
  // `next` is the offset at which reading continues after this row. A status that is not OK ends
  // the reading and is returned.
  using Visit = std::function<Status(const LogRow& row, uint64_t next)>;

  virtual ~ChangeLog() = default;

  // The name of the log on its server. A cache of one log cannot be used with another.
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual uint32_t partitions() const = 0;

  // Makes this process the only owner of the partition: ends what an earlier owner left unfinished,
  // and makes all later appends of earlier owners fail. Waits until the log answers. Cancelled:
  // StopWaiting was called; returns once the request under way ends, some ten seconds at most. Any
  // other status: the partition cannot be owned.
  [[nodiscard]] virtual Status Own(uint32_t partition) = 0;

  // Appends all of `rows`, at least one, or nothing, and returns once they are replicated. Returns
  // the offset behind the rows, or an earlier one, down to 0, if the log has not reported it. Waits
  // while the log is unreachable, since only the log knows whether it has the rows. Precondition:
  // Own.
  //
  // ResourceExhausted: nothing was appended; the next call may succeed. Internal, of CheckRowSize:
  // nothing was appended, and never will be with this row. Any other status is final, and later
  // calls return it too. Unavailable: another process owns the partition now. After a final status
  // only a reader of the partition learns whether the rows were appended.
  [[nodiscard]] virtual StatusOr<uint64_t> Append(uint32_t partition,
                                                  std::span<const LogRow> rows) = 0;

  // Visits all rows from the offset `from` to at least `end`, an offset that Append returned to any
  // process; unset: to the present end. The rows come in order, possibly without those that later
  // rows replace. Returns the offset up to which it has read, which grows while others append.
  // Waits while the log is unreachable. DataLoss: the partition ends before `from`, or holds an
  // invalid row, or has lost its beginning and `from` is 0. Aborted, before the first visit: the
  // partition ended before `from` and no longer does, so that rows before `from` may have been
  // replaced.
  [[nodiscard]] virtual StatusOr<uint64_t> Read(uint32_t partition, uint64_t from,
                                                std::optional<uint64_t> end,
                                                const Visit& visit) = 0;

  // OK, or the reason why appends to some partition fail for good.
  [[nodiscard]] virtual Status health() const = 0;
  [[nodiscard]] virtual ChangeLogStats Stats() const = 0;

  // Makes all calls that wait for the log return, now and later.
  virtual void StopWaiting() = 0;
};

}  // namespace freshet

#endif  // FRESHET_STORAGE_CHANGE_LOG_H_
