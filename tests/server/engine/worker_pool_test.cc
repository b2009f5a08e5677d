// Tests that thousands of workers can come and go. None of them leaves anything behind, and none
// delays the turns of others.
#include "server/engine/worker_pool.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/limits.h"
#include "server/engine/worker_places.h"
#include "tests/server/engine/no_sink.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr Instant kPoolTime = Instant::FromMicros(1'000'000);
constexpr ClassSet kOurs = SetOf(1);
constexpr ClassSet kOthers = SetOf(2);

class WorkerPoolTest : public ::testing::Test {
 protected:
  WorkerId Join(const std::string& name, ClassSet takes, bool waiter = false) {
    WorkerTerms terms;
    terms.client = "client";
    terms.name = name;
    terms.takes = takes;
    terms.waiter = waiter;
    terms.waits_until = kPoolTime;
    const StatusOr<WorkerId> id = pool_->Join(std::move(terms), sink_, 10'000);
    EXPECT_TRUE(id.ok()) << id.status();
    (void)pool_->Grant(*id, 1);
    return *id;
  }
  // Hands out `pages` pages of kOurs and returns their workers.
  std::vector<WorkerId> Take(size_t pages) {
    std::vector<LeaseTerms> terms(pages);
    std::vector<WorkerId> workers;
    EXPECT_TRUE(pool_->Ask(1, &terms, &workers).open);
    LeaseTallies opened;
    for (size_t i = 0; i < terms.size(); ++i) {
      workers[i] = pool_->TakeFor(kOurs, &terms[i]);
      if (workers[i] != WorkerPool::kNobody) opened[{terms[i].client, terms[i].worker}].opened = 1;
    }
    (void)pool_->OnLeases(opened, kPoolTime);
    (void)pool_->Settle(workers, terms, std::vector<bool>(terms.size(), true), kPoolTime,
                        &deliveries_);
    return workers;
  }

  const std::shared_ptr<NoSink> sink_ = std::make_shared<NoSink>();
  std::unique_ptr<WorkerPool> pool_ = std::make_unique<WorkerPool>(WorkerLimits());
  Deliveries deliveries_;
};

// The first worker in the queue takes none of these pages, so it is never removed. Ended calls
// behind it must still leave the queue.
TEST_F(WorkerPoolTest, CallsThatAreOverAreInNoQueue) {
  (void)Join("idle", kOthers);
  for (int i = 0; i < 20'000; ++i) {
    (void)Join("calls", kOthers, /*waiter=*/true);
    pool_->EndWaits(kPoolTime, &deliveries_);
    ASSERT_EQ(pool_->in_turn(), 1U);
  }
  EXPECT_THAT(pool_->sinks(), SizeIs(1));
}

TEST_F(WorkerPoolTest, AResultBringsTheWorkersOfItsNameAlone) {
  const WorkerId others = Join("others", kOthers);
  std::vector<WorkerId> newcomers;
  for (int i = 0; i < 4; ++i) newcomers.push_back(Join(i < 2 ? "a" : "b", kOurs));
  (void)pool_->OnLeases({{{"client", "b"}, {.answered = 1}}}, kPoolTime);
  EXPECT_EQ(pool_->in_turn(), 5U);
  // Workers whose name has results come first.
  EXPECT_THAT(Take(4), ElementsAre(newcomers[2], newcomers[3], newcomers[0], newcomers[1]));
  EXPECT_EQ(pool_->in_turn(), 1U);
  pool_->Remove(others);
  EXPECT_EQ(pool_->in_turn(), 0U);
}

TEST_F(WorkerPoolTest, NewcomersWithoutRoomComeInWithTheirFirstResult) {
  pool_ = std::make_unique<WorkerPool>(WorkerLimits{.newcomer_leases = 8});
  std::vector<WorkerId> ids;
  for (int i = 0; i < 100; ++i) ids.push_back(Join(std::to_string(i), kOurs));
  ids.push_back(Join("others", kOthers));
  // Newcomers that got no place are looked at again once the first pages are settled, so pages are
  // offered twice.
  for (int i = 0; i < 2; ++i) (void)Take(50);
  EXPECT_EQ(pool_->in_turn(), 0U) << "newcomers hold all they may";
  DispatchStats stats;
  pool_->AddTo(&stats);
  EXPECT_GT(stats.workers_at_allowance, 90U);
  EXPECT_TRUE(pool_->OnLeases({{{"client", "70"}, {.answered = 1}}}, kPoolTime).let_in);
  EXPECT_EQ(pool_->in_turn(), 1U);
  EXPECT_THAT(Take(1), ElementsAre(ids[70]));
  for (const WorkerId id : ids) pool_->Remove(id);
  EXPECT_THAT(pool_->sinks(), SizeIs(0));
  EXPECT_EQ(pool_->in_turn(), 0U);
}

// The cost of each turn grows with the number of different sets of crawl ids that workers take.
TEST(WorkerPlacesTest, ClientsShareTheSetsOfCrawlIds) {
  WorkerPlaces places;
  const auto take = [&](const std::string& client, ClassSet takes) {
    return places.Take({.name = "w", .client = client, .takes = takes}, 10'000);
  };
  ClassSet sets = 1;
  while (take("many", sets).ok()) ++sets;
  EXPECT_EQ(sets - 1, limits::kMaxWorkerSets * 3 / 8);
  const Status refused = take("many", sets);
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), testing::StartsWith("crawl_ids: "));
  EXPECT_TRUE(take("many", 1).ok()) << "a set that the client has";
  EXPECT_TRUE(take("many", kAllClasses).ok());
  EXPECT_TRUE(take("few", sets).ok()) << "another client";
  places.GiveBack({.name = "w", .client = "many", .takes = 1});
  EXPECT_FALSE(take("many", sets).ok()) << "another worker has this set";
  places.GiveBack({.name = "w", .client = "many", .takes = 1});
  EXPECT_TRUE(take("many", sets).ok());
}

}  // namespace
}  // namespace freshet
