#include "server/frontier/frontier_scan.h"

#include <future>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gtest/gtest.h"
#include "server/base/system_clock.h"
#include "tests/server/frontier/frontier_fixture.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

// Puts 200 URLs with this much metadata each, and walks through them in slices of at most 256.
// Returns the number of URLs in each slice.
std::vector<size_t> SlicesOf(size_t metadata_bytes) {
  const TempDir dir;
  SystemClock clock;
  const OwnFrontier own = OwnFrontier::Open(dir / "db", clock, StoreOptions{});
  Frontier* const frontier = own.frontier.get();
  if (frontier == nullptr) return {};
  frontier->Start([](const Status& status) { ADD_FAILURE() << status; });
  std::vector<FrontierPut> puts;
  for (int i = 0; i < 200; ++i) {
    puts.push_back({.crawl = "c",
                    .key = "k.test",
                    .url = fmt::format("https://k.test/{:03}", i),
                    .metadata = std::string(metadata_bytes, 'm')});
  }
  std::promise<void> put;
  (void)frontier->Put(std::move(puts), [&put](const auto&) { put.set_value(); });
  put.get_future().wait();
  FrontierScan scan(*frontier, {.crawl = "c", .key = {}, .filter = {}});
  std::vector<size_t> slices;
  while (!scan.over()) {
    size_t seen = 0;
    EXPECT_TRUE(scan.Slice(256, [&seen](const auto&) { return ++seen > 0; }).ok());
    // A slice that only finds queues has no URLs.
    if (seen > 0) slices.push_back(seen);
  }
  return slices;
}

TEST(FrontierScan, AWalkLooksAtFewUrlsWithMuchMetadataAtATime) {
  EXPECT_EQ(SlicesOf(10).front(), 200U);
  const std::vector<size_t> slices = SlicesOf(60'000);
  EXPECT_GE(slices.size(), 66U);
  size_t all = 0;
  for (const size_t seen : slices) {
    EXPECT_LE(seen, 3U);
    all += seen;
  }
  EXPECT_EQ(all, 200U);
}

// Previously, a client could have millions of empty queues, and one walk examined all of them in a
// slice.
TEST(FrontierScan, AWalkLooksAtQueuesWithoutUrlsInSlices) {
  const TempDir dir;
  SystemClock clock;
  const OwnFrontier own = OwnFrontier::Open(dir / "db", clock, StoreOptions{});
  Frontier* const frontier = own.frontier.get();
  ASSERT_NE(frontier, nullptr);
  frontier->Start([](const Status& status) { ADD_FAILURE() << status; });
  std::promise<StatusOr<bool>> made;
  frontier->Run<bool>(
      [](FrontierState& state) -> StatusOr<bool> {
        for (int i = 0; i < 100'000; ++i) {
          RETURN_IF_ERROR(state.SetDelay("c", fmt::format("{:06}", i), 5));
        }
        return true;
      },
      [&made](StatusOr<bool> done) { made.set_value(std::move(done)); });
  ASSERT_TRUE(made.get_future().get().ok());
  std::promise<void> put;
  (void)frontier->Put({{.crawl = "c", .key = "last", .url = "u", .metadata = {}}},
                      [&put](const auto&) { put.set_value(); });
  put.get_future().wait();
  FrontierScan scan(*frontier, {.crawl = "c", .key = {}, .filter = {}});
  int slices = 0;
  int found = 0;
  for (; !scan.over(); ++slices) {
    EXPECT_TRUE(scan.Slice(256, [&found](const auto&) { return ++found > 0; }).ok());
  }
  // Each slice waits for the frontier's thread only once, and examines at most 4,096 queues.
  EXPECT_GE(slices, 100'000 / 4096);
  EXPECT_EQ(found, 1);
}

// Previously, a search for this filter took time in proportion to the product of the lengths of URL
// and filter.
TEST(FrontierScan, AFilterThatNearlyFitsEverywhereFitsOnlyWhereItFits) {
  const TempDir dir;
  SystemClock clock;
  const OwnFrontier own = OwnFrontier::Open(dir / "db", clock, StoreOptions{});
  Frontier* const frontier = own.frontier.get();
  ASSERT_NE(frontier, nullptr);
  frontier->Start([](const Status& status) { ADD_FAILURE() << status; });
  const std::string almost = "https://k.test/" + std::string(8000, 'a');
  std::vector<FrontierPut> puts;
  for (const std::string& url :
       {almost, almost + "B", "https://k.test/" + std::string(7000, 'A')}) {
    puts.push_back({.crawl = "c", .key = "k.test", .url = url, .metadata = {}});
  }
  std::promise<void> put;
  (void)frontier->Put(std::move(puts), [&put](const auto&) { put.set_value(); });
  put.get_future().wait();
  const auto found = [&](const std::string& filter, bool ignore_case) {
    FrontierScan scan(*frontier,
                      {.crawl = "c", .key = {}, .filter = filter, .ignore_case = ignore_case});
    int count = 0;
    while (!scan.over()) {
      EXPECT_TRUE(scan.Slice(256, [&count](const auto&) { return ++count > 0; }).ok());
    }
    return count;
  };
  const std::string filter = std::string(4096, 'a') + "B";
  EXPECT_EQ(found(filter, false), 1);
  EXPECT_EQ(found(filter, true), 1);
  EXPECT_EQ(found(std::string(4096, 'a'), false), 2);
  EXPECT_EQ(found(std::string(4096, 'a'), true), 3);
  EXPECT_EQ(found("", true), 3);
}

}  // namespace
}  // namespace freshet
