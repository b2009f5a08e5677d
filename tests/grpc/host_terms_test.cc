// Tests caps, hours, rules, and reports of workers on hosts, as clients of a whole server see them.
#include <string>
#include <vector>

#include "server/api/from_proto.h"
#include "tests/grpc/test_server.h"
#include "tests/support/ahead_of_clock.h"

namespace freshet {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr char kTermRules[] = R"(
politeness:
  by_address: { max_in_flight: 2 }
  max_crawl_delay: 60s
  rules:
    - { name: capped, suffix: capped.test, max_crawls: 3/1d }
    - { name: pair, hosts: [x.test, y.test], group: { min_delay: 1s } }
robots: { backoff: 1h, max_backoff: 4h }
)";

class HostTermsServerTest : public testing::Test {
 protected:
  HostTermsServerTest()
      : server_(
            [](ServerConfig* config) {
              ASSERT_TRUE(ApplyYaml(kTermRules, config).ok());
              config->durability = "wal";
            },
            nullptr, &clock_) {}

  void Add(const std::string& url) {
    v1::UpsertPagesRequest request;
    request.add_pages()->set_url(url);
    EXPECT_EQ(server_.Upsert(request).statuses_size(), 0);
  }
  std::optional<v1::Assignment> Next(int patience_ms) {
    const v1::NextResponse next = server_.Next(1, patience_ms);
    if (next.assignments_size() == 0) return std::nullopt;
    return next.assignments(0);
  }
  v1::CrawlResult Result(const v1::Assignment& assignment,
                         v1::CrawlOutcome outcome = v1::CRAWL_OUTCOME_UNCHANGED) {
    v1::CrawlResult result;
    result.set_lease_id(assignment.lease_id());
    result.set_outcome(outcome);
    ToProto(clock_.Now(), result.mutable_fetch_time());
    return result;
  }
  v1::HostState Host(const std::string& host) {
    v1::GetHostRequest request;
    request.set_host(host);
    v1::GetHostResponse response;
    grpc::ClientContext call;
    const grpc::Status status = server_.admin->GetHost(&call, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.host_state();
  }
  grpc::Status Set(const v1::SetHostPolitenessRequest& request, v1::HostState* state = nullptr) {
    v1::SetHostPolitenessResponse response;
    grpc::ClientContext call;
    const grpc::Status status = server_.admin->SetHostPoliteness(&call, request, &response);
    if (state != nullptr) *state = response.host_state();
    return status;
  }

  AheadOfClock clock_;
  TestServer server_;
};

// The cap of a rule holds over restarts, even with another number of shards.
TEST_F(HostTermsServerTest, ACapOutlivesRestarts) {
  for (int i = 0; i < 9; ++i) Add("http://a.capped.test/" + std::to_string(i));
  for (int i = 0; i < 3; ++i) {
    const auto next = Next(30'000);
    ASSERT_TRUE(next);
    if (i != 1) {
      EXPECT_EQ(server_.Report(Result(*next)).statuses_size(), 0);
    }
    server_.config.shards = 1 + i;
    server_.Restart();
  }
  EXPECT_FALSE(Next(100));
  const v1::HostState host = Host("a.capped.test");
  EXPECT_EQ(host.rule(), "capped");
  EXPECT_EQ(host.max_crawls().count(), 3U);
  EXPECT_EQ(host.max_crawls().per().seconds(), 86400);
  EXPECT_EQ(host.max_crawls_origin(), v1::TERM_ORIGIN_RULE);
  EXPECT_EQ(host.crawls_counted(), 3U);
  EXPECT_TRUE(host.has_next_allowed_time());
  EXPECT_FALSE(host.customised());
  EXPECT_THAT(server_.Get("http://a.capped.test/1").explanation().host_state().rule(), "capped");
  clock_.Advance(Duration::Days(1));
  EXPECT_TRUE(Next(30'000));
}

TEST_F(HostTermsServerTest, TermsAreSetForAHost) {
  Add("http://a.test/1");
  const Instant now = clock_.Now();
  const int64_t minute = now.micros() / 60'000'000 % 1440;
  const DayHours later = {.from = static_cast<uint16_t>((minute + 120) % 1440),
                          .until = static_cast<uint16_t>((minute + 240) % 1440 + 1),
                          .offset = 0};
  v1::SetHostPolitenessRequest set;
  set.set_host("a.test");
  set.set_hours(DayHoursText(later));
  set.mutable_max_crawls()->set_count(7);
  set.mutable_max_crawls()->mutable_per()->set_seconds(60);
  v1::HostState state;
  ASSERT_TRUE(Set(set, &state).ok());
  EXPECT_EQ(state.hours(), DayHoursText(later));
  EXPECT_EQ(state.hours_origin(), v1::TERM_ORIGIN_HOST);
  EXPECT_EQ(state.max_crawls().count(), 7U);
  EXPECT_EQ(state.min_delay_origin(), v1::TERM_ORIGIN_DEFAULT);
  EXPECT_TRUE(state.customised());
  EXPECT_TRUE(state.has_next_allowed_time());
  EXPECT_FALSE(Next(100));
  EXPECT_THAT(server_.Get("http://a.test/1").explanation().why(),
              HasSubstr("its host may be crawled only in the hours"));
  server_.Restart();
  EXPECT_EQ(Host("a.test").DebugString(), state.DebugString());
  clock_.Advance(Duration::Seconds(121 * 60));
  EXPECT_TRUE(Next(30'000));

  for (const char* hours : {"22-6", "", "06:00-06:00", "nonsense"}) {
    set.set_hours(hours);
    const grpc::Status refused = Set(set);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << hours;
    EXPECT_THAT(refused.error_message(), HasSubstr("hours: ")) << hours;
  }
  set.clear_hours();
  set.mutable_max_crawls()->clear_per();
  EXPECT_THAT(Set(set).error_message(), HasSubstr("max_crawls: per is not set"));
  set.mutable_max_crawls()->set_count(4'000'000'000);
  EXPECT_THAT(Set(set).error_message(), HasSubstr("max_crawls: "));
  set.Clear();
  set.set_host("a.test");
  set.set_reset(true);
  ASSERT_TRUE(Set(set, &state).ok());
  EXPECT_FALSE(state.customised());
  EXPECT_EQ(state.hours(), "00:00-24:00");
}

TEST_F(HostTermsServerTest, WorkersReportDelayAndAddress) {
  for (const char* host : {"a.test", "b.test", "x.test"}) {
    Add("http://" + std::string(host) + "/1");
    const auto next = Next(30'000);
    ASSERT_TRUE(next);
    v1::CrawlResult result = Result(*next);
    result.mutable_crawl_delay()->set_seconds(1000);
    result.set_server_address("[2001:DB8:0:0:0::1]");
    EXPECT_EQ(server_.Report(result).statuses_size(), 0);
  }
  for (const int shards : {1, 3}) {
    server_.config.shards = shards;
    server_.Restart();
    const v1::HostState a = Host("a.test");
    EXPECT_EQ(a.crawl_delay().seconds(), 1000);
    EXPECT_EQ(a.min_delay().seconds(), 60) << "no more than configured";
    EXPECT_EQ(a.min_delay_origin(), v1::TERM_ORIGIN_REPORTED);
    EXPECT_EQ(a.server_address(), "2001:db8::1");
    EXPECT_EQ(a.group().name(), "address 2001:db8::1");
    EXPECT_EQ(a.group().max_in_flight(), 2U);
    EXPECT_EQ(Host("b.test").group().name(), a.group().name());
    EXPECT_EQ(Host("x.test").group().name(), "pair") << "its rule goes before";
  }
  clock_.Advance(Duration::Days(1));
  Add("http://a.test/2");
  v1::CrawlResult result;
  result.set_url("http://a.test/2");
  result.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  result.mutable_crawl_delay();
  EXPECT_EQ(server_.Report(result).statuses_size(), 0);
  EXPECT_FALSE(Host("a.test").has_crawl_delay());
  EXPECT_EQ(Host("a.test").min_delay_origin(), v1::TERM_ORIGIN_DEFAULT);
}

// Absurd header values of a site change nothing and do not spoil the result.
TEST_F(HostTermsServerTest, AbsurdReportsAreCutOrLeftOut) {
  Add("http://a.test/1");
  v1::CrawlResult result;
  result.set_url("http://a.test/1");
  result.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  const auto notes = [&](int64_t seconds, int32_t nanos, const std::string& address) {
    clock_.Advance(Duration::Seconds(1));
    result.mutable_crawl_delay()->set_seconds(seconds);
    result.mutable_crawl_delay()->set_nanos(nanos);
    result.set_server_address(address);
    const v1::BatchAck ack = server_.Report(result);
    std::vector<std::string> all;
    for (const v1::ItemStatus& status : ack.statuses()) {
      EXPECT_EQ(status.outcome(), v1::ITEM_OUTCOME_APPLIED) << status.DebugString();
      all.insert(all.end(), status.notes().begin(), status.notes().end());
    }
    return all;
  };
  EXPECT_THAT(notes(-1, 0, "192.0.2.1"),
              UnorderedElementsAre(HasSubstr("crawl_delay: is negative; left out")));
  EXPECT_FALSE(Host("a.test").has_crawl_delay());
  EXPECT_EQ(Host("a.test").server_address(), "192.0.2.1");
  EXPECT_THAT(notes(INT64_MAX, 0, ""), UnorderedElementsAre(HasSubstr("left out")));
  EXPECT_THAT(notes(5, -1, ""), UnorderedElementsAre(HasSubstr("left out")));
  EXPECT_THAT(notes(100'000'000'000, 0, ""), UnorderedElementsAre(HasSubstr("which counts")));
  EXPECT_EQ(Host("a.test").crawl_delay().seconds(), 366 * 86400);
  EXPECT_EQ(Host("a.test").min_delay().seconds(), 60);
  for (const std::string& address :
       {std::string("localhost"), std::string("0.0.0.0"), std::string("::"), std::string("1.2.3"),
        std::string("fe80::1%eth0"), std::string(100'000, '1'), std::string("192.0.2.1\0", 10)}) {
    EXPECT_THAT(notes(0, 0, address),
                UnorderedElementsAre("server_address: is not an IP address; left out"));
  }
  EXPECT_EQ(Host("a.test").server_address(), "192.0.2.1");
}

TEST_F(HostTermsServerTest, AForbiddenPageIsCountedOnItsOwn) {
  v1::SetCrawlRequest crawl;
  crawl.set_crawl_id("DEFAULT");
  crawl.set_max_pages(1000);
  v1::SetCrawlResponse unused;
  grpc::ClientContext set;
  ASSERT_TRUE(server_.admin->SetCrawl(&set, crawl, &unused).ok());
  Add("http://a.test/1");
  const auto next = Next(30'000);
  ASSERT_TRUE(next);
  EXPECT_EQ(server_.Report(Result(*next, v1::CRAWL_OUTCOME_ROBOTS_DENIED)).statuses_size(), 0);
  for (int round = 0; round < 2; ++round) {
    const v1::GetPageResponse page = server_.Get("http://a.test/1");
    EXPECT_EQ(page.page().last_outcome(), v1::CRAWL_OUTCOME_ROBOTS_DENIED);
    EXPECT_EQ(page.page().crawls(), 0U);
    EXPECT_EQ(page.page().consecutive_errors(), 0U);
    EXPECT_EQ(page.explanation().decision(), v1::DECISION_TOO_EARLY);
    EXPECT_THAT(page.explanation().why(), HasSubstr("the robots.txt of its host forbids the page"));
    if (round > 0) break;
    const v1::IngestStatistics ingest = server_.Statistics().ingest();
    EXPECT_EQ(ingest.results_robots_denied(), 1U);
    EXPECT_EQ(ingest.results_error() + ingest.results_gone(), 0U);
    v1::ListCrawlsRequest list;
    v1::ListCrawlsResponse crawls;
    grpc::ClientContext call;
    ASSERT_TRUE(server_.admin->ListCrawls(&call, list, &crawls).ok());
    ASSERT_EQ(crawls.crawls_size(), 1);
    EXPECT_EQ(crawls.crawls(0).robots_denied(), 1U);
    server_.Restart();
  }
  EXPECT_FALSE(Next(100));
  clock_.Advance(Duration::Hours(1));
  EXPECT_TRUE(Next(30'000));
}

}  // namespace
}  // namespace freshet
