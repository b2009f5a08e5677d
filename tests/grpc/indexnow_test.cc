// Tests IndexNow pings, from the HTTP port to the pages.
#include <thread>

#include "httplib.h"
#include "tests/grpc/test_server.h"

namespace freshet {
namespace {

using testing::HasSubstr;

constexpr const char* kKey = "0123456789abcdef";

void TakePings(ServerConfig* config) {
  config->indexnow.enabled = true;
  config->indexnow.verify_keys = false;
}

// Sends pings as a site would.
class Pinger {
 public:
  explicit Pinger(const TestServer& server) : client_("http://" + server.info.http_address) {}

  httplib::Result Get(const std::string& url, const std::string& key = kKey) {
    return client_.Get("/indexnow?url=" + url + "&key=" + key);
  }
  httplib::Result Post(const std::string& body) {
    return client_.Post("/indexnow", body, "application/json; charset=utf-8");
  }
  // Pings with pages [first, last) of TestServer::Url, all on one host.
  httplib::Result PostMany(int first, int last) {
    std::string urls;
    for (int i = first; i < last; ++i) {
      urls += (urls.empty() ? "\"" : ",\"") + TestServer::Url(i, 1) + "\"";
    }
    return Post(R"({"host": "host0.test", "key": "0123456789abcdef", "urlList": [)" + urls + "]}");
  }

 private:
  httplib::Client client_;
};

int StatusOf(const httplib::Result& result) { return result ? result->status : 0; }

std::string Metric(const TestServer& server, const std::string& name) {
  const auto result = httplib::Client("http://" + server.info.http_address).Get("/metrics");
  if (!result) return "";
  const size_t found = result->body.find("\n" + name + " ");
  if (found == std::string::npos) return "";
  const size_t begin = found + name.size() + 2;
  return result->body.substr(begin, result->body.find('\n', begin) - begin);
}

TEST(IndexNow, IsOffUnlessSwitchedOn) {
  TestServer server;
  EXPECT_EQ(StatusOf(Pinger(server).Get("http://host0.test/0")), 404);
  EXPECT_EQ(StatusOf(Pinger(server).Post("{}")), 404);
}

TEST(IndexNow, PingsAreSignals) {
  TestServer server(TakePings);
  server.UpsertMany(2000, 1);
  Pinger pinger(server);
  const auto one = pinger.Get(TestServer::Url(7, 1));
  ASSERT_EQ(StatusOf(one), 200) << one->body;
  EXPECT_THAT(one->body, HasSubstr("1 page told, 0 unknown"));
  const auto many = pinger.PostMany(0, 2010);
  ASSERT_EQ(StatusOf(many), 200) << many->body;
  EXPECT_THAT(many->body, HasSubstr("2000 pages told, 10 unknown, 0 new"));
  EXPECT_EQ(server.Statistics().ingest().signals_applied(), 2001U);
  EXPECT_EQ(Metric(server, "freshet_source_signals_total{source=\"indexnow\"}"), "2011");
  EXPECT_EQ(Metric(server, "freshet_indexnow_urls_total{outcome=\"applied\"}"), "2001");
  EXPECT_EQ(Metric(server, "freshet_indexnow_requests_total{status=\"200\"}"), "2");
}

TEST(IndexNow, TakesTenThousandUrlsAndNoMore) {
  TestServer server(TakePings);
  server.UpsertMany(100, 1);
  Pinger pinger(server);
  const auto most = pinger.PostMany(0, 10'000);
  ASSERT_EQ(StatusOf(most), 200);
  EXPECT_THAT(most->body, HasSubstr("100 pages told, 9900 unknown"));
  EXPECT_EQ(StatusOf(pinger.PostMany(0, 10'001)), 400);
  // The limit on the body's size applies whatever the content.
  EXPECT_EQ(StatusOf(pinger.Post(std::string((1 << 20) + 1, ' '))), 413);
  EXPECT_EQ(server.Statistics().ingest().signals_applied(), 100U);
}

TEST(IndexNow, WhatIsWrongIsRefusedAsAWhole) {
  TestServer server(TakePings);
  server.UpsertMany(10, 1);
  Pinger pinger(server);
  EXPECT_EQ(StatusOf(pinger.Get("http://host0.test/0", "short")), 422);
  EXPECT_EQ(StatusOf(pinger.Post("{\"host\": ")), 400);
  EXPECT_EQ(StatusOf(pinger.Post(
                R"({"host": "host0.test", "key": "0123456789",
                    "urlList": ["http://host0.test/0", "http://host1.test/1"]})")),
            422);
  EXPECT_EQ(server.Statistics().ingest().signals_applied(), 0U);
  EXPECT_EQ(StatusOf(httplib::Client("http://" + server.info.http_address).Head("/indexnow")), 405);
}

TEST(IndexNow, UnknownPagesAreMadeWhereThatIsWanted) {
  TestServer server([](ServerConfig* config) {
    TakePings(config);
    config->indexnow.create_pages = true;
    config->indexnow.crawl_id = "pings";
  });
  const auto many = Pinger(server).PostMany(0, 1500);
  ASSERT_EQ(StatusOf(many), 200);
  EXPECT_THAT(many->body, HasSubstr("0 pages told, 0 unknown, 1500 new"));
  EXPECT_EQ(server.Statistics().pages().pages(), 1500U);
  EXPECT_EQ(server.Get(TestServer::Url(3, 1), "pings").page().url(), TestServer::Url(3, 1));
}

TEST(IndexNow, FloodsAreToldToWait) {
  TestServer server([](ServerConfig* config) {
    TakePings(config);
    config->items_per_second_of_source["indexnow"] = 100;
  });
  server.UpsertMany(1000, 1);
  Pinger pinger(server);
  EXPECT_EQ(StatusOf(pinger.PostMany(0, 1000)), 200);
  const auto second = pinger.PostMany(0, 1000);
  ASSERT_EQ(StatusOf(second), 429);
  const int wait = std::stoi(second->get_header_value("Retry-After"));
  EXPECT_GE(wait, 5);
  EXPECT_LE(wait, 10);
  EXPECT_EQ(server.Statistics().ingest().signals_applied(), 1000U);
}

TEST(IndexNow, ClientsHaveARateToo) {
  TestServer server([](ServerConfig* config) {
    TakePings(config);
    config->items_per_second_per_client = 10;
  });
  Pinger pinger(server);
  EXPECT_EQ(StatusOf(pinger.PostMany(0, 1000)), 200);
  const auto second = pinger.Get("http://host0.test/0");
  EXPECT_EQ(StatusOf(second), 429);
  EXPECT_THAT(second->body, HasSubstr("may send 10 items a second"));
}

TEST(IndexNow, KeysAreLookedUp) {
  httplib::Server host;
  host.Get(std::string("/") + kKey + ".txt", [](const auto& request, auto& answer) {
    // The key file is requested under the name of the host, although the test serves it elsewhere.
    const bool own = request.get_header_value("Host").starts_with("host0.test");
    answer.set_content(own ? kKey : "", "text/plain");
  });
  const int port = host.bind_to_any_port("127.0.0.1");
  std::thread thread([&host] { host.listen_after_bind(); });
  TestServer server([port](ServerConfig* config) {
    config->indexnow.enabled = true;
    config->indexnow.test_key_port = port;
  });
  server.UpsertMany(100, 1);
  Pinger pinger(server);
  EXPECT_EQ(StatusOf(pinger.PostMany(0, 100)), 202);
  EXPECT_TRUE(Eventually([&] { return server.Statistics().ingest().signals_applied() == 100; }));
  EXPECT_EQ(StatusOf(pinger.Get(TestServer::Url(1, 1))), 200);
  // The server soon finds out that a key is wrong.
  EXPECT_TRUE(Eventually(
      [&] { return StatusOf(pinger.Get(TestServer::Url(2, 1), "not-the-key")) == 403; }));
  EXPECT_TRUE(Eventually([&] { return StatusOf(pinger.Get("http://host1.test/0")) == 403; }));
  EXPECT_EQ(server.Statistics().ingest().signals_applied(), 101U);
  EXPECT_EQ(Metric(server, "freshet_indexnow_key_checks_total{outcome=\"bad\"}"), "2");
  // Pings with a wrong key do not count against the source's budget.
  EXPECT_EQ(Metric(server, "freshet_source_signals_total{source=\"indexnow\"}"), "101");
  host.stop();
  thread.join();
}

TEST(IndexNow, KeysAreNotLookedForOnThisMachine) {
  TestServer server([](ServerConfig* config) { config->indexnow.enabled = true; });
  Pinger pinger(server);
  for (const char* url : {"http://localhost/", "http://127.0.0.1/", "http://169.254.169.254/x"}) {
    EXPECT_TRUE(Eventually([&] { return StatusOf(pinger.Get(url)) == 403; })) << url;
  }
}

TEST(IndexNow, GoesOnAfterARestart) {
  TestServer server(TakePings);
  server.UpsertMany(10, 1);
  EXPECT_EQ(StatusOf(Pinger(server).PostMany(0, 10)), 200);
  server.Restart();
  EXPECT_EQ(StatusOf(Pinger(server).PostMany(0, 10)), 200);
}

}  // namespace
}  // namespace freshet
