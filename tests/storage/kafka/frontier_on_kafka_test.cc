// Tests the crawl frontier of a cluster, in the log and in the store of the pages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/schedule/changes.h"
#include "fmt/format.h"
#include "storage/frontier_store.h"
#include "storage/frontier_verify.h"
#include "storage/restore.h"
#include "storage/store.h"
#include "tests/storage/kafka/mock_kafka.h"
#include "tests/storage/kafka/node.h"
#include "tests/storage/random_records.h"
#include "tests/storage/seen_frontier.h"
#include "tests/storage/small_store.h"
#include "tests/storage/store_with_frontier.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr FrontierQueueId kQueue = {.crawl = 1, .queue = 1};
constexpr FrontierQueueId kOther = {.crawl = 1, .queue = 2};
constexpr FrontierQueueId kElsewhere = {.crawl = 2, .queue = 1};

// Returns all rows, one in each line.
std::vector<std::string> ContentsOf(const FrontierStore& store) {
  SeenFrontier seen;
  EXPECT_TRUE(store.Load(seen).ok());
  std::vector<std::string> lines = std::move(seen.lines);
  for (const FrontierQueueId queue : {kQueue, kOther, kElsewhere}) {
    const auto visit = [&](std::string_view url, const FrontierItem& item) {
      lines.push_back(fmt::format("item {}/{} {}: {} {} {}", queue.crawl, queue.queue, url,
                                  item.due, item.created, item.metadata));
      return true;
    };
    // A scan stops among many removed rows, and continues from there.
    for (std::optional<std::string> from = ""; from;) {
      const std::string here = *from;
      const auto next = store.ScanItems(queue, here, visit);
      EXPECT_TRUE(next.ok());
      from = next.value_or(std::nullopt);
    }
    FrontierStore::DueScan scan = {.due = {}, .next = FrontierDue{}, .left_off = true};
    while (scan.left_off) {
      const FrontierDue here = *scan.next;
      const auto next = store.ScanDue(queue, here, UINT64_MAX, 1'000'000);
      EXPECT_TRUE(next.ok());
      scan = next.value_or(FrontierStore::DueScan());
      for (const FrontierDue& due : scan.due) {
        lines.push_back(fmt::format("due {}/{} {} {}", queue.crawl, queue.queue, due.due, due.url));
      }
    }
  }
  return lines;
}

class FrontierOnKafkaTest : public testing::Test {
 protected:
  // A node and the frontier of its store. The frontier is destroyed first.
  struct WithFrontier {
    Node node;
    std::unique_ptr<FrontierStore> frontier;
    ~WithFrontier() { frontier.reset(); }
  };
  std::unique_ptr<WithFrontier> Start(const std::string& dir) {
    auto started = std::make_unique<WithFrontier>();
    started->node = StartNode(dir_ / dir, kafka_);
    EXPECT_TRUE(started->node.status.ok()) << started->node.status;
    started->frontier = std::make_unique<FrontierStore>(*started->node.store);
    return started;
  }
  template <typename Change>
  static void Write(FrontierStore& store, Change change) {
    FrontierBatch batch(store);
    change(batch);
    const Status status = store.Commit(batch);
    ASSERT_TRUE(status.ok()) << status;
  }
  // Puts consistent rows of crawl ids with queues and URLs.
  static void Fill(FrontierStore& store) {
    Write(store, [](FrontierBatch& batch) {
      batch.PutSettings({.default_delay = 7});
      batch.PutCrawl(1, "one");
      batch.PutCrawl(2, "two");
      for (const FrontierQueueId queue : {kQueue, kOther, kElsewhere}) {
        batch.PutQueue(queue, {.key = "k" + std::to_string(queue.queue),
                               .active = 3,
                               .completed = 1,
                               .head = FrontierDue{.due = 5, .url = "a"}});
        for (const char* url : {"a", "b"}) {
          batch.PutItem(queue, url, {.due = 5, .created = 3, .metadata = "m"});
          batch.PutDue(queue, 5, url);
        }
        batch.PutItem(queue, "c", {.due = 4, .created = 3});
        batch.PutLease(queue, "c", {.until = 9, .due = 4});
        batch.PutItem(queue, "d", {.due = 0, .created = 3});
      }
    });
  }

  TempDir dir_;
  MockKafka kafka_{"mock", 2};
  RandomRecords random_{1};
};

TEST_F(FrontierOnKafkaTest, WhatWasCommittedIsThereAfterARestartAndWhenTheDiskIsLost) {
  std::vector<std::string> contents;
  {
    const auto node = Start("db");
    Fill(*node->frontier);
    ASSERT_TRUE(node->node.store->Checkpoint(dir_ / "behind").ok());
    Write(*node->frontier, [](FrontierBatch& batch) {
      batch.DeleteLease(kOther, "c");
      batch.PutDue(kOther, 4, "c");
      batch.PutItem(kElsewhere, "new", {.due = 8, .metadata = std::string("\0", 1)});
    });
    contents = ContentsOf(*node->frontier);
    EXPECT_THAT(contents, Contains("due 1/2 4 c"));
    EXPECT_EQ(contents.size(), 6U + 5 * 3 + 2 * 3 + 1);
    EXPECT_GT(node->frontier->Stats().memtable_bytes, 0U);
  }
  for (const char* dir : {"db", "behind", "lost"}) {
    SCOPED_TRACE(dir);
    EXPECT_EQ(ContentsOf(*Start(dir)->frontier), contents);
  }
}

// All readers of the log see the removals, whether they read from the beginning or from a later
// offset.
TEST_F(FrontierOnKafkaTest, WhatIsForgottenAsARangeIsForgottenByAllWhoRead) {
  std::vector<std::string> contents;
  {
    const auto node = Start("db");
    Fill(*node->frontier);
    ASSERT_TRUE(node->node.store->Checkpoint(dir_ / "behind").ok());
    // A deletion covers earlier rows of the same batch, but not later ones.
    Write(*node->frontier, [](FrontierBatch& batch) {
      batch.PutItem(kQueue, "before", {.due = 1});
      batch.DeleteQueue(kQueue);
      batch.PutQueue(kQueue, {.key = "again", .active = 1});
      batch.PutItem(kQueue, "after", {.due = 2});
    });
    Write(*node->frontier, [](FrontierBatch& batch) { batch.DeleteCrawl(2); });
    contents = ContentsOf(*node->frontier);
    EXPECT_THAT(contents, Contains("item 1/1 after: 2 0 "));
    EXPECT_THAT(contents, Contains("item 1/2 a: 5 3 m"));
    EXPECT_THAT(contents, Not(Contains(HasSubstr("before"))));
    EXPECT_THAT(contents, Not(Contains(HasSubstr("item 1/1 a:"))));
    EXPECT_THAT(contents, Not(Contains(HasSubstr("2/1"))));
    EXPECT_THAT(contents, Not(Contains(HasSubstr("two"))));
  }
  for (const char* dir : {"db", "behind", "lost"}) {
    SCOPED_TRACE(dir);
    EXPECT_EQ(ContentsOf(*Start(dir)->frontier), contents);
  }
}

// Meanwhile another thread writes pages. RocksDB writes both kinds of rows in one group.
TEST_F(FrontierOnKafkaTest, RangesAreForgottenBesideCommitsOfPages) {
  constexpr int kRounds = 300;
  std::vector<std::string> contents;
  {
    const auto node = Start("db");
    std::atomic<bool> stop = false;
    std::thread pages([&] {
      for (uint32_t i = 1; !stop; ++i) {
        const PageRecord page = random_.Page("host.example", i, i);
        Changes changes;
        changes.pages.push_back({.record = &page, .created = true});
        EXPECT_TRUE(node->node.store->Commit(changes).ok());
      }
    });
    for (int round = 0; round < kRounds; ++round) {
      Write(*node->frontier, [round](FrontierBatch& batch) {
        for (int i = 0; i < 20; ++i) batch.PutItem(kQueue, fmt::format("{}-{}", round, i), {});
        batch.DeleteQueue(kQueue);
        batch.PutItem(kQueue, "after", {.due = static_cast<uint64_t>(round)});
      });
    }
    stop = true;
    pages.join();
    contents = ContentsOf(*node->frontier);
    EXPECT_EQ(contents, std::vector<std::string>{"item 1/1 after: 299 0 "});
    const auto report = node->node.store->Verify();
    ASSERT_TRUE(report.ok()) << report.status();
  }
  for (const char* dir : {"db", "lost"}) EXPECT_EQ(ContentsOf(*Start(dir)->frontier), contents);
}

// The queue has more rows than the log removes one by one.
TEST_F(FrontierOnKafkaTest, AQueueOfAnySizeIsForgotten) {
  constexpr int kUrls = 105'000;
  constexpr int kAtOnce = 15'000;
  {
    const auto node = Start("db");
    for (int first = 0; first < kUrls; first += kAtOnce) {
      Write(*node->frontier, [first](FrontierBatch& batch) {
        for (int i = first; i < first + kAtOnce; ++i) {
          batch.PutDue(kQueue, static_cast<uint64_t>(i + 1), "u");
        }
      });
    }
    EXPECT_EQ(ContentsOf(*node->frontier).size(), static_cast<size_t>(kUrls));
    const uint64_t before = node->node.log->Stats().rows;
    Write(*node->frontier, [](FrontierBatch& batch) { batch.DeleteQueue(kQueue); });
    EXPECT_LT(node->node.log->Stats().rows, before + kUrls);
    EXPECT_THAT(ContentsOf(*node->frontier), IsEmpty());
  }
  EXPECT_THAT(ContentsOf(*Start("lost")->frontier), IsEmpty());
}

TEST_F(FrontierOnKafkaTest, WhoLeavesTheClusterKeepsIt) {
  std::vector<std::string> contents;
  {
    const auto node = Start("db");
    Fill(*node->frontier);
    contents = ContentsOf(*node->frontier);
  }
  StoreOptions leaving = SmallStore();
  leaving.leave_log = true;
  leaving.log = [](char level, std::string_view line) { EXPECT_NE(level, 'E') << line; };
  const auto report = storage::Restore(dir_ / "db", dir_ / "single", leaving);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->ok()) << testing::PrintToString(report->problems);
  {
    const auto single = StoreWithFrontier::Open(dir_ / "single", SmallStore());
    ASSERT_NE(single.store, nullptr);
    EXPECT_EQ(ContentsOf(*single.frontier), contents);
    const auto verified = VerifyFrontier(*single.store);
    ASSERT_TRUE(verified.ok()) << verified.status();
    EXPECT_TRUE(verified->ok()) << testing::PrintToString(verified->problems);
    EXPECT_EQ(verified->urls, 12U);
    EXPECT_THAT(single.store->Verify()->digests, IsEmpty());
  }
  ASSERT_TRUE(storage::Restore(dir_ / "db", dir_ / "member", SmallStore()).ok());
  EXPECT_EQ(ContentsOf(*Start("member")->frontier), contents);
}

// A failed restore removes the directory that it has made.
TEST_F(FrontierOnKafkaTest, WhoCannotLeaveHasWrittenNothing) {
  {
    const auto node = Start("db");
    Fill(*node->frontier);
  }
  std::filesystem::path table;
  for (const auto& file : std::filesystem::directory_iterator(dir_ / "db")) {
    if (file.path().extension() != ".sst") continue;
    if (table.empty() || file.file_size() > std::filesystem::file_size(table)) table = file.path();
  }
  std::filesystem::resize_file(table, std::filesystem::file_size(table) / 2);
  StoreOptions leaving = SmallStore();
  leaving.leave_log = true;
  const auto report = storage::Restore(dir_ / "db", dir_ / "single", leaving);
  EXPECT_FALSE(report.ok() && report->ok());
  EXPECT_FALSE(std::filesystem::exists(dir_ / "single"));
}

TEST_F(FrontierOnKafkaTest, IsVerifiedWhereItIs) {
  const auto node = Start("db");
  Fill(*node->frontier);
  const auto whole = VerifyFrontier(*node->node.store);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_TRUE(whole->ok()) << testing::PrintToString(whole->problems);
  EXPECT_EQ(whole->crawls, 2U);
  EXPECT_EQ(whole->urls, 12U);
  EXPECT_EQ(whole->in_flight, 3U);
  Write(*node->frontier, [](FrontierBatch& batch) { batch.DeleteDue(kOther, 5, "b"); });
  const auto broken = VerifyFrontier(*node->node.store);
  ASSERT_TRUE(broken.ok()) << broken.status();
  EXPECT_THAT(broken->problems, Contains(HasSubstr("queue 1/2")));
}

TEST_F(FrontierOnKafkaTest, IsWrittenOnceTheLogHasItAndOnlyThen) {
  const auto node = Start("db");
  kafka_.FailNext(MockKafka::kEndTxn, RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS);
  Fill(*node->frontier);
  kafka_.FailNext(MockKafka::kEndTxn, RD_KAFKA_RESP_ERR_PRODUCER_FENCED);
  FrontierBatch batch(*node->frontier);
  batch.DeleteCrawl(1);
  EXPECT_FALSE(node->frontier->Commit(batch).ok());
  EXPECT_THAT(ContentsOf(*node->frontier), Contains("crawl 1 one"));
  EXPECT_FALSE(node->node.store->health().ok());
}

}  // namespace
}  // namespace freshet
