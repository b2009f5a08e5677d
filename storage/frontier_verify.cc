#include "storage/frontier_verify.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "core/base/check.h"
#include "core/base/safe_text.h"
#include "fmt/format.h"
#include "rocksdb/db.h"
#include "rocksdb/write_batch.h"
#include "storage/frontier_store.h"
#include "storage/internal/frontier_rows.h"
#include "storage/internal/keys.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/internal/store_impl.h"
#include "xxhash.h"

namespace freshet {
namespace {

using storage::Family;
using storage::FromRocksDb;

// Number of rows that a repair writes at a time.
constexpr size_t kRowsPerWrite = 4096;

}  // namespace

// Reads and writes the rows of the frontier without the server's logic. Owner thread only.
class FrontierRows {
 public:
  // Precondition: the store is open and outlives this object.
  explicit FrontierRows(const Store& store) : store_(*store.impl_) {}

  // Iterates from the first row, or from the first row with `prefix`, to the last row before
  // `bound`. `bound` must outlive the iterator.
  [[nodiscard]] std::unique_ptr<rocksdb::Iterator> Rows(
      Family family, const std::string& prefix = {}, const rocksdb::Slice* bound = nullptr) const {
    rocksdb::ReadOptions read;
    read.fill_cache = false;
    read.readahead_size = size_t{2} << 20;
    read.iterate_upper_bound = bound;
    std::unique_ptr<rocksdb::Iterator> rows(
        store_.base().db().NewIterator(read, store_.base().handle(family)));
    rows->Seek(prefix);
    return rows;
  }
  void Put(Family family, const std::string& key, const std::string& value) {
    Note(batch_.Put(store_.base().handle(family), key, value));
  }
  void Delete(Family family, std::string_view key) {
    Note(batch_.Delete(store_.base().handle(family), rocksdb::Slice(key.data(), key.size())));
  }
  // Writes the staged changes if there are many, or if `all` is set.
  Status Write(bool all) {
    if (batch_.Count() == 0 || (!all && batch_.Count() < kRowsPerWrite)) return absl::OkStatus();
    const Status written = store_.CommitFrontier(&batch_);
    batch_.Clear();
    return written;
  }

 private:
  static void Note(const rocksdb::Status& status) {
    CHECK(status.ok(), "a batch in memory takes what it is given: {}", status.ToString());
  }

  Store::Impl& store_;
  rocksdb::WriteBatch batch_;
};

namespace {

std::string_view KeyOf(const rocksdb::Iterator& rows) { return rows.key().ToStringView(); }
std::string_view ValueOf(const rocksdb::Iterator& rows) { return rows.value().ToStringView(); }

// Checks all rows, queue by queue, and with `mend` repairs them. Owner thread only.
class Pass {
 public:
  using KeyFor = std::function<std::string(std::string_view)>;
  // `mend`: nullptr = only check.
  Pass(FrontierRows& db, const KeyFor* mend, FrontierReport* report)
      : db_(db), mend_(mend), report_(*report) {}

  Status Run() {
    RETURN_IF_ERROR(ReadMeta());
    queues_ = db_.Rows(Family::kFrontierQueues);
    items_ = db_.Rows(Family::kFrontierItems);
    due_ = db_.Rows(Family::kFrontierDue);
    leases_ = db_.Rows(Family::kFrontierLeases);
    while (const std::optional<FrontierQueueId> id = NextQueue()) {
      CheckQueue(*id);
      RETURN_IF_ERROR(db_.Write(/*all=*/false));
    }
    for (const auto* rows : {&queues_, &items_, &due_, &leases_}) {
      RETURN_IF_ERROR(FromRocksDb((*rows)->status(), "reading the frontier"));
    }
    return db_.Write(/*all=*/true);
  }

 private:
  // The sums over the rows of a queue.
  struct Sums {
    uint64_t active = 0;
    uint64_t completed = 0;
    uint64_t waiting = 0;             // active URLs that are not in flight
    uint64_t waiting_hash = 0;        // sum of hashes, so that the order of rows does not matter
    std::string first;                // the queue's first URL by text
    std::optional<FrontierDue> head;  // the first waiting URL
  };

  template <typename... Args>
  void Problem(fmt::format_string<Args...> format, Args&&... args) {
    ++report_.problem_count;
    if (report_.problems.size() < FrontierReport::kMaxProblems) {
      // Keys that clients chose must not control the operator's terminal.
      report_.problems.push_back("frontier: " +
                                 SafeText(fmt::format(format, std::forward<Args>(args)...)));
    }
  }
  void Lose(Family family, const rocksdb::Iterator& rows, std::string_view what) {
    Problem("a row of {} is damaged", what);
    if (mend_ == nullptr) return;
    ++report_.lost_rows;
    db_.Delete(family, KeyOf(rows));
  }

  Status ReadMeta() {
    const auto rows = db_.Rows(Family::kFrontierMeta);
    std::set<std::string> names;
    for (; rows->Valid(); rows->Next()) {
      if (KeyOf(*rows) == storage::kFrontierFormatKey) continue;
      FrontierSettings settings;
      uint32_t crawl = 0;
      if (KeyOf(*rows) == storage::kFrontierSettingsKey) {
        if (!storage::DecodeFrontier(ValueOf(*rows), &settings)) {
          Lose(Family::kFrontierMeta, *rows, "settings");
        }
      } else if (!storage::ParseFrontierCrawlKey(KeyOf(*rows), &crawl) || crawl == 0 ||
                 !names.emplace(ValueOf(*rows)).second) {
        Lose(Family::kFrontierMeta, *rows, "crawl ids");
      } else {
        crawls_.emplace(crawl, ValueOf(*rows));
      }
    }
    report_.crawls = crawls_.size();
    return FromRocksDb(rows->status(), "reading the frontier");
  }

  // Returns the queue of the first remaining row. Skips rows whose keys are invalid.
  std::optional<FrontierQueueId> NextQueue() {
    std::optional<FrontierQueueId> next;
    const auto look = [&](Family family, rocksdb::Iterator& rows, std::string_view what) {
      for (; rows.Valid(); rows.Next()) {
        std::string_view key = KeyOf(rows);
        FrontierQueueId id;
        if (storage::ParseFrontierPrefix(&key, &id) && id.crawl > 0 && id.queue > 0) {
          if (!next || id < *next) next = id;
          return;
        }
        Lose(family, rows, what);
      }
    };
    look(Family::kFrontierQueues, *queues_, "queues");
    look(Family::kFrontierItems, *items_, "URLs");
    look(Family::kFrontierDue, *due_, "due URLs");
    look(Family::kFrontierLeases, *leases_, "leases");
    return next;
  }

  // Returns true if the row belongs to the queue, and sets `rest` to the rest of its key.
  static bool IsOf(const rocksdb::Iterator& rows, FrontierQueueId id, std::string_view* rest) {
    if (!rows.Valid()) return false;
    *rest = KeyOf(rows);
    FrontierQueueId of;
    return storage::ParseFrontierPrefix(rest, &of) && of == id;
  }

  void CheckQueue(FrontierQueueId id) {
    std::optional<FrontierQueueRecord> record;
    std::string_view rest;
    for (; IsOf(*queues_, id, &rest); queues_->Next()) {
      FrontierQueueRecord read;
      if (rest.empty() && storage::DecodeFrontier(ValueOf(*queues_), &read)) {
        record = std::move(read);
      } else {
        Lose(Family::kFrontierQueues, *queues_, "queues");
      }
    }
    const std::map<std::string, FrontierLease> leases = TakeLeases(id);
    Sums sums;
    TakeItems(id, leases, &sums);
    const bool due_as_it_should = CheckDue(id, sums);
    const bool has_urls = sums.active + sums.completed > 0;
    if (!record && has_urls) record = Restore(id, sums);
    if (record) CheckRecord(id, sums, *std::move(record));
    if (due_as_it_should || mend_ == nullptr) return;
    RemakeDue(id, leases);
  }

  // Returns all leases of a queue, which are held in memory at the same time: one for each URL that
  // clients have in flight.
  std::map<std::string, FrontierLease> TakeLeases(FrontierQueueId id) {
    std::map<std::string, FrontierLease> leases;
    std::string_view url;
    for (; IsOf(*leases_, id, &url); leases_->Next()) {
      FrontierLease lease;
      if (storage::DecodeFrontier(ValueOf(*leases_), &lease)) {
        leases.emplace(url, lease);
      } else {
        Lose(Family::kFrontierLeases, *leases_, "leases");
      }
    }
    return leases;
  }

  void TakeItems(FrontierQueueId id, std::map<std::string, FrontierLease> leases, Sums* sums) {
    std::string_view url;
    for (; IsOf(*items_, id, &url); items_->Next()) {
      FrontierItem item;
      if (!storage::DecodeFrontier(ValueOf(*items_), &item)) {
        Lose(Family::kFrontierItems, *items_, "URLs");
        continue;
      }
      ++report_.urls;
      if (sums->first.empty()) sums->first = url;
      if (item.due == 0) {
        ++sums->completed;
        continue;
      }
      ++sums->active;
      const auto lease = leases.find(std::string(url));
      if (lease == leases.end()) {
        AddWaiting(item.due, url, sums);
        continue;
      }
      ++report_.in_flight;
      if (lease->second.due != item.due) {
        Problem("{} is in flight with another date than its own", url);
        if (mend_ != nullptr) {
          lease->second.due = item.due;
          db_.Put(Family::kFrontierLeases, storage::FrontierItemKey(id, url),
                  storage::EncodeFrontier(lease->second));
        }
      }
      leases.erase(lease);
    }
    for (const auto& [of, lease] : leases) {
      Problem("{} is in flight, and is not there or completed", of);
      if (mend_ != nullptr) db_.Delete(Family::kFrontierLeases, storage::FrontierItemKey(id, of));
    }
  }

  static uint64_t HashOf(uint64_t due, std::string_view url) {
    return XXH3_64bits_withSeed(url.data(), url.size(), due);
  }
  static void AddWaiting(uint64_t due, std::string_view url, Sums* sums) {
    ++sums->waiting;
    sums->waiting_hash += HashOf(due, url);
    FrontierDue head{.due = due, .url = std::string(url)};
    if (!sums->head || head < *sums->head) sums->head = std::move(head);
  }

  // Returns true if there is exactly one row for each waiting URL.
  bool CheckDue(FrontierQueueId id, const Sums& sums) {
    uint64_t rows = 0;
    uint64_t hash = 0;
    bool readable = true;
    std::string_view rest;
    for (; IsOf(*due_, id, &rest); due_->Next()) {
      FrontierQueueId of;
      FrontierDue due;
      if (!storage::ParseFrontierDueKey(KeyOf(*due_), &of, &due)) {
        readable = false;
        Lose(Family::kFrontierDue, *due_, "due URLs");
        continue;
      }
      ++rows;
      hash += HashOf(due.due, due.url);
    }
    if (readable && rows == sums.waiting && hash == sums.waiting_hash) return true;
    Problem("queue {}/{}: {} rows of due URLs are not those of the {} URLs that wait", id.crawl,
            id.queue, rows, sums.waiting);
    return false;
  }

  // Rewrites the rows of waiting URLs: removes wrong ones and adds missing ones.
  void RemakeDue(FrontierQueueId id, const std::map<std::string, FrontierLease>& leases) {
    const std::string prefix = storage::FrontierPrefix(id);
    const std::string end = storage::PrefixEnd(prefix);
    const rocksdb::Slice bound(end);
    std::string_view rest;
    for (const auto due = db_.Rows(Family::kFrontierDue, prefix, &bound); due->Valid();
         due->Next()) {
      db_.Delete(Family::kFrontierDue, KeyOf(*due));
    }
    const auto items = db_.Rows(Family::kFrontierItems, prefix, &bound);
    for (; IsOf(*items, id, &rest); items->Next()) {
      FrontierItem item;
      if (!storage::DecodeFrontier(ValueOf(*items), &item) || item.due == 0) continue;
      if (leases.contains(std::string(rest))) continue;
      db_.Put(Family::kFrontierDue, storage::FrontierDueKey(id, item.due, rest), "");
    }
  }

  // Makes the record of a queue that has URLs but no record.
  std::optional<FrontierQueueRecord> Restore(FrontierQueueId id, const Sums& sums) {
    Problem("queue {}/{} has URLs and is not there", id.crawl, id.queue);
    if (mend_ == nullptr) return std::nullopt;
    FrontierQueueRecord record;
    record.key = (*mend_)(sums.first);
    if (record.key.empty() || keys_[id.crawl].contains(record.key)) {
      record.key = fmt::format("lost-{}-{}", id.crawl, id.queue);
    }
    return record;
  }

  void CheckRecord(FrontierQueueId id, const Sums& sums, FrontierQueueRecord record) {
    ++report_.queues;
    if (!crawls_.contains(id.crawl)) {
      Problem("queue {} is of no crawl id", record.key);
      const std::string name = fmt::format("lost-{}", id.crawl);
      crawls_.emplace(id.crawl, name);
      if (mend_ != nullptr) {
        ++report_.crawls;
        db_.Put(Family::kFrontierMeta, storage::FrontierCrawlKey(id.crawl), name);
      }
    }
    if (!keys_[id.crawl].insert(record.key).second) {
      Problem("queue {} of crawl id {} is there twice", record.key, crawls_[id.crawl]);
      record.key = fmt::format("lost-{}-{}", id.crawl, id.queue);
    }
    const bool counted = record.active == sums.active && record.completed == sums.completed;
    if (!counted) {
      Problem("queue {}: {} URLs are scheduled and {} completed, it counts {} and {}", record.key,
              sums.active, sums.completed, record.active, record.completed);
    }
    // The recorded head may be earlier than the first waiting URL, but not later.
    const bool headed = !sums.head || (record.head && *record.head <= *sums.head);
    if (!headed) Problem("queue {}: a URL waits before its head", record.key);
    if (mend_ == nullptr) return;
    record.active = sums.active;
    record.completed = sums.completed;
    record.head = sums.head;
    db_.Put(Family::kFrontierQueues, storage::FrontierPrefix(id), storage::EncodeFrontier(record));
  }

  FrontierRows& db_;
  const KeyFor* const mend_;
  FrontierReport& report_;
  std::map<uint32_t, std::string> crawls_;
  std::map<uint32_t, std::set<std::string>> keys_;
  std::unique_ptr<rocksdb::Iterator> queues_;
  std::unique_ptr<rocksdb::Iterator> items_;
  std::unique_ptr<rocksdb::Iterator> due_;
  std::unique_ptr<rocksdb::Iterator> leases_;
};

}  // namespace

StatusOr<FrontierReport> VerifyFrontier(const Store& store) {
  FrontierReport report;
  FrontierRows rows(store);
  RETURN_IF_ERROR(Pass(rows, nullptr, &report).Run());
  return report;
}

StatusOr<FrontierReport> RepairFrontier(
    Store& store, const std::function<std::string(std::string_view url)>& key_of) {
  ASSIGN_OR_RETURN(FrontierReport found, VerifyFrontier(store));
  if (found.ok()) return found;
  CHECK(key_of != nullptr, "a queue that has lost its key is to get one");
  FrontierReport report;
  FrontierRows rows(store);
  RETURN_IF_ERROR(Pass(rows, &key_of, &report).Run());
  return report;
}

}  // namespace freshet
