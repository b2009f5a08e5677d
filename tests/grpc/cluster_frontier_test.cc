// Tests the crawl-frontier API of a cluster: the next server has all acknowledged URLs and all
// leases.
#include <algorithm>
#include <chrono>
#include <future>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/generic/generic_stub.h"
#include "tests/grpc/cluster_servers.h"
#include "tests/grpc/frontier_client.h"

namespace freshet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr uint64_t kFarAway = 4'000'000'000;
constexpr uint32_t kLong = 3600;

class ClusterFrontierTest : public ClusterServers {
 protected:
  // A channel to the standby, which forwards calls to the serving server.
  static std::shared_ptr<grpc::Channel> ChannelOf(SecondServer& standby) {
    EXPECT_TRUE(Eventually([&] {
      return Probe(standby.server->http_address(), "/readyz?standby=true") == "200 ok\n" &&
             !standby.server->forwarding_address().empty();
    }));
    return OwnChannel(standby.server->forwarding_address());
  }
  static grpc::StatusCode CallOfNoMethod(const TestServer& server) {
    grpc::GenericStub stub(server.channel);
    grpc::ClientContext call;
    const grpc::Slice nothing;
    grpc::ByteBuffer request(&nothing, 1);
    grpc::ByteBuffer response;
    std::promise<grpc::StatusCode> code;
    stub.UnaryCall(&call, "/freshet.v1.NoService/NoMethod", {}, &request, &response,
                   [&code](const grpc::Status& status) { code.set_value(status.error_code()); });
    return code.get_future().get();
  }
};

TEST_F(ClusterFrontierTest, AStandbySendsCallsOnAndTakesOverQueuesAndWhatIsInFlight) {
  TestServer first(InCluster());
  AwaitAnnounced(first);
  SecondServer second(first.config);
  {
    FrontierClient client(ChannelOf(second));
    const auto outcomes =
        client.Put({Discovered("https://a.test/1"), Discovered("https://a.test/2"),
                    KnownUntil(kFarAway, "https://a.test/3"), Discovered("https://b.test/1"),
                    Discovered("https://c.test/1"), Discovered("https://d.test/1", "", "other")});
    ASSERT_EQ(outcomes.size(), 6U);
    for (const auto& [id, outcome] : outcomes) EXPECT_EQ(outcome, "OK") << id;
    EXPECT_THAT(client.Get(Params(1, 1, kLong)), ElementsAre("https://a.test/1"));
    EXPECT_EQ(client.DeleteQueue("b.test"), 1U);
    EXPECT_EQ(client.DeleteCrawl("other"), 1U);
    client.Block("c.test", kFarAway);
    client.SetDelay("", 0);
    // The serving server counts the URL as in flight, too.
    EXPECT_EQ(FrontierClient(first.channel).Stats().inprocess(), 1U);
    EXPECT_THAT(Probe(first.info.http_address, "/metrics"),
                HasSubstr(R"(freshet_frontier_urls{state="in_flight"} 1)"));
  }
  EXPECT_TRUE(first.Stop().ok());
  const StatusOr<ServingInfo> info = second.started.get();
  ASSERT_TRUE(info.ok()) << info.status();
  FrontierClient client(OwnChannel(info->grpc_address));
  EXPECT_THAT(client.Crawls(), ElementsAre("DEFAULT"));
  EXPECT_EQ(client.Stats().size(), 4U);
  EXPECT_EQ(client.Stats().inprocess(), 1U);
  EXPECT_THAT(client.Get(Params(9, 9, kLong)), ElementsAre("https://a.test/2"));
  EXPECT_EQ(client.Put(KnownUntil(0, "https://a.test/1")), "OK");
  client.Block("c.test", 0);
  EXPECT_THAT(client.Get(Params(9, 9, kLong)), ElementsAre("https://c.test/1"));
  EXPECT_TRUE(second.server->Stop().ok());
}

// The pages of a scheduled crawl id are in other partitions of the log than its URLs.
TEST_F(ClusterFrontierTest, CrawlIdsThatFreshetSchedulesGoOnAtTheStandby) {
  const TestServer::Tweak in_cluster = InCluster();
  TestServer first([&](ServerConfig* config) {
    in_cluster(config);
    config->frontier_scheduled = {"shop"};
  });
  AwaitAnnounced(first);
  SecondServer second(first.config);
  const auto take = [](FrontierClient& client) {
    std::set<std::string> urls;
    EXPECT_TRUE(Eventually([&] {
      for (const std::string& url : client.Get(ParamsIn("shop", 0, 0, kLong))) {
        EXPECT_TRUE(urls.insert(url).second) << url;
      }
      return urls.size() >= 2;
    }));
    return urls;
  };
  std::set<std::string> out;
  {
    FrontierClient client(ChannelOf(second));
    for (const char* host : {"a", "b", "c", "d"}) {
      EXPECT_EQ(client.Put(Discovered("https://" + std::string(host) + ".test/", "", "shop")),
                "OK");
    }
    uf::GetParams two = ParamsIn("shop", 1, 2, kLong);
    ASSERT_TRUE(Eventually([&] {
      for (const std::string& url : client.Get(two)) out.insert(url);
      two.set_max_queues(static_cast<uint32_t>(2 - std::min<size_t>(out.size(), 1)));
      return out.size() >= 2;
    }));
  }
  EXPECT_TRUE(first.Stop().ok());
  const StatusOr<ServingInfo> info = second.started.get();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->pages, 4U);
  FrontierClient client(OwnChannel(info->grpc_address));
  for (const std::string& url : take(client)) EXPECT_FALSE(out.contains(url)) << url;
  // The next server accepts results for URLs that the previous server gave out.
  for (const std::string& url : out) {
    EXPECT_EQ(client.Put(KnownUntil(kFarAway, url, "", "shop")), "OK");
  }
  EXPECT_TRUE(second.server->Stop().ok());
}

// The first of several divisions has the frontier, but every server accepts calls for it.
TEST_F(ClusterFrontierTest, AnyServerOfAFleetTakesCalls) {
  MakeFleetTopics();
  TestServer other(InCluster(2, 1));
  FrontierClient client(other.channel);
  {
    grpc::ClientContext call;
    uf::Boolean active;
    call.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
    EXPECT_EQ(client.stub->GetActive(&call, {}, &active).error_code(),
              grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  TestServer first(InCluster(2, 0));
  const auto outcomes = client.Put(
      {Discovered("https://a.test/1"), Discovered("https://a.test/2"), Discovered("not a URL")});
  EXPECT_THAT(outcomes, testing::Contains(
                            std::pair<const std::string, std::string>("https://a.test/2", "OK")));
  EXPECT_EQ(FrontierClient(first.channel).Stats().size(), 2U);
  EXPECT_THAT(client.Get(Params(1, 0, kLong)), ElementsAre("https://a.test/1"));
  EXPECT_THAT(client.List({}), testing::SizeIs(2));
  EXPECT_THAT(
      Probe(other.info.http_address, "/metrics"),
      HasSubstr(R"(freshet_cluster_calls_total{cluster="mock-1-of-2",outcome="forwarded"})"));
  // Calls through a standby of the other division work, too.
  AwaitAnnounced(other);
  SecondServer standby(other.config);
  FrontierClient by_standby(ChannelOf(standby));
  EXPECT_EQ(by_standby.DeleteQueue("a.test"), 2U);
  EXPECT_EQ(client.Stats().size(), 0U);
  // A method of an unknown service.
  EXPECT_EQ(CallOfNoMethod(other), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_TRUE(other.Stop().ok());
  ASSERT_TRUE(standby.started.get().ok());
  EXPECT_TRUE(standby.server->Stop().ok());
}

// The server gives out only URLs that the log marks as in flight.
TEST_F(ClusterFrontierTest, WhoseLogTakesNothingGivesNothingOut) {
  TestServer first(InCluster());
  AwaitAnnounced(first);
  SecondServer second(first.config);
  FrontierClient client(first.channel);
  EXPECT_EQ(client.Put(Discovered("https://a.test/1")), "OK");
  kafka_.FailNext(MockKafka::kEndTxn, RD_KAFKA_RESP_ERR_PRODUCER_FENCED);
  EXPECT_THAT(client.Get(Params(0, 0, kLong)), IsEmpty());
  EXPECT_EQ(client.Put(Discovered("https://a.test/2")), "FAIL");
  EXPECT_TRUE(Eventually([&] { return first.asked_to_end == 1; }));
  EXPECT_FALSE(first.Stop().ok());
  const StatusOr<ServingInfo> info = second.started.get();
  ASSERT_TRUE(info.ok()) << info.status();
  FrontierClient next(OwnChannel(info->grpc_address));
  EXPECT_EQ(next.Stats().size(), 1U);
  EXPECT_TRUE(second.server->Stop().ok());
}

}  // namespace
}  // namespace freshet
