// Tests long URLs of the crawl frontier: how much memory they take, and that each is given out
// once.
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/frontier/frontier_state.h"
#include "tests/server/frontier/frontier_fixture.h"

namespace freshet {
namespace {

using ::testing::SizeIs;

class FrontierLongUrls : public FrontierFixture {};

// Previously, each queue and each lease kept a URL of 8 KiB in memory. A client with its share of
// queues filled the server's memory, again after each start.
TEST_F(FrontierLongUrls, LongUrlsTakeNoMoreMemory) {
  const std::string base(8000, 'u');
  std::vector<FrontierPut> puts;
  for (const char* end : {"3", "1", "2"}) {
    puts.push_back({.crawl = "c", .key = "k", .url = base + end, .metadata = {}});
  }
  EXPECT_THAT(state_->Put(puts), ::testing::Each(FrontierOutcome::kOk));
  Commit();
  for (const char* end : {"1", "2", "3"}) {
    for (int times = 0; times < 2; ++times) {
      const auto& head = state_->table().Find("c", "k")->record.head;
      ASSERT_TRUE(head.has_value());
      EXPECT_LE(head->url.capacity(), 100U);
      Load();
    }
    FrontierPull one;
    one.urls_per_queue = 3;
    one.queues = 1;
    std::vector<FrontierServed> served;
    ASSERT_TRUE(state_->Pull(&one, 1, &served).ok());
    ASSERT_THAT(served, SizeIs(1));
    EXPECT_EQ(served[0].url, base + end);
    Commit();
    Pass(2);
  }
  EXPECT_FALSE(state_->table().Find("c", "k")->record.head.has_value());
  EXPECT_EQ(state_->table().counts().flight_places, 3 * PlacesOfFlight(8001));
  EXPECT_EQ(PlacesOfFlight(8001), 32U);
  Pass(1'000'000);
  EXPECT_EQ(state_->table().counts().flight_places, 0U);
}

// A turn reads a queue several times before it commits.
TEST_F(FrontierLongUrls, UrlsThatBeginAlikeAreGivenOutOnce) {
  const std::string base = "http://a.test/" + std::string(100, 'p');
  std::vector<FrontierPut> puts;
  for (int i = 10; i < 50; ++i) {
    puts.push_back({.crawl = "c", .key = "k", .url = base + std::to_string(i), .metadata = {}});
  }
  EXPECT_THAT(state_->Put(puts), ::testing::Each(FrontierOutcome::kOk));
  Commit();
  FrontierPull all;
  std::vector<FrontierServed> served;
  ASSERT_TRUE(state_->Pull(&all, puts.size(), &served).ok());
  ASSERT_THAT(served, SizeIs(puts.size()));
  for (size_t i = 0; i < puts.size(); ++i) EXPECT_EQ(served[i].url, puts[i].url);
  Commit();
  Pass(1'000'000);
  EXPECT_THAT(Pull({}, /*at_a_time=*/3), SizeIs(puts.size()));
}

TEST_F(FrontierLongUrls, ALongUrlInFlightCountsForSeveral) {
  state_ = std::make_unique<FrontierState>(*store_, FrontierLimits{.flights = 200});
  state_->SetNow(now_);
  ASSERT_TRUE(state_->Load().ok());
  std::vector<FrontierPut> puts;
  for (int i = 0; i < 20; ++i) {
    const std::string number = std::to_string(10 + i);
    puts.push_back(
        {.crawl = "c", .key = number, .url = std::string(8000, 'u') + number, .metadata = {}});
  }
  EXPECT_THAT(state_->Put(puts), ::testing::Each(FrontierOutcome::kOk));
  Commit();
  // A client may use three eighths of 200 places, and each of these URLs takes 32.
  EXPECT_THAT(Pull({}, /*at_a_time=*/1), SizeIs(3));
}

}  // namespace
}  // namespace freshet
