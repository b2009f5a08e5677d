// Tests queues that were ready and have nothing due any more.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/frontier/frontier_state.h"
#include "tests/server/frontier/frontier_fixture.h"

namespace freshet {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class StaleQueues : public FrontierFixture {
 protected:
  static constexpr int kQueues = 200;

  void Put(const std::string& url, uint64_t due) {
    std::vector<FrontierPut> puts;
    for (int i = 0; i < kQueues; ++i) {
      puts.push_back({.crawl = "c", .key = std::to_string(i), .url = url, .metadata = {}});
      puts.back().known = true;
      puts.back().due = due;
    }
    EXPECT_THAT(state_->Put(puts), ::testing::Each(FrontierOutcome::kOk));
    Commit();
  }
  // Makes all queues ready. The pull takes no URLs.
  void MakeReady() {
    EXPECT_THAT(Pull({.crawl = "c", .urls_per_queue = 0}), IsEmpty());
    EXPECT_EQ(Ready(), size_t{kQueues});
  }
  [[nodiscard]] size_t Ready() const {
    size_t ready = 0;
    for (const auto& [flights, queues] : state_->table().FindCrawl("c")->ready) {
      ready += queues.size();
    }
    return ready;
  }
};

// Previously, one pull examined all these queues, and all clients waited for seconds.
TEST_F(StaleQueues, AreNotReadyOnceTheirOnlyUrlHasGone) {
  Put("u", now_ - 5);
  MakeReady();
  Put("u", now_ + 1000);
  EXPECT_EQ(Ready(), 0U);
  Put("u", now_ - 5);
  MakeReady();
  Put("u", 0);
  EXPECT_EQ(Ready(), 0U);
  Put("u", now_);
  EXPECT_THAT(Pull({}), SizeIs(kQueues));
}

// Only the first URL of a queue is in memory. The others are in the store.
TEST_F(StaleQueues, AreLookedAtInParts) {
  Put("u", now_ - 5);
  Put("v", now_ + 1000);
  MakeReady();
  Put("u", 0);
  FrontierPull pull;
  std::vector<FrontierServed> served;
  int looked = 0;
  for (; !pull.over; looked += 16) {
    EXPECT_EQ(Ready(), static_cast<size_t>(std::max(kQueues - looked, 0)));
    ASSERT_TRUE(state_->Pull(&pull, 16, &served).ok());
    Commit();
  }
  EXPECT_GE(looked, kQueues);
  EXPECT_THAT(served, IsEmpty());
  EXPECT_EQ(Ready(), 0U);
  Pass(1000);
  EXPECT_THAT(Pull({}), SizeIs(kQueues));
}

}  // namespace
}  // namespace freshet
