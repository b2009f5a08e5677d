// The durable state of the crawl-frontier API: queues, their URLs, the time when each URL is due,
// and the URLs in flight. It is kept in column families of the page store (docs/storage-format.md).
//
// Keys begin with the numbers of a crawl id and of a queue in it. No number is reused while any row
// refers to it. So the rows of a queue, or of a crawl id, are one range of keys, and a single range
// deletion removes them.
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

// The numbers of a queue, both > 0 if the queue is stored. Value type, thread-compatible.
struct FrontierQueueId {
  uint32_t crawl = 0;
  uint32_t queue = 0;
  auto operator<=>(const FrontierQueueId&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, FrontierQueueId id) {
    return H::combine(std::move(h), id.crawl, id.queue);
  }
};

// The record of a URL. Times are seconds since 1970.
struct FrontierItem {
  uint64_t due = 0;      // 0 = completed, never again
  uint64_t created = 0;  // when the URL was added
  std::string metadata;  // opaque to the store
};

// A URL and its due time: the sort key of the URLs in a queue.
struct FrontierDue {
  uint64_t due = 0;
  std::string url;
  auto operator<=>(const FrontierDue&) const = default;
};

// A URL in flight. Until the lease ends, the URL is not among the due URLs.
struct FrontierLease {
  uint64_t until = 0;  // seconds since 1970
  uint64_t due = 0;    // `due` of the URL's item
};

// The record of a queue, without its URLs.
struct FrontierQueueRecord {
  std::string key;
  uint64_t active = 0;     // scheduled URLs, in flight or not
  uint64_t completed = 0;  // completed URLs
  // The first waiting URL, or a position before it; unset = no URL waits.
  std::optional<FrontierDue> head;
  // Settings of an operator, in seconds; unset = the default. Settings of older releases, whose
  // origin is unknown, count as an operator's.
  std::optional<uint32_t> delay;
  uint64_t blocked_until = 0;
  uint32_t limit = 0;        // maximum of `completed`; 0 = no limit
  uint64_t last_served = 0;  // 0 = never
  // Settings that clients other than operators have made since an operator last changed the queue's
  // settings.
  std::optional<uint32_t> asked_delay;
  uint64_t asked_until = 0;

  // The delay in force. Other clients can only lengthen the operator's delay.
  [[nodiscard]] std::optional<uint32_t> longest_delay() const {
    return std::max(delay, asked_delay);
  }
  [[nodiscard]] uint64_t block_end() const { return std::max(blocked_until, asked_until); }
};

// Settings of the whole frontier, for all crawl ids. Value type, thread-compatible.
struct FrontierSettings {
  uint32_t default_delay = 1;  // seconds
  bool active = true;
  uint64_t seen = 0;  // latest commit time; 0 = unknown, from an older release
};

class FrontierStore;

// Changes that are written together, in order. Thread-compatible.
class FrontierBatch {
 public:
  // Precondition: `store` outlives the batch.
  explicit FrontierBatch(const FrontierStore& store);
  ~FrontierBatch();
  FrontierBatch(const FrontierBatch&) = delete;
  FrontierBatch& operator=(const FrontierBatch&) = delete;

  // Each function adds a row to one family, or removes a row. The batch does not check that the
  // rows of different families agree: the frontier's state machine ensures that they do. Durations
  // are seconds, and instants seconds since 1970.
  void PutItem(FrontierQueueId queue, std::string_view url, const FrontierItem& item);
  void DeleteItem(FrontierQueueId queue, std::string_view url);
  void PutDue(FrontierQueueId queue, uint64_t due, std::string_view url);
  void DeleteDue(FrontierQueueId queue, uint64_t due, std::string_view url);
  void PutLease(FrontierQueueId queue, std::string_view url, const FrontierLease& lease);
  void DeleteLease(FrontierQueueId queue, std::string_view url);
  void PutQueue(FrontierQueueId queue, const FrontierQueueRecord& record);
  // Deletes the queue and all its rows.
  void DeleteQueue(FrontierQueueId queue);
  void PutCrawl(uint32_t crawl, std::string_view name);
  // Deletes the crawl id and all its queues.
  void DeleteCrawl(uint32_t crawl);
  void PutSettings(const FrontierSettings& settings);

  [[nodiscard]] bool empty() const;
  void Clear();

 private:
  friend class FrontierStore;
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Receives what FrontierStore::Load reads: the settings if there are any, then the crawl ids by
// number, the queues by id and the leases by queue. A status that is not OK ends the load and is
// returned.
class FrontierVisitor {
 public:
  virtual ~FrontierVisitor() = default;
  virtual Status OnSettings(const FrontierSettings& settings) = 0;
  virtual Status OnCrawl(uint32_t crawl, std::string_view name) = 0;
  virtual Status OnQueue(FrontierQueueId queue, FrontierQueueRecord record) = 0;
  virtual Status OnLease(FrontierQueueId queue, std::string_view url,
                         const FrontierLease& lease) = 0;
};

// Sizes of the frontier's families in bytes. Value type, thread-compatible.
struct FrontierStoreStats {
  uint64_t table_bytes = 0;
  uint64_t memtable_bytes = 0;
};

// The directory below a data directory or a checkpoint in which a server before format 5 kept the
// frontier as a separate database. Store::Open moves its rows into the store.
[[nodiscard]] inline std::string FrontierDirectory(const std::string& data_dir) {
  return data_dir + "/frontier";
}

// Thread-safe: any thread may read at any time, even during a commit.
class FrontierStore {
 public:
  // The frontier in `store`, which is open and outlives this object.
  explicit FrontierStore(Store& store);
  FrontierStore(const FrontierStore&) = delete;
  FrontierStore& operator=(const FrontierStore&) = delete;

  // Reads all queues and leases sequentially, but no URLs. First flushes the memtables of items and
  // due URLs.
  [[nodiscard]] Status Load(FrontierVisitor& visitor) const;

  struct ItemName {
    FrontierQueueId queue;
    std::string_view url;
  };
  // Reads the items in one batch, in order. NotFound: no such item. DataLoss: a damaged row.
  [[nodiscard]] std::vector<StatusOr<FrontierItem>> ReadItems(
      std::span<const ItemName> names) const;
  // A scan stops after this many deleted rows, because skipping a deleted row costs as much as
  // reading an existing one.
  static constexpr uint64_t kMostPassed = 4096;
  // The result of ScanDue. `due`: up to `most` URLs of the queue that are due by `now`, from `from`
  // on. `next`: the URL after these, whether due or not. If the scan stopped early, `next` only
  // marks the place where it stopped: all further URLs come after this place.
  struct DueScan {
    std::vector<FrontierDue> due;
    std::optional<FrontierDue> next;
    bool left_off = false;  // the scan stopped early: URLs after `next` may be due by `now`
    uint64_t passed = 0;    // deleted rows that the scan read
  };
  [[nodiscard]] StatusOr<DueScan> ScanDue(FrontierQueueId queue, const FrontierDue& from,
                                          uint64_t now, size_t most,
                                          uint64_t most_passed = kMostPassed) const;
  // Calls `visit` for URLs of the queue from the text `from` on, in the order of their text, until
  // `visit` returns false. Items are as they were when the scan began, and are valid during the
  // call of `visit`. Returns the text to continue from if the scan stopped early; otherwise unset.
  [[nodiscard]] StatusOr<std::optional<std::string>> ScanItems(
      FrontierQueueId queue, std::string_view from,
      const std::function<bool(std::string_view url, const FrontierItem& item)>& visit) const;

  // Writes the whole batch or nothing, and returns when it is as durable as the options say. One
  // thread at a time may call Commit. Pages can be committed at the same time. Errors: see
  // Store::Commit.
  [[nodiscard]] Status Commit(FrontierBatch& batch);
  [[nodiscard]] FrontierStoreStats Stats() const;

 private:
  friend class FrontierBatch;
  // Calls `visit` for every row of a family.
  using RowVisit = std::function<Status(std::string_view key, std::string_view value)>;
  [[nodiscard]] Status ForAll(storage::Family family, const RowVisit& visit) const;
  // Flushes the memtables, so that rows of forgotten queues are dropped.
  [[nodiscard]] Status DropForgotten() const;
  [[nodiscard]] Status LoadMeta(FrontierVisitor& visitor) const;

  Store::Impl& store_;
};

}  // namespace freshet

#endif  // FRESHET_STORAGE_FRONTIER_STORE_H_
