#include "storage/frontier_store.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"
#include "rocksdb/table_properties.h"
#include "storage/internal/frontier_rows.h"
#include "tests/storage/raw_database.h"
#include "tests/storage/removed_rows.h"
#include "tests/storage/seen_frontier.h"
#include "tests/storage/store_with_frontier.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr FrontierQueueId kQueue = {.crawl = 1, .queue = 1};
constexpr FrontierQueueId kOther = {.crawl = 1, .queue = 2};
constexpr FrontierQueueId kElsewhere = {.crawl = 2, .queue = 1};

class FrontierStoreTest : public ::testing::Test {
 protected:
  FrontierStoreTest() { Open(); }
  void Open() {
    opened_ = {};
    StoreOptions options;
    options.durability = Durability::kWal;
    options.reserve_bytes = 0;
    opened_ = StoreWithFrontier::Open(dir_ / "db", options);
    store_ = opened_.frontier.get();
    ASSERT_NE(store_, nullptr);
  }
  // Writes the changes that `change` makes.
  template <typename Change>
  void Write(Change change) {
    FrontierBatch batch(*store_);
    change(batch);
    ASSERT_TRUE(store_->Commit(batch).ok());
  }
  void Fill() {
    Write([](FrontierBatch& batch) {
      batch.PutCrawl(1, "one");
      batch.PutCrawl(2, "two");
      for (const FrontierQueueId queue : {kQueue, kOther, kElsewhere}) {
        batch.PutQueue(queue, {.key = "k" + std::to_string(queue.queue), .active = 2});
        for (const char* url : {"a", "b"}) {
          batch.PutItem(queue, url, {.due = 5, .created = 3, .metadata = "m"});
          batch.PutDue(queue, 5, url);
        }
        batch.PutLease(queue, "c", {.until = 9, .due = 4});
      }
    });
  }
  std::vector<std::string> Urls(FrontierQueueId queue, std::string_view after = "") {
    std::vector<std::string> urls;
    const std::string from = after.empty() ? std::string() : std::string(after) + '\0';
    EXPECT_TRUE(store_
                    ->ScanItems(queue, from,
                                [&](std::string_view url, const FrontierItem&) {
                                  urls.emplace_back(url);
                                  return true;
                                })
                    .ok());
    return urls;
  }
  std::vector<std::string> Loaded() {
    SeenFrontier seen;
    EXPECT_TRUE(store_->Load(seen).ok());
    return seen.lines;
  }

  TempDir dir_;
  StoreWithFrontier opened_;
  FrontierStore* store_ = nullptr;
};

TEST_F(FrontierStoreTest, WhatIsWrittenIsReadAfterReopening) {
  Write([](FrontierBatch& batch) {
    batch.PutSettings({.default_delay = 7, .active = false});
    batch.PutCrawl(1, "one");
    batch.PutQueue(kQueue, {.key = "a.test",
                            .active = 3,
                            .completed = 4,
                            .head = FrontierDue{.due = 0, .url = "u"},
                            .delay = 0,
                            .blocked_until = UINT64_MAX,
                            .limit = 6,
                            .last_served = 8});
    batch.PutQueue(kOther, {.key = ""});
    batch.PutLease(kQueue, "u", {.until = 10, .due = 11});
    batch.PutItem(kQueue, "u", {.due = 1, .created = 2, .metadata = std::string("\0x", 2)});
  });
  Open();
  EXPECT_THAT(Loaded(),
              ElementsAre("crawl 1 one", "settings 7 false",
                          "queue 1 1 a.test: 3 4 head 0 u delay 0 blocked 18446744073709551615 "
                          "limit 6 served 8",
                          "queue 1 2 : 0 0 head 0 none delay none blocked 0 limit 0 served 0",
                          "lease 1 1 u: 10 11"));
  const FrontierStore::ItemName names[] = {{kQueue, "u"}, {kQueue, "v"}, {kOther, "u"}};
  const auto items = store_->ReadItems(names);
  ASSERT_TRUE(items[0].ok());
  EXPECT_EQ(items[0]->due, 1u);
  EXPECT_EQ(items[0]->created, 2u);
  EXPECT_EQ(items[0]->metadata, std::string("\0x", 2));
  EXPECT_TRUE(absl::IsNotFound(items[1].status()));
  EXPECT_TRUE(absl::IsNotFound(items[2].status()));
}

TEST_F(FrontierStoreTest, WhatIsDueComesByDateAndText) {
  Write([](FrontierBatch& batch) {
    for (const uint64_t due : {300, 2, 70'000, 299}) batch.PutDue(kQueue, due, "z");
    batch.PutDue(kQueue, 299, "a");
    batch.PutDue(kOther, 1, "not of this queue");
  });
  const auto scan = store_->ScanDue(kQueue, {}, 300, 10);
  ASSERT_TRUE(scan.ok());
  EXPECT_THAT(scan->due, ElementsAre(FrontierDue{2, "z"}, FrontierDue{299, "a"},
                                     FrontierDue{299, "z"}, FrontierDue{300, "z"}));
  EXPECT_EQ(scan->next, (FrontierDue{70'000, "z"}));
  const auto two = store_->ScanDue(kQueue, {299, "b"}, 1'000'000, 2);
  ASSERT_TRUE(two.ok());
  EXPECT_THAT(two->due, ElementsAre(FrontierDue{299, "z"}, FrontierDue{300, "z"}));
  EXPECT_EQ(two->next, (FrontierDue{70'000, "z"}));
  const auto none = store_->ScanDue(kQueue, {70'001, ""}, UINT64_MAX, 2);
  ASSERT_TRUE(none.ok());
  EXPECT_THAT(none->due, IsEmpty());
  EXPECT_FALSE(none->next);
}

// Previously, a single scan stepped over all deleted rows.
TEST_F(FrontierStoreTest, AScanLeavesOffAmongDeletedRows) {
  constexpr int kDeleted = 20'000;
  const auto url = [](int i) { return fmt::format("{:06}", i); };
  Write([&](FrontierBatch& batch) {
    for (int i = 0; i <= kDeleted; ++i) {
      batch.PutDue(kQueue, 5, url(i));
      batch.PutItem(kQueue, url(i), {.due = 5});
    }
  });
  Write([&](FrontierBatch& batch) {
    for (int i = 0; i < kDeleted; ++i) {
      batch.DeleteDue(kQueue, 5, url(i));
      batch.DeleteItem(kQueue, url(i));
    }
  });
  std::vector<FrontierDue> found;
  int scans = 0;
  FrontierStore::DueScan scan = {.due = {}, .next = FrontierDue{}, .left_off = true};
  for (; scan.left_off && scans < 100; ++scans) {
    const FrontierDue from = *scan.next;
    EXPECT_LE(
        RemovedRowsWalkedOver([&] { scan = store_->ScanDue(kQueue, from, 5, 10).value_or(scan); }),
        FrontierStore::kMostPassed + 1);
    found.insert(found.end(), scan.due.begin(), scan.due.end());
  }
  EXPECT_GE(scans, kDeleted / static_cast<int>(FrontierStore::kMostPassed));
  EXPECT_THAT(found, ElementsAre(FrontierDue{5, url(kDeleted)}));
  EXPECT_FALSE(scan.next);

  std::optional<std::string> from = "";
  std::vector<std::string> urls;
  for (scans = 0; from && scans < 100; ++scans) {
    const auto visit = [&urls](std::string_view text, const FrontierItem&) {
      urls.emplace_back(text);
      return true;
    };
    const std::string here = *from;
    EXPECT_LE(RemovedRowsWalkedOver(
                  [&] { from = store_->ScanItems(kQueue, here, visit).value_or(std::nullopt); }),
              FrontierStore::kMostPassed + 1);
  }
  EXPECT_GE(scans, kDeleted / static_cast<int>(FrontierStore::kMostPassed));
  EXPECT_THAT(urls, ElementsAre(url(kDeleted)));
}

// Each scan finds existing rows among the deleted ones. It still stops after the usual number of
// deleted rows.
TEST_F(FrontierStoreTest, AScanLeavesOffAmongRowsThatAreFewAndFarBetween) {
  Write([&](FrontierBatch& batch) {
    for (int i = 0; i < 20'000; ++i) batch.PutDue(kQueue, 5, fmt::format("{:06}", i));
    for (int i = 0; i < 20'000; ++i) {
      if (i % 100 != 0) batch.DeleteDue(kQueue, 5, fmt::format("{:06}", i));
    }
  });
  FrontierStore::DueScan scan = {.due = {}, .next = FrontierDue{}, .left_off = true};
  size_t found = 0;
  while (scan.left_off) {
    const FrontierDue from = *scan.next;
    EXPECT_LE(RemovedRowsWalkedOver([&] {
                scan = store_->ScanDue(kQueue, from, 5, 1000).value_or(FrontierStore::DueScan());
              }),
              FrontierStore::kMostPassed + 100);
    found += scan.due.size();
  }
  EXPECT_EQ(found, 200U);
}

TEST_F(FrontierStoreTest, AQueueIsForgottenWithAllThatIsInItAndNothingElse) {
  Fill();
  Write([](FrontierBatch& batch) { batch.DeleteQueue(kQueue); });
  EXPECT_THAT(Urls(kQueue), IsEmpty());
  EXPECT_THAT(Urls(kOther), ElementsAre("a", "b"));
  EXPECT_THAT(Urls(kElsewhere), ElementsAre("a", "b"));
  const auto scan = store_->ScanDue(kQueue, {}, 100, 10);
  ASSERT_TRUE(scan.ok());
  EXPECT_THAT(scan->due, IsEmpty());
  // The same numbers can be used again.
  Write([](FrontierBatch& batch) { batch.PutItem(kQueue, "new", {.due = 1}); });
  Open();
  EXPECT_THAT(Urls(kQueue), ElementsAre("new"));
}

// RocksDB does not count the deleted rows that it skips in memory, so a scan of a new queue with
// the same number would never stop early. A start must therefore drop these rows from memory.
TEST_F(FrontierStoreTest, AForgottenQueueLeavesNothingInMemoryAfterAStart) {
  Write([&](FrontierBatch& batch) {
    for (int i = 0; i < 30'000; ++i) batch.PutDue(kQueue, 5, fmt::format("{:06}", i));
  });
  Write([](FrontierBatch& batch) { batch.DeleteQueue(kQueue); });
  Loaded();
  Write([](FrontierBatch& batch) { batch.PutDue(kQueue, 5, "last"); });
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
  rocksdb::get_perf_context()->Reset();
  const auto scan = store_->ScanDue(kQueue, {}, 5, 10);
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  ASSERT_TRUE(scan.ok());
  EXPECT_THAT(scan->due, ElementsAre(FrontierDue{5, "last"}));
  EXPECT_LT(rocksdb::get_perf_context()->next_on_memtable_count, 100U);
}

// Range deletions in memory slow down each later read, because RocksDB sorts all of them again.
TEST_F(FrontierStoreTest, ForgottenQueuesLeaveNoRanges) {
  for (uint32_t i = 0; i < 100; ++i) {
    const FrontierQueueId queue{.crawl = 3, .queue = i};
    Write([&](FrontierBatch& batch) {
      batch.PutItem(queue, "u", {.due = 5, .created = 3, .metadata = "m"});
      batch.PutQueue(queue, {.key = "k", .active = 1});
    });
    // Rows that the same batch has written are deleted, too.
    Write([&](FrontierBatch& batch) {
      batch.PutDue(queue, 5, "u");
      batch.DeleteQueue(queue);
    });
    EXPECT_THAT(Urls(queue), IsEmpty());
  }
  ASSERT_TRUE(opened_.store->Checkpoint(dir_ / "copy").ok());
  const storage::RawDatabase copy(dir_ / "copy");
  for (rocksdb::ColumnFamilyHandle* const family : copy.handles) {
    rocksdb::TablePropertiesCollection tables;
    ASSERT_TRUE(copy.db->GetPropertiesOfAllTables(family, &tables).ok());
    for (const auto& [name, properties] : tables) {
      EXPECT_EQ(properties->num_range_deletions, 0U) << name;
    }
  }
}

// If a queue has too many rows for single deletions, they are deleted as a range. Ranges are
// written to disk before many of them are in memory.
TEST_F(FrontierStoreTest, ManyRangesGoToDisk) {
  Write([&](FrontierBatch& batch) {
    for (int i = 0; i < 30'000; ++i) batch.PutDue(kQueue, 5, fmt::format("{:06}", i));
    for (uint32_t i = 0; i < 1500; ++i) {
      batch.PutDue({.crawl = 3, .queue = i}, 5, "u");
    }
  });
  Write([&](FrontierBatch& batch) {
    batch.DeleteQueue(kQueue);
    for (uint32_t i = 0; i < 1500; ++i) batch.DeleteQueue({.crawl = 3, .queue = i});
  });
  EXPECT_TRUE(Eventually([&] { return store_->Stats().table_bytes > 0; }));
  EXPECT_TRUE(store_->ScanDue(kQueue, {}, 5, 10)->due.empty());
}

TEST_F(FrontierStoreTest, ACrawlIdIsForgottenWithAllItsQueues) {
  Fill();
  Write([](FrontierBatch& batch) { batch.DeleteCrawl(1); });
  EXPECT_THAT(Loaded(), ElementsAre("crawl 2 two",
                                    "queue 2 1 k1: 2 0 head 0 none delay none blocked 0 limit 0 "
                                    "served 0",
                                    "lease 2 1 c: 9 4"));
  EXPECT_THAT(Urls(kOther), IsEmpty());
  EXPECT_THAT(Urls(kElsewhere), ElementsAre("a", "b"));
}

TEST_F(FrontierStoreTest, AScanGoesOnWhereItLeftOff) {
  Fill();
  EXPECT_THAT(Urls(kQueue, "a"), ElementsAre("b"));
  EXPECT_THAT(Urls(kQueue, "b"), IsEmpty());
  EXPECT_THAT(Urls(kQueue, "A"), ElementsAre("a", "b"));
}

TEST_F(FrontierStoreTest, ACheckpointOfTheStoreHasIt) {
  Fill();
  ASSERT_TRUE(opened_.store->Checkpoint(dir_ / "copy").ok());
  Write([](FrontierBatch& batch) { batch.DeleteCrawl(1); });
  const auto copy = StoreWithFrontier::Open(dir_ / "copy", {});
  ASSERT_NE(copy.frontier, nullptr);
  SeenFrontier seen;
  ASSERT_TRUE(copy.frontier->Load(seen).ok());
  EXPECT_EQ(seen.lines.size(), 8u);
}

// The bound prevents overflows of sums over all queues, whatever a row contains.
TEST(FrontierRows, NoQueueHasMoreUrlsThanThereCanBe) {
  FrontierQueueRecord read;
  FrontierQueueRecord record{.key = "a"};
  record.active = uint64_t{1} << 38;
  EXPECT_TRUE(storage::DecodeFrontier(storage::EncodeFrontier(record), &read));
  ++record.active;
  EXPECT_FALSE(storage::DecodeFrontier(storage::EncodeFrontier(record), &read));
  record.active = 0;
  record.completed = UINT64_MAX;
  EXPECT_FALSE(storage::DecodeFrontier(storage::EncodeFrontier(record), &read));
}

TEST(FrontierRows, SettingsOfReleasesThatKeptNoTimeAreRead) {
  FrontierSettings read;
  ASSERT_TRUE(storage::DecodeFrontier(std::string_view("\x07\0", 2), &read));
  EXPECT_EQ(read.default_delay, 7U);
  EXPECT_FALSE(read.active);
  EXPECT_EQ(read.seen, 0U);
  const std::string value = storage::EncodeFrontier(FrontierSettings{.seen = 1'700'000'000});
  ASSERT_TRUE(storage::DecodeFrontier(value, &read));
  EXPECT_EQ(read.seen, 1'700'000'000U);
  EXPECT_FALSE(storage::DecodeFrontier(value.substr(0, value.size() - 1), &read));
  EXPECT_FALSE(storage::DecodeFrontier(value + "x", &read));
}

TEST(FrontierRows, DamagedValuesAreNoRecords) {
  const FrontierQueueRecord record = {.key = "k",
                                      .active = 300,
                                      .head = FrontierDue{.due = 7, .url = "u"},
                                      .delay = 9,
                                      .asked_delay = 0,
                                      .asked_until = 300};
  const std::string value = storage::EncodeFrontier(record);
  FrontierQueueRecord read;
  ASSERT_TRUE(storage::DecodeFrontier(value, &read));
  EXPECT_EQ(storage::EncodeFrontier(read), value);
  EXPECT_EQ(read.asked_delay, 0U);
  EXPECT_EQ(read.asked_until, 300U);
  for (size_t size = 0; size + 1 < value.size(); ++size) {
    // A value that is cut off at the end of a field is a valid, shorter record. Any other cut is
    // invalid.
    FrontierQueueRecord cut;
    if (storage::DecodeFrontier(std::string_view(value).substr(0, size), &cut)) {
      EXPECT_LT(storage::EncodeFrontier(cut).size(), value.size());
    }
  }
  EXPECT_FALSE(storage::DecodeFrontier(value + "x", &read));
  FrontierLease lease;
  EXPECT_FALSE(storage::DecodeFrontier("\x05", &lease));
  EXPECT_FALSE(storage::DecodeFrontier(std::string_view("\x05\x06\x07"), &lease));
  FrontierItem item;
  EXPECT_FALSE(storage::DecodeFrontier("", &item));
}

}  // namespace
}  // namespace freshet
