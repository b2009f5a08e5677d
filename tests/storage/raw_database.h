// A database without a store, for tests that write rows that a store would never write.
#ifndef FRESHET_TESTS_STORAGE_RAW_DATABASE_H_
#define FRESHET_TESTS_STORAGE_RAW_DATABASE_H_

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "rocksdb/db.h"
#include "storage/internal/keys.h"
#include "storage/internal/migrate.h"
#include "storage/internal/records.h"

namespace freshet::storage {

// A database without Store. Every call must succeed. Owner thread only.
class RawDatabase {
 public:
  explicit RawDatabase(const std::string& dir) {
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const std::string_view name : kFamilyNames) {
      families.emplace_back(std::string(name), rocksdb::ColumnFamilyOptions());
    }
    std::vector<rocksdb::ColumnFamilyHandle*> opened;
    rocksdb::DB* raw = nullptr;
    rocksdb::DBOptions options;
    options.create_missing_column_families = true;
    const rocksdb::Status status = rocksdb::DB::Open(options, dir, families, &opened, &raw);
    EXPECT_TRUE(status.ok()) << status.ToString();
    db.reset(raw);
    std::copy(opened.begin(), opened.end(), handles.begin());
  }
  ~RawDatabase() {
    for (rocksdb::ColumnFamilyHandle* handle : handles) {
      EXPECT_TRUE(db->DestroyColumnFamilyHandle(handle).ok());
    }
  }
  RawDatabase(const RawDatabase&) = delete;
  RawDatabase& operator=(const RawDatabase&) = delete;

  void Put(Family family, const std::string& key, const std::string& value) {
    EXPECT_TRUE(db->Put(rocksdb::WriteOptions(), handles[IndexOf(family)], key, value).ok());
  }
  // Precondition: the row exists.
  void Delete(Family family, const std::string& key) {
    (void)Get(family, key);
    EXPECT_TRUE(db->Delete(rocksdb::WriteOptions(), handles[IndexOf(family)], key).ok());
  }
  std::string Get(Family family, const std::string& key) {
    std::string value;
    EXPECT_TRUE(db->Get(rocksdb::ReadOptions(), handles[IndexOf(family)], key, &value).ok());
    return value;
  }
  void PutNumber(const std::string& key, uint64_t number) {
    std::string value;
    EncodeNumber(key, number, &value);
    Put(Family::kMeta, key, value);
  }
  uint64_t GetNumber(const std::string& key) {
    uint64_t number = 0;
    EXPECT_TRUE(DecodeNumber(key, Get(Family::kMeta, key), &number).ok());
    return number;
  }
  uint64_t Format() { return GetNumber(MetaKeyOf(MetaKey::kFormat)); }
  void SetFormat(uint64_t version) { PutNumber(MetaKeyOf(MetaKey::kFormat), version); }

  std::unique_ptr<rocksdb::DB> db;
  FamilyHandles handles{};
};

}  // namespace freshet::storage

#endif  // FRESHET_TESTS_STORAGE_RAW_DATABASE_H_
