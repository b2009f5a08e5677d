// The durable memory of a Freshet service: every page, host, lease, source, crawl id and setting,
// in one RocksDB database. The only part of the program that knows keys, column families and bytes
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

// What start-up reads of one page. The references are valid during the call.
struct LoadedPage {
  PageNumber number;
  uint64_t fingerprint = 0;  // by Store::fingerprinter
  const std::string& host;
  uint32_t host_serial = 0;  // dense, from 1, within the slot; the same for all pages of a host
  std::string_view crawl_id;
  const PageSpec& spec;
  const PageState& state;
};

// Receives what Store::Load reads, slot after slot: the slot's hosts, its pages by rising number,
// its assignments and leases, then OnSlotEnd (also for slots without pages). A status that is not
// OK ends the load and is returned. Called on the thread that loads.
class LoadVisitor {
 public:
  virtual ~LoadVisitor() = default;
  virtual Status OnHost(const HostRecord& host, uint32_t host_serial) = 0;
  virtual Status OnPage(const LoadedPage& page) = 0;
  // When a page was assigned last, of pages for which that was less than kAssignmentsKept before
  // the last commit of leases of their shard; of others at most. The page may have been removed.
  virtual Status OnAssignment(PageNumber /*page*/, Instant /*at*/) { return absl::OkStatus(); }
  // Those that are over included.
  virtual Status OnLease(const LeaseRecord& lease) = 0;
  // `next_serial`: every serial from here on was never given to a page of this slot.
  virtual Status OnSlotEnd(Slot slot, uint64_t next_serial) = 0;
};

// Records that belong to no slot.
struct GlobalRecords {
  Settings settings;
  std::vector<EpochRecord> epochs;    // by shard
  std::vector<SourceRecord> sources;  // by index
  std::vector<CrawlRecord> crawls;    // by crawl id
  uint32_t shards = 0;                // of the last run; zero: none yet
};

// Which pages List gives. Unset or empty parts do not restrict.
struct ListQuery {
  std::optional<std::string> crawl_id;
  std::string host;
  std::string url_prefix;
};

// All rows of a column family that come from a log.
struct FamilyDigest {
  std::string family;
  uint64_t rows = 0;
  uint64_t digest = 0;
  friend bool operator==(const FamilyDigest&, const FamilyDigest&) = default;
};

struct VerifyReport {
  uint64_t pages = 0;
  uint64_t hosts = 0;
  uint64_t leases = 0;  // open ones
  uint64_t problem_count = 0;
  std::vector<std::string> problems;  // the first kMaxProblems of them
  // Only a store in a cluster has them: two stores that have read the same log as far have equal
  // ones.
  std::vector<FamilyDigest> digests;
  static constexpr size_t kMaxProblems = 100;
  [[nodiscard]] bool ok() const { return problem_count == 0; }
};

struct StoreStats {
  static constexpr size_t kLevels = 7;
  struct PerFamily {
    uint64_t table_bytes = 0;  // of live table files
    // Counts rewritten rows twice until they are compacted; after opening, from a sample of tables.
    uint64_t estimated_rows = 0;
  };
  std::array<PerFamily, storage::kFamilies> families;
  uint64_t table_bytes = 0;  // all files, those waiting for deletion included
  uint64_t wal_bytes = 0;
  uint64_t memtable_bytes = 0;
  uint64_t cache_bytes = 0;       // of blocks
  uint64_t page_cache_bytes = 0;  // of rows of pages
  uint64_t free_bytes = 0;        // on the device
  // Since opening:
  uint64_t commits = 0;  // that succeeded and were not empty
  uint64_t syncs = 0;    // of the write-ahead log
  uint64_t wal_written_bytes = 0;
  uint64_t flushed_bytes = 0;
  uint64_t compacted_bytes = 0;  // written by compactions
  uint64_t refused_commits = 0;  // for lack of space
  uint64_t page_cache_hits = 0;  // pages that were read without a look into the database
  uint64_t page_cache_misses = 0;
  uint64_t block_cache_hits = 0;
  uint64_t block_cache_misses = 0;
  uint64_t stalled_micros = 0;  // that commits were held back for, as tables were behind
  // Now:
  bool writes_stopped = false;
  uint64_t delayed_bytes_per_second = 0;  // what commits are held to; 0: they are not
  uint64_t pending_compaction_bytes = 0;  // about what is to be rewritten
  uint64_t running_flushes = 0;
  uint64_t running_compactions = 0;
  std::array<uint64_t, kLevels> table_files{};  // by level
};

// Appends and syncs of files since opening. Value type, thread-compatible.
struct StoreWrites {
  uint64_t begun = 0;
  uint64_t ended = 0;
};

// What pages are read for.
enum class ReadFor : uint8_t {
  kLooking,
  // Their rows are kept for the next time. Only by who commits them, while no commit of them is
  // under way.
  kChanging,
};

// Thread-safe: any number of threads may call any function at any time, but two commits that run at
// the same time must not touch the same slot, nor leases of the same shard, and none may run beside
// Load or SetShards. After Close only destruction is allowed.
//
// Group commit: threads that call Commit together share one write and one sync of the log (the
// first of them becomes RocksDB's write-group leader and writes for all that wait).
class Store {
 public:
  // Opens the database in `dir`, creating it (and the last directory of the path) if there is none,
  // migrating one of an older format. A torn tail that an interrupted, never acknowledged write
  // left in the log is cut off and reported to options.log.
  //
  // A relative `dir` is in the working directory, here and wherever storage takes a path.
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

  // Writes what is in memory to tables, so that the next start has no log to replay, and lets the
  // directory go. The store is closed whatever the status says. Idempotent.
  Status Close();

  // Rises with every opening of this database; >= 1.
  [[nodiscard]] uint64_t generation() const;
  // OK unless it is the cache of a log and was last written too long ago: then the log may no
  // longer know what was removed since. FailedPrecondition says when that was.
  [[nodiscard]] Status CheckAge() const;
  // Makes the fingerprints that Load gives.
  [[nodiscard]] const Fingerprinter& fingerprinter() const;

  // --- Start-up ---
  [[nodiscard]] StatusOr<GlobalRecords> LoadGlobals() const;
  // Reads the slots from `first` to `last`, both included, in order, without a lock: several
  // threads can load disjoint ranges. Cost: one sequential read of states, hosts and leases.
  // DataLoss: a row is damaged.
  [[nodiscard]] Status Load(Slot first, Slot last, LoadVisitor& visitor) const;
  // Of that the assignments and leases alone, of all slots; OnSlotEnd tells no more than that
  // serials before it may have been given.
  [[nodiscard]] Status LoadLeases(LoadVisitor& visitor) const;
  // Notes the number of shards. When it has changed, drops what was learned, which holds for the
  // pages of a shard only; the number of the last epoch becomes that of every shard.
  [[nodiscard]] Status SetShards(uint32_t shards);

  // --- Reading ---
  // The whole records of these pages, in order, each as a commit has left it: NotFound for a number
  // without page, DataLoss for a damaged row. One batched read of what
  // StoreOptions::page_cache_bytes does not hold, cheapest for numbers that rise.
  [[nodiscard]] std::vector<StatusOr<PageRecord>> ReadPages(std::span<const PageNumber> numbers,
                                                            ReadFor what = ReadFor::kLooking) const;

  // The next pages that fit the query, at most `limit` >= 1, by rising number: with a host its slot
  // is read, else everything. May give fewer pages, even none, with a token to go on with. An empty
  // token starts; InvalidArgument for one that List has not given. Pages created or removed between
  // two calls may be in or out.
  [[nodiscard]] StatusOr<ListResult> List(const ListQuery& query, std::string_view token,
                                          size_t limit) const;
  // The next at most `count` >= 1 pages with from <= number < end, by rising number, of one moment.
  [[nodiscard]] StatusOr<ScanResult> ScanPages(PageNumber from, PageNumber end, size_t count) const;

  // --- Writing ---
  // Writes all of `changes` or nothing, and returns once it is durable as the options say.
  //
  // Internal: a record is invalid; nothing was written and the store is as before.
  // ResourceExhausted: the device is full; nothing was written, reading goes on, and commits
  // succeed again as soon as there is space. Any other status: writing is over. Whether the changes
  // survive is unknown until the next opening, and every later commit returns the same status.
  [[nodiscard]] Status Commit(const Changes& changes);
  // OK while commits can succeed; ResourceExhausted while the device is full; else what ended
  // writing. Found out by commits and by background work.
  [[nodiscard]] Status health() const;
  // Where some are under way and none ends, the disk gives no answer.
  [[nodiscard]] StoreWrites writes() const;
  // After the device was full: lets commits succeed again if there is space, which else the next
  // commit does. ResourceExhausted: there is none.
  [[nodiscard]] Status TryResume();

  // --- Upkeep ---
  // A consistent copy of the database in the new directory `dir`, by hard links where the file
  // system allows; commits go on. Open it like any other. AlreadyExists: `dir` exists.
  [[nodiscard]] Status Checkpoint(const std::string& dir);
  // Reads everything and compares the column families with each other. Problems are in the report;
  // a status means that verification itself was not possible.
  [[nodiscard]] StatusOr<VerifyReport> Verify() const;
  // Compactions begin where StoreOptions::hold_compactions has them wait; else no-op.
  [[nodiscard]] Status StartCompactions();
  // Rewrites all tables without removed and overwritten rows.
  [[nodiscard]] Status Compact();
  [[nodiscard]] StoreStats Stats() const;

 private:
  // A cache has the frontier in it.
  friend class FrontierStore;
  friend StatusOr<FrontierReport> VerifyFrontierWithin(const Store& cache);
  class Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace freshet

#endif  // FRESHET_STORAGE_STORE_H_
