#include "storage/migrate.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/keys.h"
#include "storage/records.h"
#include "storage/store.h"
#include "tests/storage/raw_database.h"
#include "tests/storage/store_model.h"
#include "tests/support/temp_dir.h"

namespace freshet::storage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

StoreOptions Options() {
  StoreOptions options;
  options.reserve_bytes = 0;
  return options;
}

class MigrateTest : public testing::Test {
 protected:
  MigrateTest() {
    auto store = Store::Open(dir_ / "db", Options());
    EXPECT_TRUE(store.ok()) << store.status();
    EXPECT_TRUE((*store)->Commit(script_.commits()[0].changes).ok());
  }
  // A step that notes that it ran, and writes a row.
  Migration Step(uint32_t from) {
    return {.from = from, .run = [this, from](rocksdb::DB* db, const FamilyHandles& families) {
              ran_.push_back(from);
              if (from == fail_at_) return NotFound("injected");
              return FromRocksDb(db->Put(rocksdb::WriteOptions(), families[IndexOf(Family::kMeta)],
                                         fmt::format("step {}", from), "done"),
                                 "step");
            }};
  }

  TempDir dir_;
  Script script_{1, 1};
  std::vector<uint32_t> ran_;
  uint32_t fail_at_ = 0;
};

TEST_F(MigrateTest, RunsTheStepsInOrderAndNotesEachVersion) {
  const std::vector<Migration> steps = {Step(1), Step(2), Step(3)};
  {
    RawDatabase raw(dir_ / "db");
    ASSERT_TRUE(Migrate(raw.db.get(), raw.handles, 1, 3, steps, {}).ok());
    EXPECT_THAT(ran_, ElementsAre(1, 2));
    EXPECT_EQ(raw.Format(), 3U);
  }
  RawDatabase again(dir_ / "db");
  EXPECT_EQ(again.Format(), 3U);
  ran_.clear();
  EXPECT_TRUE(Migrate(again.db.get(), again.handles, 3, 3, steps, {}).ok());
  EXPECT_THAT(ran_, ElementsAre());
}

TEST_F(MigrateTest, AFailedStepIsRepeatedTheNextTime) {
  const std::vector<Migration> steps = {Step(1), Step(2)};
  RawDatabase raw(dir_ / "db");
  fail_at_ = 2;
  EXPECT_TRUE(absl::IsNotFound(Migrate(raw.db.get(), raw.handles, 1, 3, steps, {})));
  EXPECT_EQ(raw.Format(), 2U);
  fail_at_ = 0;
  EXPECT_TRUE(Migrate(raw.db.get(), raw.handles, 2, 3, steps, {}).ok());
  EXPECT_THAT(ran_, ElementsAre(1, 2, 2));
  EXPECT_EQ(raw.Format(), 3U);
}

TEST_F(MigrateTest, AMissingStepIsRefused) {
  RawDatabase raw(dir_ / "db");
  const std::vector<Migration> steps = {Step(1)};
  EXPECT_TRUE(absl::IsFailedPrecondition(Migrate(raw.db.get(), raw.handles, 1, 3, steps, {})));
  EXPECT_EQ(raw.Format(), 2U);
}

TEST_F(MigrateTest, ANewerFormatIsRefusedAndLeftAlone) {
  { RawDatabase(dir_ / "db").SetFormat(kFormatVersion + 1); }
  const auto store = Store::Open(dir_ / "db", Options());
  EXPECT_TRUE(absl::IsFailedPrecondition(store.status())) << store.status();
  EXPECT_THAT(std::string(store.status().message()), HasSubstr("newer release"));
  EXPECT_EQ(RawDatabase(dir_ / "db").Format(), kFormatVersion + 1);
}

TEST_F(MigrateTest, AMissingFormatRecordIsDamage) {
  {
    RawDatabase raw(dir_ / "db");
    ASSERT_TRUE(
        raw.db->Delete(rocksdb::WriteOptions(), raw.handles[0], MetaKeyOf(MetaKey::kFormat)).ok());
  }
  EXPECT_TRUE(absl::IsDataLoss(Store::Open(dir_ / "db", Options()).status()));
}

TEST_F(MigrateTest, AnUnknownColumnFamilyIsRefused) {
  {
    RawDatabase raw(dir_ / "db");
    rocksdb::ColumnFamilyHandle* extra = nullptr;
    ASSERT_TRUE(raw.db->CreateColumnFamily(rocksdb::ColumnFamilyOptions(), "future", &extra).ok());
    ASSERT_TRUE(raw.db->DestroyColumnFamilyHandle(extra).ok());
  }
  const auto store = Store::Open(dir_ / "db", Options());
  EXPECT_TRUE(absl::IsFailedPrecondition(store.status())) << store.status();
  EXPECT_THAT(std::string(store.status().message()), HasSubstr("future"));
}

TEST_F(MigrateTest, AStoreOfThisFormatKeepsItsContents) {
  const auto store = Store::Open(dir_ / "db", Options());
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ(ReadContents(**store)->DifferenceFrom(script_.After(1)), "");
}

}  // namespace
}  // namespace freshet::storage
