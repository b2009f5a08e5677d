#include "storage/internal/migrate.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "storage/internal/keys.h"
#include "storage/internal/records.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/repair.h"
#include "storage/restore.h"
#include "storage/store.h"
#include "tests/storage/raw_database.h"
#include "tests/storage/small_store.h"
#include "tests/storage/store_model.h"
#include "tests/support/temp_dir.h"

namespace freshet::storage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class MigrateTest : public testing::Test {
 protected:
  MigrateTest() {
    auto store = Store::Open(dir_ / "db", SmallStore());
    EXPECT_TRUE(store.ok()) << store.status();
    EXPECT_TRUE((*store)->Commit(script_.commits()[0].changes).ok());
  }
  // Returns a step that records that it ran, and writes a row.
  Migration Step(uint32_t from) {
    return {.from = from, .run = [this, from](const MigrationContext& context) {
              ran_.push_back(from);
              if (from == fail_at_) return NotFound("injected");
              return FromRocksDb(
                  context.db->Put(rocksdb::WriteOptions(), context.families[IndexOf(Family::kMeta)],
                                  fmt::format("step {}", from), "done"),
                  "step");
            }};
  }
  static Status MigrateTo(RawDatabase& raw, uint32_t from, uint32_t to,
                          std::span<const Migration> steps) {
    return Migrate({.db = raw.db.get(), .families = raw.handles, .log = {}}, from, to, steps);
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
    ASSERT_TRUE(MigrateTo(raw, 1, 3, steps).ok());
    EXPECT_THAT(ran_, ElementsAre(1, 2));
    EXPECT_EQ(raw.Format(), 3U);
  }
  RawDatabase again(dir_ / "db");
  EXPECT_EQ(again.Format(), 3U);
  ran_.clear();
  EXPECT_TRUE(MigrateTo(again, 3, 3, steps).ok());
  EXPECT_THAT(ran_, ElementsAre());
}

TEST_F(MigrateTest, AFailedStepIsRepeatedTheNextTime) {
  const std::vector<Migration> steps = {Step(1), Step(2)};
  RawDatabase raw(dir_ / "db");
  fail_at_ = 2;
  EXPECT_TRUE(absl::IsNotFound(MigrateTo(raw, 1, 3, steps)));
  EXPECT_EQ(raw.Format(), 2U);
  fail_at_ = 0;
  EXPECT_TRUE(MigrateTo(raw, 2, 3, steps).ok());
  EXPECT_THAT(ran_, ElementsAre(1, 2, 2));
  EXPECT_EQ(raw.Format(), 3U);
}

TEST_F(MigrateTest, AMissingStepIsRefused) {
  RawDatabase raw(dir_ / "db");
  const std::vector<Migration> steps = {Step(1)};
  EXPECT_TRUE(absl::IsFailedPrecondition(MigrateTo(raw, 1, 3, steps)));
  EXPECT_EQ(raw.Format(), 2U);
}

TEST_F(MigrateTest, ANewerFormatIsRefusedAndLeftAlone) {
  { RawDatabase(dir_ / "db").SetFormat(kFormatVersion + 1); }
  const auto store = Store::Open(dir_ / "db", SmallStore());
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
  EXPECT_TRUE(absl::IsDataLoss(Store::Open(dir_ / "db", SmallStore()).status()));
}

TEST_F(MigrateTest, AFormatOfADevelopmentVersionIsRefusedAndLeftAlone) {
  {
    RawDatabase raw(dir_ / "db");
    rocksdb::ColumnFamilyHandle* extra = nullptr;
    ASSERT_TRUE(raw.db->CreateColumnFamily(rocksdb::ColumnFamilyOptions(), "states", &extra).ok());
    ASSERT_TRUE(raw.db->DestroyColumnFamilyHandle(extra).ok());
  }
  const auto store = Store::Open(dir_ / "db", SmallStore());
  EXPECT_TRUE(absl::IsFailedPrecondition(store.status())) << store.status();
  EXPECT_THAT(std::string(store.status().message()), HasSubstr("development version"));
}

TEST_F(MigrateTest, AnUnknownColumnFamilyIsRefused) {
  {
    RawDatabase raw(dir_ / "db");
    rocksdb::ColumnFamilyHandle* extra = nullptr;
    ASSERT_TRUE(raw.db->CreateColumnFamily(rocksdb::ColumnFamilyOptions(), "future", &extra).ok());
    ASSERT_TRUE(raw.db->DestroyColumnFamilyHandle(extra).ok());
  }
  const auto store = Store::Open(dir_ / "db", SmallStore());
  EXPECT_TRUE(absl::IsFailedPrecondition(store.status())) << store.status();
  EXPECT_THAT(std::string(store.status().message()), HasSubstr("future"));
}

TEST_F(MigrateTest, AStoreOfThisFormatKeepsItsContents) {
  const auto store = Store::Open(dir_ / "db", SmallStore());
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ(ReadContents(**store)->DifferenceFrom(script_.After(1)), "");
}

// --- The secret of the fingerprints

constexpr size_t kOldCommits = 20;

class FingerprintsTest : public testing::Test {
 protected:
  FingerprintsTest() : script_(3, kOldCommits) {
    auto store = Store::Open(dir_ / "db", SmallStore());
    EXPECT_TRUE(store.ok()) << store.status();
    for (const ScriptedCommit& commit : script_.commits()) {
      EXPECT_TRUE((*store)->Commit(commit.changes).ok());
    }
    EXPECT_TRUE((*store)->Close().ok());
  }

  TempDir dir_;
  const Script script_;
};

TEST_F(FingerprintsTest, AStoreWithoutItsSecretIsDamaged) {
  { ASSERT_TRUE(Store::Open(dir_ / "db", SmallStore()).ok()); }
  { RawDatabase(dir_ / "db").Delete(Family::kMeta, MetaKeyOf(MetaKey::kSecret)); }
  const Status status = Store::Open(dir_ / "db", SmallStore()).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the secret of the fingerprints is missing"));
  const auto repaired = Repair(dir_ / "db", SmallStore());
  ASSERT_TRUE(repaired.ok()) << repaired.status();
  const auto store = Store::Open(dir_ / "db", SmallStore());
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_TRUE((*store)->Verify()->ok());
}

TEST_F(FingerprintsTest, TheSecretGoesWithCheckpointsAndRepairsAndIsNeverSaid) {
  std::string said;
  StoreOptions options = SmallStore();
  options.log = [&](char, std::string_view line) { said += line; };
  uint64_t of_store = 0;
  {
    const auto store = Store::Open(dir_ / "db", options);
    ASSERT_TRUE(store.ok()) << store.status();
    of_store = (*store)->fingerprinter().Of("c", "u");
    ASSERT_TRUE((*store)->Checkpoint(dir_ / "checkpoint").ok());
  }
  ASSERT_TRUE(Restore(dir_ / "checkpoint", dir_ / "restored", options).ok());
  std::string secret;
  {
    RawDatabase raw(dir_ / "db");
    secret = raw.Get(Family::kMeta, MetaKeyOf(MetaKey::kSecret)).substr(1, 16);
    raw.Put(Family::kPages, PageKeyOf(script_.After(kOldCommits).pages.begin()->first), "damage");
  }
  const auto repaired = Repair(dir_ / "db", options);
  ASSERT_TRUE(repaired.ok() && !repaired->intact) << repaired.status();
  for (const std::string& note : repaired->notes) said += note;
  for (const std::string copy : {"db", "restored"}) {
    const auto store = Store::Open(dir_ / copy, options);
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_EQ((*store)->fingerprinter().Of("c", "u"), of_store) << copy;
  }
  EXPECT_EQ(said.find(secret), std::string::npos);
}

// --- Stores in which pages share fingerprints

TEST(SharedFingerprints, AreStoredAndLoadedAsOthersAre) {
  const TempDir dir;
  const Script script(5, kOldCommits);
  StoreOptions options = SmallStore();
  options.fingerprint_bits = 1;
  for (int opening = 0; opening < 2; ++opening) {
    const auto store = Store::Open(dir / "db", options);
    ASSERT_TRUE(store.ok()) << store.status();
    for (const ScriptedCommit& commit : script.commits()) {
      if (opening == 1) break;
      ASSERT_TRUE((*store)->Commit(commit.changes).ok());
    }
    EXPECT_EQ(ReadContents(**store)->DifferenceFrom(script.After(kOldCommits)), "");
    EXPECT_TRUE((*store)->Verify()->ok());
  }
  {
    RawDatabase(dir / "db")
        .Delete(Family::kSources, SourceKeyOf(script.After(kOldCommits).sources.begin()->first));
  }
  const auto report = Repair(dir / "db", options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->lost_pages, 0U);
}

}  // namespace
}  // namespace freshet::storage
