// A machine that fails on demand: a rocksdb::Env over real files that loses unsynced bytes, tears
// writes, fails chosen operations and runs out of space.
//
// Model of the disk: an append is visible to readers at once, but survives a crash only after a
// sync of the file. A file's creation, link or rename survives after a sync of its directory.
// Deletions survive at once. Bytes of a failed sync never become durable, even if a later sync
// succeeds. RocksDB's files of options cannot be created: RocksDB continues without them, and
// writing and checking them takes half the time of opening a store.
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

// A disk with faults. Thread-safe. Operations are numbered from 1 in their order: appends, syncs of
// files and directories, creations, renames, links, truncations, deletions. Reads are not counted
// and never fail.
class FaultyEnv {
 public:
  // The seed decides how much of a torn write survives.
  explicit FaultyEnv(uint64_t seed);
  ~FaultyEnv();
  FaultyEnv(const FaultyEnv&) = delete;
  FaultyEnv& operator=(const FaultyEnv&) = delete;

  [[nodiscard]] rocksdb::Env* env();

  // operations() returns the number of operations so far. log_syncs() returns how many of them were
  // syncs of write-ahead logs (*.log).
  [[nodiscard]] uint64_t operations() const;
  [[nodiscard]] uint64_t log_syncs() const;

  // --- Faults; each stays until ClearFaults or Crash ---
  // The machine stops at operation `n` from now. This operation does not happen (an append happens
  // in part), and no later one does.
  void DieAt(uint64_t n);
  // Only operation `n` from now fails; an append fails after writing a part.
  void FailAt(uint64_t n);
  // These work like FailAt, but count only syncs or only appends of write-ahead logs.
  void FailLogSyncAt(uint64_t n);
  void FailLogAppendAt(uint64_t n);
  // Sets the number of bytes that are left for appends. Deletions free nothing. When no bytes are
  // left, an append writes as much as fits, and fails for lack of space.
  void SetFreeBytes(uint64_t bytes);
  // The device is full from operation `n` from now on. New files can still be created.
  void RunOutAt(uint64_t n);
  // Sets whether the reported free space ignores the faults. The real free space can be smaller
  // than reported because of a quota, or because other processes fill the device.
  void HideFreeBytes(bool hidden);
  // Sets whether lack of space is reported as an exceeded quota.
  void SayQuota(bool quota);
  // All operations wait until SetHanging(false).
  void SetHanging(bool hanging);
  // Number of waiting operations.
  [[nodiscard]] size_t hanging() const;
  void ClearFaults();
  // Whether a fault of DieAt, FailAt, FailLogSyncAt or FailLogAppendAt has happened.
  [[nodiscard]] bool fired() const;
  // Calls `hook` without locks before each sync of a write-ahead log. Must be set before the store
  // is opened.
  void OnLogSync(std::function<void()> hook);

  // Cuts the power. All bytes that are not durable are lost; of an append that is not durable, the
  // bytes up to a random point survive. Clears all faults. Precondition: the store is closed.
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
