// Where the truth of a store lies when it is not the store's own log: partitions of rows, each
// written by one owner at a time. What is appended is replicated; the local database is then a
// cache of it (docs/decisions/0100-fleet-on-kafka.md).
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

// A row of the local database as it is there, its checksum included.
struct LogRow {
  storage::Family family = storage::Family::kMeta;
  std::string_view key;
  std::optional<std::string_view> value;  // unset: the row is removed
};

// Value type, thread-compatible.
struct ChangeLogStats {
  uint64_t transactions = 0;  // that are in it
  uint64_t aborted = 0;
  uint64_t rows = 0;  // that they had
  uint64_t bytes = 0;
  uint64_t transaction_micros = 0;  // that they took together
  uint64_t rows_read = 0;
  uint32_t waiting = 0;  // partitions whose transaction has taken more than five seconds
};

// DataLoss: the partition of the log with this name ends before what a store has read of it.
[[nodiscard]] inline Status EndsTooSoon(std::string_view log, uint32_t partition) {
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "partition {} of {} ends before the last row that the local store has read",
                    partition, log);
}

// DataLoss: rows are missing at the beginning of the partition, so that nobody can be filled from
// it.
[[nodiscard]] inline Status BeginsTooLate(std::string_view log, uint32_t partition) {
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "partition {} of {} has lost its beginning: somebody has deleted rows, or "
                    "cleanup.policy was not compact alone",
                    partition, log);
}

// Internal: no log takes a row whose key and value have so many bytes, today or later.
[[nodiscard]] inline Status CheckRowSize(storage::Family family, size_t bytes) {
  if (bytes <= storage::kMaxRowBytes) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kInternal, "a row of family {} has {} bytes, at most {} fit",
                    storage::IndexOf(family), bytes, storage::kMaxRowBytes);
}

// Thread-safe, but for one partition at most one of Own, Append and Read runs at a time.
class ChangeLog {
 public:
  // `next` is the offset to read on from once the row was taken in. A status that is not OK ends
  // the reading and is returned.
  using Visit = std::function<Status(const LogRow& row, uint64_t next)>;

  virtual ~ChangeLog() = default;

  // As it is called where it lies: a cache of one log is none of another.
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual uint32_t partitions() const = 0;

  // Makes this process the one owner of the partition: whatever an earlier one has not finished is
  // undone, and nothing that it appends from now on succeeds. Waits until the log answers.
  // Cancelled: StopWaiting was called, as long ago as the log is asked for this at a time, some ten
  // seconds at most. Any other status: it cannot be owned.
  [[nodiscard]] virtual Status Own(uint32_t partition) = 0;

  // Appends all of `rows`, at least one, or nothing, and returns once they are replicated: the
  // offset to which somebody who takes them in is complete, or one of before, down to 0, where the
  // log has not told. Waits as long as the log is away, since only the log knows whether they are
  // in it. Precondition: Own.
  //
  // ResourceExhausted: nothing was appended; the next call may succeed. Internal, of CheckRowSize:
  // nothing was appended, and never will be with this row. Any other status is final
  // and is that of every later call, Unavailable where another process owns the partition now;
  // then whether they were appended is known to who reads the partition.
  [[nodiscard]] virtual StatusOr<uint64_t> Append(uint32_t partition,
                                                  std::span<const LogRow> rows) = 0;

  // Gives all that was appended from the offset `from` to at least `end`, which Append has returned
  // to whoever; unset: to the present end. In order; rows that later ones replace may be left out.
  // Returns to where it has read, which whoever appends meanwhile moves on. Waits as long as the
  // log is away. DataLoss: the partition ends before `from`, or holds what is no row, or it is to
  // be read from 0 and has lost its beginning. Aborted, before the first visit: it ended before
  // `from` and no longer does, so that rows before `from` may be others.
  [[nodiscard]] virtual StatusOr<uint64_t> Read(uint32_t partition, uint64_t from,
                                                std::optional<uint64_t> end,
                                                const Visit& visit) = 0;

  // OK, or why appending to some partition has ended for good.
  [[nodiscard]] virtual Status health() const = 0;
  [[nodiscard]] virtual ChangeLogStats Stats() const = 0;

  // Has all that waits for the log return, now and later.
  virtual void StopWaiting() = 0;
};

}  // namespace freshet

#endif  // FRESHET_STORAGE_CHANGE_LOG_H_
