// Tests pulls of URLs of any crawl id. A pull examines few of the crawl ids that have no URL for
// the client, and takes the others in turn.
#include "server/frontier/crawl_turns.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/frontier/frontier_fixture.h"

namespace freshet {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::Not;
using testing::SizeIs;

class CrawlTurnsTest : public FrontierFixture {
 protected:
  // Puts `crawls` crawl ids with `queues` queues each and `urls` URLs in each queue.
  void Put(const std::string& prefix, int crawls, int queues, int urls, uint64_t due) {
    std::vector<FrontierPut> puts;
    for (int i = 0; i < crawls * queues * urls; ++i) {
      puts.push_back({.crawl = prefix + std::to_string(i % crawls),
                      .key = std::to_string(i / crawls % queues),
                      .url = std::to_string(i / crawls / queues),
                      .metadata = {},
                      .known = true,
                      .due = due});
    }
    EXPECT_THAT(state_->Put(puts), Each(FrontierOutcome::kOk));
    Commit();
  }
  // Pulls until the pull has ended.
  std::vector<FrontierServed> PullAll(FrontierPull* pull) {
    std::vector<FrontierServed> served;
    while (!pull->over) {
      EXPECT_TRUE(state_->Pull(pull, 16, &served).ok());
      Commit();
    }
    return served;
  }
  std::vector<std::string> CrawlsOf(uint32_t queues) {
    FrontierPull pull{.queues = queues};
    std::vector<std::string> crawls;
    for (const FrontierServed& url : PullAll(&pull)) crawls.push_back(url.crawl);
    return crawls;
  }
};

TEST_F(CrawlTurnsTest, CrawlIdsGiveQueuesInTurn) {
  Put("c", 3, 4, 1, now_);
  EXPECT_THAT(CrawlsOf(4), ElementsAre("c0", "c1", "c2", "c0"));
  EXPECT_THAT(CrawlsOf(5), ElementsAre("c1", "c2", "c0", "c1", "c2"));
  EXPECT_THAT(CrawlsOf(9), ElementsAre("c0", "c1", "c2"));
}

// Previously, a client could have thousands of idle crawl ids, and all of them were examined for
// each URL of other clients.
TEST_F(CrawlTurnsTest, IdleCrawlIdsAreNotLookedAt) {
  constexpr uint64_t kFar = kStart + 1'000'000;
  Put("before", 1000, 1, 1, kFar);
  Put("busy", 2, 50, 1, now_);
  Put("after", 1000, 1, 1, kFar);
  FrontierPull pull;
  EXPECT_THAT(PullAll(&pull), SizeIs(100));
  EXPECT_LE(pull.round.named(), 102U);
  // Waiting queues that might be ready are not examined either.
  EXPECT_EQ(state_->table().turns().coming().begin()->first.first, kFar);
  EXPECT_THAT(state_->table().turns().coming(), SizeIs(2000));
}

TEST_F(CrawlTurnsTest, CrawlIdsWithNothingForAClientAreLookedAtOnce) {
  FrontierPull first{.urls_per_queue = 1, .lease_seconds = 1000};
  Put("taken", 1000, 1, 2, now_);
  EXPECT_THAT(PullAll(&first), SizeIs(1000));
  Pass(10);
  Put("busy", 1, 300, 1, now_);
  FrontierPull second{.urls_per_queue = 1};
  EXPECT_THAT(PullAll(&second), SizeIs(300));
  EXPECT_THAT(state_->table().turns().ready(), SizeIs(1000));
  EXPECT_LE(second.round.named(), 1301U);
}

TEST_F(CrawlTurnsTest, ACrawlIdWithManyQueuesMakesOthersWaitForOnePart) {
  constexpr int kAtOnce = FrontierPulls::kPromotedAtOnce;
  Put("many", 1, 3 * kAtOnce, 1, kStart + 10);
  Put("few", 1, 1, 1, kStart + 15);
  Pass(20);
  const auto few = Contains(Field(&FrontierServed::crawl, "few0"));
  EXPECT_THAT(Pull({}, SIZE_MAX), Not(few));
  EXPECT_THAT(Pull({}, SIZE_MAX), few);
}

}  // namespace
}  // namespace freshet
