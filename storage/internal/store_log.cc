#include "storage/internal/store_log.h"

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

namespace freshet::storage {
namespace {

// Number of rows of a log that start-up writes at a time.
constexpr size_t kRowsAtOnce = 4096;
// The frontier is flushed after this many queues and crawl ids were removed by range deletions.
// Each removal takes four range deletions.
constexpr size_t kMostRanges = 1000;
// The log keeps removals for seven days, so a store that was not updated for longer might keep
// removed rows. The limit is one day less, because clocks differ.
constexpr std::chrono::hours kLongestAway{6 * 24};
// If a time is further ahead than this, the server that wrote or reads it has a wrong clock.
constexpr std::chrono::hours kMostAhead{12};
constexpr uint64_t kMarkEverySeconds = 60;
// A standby reads the log after this many checks of whether it may own the log.
constexpr int kLooksBetweenReads = 10;
constexpr int kLookEveryMicros = 50'000;
// After a longer pause between reads, a standby checks the last rows that it has read: brokers
// might have lost rows and received others.
constexpr uint64_t kUnseenMicros = 5'000'000;
// If a pass over the log takes longer, the store is behind again at the end of the pass, and makes
// another one.
constexpr uint64_t kLongMicros = 2'000'000;
// Number of partitions that are processed at a time. Each waits for Kafka, which can serve several
// requests at a time.
constexpr uint32_t kPartitionsAtOnce = 16;
// Number of partitions that are read at a time when each has many rows to read.
constexpr uint32_t kLongReadsAtOnce = 4;
// Number of attempts to append rows when Kafka aborts their transactions, as it does while brokers
// fail.
constexpr int kAppendTries = 50;
constexpr int kAppendAgainMicros = 200'000;

uint64_t SecondsNow(rocksdb::Env& env) {
  int64_t seconds = 0;
  return env.GetCurrentTime(&seconds).ok() ? static_cast<uint64_t>(seconds) : 0;
}

uint64_t NumberOf(const ChangeLog& log) {
  return XXH3_64bits(log.name().data(), log.name().size());
}

// Not OK: FailedPrecondition if a different release must read the log.
Status CheckLogFormat(uint64_t format) {
  if (format >= kOldestLogFormat && format <= kFormatVersion) {
    return absl::OkStatus();
  }
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "the log of the cluster has rows of format {}, this program takes those of {} "
                    "to {}: use {} one, or a cluster of another name (docs/upgrading.md)",
                    format, kOldestLogFormat, kFormatVersion,
                    format > kFormatVersion ? "a newer" : "the older");
}

// Adds the row to a batch.
rocksdb::Status AddRow(const Database& base, const LogRow& row, rocksdb::WriteBatch* batch) {
  if (row.family == Family::kFrontierGone) {
    return ForgetFrontier(base.handles(), std::string(row.key), batch);
  }
  rocksdb::ColumnFamilyHandle* family = base.handle(row.family);
  return row.value ? batch->Put(family, row.key, *row.value) : batch->Delete(family, row.key);
}

// Collects the rows of a batch, as views into it. The database numbers families in the order of
// their creation.
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
  // Only the frontier deletes ranges: by prefix, in all its families one after another.
  rocksdb::Status DeleteRangeCF(uint32_t id, const rocksdb::Slice& begin,
                                const rocksdb::Slice& end) override {
    const Family family = FamilyOf(id);
    const std::string_view prefix = begin.ToStringView();
    CHECK(family > Family::kFrontierMeta && PrefixEnd(std::string(prefix)) == end,
          "a range of family {}", IndexOf(family));
    Forget(family, prefix);
    if (family == Family::kFrontierQueues && std::exchange(too_many_, false)) {
      rows.push_back({.family = Family::kFrontierGone, .key = prefix, .value = ""});
      ++ranges;
    }
    return rocksdb::Status::OK();
  }

  std::vector<LogRow> rows;
  size_t ranges = 0;  // number of kFrontierGone rows

 private:
  // Removes existing rows one by one, so that Kafka's compaction can drop the rows in the end, and
  // the database keeps no range deletion. If there are too many rows, writes a kFrontierGone row,
  // which tells readers to remove all of them.
  void Forget(Family family, std::string_view prefix) {
    if (const auto it = put_.find(prefix); it != put_.end()) {
      for (const size_t i : it->second) {
        if (rows[i].family == family) rows.push_back({.family = family, .key = rows[i].key});
      }
    }
    rocksdb::ReadOptions read;
    read.fill_cache = false;
    Cursor there(&db_, families_[IndexOf(family)], std::string(prefix), read, kMostForgotten);
    for (; there.valid(); there.Next()) {
      if (forgotten_.size() == kMostForgotten) {
        too_many_ = true;
        return;
      }
      forgotten_.emplace_back(there.key());
      rows.push_back({.family = family, .key = forgotten_.back(), .value = std::nullopt});
    }
    if (!there.status().ok() || there.left_off()) too_many_ = true;
  }

  // Records the row under both prefixes whose removal would cover it: the crawl id's and the
  // queue's.
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

  // Removing this many rows takes about a second of a transaction, during which pages of the
  // partition wait.
  static constexpr size_t kMostForgotten = 20'000;

  rocksdb::DB& db_;
  const std::vector<rocksdb::ColumnFamilyHandle*> families_;
  std::deque<std::string> forgotten_;  // keys
  bool too_many_ = false;              // a range has too many rows to remove one by one
  std::unordered_map<std::string_view, std::vector<size_t>> put_;  // by prefix of written rows
};

}  // namespace

StoreLog::StoreLog(Database& base)
    : base_(base),
      options_(base.options()),
      dir_(base.dir()),
      env_(base.options().env),
      followed_(std::make_unique<std::array<Followed, limits::kMaxShards>>()),
      mutexes_(std::make_unique<std::array<Mutex, limits::kMaxShards>>()) {}

Status StoreLog::Write(rocksdb::WriteBatch* batch, uint16_t partition) {
  const bool alone = options_.truth == nullptr;
  const bool forgets = batch->HasDeleteRange();
  if (alone && !forgets) return base_.Write(batch, options_.durability == Durability::kSync);
  RowsOf rows(base_.db(), base_.families());
  RETURN_IF_ERROR(FromRocksDb(batch->Iterate(&rows), "reading a batch"));
  if (rows.rows.empty()) return absl::OkStatus();
  rocksdb::WriteBatch points;
  if (forgets) {
    for (const LogRow& row : rows.rows) {
      RETURN_IF_ERROR(FromRocksDb(AddRow(base_, row, &points), "writing a batch"));
    }
    batch = &points;
  }
  if (alone) {
    RETURN_IF_ERROR(base_.Write(batch, options_.durability == Durability::kSync));
    NoteRanges(rows.ranges);
    return absl::OkStatus();
  }
  CHECK(partition < options_.truth->partitions(), "partition {}", partition);
  const MutexLock lock((*mutexes_)[partition]);
  ASSIGN_OR_RETURN(const uint64_t offset, options_.truth->Append(partition, rows.rows));
  RETURN_IF_ERROR(base_.PutNumber(batch, MetaKeyOf(MetaKey::kLogOffset, partition), offset));
  // A server that owns one partition owns all of them, so the store now has all rows of the log.
  RETURN_IF_ERROR(base_.PutNumber(batch, MetaKeyOf(MetaKey::kLogTime), SecondsNow(*env_)));
  const Status written = base_.Write(batch, false);
  // The log has the rows, but the database does not. Only the next start reads them.
  if (!written.ok()) return base_.NoteFailure(written);
  NoteRanges(rows.ranges);
  return absl::OkStatus();
}

// Flushes the frontier after kMostRanges removals. The first read after each new range deletion
// makes RocksDB sort all range deletions of the memtable again, which takes longer the more there
// are.
void StoreLog::NoteRanges(size_t ranges) {
  ranges_ += ranges;
  if (ranges_ < kMostRanges) return;
  ranges_ = 0;
  rocksdb::FlushOptions flush;
  flush.wait = false;
  // If the disk is full, the rows stay in memory. The store notices a full disk by itself.
  (void)base_.db().Flush(
      flush, {base_.handle(Family::kFrontierItems), base_.handle(Family::kFrontierDue),
              base_.handle(Family::kFrontierLeases), base_.handle(Family::kFrontierQueues)});
}

Status StoreLog::CheckAge() const {
  ASSIGN_OR_RETURN(const std::optional<uint64_t> seen,
                   base_.ReadNumber(MetaKeyOf(MetaKey::kLogTime)));
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

Status StoreLog::CheckCache(const ChangeLog& log) const {
  ASSIGN_OR_RETURN(const std::optional<uint64_t> before,
                   base_.ReadNumber(MetaKeyOf(MetaKey::kLayout)));
  ASSIGN_OR_RETURN(const std::optional<uint64_t> seen,
                   base_.ReadNumber(MetaKeyOf(MetaKey::kLogTime)));
  if (before && !seen) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "{}: is the store of a single server: a server of a cluster needs a "
                      "directory of its own",
                      dir_);
  }
  ASSIGN_OR_RETURN(const std::optional<uint64_t> name,
                   base_.ReadNumber(MetaKeyOf(MetaKey::kLogName)));
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
    ASSIGN_OR_RETURN(const std::optional<uint64_t> format, base_.ReadNumber(key));
    if (format) RETURN_IF_ERROR(CheckLogFormat(*format));
  }
  return absl::OkStatus();
}

Status StoreLog::CheckBirth(uint16_t partition) const {
  const std::string key = MetaKeyOf(MetaKey::kLogBirth, partition);
  ASSIGN_OR_RETURN(const std::optional<uint64_t> known, base_.ReadNumber(key));
  const std::string format = MetaKeyOf(MetaKey::kLogFormat, partition);
  ASSIGN_OR_RETURN(const std::optional<uint64_t> has_any, base_.ReadNumber(format));
  if (!has_any) return absl::OkStatus();
  // A log from before kLogBirth rows existed has none, and neither do its caches.
  std::optional<uint64_t> found;
  ChangeLog& log = *options_.truth;
  // The row with the birth is always one of the first two, even after compaction. The row with the
  // format can precede it.
  const auto read = log.Read(partition, 0, std::nullopt, [&](const LogRow& row, uint64_t) {
    if (row.family == Family::kMeta && row.key == format) return absl::OkStatus();
    if (row.family == Family::kMeta && row.key == key && row.value) {
      uint64_t number = 0;
      RETURN_IF_ERROR(DecodeNumber(row.key, *row.value, &number));
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

Status StoreLog::MarkName(const ChangeLog& log) {
  const std::string key = MetaKeyOf(MetaKey::kLogName);
  ASSIGN_OR_RETURN(const std::optional<uint64_t> name, base_.ReadNumber(key));
  if (name) return absl::OkStatus();
  rocksdb::WriteBatch batch;
  RETURN_IF_ERROR(base_.PutNumber(&batch, key, NumberOf(log)));
  // A new store has no rows that could be too old.
  RETURN_IF_ERROR(base_.PutNumber(&batch, MetaKeyOf(MetaKey::kLogTime), SecondsNow(*env_)));
  return base_.Write(&batch, false);
}

Status StoreLog::MarkTime(uint64_t seconds) {
  // Uses the absolute difference, because a clock that was ahead can be set back.
  const uint64_t since = std::max(seconds, marked_seconds_) - std::min(seconds, marked_seconds_);
  if (since < kMarkEverySeconds) return absl::OkStatus();
  rocksdb::WriteBatch batch;
  RETURN_IF_ERROR(base_.PutNumber(&batch, MetaKeyOf(MetaKey::kLogTime), seconds));
  RETURN_IF_ERROR(base_.Write(&batch, false));
  marked_seconds_ = seconds;
  return absl::OkStatus();
}

Status StoreLog::CatchUp(Store& store, const std::function<Status()>& read_marks) {
  if (options_.truth == nullptr) return absl::OkStatus();
  ChangeLog& log = *options_.truth;
  RETURN_IF_ERROR(CheckCache(log));
  RETURN_IF_ERROR(MarkName(log));
  base_.Enter(OpenStage::kCatchingUp);
  RETURN_IF_ERROR(
      OfAll(kPartitionsAtOnce, [this](uint16_t partition) { return CheckBirth(partition); }));
  // The store reads the log before it owns the log, to check that this release understands the
  // rows. If a pass takes long, the store also reads the rows that others have appended meanwhile.
  uint64_t before = 0;
  uint64_t began = 0;
  do {
    before = rows_taken_in_;
    began = env_->NowMicros();
    RETURN_IF_ERROR(TakeInAll(kLongReadsAtOnce));
  } while (env_->NowMicros() - began > kLongMicros && rows_taken_in_ - before > kRowsAtOnce);
  RETURN_IF_ERROR(Follow(store, read_marks));
  RETURN_IF_ERROR(OfAll(kPartitionsAtOnce, [this](uint16_t partition) { return Own(partition); }));
  RETURN_IF_ERROR(CheckAge());
  OutdatePrepared();
  rocksdb::WriteBatch batch;
  RETURN_IF_ERROR(base_.PutNumber(&batch, MetaKeyOf(MetaKey::kLayout), log.partitions()));
  return base_.Write(&batch, false);
}

Status StoreLog::Follow(Store& store, const std::function<Status()>& read_marks) {
  Follower* const follower = options_.follower;
  if (follower == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(follower->CaughtUp());
  while (!follower->MayOwn()) {
    base_.Enter(OpenStage::kFollowing);
    RETURN_IF_ERROR(TakeInAll(kPartitionsAtOnce));
    OutdatePrepared();
    RETURN_IF_ERROR(Prepare(store, read_marks));
    for (int i = 0; i < kLooksBetweenReads && !follower->MayOwn(); ++i) {
      RETURN_IF_ERROR(GoOn(options_.progress));
      env_->SleepForMicroseconds(kLookEveryMicros);
    }
  }
  base_.Enter(OpenStage::kCatchingUp);
  return absl::OkStatus();
}

Status StoreLog::TakeInAll(uint32_t at_once) {
  // A server that was cut off or suspended for too long, before or during reading, might continue
  // to read after the log has dropped removals.
  RETURN_IF_ERROR(CheckAge());
  const uint64_t begun = SecondsNow(*env_);
  RETURN_IF_ERROR(
      OfAll(at_once, [this](uint16_t partition) { return TakeIn(partition, std::nullopt); }));
  RETURN_IF_ERROR(CheckAge());
  if (options_.progress != nullptr) options_.progress->at_end_seconds = begun;
  return MarkTime(begun);
}

Status StoreLog::OfAll(uint32_t at_once, const std::function<Status(uint16_t)>& work) const {
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
        // Opening fails, so the other threads are stopped.
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

Status StoreLog::Own(uint16_t partition) {
  RETURN_IF_ERROR(GoOn(options_.progress));
  RETURN_IF_ERROR(options_.truth->Own(partition));
  const std::string format = MetaKeyOf(MetaKey::kLogFormat, partition);
  ASSIGN_OR_RETURN(std::optional<uint64_t> known, base_.ReadNumber(format));
  if (!known) {
    // The store has not read a format row, so the partition had no owner when the store last read
    // it. Since then, another server might have written the first rows.
    RETURN_IF_ERROR(TakeIn(partition, std::nullopt));
    ASSIGN_OR_RETURN(known, base_.ReadNumber(format));
  }
  ASSIGN_OR_RETURN(const uint64_t end, known ? AppendOwners(partition) : AppendFirst(partition));
  if (end == 0) return TakeIn(partition, std::nullopt);
  ASSIGN_OR_RETURN(const std::optional<uint64_t> mark,
                   base_.ReadNumber(MetaKeyOf(MetaKey::kLogOffset, partition)));
  if (!mark || end > *mark) return TakeIn(partition, end);
  return EndsTooSoon(options_.truth->name(), partition);
}

StatusOr<uint64_t> StoreLog::AppendOwners(uint16_t partition) {
  ASSIGN_OR_RETURN(const std::optional<uint64_t> before,
                   base_.ReadNumber(MetaKeyOf(MetaKey::kLogOwners, partition)));
  Numbers numbers = {{MetaKey::kLogOwners, before.value_or(0) + 1}};
  ASSIGN_OR_RETURN(const std::optional<uint64_t> format,
                   base_.ReadNumber(MetaKeyOf(MetaKey::kLogFormat, partition)));
  // From now on earlier releases must not read the rows.
  if (format != kFormatVersion) {
    numbers.emplace_back(MetaKey::kLogFormat, kFormatVersion);
  }
  return AppendNumbers(partition, numbers);
}

StatusOr<uint64_t> StoreLog::AppendFirst(uint16_t partition) {
  ASSIGN_OR_RETURN(const FingerprintSecret drawn, DrawSecret());
  uint64_t birth = 0;
  static_assert(sizeof(drawn) >= sizeof(birth));
  std::memcpy(&birth, drawn.data(), sizeof(birth));
  return AppendNumbers(partition,
                       {{MetaKey::kLogFormat, kFormatVersion}, {MetaKey::kLogBirth, birth}});
}

StatusOr<uint64_t> StoreLog::AppendNumbers(uint16_t partition, const Numbers& numbers) {
  struct Row {
    std::string key;
    std::string value;
  };
  std::vector<Row> encoded(numbers.size());
  std::vector<LogRow> rows;
  for (size_t i = 0; i < numbers.size(); ++i) {
    Row& row = encoded[i];
    row.key = MetaKeyOf(numbers[i].first, partition);
    EncodeNumber(row.key, numbers[i].second, &row.value);
    rows.push_back({.family = Family::kMeta, .key = row.key, .value = row.value});
  }
  for (int tries = 1;; ++tries) {
    StatusOr<uint64_t> end = options_.truth->Append(partition, rows);
    if (!absl::IsResourceExhausted(end.status()) || tries == kAppendTries) return end;
    RETURN_IF_ERROR(GoOn(options_.progress));
    env_->SleepForMicroseconds(kAppendAgainMicros);
  }
}

Status StoreLog::Prepare(Store& store, const std::function<Status()>& read_marks) {
  if (!options_.follower->MayOwnSoon()) {
    prepared_ = false;
    return absl::OkStatus();
  }
  if (prepared_) return absl::OkStatus();
  RETURN_IF_ERROR(read_marks());
  prepared_ = true;
  outdated_ = false;
  return options_.follower->Prepare(store);
}

void StoreLog::OutdatePrepared() {
  if (!prepared_ || !outdated_) return;
  prepared_ = false;
  options_.follower->Outdate();
}

// Owner thread only.
class StoreLog::RowTaker {
 public:
  // `first`: true if the first row that RowTaker gets must be the first row of the log.
  RowTaker(StoreLog& log, uint16_t partition, bool first)
      : log_(log),
        partition_(partition),
        first_(first),
        format_key_(MetaKeyOf(MetaKey::kLogFormat, partition)),
        followed_(log.prepared_ && !log.outdated_) {}

  Status Take(const LogRow& row, uint64_t next) {
    RETURN_IF_ERROR(GoOn(log_.options_.progress));
    if (first_) RETURN_IF_ERROR(CheckFirst(row));
    first_ = false;
    if (row.family == Family::kMeta && row.key == format_key_ && row.value) {
      uint64_t format = 0;
      RETURN_IF_ERROR(DecodeNumber(row.key, *row.value, &format));
      RETURN_IF_ERROR(CheckLogFormat(format));
    }
    RETURN_IF_ERROR(FromRocksDb(AddRow(log_.base_, row, &batch_), "taking in a row"));
    (*log_.followed_)[partition_].tail.Add(row, next);
    if (followed_) news_.Add(row);
    ++log_.rows_taken_in_;
    if (log_.options_.progress != nullptr) ++log_.options_.progress->rows_taken_in;
    return ++rows_ % kRowsAtOnce == 0 ? Write(next) : absl::OkStatus();
  }
  // Writes the remaining rows; then the store is complete up to `next`.
  Status Write(uint64_t next) {
    RETURN_IF_ERROR(
        log_.base_.PutNumber(&batch_, MetaKeyOf(MetaKey::kLogOffset, partition_), next));
    RETURN_IF_ERROR(log_.base_.Write(&batch_, false));
    batch_.Clear();
    if (!followed_) return absl::OkStatus();
    FollowedChanges changes = news_.Take();
    followed_ =
        !news_.beyond() &&
        (changes.empty() || log_.options_.follower->Update(partition_, std::move(changes)).ok());
    if (!followed_) log_.outdated_ = true;
    return absl::OkStatus();
  }
  [[nodiscard]] size_t rows() const { return rows_; }

 private:
  // The first owner writes two rows, for format and birth. Even a compacted log begins with the
  // format row or, if the format was raised later, with the birth row.
  [[nodiscard]] Status CheckFirst(const LogRow& row) const {
    if (row.family == Family::kMeta && row.value &&
        (row.key == format_key_ || row.key == MetaKeyOf(MetaKey::kLogBirth, partition_))) {
      return absl::OkStatus();
    }
    return BeginsTooLate(log_.options_.truth->name(), partition_);
  }
  StoreLog& log_;
  const uint16_t partition_;
  bool first_;
  const std::string format_key_;
  rocksdb::WriteBatch batch_;
  size_t rows_ = 0;
  bool followed_;  // the follower's prepared state depends on these rows
  FollowedRows news_;
};

Status StoreLog::CheckTail(uint16_t partition) const {
  const LogTail& tail = (*followed_)[partition].tail;
  const std::optional<uint64_t> first = tail.first();
  if (!first) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::optional<uint64_t> mark,
                   base_.ReadNumber(MetaKeyOf(MetaKey::kLogOffset, partition)));
  bool other = false;
  const auto look = [&](const LogRow& row, uint64_t next) {
    other = tail.Contradicts(row, next);
    return other || next >= mark.value_or(0) ? absl::OutOfRangeError("seen enough")
                                             : absl::OkStatus();
  };
  // If the log ends too soon, the next read reports it, so this is no failure here.
  const Status read = options_.truth->Read(partition, *first, std::nullopt, look).status();
  if (!other) return absl::IsOutOfRange(read) || absl::IsAborted(read) ? absl::OkStatus() : read;
  return MakeStatus(absl::StatusCode::kDataLoss,
                    "partition {} of {} has lost rows that the local store has read: brokers have "
                    "lost what they had acknowledged",
                    partition, options_.truth->name());
}

Status StoreLog::TakeIn(uint16_t partition, std::optional<uint64_t> end) {
  Followed& followed = (*followed_)[partition];
  const uint64_t now = env_->NowMicros();
  const uint64_t looked = std::exchange(followed.looked_micros, now);
  const bool unseen = std::max(now, looked) - std::min(now, looked) > kUnseenMicros;
  if (unseen) RETURN_IF_ERROR(CheckTail(partition));
  ASSIGN_OR_RETURN(const std::optional<uint64_t> from,
                   base_.ReadNumber(MetaKeyOf(MetaKey::kLogOffset, partition)));
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
  // A standby reads a few rows every second, too few to log.
  if (taker.rows() >= kRowsAtOnce) {
    base_.Say('I',
              fmt::format("partition {}: took in {} rows of the log", partition, taker.rows()));
  }
  return absl::OkStatus();
}

Status StoreLog::OpenAlone() {
  ASSIGN_OR_RETURN(const std::optional<uint64_t> seen,
                   base_.ReadNumber(MetaKeyOf(MetaKey::kLogTime)));
  if (options_.alone && options_.leave_log) {
    if (seen) return LeaveLog(*seen);
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "{}: is the store of a single server already", dir_);
  }
  if (seen) base_.MakeReadOnly();
  if (!seen || options_.alone) return absl::OkStatus();
  return MakeStatus(
      absl::StatusCode::kFailedPrecondition,
      "{}: is the store of a server of a cluster; the cluster's log is the source of its data",
      dir_);
}

Status StoreLog::LeaveLog(uint64_t complete_seconds) {
  rocksdb::WriteBatch batch;
  uint64_t partitions = 0;
  const std::unique_ptr<rocksdb::Iterator> it(
      base_.db().NewIterator(rocksdb::ReadOptions(), base_.handle(Family::kMeta)));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    if (it->key().empty()) continue;
    const auto kind = static_cast<MetaKey>(it->key()[0]);
    if (kind < MetaKey::kLogOffset || kind > MetaKey::kLogBirth) continue;
    if (kind == MetaKey::kLogOffset) ++partitions;
    RETURN_IF_ERROR(FromRocksDb(batch.Delete(base_.handle(Family::kMeta), it->key()), dir_));
  }
  RETURN_IF_ERROR(FromRocksDb(it->status(), "reading meta"));
  // Only a server that has served has this row: a standby does not write it.
  const std::string layout = MetaKeyOf(MetaKey::kLayout);
  ASSIGN_OR_RETURN(const std::optional<uint64_t> served, base_.ReadNumber(layout));
  RETURN_IF_ERROR(base_.PutNumber(&batch, layout, std::max<uint64_t>(partitions, 1)));
  RETURN_IF_ERROR(base_.Write(&batch, true));
  const uint64_t now = SecondsNow(*env_);
  const uint64_t ago = now - std::min(now, complete_seconds);
  if (served) {
    base_.Say('W',
              fmt::format("leaves its cluster with all that the log had {} s ago, or later", ago));
  } else {
    base_.Say(
        'W', fmt::format("leaves its cluster, in which it never served: it may be without parts of "
                         "what the log had {} s ago",
                         ago));
  }
  return absl::OkStatus();
}

}  // namespace freshet::storage
