#include "storage/frontier_store.h"

#include <utility>

#include "core/base/check.h"
#include "rocksdb/db.h"
#include "rocksdb/write_batch.h"
#include "storage/internal/cursor.h"
#include "storage/internal/frontier_rows.h"
#include "storage/internal/keys.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/internal/store_impl.h"

namespace freshet {

using storage::Family;
using storage::FromRocksDb;
using storage::FrontierDueKey;
using storage::FrontierItemKey;
using storage::FrontierPrefix;
using storage::PrefixEnd;

namespace {

Status Damaged(std::string_view what) {
  return MakeStatus(absl::StatusCode::kDataLoss, "frontier: a row of {} is damaged", what);
}

}  // namespace

class FrontierBatch::Impl {
 public:
  explicit Impl(const storage::Database& base) : base_(base) {}

  void Put(Family family, const std::string& key, const std::string& value) {
    Note(rows.Put(base_.handle(family), key, value));
  }
  void Delete(Family family, const std::string& key) {
    Note(rows.Delete(base_.handle(family), key));
  }
  void DeleteAll(const std::string& prefix) {
    Note(storage::ForgetFrontier(base_.handles(), prefix, &rows));
  }

  rocksdb::WriteBatch rows;

 private:
  static void Note(const rocksdb::Status& status) {
    CHECK(status.ok(), "a batch in memory takes what it is given: {}", status.ToString());
  }

  const storage::Database& base_;
};

// --- FrontierStore

FrontierStore::FrontierStore(Store& store) : store_(*store.impl_) {}

Status FrontierStore::ForAll(
    Family family, const std::function<Status(std::string_view, std::string_view)>& visit) const {
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  read.readahead_size = size_t{2} << 20;
  const std::unique_ptr<rocksdb::Iterator> it(
      store_.base().db().NewIterator(read, store_.base().handle(family)));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    RETURN_IF_ERROR(visit(it->key().ToStringView(), it->value().ToStringView()));
  }
  return FromRocksDb(it->status(), "loading the frontier");
}

Status FrontierStore::LoadMeta(FrontierVisitor& visitor) const {
  return ForAll(Family::kFrontierMeta, [&](std::string_view key, std::string_view value) -> Status {
    if (key == storage::kFrontierFormatKey) return absl::OkStatus();
    if (key == storage::kFrontierSettingsKey) {
      FrontierSettings settings;
      if (!storage::DecodeFrontier(value, &settings)) return Damaged("settings");
      return visitor.OnSettings(settings);
    }
    uint32_t crawl = 0;
    if (!storage::ParseFrontierCrawlKey(key, &crawl)) return Damaged("crawl ids");
    return visitor.OnCrawl(crawl, value);
  });
}

// A scan stops early after a number of skipped rows (ScanDue). RocksDB does not count skipped rows
// if a range deletion in the same memtable covers them, so a scan would read all of them. A flush
// drops these rows. No new ones can appear, because a freed number is not reused in this run.
Status FrontierStore::DropForgotten() const {
  const rocksdb::Status flushed = store_.base().db().Flush(
      {},
      {store_.base().handle(Family::kFrontierItems), store_.base().handle(Family::kFrontierDue)});
  // If the disk is full, the rows stay in memory. The store notices a full disk by itself.
  return flushed.IsNoSpace() ? absl::OkStatus() : FromRocksDb(flushed, "flushing the frontier");
}

Status FrontierStore::Load(FrontierVisitor& visitor) const {
  RETURN_IF_ERROR(DropForgotten());
  RETURN_IF_ERROR(LoadMeta(visitor));
  RETURN_IF_ERROR(
      ForAll(Family::kFrontierQueues, [&](std::string_view key, std::string_view value) -> Status {
        FrontierQueueId id;
        FrontierQueueRecord record;
        if (!storage::ParseFrontierPrefix(&key, &id) || !key.empty() ||
            !storage::DecodeFrontier(value, &record)) {
          return Damaged("queues");
        }
        return visitor.OnQueue(id, std::move(record));
      }));
  return ForAll(
      Family::kFrontierLeases, [&](std::string_view key, std::string_view value) -> Status {
        FrontierQueueId id;
        FrontierLease lease;
        if (!storage::ParseFrontierPrefix(&key, &id) || !storage::DecodeFrontier(value, &lease)) {
          return Damaged("leases");
        }
        return visitor.OnLease(id, key, lease);
      });
}

std::vector<StatusOr<FrontierItem>> FrontierStore::ReadItems(
    std::span<const ItemName> names) const {
  std::vector<std::string> keys;
  keys.reserve(names.size());
  for (const ItemName& name : names) keys.push_back(FrontierItemKey(name.queue, name.url));
  const std::vector<rocksdb::Slice> slices(keys.begin(), keys.end());
  std::vector<rocksdb::PinnableSlice> values(keys.size());
  std::vector<rocksdb::Status> statuses(keys.size());
  store_.base().db().MultiGet({}, store_.base().handle(Family::kFrontierItems), keys.size(),
                              slices.data(), values.data(), statuses.data());
  std::vector<StatusOr<FrontierItem>> items;
  items.reserve(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    FrontierItem item;
    if (!statuses[i].ok()) {
      items.emplace_back(FromRocksDb(statuses[i], "reading a URL"));
    } else if (!storage::DecodeFrontier(values[i].ToStringView(), &item)) {
      items.emplace_back(Damaged("URLs"));
    } else {
      items.emplace_back(std::move(item));
    }
  }
  return items;
}

StatusOr<FrontierStore::DueScan> FrontierStore::ScanDue(FrontierQueueId queue,
                                                        const FrontierDue& from, uint64_t now,
                                                        size_t most, uint64_t most_passed) const {
  CHECK(most_passed > 0, "a scan that passes over nothing does not come on");
  storage::Cursor rows(&store_.base().db(), store_.base().handle(Family::kFrontierDue),
                       FrontierDueKey(queue, from.due, from.url), PrefixEnd(FrontierPrefix(queue)),
                       {}, most_passed);
  DueScan scan;
  FrontierQueueId id;
  FrontierDue due;
  for (; rows.valid(); rows.Next()) {
    if (!storage::ParseFrontierDueKey(rows.key(), &id, &due)) return Damaged("due URLs");
    if (due.due > now || scan.due.size() >= most) {
      scan.next = std::move(due);
      break;
    }
    scan.due.push_back(std::move(due));
  }
  RETURN_IF_ERROR(FromRocksDb(rows.status(), "looking for URLs that are due"));
  if (rows.left_off()) {
    if (!storage::ParseFrontierDueKey(rows.place(), &id, &due)) return Damaged("due URLs");
    scan.left_off = due.due <= now;
    scan.next = std::move(due);
  }
  scan.passed = rows.passed();
  return scan;
}

StatusOr<std::optional<std::string>> FrontierStore::ScanItems(
    FrontierQueueId queue, std::string_view from,
    const std::function<bool(std::string_view url, const FrontierItem& item)>& visit) const {
  const std::string prefix = FrontierPrefix(queue);
  rocksdb::ReadOptions read;
  read.fill_cache = false;
  storage::Cursor rows(&store_.base().db(), store_.base().handle(Family::kFrontierItems),
                       prefix + std::string(from), PrefixEnd(prefix), read, kMostPassed);
  FrontierItem item;
  for (; rows.valid(); rows.Next()) {
    if (!storage::DecodeFrontier(rows.value(), &item)) return Damaged("URLs");
    if (!visit(rows.key().substr(prefix.size()), item)) return std::optional<std::string>();
  }
  RETURN_IF_ERROR(FromRocksDb(rows.status(), "reading URLs"));
  if (!rows.left_off()) return std::optional<std::string>();
  return rows.place().substr(prefix.size());
}

Status FrontierStore::Commit(FrontierBatch& batch) {
  return batch.empty() ? absl::OkStatus() : store_.CommitFrontier(&batch.impl_->rows);
}

FrontierStoreStats FrontierStore::Stats() const {
  FrontierStoreStats stats;
  const auto property = [this](Family family, const std::string& name) {
    uint64_t value = 0;
    return store_.base().db().GetIntProperty(store_.base().handle(family), name, &value) ? value
                                                                                         : 0;
  };
  for (const Family family : {Family::kFrontierMeta, Family::kFrontierItems, Family::kFrontierDue,
                              Family::kFrontierLeases, Family::kFrontierQueues}) {
    stats.table_bytes += property(family, rocksdb::DB::Properties::kTotalSstFilesSize);
    stats.memtable_bytes += property(family, rocksdb::DB::Properties::kSizeAllMemTables);
  }
  return stats;
}

// --- FrontierBatch

FrontierBatch::FrontierBatch(const FrontierStore& store)
    : impl_(std::make_unique<Impl>(store.store_.base())) {}
FrontierBatch::~FrontierBatch() = default;

void FrontierBatch::PutItem(FrontierQueueId queue, std::string_view url, const FrontierItem& item) {
  impl_->Put(Family::kFrontierItems, FrontierItemKey(queue, url), storage::EncodeFrontier(item));
}
void FrontierBatch::DeleteItem(FrontierQueueId queue, std::string_view url) {
  impl_->Delete(Family::kFrontierItems, FrontierItemKey(queue, url));
}
void FrontierBatch::PutDue(FrontierQueueId queue, uint64_t due, std::string_view url) {
  impl_->Put(Family::kFrontierDue, FrontierDueKey(queue, due, url), "");
}
void FrontierBatch::DeleteDue(FrontierQueueId queue, uint64_t due, std::string_view url) {
  impl_->Delete(Family::kFrontierDue, FrontierDueKey(queue, due, url));
}
void FrontierBatch::PutLease(FrontierQueueId queue, std::string_view url,
                             const FrontierLease& lease) {
  impl_->Put(Family::kFrontierLeases, FrontierItemKey(queue, url), storage::EncodeFrontier(lease));
}
void FrontierBatch::DeleteLease(FrontierQueueId queue, std::string_view url) {
  impl_->Delete(Family::kFrontierLeases, FrontierItemKey(queue, url));
}
void FrontierBatch::PutQueue(FrontierQueueId queue, const FrontierQueueRecord& record) {
  impl_->Put(Family::kFrontierQueues, FrontierPrefix(queue), storage::EncodeFrontier(record));
}
void FrontierBatch::DeleteQueue(FrontierQueueId queue) { impl_->DeleteAll(FrontierPrefix(queue)); }
void FrontierBatch::PutCrawl(uint32_t crawl, std::string_view name) {
  impl_->Put(Family::kFrontierMeta, storage::FrontierCrawlKey(crawl), std::string(name));
}
void FrontierBatch::DeleteCrawl(uint32_t crawl) {
  impl_->DeleteAll(storage::FrontierCrawlPrefix(crawl));
  impl_->Delete(Family::kFrontierMeta, storage::FrontierCrawlKey(crawl));
}
void FrontierBatch::PutSettings(const FrontierSettings& settings) {
  impl_->Put(Family::kFrontierMeta, storage::kFrontierSettingsKey,
             storage::EncodeFrontier(settings));
}
bool FrontierBatch::empty() const { return impl_->rows.Count() == 0; }
void FrontierBatch::Clear() { impl_->rows.Clear(); }

}  // namespace freshet
