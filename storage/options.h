// How the store is opened: what operators choose, and the knobs that simulations turn. Each field
// states its default, the reason for it, and the range that tests draw it from.
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

// When Store::Commit returns.
enum class Durability : uint8_t {
  kSync,  // after the write-ahead log is on the device: survives a power cut
  kWal,   // after the operating system has the log: survives a crash of the process only
  kNone,  // no log at all: a crash loses what was not flushed, but never half a commit
};

// "sync", "wal" or "none". Thread-safe.
[[nodiscard]] StatusOr<Durability> ParseDurability(std::string_view name);
[[nodiscard]] std::string_view DurabilityName(Durability durability);

// Value type, thread-compatible.
struct StoreOptions {
  // Default sync: nothing acknowledged may be undone by a power cut. Simulation: all three.
  Durability durability = Durability::kSync;

  // Cache of uncompressed blocks, index and filter blocks included. Default 256 MiB: the filters of
  // 100 million pages are about 500 MB, of which a scheduler touches the busy part. Simulation:
  // 64 KiB to 64 MiB.
  size_t block_cache_bytes = size_t{256} << 20;

  // Rows of pages that were read or written not long ago, for all shards together. Default 256 MiB:
  // what is out with workers, and of a million pages all of them; a row takes some 250 bytes.
  // Simulation: 0 to 1 MiB.
  size_t page_cache_bytes = size_t{256} << 20;

  // One column family's memtable; all together take at most four times as much. Default 32 MiB:
  // finding a row's place in it is most of what a commit costs, and all of what its replay after a
  // crash costs, and takes twice as long in 128 MiB, where it misses the processor's cache. Larger
  // ones save compactions about as much as they lose there. Simulation: 16 KiB to 4 MiB, so that
  // flushes and compactions happen within a short run.
  size_t write_buffer_bytes = size_t{32} << 20;

  // All write-ahead logs together. Default 128 MiB: bounds what start-up must read and replay, at
  // about 600,000 rows, to a second or two. Simulation: 32 KiB to 16 MiB.
  size_t max_wal_bytes = size_t{128} << 20;

  // Flushes and compactions at a time. Default 2: one flush is never stuck behind a compaction.
  // Simulation: 1 to 4.
  int background_jobs = 2;

  // Table files that are kept open. Default -1, all of them: no read has to open one. With few file
  // descriptors the server says how many there are for this; some more are used for a moment by
  // compactions. Simulation: -1 and 10 to 100.
  int max_open_tables = -1;

  // Size of a table file. Default 64 MiB; smaller files make smaller, more frequent compactions.
  // Simulation: 16 KiB to 4 MiB.
  size_t table_file_bytes = size_t{64} << 20;

  // Below this much free space on the device commits are refused (ResourceExhausted) before the
  // file system has to: flushes and compactions, which may free space, still have room. Default
  // 256 MiB: two memtables and a table file. Simulation: 0 to 1 MiB.
  uint64_t reserve_bytes = uint64_t{256} << 20;

  // Tables are compressed: LZ4, and Zstandard in the last level.
  // Default on: a third of the bytes. Simulation: both.
  bool compress = true;

  // By how much opening raises the generation, which is part of lease ids. Default 1; restoring
  // takes a larger step (storage/restore.h). Simulation: 1.
  uint32_t generation_step = 1;

  // Compactions wait for Store::StartCompactions. Default off. The server sets it, so that what a
  // killed process left to compact does not take the cores that loading needs. Simulation: off.
  bool hold_compactions = false;
  // Opening a directory without a store makes one; else it is NotFound, and nothing is written.
  bool create_if_missing = true;

  // Full-file checksums are verified at opening. Default off: reads verify every block anyway, and
  // start-up must not read cold data. Simulation: both.
  bool verify_at_open = false;

  // What a new store, or one of a format without secrets, takes for the secret of its fingerprints
  // (core/base/fingerprint.h). Default unset: drawn from the system's source of random bytes. An
  // existing store keeps its own. Simulation: fixed, so that runs repeat.
  std::optional<FingerprintSecret> fingerprint_secret;

  // How many bits of fingerprints may be other than zero, the same at every opening. Default 64,
  // all. Simulation: 0 to 64; with few, most pages share their fingerprints with others.
  int fingerprint_bits = Fingerprinter::kBits;

  // Where the truth lies, and this store is a cache of it: what is committed is appended to the
  // log before it is written here, and opening owns the log and takes in what is missing. It must
  // outlive the store. nullptr: the store's own log, as `durability` says.
  ChangeLog* truth = nullptr;
  // With a truth: who says when this store may own it. Opening follows what others append until
  // then. It must outlive opening. nullptr: it may at once.
  Follower* follower = nullptr;

  // With `truth` unset: opens a cache as well, as it was when it was closed, to be read: nothing
  // may be committed then. Default off. A store that is no cache is opened as ever.
  bool alone = false;
  // With `alone`: a cache becomes a store whose truth is its own log, with what it had when it was
  // closed, and is no cache from then on. Default off. FailedPrecondition: it is none already.
  bool leave_log = false;

  // Told how far opening has come; it must outlive it. nullptr: nobody is.
  OpenProgress* progress = nullptr;

  // File system, clock and background threads. nullptr: the machine's own. Tests inject faults
  // here; it must outlive the store.
  rocksdb::Env* env = nullptr;

  // Told of what opening and background work have to say, one line each, level first: 'I', 'W' or
  // 'E'. Called from any thread. Unset: nothing is said.
  std::function<void(char level, std::string_view line)> log;
};

}  // namespace freshet

#endif  // FRESHET_STORAGE_OPTIONS_H_
