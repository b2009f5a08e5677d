// What is behind Store. Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_STORE_IMPL_H_
#define FRESHET_STORAGE_INTERNAL_STORE_IMPL_H_

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "rocksdb/db.h"
#include "rocksdb/write_batch.h"
#include "storage/store.h"
#include "sync/mutex.h"

namespace freshet {

// Thread-safe, on the terms of Store.
class Store::Impl {
 public:
  Impl(std::string dir, StoreOptions options);
  ~Impl();

  // Opening, in this order.
  // NotFound where there is no store; writes nothing.
  [[nodiscard]] Status CheckExists() const;
  [[nodiscard]] Status Lock();
  [[nodiscard]] Status OpenDatabase();
  [[nodiscard]] Status CheckFormat();
  [[nodiscard]] Status StartGeneration();

  Status Close();
  [[nodiscard]] uint64_t generation() const { return generation_; }
  [[nodiscard]] const Fingerprinter& fingerprinter() const { return fingerprinter_; }

  [[nodiscard]] StatusOr<GlobalRecords> LoadGlobals() const;
  [[nodiscard]] Status Load(Slot first, Slot last, LoadVisitor& visitor) const;
  [[nodiscard]] Status SetShards(uint32_t shards);
  [[nodiscard]] std::vector<StatusOr<PageRecord>> ReadPages(
      std::span<const PageNumber> numbers) const;
  [[nodiscard]] StatusOr<ListResult> List(const ListQuery& query, std::string_view token,
                                          size_t limit) const;
  [[nodiscard]] StatusOr<ScanResult> ScanPages(PageNumber from, PageNumber end, size_t count) const;
  [[nodiscard]] Status Commit(const Changes& changes);
  [[nodiscard]] Status health() const;
  // OK if there is space for another commit, after resuming if it had run out.
  [[nodiscard]] Status EnsureSpace();
  [[nodiscard]] Status Checkpoint(const std::string& dir);
  [[nodiscard]] StatusOr<VerifyReport> Verify() const;
  [[nodiscard]] Status StartCompactions();
  [[nodiscard]] Status Compact();
  [[nodiscard]] StoreStats Stats() const;

 private:
  // Hosts of one slot by name. Filled when first needed.
  struct SlotHosts {
    Mutex mutex;
    bool loaded FRESHET_GUARDED_BY(mutex) = false;
    uint32_t next_serial FRESHET_GUARDED_BY(mutex) = 1;
    absl::flat_hash_map<std::string, uint32_t> serials FRESHET_GUARDED_BY(mutex);
  };
  // One commit on its way into a write batch.
  class BatchBuilder;
  class Listener;
  class ReplayWatch;

  [[nodiscard]] rocksdb::ColumnFamilyHandle* handle(storage::Family family) const {
    return handles_[storage::IndexOf(family)];
  }
  void Say(char level, std::string_view line) const;
  void Enter(OpenStage stage) const;
  // Reads a number of `meta`; nullopt: there is none.
  [[nodiscard]] StatusOr<std::optional<uint64_t>> ReadNumber(const std::string& key) const;
  [[nodiscard]] StatusOr<bool> HasRows() const;
  // The secret that a store without one is to get.
  [[nodiscard]] StatusOr<FingerprintSecret> NewSecret() const;
  // Writes what makes an empty database a store.
  [[nodiscard]] Status WriteFirstRows();
  [[nodiscard]] Status MigrateFrom(uint32_t format);
  [[nodiscard]] Status ReadSecret();
  [[nodiscard]] Status LoadSlotHosts(Slot slot, SlotHosts& hosts) const
      FRESHET_REQUIRES(hosts.mutex);

  // Writes a batch, durably if `sync` says so; takes note of failures.
  [[nodiscard]] Status Write(rocksdb::WriteBatch* batch, bool sync);
  [[nodiscard]] Status NoteWriteError(const rocksdb::Status& status);
  // Ends writing. Returns the first such error.
  [[nodiscard]] Status NoteFailure(const Status& error);
  // Has RocksDB write again after the device was full, if there is space enough for that.
  [[nodiscard]] Status Resume();

  // --- Constant after opening ---
  const std::string dir_;
  const StoreOptions options_;
  rocksdb::Env* const env_;
  rocksdb::FileLock* lock_ = nullptr;
  std::shared_ptr<rocksdb::Cache> cache_;
  std::shared_ptr<rocksdb::Statistics> statistics_;
  std::shared_ptr<Listener> listener_;
  std::unique_ptr<ReplayWatch> replay_watch_;
  std::unique_ptr<rocksdb::DB> db_;
  std::array<rocksdb::ColumnFamilyHandle*, storage::kFamilies> handles_{};
  uint64_t generation_ = 0;
  Fingerprinter fingerprinter_;

  // --- Synchronised by themselves ---
  const std::unique_ptr<std::array<SlotHosts, limits::kSlots>> slot_hosts_;
  // Per slot: every serial from here on is unused; exact for slots that removed a page.
  const std::unique_ptr<std::array<std::atomic<uint64_t>, limits::kSlots>> next_serials_;
  std::atomic<bool> failed_ = false;  // failure_ is set
  std::atomic<bool> full_ = false;    // RocksDB ran out of space and was not resumed yet
  std::atomic<uint64_t> commits_ = 0;
  std::atomic<uint64_t> refused_commits_ = 0;

  mutable Mutex mutex_;
  Status failure_ FRESHET_GUARDED_BY(mutex_);
  Mutex resume_mutex_;
};

}  // namespace freshet

#endif  // FRESHET_STORAGE_INTERNAL_STORE_IMPL_H_
