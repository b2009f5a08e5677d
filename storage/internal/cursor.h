// The rows of one column family in the order of their keys. Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_CURSOR_H_
#define FRESHET_STORAGE_INTERNAL_CURSOR_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "rocksdb/db.h"
#include "storage/internal/keys.h"

namespace freshet::storage {

// A range, row by row. It ends at its bound also where all rows behind were removed: to go on to
// the next row that is there could take as long as there were rows. Owner thread only.
class Cursor {
 public:
  // From key `first` to that before `end`, to the last if `end` is empty.
  Cursor(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family, std::string_view first,
         std::string end, rocksdb::ReadOptions read)
      : end_(std::move(end)), bound_(end_) {
    if (!end_.empty()) read.iterate_upper_bound = &bound_;
    it_.reset(db->NewIterator(read, family));
    it_->Seek(rocksdb::Slice(first.data(), first.size()));
  }
  // The rows whose keys start with `prefix`.
  Cursor(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family, const std::string& prefix,
         const rocksdb::ReadOptions& read)
      : Cursor(db, family, prefix, PrefixEnd(prefix), read) {}
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  [[nodiscard]] bool valid() const { return it_->Valid(); }
  // Of the row that it is at, until Next.
  [[nodiscard]] std::string_view key() const { return it_->key().ToStringView(); }
  [[nodiscard]] std::string_view value() const { return it_->value().ToStringView(); }
  void Next() { it_->Next(); }
  // Not OK: the rows could not be read to the end.
  [[nodiscard]] rocksdb::Status status() const { return it_->status(); }

 private:
  const std::string end_;
  const rocksdb::Slice bound_;
  std::unique_ptr<rocksdb::Iterator> it_;
};

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_CURSOR_H_
