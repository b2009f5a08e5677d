// Tests a server with the default politeness, as hosts see it.
#include <map>
#include <string>
#include <vector>

#include "server/api/from_proto.h"
#include "tests/grpc/test_server.h"
#include "tests/support/ahead_of_clock.h"

namespace freshet {
namespace {

using testing::HasSubstr;
using Admin = v1::AdminService::Stub;

void Shipped(ServerConfig* config) {
  config->politeness = ServerConfig().politeness;
  config->host_backoff = ServerConfig().host_backoff;
}

template <typename Request, typename Response>
Response Call(Admin& admin,
              grpc::Status (Admin::*method)(grpc::ClientContext*, const Request&, Response*),
              const Request& request) {
  Response response;
  grpc::ClientContext call;
  const grpc::Status status = (admin.*method)(&call, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

Instant TimeOf(const google::protobuf::Timestamp& time) { return *FromProto(time); }

class PolitenessTest : public testing::Test {
 protected:
  explicit PolitenessTest(int shards = 1)
      : server_(
            [shards](ServerConfig* config) {
              Shipped(config);
              config->shards = shards;
            },
            nullptr, &clock_) {}

  void Add(const std::string& url) {
    v1::UpsertPagesRequest request;
    request.add_pages()->set_url(url);
    EXPECT_EQ(server_.Upsert(request).statuses_size(), 0);
  }
  // Returns the page that is handed out within `patience` of real time, if any.
  std::optional<v1::Assignment> Next(Duration patience) {
    const v1::NextResponse next = server_.Next(1, static_cast<int>(patience.micros() / 1000));
    if (next.assignments_size() == 0) return std::nullopt;
    return next.assignments(0);
  }
  v1::CrawlResult Result(const v1::Assignment& assignment) {
    v1::CrawlResult result;
    result.set_lease_id(assignment.lease_id());
    result.set_outcome(v1::CRAWL_OUTCOME_UNCHANGED);
    ToProto(clock_.Now(), result.mutable_fetch_time());
    return result;
  }
  void Report(const v1::CrawlResult& result) {
    const v1::BatchAck ack = server_.Report(result);
    EXPECT_EQ(ack.statuses_size(), 0) << ack.DebugString();
  }
  v1::HostState Host(const std::string& host) {
    v1::GetHostRequest request;
    request.set_host(host);
    return Call(*server_.admin, &Admin::GetHost, request).host_state();
  }
  std::string Why(const std::string& url) { return server_.Get(url).explanation().why(); }

  AheadOfClock clock_;
  TestServer server_;
};

// There are two pages that never change, and a worker that asks as fast as it can.
TEST_F(PolitenessTest, AHostIsFetchedOnceASecondAndAPageOnceAMinute) {
  Add("http://a.test/1");
  Add("http://a.test/2");
  std::map<std::string, std::vector<Instant>> starts;
  std::map<std::string, Instant> fetched;
  std::vector<Instant> all;
  const Instant end = clock_.Now() + Duration::Seconds(125);
  while (clock_.Now() < end) {
    if (const auto assignment = Next(Duration())) {
      const std::string& url = assignment->url();
      const Instant start = TimeOf(server_.Get(url).page().lease().start_time());
      if (fetched.contains(url)) {
        EXPECT_GE(start - fetched[url], Duration::Seconds(60)) << url;
      }
      starts[url].push_back(start);
      all.push_back(start);
      const v1::CrawlResult result = Result(*assignment);
      fetched[url] = TimeOf(result.fetch_time());
      Report(result);
    }
    clock_.Advance(Duration::Millis(400));
  }
  ASSERT_EQ(starts.size(), 2u);
  for (const auto& [url, times] : starts) EXPECT_GE(times.size(), 2u) << url;
  EXPECT_LE(all.size(), 6u);
  for (size_t i = 1; i < all.size(); ++i) EXPECT_GE(all[i] - all[i - 1], Duration::Seconds(1));
}

TEST_F(PolitenessTest, ExplanationsNameWhatAPageWaitsFor) {
  Add("http://a.test/1");
  Add("http://a.test/2");
  const auto first = Next(Duration::Seconds(30));
  ASSERT_TRUE(first);
  const std::string other =
      first->url() == "http://a.test/1" ? "http://a.test/2" : "http://a.test/1";
  EXPECT_THAT(Why(other), HasSubstr("1 page in flight, which is its limit"));
  EXPECT_EQ(server_.Get(other).explanation().decision(), v1::DECISION_HOST_BUSY);
  Report(Result(*first));
  clock_.Advance(Duration::Seconds(30));
  EXPECT_THAT(Why(first->url()), HasSubstr("between two crawls of any page"));
  EXPECT_EQ(server_.Get(first->url()).explanation().decision(), v1::DECISION_TOO_EARLY);
}

TEST_F(PolitenessTest, AHostThatThrottlesIsLeftAloneAcrossRestarts) {
  Add("http://a.test/1");
  const auto assignment = Next(Duration::Seconds(30));
  ASSERT_TRUE(assignment);
  // The result has no outcome, because the HTTP status is enough.
  v1::CrawlResult result = Result(*assignment);
  result.clear_outcome();
  result.set_http_status(503);
  Report(result);
  const v1::HostState before = Host("a.test");
  EXPECT_EQ(before.throttled_answers(), 1u);
  const Duration pause = TimeOf(before.blocked_until()) - TimeOf(before.last_throttled_time());
  EXPECT_GE(pause, Duration::Seconds(30));
  EXPECT_LE(pause, Duration::Millis(37'500));
  EXPECT_EQ(server_.Statistics().ingest().results_throttled(), 1u);
  EXPECT_EQ(server_.Statistics().ingest().results_error(), 1u);
  for (const int shards : {1, 3}) {
    server_.config.shards = shards;
    server_.Restart();
    EXPECT_EQ(Host("a.test").DebugString(), before.DebugString());
    EXPECT_THAT(Why("http://a.test/1"),
                HasSubstr("fetched too often or cannot answer now (HTTP 429 or 503, 1"));
  }
  // After a quiet time the host's count of throttled answers is 0 again.
  clock_.Advance(Duration::Seconds(1200));
  EXPECT_EQ(Host("a.test").throttled_answers(), 0u);
}

TEST_F(PolitenessTest, RetryAfterIsHeededWithEveryOutcome) {
  for (const char* host : {"a.test", "b.test"}) {
    Add("http://" + std::string(host) + "/1");
    const auto assignment = Next(Duration::Seconds(30));
    ASSERT_TRUE(assignment);
    v1::CrawlResult result = Result(*assignment);
    result.mutable_retry_after()->set_seconds(1000);
    Report(result);
    const v1::HostState state = Host(host);
    EXPECT_GE(TimeOf(state.blocked_until()), TimeOf(result.fetch_time()) + Duration::Seconds(1000));
    EXPECT_EQ(state.throttled_answers(), 0u);
    EXPECT_THAT(Why(assignment->url()), HasSubstr("blocked by Retry-After or by an operator"));
    v1::RecheckPagesRequest recheck;
    recheck.add_urls(assignment->url());
    v1::RecheckPagesResponse unused;
    grpc::ClientContext call;
    EXPECT_TRUE(server_.pages->RecheckPages(&call, recheck, &unused).ok());
  }
  clock_.Advance(Duration::Seconds(900));
  EXPECT_FALSE(Next(Duration::Millis(100)));
}

TEST_F(PolitenessTest, DefaultsChangeAtRunTimeAndOutliveARestart) {
  for (int i = 0; i < 5; ++i) Add("http://a.test/" + std::to_string(i));
  ASSERT_TRUE(Next(Duration::Seconds(30)));
  EXPECT_FALSE(Next(Duration::Millis(50))) << "one is in flight";

  v1::SetPolitenessDefaultsRequest set;
  set.mutable_min_delay();
  set.set_max_in_flight(3);
  set.mutable_min_page_interval()->set_seconds(5);
  const v1::PolitenessDefaults now =
      Call(*server_.admin, &Admin::SetPolitenessDefaults, set).defaults();
  EXPECT_EQ(now.min_delay().seconds(), 0);
  EXPECT_EQ(now.max_in_flight(), 3u);
  EXPECT_EQ(now.min_page_interval().seconds(), 5);
  // The waiting host is checked again, with its new settings.
  std::vector<v1::Assignment> out;
  for (int i = 0; i < 2; ++i) {
    const auto next = Next(Duration::Seconds(30));
    ASSERT_TRUE(next);
    out.push_back(*next);
  }
  EXPECT_FALSE(Next(Duration::Millis(50)));
  EXPECT_EQ(Host("a.test").max_in_flight(), 3u);
  EXPECT_FALSE(Host("a.test").customised());

  for (const int shards : {3, 1}) {
    server_.config.shards = shards;
    server_.Restart();
    const auto stored = Call(*server_.admin, &Admin::GetPolitenessDefaults, {});
    EXPECT_EQ(stored.defaults().DebugString(), now.DebugString());
    EXPECT_EQ(stored.configured().min_page_interval().seconds(), 60);
    EXPECT_EQ(Host("a.test").min_page_interval().seconds(), 5);
  }
  set.Clear();
  set.set_reset(true);
  set.set_max_in_flight(7);
  const auto reset = Call(*server_.admin, &Admin::SetPolitenessDefaults, set).defaults();
  EXPECT_EQ(reset.min_delay().seconds(), 1);
  EXPECT_EQ(reset.max_in_flight(), 7u);
  EXPECT_EQ(reset.min_page_interval().seconds(), 60);

  set.mutable_min_delay()->set_seconds(-1);
  v1::SetPolitenessDefaultsResponse refused;
  grpc::ClientContext call;
  const grpc::Status status = server_.admin->SetPolitenessDefaults(&call, set, &refused);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("min_delay: is negative"));
}

// A new interval also applies to pages that already wait for the old one.
TEST_F(PolitenessTest, PagesFollowANewInterval) {
  Add("http://a.test/1");
  Add("http://b.test/1");
  for (int i = 0; i < 2; ++i) {
    const auto next = Next(Duration::Seconds(30));
    ASSERT_TRUE(next);
    Report(Result(*next));
  }
  clock_.Advance(Duration::Seconds(10));
  EXPECT_FALSE(Next(Duration::Millis(50)));
  v1::SetHostPolitenessRequest host;
  host.set_host("a.test");
  host.mutable_min_page_interval()->set_seconds(5);
  const v1::HostState state = Call(*server_.admin, &Admin::SetHostPoliteness, host).host_state();
  EXPECT_EQ(state.min_page_interval().seconds(), 5);
  EXPECT_TRUE(state.customised());
  const auto a = Next(Duration::Seconds(30));
  ASSERT_TRUE(a);
  EXPECT_EQ(a->url(), "http://a.test/1");
  EXPECT_FALSE(Next(Duration::Millis(50)));
  v1::SetPolitenessDefaultsRequest set;
  set.mutable_min_page_interval()->set_seconds(8);
  Call(*server_.admin, &Admin::SetPolitenessDefaults, set);
  const auto b = Next(Duration::Seconds(30));
  ASSERT_TRUE(b);
  EXPECT_EQ(b->url(), "http://b.test/1");
}

// Many hosts together reach the rate, although each gives only one page a second.
TEST_F(PolitenessTest, ManyHostsKeepTheRate) {
  for (const int shards : {1, 3}) {
    server_.config.shards = shards;
    server_.config.crawl_rate = Rate::PerSecond(100);
    server_.Restart();
    server_.UpsertMany(2000, 500);
    const v1::ScheduleStatistics before = server_.Statistics().schedule();
    size_t got = 0;
    while (got < 100) {
      const v1::NextResponse next = server_.Next(50);
      for (const v1::Assignment& assignment : next.assignments()) Report(Result(assignment));
      got += static_cast<size_t>(next.assignments_size());
      ASSERT_GT(next.assignments_size(), 0);
    }
    const v1::ScheduleStatistics after = server_.Statistics().schedule();
    EXPECT_EQ(after.ticks_without_page(), before.ticks_without_page()) << shards;
  }
}

TEST_F(PolitenessTest, AnUnregisteredSourceIsRefusedUntilItIsRegisteredAgain) {
  Add("http://a.test/1");
  v1::SignalChangesRequest signals;
  signals.add_signals()->set_url("http://a.test/1");
  signals.mutable_signals(0)->set_source("cdn");
  EXPECT_EQ(server_.Signal(signals).statuses_size(), 0);

  v1::UnregisterSourceRequest remove;
  remove.set_source("cdn");
  EXPECT_EQ(Call(*server_.admin, &Admin::UnregisterSource, remove).source().signals(), 1u);
  const auto expect_refused = [&] {
    const v1::BatchAck ack = server_.Signal(signals);
    ASSERT_EQ(ack.statuses_size(), 1);
    EXPECT_EQ(ack.statuses(0).error().code(), v1::ERROR_CODE_UNKNOWN_SOURCE);
    const auto listed = Call(*server_.admin, &Admin::ListSources, v1::ListSourcesRequest());
    for (const v1::Source& source : listed.sources()) EXPECT_NE(source.source(), "cdn");
    v1::GetTrustReportRequest trust;
    const auto report = Call(*server_.admin, &Admin::GetTrustReport, trust);
    for (const v1::SourceTrust& source : report.sources()) EXPECT_NE(source.source(), "cdn");
    trust.set_source("cdn");
    v1::GetTrustReportResponse unused;
    grpc::ClientContext call;
    EXPECT_EQ(server_.admin->GetTrustReport(&call, trust, &unused).error_code(),
              grpc::StatusCode::NOT_FOUND);
    v1::UnregisterSourceResponse again;
    grpc::ClientContext twice;
    EXPECT_EQ(server_.admin->UnregisterSource(&twice, remove, &again).error_code(),
              grpc::StatusCode::NOT_FOUND);
    // Signals of the removed source stay.
    const v1::Page page = server_.Get("http://a.test/1").page();
    ASSERT_EQ(page.pending_signals_size(), 1);
    EXPECT_EQ(page.pending_signals(0).source(), "cdn");
  };
  expect_refused();
  // The configuration still names the source, but this has an effect only on new databases.
  for (const int shards : {3, 1}) {
    server_.config.shards = shards;
    server_.Restart();
    expect_refused();
  }
  // Other sources fill all free places, but not the place of the removed one.
  v1::RegisterSourceRequest add;
  v1::RegisterSourceResponse unused;
  grpc::StatusCode code = grpc::StatusCode::OK;
  for (int i = 0; i < limits::kMaxSources && code == grpc::StatusCode::OK; ++i) {
    add.set_source("source" + std::to_string(i));
    grpc::ClientContext call;
    code = server_.admin->RegisterSource(&call, add, &unused).error_code();
  }
  EXPECT_EQ(code, grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(server_.Get("http://a.test/1").page().pending_signals(0).source(), "cdn");
  add.set_source("cdn");
  EXPECT_TRUE(Call(*server_.admin, &Admin::RegisterSource, add).created());
  EXPECT_EQ(server_.Signal(signals).statuses_size(), 0);
  const v1::Page page = server_.Get("http://a.test/1").page();
  ASSERT_EQ(page.pending_signals_size(), 1);
  EXPECT_EQ(page.pending_signals(0).signals(), 2u);
}

}  // namespace
}  // namespace freshet
