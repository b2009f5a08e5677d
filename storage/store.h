// The durable state of a Freshet service: every page, host, lease, source, crawl id and setting, in
// one RocksDB database. Only storage/ knows about keys, column families and encodings
// (docs/storage-format.md).
#ifndef FRESHET_STORAGE_STORE_H_
#define FRESHET_STORAGE_STORE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/model/crawl.h"
#include "core/model/epoch.h"
#include "core/model/page_number.h"
#include "core/model/settings.h"
#include "core/model/source.h"
#include "storage/format.h"
#include "storage/options.h"

namespace freshet {

struct Changes;
struct FrontierReport;
struct HostRecord;
struct LeaseRecord;
struct ListResult;
struct PageRecord;
struct PageSpec;
struct PageState;
struct ScanResult;

// The parts of one page that start-up reads. The references are valid only during
// LoadVisitor::OnPage.
struct LoadedPage {
  PageNumber number;
  uint64_t fingerprint = 0;  // made by Store::fingerprinter
  const std::string& host;
  uint32_t host_serial = 0;  // counts from 1 within the slot; the same for all pages of a host
  std::string_view crawl_id;
  const PageSpec& spec;
  const PageState& state;
};

// Receives what Store::Load reads, slot after slot: the slot's hosts, its pages in ascending order
// of their numbers, its assignments and leases, and then OnSlotEnd (also for slots without pages).
// A status that is not OK ends the load and is returned. All functions are called on the thread
// that loads.
class LoadVisitor {
 public:
  virtual ~LoadVisitor() = default;
  virtual Status OnHost(const HostRecord& host, uint32_t host_serial) = 0;
  virtual Status OnPage(const LoadedPage& page) = 0;
  // Receives the time at which a page was last assigned. Older assignments can be missing: only
  // those within kAssignmentsKept before their shard's last commit of leases are certain to come.
  // The page may have been removed.
  virtual Status OnAssignment(PageNumber /*page*/, Instant /*at*/) { return absl::OkStatus(); }
  // Receives an open or finished lease.
  virtual Status OnLease(const LeaseRecord& lease) = 0;
  // `next_serial`: no page of this slot ever had this serial or a higher one.
  virtual Status OnSlotEnd(Slot slot, uint64_t next_serial) = 0;
};

// Records that belong to no slot.
struct GlobalRecords {
  Settings settings;
  std::vector<EpochRecord> epochs;    // by shard
  std::vector<SourceRecord> sources;  // by index
  std::vector<CrawlRecord> crawls;    // by crawl id
  uint32_t shards = 0;                // shards of the last run; 0 = none yet
};

// Restricts the pages that List returns. Unset or empty parts do not restrict.
struct ListQuery {
  std::optional<std::string> crawl_id;
  std::string host;
  std::string url_prefix;
};

// Digest of the rows of a column family that come from a log.
struct FamilyDigest {
  std::string family;
  uint64_t rows = 0;
  uint64_t digest = 0;
  friend bool operator==(const FamilyDigest&, const FamilyDigest&) = default;
};

// The counts of a verification, and the problems found. Value type, thread-compatible.
struct VerifyReport {
  uint64_t pages = 0;
  uint64_t hosts = 0;
  uint64_t leases = 0;  // open ones
  uint64_t problem_count = 0;
  std::vector<std::string> problems;  // the first kMaxProblems of them
  // Only in a cluster. Two stores that have read the same log up to the same offset have equal
  // digests.
  std::vector<FamilyDigest> digests;
  static constexpr size_t kMaxProblems = 100;
  [[nodiscard]] bool ok() const { return problem_count == 0; }
};

// Figures of an open store. Value type, thread-compatible.
struct StoreStats {
  static constexpr size_t kLevels = 7;
  struct PerFamily {
    uint64_t table_bytes = 0;  // bytes of live table files
    // An estimate, which counts rewritten rows twice until they are compacted. Right after opening,
    // it comes from a sample of tables.
    uint64_t estimated_rows = 0;
  };
  std::array<PerFamily, storage::kFamilies> families;
  uint64_t table_bytes = 0;  // all files, including those waiting for deletion
  uint64_t wal_bytes = 0;
  uint64_t memtable_bytes = 0;
  uint64_t cache_bytes = 0;       // bytes of blocks
  uint64_t page_cache_bytes = 0;  // bytes of page rows
  uint64_t free_bytes = 0;        // free bytes of the device
  // Since opening:
  uint64_t commits = 0;  // successful commits that were not empty
  uint64_t syncs = 0;    // syncs of the write-ahead log
  uint64_t wal_written_bytes = 0;
  uint64_t flushed_bytes = 0;
  uint64_t compacted_bytes = 0;  // bytes written by compactions
  uint64_t refused_commits = 0;  // refused for lack of space
  uint64_t page_cache_hits = 0;  // page reads that the page cache answered
  uint64_t page_cache_misses = 0;
  uint64_t block_cache_hits = 0;
  uint64_t block_cache_misses = 0;
  uint64_t stalled_micros = 0;  // total delay of commits by slow compactions
  // Now:
  bool writes_stopped = false;
  uint64_t delayed_bytes_per_second = 0;  // limit for commits; 0 = none
  uint64_t pending_compaction_bytes = 0;  // approximate bytes to be rewritten
  uint64_t running_flushes = 0;
  uint64_t running_compactions = 0;
  std::array<uint64_t, kLevels> table_files{};  // by level
};

// Appends and syncs of files since opening. Value type, thread-compatible.
struct StoreWrites {
  uint64_t begun = 0;
  uint64_t ended = 0;
};

// Why pages are read.
enum class ReadFor : uint8_t {
  kLooking,
  // Caches the rows, because these pages will be committed. Only the thread that commits these
  // pages may use kChanging, and only while no commit of them is in progress.
  kChanging,
};

// Thread-safe: any number of threads may call any function at any time, with these exceptions. Two
// concurrent commits must not touch the same slot or leases of the same shard. No commit may run
// during Load or SetShards. After Close only destruction is allowed.
//
// Group commit: threads that call Commit together share one write and one sync of the log (the
// first of them becomes RocksDB's write-group leader and writes for all that wait).
class Store {
 public:
  // Opens the database in `dir`, and migrates an older format. Creates the database and the last
  // directory of the path if there is none. If an interrupted write, which was never acknowledged,
  // has left a torn tail in the log, cuts the tail off and reports this to options.log.
  //
  // A relative `dir` is resolved from the working directory, like every path that storage takes.
  //
  // Cancelled: OpenProgress::cancelled was set; the next opening finds everything as it was.
  // FailedPrecondition: in use by another process, or written by a newer release. PermissionDenied.
  // DataLoss, naming file and offset: damaged. ResourceExhausted: no space to open it.
  [[nodiscard]] static StatusOr<std::unique_ptr<Store>> Open(const std::string& dir,
                                                             const StoreOptions& options);
  // Closes without reporting errors.
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Writes memtables to tables, so that the next start has no log to replay, and unlocks the
  // directory. The store is closed whatever the status. Idempotent.
  Status Close();

  // Increases with every opening of this database; >= 1.
  [[nodiscard]] uint64_t generation() const;
  // For the store of a cluster's server, which is a cache of the cluster's log. FailedPrecondition,
  // with a time: the cache was last written so long ago that the log may have forgotten later
  // removals, or at a time in the future. OK otherwise, and for the store of a single server.
  [[nodiscard]] Status CheckAge() const;
  // Makes the fingerprints that Load returns.
  [[nodiscard]] const Fingerprinter& fingerprinter() const;

  // --- Start-up ---
  // Reads the records that belong to no slot. DataLoss: a row is damaged.
  [[nodiscard]] StatusOr<GlobalRecords> LoadGlobals() const;
  // Reads the slots from `first` to `last`, both included, in order, without a lock: several
  // threads can load disjoint ranges. Cost: one sequential read of pages, hosts and leases.
  // DataLoss: a row is damaged.
  [[nodiscard]] Status Load(Slot first, Slot last, LoadVisitor& visitor) const;
  // Reads only the assignments and leases, of all slots. `next_serial` of OnSlotEnd is then only a
  // lower bound of the first unused serial: it covers removed pages, but not stored ones.
  [[nodiscard]] Status LoadLeases(LoadVisitor& visitor) const;
  // Stores the number of shards. If the number changes, drops the learned models, because each
  // belongs to the pages of one shard. All shards then continue from the last epoch's number.
  [[nodiscard]] Status SetShards(uint32_t shards);

  // --- Reading ---
  // Reads the whole records of these pages, in order. Each record is as some commit has left it.
  // NotFound: no page has the number. DataLoss: a damaged row. Costs one batched read of the rows
  // that the page cache does not hold. This is cheapest if the numbers are in ascending order.
  [[nodiscard]] std::vector<StatusOr<PageRecord>> ReadPages(std::span<const PageNumber> numbers,
                                                            ReadFor what = ReadFor::kLooking) const;

  // Returns the next pages that match the query, at most `limit` >= 1, in ascending order of their
  // numbers. If the query has a host, reads only the host's slot, otherwise everything. May return
  // fewer pages, even none, with a token for the next call. An empty token starts a new list.
  // InvalidArgument: List cannot have returned `token` for this query. Pages created or removed
  // between two calls may or may not be included.
  [[nodiscard]] StatusOr<ListResult> List(const ListQuery& query, std::string_view token,
                                          size_t limit) const;
  // Returns the next pages with from <= number < end, at most `count` >= 1, in ascending order of
  // their numbers, from one snapshot. May return fewer pages, even none, with a number to continue
  // from, because skipping rows of removed pages takes as long as reading.
  [[nodiscard]] StatusOr<ScanResult> ScanPages(PageNumber from, PageNumber end, size_t count) const;

  // --- Writing ---
  // Writes all of `changes` or nothing, and returns when they are as durable as the options say.
  //
  // Internal: a record is invalid; nothing was written and the store is as before.
  // ResourceExhausted: the device is full; nothing was written, reads still work, and commits
  // succeed again as soon as there is space. Any other status ends writing: it is unknown until the
  // next opening whether the changes were written, and every later commit returns the same status.
  [[nodiscard]] Status Commit(const Changes& changes);
  // OK if commits can succeed. ResourceExhausted if the device is full. Otherwise the error that
  // ended writing. These states are detected by commits and background work; this call also
  // checks the free space.
  [[nodiscard]] Status health() const;
  // The numbers of writes. If writes are in progress and none ends, the disk does not respond.
  [[nodiscard]] StoreWrites writes() const;
  // After the device was full, makes commits succeed again if there is space. Without this call the
  // next commit tries to do so. Not OK: ResourceExhausted if there is no space.
  [[nodiscard]] Status TryResume();

  // --- Upkeep ---
  // Makes a consistent copy of the database in the new directory `dir`, with hard links if the file
  // system allows; commits continue. Open the copy like any other. AlreadyExists: `dir` exists.
  [[nodiscard]] Status Checkpoint(const std::string& dir);
  // Reads everything and compares the column families with each other. Problems are in the report.
  // A status that is not OK means that verification itself was not possible.
  [[nodiscard]] StatusOr<VerifyReport> Verify() const;
  // Starts the compactions that StoreOptions::hold_compactions has held back. No-op if none were
  // held back.
  [[nodiscard]] Status StartCompactions();
  // Rewrites all tables without removed and overwritten rows.
  [[nodiscard]] Status Compact();
  [[nodiscard]] StoreStats Stats() const;

 private:
  friend class FrontierBatch;
  friend class FrontierStore;
  friend class FrontierRows;
  class Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace freshet

#endif  // FRESHET_STORAGE_STORE_H_
