// A machine that fails on demand: a rocksdb::Env over real files which loses what was not synced,
// tears writes, fails chosen operations and runs out of space.
//
// Model of the disk: an append reaches the file at once, for readers, but survives a crash only
// once the file was synced; a file's creation, link or renaming survives once its directory was
// synced. Deletions survive at once. What an unsuccessful sync did not cover never becomes durable,
// even when a later sync succeeds. RocksDB's files of options cannot be created: nobody reads them,
// RocksDB goes on without, and writing and checking them takes half of the time of an opening.
#ifndef FRESHET_TESTS_SUPPORT_FAULTY_ENV_H_
#define FRESHET_TESTS_SUPPORT_FAULTY_ENV_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace freshet {

// Thread-safe. Operations are numbered from 1 in the order in which they come: appends, syncs of
// files and directories, creations, renames, links, truncations, deletions. Reads are not counted
// and never fail.
class FaultyEnv {
 public:
  // The seed decides how much of torn writes survives.
  explicit FaultyEnv(uint64_t seed);
  ~FaultyEnv();
  FaultyEnv(const FaultyEnv&) = delete;
  FaultyEnv& operator=(const FaultyEnv&) = delete;

  [[nodiscard]] rocksdb::Env* env();

  // Operations so far, and the syncs of write-ahead logs (*.log) among them.
  [[nodiscard]] uint64_t operations() const;
  [[nodiscard]] uint64_t log_syncs() const;

  // --- Faults; each stays until ClearFaults or Crash ---
  // The machine stops at operation `n` from now: it does not happen (an append: in part), nor does
  // any operation after it.
  void DieAt(uint64_t n);
  // Operation `n` from now fails (an append: after writing a part), others do not.
  void FailAt(uint64_t n);
  // As FailAt, counting syncs, or appends, of write-ahead logs only.
  void FailLogSyncAt(uint64_t n);
  void FailLogAppendAt(uint64_t n);
  // Bytes that appends may still take; deletions give none back. What goes beyond fails for lack of
  // space, after writing what fits.
  void SetFreeBytes(uint64_t bytes);
  // Operations wait until this is called with false.
  void SetHanging(bool hanging);
  // Operations that wait so.
  [[nodiscard]] size_t hanging() const;
  void ClearFaults();
  // Whether a fault of the first four kinds has happened.
  [[nodiscard]] bool fired() const;
  // Called without locks before each sync of a write-ahead log. Set before the store is opened.
  void OnLogSync(std::function<void()> hook);

  // The power goes: whatever did not become durable is lost (of appended bytes: all behind a random
  // point), faults are cleared. Precondition: the store is closed.
  void Crash();

 private:
  class Disk;
  class Directory;
  class File;
  std::shared_ptr<Disk> disk_;
  std::unique_ptr<rocksdb::Env> env_;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_SUPPORT_FAULTY_ENV_H_
