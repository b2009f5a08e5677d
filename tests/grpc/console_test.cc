// Tests the console's API with a whole server. It shows the same data as the services, and its
// changes have the same effects and need the same rights.
#include <atomic>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "google/protobuf/util/time_util.h"
#include "httplib.h"
#include "nlohmann/json.hpp"
#include "server/ops/history.h"
#include "tests/grpc/guarded_server.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kJson = "application/json";

class ConsoleTest : public testing::Test {
 protected:
  json Get(const std::string& path, int status = 200) {
    return Parsed(http().Get("/console/api/" + path), path, status);
  }
  json Post(const std::string& path, const json& body, int status = 200) {
    return Parsed(http().Post("/console/api/" + path, body.dump(), kJson), path, status);
  }
  static json Parsed(const httplib::Result& result, const std::string& path, int status) {
    if (!result) {
      ADD_FAILURE() << path << ": no answer";
      return {};
    }
    EXPECT_EQ(result->status, status) << path << ": " << result->body;
    return json::parse(result->body, nullptr, false);
  }
  httplib::Client http() const { return httplib::Client("http://" + server_.info.http_address); }

  TestServer server_;
};

TEST_F(ConsoleTest, ShowsTheServerAsItIs) {
  server_.UpsertMany(20, 2);
  const v1::NextResponse next = server_.Next(3);
  const json overview = Get("overview");
  EXPECT_EQ(overview["state"], "serving");
  EXPECT_EQ(overview["pages"], 20);
  EXPECT_EQ(overview["crawl_rate"], 200.0);
  EXPECT_EQ(overview["shards"].size(), 1u);
  EXPECT_EQ(overview["open_leases"], next.assignments_size());
  const json workers = Get("workers")["workers"];
  ASSERT_EQ(workers.size(), 1u);
  EXPECT_EQ(workers[0]["name"], "tester");
  EXPECT_EQ(workers[0]["leases"], next.assignments_size());
  EXPECT_GT(workers[0]["last_seen"], 1.7e9);
  const json hosts = Get("hosts?contains=host1")["hosts"];
  ASSERT_EQ(hosts.size(), 1u);
  EXPECT_EQ(hosts[0]["host"], "host1.test");
  EXPECT_EQ(hosts[0]["pages"], "10");
  EXPECT_EQ(Get("sources")["sources"].size(), 4u);
  EXPECT_EQ(Get("trust")["verdicts"].size(), 0u);
  EXPECT_THAT(Get("policies")["available_policies"].dump(), HasSubstr("greedy"));
}

TEST_F(ConsoleTest, ExplainsAPageAsGetPageDoes) {
  server_.UpsertMany(1);
  const std::string url = TestServer::Url(0);
  const json page = Get("page?url=" + httplib::detail::encode_query_param(url));
  const v1::GetPageResponse same = server_.Get(url);
  EXPECT_EQ(page["page"]["url"], same.page().url());
  EXPECT_EQ(page["explanation"]["policy"], same.explanation().policy());
  EXPECT_EQ(page["forecast"].size(), 60u);
  EXPECT_THAT(Get("page?url=http%3A%2F%2Fnowhere.test%2F", 404)["error"].dump(), HasSubstr("not"));
  EXPECT_THAT(Get("page?url=nonsense", 400)["error"].dump(), HasSubstr("url"));
  EXPECT_THAT(Get("page?color=red", 400)["error"].dump(), HasSubstr("color: is not a parameter"));
  EXPECT_THAT(Get("hosts?page_size=many", 400)["error"].dump(), HasSubstr("page_size"));
}

// A page that hardly ever changes is expected to be crawled thousands of years from now.
TEST_F(ConsoleTest, ShowsAPageThatWaitsForEver) {
  const auto upsert = [&](const char* url, double changes_per_day, int64_t crawled_seconds_ago) {
    v1::UpsertPagesRequest request;
    v1::PageSpec* page = request.add_pages();
    page->set_url(url);
    page->set_known_change_rate_per_day(changes_per_day);
    *page->mutable_last_crawl_time() =
        google::protobuf::util::TimeUtil::GetCurrentTime() -
        google::protobuf::util::TimeUtil::SecondsToDuration(crawled_seconds_ago);
    server_.Upsert(request);
  };
  // The page that changes often sets the price. The value of the other page reaches the price only
  // after thousands of years.
  upsert("http://often.test/", 24, 7200);
  ASSERT_EQ(server_.Next(1).assignments_size(), 1);
  upsert("http://rare.test/", 1e-15, 0);
  const json shown = Get("page?url=http%3A%2F%2Frare.test%2F");
  EXPECT_EQ(shown["explanation"]["next_expected_crawl_time"], "9999-12-31T23:59:59.999999Z");
}

// A browser adds its credentials even to requests that a page of another site makes.
TEST_F(ConsoleTest, AnswersNoPageOfAnotherSite) {
  const auto from = [&](const httplib::Headers& fields) {
    return http().Get("/console/api/overview", fields)->status;
  };
  EXPECT_EQ(from({{"Sec-Fetch-Site", "cross-site"}}), 403);
  EXPECT_EQ(from({{"Sec-Fetch-Site", "same-site"}}), 403);
  EXPECT_EQ(from({{"Origin", "http://evil.example"}}), 403);
  EXPECT_EQ(from({{"Sec-Fetch-Site", "same-origin"}}), 200);
  EXPECT_EQ(from({{"Sec-Fetch-Site", "none"}}), 200);
  EXPECT_EQ(from({}), 200);
}

TEST_F(ConsoleTest, ChangesWhatTheServicesChange) {
  EXPECT_EQ(Post("rate", {{"crawl_rate_per_second", 5}})["previous_crawl_rate_per_second"], 200.0);
  EXPECT_EQ(Get("overview")["crawl_rate"], 5.0);
  EXPECT_EQ(server_.Statistics().schedule().crawl_rate_per_second(), 5);
  EXPECT_EQ(Post("pause", {{"reason", "night <b>"}})["was_paused"], false);
  EXPECT_EQ(Get("overview")["state"], "paused");
  EXPECT_EQ(Get("overview")["detail"], "night <b>");
  EXPECT_EQ(Post("resume", json::object())["was_paused"], true);
  Post("policy", {{"policy", "greedy"}});
  EXPECT_EQ(server_.Statistics().schedule().policy(), "greedy");
  server_.UpsertMany(1);
  const json host = Post("host", {{"host", "host0.test"}, {"min_delay", "7s"}});
  EXPECT_EQ(host["host_state"]["min_delay"], "7s");
  Post("recheck", {{"urls", {TestServer::Url(0)}}});
  EXPECT_TRUE(server_.Get(TestServer::Url(0)).page().recheck_pending());
}

TEST_F(ConsoleTest, WhatIsWrongIsSaidAndChangesNothing) {
  EXPECT_THAT(Post("rate", {{"crawl_rate_per_second", -1}}, 400)["error"].dump(),
              HasSubstr("crawl_rate_per_second"));
  EXPECT_THAT(Post("rate", {{"rate", 7}}, 400)["error"].dump(), HasSubstr("rate"));
  EXPECT_THAT(Post("rate", json::array(), 400)["error"].dump(), HasSubstr("not a JSON object"));
  EXPECT_EQ(http().Post("/console/api/rate", "{", kJson)->status, 400);
  EXPECT_EQ(http().Post("/console/api/rate", std::string(20'000, ' '), kJson)->status, 413);
  EXPECT_EQ(http().Post("/console/api/rate", "{}", "text/plain")->status, 415);
  EXPECT_THAT(Post("policy", {{"policy", "best"}}, 400)["error"].dump(), HasSubstr("best"));
  Post("host", {{"host", "a b"}}, 400);
  EXPECT_EQ(Get("overview")["crawl_rate"], 200.0);
  EXPECT_EQ(Get("overview")["state"], "serving");
}

// The console calls its own server, which accepts no calls after it has ended.
TEST(Console, MayBeAskedWhileTheServerStops) {
  for (int i = 0; i < 8; ++i) {
    auto server = std::make_unique<TestServer>();
    const std::string address = "http://" + server->info.http_address;
    std::atomic<bool> asked{false};
    std::vector<std::thread> askers;
    for (int asker = 0; asker < 3; ++asker) {
      askers.emplace_back([&] {
        httplib::Client http(address);
        while (http.Get("/console/api/hosts")) asked = true;
      });
    }
    WaitUntil([&] { return asked.load(); });
    server = nullptr;
    for (std::thread& asker : askers) asker.join();
  }
}

TEST_F(ConsoleTest, TheHistoryOutlivesTheServer) {
  ASSERT_TRUE(Eventually([&] { return Get("history")["time"].size() >= 2; }));
  const json before = Get("history");
  EXPECT_EQ(before["step"], 1);
  EXPECT_EQ(before["series"]["crawl_rate"][0], 200.0);
  server_.Restart();
  const json after = Get("history");
  ASSERT_GE(after["time"].size(), before["time"].size());
  EXPECT_EQ(after["time"][0], before["time"][0]);
  const json month = Get("history?window=30d");
  EXPECT_EQ(month["step"], 3600);
  EXPECT_EQ(month["time"].size(), 1u);
}

// --- Roles

class GuardedConsole : public testing::Test {
 protected:
  GuardedConsole() {
    // The library writes to connections that the server has ended.
    std::signal(SIGPIPE, SIG_IGN);
  }
  std::unique_ptr<httplib::Client> As(const Showing& showing) {
    const std::string pem = server_.path("browser.pem");
    const std::string key = server_.path("browser.key");
    if (showing.pair) {
      ReplaceFile(pem, showing.pair->certificate);
      ReplaceFile(key, showing.pair->key);
    }
    auto client = std::make_unique<httplib::Client>(
        "https://" + server_->info.http_address, showing.pair ? pem : "", showing.pair ? key : "");
    client->set_ca_cert_path(server_.path("ca.pem"));
    if (!showing.token.empty()) client->set_basic_auth("operator", showing.token);
    return client;
  }
  static json Session(httplib::Client& client) {
    return json::parse(client.Get("/console/api/session")->body);
  }

  GuardedServer server_{{{"reader", "    roles: [reader]\n"},
                         {"admin", "    roles: [admin]\n"},
                         {"site", "    roles: [reader]\n    hosts: [host0.test]\n"}}};
};

// The services see the identity of the client, whatever proves it.
TEST_F(GuardedConsole, ActsAsWhoeverAsks) {
  server_->Use(server_.Open(server_.Token("admin")));
  server_->UpsertMany(2, 2);
  for (const Showing& showing : {server_.Token("reader"), server_.Certificate("reader")}) {
    const auto reader = As(showing);
    EXPECT_EQ(Session(*reader)["identity"], "reader");
    EXPECT_EQ(reader->Get("/console/api/page?url=http://host0.test/0")->status, 200);
    EXPECT_EQ(reader->Post("/console/api/rate", R"({"crawl_rate_per_second": 1})", kJson)->status,
              403);
    EXPECT_EQ(
        reader->Post("/console/api/recheck", R"({"urls": ["http://host0.test/0"]})", kJson)->status,
        403);
  }
  for (const Showing& showing : {server_.Token("admin"), server_.Certificate("admin")}) {
    const auto admin = As(showing);
    EXPECT_EQ(Session(*admin)["identity"], "admin");
    EXPECT_EQ(admin->Post("/console/api/rate", R"({"crawl_rate_per_second": 1})", kJson)->status,
              200);
  }
  const auto site = As(server_.Token("site"));
  EXPECT_EQ(site->Get("/console/api/page?url=http://host0.test/0")->status, 200);
  EXPECT_EQ(site->Get("/console/api/page?url=http://host1.test/1")->status, 403);
  EXPECT_EQ(site->Get("/console/api/overview")->status, 403);
}

// Regression: the overview showed the last twenty URLs each second, although tenants must not see
// the URLs of others.
TEST(OpenConsole, ShowsFiguresAndNobodysPagesOrWorkers) {
  GuardedServer server({{"worker", "    roles: [worker, ingester]\n"}},
                       [](ServerConfig* config) { config->auth_open = {"console"}; });
  server->Use(server.Open(server.Token("worker")));
  server->UpsertMany(2, 2);
  EXPECT_EQ(server->Next(1, /*wait_ms=*/10'000).assignments_size(), 1);
  httplib::Client anybody("https://" + server->info.http_address);
  anybody.set_ca_cert_path(server.path("ca.pem"));
  for (const char* path : {"/console/api/overview", "/status.json", "/console/api/workers"}) {
    const httplib::Result shown = anybody.Get(path);
    ASSERT_TRUE(shown);
    EXPECT_EQ(shown->status, 200);
    EXPECT_THAT(shown->body, Not(HasSubstr("host0.test/"))) << path;
    EXPECT_THAT(shown->body, Not(HasSubstr("host1.test/"))) << path;
    EXPECT_THAT(shown->body, Not(HasSubstr("identity"))) << path;
  }
  EXPECT_EQ(json::parse(anybody.Get("/console/api/overview")->body)["pages"], 2);
}

TEST_F(GuardedConsole, ASignedInBrowserIsNoToolOfOtherSites) {
  const auto admin = As(server_.Token("admin"));
  const auto from = [&](const std::string& origin) {
    return admin->Post("/console/api/pause", {{"Origin", origin}}, "{}", kJson)->status;
  };
  EXPECT_EQ(from("https://evil.example"), 403);
  EXPECT_EQ(from("null"), 403);
  EXPECT_EQ(from("https://" + server_->info.http_address), 200);
  EXPECT_EQ(admin->Get("/console/api/session", {{"Sec-Fetch-Site", "cross-site"}})->status, 403);
  EXPECT_EQ(admin->Get("/console/api/session")->status, 200);
}

// A client from the network cannot claim to be the console or another server of the cluster. A real
// server might show the key of an earlier run, so the status tells the caller to try again.
TEST_F(GuardedConsole, NobodyElseSpeaksForOthers) {
  grpc::ClientContext call;
  call.AddMetadata("freshet-inside-bin", std::string(32, 'x'));
  call.AddMetadata("freshet-authorization-bin", "Bearer admin-token");
  v1::WhoAmIResponse response;
  const grpc::Status status =
      v1::AuthService::NewStub(server_.Open(server_.Token("reader")))->WhoAmI(&call, {}, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  EXPECT_EQ(response.identity(), "");
}

}  // namespace
}  // namespace freshet
