// Tests machines that misbehave: clocks that jump, and disks that cannot be written.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <set>

#include "tests/grpc/raw_stream.h"
#include "tests/grpc/test_server.h"
#include "tests/support/faulty_env.h"

namespace freshet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A machine whose wall clock can be set. Thread-safe but for Restart.
class JumpingClock final : public Clock {
 public:
  Instant Now() override {
    const int64_t steady = std::chrono::duration_cast<std::chrono::microseconds>(
                               std::chrono::steady_clock::now().time_since_epoch())
                               .count();
    return time_->At(1'700'000'000'000'000 + steady + ahead_, steady);
  }
  void SetAhead(Duration ahead) { ahead_ = ahead.micros(); }
  // Starts the clock again, as for a process that starts now.
  void Restart() { time_ = std::make_unique<RisingTime>(); }

 private:
  std::unique_ptr<RisingTime> time_ = std::make_unique<RisingTime>();
  std::atomic<int64_t> ahead_{0};
};

void ExpectSane(TestServer& server) {
  const v1::GetStatisticsResponse statistics = server.Statistics();
  EXPECT_EQ(statistics.pages().pages(), 40u);
  for (const double value : {statistics.pages().believed_freshness(),
                             statistics.pages().weighted_believed_freshness()}) {
    EXPECT_GE(value, 0);
    EXPECT_LE(value, 1);
  }
  EXPECT_TRUE(std::isfinite(statistics.schedule().price()));
  EXPECT_EQ(statistics.store().write_error(), "");
}

std::string ReportOf(TestServer& server, uint64_t lease) {
  v1::CrawlResult result;
  result.set_lease_id(lease);
  result.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  const std::vector<std::string> described = Described(server.Report(result));
  return described.empty() ? "applied" : described[0];
}

bool RegisterSource(TestServer& server, const std::string& name) {
  grpc::ClientContext call;
  v1::RegisterSourceRequest request;
  request.set_source(name);
  v1::RegisterSourceResponse response;
  return server.admin->RegisterSource(&call, request, &response).ok();
}

TEST(WallClock, ThatJumpsForwardEndsLeasesAndNothingElse) {
  JumpingClock clock;
  TestServer server({}, nullptr, &clock);
  server.UpsertMany(40, 40);
  const v1::NextResponse before = server.Next(5);
  ASSERT_GT(before.assignments_size(), 0);
  const auto leases = static_cast<uint64_t>(before.assignments_size());
  clock.SetAhead(Duration::Days(1));
  ASSERT_TRUE(
      Eventually([&] { return server.Statistics().schedule().expired_leases() == leases; }));
  EXPECT_EQ(server.Statistics().schedule().open_leases(), 0u);
  ExpectSane(server);
  EXPECT_EQ(ReportOf(server, before.assignments(0).lease_id()), "0 OBSERVED_ONLY");
  // Pages are handed out as usual, and results are accepted.
  const v1::NextResponse after = server.Next(5);
  ASSERT_GT(after.assignments_size(), 0);
  EXPECT_EQ(ReportOf(server, after.assignments(0).lease_id()), "applied");
  ExpectSane(server);
}

TEST(WallClock, ThatIsSetBackIsNotFollowed) {
  JumpingClock clock;
  TestServer server({}, nullptr, &clock);
  server.UpsertMany(40, 40);
  const v1::NextResponse before = server.Next(5);
  ASSERT_GT(before.assignments_size(), 0);
  clock.SetAhead(Duration::Days(-1));
  const v1::NextResponse after = server.Next(5);
  ASSERT_GT(after.assignments_size(), 0);
  for (const v1::Assignment& assignment : after.assignments()) {
    EXPECT_GE(assignment.deadline().seconds(), before.assignments(0).deadline().seconds());
  }
  EXPECT_EQ(server.Statistics().schedule().expired_leases(), 0u);
  EXPECT_EQ(ReportOf(server, before.assignments(0).lease_id()), "applied");
  EXPECT_EQ(ReportOf(server, after.assignments(0).lease_id()), "applied");
  ExpectSane(server);
}

// When a process starts, it cannot know that the stored time is wrong.
TEST(WallClock, ThatIsBehindWhatIsStoredHoldsNothingUp) {
  JumpingClock clock;
  clock.SetAhead(Duration::Days(1));
  TestServer server(
      [](ServerConfig* config) { config->politeness.min_delay = Duration::Seconds(1); }, nullptr,
      &clock);
  server.UpsertMany(40, 4);
  const v1::NextResponse before = server.Next(3);
  ASSERT_GT(before.assignments_size(), 0);
  const auto leases = static_cast<uint64_t>(before.assignments_size());
  EXPECT_TRUE(server.Stop().ok());
  clock.SetAhead(Duration());
  clock.Restart();
  server.Start();
  EXPECT_EQ(server.Statistics().schedule().open_leases(), leases);
  ExpectSane(server);
  // According to the stored time, every host was fetched just now. So all hosts are free after a
  // second.
  std::set<std::string> hosts;
  EXPECT_TRUE(Eventually(
      [&] {
        const v1::NextResponse next = server.Next(4, 100);
        for (const v1::Assignment& assignment : next.assignments()) {
          hosts.insert(server.Get(assignment.url()).page().host());
        }
        return hosts.size() == 4;
      },
      Duration::Seconds(20)));
  EXPECT_EQ(ReportOf(server, before.assignments(0).lease_id()), "applied");
  ExpectSane(server);
}

// The clock was an hour ahead while pages were crawled, failed and were leased. The server restarts
// with the right time, continues within seconds, and logs why.
TEST(WallClock, ThatRanAheadHoldsNoPageUp) {
  JumpingClock clock;
  TestServer server(
      [](ServerConfig* config) {
        config->log_level = "warn";
        config->politeness.min_page_interval = Duration::Seconds(1);
        config->politeness.max_in_flight = 1;
      },
      nullptr, &clock);
  ASSERT_TRUE(RegisterSource(server, "cms"));
  server.UpsertMany(8, 8);
  clock.SetAhead(Duration::Hours(1));
  std::set<std::string> reported;
  while (reported.size() < 7) {
    const v1::NextResponse next = server.Next(1);
    ASSERT_EQ(next.assignments_size(), 1);
    EXPECT_EQ(ReportOf(server, next.assignments(0).lease_id()), "applied");
    reported.insert(next.assignments(0).url());
  }
  const v1::NextResponse out = server.Next(8, 500);  // leases that stay open over the restart
  testing::internal::CaptureStderr();
  EXPECT_TRUE(server.Stop().ok());
  clock.SetAhead(Duration());
  clock.Restart();
  server.Start();
  v1::SignalChangesRequest signals;
  signals.add_signals()->set_url(*reported.begin());
  signals.mutable_signals(0)->set_source("cms");
  EXPECT_THAT(Described(server.Signal(signals)), testing::IsEmpty()) << "it is not stale";
  for (const v1::Assignment& assignment : out.assignments()) {
    EXPECT_EQ(ReportOf(server, assignment.lease_id()), "applied");
  }
  // The pages are handed out again, each host taking one at a time.
  std::set<std::string> again;
  EXPECT_TRUE(Eventually([&] {
    const v1::NextResponse next = server.Next(8, 100);
    for (const v1::Assignment& assignment : next.assignments()) {
      EXPECT_EQ(ReportOf(server, assignment.lease_id()), "applied");
      again.insert(assignment.url());
    }
    return std::includes(again.begin(), again.end(), reported.begin(), reported.end());
  }));
  EXPECT_TRUE(server.Stop().ok());
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("have times that are later than the clock shows, by up to 3"));
  testing::internal::CaptureStderr();
  server.Start();
  EXPECT_TRUE(server.Stop().ok());
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::Not(HasSubstr("later than the clock shows")))
      << "it is mended";
  server.Start();
}

// Two starts must fail the same way, and leave the same files.
TEST(ReadOnlyDisk, IsRefusedAtTheStart) {
  TempDir dir;
  SystemClock clock;
  ServerConfig config;
  config.data_dir = dir / "data";
  config.listen = config.http_listen = "127.0.0.1:0";
  config.log_level = "off";
  StartLogging(config.log_level);
  FaultyEnv faulty(1);
  for (int start = 0; start < 2; ++start) {
    faulty.DieAt(1);
    Server refused(config, clock, faulty.env());
    const StatusOr<ServingInfo> info = refused.Start();
    ASSERT_FALSE(info.ok());
    EXPECT_THAT(std::string(info.status().message()), HasSubstr("injected"));
    faulty.ClearFaults();
    Server server(config, clock, faulty.env());
    EXPECT_TRUE(server.Start().ok()) << "start " << start;
    EXPECT_TRUE(server.Stop().ok());
  }
}

TEST(ReadOnlyDisk, WhileServingAcknowledgesNothing) {
  FaultyEnv faulty(1);
  TestServer server(
      [](ServerConfig* config) {
        config->durability = "sync";
        config->crawl_rate = Rate();
      },
      faulty.env());
  server.UpsertMany(40, 40);
  faulty.DieAt(1);
  v1::UpsertPagesRequest more;
  more.add_pages()->set_url("http://late.test/");
  EXPECT_THAT(Described(server.Upsert(more)), ElementsAre(HasSubstr("UNAVAILABLE")));
  EXPECT_EQ(HealthOf(server), 2);
  EXPECT_EQ(server.Get(TestServer::Url(3, 40)).page().url(), TestServer::Url(3, 40));
  EXPECT_FALSE(server.Stop().ok());
  faulty.Crash();
  server.Start();
  EXPECT_EQ(server.info.pages, 40u);
}

}  // namespace
}  // namespace freshet
