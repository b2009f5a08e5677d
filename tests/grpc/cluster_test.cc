// Tests servers of a cluster: one serves, and a standby has everything that the first acknowledged.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "freshet/v1/fleet.grpc.pb.h"
#include "server/auth/identities.h"
#include "server/auth/on_behalf.h"
#include "server/forward/forwarded_pings.h"
#include "tests/grpc/cluster_servers.h"
#include "tests/grpc/test_worker.h"
#include "tests/support/faulty_env.h"

namespace freshet {
namespace {

using testing::HasSubstr;
using testing::Not;

class ClusterTest : public ClusterServers {
 protected:
  // Sets up a server in a cluster whose commits wait for the disk.
  TestServer::Tweak Synced() {
    return [in_cluster = InCluster()](ServerConfig* config) {
      in_cluster(config);
      config->durability = "sync";
    };
  }
  // Waits until the server is asked to end at once, or is replaced. On a busy machine, the group
  // can give the turn to another server before the server is asked. Returns true if it was
  // replaced.
  static bool AwaitEndAtOnce(TestServer& server) {
    EXPECT_TRUE(Eventually([&] { return server.asked_to_end_at_once + server.replaced > 0; },
                           Duration::Seconds(400)));
    return server.replaced > 0;
  }
  // Leases up to `count` pages and returns their URLs. The pages must never have been crawled.
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
  // Expects that the new server has the pages and leases of `ended`, and connects the clients of
  // `ended` to the new one. `removed`: leases whose pages were removed.
  static void ExpectTakenOver(TestServer& ended, const std::set<std::string>& leased,
                              const StatusOr<ServingInfo>& info, uint64_t pages,
                              size_t removed = 0) {
    ASSERT_TRUE(info.ok()) << info.status();
    EXPECT_EQ(info->pages, pages);
    ended.Use(OwnChannel(info->grpc_address));
    EXPECT_EQ(ended.Statistics().schedule().open_leases(), leased.size() + removed);
    for (const std::string& url : leased) EXPECT_TRUE(ended.Get(url).page().has_lease()) << url;
    for (const std::string& url : Lease(ended, 20)) EXPECT_FALSE(leased.contains(url)) << url;
  }
};

TEST_F(ClusterTest, AStandbyTakesOverPagesLeasesAndSettings) {
  auto first = std::make_unique<TestServer>(InCluster());
  first->UpsertMany(300);
  std::set<std::string> leased = Lease(*first, 20);
  ASSERT_EQ(leased.size(), 20U);
  // The lease of a removed page stays open, because its worker is still fetching it.
  first->Remove(*leased.begin());
  leased.erase(leased.begin());
  v1::SetCrawlRateRequest faster;
  faster.set_crawl_rate_per_second(123);
  v1::SetCrawlRateResponse response;
  grpc::ClientContext call;
  ASSERT_TRUE(first->admin->SetCrawlRate(&call, faster, &response).ok());
  EXPECT_THAT(Probe(first->info.http_address, "/metrics"),
              HasSubstr(R"(freshet_cluster_turn{cluster="mock"} 1)"));
  EXPECT_THAT(Probe(first->info.http_address, "/status.json"), HasSubstr(R"("turn":true)"));

  AwaitAnnounced(*first);
  SecondServer second(first->config);
  Server& standby = *second.server;
  ASSERT_TRUE(Eventually([&] {
    const std::string address = standby.http_address();
    return !address.empty() &&
           Probe(address, "/readyz").find("standing by: has the whole log of the cluster") !=
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

  // The standby forwards the calls of clients that connect to it.
  ASSERT_FALSE(standby.forwarding_address().empty());
  first->Use(OwnChannel(standby.forwarding_address()));
  EXPECT_EQ(first->Statistics().pages().pages(), 299U);
  EXPECT_TRUE(first->Get(*leased.begin()).page().has_lease());
  EXPECT_THAT(Probe(standby.http_address(), "/metrics"),
              HasSubstr(R"(freshet_cluster_calls_total{cluster="mock",outcome="forwarded"} 2)"));

  EXPECT_TRUE(first->Stop().ok());
  ExpectTakenOver(*first, leased, second.started.get(), 299, /*removed=*/1);
  v1::GetCrawlRateResponse rate;
  grpc::ClientContext again;
  ASSERT_TRUE(first->admin->GetCrawlRate(&again, {}, &rate).ok());
  EXPECT_DOUBLE_EQ(rate.crawl_rate_per_second(), 123);
  EXPECT_TRUE(standby.Stop().ok());
}

// A replaced server might not know yet that another one serves.
TEST_F(ClusterTest, AResultUnderALeaseOfALaterServerIsToBeSentAgain) {
  TestServer server(InCluster());
  server.UpsertMany(1);
  const v1::NextResponse next = server.Next(1);
  ASSERT_EQ(next.assignments_size(), 1);
  v1::CrawlResult result;
  result.set_url(next.assignments(0).url());
  result.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  constexpr uint64_t kNextRun = uint64_t{1} << 44;
  result.set_lease_id(next.assignments(0).lease_id() + kNextRun);
  const v1::BatchAck ack = server.Report(result);
  ASSERT_EQ(ack.statuses_size(), 1);
  EXPECT_EQ(ack.statuses(0).error().code(), v1::ERROR_CODE_UNAVAILABLE);
  EXPECT_TRUE(ack.statuses(0).error().retryable());
  EXPECT_FALSE(server.Get(result.url()).page().has_last_crawl_time());
  result.set_lease_id(next.assignments(0).lease_id());
  EXPECT_EQ(server.Report(result).statuses_size(), 0);
  EXPECT_TRUE(server.Stop().ok());
}

// A client that got no answer from a failed server sends the same messages to the new one.
TEST_F(ClusterTest, SignalsAndResultsThatAreSentAgainAfterATakeOverCountOnce) {
  auto first = std::make_unique<TestServer>(InCluster());
  first->UpsertMany(20);
  AwaitAnnounced(*first);
  const v1::NextResponse leased = first->Next(1);
  ASSERT_EQ(leased.assignments_size(), 1);
  v1::CrawlResult by_lease;
  by_lease.set_lease_id(leased.assignments(0).lease_id());
  by_lease.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  v1::SignalChangesRequest signals;
  for (int i = 0; i < 20; ++i) {
    signals.add_signals()->set_url(TestServer::Url(i));
    signals.mutable_signals(i)->set_source("cdn");
    signals.mutable_signals(i)->set_signal_id("purge 17");
  }
  ASSERT_THAT(Described(first->Signal(signals)), testing::IsEmpty());
  ASSERT_THAT(Described(first->Report(by_lease)), testing::IsEmpty());
  const std::string page = first->Get(TestServer::Url(1)).page().DebugString();

  SecondServer second(first->config);
  ASSERT_TRUE(Eventually([&] {
    const std::string address = second.server->http_address();
    return !address.empty() && Probe(address, "/readyz?standby=true") == "200 ok\n";
  }));
  EXPECT_TRUE(first->Stop().ok());
  const StatusOr<ServingInfo> info = second.started.get();
  ASSERT_TRUE(info.ok()) << info.status();
  first->Use(OwnChannel(info->grpc_address));
  const std::vector<std::string> again = Described(first->Signal(signals));
  ASSERT_EQ(again.size(), 20U);
  for (const std::string& outcome : again) EXPECT_THAT(outcome, HasSubstr(" DUPLICATE"));
  EXPECT_THAT(Described(first->Report(by_lease)), testing::ElementsAre("0 DUPLICATE"));
  EXPECT_EQ(first->Get(TestServer::Url(1)).page().DebugString(), page);
  EXPECT_TRUE(second.server->Stop().ok());
}

// The serving server answers, and checks the rights of the original sender.
TEST_F(ClusterTest, AStandbyHasPingsOfIndexNowAnswered) {
  const TempDir dir;
  std::ofstream(dir / "auth.yaml")
      << "identities:\n  - name: site\n    token_sha256: " << HexOf(DigestOf("site-token"))
      << "\n    roles: [ingester]\n    hosts: [a.test]\n";
  const TestServer::Tweak in_cluster = InCluster();
  TestServer first([&](ServerConfig* config) {
    in_cluster(config);
    config->auth_file = dir / "auth.yaml";
    config->indexnow.enabled = true;
    config->indexnow.verify_keys = false;
    config->indexnow.create_pages = true;
  });
  SecondServer second(first.config);
  Server& standby = *second.server;
  ASSERT_TRUE(Eventually([&] {
    return Probe(standby.http_address(), "/readyz?standby=true") == "200 ok\n" &&
           !standby.forwarding_address().empty();
  }));
  httplib::Client client("http://" + standby.http_address());
  const auto get = [&](const std::string& query, const std::string& token) {
    const httplib::Result result =
        client.Get("/indexnow?key=0123456789abcdef&" + query,
                   token.empty() ? httplib::Headers()
                                 : httplib::Headers{{"Authorization", "Bearer " + token}});
    return result ? std::to_string(result->status) + " " + result->body : "";
  };
  // The standby refuses until it knows the serving server.
  ASSERT_TRUE(Eventually([&] {
    return get("url=https://a.test/1", "site-token") ==
           "200 0 pages told, 0 unknown, 1 new, 0 refused\n";
  }));
  EXPECT_EQ(get("url=https://a.test/1", "site-token"),
            "200 1 page told, 0 unknown, 0 new, 0 refused\n");
  EXPECT_THAT(get("url=https://a.test/1", ""), HasSubstr("401"));
  EXPECT_THAT(get("url=https://b.test/1", "site-token"), HasSubstr("403"));
  EXPECT_THAT(get("url=", "site-token"), HasSubstr("422 url: "));
  client.set_bearer_token_auth("site-token");
  const std::string body =
      R"({"host": "a.test", "key": "0123456789abcdef", "urlList": ["https://a.test/1",)"
      R"( "https://a.test/2"]})";
  const httplib::Result posted = client.Post("/indexnow", body, "application/json");
  ASSERT_TRUE(posted);
  EXPECT_EQ(posted->body, "1 page told, 0 unknown, 1 new, 0 refused\n");
  const httplib::Result broken = client.Post("/indexnow", body.substr(1), "application/json");
  ASSERT_TRUE(broken);
  EXPECT_EQ(broken->status, 400);
  const httplib::Result head = client.Head("/indexnow");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status, 405);

  EXPECT_TRUE(first.Stop().ok());
  ASSERT_TRUE(second.started.get().ok());
  EXPECT_EQ(get("url=https://a.test/2", "site-token"),
            "200 1 page told, 0 unknown, 0 new, 0 refused\n");
  EXPECT_TRUE(standby.Stop().ok());
}

// Tests pings that a standby receives while another server serves.
class ForwardedPingsTest : public testing::Test {
 protected:
  static HttpRequest Ping(const std::string& url) {
    return {.method = "GET", .query = "key=0123456789abcdef&url=" + url, .peer = "127.0.0.1"};
  }
  static ServingPeer PeerOf(const TestServer& server) {
    return {.address = server.info.grpc_address, .key = OwnKey()};
  }
  void Expect(int status, const std::string& body, const HttpRequest& ping) {
    const HttpResponse response = pings_.Answer(ping);
    EXPECT_EQ(response.status, status) << *response.body;
    EXPECT_THAT(*response.body, HasSubstr(body));
    EXPECT_EQ(RetryAfterOf(response), status == 503 ? 10U : 0U);
  }

  TestServer server_{[](ServerConfig* config) {
    config->indexnow.enabled = true;
    config->indexnow.verify_keys = false;
    config->indexnow.max_body_bytes = 2000;
  }};
  StatusOr<std::unique_ptr<Door>> door_ = Door::Open(server_.config, server_.clock);
  ForwardCounters counters_;
  std::optional<ServingPeer> peer_;
  ForwardedPings pings_{server_.config, **door_, server_.clock, counters_,
                        [this] { return peer_; }};
};

TEST_F(ForwardedPingsTest, SayWhenNobodyAnswersThem) {
  const HttpRequest ping = Ping("https://a.test/");
  Expect(503, "does not serve yet", ping);
  peer_ = ServingPeer{.address = "127.0.0.1:1", .key = "key"};
  Expect(503, "does not answer", ping);
  Expect(503, "did not answer before", ping);
  // The key belongs to an earlier run.
  peer_ = PeerOf(server_);
  peer_->key = "key";
  Expect(503, "does not take it", ping);
  peer_->key = OwnKey();
  Expect(200, "0 pages told, 1 unknown", ping);
  EXPECT_EQ(counters_.forwarded, 1U);
  EXPECT_EQ(counters_.refused, 4U);
  // Only servers may state the sender of a ping.
  v1::AnswerPingResponse response;
  grpc::ClientContext call;
  EXPECT_EQ(
      v1::FleetService::NewStub(server_.channel)->AnswerPing(&call, {}, &response).error_code(),
      grpc::StatusCode::PERMISSION_DENIED);
}

// After a refused ping other pings are still answered.
TEST_F(ForwardedPingsTest, AreAnsweredAsAtTheServersOwnPort) {
  peer_ = PeerOf(server_);
  Expect(422, "url: ", Ping("\xff"));
  HttpRequest post = {.method = "POST", .peer = "127.0.0.1"};
  std::string url = "https://b.test/";
  while (url.size() < 300) url += "\u00e4";
  post.body = R"({"host": "a.test", "key": "0123456789abcdef", "urlList": [")" + url + R"("]})";
  Expect(422, "is not of the host a.test", post);
  post.body.append(2000, ' ');
  Expect(413, "too large", post);
  Expect(405, "GET, POST", {.method = "HEAD", .peer = "127.0.0.1"});
  Expect(200, "1 unknown", Ping("https://a.test/"));
  TestServer without;
  peer_ = PeerOf(without);
  Expect(404, "takes no pings", Ping("https://a.test/"));
}

TEST_F(ForwardedPingsTest, EndWithTheServer) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(listener, any, size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, any, &size), 0);
  // The peer accepts connections and never answers.
  peer_ =
      ServingPeer{.address = "127.0.0.1:" + std::to_string(ntohs(address.sin_port)), .key = "key"};
  auto answered = std::async(std::launch::async, [&] { return pings_.Answer(Ping("x")); });
  EXPECT_EQ(answered.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  pings_.Stop();
  const HttpResponse response = answered.get();
  EXPECT_EQ(*response.body, "this server is stopping\n");
  EXPECT_EQ(response.status, 503);
  Expect(503, "is stopping", Ping("x"));
  close(listener);
}

// Alerts find the servers of a division by this metric: 1 = serves, 0 = stands by.
TEST_F(ClusterTest, MetricsOfAStandbyAreOfItsDivision) {
  for (const char* topics : {"mock-0-of-2", "mock-rate-of-2"}) kafka_.MakeTopics(topics);
  TestServer first(InCluster(/*divisions=*/2, /*division=*/0));
  const std::string turn = R"(freshet_cluster_turn{cluster="mock-0-of-2"} )";
  EXPECT_THAT(Probe(first.info.http_address, "/metrics"), HasSubstr(turn + "1"));
  SecondServer second(first.config);
  EXPECT_TRUE(Eventually([&] {
    return Probe(second.server->http_address(), "/metrics").find(turn + "0") != std::string::npos;
  }));
  second.server->RequestStop();
  EXPECT_FALSE(second.started.get().ok());
}

// The first server seems dead, because it no longer confirms its turn.
TEST_F(ClusterTest, AStandbyLoadsThePagesWhenTheOtherFallsSilentAndFollowsItsLog) {
  auto first = std::make_unique<TestServer>(InCluster());
  first->UpsertMany(300);
  const std::set<std::string> leased = Lease(*first, 20);
  SecondServer second(first->config);
  Server& standby = *second.server;
  const auto await_loaded = [&](size_t pages) {
    const std::string count = fmt::format("\nfreshet_recovered_pages {}\n", pages);
    return Eventually([&] {
      const std::string metrics = Probe(standby.http_address(), "/metrics");
      return metrics.find("{stage=\"standing_by\"}") != std::string::npos &&
             metrics.find(count) != std::string::npos;
    });
  };
  ASSERT_TRUE(await_loaded(0));
  kafka_.Fail(MockKafka::kOffsetCommit, RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED);
  ASSERT_TRUE(await_loaded(300));
  // The first server still serves. The standby follows changes of pages and hosts in the log, and
  // loads everything again when a setting changes.
  first->UpsertMany(320);
  ASSERT_TRUE(await_loaded(320));
  v1::SetCrawlRateRequest faster;
  faster.set_crawl_rate_per_second(123);
  (void)CallOf(*first, &Admin::SetCrawlRate, faster);
  first->UpsertMany(330);
  ASSERT_TRUE(await_loaded(330));

  EXPECT_TRUE(first->Stop().ok());
  kafka_.Forgive(MockKafka::kOffsetCommit);
  ExpectTakenOver(*first, leased, second.started.get(), 330);
  EXPECT_TRUE(standby.Stop().ok());
}

TEST_F(ClusterTest, WhoServesKnowsItsStandbysAndIsDrainedIfOneWouldTakeOver) {
  const TestServer::Tweak in_cluster = InCluster();
  TestServer first([&](ServerConfig* config) {
    in_cluster(config);
    config->cluster.node = "a";
    config->shutdown_grace = Duration::Seconds(300);
    config->cluster.hot_standby = true;
    config->cluster.handover = Duration::Seconds(300);
  });
  first.UpsertMany(300);
  v1::DrainNodeRequest request;
  EXPECT_EQ(CodeOf(first, &Admin::DrainNode, request), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_node("a");
  const v1::DrainNodeResponse alone = CallOf(first, &Admin::DrainNode, request);
  ASSERT_EQ(alone.divisions_size(), 1);
  EXPECT_THAT(alone.divisions(0).refused(), HasSubstr("no server could take over"));
  EXPECT_EQ(first.asked_to_end, 0);

  AwaitAnnounced(first);
  SecondServer second(first.config, "b");
  v1::FleetStandby shown;
  ASSERT_TRUE(Eventually([&] {
    const v1::GetFleetResponse fleet = CallOf(first, &Admin::GetFleet, {});
    if (fleet.divisions(0).standbys().empty()) return false;
    shown = fleet.divisions(0).standbys(0);
    return shown.ready() && shown.loaded();
  })) << shown.DebugString();
  EXPECT_EQ(shown.node(), "b");
  EXPECT_EQ(shown.address(), second.server->forwarding_address());
  EXPECT_TRUE(shown.has_behind());
  EXPECT_GT(shown.rows(), 300U);
  request.set_node("b");
  EXPECT_EQ(CallOf(first, &Admin::DrainNode, request).divisions_size(), 0) << "it serves nothing";
  request.set_node("a");
  EXPECT_EQ(first.asked_to_end, 0);
  for (int i = 0; i < 2; ++i) {
    const v1::DrainNodeResponse drained = CallOf(first, &Admin::DrainNode, request);
    ASSERT_EQ(drained.divisions_size(), 1);
    EXPECT_EQ(drained.divisions(0).refused(), "");
    EXPECT_THAT(drained.divisions(0).standbys(), testing::ElementsAre("b"));
  }
  EXPECT_TRUE(Eventually([&] { return first.asked_to_end == 1; }));
  // The program stops a server that is asked to end. The stop does not wait for workers that can
  // report to the next server.
  TestWorker worker(first);
  worker.Grant(10);
  (void)worker.ReadAssignments(1);
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_TRUE(first.Stop().ok());
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(100));
  while (worker.open()) (void)worker.Read();
  EXPECT_EQ(first.asked_to_end, 1) << "once, however often it is asked for";
  const StatusOr<ServingInfo> info = second.started.get();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->pages, 300U);
  EXPECT_TRUE(second.server->Stop().ok());
}

// The server still confirms its turn, so no standby would take the turn by itself.
TEST_F(ClusterTest, WhoseLogTakesNothingAnyMoreEndsAndTheStandbyServes) {
  TestServer first(InCluster());
  first.UpsertMany(50);
  AwaitAnnounced(first);
  SecondServer second(first.config);
  EXPECT_EQ(first.asked_to_end, 0);
  kafka_.FailNext(MockKafka::kEndTxn, RD_KAFKA_RESP_ERR_PRODUCER_FENCED);
  v1::SetCrawlRateRequest rate;
  rate.set_crawl_rate_per_second(5);
  EXPECT_EQ(CodeOf(first, &Admin::SetCrawlRate, rate), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(Eventually([&] { return first.asked_to_end == 1; }));
  // The program stops a server that is asked to end.
  EXPECT_FALSE(first.Stop().ok());
  const StatusOr<ServingInfo> info = second.started.get();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->pages, 50U);
  EXPECT_TRUE(second.server->Stop().ok());
}

// The group still confirms the turn of the server, but commits fail. A standby might be able to
// commit.
TEST_F(ClusterTest, WhoseCommitsWaitWhileAStandbyIsReadyLeavesItsTurn) {
  TestServer first(InCluster());
  first.UpsertMany(50);
  AwaitAnnounced(first);
  kafka_.Fail(MockKafka::kEndTxn, RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS);
  v1::SetCrawlRateRequest rate;
  rate.set_crawl_rate_per_second(5);
  auto waits =
      std::async(std::launch::async, [&] { return CodeOf(first, &Admin::SetCrawlRate, rate); });
  // If there is no standby, the server keeps its turn, and continues when it can.
  ASSERT_TRUE(Eventually([&] {
    return Probe(first.info.http_address, "/readyz").find("waiting for Kafka") != std::string::npos;
  }));
  EXPECT_EQ(first.asked_to_end, 0);
  auto second = std::make_unique<SecondServer>(first.config);
  // On a busy machine, the group might take the turn from the first server before that server is
  // asked to end. The second server then fails because it cannot open its log, and is started
  // again.
  const auto start_again = [&] { second = std::make_unique<SecondServer>(first.config); };
  EXPECT_TRUE(Eventually(
      [&] {
        if (second->started.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
          start_again();
        }
        return first.asked_to_end + first.replaced > 0;
      },
      Duration::Seconds(400)));
  // The program stops a server that is asked to end.
  kafka_.Forgive(MockKafka::kEndTxn);
  (void)first.Stop();
  (void)waits.get();
  StatusOr<ServingInfo> info = second->started.get();
  if (absl::IsUnavailable(info.status())) {
    start_again();
    info = second->started.get();
  }
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->pages, 50U);
  EXPECT_TRUE(second->server->Stop().ok());
}

// A disk that hangs returns no error, and a server that waits for the disk cannot stop cleanly.
TEST_F(ClusterTest, WhoseDiskGivesNoAnswerEndsAtOnceWhereAStandbyIsReady) {
  FaultyEnv disk(1);
  TestServer first(Synced(), disk.env());
  AwaitAnnounced(first);
  first.UpsertMany(50);
  disk.SetHanging(true);
  auto stuck = std::async(std::launch::async, [&] { first.UpsertMany(60); });
  EXPECT_TRUE(Eventually([&] {
    return Probe(first.info.http_address, "/readyz").find("the disk has answered no write for") !=
           std::string::npos;
  }));
  EXPECT_EQ(first.asked_to_end_at_once, 0) << "nobody else has more of it";
  SecondServer second(first.config);
  const bool replaced = AwaitEndAtOnce(first);
  EXPECT_EQ(first.asked_to_end, 0);
  disk.SetHanging(false);
  stuck.get();
  if (replaced) GTEST_SKIP() << "on a machine under load the group takes the turn before";
  EXPECT_TRUE(
      Eventually([&] { return Probe(first.info.http_address, "/readyz").find("200") == 0; }));
  EXPECT_TRUE(first.Stop().ok());
  const StatusOr<ServingInfo> info = second.started.get();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->pages, 60U);
  EXPECT_TRUE(second.server->Stop().ok());
}

// A clean stop would wait for the disk, and the server would keep its turn until then.
TEST_F(ClusterTest, WhoseDiskGivesNoAnswerWhileItEndsEndsAtOnce) {
  FaultyEnv disk(1);
  TestServer first(Synced(), disk.env());
  AwaitAnnounced(first);
  first.UpsertMany(50);
  SecondServer second(first.config);
  ASSERT_TRUE(Eventually(
      [&] {
        const auto division = CallOf(first, &Admin::GetFleet, {}).divisions(0);
        return division.standbys_size() == 1 && division.standbys(0).ready();
      },
      Duration::Seconds(400)));
  disk.SetHanging(true);
  v1::SetCrawlRateRequest rate;
  rate.set_crawl_rate_per_second(5);
  auto stuck =
      std::async(std::launch::async, [&] { return CodeOf(first, &Admin::SetCrawlRate, rate); });
  ASSERT_TRUE(Eventually([&] { return disk.hanging() > 0; }));
  auto stopped = std::async(std::launch::async, [&] { return first.Stop(); });
  const bool replaced = AwaitEndAtOnce(first);
  disk.SetHanging(false);
  (void)stuck.get();
  EXPECT_TRUE(stopped.get().ok());
  const StatusOr<ServingInfo> info = second.started.get();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->pages, 50U);
  EXPECT_TRUE(second.server->Stop().ok());
  if (replaced) GTEST_SKIP() << "on a machine under load the group takes the turn before";
}

// A server that is cut off from the broker with the group of the crawl rate.
class CutOffTest : public ClusterServers {
 protected:
  static constexpr int kOther = 2;

  CutOffTest() : ClusterServers(/*brokers=*/2) {
    MakeFleetTopics();
    kafka_.MoveGroup("mock-rate-of-2", kOther);
  }
};

TEST_F(CutOffTest, WhoEndsLeavesItsTurnWithoutWaitingForTheGroupOfTheRate) {
  TestServer alone;
  ServerConfig config = alone.config;
  InCluster(/*divisions=*/2, /*division=*/0)(&config);
  config.cluster.silence = Duration::Seconds(60);
  SecondServer node(config);
  const StatusOr<ServingInfo> info = node.started.get();
  ASSERT_TRUE(info.ok()) << info.status();
  alone.Use(OwnChannel(info->grpc_address));
  ASSERT_TRUE(Eventually([&] { return CallOf(alone, &Admin::GetFleet, {}).divisions(0).leads(); }));
  kafka_.Mute(kOther);
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_TRUE(node.server->Stop().ok());
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(40));
}

TEST_F(ClusterTest, WhoHasItsTurnAndCannotOpenItsLogLeavesIt) {
  TestServer first(InCluster());
  AwaitAnnounced(first);
  ServerConfig config = first.config;
  config.cluster.handover = Duration::Seconds(1);
  SecondServer second(config);
  ASSERT_TRUE(Eventually(
      [&] { return !CallOf(first, &Admin::GetFleet, {}).divisions(0).standbys().empty(); }));
  EXPECT_TRUE(first.Stop().ok());
  kafka_.Fail(MockKafka::kEndTxn, RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS);
  const StatusOr<ServingInfo> info = second.started.get();
  EXPECT_TRUE(absl::IsUnavailable(info.status())) << info.status();
  EXPECT_THAT(std::string(info.status().message()), HasSubstr("the next standby tries"));
  kafka_.Forgive(MockKafka::kEndTxn);
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
  // Statistics are answered from memory, without Kafka.
  EXPECT_EQ(server.Statistics().pages().pages(), 50U);
  EXPECT_THAT(Probe(server.info.http_address, "/healthz"), HasSubstr("200"));
  kafka_.Up();
  EXPECT_TRUE(
      Eventually([&] { return Probe(server.info.http_address, "/readyz").find("200") == 0; }));
  EXPECT_EQ(Lease(server, 3).size(), 3U);
}

// Calls that wait for a commit must not keep the server running until Kafka is available again.
TEST_F(ClusterTest, AServerEndsThoughCallsWaitForKafka) {
  TestServer server(InCluster());
  server.UpsertMany(50);
  kafka_.Down();
  v1::PauseRequest request;
  auto pause =
      std::async(std::launch::async, [&] { return CodeOf(server, &Admin::Pause, request); });
  ASSERT_TRUE(Eventually([&] {
    return Probe(server.info.http_address, "/readyz").find("waiting for Kafka") !=
           std::string::npos;
  }));
  auto stopped = std::async(std::launch::async, [&] { return server.Stop(); });
  EXPECT_EQ(stopped.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  kafka_.Up();
  (void)stopped.get();
  EXPECT_NE(pause.get(), grpc::StatusCode::OK);
}

}  // namespace
}  // namespace freshet
