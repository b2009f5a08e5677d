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
#include "storage/directory.h"
#include "storage/frontier_store.h"
#include "storage/internal/file_copy.h"
#include "storage/internal/frontier_rows.h"
#include "storage/internal/frontier_tuning.h"
#include "storage/internal/keys.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/internal/store_impl.h"
#include "storage/internal/tuning.h"
#include "storage/internal/wal_check.h"
#include "xxhash.h"

namespace freshet {
namespace {

using storage::FromRocksDb;
using storage::FrontierFamily;

// Rows that a repair writes at a time.
constexpr size_t kRowsPerWrite = 4096;

// The database, opened past all that the server does with it. Owner thread only.
class RawFrontier {
 public:
  RawFrontier(std::string dir, const StoreOptions& options)
      : dir_(std::move(dir)),
        options_(options),
        env_(options_.env != nullptr ? options_.env : rocksdb::Env::Default()) {}
  // That of a cache, which is open and outlives this.
  RawFrontier(rocksdb::DB& db, std::vector<rocksdb::ColumnFamilyHandle*> handles)
      : env_(db.GetEnv()), db_(&db), handles_(std::move(handles)) {}
  ~RawFrontier() { Close(); }

  Status Open(bool read_only) {
    rocksdb::DBOptions db_options = storage::MakeDbOptions(options_);
    db_options.create_if_missing = false;
    // What is opened to be read has no thread that purges, which RocksDB asserts.
    if (read_only) db_options.avoid_unnecessary_blocking_io = false;
    const auto families = storage::FrontierColumnFamilies(options_);
    rocksdb::DB* db = nullptr;
    const rocksdb::Status opened =
        read_only ? rocksdb::DB::OpenForReadOnly(db_options, dir_, families, &handles_, &db)
                  : rocksdb::DB::Open(db_options, dir_, families, &handles_, &db);
    RETURN_IF_ERROR(FromRocksDb(opened, "opening " + dir_));
    own_.reset(db);
    db_ = db;
    return absl::OkStatus();
  }
  void Close() {
    if (own_ == nullptr) return;
    for (rocksdb::ColumnFamilyHandle* handle : handles_) {
      db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    }
    handles_.clear();
    db_->Close().PermitUncheckedError();
    db_ = nullptr;
    own_.reset();
  }

  Status Checksums() { return FromRocksDb(db_->VerifyChecksum(), "checksums of " + dir_); }
  // From the first, or the first with `prefix`; to that before `bound`, which outlives them.
  [[nodiscard]] std::unique_ptr<rocksdb::Iterator> Rows(
      FrontierFamily family, const std::string& prefix = {},
      const rocksdb::Slice* bound = nullptr) const {
    rocksdb::ReadOptions read;
    read.fill_cache = false;
    read.readahead_size = size_t{2} << 20;
    read.iterate_upper_bound = bound;
    std::unique_ptr<rocksdb::Iterator> rows(
        db_->NewIterator(read, handles_[static_cast<size_t>(family)]));
    rows->Seek(prefix);
    return rows;
  }
  void Put(FrontierFamily family, const std::string& key, const std::string& value) {
    Note(batch_.Put(handles_[static_cast<size_t>(family)], key, value));
  }
  void Delete(FrontierFamily family, std::string_view key) {
    Note(batch_.Delete(handles_[static_cast<size_t>(family)],
                       rocksdb::Slice(key.data(), key.size())));
  }
  // Writes what was put and deleted; unless `all` only where there is much of it.
  Status Write(bool all) {
    if (batch_.Count() == 0 || (!all && batch_.Count() < kRowsPerWrite)) return absl::OkStatus();
    rocksdb::WriteOptions write;
    write.sync = all;
    const rocksdb::Status written = db_->Write(write, &batch_);
    batch_.Clear();
    return FromRocksDb(written, "writing " + dir_);
  }
  [[nodiscard]] rocksdb::Env* env() const { return env_; }

 private:
  static void Note(const rocksdb::Status& status) {
    CHECK(status.ok(), "a batch in memory takes what it is given: {}", status.ToString());
  }

  const std::string dir_;
  const StoreOptions options_;
  rocksdb::Env* const env_;
  std::unique_ptr<rocksdb::DB> own_;
  rocksdb::DB* db_ = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
  rocksdb::WriteBatch batch_;
};

std::string_view KeyOf(const rocksdb::Iterator& rows) { return rows.key().ToStringView(); }
std::string_view ValueOf(const rocksdb::Iterator& rows) { return rows.value().ToStringView(); }

// A pass over all rows, queue by queue. With `mend` what is wrong is put right. Owner thread only.
class Pass {
 public:
  using KeyFor = std::function<std::string(std::string_view)>;
  // `mend`: null, to look alone.
  Pass(RawFrontier& db, const KeyFor* mend, FrontierReport* report)
      : db_(db), mend_(mend), report_(*report) {}

  Status Run() {
    RETURN_IF_ERROR(ReadMeta());
    queues_ = db_.Rows(FrontierFamily::kQueues);
    items_ = db_.Rows(FrontierFamily::kItems);
    due_ = db_.Rows(FrontierFamily::kDue);
    leases_ = db_.Rows(FrontierFamily::kLeases);
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
  // What the rows of a queue come to.
  struct Sums {
    uint64_t active = 0;
    uint64_t completed = 0;
    uint64_t waiting = 0;             // of those that are active, not in flight
    uint64_t waiting_hash = 0;        // in any order
    std::string first;                // URL, of all
    std::optional<FrontierDue> head;  // the first that waits
  };

  template <typename... Args>
  void Problem(fmt::format_string<Args...> format, Args&&... args) {
    ++report_.problem_count;
    if (report_.problems.size() < FrontierReport::kMaxProblems) {
      // The operator's terminal must not obey keys of clients.
      report_.problems.push_back("frontier: " +
                                 SafeText(fmt::format(format, std::forward<Args>(args)...)));
    }
  }
  void Lose(FrontierFamily family, const rocksdb::Iterator& rows, std::string_view what) {
    Problem("a row of {} is damaged", what);
    if (mend_ == nullptr) return;
    ++report_.lost_rows;
    db_.Delete(family, KeyOf(rows));
  }

  Status ReadMeta() {
    const auto rows = db_.Rows(FrontierFamily::kMeta);
    std::set<std::string> names;
    for (; rows->Valid(); rows->Next()) {
      if (KeyOf(*rows) == storage::kFrontierFormatKey) continue;
      FrontierSettings settings;
      uint32_t crawl = 0;
      if (KeyOf(*rows) == storage::kFrontierSettingsKey) {
        if (!storage::DecodeFrontier(ValueOf(*rows), &settings)) {
          Lose(FrontierFamily::kMeta, *rows, "settings");
        }
      } else if (!storage::ParseFrontierCrawlKey(KeyOf(*rows), &crawl) || crawl == 0 ||
                 !names.emplace(ValueOf(*rows)).second) {
        Lose(FrontierFamily::kMeta, *rows, "crawl ids");
      } else {
        crawls_.emplace(crawl, ValueOf(*rows));
      }
    }
    report_.crawls = crawls_.size();
    return FromRocksDb(rows->status(), "reading the frontier");
  }

  // The queue of the first rows that are left; rows whose keys are none are passed over.
  std::optional<FrontierQueueId> NextQueue() {
    std::optional<FrontierQueueId> next;
    const auto look = [&](FrontierFamily family, rocksdb::Iterator& rows, std::string_view what) {
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
    look(FrontierFamily::kQueues, *queues_, "queues");
    look(FrontierFamily::kItems, *items_, "URLs");
    look(FrontierFamily::kDue, *due_, "due URLs");
    look(FrontierFamily::kLeases, *leases_, "leases");
    return next;
  }

  // Whether the row is one of the queue; if so the rest of its key.
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
        Lose(FrontierFamily::kQueues, *queues_, "queues");
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

  // Those of a queue are as many as clients have in flight.
  std::map<std::string, FrontierLease> TakeLeases(FrontierQueueId id) {
    std::map<std::string, FrontierLease> leases;
    std::string_view url;
    for (; IsOf(*leases_, id, &url); leases_->Next()) {
      FrontierLease lease;
      if (storage::DecodeFrontier(ValueOf(*leases_), &lease)) {
        leases.emplace(url, lease);
      } else {
        Lose(FrontierFamily::kLeases, *leases_, "leases");
      }
    }
    return leases;
  }

  void TakeItems(FrontierQueueId id, std::map<std::string, FrontierLease> leases, Sums* sums) {
    std::string_view url;
    for (; IsOf(*items_, id, &url); items_->Next()) {
      FrontierItem item;
      if (!storage::DecodeFrontier(ValueOf(*items_), &item)) {
        Lose(FrontierFamily::kItems, *items_, "URLs");
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
          db_.Put(FrontierFamily::kLeases, storage::FrontierItemKey(id, url),
                  storage::EncodeFrontier(lease->second));
        }
      }
      leases.erase(lease);
    }
    for (const auto& [of, lease] : leases) {
      Problem("{} is in flight, and is not there or completed", of);
      if (mend_ != nullptr) db_.Delete(FrontierFamily::kLeases, storage::FrontierItemKey(id, of));
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

  // Whether there is a row for each URL that waits, and no other.
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
        Lose(FrontierFamily::kDue, *due_, "due URLs");
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

  // The rows as they are, without those that should not be, and with those that are missing.
  void RemakeDue(FrontierQueueId id, const std::map<std::string, FrontierLease>& leases) {
    const std::string prefix = storage::FrontierPrefix(id);
    const std::string end = storage::PrefixEnd(prefix);
    const rocksdb::Slice bound(end);
    std::string_view rest;
    for (const auto due = db_.Rows(FrontierFamily::kDue, prefix, &bound); due->Valid();
         due->Next()) {
      db_.Delete(FrontierFamily::kDue, KeyOf(*due));
    }
    const auto items = db_.Rows(FrontierFamily::kItems, prefix, &bound);
    for (; IsOf(*items, id, &rest); items->Next()) {
      FrontierItem item;
      if (!storage::DecodeFrontier(ValueOf(*items), &item) || item.due == 0) continue;
      if (leases.contains(std::string(rest))) continue;
      db_.Put(FrontierFamily::kDue, storage::FrontierDueKey(id, item.due, rest), "");
    }
  }

  // A queue that has URLs and no record.
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
        db_.Put(FrontierFamily::kMeta, storage::FrontierCrawlKey(id.crawl), name);
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
    // It may be too early, never too late.
    const bool headed = !sums.head || (record.head && *record.head <= *sums.head);
    if (!headed) Problem("queue {}: a URL waits before its head", record.key);
    if (mend_ == nullptr) return;
    record.active = sums.active;
    record.completed = sums.completed;
    record.head = sums.head;
    db_.Put(FrontierFamily::kQueues, storage::FrontierPrefix(id), storage::EncodeFrontier(record));
  }

  RawFrontier& db_;
  const KeyFor* const mend_;
  FrontierReport& report_;
  std::map<uint32_t, std::string> crawls_;
  std::map<uint32_t, std::set<std::string>> keys_;
  std::unique_ptr<rocksdb::Iterator> queues_;
  std::unique_ptr<rocksdb::Iterator> items_;
  std::unique_ptr<rocksdb::Iterator> due_;
  std::unique_ptr<rocksdb::Iterator> leases_;
};

rocksdb::Env* EnvOf(const StoreOptions& options) {
  return options.env != nullptr ? options.env : rocksdb::Env::Default();
}

StatusOr<bool> Exists(const std::string& dir, const StoreOptions& options) {
  const Status there = storage::CheckDirectory(dir);
  if (absl::IsNotFound(there)) return false;
  RETURN_IF_ERROR(there);
  return storage::DatabaseExists(EnvOf(options), dir);
}

Status Look(const std::string& dir, const StoreOptions& options, FrontierReport* report) {
  RawFrontier db(dir, options);
  RETURN_IF_ERROR(db.Open(/*read_only=*/true));
  RETURN_IF_ERROR(db.Checksums());
  return Pass(db, nullptr, report).Run();
}

// Leaves out what cannot be read at all; the database as it was is kept.
Status Salvage(const std::string& dir, const StoreOptions& options, FrontierReport* report) {
  rocksdb::Env* env = EnvOf(options);
  int number = 1;
  while (env->FileExists(fmt::format("{}-damaged-{}", dir, number)).ok()) ++number;
  report->original = fmt::format("{}-damaged-{}", dir, number);
  RETURN_IF_ERROR(storage::CopyDatabase(env, dir, report->original));
  rocksdb::Options repair(storage::MakeDbOptions(options), rocksdb::ColumnFamilyOptions());
  repair.create_if_missing = false;
  return FromRocksDb(rocksdb::RepairDB(dir, repair, storage::FrontierColumnFamilies(options)),
                     "repairing " + dir);
}

}  // namespace

StatusOr<FrontierReport> VerifyFrontier(const std::string& dir, const StoreOptions& options) {
  FrontierReport report;
  ASSIGN_OR_RETURN(const bool exists, Exists(dir, options));
  if (!exists) return report;
  const Status status = Look(dir, options, &report);
  if (absl::IsDataLoss(status)) {
    ++report.problem_count;
    report.problems.push_back(std::string(status.message()));
    return report;
  }
  RETURN_IF_ERROR(status);
  return report;
}

StatusOr<FrontierReport> VerifyFrontierWithin(const Store& cache) {
  FrontierReport report;
  const Store::Impl& impl = *cache.impl_;
  if (!impl.has_frontier()) return report;
  RawFrontier db(impl.db(), impl.frontier_handles());
  RETURN_IF_ERROR(Pass(db, nullptr, &report).Run());
  return report;
}

StatusOr<FrontierReport> RepairFrontier(
    const std::string& dir, const StoreOptions& options,
    const std::function<std::string(std::string_view url)>& key_of) {
  FrontierReport found;
  ASSIGN_OR_RETURN(const bool exists, Exists(dir, options));
  if (!exists) return found;
  const Status status = Look(dir, options, &found);
  if (status.ok() && found.ok()) return found;
  // In use, or of another release.
  if (absl::IsFailedPrecondition(status)) return status;
  FrontierReport report;
  if (!status.ok()) {
    ++report.problem_count;
    report.problems.push_back(std::string(status.message()));
    RETURN_IF_ERROR(Salvage(dir, options, &report));
  }
  RawFrontier db(dir, options);
  RETURN_IF_ERROR(db.Open(/*read_only=*/false));
  RETURN_IF_ERROR(Pass(db, &key_of, &report).Run());
  return report;
}

}  // namespace freshet
