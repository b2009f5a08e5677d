// Servers of a cluster: one serves, the next one stands by and has all that was acknowledged. The
// brokers are librdkafka's own for tests, which do not fence: tests/fleet has real ones.
#include <future>
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
  TestServer::Tweak InCluster() {
    return [this](ServerConfig* config) {
      config->cluster = {.name = kafka_.options().cluster,
                         .brokers = kafka_.options().brokers,
                         .address = "127.0.0.1:0",
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
