// Examines the logs of a database before RocksDB replays them: the write-ahead logs, and the
// MANIFEST, which has the same form. Answers a question that RocksDB's recovery modes cannot
// answer: is the bad end of a log an unacknowledged write that a crash cut short, or damage to
// acknowledged data?
//
// RocksDB's modes: kAbsoluteConsistency refuses both. kTolerateCorruptedTailRecords treats a
// flipped length byte within the last 32 KiB as a short write, and silently drops acknowledged
// records after it. kPointInTimeRecovery drops everything after any damage. So this check decides,
// and cuts off torn tails. RocksDB is told to tolerate no bad records.
//
// A bad place is a torn tail in two cases. In the first case, the file ends inside the record, or
// has only zeros from some sector of the record on. Also, the record's checksum does not match with
// any other length, and no intact record begins later. In the second case, a write that failed for
// lack of space begins at the bad place, and a repetition of the same write directly follows it.
// RocksDB repeats the write when it is resumed. The repetition ends the log and was not
// acknowledged either. If the log is not the last one, the next log must also continue with the
// very next sequence number. This shows that the torn record was never part of the database,
// because RocksDB assigns no number to a failed write. Every other bad place is damage.
#ifndef FRESHET_STORAGE_INTERNAL_WAL_CHECK_H_
#define FRESHET_STORAGE_INTERNAL_WAL_CHECK_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "storage/open_progress.h"

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace freshet::storage {

// The first bad place of a log.
struct WalFault {
  std::string file;
  uint64_t offset = 0;  // the offset at which the unreadable record begins
  uint64_t bytes = 0;   // from `offset` to the end of the file
  bool torn = false;    // true = a torn tail, false = damage
  std::string what;
};

// The contents of one log up to its first bad place. Sequence numbers count single row changes; if
// there are no records, both numbers are zero.
struct WalContents {
  uint64_t records = 0;
  uint64_t first_sequence = 0;
  uint64_t next_sequence = 0;  // one more than the last record's
};

struct WalReading {
  WalContents contents;
  bool faulty = false;
  WalFault fault;  // its `file` stays empty
};

enum class LogKind : uint8_t {
  kWal,       // every record is a write batch
  kManifest,  // records are opaque, without sequence numbers (zero)
};

// Reads the bytes of one log up to its first bad place. Thread-safe.
[[nodiscard]] WalReading ReadLog(std::string_view bytes, LogKind kind);

// How to handle damage.
enum class WalPolicy : uint8_t {
  kRefuse,  // DataLoss, naming file and offset; nothing is changed
  kCut,     // the log ends before the damage; later logs are renamed to NAME.lost
};

// Returns true if `dir` holds a database. Not OK: DataLoss if it holds tables or logs without
// CURRENT, the file that names the MANIFEST, because RocksDB would then start an empty database, or
// if CURRENT is far too long; FailedPrecondition if one of these files fails CheckIsFile
// (storage/internal/file_copy.h). Thread-safe.
[[nodiscard]] StatusOr<bool> DatabaseExists(rocksdb::Env* env, const std::string& dir);

// Examines the MANIFEST in use and all write-ahead logs in `dir`, in order. Cuts off torn tails
// and, with kCut, damage in write-ahead logs too. Reports each cut to `log` ('W'). Reports to
// `progress`, which may be nullptr, the number of bytes in all logs and the number that it has
// checked. Takes 0.1 s for 256 MiB that the operating system has cached. Thread-compatible: the
// caller holds the directory's lock.
[[nodiscard]] Status CheckLogs(rocksdb::Env* env, const std::string& dir, WalPolicy policy,
                               const std::function<void(char, std::string_view)>& log,
                               OpenProgress* progress = nullptr);

// Returns the bytes of all write-ahead logs in `dir`. Thread-safe.
[[nodiscard]] StatusOr<uint64_t> WalBytes(rocksdb::Env* env, const std::string& dir);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_WAL_CHECK_H_
