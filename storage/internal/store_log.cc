// A store whose truth is a ChangeLog: what is committed goes there first.
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <span>
#include <thread>
#include <unordered_map>
#include <utility>

#include "core/base/check.h"
#include "core/schedule/followed_changes.h"
#include "rocksdb/env.h"
#include "storage/change_log.h"
#include "storage/follower.h"
#include "storage/internal/cursor.h"
#include "storage/internal/followed_rows.h"
#include "storage/internal/frontier_rows.h"
#include "storage/internal/keys.h"
#include "storage/internal/records.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/internal/secret.h"
#include "storage/internal/store_impl.h"

namespace freshet {

using storage::Family;
using storage::FromRocksDb;
using storage::MetaKey;
using storage::MetaKeyOf;

namespace {

// Rows that a start takes in with one write.
constexpr size_t kRowsAtOnce = 4096;
// The log keeps word of removed rows for seven days: a store that was away for longer might keep
// rows that are removed. A day less, as clocks differ.
constexpr std::chrono::hours kLongestAway{6 * 24};
// A time further ahead than this was written by a clock that was wrong, or is read by one.
constexpr std::chrono::hours kMostAhead{12};
constexpr uint64_t kMarkEverySeconds = 60;
// Who follows reads again after this many looks at whether its turn has come.
constexpr int kLooksBetweenReads = 10;
constexpr int kLookEveryMicros = 50'000;
// Whoever has not looked for longer may have missed that brokers lost rows and took others.
constexpr uint64_t kUnseenMicros = 5'000'000;
// A pass over the log that takes longer ends with a store that is behind.
constexpr uint64_t kLongMicros = 2'000'000;
// Each waits for Kafka, which does several things at a time.
constexpr uint32_t kPartitionsAtOnce = 16;
// Of those of which much is read ahead.
constexpr uint32_t kLongReadsAtOnce = 4;
// Of a row that Kafka has aborted, while brokers fail say.
constexpr int kAppendTries = 50;
constexpr int kAppendAgainMicros = 200'000;

uint64_t SecondsNow(rocksdb::Env& env) {
  int64_t seconds = 0;
  return env.GetCurrentTime(&seconds).ok() ? static_cast<uint64_t>(seconds) : 0;
}

uint64_t NumberOf(const ChangeLog& log) {
  return XXH3_64bits(log.name().data(), log.name().size());
}

// Of the rows of a log.
Status CheckLogFormat(uint64_t format) {
  if (format >= storage::kOldestLogFormat && format <= storage::kFormatVersion) {
    return absl::OkStatus();
  }
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "the log of the cluster has rows of format {}, this program takes those of {} "
                    "to {}: use {} one, or a cluster of another name (docs/upgrading.md)",
                    format, storage::kOldestLogFormat, storage::kFormatVersion,
                    format > storage::kFormatVersion ? "a newer" : "the older");
}

// The rows of a batch, as views into it. The database numbers families in the order in which it
// made them.
class RowsOf : public rocksdb::WriteBatch::Handler {
 public:
  RowsOf(rocksdb::DB& db, std::vector<rocksdb::ColumnFamilyHandle*> families)
      : db_(db), families_(std::move(families)) {}

  rocksdb::Status PutCF(uint32_t family, const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override {
    const Family of = FamilyOf(family);
    if (of > Family::kFrontierMeta) NotePut(key.ToStringView());
    rows.push_back({.family = of, .key = key.ToStringView(), .value = value.ToStringView()});
    return rocksdb::Status::OK();
  }
  rocksdb::Status DeleteCF(uint32_t family, const rocksdb::Slice& key) override {
    rows.push_back({.family = FamilyOf(family), .key = key.ToStringView(), .value = std::nullopt});
    return rocksdb::Status::OK();
  }
  // Of the frontier alone, by prefix, of all its families one after the other.
  rocksdb::Status DeleteRangeCF(uint32_t id, const rocksdb::Slice& begin,
                                const rocksdb::Slice& end) override {
    const Family family = FamilyOf(id);
    const std::string_view prefix = begin.ToStringView();
    CHECK(family > Family::kFrontierMeta && storage::PrefixEnd(std::string(prefix)) == end,
          "a range of family {}", storage::IndexOf(family));
    Forget(family, prefix);
    if (family == Family::kFrontierQueues && std::exchange(too_many_, false)) {
      rows.push_back({.family = Family::kFrontierGone, .key = prefix, .value = ""});
    }
    return rocksdb::Status::OK();
  }

  std::vector<LogRow> rows;

 private:
  // Removes the rows that there are, so that Kafka's compaction need not keep them for ever; beyond
  // the most, it is the row that says that all are gone that says it to readers.
  void Forget(Family family, std::string_view prefix) {
    if (const auto it = put_.find(prefix); it != put_.end()) {
      for (const size_t i : it->second) {
        if (rows[i].family == family) rows.push_back({.family = family, .key = rows[i].key});
      }
    }
    rocksdb::ReadOptions read;
    read.fill_cache = false;
    storage::Cursor there(&db_, families_[storage::IndexOf(family)], std::string(prefix), read);
    for (; there.valid(); there.Next()) {
      if (forgotten_.size() == kMostForgotten) {
        too_many_ = true;
        return;
      }
      forgotten_.emplace_back(there.key());
      rows.push_back({.family = family, .key = forgotten_.back(), .value = std::nullopt});
    }
    if (!there.status().ok()) too_many_ = true;
  }

  // By what it may be forgotten with: its crawl id, and its queue.
  void NotePut(std::string_view key) {
    for (const size_t size : {sizeof(uint32_t), 2 * sizeof(uint32_t)}) {
      if (key.size() >= size) put_[key.substr(0, size)].push_back(rows.size());
    }
  }

  [[nodiscard]] Family FamilyOf(uint32_t id) const {
    size_t i = 0;
    while (families_[i]->GetID() != id) CHECK(++i < families_.size(), "column family {}", id);
    return static_cast<Family>(i);
  }

  // A second of a transaction: pages of the partition wait for it.
  static constexpr size_t kMostForgotten = 20'000;

  rocksdb::DB& db_;
  const std::vector<rocksdb::ColumnFamilyHandle*> families_;
  std::deque<std::string> forgotten_;  // keys
  bool too_many_ = false;              // of a range, to be removed one by one
  std::unordered_map<std::string_view, std::vector<size_t>> put_;  // rows of the frontier
};

}  // namespace

Status Store::Impl::PutMark(rocksdb::WriteBatch& batch, uint16_t partition, uint64_t offset) const {
  std::string value;
  const std::string key = MetaKeyOf(MetaKey::kLogOffset, partition);
  storage::EncodeNumber(key, offset, &value);
  return FromRocksDb(batch.Put(handle(Family::kMeta), key, value), "offset");
}

Status Store::Impl::PutTime(rocksdb::WriteBatch& batch, uint64_t seconds) const {
  std::string value;
  const std::string key = MetaKeyOf(MetaKey::kLogTime);
  storage::EncodeNumber(key, seconds, &value);
  return FromRocksDb(batch.Put(handle(Family::kMeta), key, value), "time");
}

Status Store::Impl::WriteDurably(rocksdb::WriteBatch* batch, uint16_t partition) {
  if (options_.truth == nullptr) return Write(batch, options_.durability == Durability::kSync);
  CHECK(partition < options_.truth->partitions(), "partition {}", partition);
  RowsOf rows(*db_, families());
  RETURN_IF_ERROR(FromRocksDb(batch->Iterate(&rows), "reading a batch"));
  if (rows.rows.empty()) return absl::OkStatus();
  const MutexLock lock((*log_mutexes_)[partition]);
  ASSIGN_OR_RETURN(const uint64_t offset, options_.truth->Append(partition, rows.rows));
  RETURN_IF_ERROR(PutMark(*batch, partition, offset));
  // Who owns one partition has all.
  RETURN_IF_ERROR(PutTime(*batch, SecondsNow(*env_)));
  const Status written = Write(batch, false);
  // The log has it: a store that is behind is made up for by the next start only.
  return written.ok() ? written : NoteFailure(written);
}

Status Store::Impl::CheckAge() const {
  ASSIGN_OR_RETURN(const std::optional<uint64_t> seen, ReadNumber(MetaKeyOf(MetaKey::kLogTime)));
  const auto longest = static_cast<uint64_t>(std::chrono::seconds(kLongestAway).count());
  const auto most_ahead = static_cast<uint64_t>(std::chrono::seconds(kMostAhead).count());
  const uint64_t now = SecondsNow(*env_);
  if (seen && *seen > now + most_ahead) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "{}: was last written {} hours from now, so its age is not known: set the "
                      "clock, or empty this directory, and the server fills it from the log",
                      dir_, (*seen - now) / 3600);
  }
  if (!seen || *seen + longest >= now) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "{}: was last written {} days ago, and the log no longer has the removals "
                    "since then: empty this directory, and the server fills it from the log",
                    dir_, (now - *seen) / 86'400);
}

Status Store::Impl::CheckCache(const ChangeLog& log) const {
  ASSIGN_OR_RETURN(const std::optional<uint64_t> before, ReadNumber(MetaKeyOf(MetaKey::kLayout)));
  ASSIGN_OR_RETURN(const std::optional<uint64_t> seen, ReadNumber(MetaKeyOf(MetaKey::kLogTime)));
  if (before && !seen) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "{}: is the store of a single server: a server of a cluster needs a "
                      "directory of its own",
                      dir_);
  }
  ASSIGN_OR_RETURN(const std::optional<uint64_t> name, ReadNumber(MetaKeyOf(MetaKey::kLogName)));
  if (name && *name != NumberOf(log)) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "{}: is the store of a server of another cluster, or of another division, "
                      "and not of {}: it needs a directory of its own",
                      dir_, log.name());
  }
  RETURN_IF_ERROR(CheckAge());
  if (before && *before != log.partitions()) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition, "{}: has {} partitions, not {}", dir_,
                      *before, log.partitions());
  }
  for (uint32_t i = 0; i < log.partitions(); ++i) {
    const std::string key = MetaKeyOf(MetaKey::kLogFormat, static_cast<uint16_t>(i));
    ASSIGN_OR_RETURN(const std::optional<uint64_t> format, ReadNumber(key));
    if (format) RETURN_IF_ERROR(CheckLogFormat(*format));
  }
  return absl::OkStatus();
}

Status Store::Impl::CheckBirth(uint16_t partition) const {
  const std::string key = MetaKeyOf(MetaKey::kLogBirth, partition);
  ASSIGN_OR_RETURN(const std::optional<uint64_t> known, ReadNumber(key));
  const std::string format = MetaKeyOf(MetaKey::kLogFormat, partition);
  ASSIGN_OR_RETURN(const std::optional<uint64_t> has_any, ReadNumber(format));
  if (!has_any) return absl::OkStatus();
  // A log from before there were such rows has none, and its caches neither.
  std::optional<uint64_t> found;
  ChangeLog& log = *options_.truth;
  // The first two of all rows, however often the log was compacted.
  const auto read = log.Read(partition, 0, std::nullopt, [&](const LogRow& row, uint64_t) {
    if (row.family == Family::kMeta && row.key == format) return absl::OkStatus();
    if (row.family == Family::kMeta && row.key == key && row.value) {
      uint64_t number = 0;
      RETURN_IF_ERROR(storage::DecodeNumber(row.key, *row.value, &number));
      found = number;
    }
    return absl::OutOfRangeError("seen enough");
  });
  if (!read.ok() && !absl::IsOutOfRange(read.status())) return read.status();
  if (found == known) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "{}: was built from another topic of the name {}: somebody has deleted the "
                    "topic and made it again (docs/cluster.md)",
                    dir_, log.name());
}

Status Store::Impl::MarkName(const ChangeLog& log) {
  const std::string key = MetaKeyOf(MetaKey::kLogName);
  ASSIGN_OR_RETURN(const std::optional<uint64_t> name, ReadNumber(key));
  if (name) return absl::OkStatus();
  rocksdb::WriteBatch batch;
  std::string value;
  storage::EncodeNumber(key, NumberOf(log), &value);
  RETURN_IF_ERROR(FromRocksDb(batch.Put(handle(Family::kMeta), key, value), dir_));
  // It has nothing, of any time.
  RETURN_IF_ERROR(PutTime(batch, SecondsNow(*env_)));
  return Write(&batch, false);
}

Status Store::Impl::MarkTime(uint64_t seconds) {
  // A clock that was ahead is set back.
  const uint64_t since = std::max(seconds, marked_seconds_) - std::min(seconds, marked_seconds_);
  if (since < kMarkEverySeconds) return absl::OkStatus();
  rocksdb::WriteBatch batch;
  RETURN_IF_ERROR(PutTime(batch, seconds));
  RETURN_IF_ERROR(Write(&batch, false));
  marked_seconds_ = seconds;
  return absl::OkStatus();
}

Status Store::Impl::CatchUp(Store& store) {
  if (options_.truth == nullptr) return absl::OkStatus();
  ChangeLog& log = *options_.truth;
  RETURN_IF_ERROR(CheckCache(log));
  RETURN_IF_ERROR(MarkName(log));
  Enter(OpenStage::kCatchingUp);
  RETURN_IF_ERROR(
      OfAll(kPartitionsAtOnce, [this](uint16_t partition) { return CheckBirth(partition); }));
  // Before it touches a log: whether it understands the rows. What came while that took long is
  // read as well.
  uint64_t before = 0;
  uint64_t began = 0;
  do {
    before = rows_taken_in_;
    began = env_->NowMicros();
    RETURN_IF_ERROR(CatchUpAll(kLongReadsAtOnce));
  } while (env_->NowMicros() - began > kLongMicros && rows_taken_in_ - before > kRowsAtOnce);
  RETURN_IF_ERROR(Follow(store));
  RETURN_IF_ERROR(OfAll(kPartitionsAtOnce, [this](uint16_t partition) { return Own(partition); }));
  RETURN_IF_ERROR(CheckAge());
  OutdatePrepared();
  rocksdb::WriteBatch batch;
  std::string value;
  const std::string layout = MetaKeyOf(MetaKey::kLayout);
  storage::EncodeNumber(layout, log.partitions(), &value);
  RETURN_IF_ERROR(FromRocksDb(batch.Put(handle(Family::kMeta), layout, value), dir_));
  return Write(&batch, false);
}

Status Store::Impl::Follow(Store& store) {
  Follower* const follower = options_.follower;
  if (follower == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(follower->CaughtUp());
  while (!follower->MayOwn()) {
    Enter(OpenStage::kFollowing);
    RETURN_IF_ERROR(CatchUpAll(kPartitionsAtOnce));
    OutdatePrepared();
    RETURN_IF_ERROR(Prepare(store));
    for (int i = 0; i < kLooksBetweenReads && !follower->MayOwn(); ++i) {
      RETURN_IF_ERROR(storage::GoOn(options_.progress));
      env_->SleepForMicroseconds(kLookEveryMicros);
    }
  }
  Enter(OpenStage::kCatchingUp);
  return absl::OkStatus();
}

Status Store::Impl::CatchUpAll(uint32_t at_once) {
  // Whoever was cut off or suspended for that long, before or while it reads, has read on behind
  // removals that the log no longer has.
  RETURN_IF_ERROR(CheckAge());
  const uint64_t begun = SecondsNow(*env_);
  RETURN_IF_ERROR(
      OfAll(at_once, [this](uint16_t partition) { return CatchUp(partition, std::nullopt); }));
  RETURN_IF_ERROR(CheckAge());
  if (options_.progress != nullptr) options_.progress->at_end_seconds = begun;
  return MarkTime(begun);
}

Status Store::Impl::OfAll(uint32_t at_once, const std::function<Status(uint16_t)>& work) const {
  const uint32_t partitions = options_.truth->partitions();
  std::atomic<uint32_t> next = 0;
  Mutex mutex;
  Status status;
  std::vector<std::thread> threads;
  while (threads.size() < std::min(partitions, at_once)) {
    threads.emplace_back([&] {
      for (uint32_t i = next++; i < partitions; i = next++) {
        Status done = work(static_cast<uint16_t>(i));
        if (done.ok()) continue;
        // Opening fails: the others need not go on, nor wait.
        next = partitions;
        const MutexLock lock(mutex);
        if (status.ok()) options_.truth->StopWaiting();
        status.Update(std::move(done));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return status;
}

Status Store::Impl::Own(uint16_t partition) {
  RETURN_IF_ERROR(storage::GoOn(options_.progress));
  RETURN_IF_ERROR(options_.truth->Own(partition));
  const std::string format = MetaKeyOf(MetaKey::kLogFormat, partition);
  ASSIGN_OR_RETURN(std::optional<uint64_t> known, ReadNumber(format));
  if (!known) {
    // As far as is known nobody has owned it.
    RETURN_IF_ERROR(CatchUp(partition, std::nullopt));
    ASSIGN_OR_RETURN(known, ReadNumber(format));
  }
  ASSIGN_OR_RETURN(const uint64_t end, known ? AppendOwners(partition) : AppendFirst(partition));
  if (end == 0) return CatchUp(partition, std::nullopt);
  ASSIGN_OR_RETURN(const std::optional<uint64_t> mark,
                   ReadNumber(MetaKeyOf(MetaKey::kLogOffset, partition)));
  if (!mark || end > *mark) return CatchUp(partition, end);
  return EndsTooSoon(options_.truth->name(), partition);
}

StatusOr<uint64_t> Store::Impl::AppendOwners(uint16_t partition) {
  ASSIGN_OR_RETURN(const std::optional<uint64_t> before,
                   ReadNumber(MetaKeyOf(MetaKey::kLogOwners, partition)));
  Numbers numbers = {{MetaKey::kLogOwners, before.value_or(0) + 1}};
  ASSIGN_OR_RETURN(const std::optional<uint64_t> format,
                   ReadNumber(MetaKeyOf(MetaKey::kLogFormat, partition)));
  // What comes from now on programs of before cannot take in.
  if (format != storage::kFormatVersion) {
    numbers.emplace_back(MetaKey::kLogFormat, storage::kFormatVersion);
  }
  return AppendNumbers(partition, numbers);
}

StatusOr<uint64_t> Store::Impl::AppendFirst(uint16_t partition) {
  ASSIGN_OR_RETURN(const FingerprintSecret drawn, storage::DrawSecret());
  uint64_t birth = 0;
  static_assert(sizeof(drawn) >= sizeof(birth));
  std::memcpy(&birth, drawn.data(), sizeof(birth));
  return AppendNumbers(
      partition, {{MetaKey::kLogFormat, storage::kFormatVersion}, {MetaKey::kLogBirth, birth}});
}

StatusOr<uint64_t> Store::Impl::AppendNumbers(uint16_t partition, const Numbers& numbers) {
  struct Row {
    std::string key;
    std::string value;
  };
  std::vector<Row> encoded(numbers.size());
  std::vector<LogRow> rows;
  for (size_t i = 0; i < numbers.size(); ++i) {
    Row& row = encoded[i];
    row.key = MetaKeyOf(numbers[i].first, partition);
    storage::EncodeNumber(row.key, numbers[i].second, &row.value);
    rows.push_back({.family = Family::kMeta, .key = row.key, .value = row.value});
  }
  for (int tries = 1;; ++tries) {
    StatusOr<uint64_t> end = options_.truth->Append(partition, rows);
    if (!absl::IsResourceExhausted(end.status()) || tries == kAppendTries) return end;
    RETURN_IF_ERROR(storage::GoOn(options_.progress));
    env_->SleepForMicroseconds(kAppendAgainMicros);
  }
}

Status Store::Impl::Prepare(Store& store) {
  if (!options_.follower->MayOwnSoon()) {
    prepared_ = false;
    return absl::OkStatus();
  }
  if (prepared_) return absl::OkStatus();
  RETURN_IF_ERROR(ReadMarks());
  prepared_ = true;
  outdated_ = false;
  return options_.follower->Prepare(store);
}

void Store::Impl::OutdatePrepared() {
  if (!prepared_ || !outdated_) return;
  prepared_ = false;
  options_.follower->Outdate();
}

// Owner thread only.
class Store::Impl::RowTaker {
 public:
  // `first`: the first row that it takes is the first of the log.
  RowTaker(Impl& impl, uint16_t partition, bool first)
      : impl_(impl),
        partition_(partition),
        first_(first),
        format_key_(MetaKeyOf(MetaKey::kLogFormat, partition)),
        followed_(impl.prepared_ && !impl.outdated_) {}

  Status Take(const LogRow& row, uint64_t next) {
    RETURN_IF_ERROR(storage::GoOn(impl_.options_.progress));
    if (first_) RETURN_IF_ERROR(CheckFirst(row));
    first_ = false;
    if (row.family == Family::kMeta && row.key == format_key_ && row.value) {
      uint64_t format = 0;
      RETURN_IF_ERROR(storage::DecodeNumber(row.key, *row.value, &format));
      RETURN_IF_ERROR(CheckLogFormat(format));
    }
    RETURN_IF_ERROR(FromRocksDb(Add(row), "taking in a row"));
    (*impl_.followed_)[partition_].tail.Add(row, next);
    if (followed_) news_.Add(row);
    ++impl_.rows_taken_in_;
    if (impl_.options_.progress != nullptr) ++impl_.options_.progress->rows_taken_in;
    return ++rows_ % kRowsAtOnce == 0 ? Write(next) : absl::OkStatus();
  }
  // Those that are left; the store is complete to `next`.
  Status Write(uint64_t next) {
    RETURN_IF_ERROR(impl_.PutMark(batch_, partition_, next));
    RETURN_IF_ERROR(impl_.Write(&batch_, false));
    batch_.Clear();
    if (!followed_) return absl::OkStatus();
    FollowedChanges changes = news_.Take();
    followed_ =
        !news_.beyond() &&
        (changes.empty() || impl_.options_.follower->Update(partition_, std::move(changes)).ok());
    if (!followed_) impl_.outdated_ = true;
    return absl::OkStatus();
  }
  [[nodiscard]] size_t rows() const { return rows_; }

 private:
  // However often a log was compacted: it begins with its format, or, where that was raised, with
  // what the first owner has said beside it.
  [[nodiscard]] Status CheckFirst(const LogRow& row) const {
    if (row.family == Family::kMeta && row.value &&
        (row.key == format_key_ || row.key == MetaKeyOf(MetaKey::kLogBirth, partition_))) {
      return absl::OkStatus();
    }
    return BeginsTooLate(impl_.options_.truth->name(), partition_);
  }
  rocksdb::Status Add(const LogRow& row) {
    if (row.family == Family::kFrontierGone) {
      return storage::ForgetFrontier(impl_.frontier_handles_, std::string(row.key), &batch_);
    }
    rocksdb::ColumnFamilyHandle* family = impl_.handle(row.family);
    return row.value ? batch_.Put(family, row.key, *row.value) : batch_.Delete(family, row.key);
  }

  Impl& impl_;
  const uint16_t partition_;
  bool first_;
  const std::string format_key_;
  rocksdb::WriteBatch batch_;
  size_t rows_ = 0;
  bool followed_;  // by what the follower has prepared
  storage::FollowedRows news_;
};

Status Store::Impl::CheckTail(uint16_t partition) const {
  const storage::LogTail& tail = (*followed_)[partition].tail;
  const std::optional<uint64_t> first = tail.first();
  if (!first) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::optional<uint64_t> mark,
                   ReadNumber(MetaKeyOf(MetaKey::kLogOffset, partition)));
  bool other = false;
  const auto look = [&](const LogRow& row, uint64_t next) {
    other = tail.Contradicts(row, next);
    return other || next >= mark.value_or(0) ? absl::OutOfRangeError("seen enough")
                                             : absl::OkStatus();
  };
  // What ends before is for whoever reads on to say.
  const Status read = options_.truth->Read(partition, *first, std::nullopt, look).status();
  if (!other) return absl::IsOutOfRange(read) || absl::IsAborted(read) ? absl::OkStatus() : read;
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "partition {} of {} has lost rows that the local store has read: brokers have "
                    "lost what they had acknowledged",
                    partition, options_.truth->name());
}

Status Store::Impl::CatchUp(uint16_t partition, std::optional<uint64_t> end) {
  Followed& followed = (*followed_)[partition];
  const uint64_t now = env_->NowMicros();
  const uint64_t looked = std::exchange(followed.looked_micros, now);
  const bool unseen = std::max(now, looked) - std::min(now, looked) > kUnseenMicros;
  if (unseen) RETURN_IF_ERROR(CheckTail(partition));
  ASSIGN_OR_RETURN(const std::optional<uint64_t> from,
                   ReadNumber(MetaKeyOf(MetaKey::kLogOffset, partition)));
  RowTaker taker(*this, partition, from.value_or(0) == 0);
  const auto read = [&] {
    return options_.truth->Read(
        partition, from.value_or(0), end,
        [&taker](const LogRow& row, uint64_t after) { return taker.Take(row, after); });
  };
  StatusOr<uint64_t> reached = read();
  while (absl::IsAborted(reached.status())) {
    RETURN_IF_ERROR(CheckTail(partition));
    reached = read();
  }
  ASSIGN_OR_RETURN(const uint64_t next, std::move(reached));
  if (taker.rows() > 0 || from != next) RETURN_IF_ERROR(taker.Write(next));
  // Who follows takes in a few every second.
  if (taker.rows() >= kRowsAtOnce) {
    Say('I', fmt::format("partition {}: took in {} rows of the log", partition, taker.rows()));
  }
  return absl::OkStatus();
}

Status Store::Impl::OpenAlone() {
  ASSIGN_OR_RETURN(const std::optional<uint64_t> seen, ReadNumber(MetaKeyOf(MetaKey::kLogTime)));
  if (options_.alone && options_.leave_log) {
    if (seen) return LeaveLog(*seen);
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "{}: is the store of a single server already", dir_);
  }
  read_only_ = seen.has_value();
  if (!read_only_ || options_.alone) return absl::OkStatus();
  return MakeStatus(
      absl::StatusCode::kFailedPrecondition,
      "{}: is the store of a server of a cluster; the cluster's log is the source of its data",
      dir_);
}

Status Store::Impl::LeaveLog(uint64_t complete_seconds) {
  RETURN_IF_ERROR(MoveFrontier());
  rocksdb::WriteBatch batch;
  uint64_t partitions = 0;
  const std::unique_ptr<rocksdb::Iterator> it(
      db_->NewIterator(rocksdb::ReadOptions(), handle(Family::kMeta)));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    if (it->key().empty()) continue;
    const auto kind = static_cast<MetaKey>(it->key()[0]);
    if (kind < MetaKey::kLogOffset || kind > MetaKey::kLogBirth) continue;
    if (kind == MetaKey::kLogOffset) ++partitions;
    RETURN_IF_ERROR(FromRocksDb(batch.Delete(handle(Family::kMeta), it->key()), dir_));
  }
  RETURN_IF_ERROR(FromRocksDb(it->status(), "reading meta"));
  // Who has served has it; of who stood by it is what the log has.
  const std::string layout = MetaKeyOf(MetaKey::kLayout);
  ASSIGN_OR_RETURN(const std::optional<uint64_t> served, ReadNumber(layout));
  std::string value;
  storage::EncodeNumber(layout, std::max<uint64_t>(partitions, 1), &value);
  RETURN_IF_ERROR(FromRocksDb(batch.Put(handle(Family::kMeta), layout, value), dir_));
  RETURN_IF_ERROR(Write(&batch, true));
  const uint64_t now = SecondsNow(*env_);
  const uint64_t ago = now - std::min(now, complete_seconds);
  if (served) {
    Say('W', fmt::format("leaves its cluster with all that the log had {} s ago, or later", ago));
  } else {
    Say('W', fmt::format("leaves its cluster, in which it never served: it may be without parts of "
                         "what the log had {} s ago",
                         ago));
  }
  return absl::OkStatus();
}

}  // namespace freshet
