// Examines the logs of a database (the write-ahead logs, and the MANIFEST, which has the same form)
// before RocksDB replays them, and decides the one question that RocksDB's recovery modes cannot:
// is the bad end of a log a write that a crash cut short, which was never acknowledged, or damage
// to data that was?
//
// RocksDB's modes: kAbsoluteConsistency refuses both, kTolerateCorruptedTailRecords takes a flipped
// length byte within the last 32 KiB for a short write and drops acknowledged records behind it
// without a word, kPointInTimeRecovery drops everything behind any damage. So the decision is made
// here, torn tails are cut off, and RocksDB is then told to tolerate nothing.
//
// A bad place is a torn tail when the file ends inside the record, or is all zeros from some sector
// of it on, and no reading of the bytes explains it better: no other length makes the record's
// checksum right, and no intact record begins behind it; or when it is the beginning of a write
// that failed for lack of space, directly followed by the same write repeated (RocksDB does that
// when it is resumed; the repetition ends the log and was not acknowledged either). In a log that
// is not the last, the next log must go on with the very next sequence number besides: then the
// torn record was never part of the database (RocksDB gives no number to a write that failed).
// Everything else is damage.
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
  uint64_t offset = 0;  // where the record that cannot be read begins
  uint64_t bytes = 0;   // from there to the end of the file
  bool torn = false;    // else damage
  std::string what;
};

// What one log holds up to its first bad place. Sequence numbers count single row changes; zero
// records: both are zero.
struct WalContents {
  uint64_t records = 0;
  uint64_t first_sequence = 0;
  uint64_t next_sequence = 0;  // after the last record
};

struct WalReading {
  WalContents contents;
  bool faulty = false;
  WalFault fault;  // file is left empty
};

enum class LogKind : uint8_t {
  kWal,       // every record is a write batch
  kManifest,  // records are opaque; their sequence numbers read as zero
};

// Reads the bytes of one log up to its first bad place. Thread-safe.
[[nodiscard]] WalReading ReadLog(std::string_view bytes, LogKind kind);

// What to do about damage.
enum class WalPolicy : uint8_t {
  kRefuse,  // DataLoss that names file and offset; nothing is changed
  kCut,     // the log ends before it, and the logs after it are set aside as NAME.lost
};

// Whether `dir` holds a database. DataLoss: it holds tables or logs, but not the file that names
// the MANIFEST, among which RocksDB would start an empty database; or that file is far too long.
// FailedPrecondition: CheckIsFile's (storage/internal/file_copy.h), of one of them. Thread-safe.
[[nodiscard]] StatusOr<bool> DatabaseExists(rocksdb::Env* env, const std::string& dir);

// Examines the MANIFEST in use and all write-ahead logs in `dir`, in order, and cuts torn tails
// off; with kCut, damage in write-ahead logs too. Each cut is reported to `log` ('W').
// `progress`, which may be null, is told how many bytes there are and how many have been looked at.
// Takes 0.1 s for 256 MiB that the operating system has in memory. Thread-compatible: the
// directory's lock is held by the caller.
[[nodiscard]] Status CheckLogs(rocksdb::Env* env, const std::string& dir, WalPolicy policy,
                               const std::function<void(char, std::string_view)>& log,
                               OpenProgress* progress = nullptr);

// Bytes of all write-ahead logs in `dir`. Thread-safe.
[[nodiscard]] StatusOr<uint64_t> WalBytes(rocksdb::Env* env, const std::string& dir);

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_WAL_CHECK_H_
