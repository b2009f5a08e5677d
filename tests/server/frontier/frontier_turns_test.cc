// Tests that clients take turns at the frontier, however much one of them sends.
#include <algorithm>
#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/frontier_limits.h"
#include "server/base/system_clock.h"
#include "server/frontier/frontier.h"
#include "tests/server/frontier/frontier_fixture.h"
#include "tests/support/faulty_env.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

using testing::Each;
using testing::ElementsAre;

std::vector<FrontierPut> Batch(uint64_t client, const std::string& crawl, size_t urls) {
  std::vector<FrontierPut> puts(urls);
  for (size_t i = 0; i < urls; ++i) {
    const std::string host = crawl + ".test";
    puts[i] = {.crawl = crawl,
               .key = host,
               .url = "https://" + host + "/" + std::to_string(i),
               .metadata = {},
               .claim = {.client = client}};
  }
  return puts;
}

// A frontier that is not started yet, so that all requests wait before the first is served.
class FrontierTurns : public testing::Test {
 protected:
  FrontierTurns() {
    StoreOptions options;
    options.durability = Durability::kNone;
    own_ = OwnFrontier::Open(dir_ / "db", clock_, options);
    frontier_ = own_.frontier.get();
  }

  const TempDir dir_;
  SystemClock clock_;
  OwnFrontier own_;
  Frontier* frontier_ = nullptr;
};

TEST_F(FrontierTurns, AClientWaitsForOneBatchOfAnother) {
  ASSERT_NE(frontier_, nullptr);
  Frontier& frontier = *frontier_;
  std::vector<std::string> order;
  std::promise<void> all;
  // Each of these batches fills a commit.
  for (int i = 0; i < 8; ++i) {
    (void)frontier.Put(Batch(1, "greedy", limits::kMaxUrlsPerCommit), [&](const auto& outcomes) {
      EXPECT_EQ(outcomes.size(), limits::kMaxUrlsPerCommit);
      order.emplace_back("greedy");
      if (order.size() == 10) all.set_value();
    });
  }
  EXPECT_TRUE(frontier.Put(Batch(2, "small", 50), [&](const auto& outcomes) {
    EXPECT_THAT(outcomes, Each(FrontierOutcome::kOk));
    order.emplace_back("small");
  }));
  auto pull = std::make_shared<FrontierPull>();
  pull->crawl = "small";
  pull->taker = {.client = 3};
  frontier.Pull(pull, 10, [&](const std::vector<FrontierServed>&) { order.emplace_back("pull"); });
  frontier.Start([](const Status&) {});
  all.get_future().wait();
  frontier.Stop();
  EXPECT_THAT(std::vector<std::string>(order.begin(), order.begin() + 2),
              testing::UnorderedElementsAre("small", "pull"));
}

// A batch of the crawl-frontier API can be larger than several commits.
TEST_F(FrontierTurns, AClientWaitsForAPartOfABatchOfAnother) {
  ASSERT_NE(frontier_, nullptr);
  Frontier& frontier = *frontier_;
  std::vector<std::string> order;
  std::promise<void> all;
  std::vector<FrontierPut> large = Batch(1, "large", limits::kMaxUrlsPerBatch);
  for (FrontierPut& put : large) put.metadata.assign(1500, 'x');
  EXPECT_TRUE(frontier.Put(std::move(large), [&](const auto& outcomes) {
    EXPECT_EQ(outcomes.size(), limits::kMaxUrlsPerBatch);
    EXPECT_THAT(outcomes, Each(FrontierOutcome::kOk));
    order.emplace_back("large");
    all.set_value();
  }));
  // One client makes more reads than a turn serves.
  for (int i = 0; i < 20; ++i) {
    frontier.Read<bool>(
        [](const FrontierState& state) -> StatusOr<bool> { return state.settings().active; },
        [&](const StatusOr<bool>&) { order.emplace_back("reading"); }, 2,
        limits::kMaxUrlsPerCommit / 2);
  }
  EXPECT_TRUE(
      frontier.Put(Batch(3, "small", 50), [&](const auto&) { order.emplace_back("small"); }));
  frontier.Start([](const Status&) {});
  all.get_future().wait();
  frontier.Stop();
  const auto small = std::find(order.begin(), order.end(), "small");
  EXPECT_LT(small - order.begin(), 3) << testing::PrintToString(order);
  EXPECT_EQ(order.back(), "large");
}

TEST_F(FrontierTurns, LongMetadataCountsAsSeveralUrls) {
  ASSERT_NE(frontier_, nullptr);
  Frontier& frontier = *frontier_;
  std::vector<std::string> order;
  std::promise<void> all;
  const auto put = [&](uint64_t client, const std::string& crawl, size_t urls, size_t metadata) {
    std::vector<FrontierPut> puts = Batch(client, crawl, urls);
    for (FrontierPut& its : puts) its.metadata.assign(metadata, 'x');
    EXPECT_TRUE(frontier.Put(std::move(puts), [&, crawl](const auto&) {
      order.push_back(crawl);
      if (order.size() == 4) all.set_value();
    }));
  };
  for (int i = 0; i < 2; ++i) put(1, "long", 100, 10'000);
  for (int i = 0; i < 2; ++i) put(2, "short", 200, 10);
  frontier.Start([](const Status&) {});
  all.get_future().wait();
  frontier.Stop();
  EXPECT_THAT(order, ElementsAre("short", "short", "long", "long"));
}

// Previously, reads were refused together with the changes in the same turn.
TEST(FrontierReads, AreAnsweredWhileTheDiskIsFull) {
  const TempDir dir;
  SystemClock clock;
  FaultyEnv disk(1);
  StoreOptions options;
  options.reserve_bytes = uint64_t{32} << 20;
  options.env = disk.env();
  const OwnFrontier own = OwnFrontier::Open(dir / "db", clock, options);
  ASSERT_NE(own.frontier, nullptr);
  Frontier& frontier = *own.frontier;
  disk.SetFreeBytes(1 << 20);
  std::vector<FrontierOutcome> put;
  (void)frontier.Put(Batch(1, "c", 1), [&](const auto& outcomes) { put = outcomes; });
  std::promise<StatusOr<bool>> active;
  frontier.Read<bool>(
      [](const FrontierState& state) -> StatusOr<bool> { return state.settings().active; },
      [&active](StatusOr<bool> answer) { active.set_value(std::move(answer)); });
  frontier.Start([](const Status& status) { ADD_FAILURE() << status; });
  EXPECT_TRUE(active.get_future().get().value_or(false));
  frontier.Stop();
  EXPECT_THAT(put, ElementsAre(FrontierOutcome::kFailed));
  disk.ClearFaults();
}

TEST_F(FrontierTurns, AClientWaitsForFewPullsOfAnother) {
  ASSERT_NE(frontier_, nullptr);
  Frontier& frontier = *frontier_;
  std::vector<std::string> order;
  std::promise<void> all;
  constexpr size_t kPulls = 500;
  for (size_t i = 0; i < kPulls; ++i) {
    auto pull = std::make_shared<FrontierPull>();
    pull->crawl = "greedy";
    pull->taker = {.client = 1};
    frontier.Pull(pull, 128, [&](const std::vector<FrontierServed>&) {
      order.emplace_back("greedy");
      if (order.size() == kPulls + 1) all.set_value();
    });
  }
  EXPECT_TRUE(
      frontier.Put(Batch(2, "small", 50), [&](const auto&) { order.emplace_back("small"); }));
  frontier.Start([](const Status&) {});
  all.get_future().wait();
  frontier.Stop();
  const auto small = std::find(order.begin(), order.end(), "small") - order.begin();
  EXPECT_LE(small, static_cast<std::ptrdiff_t>(limits::kMaxUrlsPerCommit / 128));
}

}  // namespace
}  // namespace freshet
