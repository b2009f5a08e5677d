// The rows of one column family in the order of their keys. Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_CURSOR_H_
#define FRESHET_STORAGE_INTERNAL_CURSOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "rocksdb/db.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"
#include "storage/internal/keys.h"

namespace freshet::storage {

// Makes RocksDB count the rows that it skips on this thread, even if page reads have disabled
// counting.
class CountsSkipped {
 public:
  CountsSkipped() : level_(rocksdb::GetPerfLevel()), before_(Count()) {
    if (level_ < rocksdb::PerfLevel::kEnableCount) {
      rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
    }
  }
  ~CountsSkipped() { rocksdb::SetPerfLevel(level_); }
  CountsSkipped(const CountsSkipped&) = delete;
  CountsSkipped& operator=(const CountsSkipped&) = delete;
  [[nodiscard]] uint64_t skipped() const { return Count() - before_; }

 private:
  static uint64_t Count() {
    const rocksdb::PerfContext& counts = *rocksdb::get_perf_context();
    return counts.internal_key_skipped_count + counts.internal_delete_skipped_count +
           counts.internal_recent_skipped_count;
  }

  const rocksdb::PerfLevel level_;
  const uint64_t before_;
};

// Reads a range row by row. Stops at the end of the range even if all rows after the end were
// removed: a search for the next existing row would read every removed row. Within the range,
// removed rows cost as much as others until they are compacted away. So a scan that makes others
// wait limits the number of skipped rows, and continues later from place(). Owner thread only.
class Cursor {
 public:
  // Reads from the key `first` to the last key before `end`, or to the last key of all if `end` is
  // empty. Stops after about `most_passed` removed rows and old versions of rows; 0 = no limit.
  Cursor(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family, std::string_view first,
         std::string end, rocksdb::ReadOptions read, uint64_t most_passed = 0)
      : end_(std::move(end)), bound_(end_), most_passed_(most_passed) {
    if (!end_.empty()) read.iterate_upper_bound = &bound_;
    if (most_passed_ > 0) counts_.emplace();
    read.max_skippable_internal_keys = most_passed_;
    it_.reset(db->NewIterator(read, family));
    it_->Seek(rocksdb::Slice(first.data(), first.size()));
  }
  // The rows whose keys start with `prefix`.
  Cursor(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family, const std::string& prefix,
         const rocksdb::ReadOptions& read, uint64_t most_passed = 0)
      : Cursor(db, family, prefix, PrefixEnd(prefix), read, most_passed) {}
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  [[nodiscard]] bool valid() const { return it_->Valid() && !spent(); }
  // Key and value of the current row, valid until Next.
  [[nodiscard]] std::string_view key() const { return it_->key().ToStringView(); }
  [[nodiscard]] std::string_view value() const { return it_->value().ToStringView(); }
  void Next() {
    ++rows_;
    it_->Next();
  }
  // Returns true if the cursor stopped at its limit of skipped rows. More rows might follow.
  [[nodiscard]] bool left_off() const {
    return it_->status().IsIncomplete() || (it_->Valid() && spent());
  }
  // The key where the cursor stopped. No row lies between the last row read and this key.
  [[nodiscard]] std::string place() const {
    if (it_->Valid()) return it_->key().ToString();
    std::string place;
    const rocksdb::Status known = it_->GetProperty("rocksdb.iterator.internal-key", &place);
    CHECK(known.ok(), "RocksDB does not say where it stopped: {}", known.ToString());
    return place;
  }
  // Removed rows and old versions that were skipped; 0 without a limit.
  [[nodiscard]] uint64_t passed() const {
    // RocksDB also counts existing rows as skipped once the cursor has left them.
    const uint64_t skipped = counts_ ? counts_->skipped() : 0;
    return skipped > rows_ ? skipped - rows_ : 0;
  }
  // Not OK: the rows could not be read to the end, or to `place`.
  [[nodiscard]] rocksdb::Status status() const {
    return it_->status().IsIncomplete() ? rocksdb::Status::OK() : it_->status();
  }

 private:
  [[nodiscard]] bool spent() const { return most_passed_ > 0 && passed() > most_passed_; }

  const std::string end_;
  const rocksdb::Slice bound_;
  const uint64_t most_passed_;
  std::optional<CountsSkipped> counts_;
  uint64_t rows_ = 0;  // rows that the cursor has left
  std::unique_ptr<rocksdb::Iterator> it_;
};

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_CURSOR_H_
