// The parts of a Store, and the code that concerns several parts: the format, the rows that a start
// reads, and commits. Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_STORE_IMPL_H_
#define FRESHET_STORAGE_INTERNAL_STORE_IMPL_H_

#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "rocksdb/write_batch.h"
#include "storage/internal/database.h"
#include "storage/internal/page_reads.h"
#include "storage/internal/store_log.h"
#include "storage/internal/stored_leases.h"
#include "storage/store.h"
#include "sync/mutex.h"

namespace freshet {

// Thread-safe, with the exceptions of Store.
class Store::Impl {
 public:
  Impl(std::string dir, StoreOptions options);

  // Opens the store. `store` is the Store of this object.
  [[nodiscard]] Status Open(Store& store);
  [[nodiscard]] storage::Database& base() { return base_; }
  [[nodiscard]] const storage::StoreLog& log() const { return log_; }
  [[nodiscard]] const storage::PageReads& reads() const { return reads_; }
  [[nodiscard]] uint64_t generation() const { return generation_; }
  [[nodiscard]] const Fingerprinter& fingerprinter() const { return fingerprinter_; }
  [[nodiscard]] uint64_t commits() const { return commits_; }

  // See Store.
  [[nodiscard]] StatusOr<GlobalRecords> LoadGlobals() const;
  [[nodiscard]] Status Load(Slot first, Slot last, LoadVisitor& visitor) const;
  [[nodiscard]] Status LoadLeases(LoadVisitor& visitor) const;
  [[nodiscard]] Status SetShards(uint32_t shards);
  [[nodiscard]] Status Commit(const Changes& changes);
  // Writes changes of the frontier in the same way as Commit writes changes of pages.
  [[nodiscard]] Status CommitFrontier(rocksdb::WriteBatch* batch);

 private:
  // The partition of the log with the frontier's rows.
  static constexpr uint16_t kFrontierPartition = 0;
  // The hosts of one slot by name. Read when first needed.
  struct SlotHosts {
    Mutex mutex;
    bool loaded FRESHET_GUARDED_BY(mutex) = false;
    uint32_t next_serial FRESHET_GUARDED_BY(mutex) = 1;
    absl::flat_hash_map<std::string, uint32_t> serials FRESHET_GUARDED_BY(mutex);
  };
  // Turns one commit into a write batch.
  class BatchBuilder;

  // NotFound: there is no store. Writes nothing.
  [[nodiscard]] Status CheckExists() const;
  // Migrates an older format. Initializes an empty database as a store.
  [[nodiscard]] Status CheckFormat();
  // Deletes everything that epochs have learned.
  [[nodiscard]] Status DropEpochs(rocksdb::WriteBatch* batch) const;
  // Reads into memory the rows that Load and commits need. Called again when these rows change.
  [[nodiscard]] Status ReadMarks();
  // Starts this run's generation, whose number ReadMarks has determined.
  [[nodiscard]] Status StartGeneration();
  [[nodiscard]] Status ReadSerialMarks();
  // Returns true if any family has a row.
  [[nodiscard]] StatusOr<bool> HasRows() const;
  // Writes the first rows, which make an empty database a store.
  [[nodiscard]] Status WriteFirstRows();
  [[nodiscard]] Status MigrateFrom(uint32_t format);
  // Reads the secret of the fingerprints. DataLoss: it is missing or damaged.
  [[nodiscard]] Status ReadSecret();
  // Moves the crawl frontier into this database, and removes the separate database in which a
  // server before format 5 kept it (store_frontier.cc).
  [[nodiscard]] Status MoveFrontier();
  // Copies all rows of the frontier's separate database in `dir` into this database, durably.
  [[nodiscard]] Status CopyFrontier(const std::string& dir);
  // Reads the hosts of a slot into memory. Precondition: they are not loaded.
  [[nodiscard]] Status LoadSlotHosts(Slot slot, SlotHosts& hosts) const
      FRESHET_REQUIRES(hosts.mutex);

  storage::Database base_;
  storage::StoreLog log_;
  storage::StoredLeases leases_;
  storage::PageReads reads_;
  uint64_t generation_ = 0;
  Fingerprinter fingerprinter_;
  const std::unique_ptr<std::array<SlotHosts, limits::kSlots>> slot_hosts_;
  // Per slot: a lower bound of the first unused serial. Pages that were removed have lower serials.
  const std::unique_ptr<std::array<std::atomic<uint64_t>, limits::kSlots>> next_serials_;
  std::atomic<uint64_t> commits_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_STORAGE_INTERNAL_STORE_IMPL_H_
