// Tests that the crawl rate is constant, as workers see it. On a busy machine, assignments can
// arrive some hundredths of a second late, so the tests use long windows and generous bounds. They
// would still detect a burst after a pause, a missing limit or a second source of ticks.
#include <algorithm>
#include <deque>

#include "tests/grpc/test_server.h"
#include "tests/grpc/test_worker.h"

namespace freshet {
namespace {

constexpr double kJitterSeconds = 0.15;

// Reads assignments for the time `span` and returns their arrival times. Returns each page at once,
// so that the server always has pages.
std::vector<Instant> Arrivals(TestServer& server, TestWorker& worker, Duration span) {
  std::vector<Instant> arrivals;
  const Instant end = server.clock.Now() + span;
  while (server.clock.Now() < end) {
    const size_t before = arrivals.size();
    const std::vector<v1::Assignment> some = worker.ReadAssignments(1);
    v1::CrawlRequest returns;
    for (const v1::Assignment& assignment : some) {
      arrivals.push_back(server.clock.Now());
      returns.mutable_returned_leases()->add_lease_ids(assignment.lease_id());
    }
    if (arrivals.size() == before) break;
    worker.Write(returns);
    worker.Grant(static_cast<uint32_t>(some.size()));
  }
  return arrivals;
}

// Returns the maximum number of arrivals within any window of this length.
size_t MostWithin(const std::vector<Instant>& arrivals, Duration window) {
  size_t most = 0;
  size_t first = 0;
  for (size_t last = 0; last < arrivals.size(); ++last) {
    while (arrivals[last] - arrivals[first] >= window) ++first;
    most = std::max(most, last - first + 1);
  }
  return most;
}

class ConstantRate : public testing::TestWithParam<double> {};

TEST_P(ConstantRate, NeverMoreAndHardlyLess) {
  const double rate = GetParam();
  TestServer server([&](ServerConfig* config) { config->crawl_rate = Rate::PerSecond(rate); });
  server.UpsertMany(2000, 200);
  TestWorker worker(server);
  worker.Grant(1000);
  (void)worker.ReadAssignments(1);
  const auto unused = [&server] {
    const v1::ScheduleStatistics schedule = server.Statistics().schedule();
    return static_cast<double>(schedule.ticks_without_credit() + schedule.ticks_without_page() +
                               schedule.ticks_late());
  };
  const double unused_before = unused();
  const std::vector<Instant> arrivals = Arrivals(server, worker, Duration::Millis(2000));
  ASSERT_GT(arrivals.size(), 2u);
  const double span = (arrivals.back() - arrivals.front()).seconds();
  const auto count = static_cast<double>(arrivals.size());
  EXPECT_LE(count, rate * (span + kJitterSeconds) + 2);
  // A busy machine misses some ticks, and the server counts them as unused.
  EXPECT_GE(count + unused() - unused_before, 0.7 * rate * span - 2);
  for (const double window : {0.1, 0.5}) {
    EXPECT_LE(static_cast<double>(MostWithin(arrivals, Duration::FromSeconds(window))),
              rate * (window + kJitterSeconds) + 2)
        << "window " << window;
  }
  worker.Cancel();
}

INSTANTIATE_TEST_SUITE_P(Rates, ConstantRate, testing::Values(5.0, 100.0, 1000.0));

TEST(ConstantRate, DoesNotCatchUp) {
  TestServer server([](ServerConfig* config) { config->crawl_rate = Rate::PerSecond(100); });
  server.UpsertMany(500, 50);
  TestWorker worker(server);
  // For a second, there is no credit, so ticks are unused.
  ASSERT_TRUE(
      Eventually([&] { return server.Statistics().schedule().ticks_without_credit() >= 100; }));
  const Instant start = server.clock.Now();
  worker.Grant(60);
  EXPECT_EQ(worker.ReadAssignments(60).size(), 60u);
  const double took = (server.clock.Now() - start).seconds();
  EXPECT_GT(took, 0.59 - 0.02);
  worker.Cancel();
}

TEST(ConstantRate, FollowsAChangeAtOnce) {
  TestServer server([](ServerConfig* config) { config->crawl_rate = Rate::PerSecond(1); });
  server.UpsertMany(500, 50);
  TestWorker worker(server);
  worker.Grant(500);
  (void)worker.ReadAssignments(1);
  v1::SetCrawlRateRequest request;
  request.set_crawl_rate_per_second(400);
  v1::SetCrawlRateResponse response;
  grpc::ClientContext call;
  const Instant start = server.clock.Now();
  ASSERT_TRUE(server.admin->SetCrawlRate(&call, request, &response).ok());
  EXPECT_EQ(worker.ReadAssignments(100).size(), 100u);
  EXPECT_LT((server.clock.Now() - start).seconds(), 2);
  request.set_crawl_rate_per_second(0);
  grpc::ClientContext stop;
  ASSERT_TRUE(server.admin->SetCrawlRate(&stop, request, &response).ok());
  const uint64_t then = server.Statistics().schedule().assignments();
  ASSERT_TRUE(Eventually([&] { return (server.clock.Now() - start).seconds() > 1; }));
  EXPECT_EQ(server.Statistics().schedule().assignments(), then);
  worker.Cancel();
}

}  // namespace
}  // namespace freshet
