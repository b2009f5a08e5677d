// What is behind Store. Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_STORE_IMPL_H_
#define FRESHET_STORAGE_INTERNAL_STORE_IMPL_H_

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "rocksdb/db.h"
#include "rocksdb/write_batch.h"
#include "storage/change_log.h"
#include "storage/internal/lease_log.h"
#include "storage/internal/log_tail.h"
#include "storage/internal/page_cache.h"
#include "storage/internal/watched_env.h"
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
  // Owns what is in the log, and takes in what the store does not have of it. `store` is the one
  // of this.
  [[nodiscard]] Status CatchUp(Store& store);
  // Without a truth: whether it is none's cache, or is to be read alone. Before anything is
  // written.
  [[nodiscard]] Status OpenAlone();
  // Of a cache: whether its log knows all that was removed since it was written last.
  [[nodiscard]] Status CheckAge() const;
  // Makes of the rows what Load and commits need in memory; again, when there are others.
  [[nodiscard]] Status ReadMarks();
  // Those of this run; ReadMarks has told which one it is.
  [[nodiscard]] Status StartGeneration();

  Status Close();
  [[nodiscard]] uint64_t generation() const { return generation_; }
  [[nodiscard]] const Fingerprinter& fingerprinter() const { return fingerprinter_; }

  [[nodiscard]] StatusOr<GlobalRecords> LoadGlobals() const;
  [[nodiscard]] Status Load(Slot first, Slot last, LoadVisitor& visitor) const;
  [[nodiscard]] Status LoadLeases(LoadVisitor& visitor) const;
  [[nodiscard]] Status SetShards(uint32_t shards);
  [[nodiscard]] std::vector<StatusOr<PageRecord>> ReadPages(std::span<const PageNumber> numbers,
                                                            ReadFor what) const;
  [[nodiscard]] StatusOr<ListResult> List(const ListQuery& query, std::string_view token,
                                          size_t limit) const;
  [[nodiscard]] StatusOr<ScanResult> ScanPages(PageNumber from, PageNumber end, size_t count) const;
  [[nodiscard]] Status Commit(const Changes& changes);
  // Writes changes of the frontier that a cache has, as Commit does. Whether there is one to write.
  [[nodiscard]] bool has_frontier() const { return !frontier_handles_.empty(); }
  [[nodiscard]] const std::vector<rocksdb::ColumnFamilyHandle*>& frontier_handles() const {
    return frontier_handles_;
  }
  [[nodiscard]] rocksdb::DB& db() const { return *db_; }
  [[nodiscard]] Status CommitFrontier(rocksdb::WriteBatch* batch);
  [[nodiscard]] Status health() const;
  [[nodiscard]] StoreWrites writes() const {
    // In this order one that ends meanwhile counts as begun.
    const uint64_t ended = writes_->ended;
    return {.begun = writes_->begun, .ended = ended};
  }
  // OK if there is space for another commit, after resuming if it had run out.
  [[nodiscard]] Status EnsureSpace();
  [[nodiscard]] Status Checkpoint(const std::string& dir);
  [[nodiscard]] StatusOr<VerifyReport> Verify() const;
  [[nodiscard]] Status StartCompactions();
  [[nodiscard]] Status Compact();
  [[nodiscard]] StoreStats Stats() const;

 private:
  // Of the log: where the rows of the frontier are.
  static constexpr uint16_t kFrontierPartition = 0;
  // Hosts of one slot by name. Filled when first needed.
  struct SlotHosts {
    Mutex mutex;
    bool loaded FRESHET_GUARDED_BY(mutex) = false;
    uint32_t next_serial FRESHET_GUARDED_BY(mutex) = 1;
    absl::flat_hash_map<std::string, uint32_t> serials FRESHET_GUARDED_BY(mutex);
  };
  // What was taken in last of a partition, and when that was looked at.
  struct Followed {
    storage::LogTail tail;
    uint64_t looked_micros = 0;
  };
  using LeaseLogs = std::array<storage::LeaseLog, limits::kMaxShards>;
  // What start-up reads of leases.
  struct StoredLeases {
    uint64_t commits = 0;                                     // that there had been
    std::vector<LeaseRecord> leases;                          // by slot and id
    std::vector<std::pair<PageNumber, Instant>> assignments;  // the last of each page, by number
  };
  class LeaseReplay;
  // One commit on its way into a write batch.
  class BatchBuilder;
  class Listener;
  class ReplayWatch;

  [[nodiscard]] rocksdb::ColumnFamilyHandle* handle(storage::Family family) const {
    const size_t index = storage::IndexOf(family);
    return index < handles_.size() ? handles_[index] : frontier_handles_[index - handles_.size()];
  }
  // All that there are.
  [[nodiscard]] std::vector<rocksdb::ColumnFamilyHandle*> families() const;
  void Say(char level, std::string_view line) const;
  void Enter(OpenStage stage) const;
  // Refuses a database with column families that this release does not know. Whether it has those
  // of a cache.
  [[nodiscard]] StatusOr<bool> CheckFamilies(const rocksdb::DBOptions& db_options) const;
  // What was replayed has its place in memory; from now on memtables are written as they fill.
  [[nodiscard]] Status LimitMemtables();
  // Reads a number of `meta`; nullopt: there is none.
  [[nodiscard]] StatusOr<std::optional<uint64_t>> ReadNumber(const std::string& key) const;
  // A row of `meta`. NotFound: there is none.
  [[nodiscard]] StatusOr<std::string> ReadMeta(const std::string& key) const;
  // Deletes all that epochs have learned.
  [[nodiscard]] Status DropEpochs(rocksdb::WriteBatch* batch) const;
  [[nodiscard]] Status ReadGeneration();
  [[nodiscard]] Status ReadSerialMarks();
  [[nodiscard]] Status OpenLeaseLogs();
  [[nodiscard]] StatusOr<bool> HasRows() const;
  // The secret that a store without one is to get.
  [[nodiscard]] StatusOr<FingerprintSecret> NewSecret() const;
  // Writes what makes an empty database a store.
  [[nodiscard]] Status WriteFirstRows();
  [[nodiscard]] Status MigrateFrom(uint32_t format);
  [[nodiscard]] Status ReadSecret();
  [[nodiscard]] Status LoadSlotHosts(Slot slot, SlotHosts& hosts) const
      FRESHET_REQUIRES(hosts.mutex);
  // store_leases.cc.
  using LeaseRowVisit = std::function<void(uint16_t shard, uint64_t sequence,
                                           std::vector<storage::LeaseEntry>& entries)>;
  [[nodiscard]] Status ForEachLeaseRow(const LeaseRowVisit& visit) const;
  [[nodiscard]] StatusOr<std::vector<storage::LeaseEntry>> ReadLeaseRow(uint16_t shard,
                                                                        uint64_t sequence) const;
  [[nodiscard]] StatusOr<std::shared_ptr<const StoredLeases>> ReadLeases() const
      FRESHET_EXCLUDES(leases_mutex_);
  [[nodiscard]] static Status LoadLeasesOf(Slot slot, const StoredLeases& stored,
                                           LoadVisitor& visitor);
  // Has the leases written anew as those of so many shards; the logs that there are then.
  [[nodiscard]] StatusOr<std::unique_ptr<LeaseLogs>> DealLeases(uint32_t shards,
                                                                rocksdb::WriteBatch* batch) const;

  // store_log.cc. Writes a batch where the truth is, and then here.
  [[nodiscard]] Status WriteDurably(rocksdb::WriteBatch* batch, uint16_t partition);
  // Notes in the batch to where the store is complete with it.
  [[nodiscard]] Status PutMark(rocksdb::WriteBatch& batch, uint16_t partition,
                               uint64_t offset) const;
  // When it last had all of the log: it has no row that was removed before.
  [[nodiscard]] Status PutTime(rocksdb::WriteBatch& batch, uint64_t seconds) const;
  // The same, now and then.
  [[nodiscard]] Status MarkTime(uint64_t seconds);
  // store_frontier.cc. Gives the frontier of a cache a database of its own, as a single server has.
  [[nodiscard]] Status MoveFrontier();
  // Removes what makes this store a cache.
  [[nodiscard]] Status LeaveLog(uint64_t complete_seconds);
  // Whether this store can be a cache of that log.
  [[nodiscard]] Status CheckCache(const ChangeLog& log) const;
  // Whether the partition is the one that this store was read from.
  [[nodiscard]] Status CheckBirth(uint16_t partition) const;
  // From now on it is one of no other.
  [[nodiscard]] Status MarkName(const ChangeLog& log);
  // Takes in what others append, until this store may own the log.
  [[nodiscard]] Status Follow(Store& store);
  // Has the follower prepare itself, if it is time for that.
  [[nodiscard]] Status Prepare(Store& store);
  void OutdatePrepared();
  // Rows of one partition on their way into the store.
  class RowTaker;
  // DataLoss: the partition has other rows than this store has taken in last.
  [[nodiscard]] Status CheckTail(uint16_t partition) const;
  // Takes in what a partition has, to `end` as ChangeLog::Read does.
  [[nodiscard]] Status CatchUp(uint16_t partition, std::optional<uint64_t> end);
  // The same of all partitions, so many at a time.
  [[nodiscard]] Status CatchUpAll(uint32_t at_once);
  // Owns a partition, and takes in the rest of it.
  [[nodiscard]] Status Own(uint16_t partition);
  // Does `work` of all partitions, so many at a time; the first failure.
  [[nodiscard]] Status OfAll(uint32_t at_once, const std::function<Status(uint16_t)>& work) const;
  // Both append rows that this store, which owns the partition, is to meet when it reads on: all
  // that others have appended lies before them. They return the offset after them.
  [[nodiscard]] StatusOr<uint64_t> AppendOwners(uint16_t partition);
  [[nodiscard]] StatusOr<uint64_t> AppendFirst(uint16_t partition);
  using Numbers = std::vector<std::pair<storage::MetaKey, uint64_t>>;
  [[nodiscard]] StatusOr<uint64_t> AppendNumbers(uint16_t partition, const Numbers& numbers);

  // Writes a batch, durably if `sync` says so; takes note of failures.
  [[nodiscard]] Status Write(rocksdb::WriteBatch* batch, bool sync);
  [[nodiscard]] Status NoteWriteError(const rocksdb::Status& status);
  // Ends writing. Returns the first such error.
  [[nodiscard]] Status NoteFailure(const Status& error);
  // Has RocksDB write again after the device was full, if there is space enough for that.
  [[nodiscard]] Status Resume();

  // --- Constant after opening ---
  const std::string dir_;
  const std::shared_ptr<storage::WriteCounts> writes_ = std::make_shared<storage::WriteCounts>();
  const std::unique_ptr<rocksdb::Env> watched_env_;
  const StoreOptions options_;  // with that
  rocksdb::Env* const env_;
  rocksdb::FileLock* lock_ = nullptr;
  std::shared_ptr<rocksdb::Cache> cache_;
  std::shared_ptr<rocksdb::Statistics> statistics_;
  std::shared_ptr<Listener> listener_;
  std::unique_ptr<ReplayWatch> replay_watch_;
  std::unique_ptr<rocksdb::DB> db_;
  bool roomy_memtables_ = false;  // until LimitMemtables
  std::array<rocksdb::ColumnFamilyHandle*, storage::kFamilies> handles_{};
  // Of a cache: by FrontierFamily; else empty.
  std::vector<rocksdb::ColumnFamilyHandle*> frontier_handles_;
  std::atomic<uint64_t> rows_taken_in_ = 0;  // of the log
  uint64_t marked_seconds_ = 0;              // by MarkTime
  bool prepared_ = false;                    // the follower has what the store has
  std::atomic<bool> outdated_ = false;       // and no longer
  bool read_only_ = false;                   // a cache, without its truth
  uint64_t generation_ = 0;
  Fingerprinter fingerprinter_;
  Status lease_damage_;

  // --- Synchronised by themselves ---
  const std::unique_ptr<std::array<SlotHosts, limits::kSlots>> slot_hosts_;
  // Per slot: every serial from here on is unused; exact for slots that removed a page.
  const std::unique_ptr<std::array<std::atomic<uint64_t>, limits::kSlots>> next_serials_;
  // Each is that of the commits of its shard.
  std::unique_ptr<LeaseLogs> lease_logs_;
  const std::unique_ptr<storage::PageCache> page_cache_;
  // By partition, each held from a row's place in the log to its place here: else the offset of a
  // later commit could say that an earlier one is here.
  const std::unique_ptr<std::array<Mutex, limits::kMaxShards>> log_mutexes_;
  // By partition, each that of whoever reads it.
  const std::unique_ptr<std::array<Followed, limits::kMaxShards>> followed_;
  mutable std::atomic<uint64_t> page_cache_hits_ = 0;
  mutable std::atomic<uint64_t> page_cache_misses_ = 0;
  std::atomic<bool> failed_ = false;  // failure_ is set
  std::atomic<bool> full_ = false;    // RocksDB ran out of space and was not resumed yet
  std::atomic<uint64_t> commits_ = 0;
  std::atomic<uint64_t> refused_commits_ = 0;

  mutable Mutex mutex_;
  Status failure_ FRESHET_GUARDED_BY(mutex_);
  Mutex resume_mutex_;
  mutable Mutex leases_mutex_;
  mutable std::shared_ptr<StoredLeases> stored_leases_ FRESHET_GUARDED_BY(leases_mutex_);
};

}  // namespace freshet

#endif  // FRESHET_STORAGE_INTERNAL_STORE_IMPL_H_
