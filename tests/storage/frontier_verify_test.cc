#include "storage/frontier_verify.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "storage/frontier_store.h"
#include "storage/repair.h"
#include "tests/storage/removed_rows.h"
#include "tests/storage/store_with_frontier.h"
#include "tests/support/flip_bit.h"
#include "tests/support/properties_byte.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr FrontierQueueId kVerifiedQueue = {.crawl = 1, .queue = 1};
constexpr FrontierQueueId kOtherQueue = {.crawl = 2, .queue = 1};

FrontierItem Item(uint64_t due) { return {.due = due, .created = 3, .metadata = "m"}; }

// An intact database. Each test damages a part of it.
class FrontierVerifyTest : public ::testing::Test {
 protected:
  FrontierVerifyTest() {
    Write([](FrontierBatch& batch) {
      batch.PutSettings({.default_delay = 2, .active = true});
      batch.PutCrawl(1, "news");
      batch.PutCrawl(2, "shop");
      for (const FrontierQueueId queue : {kVerifiedQueue, kOtherQueue}) {
        batch.PutQueue(queue, {.key = "a.test",
                               .active = 3,
                               .completed = 1,
                               .head = FrontierDue{.due = 5, .url = "http://a.test/1"},
                               .delay = 7});
        batch.PutItem(queue, "http://a.test/1", Item(5));
        batch.PutItem(queue, "http://a.test/2", Item(9));
        batch.PutDue(queue, 5, "http://a.test/1");
        batch.PutDue(queue, 9, "http://a.test/2");
        batch.PutItem(queue, "http://a.test/3", Item(4));
        batch.PutLease(queue, "http://a.test/3", {.until = 90, .due = 4});
        batch.PutItem(queue, "http://a.test/4", Item(0));
      }
    });
  }

  [[nodiscard]] static StoreOptions Options() {
    StoreOptions options;
    options.reserve_bytes = 0;
    return options;
  }
  [[nodiscard]] StoreWithFrontier Open() const {
    return StoreWithFrontier::Open(Directory(), Options());
  }
  void Write(const std::function<void(FrontierBatch&)>& change) const {
    const StoreWithFrontier opened = Open();
    FrontierBatch batch(*opened.frontier);
    change(batch);
    ASSERT_TRUE(opened.frontier->Commit(batch).ok());
    EXPECT_TRUE(opened.store->Close().ok());
  }
  [[nodiscard]] std::string Directory() const { return dir_ / "db"; }
  [[nodiscard]] FrontierReport Verify() const {
    const StatusOr<FrontierReport> report = VerifyFrontier(*Open().store);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *report : FrontierReport();
  }
  [[nodiscard]] FrontierReport Repair() const {
    const StatusOr<FrontierReport> report =
        RepairFrontier(*Open().store, [](std::string_view) { return "a.test"; });
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *report : FrontierReport();
  }
  // Expects that verification finds the problem, and finds nothing after the repair.
  FrontierReport ExpectFoundAndMended(const std::string& problem) const {
    EXPECT_THAT(Verify().problems, testing::Contains(HasSubstr(problem)));
    FrontierReport repaired = Repair();
    EXPECT_THAT(repaired.problems, testing::Contains(HasSubstr(problem)));
    EXPECT_THAT(Verify().problems, IsEmpty());
    return repaired;
  }
  [[nodiscard]] std::vector<std::string> Due(FrontierQueueId queue) const {
    const StoreWithFrontier opened = Open();
    const StatusOr<FrontierStore::DueScan> scan = opened.frontier->ScanDue(queue, {}, 1000, 100);
    std::vector<std::string> urls;
    for (const FrontierDue& due : scan->due) urls.push_back(due.url);
    return urls;
  }

  TempDir dir_;
};

TEST_F(FrontierVerifyTest, CountsWhatIsThere) {
  const FrontierReport report = Verify();
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_EQ(report.crawls, 2U);
  EXPECT_EQ(report.queues, 2U);
  EXPECT_EQ(report.urls, 8U);
  EXPECT_EQ(report.in_flight, 2U);
  const FrontierReport intact = Repair();
  EXPECT_TRUE(intact.ok());
  EXPECT_EQ(intact.urls, 8U);
}

TEST_F(FrontierVerifyTest, KeysOfClientsAreNoOrdersToTheTerminal) {
  Write([](FrontierBatch& batch) {
    batch.PutQueue(
        {.crawl = 1, .queue = 2},
        {.key = "\x1b]0;owned\a\nverified: problems=0", .active = 7, .completed = 0, .delay = 7});
  });
  const FrontierReport report = Verify();
  EXPECT_THAT(report.problems, testing::Contains(HasSubstr("\\x1b]0;owned")));
  for (const std::string& problem : report.problems) {
    EXPECT_EQ(problem.find_first_of("\x1b\a\n"), std::string::npos) << problem;
  }
}

// A repair reads all rows twice, once to check and once to mend, however many queues it mends.
TEST_F(FrontierVerifyTest, MendingAQueueWalksOverNothingThatWasRemovedBeforeIt) {
  constexpr FrontierQueueId kBefore = {.crawl = 1, .queue = 0};
  for (const bool put : {true, false}) {
    Write([&](FrontierBatch& batch) {
      for (uint64_t due = 1; due <= 100; ++due) {
        put ? batch.PutDue(kBefore, due, "http://b.test/")
            : batch.DeleteDue(kBefore, due, "http://b.test/");
      }
    });
  }
  const uint64_t intact = RemovedRowsWalkedOver([&] { EXPECT_TRUE(Repair().ok()); });
  Write([](FrontierBatch& batch) {
    batch.DeleteDue(kVerifiedQueue, 5, "http://a.test/1");
    batch.DeleteDue(kOtherQueue, 5, "http://a.test/1");
  });
  EXPECT_LE(RemovedRowsWalkedOver([&] { EXPECT_EQ(Repair().problems.size(), 2U); }),
            2 * intact + 10);
}

TEST_F(FrontierVerifyTest, FindsRowsOfDueUrlsThatAreMissingOrTooMany) {
  Write([](FrontierBatch& batch) {
    batch.DeleteDue(kVerifiedQueue, 9, "http://a.test/2");
    batch.PutDue(kVerifiedQueue, 8, "http://a.test/3");
  });
  ExpectFoundAndMended("2 rows of due URLs are not those of the 2 URLs that wait");
  EXPECT_THAT(Due(kVerifiedQueue), ElementsAre("http://a.test/1", "http://a.test/2"));
}

TEST_F(FrontierVerifyTest, FindsWrongCountsAndAHeadThatIsTooLate) {
  Write([](FrontierBatch& batch) {
    batch.PutQueue(kOtherQueue, {.key = "a.test",
                                 .active = 2,
                                 .completed = 5,
                                 .head = FrontierDue{.due = 6, .url = "x"},
                                 .delay = 7});
  });
  EXPECT_THAT(Verify().problems,
              ElementsAre("frontier: queue a.test: 3 URLs are scheduled and 1 completed, it counts "
                          "2 and 5",
                          "frontier: queue a.test: a URL waits before its head"));
  ExpectFoundAndMended("it counts");
}

TEST_F(FrontierVerifyTest, FindsLeasesOfNoUrlAndOfAnotherDate) {
  Write([](FrontierBatch& batch) {
    batch.PutLease(kVerifiedQueue, "http://a.test/4", {.until = 90, .due = 4});
    batch.PutLease(kVerifiedQueue, "http://a.test/99", {.until = 90, .due = 4});
    batch.PutLease(kVerifiedQueue, "http://a.test/3", {.until = 90, .due = 5});
  });
  EXPECT_EQ(Verify().problem_count, 3U);
  ExpectFoundAndMended("http://a.test/99 is in flight, and is not there or completed");
  EXPECT_EQ(Verify().in_flight, 2U);
}

TEST_F(FrontierVerifyTest, RestoresAQueueOfWhichOnlyUrlsAreLeft) {
  Write([](FrontierBatch& batch) {
    batch.PutCrawl(3, "lone");
    for (const FrontierQueueId queue :
         {FrontierQueueId{.crawl = 3, .queue = 1}, FrontierQueueId{.crawl = 4, .queue = 2}}) {
      batch.PutItem(queue, "http://a.test/1", Item(5));
      batch.PutDue(queue, 5, "http://a.test/1");
    }
  });
  const FrontierReport repaired = ExpectFoundAndMended("queue 3/1 has URLs and is not there");
  EXPECT_EQ(repaired.queues, 4U);
  EXPECT_EQ(repaired.crawls, 4U);
  EXPECT_EQ(repaired.urls, 10U);
  EXPECT_EQ(repaired.lost_rows, 0U);
}

// Damages one table after the other, in a block or as a whole. The remaining rows must be
// consistent.
TEST_F(FrontierVerifyTest, ARepairOfTheStoreSavesWhatDamagedTablesLeave) {
  namespace fs = std::filesystem;
  {
    ASSERT_TRUE(Open().store->Compact().ok());
  }
  const fs::path intact = dir_ / "intact";
  fs::copy(Directory(), intact);
  uint64_t least = UINT64_MAX;
  for (const auto& file : fs::directory_iterator(intact)) {
    if (file.path().extension() != ".sst") continue;
    for (const bool properties : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", file.path().filename().string(), properties));
      fs::remove_all(Directory());
      fs::copy(intact, Directory());
      const fs::path table = fs::path(Directory()) / file.path().filename();
      FlipBit(table, properties ? PropertiesByte(table) : 10, 7);
      const auto repaired = storage::Repair(Directory(), Options());
      ASSERT_TRUE(repaired.ok()) << repaired.status();
      EXPECT_FALSE(repaired->intact);
      EXPECT_EQ(repaired->tables.damaged + repaired->tables.unreadable, 1U);
      const FrontierReport mended = Repair();
      EXPECT_THAT(Verify().problems, IsEmpty());
      least = std::min(least, mended.urls);
      EXPECT_TRUE(mended.urls == 8 || mended.urls == 0) << mended.urls;
    }
  }
  EXPECT_EQ(least, 0U) << "the table of the URLs was among them";
}

}  // namespace
}  // namespace freshet
