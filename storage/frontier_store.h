// The durable memory of the crawl-frontier API: queues, their URLs, when each is due and what is in
// flight, in a RocksDB database of its own in a directory beside that of the pages
// (docs/storage-format.md).
//
// Keys begin with the number of a crawl id and that of a queue in it, neither of which names
// anything else while something refers to it: what belongs to a queue, or to a crawl id, lies
// together and is forgotten as one range, however much it is.
#ifndef FRESHET_STORAGE_FRONTIER_STORE_H_
#define FRESHET_STORAGE_FRONTIER_STORE_H_

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "storage/options.h"
#include "storage/store.h"

namespace freshet {

// Which queue: both numbers are > 0 for one that is stored. Value type, thread-compatible.
struct FrontierQueueId {
  uint32_t crawl = 0;
  uint32_t queue = 0;
  auto operator<=>(const FrontierQueueId&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, FrontierQueueId id) {
    return H::combine(std::move(h), id.crawl, id.queue);
  }
};

// What is kept of a URL. Times are seconds since 1970.
struct FrontierItem {
  uint64_t due = 0;      // zero: completed, never again
  uint64_t created = 0;  // when it came in
  std::string metadata;  // as the caller wrote it
};

// A URL of a queue in the order in which they are due.
struct FrontierDue {
  uint64_t due = 0;
  std::string url;
  auto operator<=>(const FrontierDue&) const = default;
};

// A URL that is in flight. It is not among those that are due meanwhile.
struct FrontierLease {
  uint64_t until = 0;  // seconds since 1970
  uint64_t due = 0;    // of its item
};

// What is kept of a queue beside its URLs.
struct FrontierQueueRecord {
  std::string key;
  uint64_t active = 0;     // URLs that are scheduled, in flight or not
  uint64_t completed = 0;  // URLs that are not
  // No URL that waits is before this one; unset: none waits.
  std::optional<FrontierDue> head;
  // What an operator has set, in seconds; unset: the default. So is what was set before it was
  // known who did.
  std::optional<uint32_t> delay;
  uint64_t blocked_until = 0;
  uint32_t limit = 0;        // of `completed`; zero: none
  uint64_t last_served = 0;  // zero: never
  // The same as other clients have set it since an operator did.
  std::optional<uint32_t> asked_delay;
  uint64_t asked_until = 0;

  // What holds: other clients only ever add to what an operator has set.
  [[nodiscard]] std::optional<uint32_t> longest_delay() const {
    return std::max(delay, asked_delay);
  }
  [[nodiscard]] uint64_t block_end() const { return std::max(blocked_until, asked_until); }
};

// What is kept of the frontier as a whole.
struct FrontierSettings {
  uint32_t default_delay = 1;  // seconds
  bool active = true;
  uint64_t seen = 0;  // the latest time of a commit; zero: of releases that did not keep it
};

class FrontierStore;

// Changes that are written together, in their order. Thread-compatible.
class FrontierBatch {
 public:
  // For this store, which outlives it.
  explicit FrontierBatch(const FrontierStore& store);
  ~FrontierBatch();
  FrontierBatch(const FrontierBatch&) = delete;
  FrontierBatch& operator=(const FrontierBatch&) = delete;

  void PutItem(FrontierQueueId queue, std::string_view url, const FrontierItem& item);
  void DeleteItem(FrontierQueueId queue, std::string_view url);
  void PutDue(FrontierQueueId queue, uint64_t due, std::string_view url);
  void DeleteDue(FrontierQueueId queue, uint64_t due, std::string_view url);
  void PutLease(FrontierQueueId queue, std::string_view url, const FrontierLease& lease);
  void DeleteLease(FrontierQueueId queue, std::string_view url);
  void PutQueue(FrontierQueueId queue, const FrontierQueueRecord& record);
  // Forgets the queue and all that is in it.
  void DeleteQueue(FrontierQueueId queue);
  void PutCrawl(uint32_t crawl, std::string_view name);
  // Forgets the crawl id and all queues that are in it.
  void DeleteCrawl(uint32_t crawl);
  void PutSettings(const FrontierSettings& settings);

  [[nodiscard]] bool empty() const;
  void Clear();

 private:
  friend class FrontierStore;
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Receives what FrontierStore::Load reads: settings if there are any, crawl ids by number, queues
// by id, leases by queue. A status that is not OK ends the load and is returned.
class FrontierVisitor {
 public:
  virtual ~FrontierVisitor() = default;
  virtual Status OnSettings(const FrontierSettings& settings) = 0;
  virtual Status OnCrawl(uint32_t crawl, std::string_view name) = 0;
  virtual Status OnQueue(FrontierQueueId queue, FrontierQueueRecord record) = 0;
  virtual Status OnLease(FrontierQueueId queue, std::string_view url,
                         const FrontierLease& lease) = 0;
};

struct FrontierStoreStats {
  uint64_t table_bytes = 0;
  uint64_t memtable_bytes = 0;
};

// Where the frontier's database is in a data directory, or in a checkpoint of one.
[[nodiscard]] inline std::string FrontierDirectory(const std::string& data_dir) {
  return data_dir + "/frontier";
}

// Thread-safe: any thread may read at any time, beside one that commits. After Close only
// destruction is allowed.
class FrontierStore {
 public:
  // Opens the database in `dir`, creating it (and the last directory of the path) if there is none.
  // Torn tails of logs are cut off. FailedPrecondition: in use, or written by a newer release.
  // DataLoss: damaged.
  [[nodiscard]] static StatusOr<std::unique_ptr<FrontierStore>> Open(const std::string& dir,
                                                                     const StoreOptions& options);
  // The frontier of a cluster, which lies in its log beside the pages: in that store, which is a
  // cache of it, is open and outlives this. What is committed goes to the log first. Statuses are
  // those of Store::Commit.
  [[nodiscard]] static StatusOr<std::unique_ptr<FrontierStore>> OpenWithin(Store& cache);
  ~FrontierStore();
  FrontierStore(const FrontierStore&) = delete;
  FrontierStore& operator=(const FrontierStore&) = delete;
  // Idempotent.
  Status Close();

  // Costs a sequential read of all queues and of what is in flight; not of the URLs.
  [[nodiscard]] Status Load(FrontierVisitor& visitor) const;

  struct ItemName {
    FrontierQueueId queue;
    std::string_view url;
  };
  // In order; NotFound: there is none, DataLoss: a damaged row. One batched read.
  [[nodiscard]] std::vector<StatusOr<FrontierItem>> ReadItems(
      std::span<const ItemName> names) const;
  // The first URLs of the queue from `from` on that are due by `now`, at most `most`, and whichever
  // comes after them, due or not.
  struct DueScan {
    std::vector<FrontierDue> due;
    std::optional<FrontierDue> next;
  };
  [[nodiscard]] StatusOr<DueScan> ScanDue(FrontierQueueId queue, const FrontierDue& from,
                                          uint64_t now, size_t most) const;
  // Calls `visit` for URLs of the queue after `after` (empty: from the first), in the order of
  // their text, until it returns false. The item is valid during the call. As they were when the
  // scan began.
  [[nodiscard]] Status ScanItems(
      FrontierQueueId queue, std::string_view after,
      const std::function<bool(std::string_view url, const FrontierItem& item)>& visit) const;

  // Writes all of the batch or nothing, and returns once it is durable as the options say. One
  // thread at a time. ResourceExhausted: the device is full; nothing was written, and commits
  // succeed again once there is space. Any other status: writing is over, and what of the batch
  // survives is not known.
  [[nodiscard]] Status Commit(FrontierBatch& batch);
  // A consistent copy in the new directory `dir`, while commits go on; of a cluster none, as that
  // of the store has it.
  [[nodiscard]] Status Checkpoint(const std::string& dir) const;
  [[nodiscard]] FrontierStoreStats Stats() const;

 private:
  friend class FrontierBatch;
  class Impl;
  explicit FrontierStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace freshet

#endif  // FRESHET_STORAGE_FRONTIER_STORE_H_
