#include "storage/internal/epoch_rows.h"

#include <map>
#include <string>

#include "core/schedule/changes.h"
#include "gtest/gtest.h"
#include "storage/internal/keys.h"
#include "storage/internal/records.h"
#include "tests/storage/random_records.h"
#include "tests/storage/raw_database.h"
#include "tests/storage/removed_rows.h"
#include "tests/storage/small_store.h"
#include "tests/support/temp_dir.h"

namespace freshet::storage {
namespace {

EpochRecord Epoch(uint64_t number, size_t bytes, uint16_t shard = 1) {
  RandomRecords random(number);
  return {.shard = shard,
          .number = number,
          .finished = Instant::FromMicros(1),
          .site_model = random.Bytes(bytes)};
}

std::unique_ptr<Store> OpenStore(const std::string& dir) {
  StatusOr<std::unique_ptr<Store>> store = Store::Open(dir, SmallStore());
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

void Commit(Store& store, const EpochRecord& epoch) {
  Changes changes{.shard = epoch.shard};
  changes.epoch = epoch;
  const Status committed = store.Commit(changes);
  ASSERT_TRUE(committed.ok()) << committed;
}

TEST(EpochRows, NoneIsLongAndTogetherTheySayWhatWasLearned) {
  for (const size_t bytes : {size_t{0}, size_t{1}, kEpochPartBytes, kEpochPartBytes + 1,
                             3 * kEpochPartBytes, 10 * kEpochPartBytes - 1}) {
    const EpochRecord epoch = Epoch(7, bytes);
    std::map<std::string, std::string> rows;
    const uint16_t parts = EncodeEpochRows(epoch, [&](const auto& key, const auto& value) {
      EXPECT_LT(key.size() + value.size(), kMaxRowBytes);
      rows[key] = value;
    });
    EXPECT_EQ(rows.size(), parts + 1U);
    const auto read = [&](const std::string& key) -> StatusOr<std::string> { return rows.at(key); };
    const std::string key = MetaKeyOf(MetaKey::kEpoch, epoch.shard);
    EpochRecord decoded;
    bool whole = false;
    ASSERT_TRUE(DecodeEpochRows(key, rows.at(key), read, &decoded, &whole).ok());
    EXPECT_TRUE(whole);
    EXPECT_EQ(decoded, epoch) << bytes;
  }
}

TEST(EpochRows, AnEpochThatLearnsLessLeavesNothingOfTheOneBefore) {
  const TempDir dir;
  const auto store = OpenStore(dir / "db");
  Commit(*store, Epoch(1, 9 * kEpochPartBytes, 2));
  const EpochRecord other = Epoch(2, 5 * kEpochPartBytes, 3);
  Commit(*store, other);
  EpochRecord last;
  for (const size_t parts : {5, 1, 0, 2}) {
    last = Epoch(10 + parts, parts * kEpochPartBytes + 1, 2);
    Commit(*store, last);
    const auto globals = store->LoadGlobals();
    ASSERT_TRUE(globals.ok()) << globals.status();
    EXPECT_EQ(globals->epochs, (std::vector<EpochRecord>{last, other}));
  }
  ASSERT_TRUE(store->Close().ok());
  const RawDatabase raw(dir / "db");
  size_t rows = 0;
  const std::unique_ptr<rocksdb::Iterator> it(
      raw.db->NewIterator(rocksdb::ReadOptions(), raw.handles[IndexOf(Family::kMeta)]));
  for (it->Seek(MetaKeyOf(MetaKey::kEpochPart)); it->Valid(); it->Next()) ++rows;
  EXPECT_EQ(rows, 2U + 4U) << "of the last epochs of both shards";
}

TEST(EpochRows, ThoseOfAnotherShardThatAreGoneCostAnEpochNothing) {
  const TempDir dir;
  const auto store = OpenStore(dir / "db");
  Commit(*store, Epoch(1, 20 * kEpochPartBytes, 2));
  Commit(*store, Epoch(2, 0, 2));
  EXPECT_EQ(RemovedRowsWalkedOver([&] { Commit(*store, Epoch(1, 1, 1)); }), 0U);
}

// A cache that has read only a part of its log can lack a row of an epoch, or have a row of another
// epoch in its place.
TEST(EpochRows, WhatIsThereOnlyInPartIsLearnedAnewAndVerifyNamesIt) {
  for (const bool missing : {true, false}) {
    const TempDir dir;
    {
      const auto store = OpenStore(dir / "db");
      Commit(*store, Epoch(5, 4 * kEpochPartBytes));
      ASSERT_TRUE(store->Close().ok());
    }
    {
      RawDatabase raw(dir / "db");
      const std::string key = EpochPartKeyOf(1, 2);
      std::string of_another;
      EncodeEpochPart(key, 4, "text", &of_another);
      missing ? raw.Delete(Family::kMeta, key) : raw.Put(Family::kMeta, key, of_another);
    }
    const auto store = OpenStore(dir / "db");
    const auto globals = store->LoadGlobals();
    ASSERT_TRUE(globals.ok()) << globals.status();
    ASSERT_EQ(globals->epochs.size(), 1U);
    EXPECT_EQ(globals->epochs[0].number, 5U);
    EXPECT_EQ(globals->epochs[0].site_model, "");
    const auto report = store->Verify();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->problem_count, 1U) << testing::PrintToString(report->problems);
  }
}

TEST(EpochRows, AnotherNumberOfShardsLeavesNoneOfThem) {
  const TempDir dir;
  const auto store = OpenStore(dir / "db");
  Commit(*store, Epoch(5, 4 * kEpochPartBytes));
  ASSERT_TRUE(store->SetShards(2).ok());
  const auto globals = store->LoadGlobals();
  ASSERT_TRUE(globals.ok()) << globals.status();
  ASSERT_EQ(globals->epochs.size(), 2U);
  EXPECT_EQ(globals->epochs[1].site_model, "");
  ASSERT_TRUE(store->Close().ok());
  const RawDatabase raw(dir / "db");
  const std::unique_ptr<rocksdb::Iterator> it(
      raw.db->NewIterator(rocksdb::ReadOptions(), raw.handles[IndexOf(Family::kMeta)]));
  it->Seek(MetaKeyOf(MetaKey::kEpochPart));
  EXPECT_FALSE(it->Valid());
}

}  // namespace
}  // namespace freshet::storage
