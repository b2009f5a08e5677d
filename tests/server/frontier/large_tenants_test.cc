// Tests that work on all queues or leases of a crawl id is done in parts. Between the parts, other
// clients get their turns.
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/frontier/frontier_state.h"
#include "tests/server/frontier/frontier_fixture.h"

namespace freshet {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LargeTenants : public FrontierFixture {
 protected:
  static constexpr size_t kQueues = 100;
  static constexpr size_t kUrls = 4;  // in each queue

  LargeTenants() { tends_ = false; }
  // Puts URLs as another client than the one that takes them.
  void Put(const std::string& crawl) {
    std::vector<FrontierPut> puts;
    for (size_t i = 0; i < kQueues * kUrls; ++i) {
      puts.push_back({.crawl = crawl,
                      .key = std::to_string(i % kQueues),
                      .url = "u" + std::to_string(i),
                      .metadata = {},
                      .claim = {.client = 1}});
    }
    EXPECT_THAT(state_->Put(puts), Each(FrontierOutcome::kOk));
    Commit();
  }
  std::vector<FrontierServed> Take(const std::string& crawl, uint32_t lease_seconds = 30) {
    return Pull({.crawl = crawl, .lease_seconds = lease_seconds, .taker = {.client = 2}});
  }
  // Returns the number of turns that the background work (Tend) takes, with `most` queues and
  // leases in each turn.
  size_t Turns(size_t most) {
    size_t turns = 1;
    for (; state_->Tend(most).value(); ++turns) Commit();
    Commit();
    return turns;
  }
  [[nodiscard]] const QueueTable& table() const { return state_->table(); }
};

TEST_F(LargeTenants, ADeletedCrawlIdIsGoneAtOnceAndIsLetGoOfInParts) {
  Put("large");
  EXPECT_THAT(Take("large"), SizeIs(kQueues * kUrls));
  EXPECT_EQ(state_->DeleteCrawl("large"), kQueues * kUrls);
  Commit();
  EXPECT_EQ(table().FindCrawl("large"), nullptr);
  EXPECT_EQ(table().counts().kept_queues, 0U);
  EXPECT_EQ(table().counts().in_flight, 0U);
  EXPECT_EQ(table().counts().flight_places, 0U);
  EXPECT_EQ(table().ends().takers().held(2), kQueues * kUrls);
  // A new crawl id of the same name has none of the old queues.
  Put("large");
  constexpr size_t kAtOnce = 10;
  EXPECT_GE(Turns(kAtOnce), kQueues * kUrls / kAtOnce);
  EXPECT_EQ(table().ends().takers().held(2), 0U);
  EXPECT_EQ(table().ends().first(), QueueTable::kNever);
  EXPECT_EQ(table().counts().kept_queues, kQueues);
  EXPECT_THAT(Take("large"), SizeIs(kQueues * kUrls));
}

TEST_F(LargeTenants, LeasesThatEndMeanwhileEndOnce) {
  Put("large");
  EXPECT_THAT(Take("large"), SizeIs(kQueues * kUrls));
  (void)state_->DeleteQueue("large", "7");
  (void)state_->DeleteCrawl("large");
  Commit();
  EXPECT_TRUE(state_->Tend(kQueues).value());
  Put("small");
  EXPECT_THAT(Take("small", 5), SizeIs(kQueues * kUrls));
  now_ += 100;
  state_->SetNow(now_);
  state_->Expire(SIZE_MAX);
  Commit();
  EXPECT_EQ(state_->totals().expired, kQueues * kUrls);
  EXPECT_EQ(table().ends().takers().held(2), 0U);
  EXPECT_EQ(table().ends().first(), QueueTable::kNever);
  EXPECT_GE(Turns(10), kQueues / 20);
}

TEST_F(LargeTenants, ALargeQueueGoesAsOneThing) {
  Put("large");
  std::vector<FrontierPut> puts;
  for (size_t i = 0; i < 1000; ++i) {
    puts.push_back({.crawl = "large", .key = "q", .url = std::to_string(i), .metadata = {}});
  }
  (void)state_->Put(puts);
  Commit();
  EXPECT_THAT(Take("large"), SizeIs(kQueues * kUrls + 1000));
  EXPECT_EQ(state_->DeleteQueue("large", "q"), 1000U);
  state_->Discard();
  EXPECT_EQ(table().counts().in_flight, kQueues * kUrls + 1000);
  EXPECT_THAT(table().Find("large", "q")->flights, SizeIs(1000));
  EXPECT_EQ(state_->DeleteQueue("large", "q"), 1000U);
  Commit();
  EXPECT_EQ(table().counts().in_flight, kQueues * kUrls);
  EXPECT_EQ(table().ends().takers().held(2), kQueues * kUrls + 1000);
  EXPECT_GE(Turns(100), 10U);
  EXPECT_EQ(table().ends().takers().held(2), kQueues * kUrls);
}

// The store deletes everything in one commit.
TEST_F(LargeTenants, ARestartInBetweenFindsNothingOfWhatWasDeleted) {
  Put("large");
  EXPECT_THAT(Take("large"), SizeIs(kQueues * kUrls));
  (void)state_->DeleteCrawl("large");
  Commit();
  EXPECT_TRUE(state_->Tend(3).value());
  Load();
  EXPECT_EQ(table().counts().kept_queues, 0U);
  EXPECT_EQ(table().ends().first(), QueueTable::kNever);
  EXPECT_THAT(Pull({}), IsEmpty());
}

TEST_F(LargeTenants, ALongerDefaultDelayHoldsAtOnceAndAShorterOneInParts) {
  Put("a");
  Put("b");
  // Takes one URL of each queue. The queue then waits two seconds.
  EXPECT_THAT(Pull({.urls_per_queue = 1}), SizeIs(2 * kQueues));
  Pass(2);
  EXPECT_THAT(Pull({.crawl = "a", .queues = 0}), IsEmpty());  // makes all queues of "a" ready
  ASSERT_TRUE(state_->SetDelay({}, {}, 10).ok());
  Commit();
  // With the longer delay no queue serves yet, whether it was ready or not.
  FrontierPull pull = {.urls_per_queue = 2};
  std::vector<FrontierServed> served;
  size_t pulls = 0;
  for (; !pull.over; ++pulls) {
    ASSERT_TRUE(state_->Pull(&pull, 16, &served).ok());
    Commit();
  }
  EXPECT_THAT(served, IsEmpty());
  EXPECT_GE(pulls, kQueues / 16);
  EXPECT_GE(Turns(10), 2 * kQueues / 10);
  ASSERT_TRUE(state_->SetDelay({}, {}, 1).ok());
  Commit();
  EXPECT_TRUE(state_->Tend(kQueues / 2).value());
  pull = {.urls_per_queue = 2};
  ASSERT_TRUE(state_->Pull(&pull, 1000, &served).ok());
  Commit();
  EXPECT_EQ(served.size(), 2 * (kQueues / 2));  // two from each queue
  EXPECT_GE(Turns(10), 3 * kQueues / 20);
  EXPECT_EQ(Pull({.urls_per_queue = 2}).size(), 2 * (3 * kQueues / 2));
}

}  // namespace
}  // namespace freshet
