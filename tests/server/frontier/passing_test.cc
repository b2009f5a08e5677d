// Tests queues with many deleted rows in front of their URLs.
#include <algorithm>
#include <future>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/system_clock.h"
#include "server/frontier/frontier.h"
#include "tests/server/frontier/frontier_fixture.h"
#include "tests/storage/removed_rows.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr size_t kUrls = 20'000;

FrontierPut Known(std::string url, uint64_t due) {
  return {
      .crawl = "c", .key = "q", .url = std::move(url), .metadata = {}, .known = true, .due = due};
}

// Returns a URL that is longer than the part of a URL that is kept in memory. These parts are equal
// for all of these URLs.
std::string LongUrl(size_t i) { return std::string(100, 'x') + fmt::format("{:06}", i); }

std::vector<FrontierPut> Many(uint64_t due) {
  std::vector<FrontierPut> puts;
  for (size_t i = 0; i < kUrls; ++i) puts.push_back(Known(LongUrl(i), due));
  return puts;
}

FrontierPull OfQueue() {
  FrontierPull pull;
  pull.crawl = "c";
  pull.key = "q";
  pull.lease_seconds = 5000;
  return pull;
}

class PassingTest : public FrontierFixture {
 protected:
  PassingTest() { tends_ = false; }
  // Puts and takes many URLs, so that their rows are deleted. Then puts one URL before and one
  // after these rows. Both are due.
  void TakeMany() {
    ASSERT_TRUE(state_->SetDelay("c", "q", 0).ok());
    (void)state_->Put(Many(1000));
    Commit();
    EXPECT_EQ(Pull(OfQueue(), 1000).size(), kUrls);
    (void)state_->Put(std::vector{Known("first", 1), Known("last", 2000)});
    Commit();
    Pass(1);
  }
  std::vector<std::string> PullOnce(FrontierPull* pull) {
    std::vector<FrontierServed> served;
    EXPECT_LE(RemovedRowsWalkedOver([&] { EXPECT_TRUE(state_->Pull(pull, 128, &served).ok()); }),
              2 * PassingQueues::kMostPerPull);
    Commit();
    std::vector<std::string> urls;
    for (const FrontierServed& url : served) urls.push_back(url.url);
    return urls;
  }
  size_t PassAll() {
    size_t steps = 0;
    for (bool more = true; more && steps < 1000; ++steps) {
      EXPECT_LE(RemovedRowsWalkedOver([&] { more = *state_->Tend(1000); }), 1001U);
      Commit();
    }
    return steps;
  }
};

TEST_F(PassingTest, NoStepPassesOverManyDeletedRowsAndNothingIsLost) {
  TakeMany();
  FrontierPull pull = OfQueue();
  EXPECT_THAT(PullOnce(&pull), ElementsAre("first"));
  // This pull ends before it has passed all deleted rows, and does not delay pulls of other queues.
  Pass(1);
  FrontierPull next = OfQueue();
  EXPECT_THAT(PullOnce(&next), IsEmpty());
  EXPECT_FALSE(next.over);
  FrontierPull any;
  EXPECT_THAT(PullOnce(&any), IsEmpty());
  EXPECT_TRUE(any.over);
  EXPECT_GE(PassAll(), kUrls / 1001);
  EXPECT_THAT(PullOnce(&next), ElementsAre("last"));
  EXPECT_TRUE(next.over);
  EXPECT_THAT(Pull(OfQueue()), IsEmpty());
}

TEST_F(PassingTest, AUrlThatComesMeanwhileIsServedAtOnceAndOnce) {
  TakeMany();
  FrontierPull pull = OfQueue();
  EXPECT_THAT(PullOnce(&pull), ElementsAre("first"));
  ASSERT_TRUE(state_->Tend(4000).ok());
  Commit();
  (void)state_->Put(std::vector{Known("before", 2), Known("behind", 1500)});
  Commit();
  Pass(1);
  FrontierPull early = OfQueue();
  EXPECT_THAT(PullOnce(&early), ElementsAre("before"));
  Pass(1);
  PassAll();
  FrontierPull late = OfQueue();
  EXPECT_THAT(PullOnce(&late), ElementsAre("behind", "last"));
  EXPECT_THAT(Pull(OfQueue()), IsEmpty());
}

TEST_F(PassingTest, ACommitThatFailsLeavesNoQueueBehind) {
  TakeMany();
  std::vector<FrontierServed> served;
  FrontierPull pull = OfQueue();
  ASSERT_TRUE(state_->Pull(&pull, 128, &served).ok());
  state_->Discard();
  pull = OfQueue();
  EXPECT_THAT(PullOnce(&pull), ElementsAre("first"));
  while (state_->Tend(1000).ok() &&
         state_->table().ServesFrom(*state_->table().Find("c", "q")) == QueueTable::kNever) {
    Commit();
  }
  // Discards the step with which the frontier had passed all deleted rows.
  state_->Discard();
  EXPECT_GE(PassAll(), 1U);
  Pass(1);
  FrontierPull last = OfQueue();
  EXPECT_THAT(PullOnce(&last), ElementsAre("last"));
}

TEST_F(PassingTest, ALoadBeginsAnew) {
  TakeMany();
  FrontierPull pull = OfQueue();
  EXPECT_THAT(PullOnce(&pull), ElementsAre("first"));
  ASSERT_TRUE(state_->Tend(1000).ok());
  Commit();
  Load();
  Pass(1);
  FrontierPull last = OfQueue();
  EXPECT_THAT(PullOnce(&last), IsEmpty());
  PassAll();
  EXPECT_THAT(PullOnce(&last), ElementsAre("last"));
}

// The frontier's thread passes the deleted rows without being asked.
TEST(PassingFrontier, ServesWhatIsBehindManyDeletedRows) {
  const TempDir dir;
  SystemClock clock;
  const OwnFrontier own = OwnFrontier::Open(dir / "db", clock);
  ASSERT_NE(own.frontier, nullptr);
  Frontier& frontier = *own.frontier;
  frontier.Start([](const Status& status) { ADD_FAILURE() << status; });
  const auto run = [&frontier](std::function<Status(FrontierState&)> change) {
    std::promise<Status> done;
    frontier.Run<bool>(
        [change = std::move(change)](FrontierState& state) -> StatusOr<bool> {
          RETURN_IF_ERROR(change(state));
          return true;
        },
        [&done](const StatusOr<bool>& ran) { done.set_value(ran.status()); });
    ASSERT_TRUE(done.get_future().get().ok());
  };
  run([](FrontierState& state) {
    (void)state.Put(Many(1000));
    return state.SetDelay("c", "q", 0);
  });
  // Changing the date of each URL deletes its old row, so there are many deleted rows behind the
  // first URL.
  run([](FrontierState& state) {
    (void)state.Put(Many(UINT64_MAX / 2));
    (void)state.Put(std::vector{Known("first", 1), Known("last", 2000)});
    return absl::OkStatus();
  });
  std::vector<std::string> urls;
  auto pull = std::make_shared<FrontierPull>(OfQueue());
  while (urls.size() < 2) {
    if (pull->over) *pull = OfQueue();
    std::promise<void> done;
    frontier.Pull(pull, 128, [&](std::vector<FrontierServed> served) {
      for (const FrontierServed& url : served) urls.push_back(url.url);
      done.set_value();
    });
    done.get_future().wait();
  }
  frontier.Stop();
  EXPECT_THAT(urls, ElementsAre("first", "last"));
}

}  // namespace
}  // namespace freshet
