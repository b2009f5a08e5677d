// Servers of a cluster: one serves, the next one stands by and has all that was acknowledged. The
// brokers are librdkafka's own for tests, which do not fence: tests/fleet has real ones.
#include <future>
#include <map>
#include <set>
#include <thread>

#include "httplib.h"
#include "tests/grpc/test_server.h"
#include "tests/storage/kafka/mock_kafka.h"

namespace freshet {
namespace {

using testing::HasSubstr;
using testing::Not;

class ClusterTest : public testing::Test {
 protected:
  TestServer::Tweak InCluster(int divisions = 1, int division = 0) {
    return [=, this](ServerConfig* config) {
      config->cluster = {.name = kafka_.options().cluster,
                         .brokers = kafka_.options().brokers,
                         .address = "127.0.0.1:0",
                         .divisions = divisions,
                         .division = division,
                         .properties = kafka_.options().properties};
      config->shards = static_cast<int>(kafka_.options().partitions);
      config->frontier_enabled = false;
      config->max_lateness = Duration::Millis(500);
    };
  }
  static std::string Probe(const std::string& address, const std::string& path) {
    httplib::Client client("http://" + address);
    const httplib::Result result = client.Get(path);
    return result ? std::to_string(result->status) + " " + result->body : "";
  }
  // All of these pages are leased, so long as they have never been crawled.
  static std::set<std::string> Lease(TestServer& server, size_t count) {
    std::set<std::string> urls;
    while (urls.size() < count) {
      const v1::NextResponse response = server.Next(static_cast<uint32_t>(count - urls.size()));
      if (response.assignments().empty()) break;
      for (const v1::Assignment& assignment : response.assignments()) {
        EXPECT_TRUE(urls.insert(assignment.url()).second) << assignment.url();
      }
    }
    return urls;
  }

  MockKafka kafka_;
};

TEST_F(ClusterTest, AStandbyTakesOverPagesLeasesAndSettings) {
  auto first = std::make_unique<TestServer>(InCluster());
  first->UpsertMany(300);
  const std::set<std::string> leased = Lease(*first, 20);
  ASSERT_EQ(leased.size(), 20U);
  v1::SetCrawlRateRequest faster;
  faster.set_crawl_rate_per_second(123);
  v1::SetCrawlRateResponse response;
  grpc::ClientContext call;
  ASSERT_TRUE(first->admin->SetCrawlRate(&call, faster, &response).ok());
  EXPECT_THAT(Probe(first->info.http_address, "/metrics"),
              HasSubstr(R"(freshet_cluster_turn{cluster="mock"} 1)"));
  EXPECT_THAT(Probe(first->info.http_address, "/status.json"), HasSubstr(R"("turn":true)"));

  TempDir dir;
  ServerConfig config = first->config;
  config.data_dir = dir / "standby";
  SystemClock clock;
  Server standby(config, clock);
  auto started = std::async(std::launch::async, [&] { return standby.Start(); });
  ASSERT_TRUE(Eventually([&] {
    const std::string address = standby.http_address();
    return !address.empty() &&
           Probe(address, "/readyz").find("another server of the cluster serves") !=
               std::string::npos;
  }));
  EXPECT_THAT(Probe(standby.http_address(), "/healthz"), HasSubstr("200"));
  EXPECT_EQ(Probe(standby.http_address(), "/readyz?standby=true"), "200 ok\n");
  const std::string metrics = Probe(standby.http_address(), "/metrics");
  EXPECT_THAT(metrics, HasSubstr(R"(freshet_cluster_turn{cluster="mock"} 0)"));
  EXPECT_THAT(metrics, HasSubstr("freshet_recovery_stage_info{stage=\"standing_by\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr(R"(freshet_cluster_at_end_timestamp_seconds{cluster="mock"} 1)"));
  EXPECT_THAT(metrics, Not(HasSubstr(R"(freshet_cluster_rows_total{cluster="mock",op="read"} 0)")));
  EXPECT_THAT(Probe(first->info.http_address, "/readyz"), HasSubstr("200"));
  EXPECT_THAT(Probe(first->info.http_address, "/readyz?standby=true"), HasSubstr("200"));

  // Who reaches the standby is served all the same.
  ASSERT_FALSE(standby.forwarding_address().empty());
  first->Use(OwnChannel(standby.forwarding_address()));
  EXPECT_EQ(first->Statistics().pages().pages(), 300U);
  EXPECT_TRUE(first->Get(*leased.begin()).page().has_lease());
  EXPECT_THAT(Probe(standby.http_address(), "/metrics"),
              HasSubstr(R"(freshet_cluster_calls_total{cluster="mock",outcome="forwarded"} 2)"));

  EXPECT_TRUE(first->Stop().ok());
  const StatusOr<ServingInfo> info = started.get();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->pages, 300U);
  first->Use(OwnChannel(info->grpc_address));
  v1::GetCrawlRateResponse rate;
  grpc::ClientContext again;
  ASSERT_TRUE(first->admin->GetCrawlRate(&again, {}, &rate).ok());
  EXPECT_DOUBLE_EQ(rate.crawl_rate_per_second(), 123);
  for (const std::string& url : leased) EXPECT_TRUE(first->Get(url).page().has_lease()) << url;
  for (const std::string& url : Lease(*first, 20)) EXPECT_FALSE(leased.contains(url)) << url;
  EXPECT_TRUE(standby.Stop().ok());
}

TEST_F(ClusterTest, ServersOfDivisionsSharePagesOutByTheirHosts) {
  constexpr int kPages = 300;
  constexpr int kHosts = 100;
  kafka_.MakeTopics("mock-0-of-2");
  kafka_.MakeTopics("mock-1-of-2");
  TestServer first(InCluster(/*divisions=*/2, /*division=*/0));
  TestServer second(InCluster(/*divisions=*/2, /*division=*/1));
  v1::UpsertPagesRequest request;
  for (int i = 0; i < kPages; ++i) request.add_pages()->set_url(TestServer::Url(i, kHosts));
  const std::vector<std::string> of_second = Described(first.Upsert(request));
  const std::vector<std::string> of_first = Described(second.Upsert(request));
  EXPECT_GT(of_first.size(), 0U);
  EXPECT_GT(of_second.size(), 0U);
  EXPECT_EQ(of_first.size() + of_second.size(), size_t{kPages});
  EXPECT_THAT(of_second.front(),
              HasSubstr("REFUSED FAILED_PRECONDITION host: is of division 1 of 2, and this server "
                        "has division 0"));
  EXPECT_EQ(first.Statistics().pages().pages(), of_first.size());
  EXPECT_EQ(second.Statistics().pages().pages(), of_second.size());

  // A page is at one of them, and the other says where.
  std::map<TestServer*, std::set<std::string>> hosts;
  for (int i = 0; i < kPages; ++i) {
    v1::GetPageRequest get;
    get.set_url(TestServer::Url(i, kHosts));
    v1::GetHostRequest host;
    host.set_host("host" + std::to_string(i % kHosts) + ".test");
    for (TestServer* server : {&first, &second}) {
      v1::GetPageResponse page;
      grpc::ClientContext call;
      const grpc::Status status = server->pages->GetPage(&call, get, &page);
      if (status.ok()) {
        hosts[server].insert(host.host());
        continue;
      }
      EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
      EXPECT_THAT(status.error_message(), HasSubstr("of 2, and this server has"));
      v1::GetHostResponse its;
      grpc::ClientContext again;
      EXPECT_EQ(server->admin->GetHost(&again, host, &its).error_code(),
                grpc::StatusCode::FAILED_PRECONDITION);
    }
  }
  EXPECT_EQ(hosts[&first].size() + hosts[&second].size(), size_t{kHosts});

  // What is told of a page of the other one, by URL or by lease, is refused likewise.
  const v1::NextResponse leased = first.Next(1);
  ASSERT_EQ(leased.assignments_size(), 1);
  v1::CrawlResult result;
  result.set_url(leased.assignments(0).url());
  ToProto(second.clock.Now(), result.mutable_fetch_time());
  result.set_content_digest("digest");
  EXPECT_THAT(Described(second.Report(result)).at(0), HasSubstr("is of division 0 of 2"));
  result.clear_url();
  result.set_lease_id(leased.assignments(0).lease_id());
  EXPECT_THAT(Described(second.Report(result)).at(0), HasSubstr("is of division 0 of 2"));
  EXPECT_THAT(Described(first.Report(result)), testing::IsEmpty());
  EXPECT_THAT(Probe(second.info.http_address, "/metrics"),
              HasSubstr(R"(freshet_cluster_turn{cluster="mock-1-of-2"} 1)"));
}

TEST_F(ClusterTest, WithoutKafkaNothingIsHandedOutAndReadinessSaysSoUntilItIsBack) {
  TestServer server(InCluster());
  server.UpsertMany(50);
  ASSERT_EQ(Lease(server, 3).size(), 3U);
  kafka_.Down();
  ASSERT_TRUE(Eventually([&] {
    return Probe(server.info.http_address, "/readyz").find("waiting for Kafka") !=
           std::string::npos;
  }));
  EXPECT_EQ(server.Next(1, /*wait_ms=*/300).assignments_size(), 0);
  // What is known is told all the same.
  EXPECT_EQ(server.Statistics().pages().pages(), 50U);
  EXPECT_THAT(Probe(server.info.http_address, "/healthz"), HasSubstr("200"));
  kafka_.Up();
  EXPECT_TRUE(
      Eventually([&] { return Probe(server.info.http_address, "/readyz").find("200") == 0; }));
  EXPECT_EQ(Lease(server, 3).size(), 3U);
}

}  // namespace
}  // namespace freshet
