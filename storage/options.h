// Options for opening the store, both for operators and for simulations. Each field states its
// default, the reason for it, and the range from which tests draw it.
#ifndef FRESHET_STORAGE_OPTIONS_H_
#define FRESHET_STORAGE_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/fingerprint.h"
#include "core/base/status.h"
#include "storage/open_progress.h"

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace freshet {

class ChangeLog;
class Follower;

// The point at which Store::Commit returns.
enum class Durability : uint8_t {
  kSync,  // once the write-ahead log is on the device: survives a power cut
  kWal,  // once the operating system has the log: survives a crash of the process, but no power cut
  kNone,  // without a log: a crash loses what was not flushed, but never half a commit
};

// "sync", "wal" or "none". Thread-safe.
[[nodiscard]] StatusOr<Durability> ParseDurability(std::string_view name);
[[nodiscard]] std::string_view DurabilityName(Durability durability);

// Value type, thread-compatible.
struct StoreOptions {
  // Default sync: nothing acknowledged may be undone by a power cut. Simulation: all three.
  Durability durability = Durability::kSync;

  // Cache of uncompressed blocks, including index and filter blocks. Default 256 MiB: the filters
  // of 100 million pages take about 500 MB, of which a scheduler mostly uses the part for
  // frequently crawled pages. Simulation: 64 KiB to 64 MiB.
  size_t block_cache_bytes = size_t{256} << 20;

  // Size of the cache of page rows that were read or written recently, for all shards together.
  // Default 256 MiB: enough for all pages that workers have, or for a whole store of a million
  // pages. A row takes about 250 bytes. Simulation: 0 to 1 MiB.
  size_t page_cache_bytes = size_t{256} << 20;

  // Size of the memtable of one column family. All memtables together take at most four times as
  // much. Default 32 MiB: finding a row's place in the memtable is most of the cost of a commit,
  // and all of the cost of its replay after a crash. In 128 MiB this takes twice as long, because
  // the memtable does not fit into the processor's cache. A larger memtable needs fewer
  // compactions, but that saves only about as much time as the slower insertions cost. Simulation:
  // 16 KiB to 4 MiB, so that flushes and compactions happen within a short run.
  size_t write_buffer_bytes = size_t{32} << 20;

  // Maximum size of all write-ahead logs together. Default 128 MiB, about 600,000 rows: start-up
  // reads and replays them in a second or two. Simulation: 32 KiB to 16 MiB.
  size_t max_wal_bytes = size_t{128} << 20;

  // Number of flushes and compactions that run at a time. Default 2, so that a flush never waits
  // for a compaction. Simulation: 1 to 4.
  int background_jobs = 2;

  // Maximum number of table files that are kept open. Default -1: all files, so that no read has to
  // open one. If file descriptors are few, the server sets a limit. Compactions briefly open some
  // more files. Simulation: -1 and 10 to 100.
  int max_open_tables = -1;

  // Size of a table file. Default 64 MiB; with smaller files, compactions are smaller and more
  // frequent. Simulation: 16 KiB to 4 MiB.
  size_t table_file_bytes = size_t{64} << 20;

  // Commits are refused (ResourceExhausted) when the device has less free space than this. Flushes
  // and compactions, which can free space, still have room then. Default 256 MiB: two memtables and
  // a table file. Simulation: 0 to 1 MiB.
  uint64_t reserve_bytes = uint64_t{256} << 20;

  // Tables are compressed: LZ4, and Zstandard in the last level.
  // Default on: tables then need a third of the bytes. Simulation: both.
  bool compress = true;

  // Opening raises the generation, a part of lease ids, by this much. Default 1; restoring takes a
  // larger step (storage/restore.h). Simulation: 1.
  uint32_t generation_step = 1;

  // Compactions wait for Store::StartCompactions. Default off. The server sets it, so that
  // compactions left by a killed process do not take the cores that loading needs. Simulation: off.
  bool hold_compactions = false;
  // Opening a directory without a store creates one. If the option is off, opening such a directory
  // returns NotFound and writes nothing.
  bool create_if_missing = true;

  // Full-file checksums are verified at opening. Default off: reads verify every block anyway, and
  // start-up must not read cold data. Simulation: both.
  bool verify_at_open = false;

  // The secret of the fingerprints of a new store, or of a store whose format has no secret
  // (core/base/fingerprint.h). Default unset: drawn from the system's source of random bytes. An
  // existing store keeps its secret. Simulation: fixed, so that runs are reproducible.
  std::optional<FingerprintSecret> fingerprint_secret;

  // The number of bits of a fingerprint that can be nonzero. Must be the same at every opening.
  // Default 64 (all). Simulation: 0 to 64; with few bits, most pages share fingerprints.
  int fingerprint_bits = Fingerprinter::kBits;

  // The log that is the source of truth, of which this store is a cache. A commit is appended to
  // the log before it is written here. Opening takes ownership of the log and reads missing rows.
  // The log must outlive the store. nullptr = the store's write-ahead log is the source of truth,
  // as `durability` says.
  ChangeLog* truth = nullptr;
  // With `truth`: decides when this store may own the log. Until then, opening reads the rows that
  // others append. The follower must outlive opening. nullptr = the store owns the log at once.
  Follower* follower = nullptr;

  // With `truth` unset: allows opening a cache read-only, without its log. A store that is not a
  // cache is opened as usual. Default off.
  bool alone = false;
  // With `alone`: turns a cache into a store with its own log, which has the rows that the cache
  // had when it was last closed. Default off. Opening returns FailedPrecondition if the store is
  // not a cache.
  bool leave_log = false;

  // Receives the progress of opening; must outlive opening. nullptr = none.
  OpenProgress* progress = nullptr;

  // File system, clock and background threads. nullptr = the machine's own. Tests inject faults
  // here; it must outlive the store.
  rocksdb::Env* env = nullptr;

  // Receives messages of opening and background work, one line each, level first: 'I', 'W' or 'E'.
  // Called from any thread. Unset = nothing is logged.
  std::function<void(char level, std::string_view line)> log;
};

}  // namespace freshet

#endif  // FRESHET_STORAGE_OPTIONS_H_
