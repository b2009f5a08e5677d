// Tests answers of the HTTP port, and the parsers of requests.
#include "server/ops/http.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/raw_client.h"

namespace freshet {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

std::string Get(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
}
std::string Post(const std::string& body, const std::string& fields = "Host: localhost\r\n") {
  return "POST /annotations HTTP/1.1\r\n" + fields +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

class HttpTest : public ::testing::Test {
 protected:
  HttpTest() {
    const StatusOr<int> port = port_.Start("127.0.0.1:0");
    EXPECT_TRUE(port.ok()) << port.status();
    number_ = port.value_or(0);
  }
  RawClient::Answer Ask(const std::string& request) {
    return RawClient(number_, request).ReadAnswer();
  }

  HttpOptions Guarded() {
    HttpOptions options;
    options.guard = MakeGuard(authoriser_, "127.0.0.1:0");
    return options;
  }

  std::string posted_;
  Authoriser authoriser_{{}, false};
  HttpPort port_{MakeRoutes({.metrics = [] { return std::string("freshet_up 1\n"); },
                             .status_json = [] { return std::string("{}"); },
                             .annotate =
                                 [this](const std::string& body) {
                                   posted_ = body;
                                   return body == "{}" ? absl::OkStatus()
                                                       : InvalidArgument("not an object");
                                 },
                             .healthy = [] { return true; },
                             .not_ready = [](bool standby_counts) -> std::string {
                               return standby_counts ? "" : "loading";
                             }},
                            "127.0.0.1:0"),
                 Guarded()};
  int number_ = 0;
};

TEST_F(HttpTest, AnswersProbes) {
  EXPECT_EQ(Ask(Get("/healthz")).status(), 200);
  const RawClient::Answer ready = Ask(Get("/readyz"));
  EXPECT_EQ(ready.status(), 503);
  EXPECT_EQ(ready.body, "loading\n");
  EXPECT_EQ(Ask(Get("/readyz?standby=true")).status(), 200);
  EXPECT_EQ(Ask(Get("/readyz?standby=false")).status(), 503);
  EXPECT_EQ(Ask(Get("/readyz?standby=%zz")).status(), 503);
  EXPECT_EQ(Ask(Get("/nothing")).status(), 404);
}

TEST_F(HttpTest, ServesMetricsAndStatus) {
  const RawClient::Answer metrics = Ask(Get("/metrics?debug=1"));
  EXPECT_EQ(metrics.body, "freshet_up 1\n");
  EXPECT_THAT(metrics.head, HasSubstr("Content-Type: text/plain; version=0.0.4"));
  const RawClient::Answer status = Ask(Get("/status.json"));
  EXPECT_EQ(status.body, "{}");
  EXPECT_THAT(status.head, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_THAT(status.head, HasSubstr("Cache-Control: no-store\r\n"));
}

TEST_F(HttpTest, TakesAnnotationsOfThisMachine) {
  EXPECT_EQ(Ask(Post("{}")).status(), 204);
  EXPECT_EQ(posted_, "{}");
  const RawClient::Answer refused = Ask(Post("[]"));
  EXPECT_EQ(refused.status(), 400);
  EXPECT_EQ(refused.body, "not an object\n");
  EXPECT_EQ(Ask(Get("/annotations")).status(), 405);
}

TEST_F(HttpTest, TakesNoAnnotationsOfForeignPages) {
  EXPECT_EQ(Ask(Post("{}", "Host: rebound.example:7072\r\n")).status(), 403);
  EXPECT_EQ(Ask(Post("{}", "Host: localhost\r\nOrigin: http://evil.example\r\n")).status(), 403);
  EXPECT_EQ(posted_, "");
}

// The name of a foreign site can resolve to this server. Requests then have this name, in any form.
TEST_F(HttpTest, TakesTheNameThatARequestIsFor) {
  const auto status = [this](const std::string& target, const std::string& host) {
    return Ask("GET " + target + " HTTP/1.1\r\n" + host + "\r\n").status();
  };
  EXPECT_EQ(status("/metrics", "Host: localhost\r\n"), 200);
  EXPECT_EQ(status("/metrics", "Host: evil.example\r\n"), 403);
  EXPECT_EQ(status("http://localhost/metrics", "Host: localhost\r\n"), 200);
  EXPECT_EQ(status("http://evil.example/metrics", "Host: localhost\r\n"), 403);
  EXPECT_EQ(status("HTTP://evil.example?/metrics", "Host: localhost\r\n"), 404) << "the path is /";
  EXPECT_EQ(status("https://evil.example/metrics", "Host: localhost\r\n"), 403);
  for (const char* none : {"Host:\r\n", "Host:   \r\n", ""}) {
    EXPECT_EQ(status("/metrics", none), 400) << none;
    EXPECT_EQ(status("/healthz", none), 400) << none;
  }
  for (const char* odd : {"http:///metrics", "http://localhost@evil.example/metrics",
                          "http:/metrics", "ftp://localhost/metrics", "//localhost/metrics"}) {
    EXPECT_THAT(status(odd, "Host: localhost\r\n"), AnyOf(400, 404)) << odd;
  }
  // A request of HTTP/1.0 need not name a host. Browsers do not use HTTP/1.0.
  EXPECT_EQ(Ask("GET /healthz HTTP/1.0\r\n\r\n").status(), 200);
  EXPECT_EQ(Ask("GET /metrics HTTP/1.0\r\n\r\n").status(), 403);
  EXPECT_EQ(Ask("GET /metrics HTTP/1.0\r\nHost:\r\n\r\n").status(), 403);
}

TEST(WhyForeign, AsksForThisMachineByAnAddressOrItsName) {
  const auto allowed = [](const std::string& peer, const HttpFields& fields) {
    return WhyForeign({.fields = fields, .peer = peer}, "crawler.internal").empty();
  };
  EXPECT_TRUE(allowed("127.0.0.1", {{"Host", "127.0.0.1:7072"}}));
  EXPECT_TRUE(allowed("::1", {{"host", "[::1]:7072"}}));
  EXPECT_TRUE(allowed("::ffff:127.0.0.1", {{"Host", "LOCALHOST"}}));
  EXPECT_TRUE(allowed("127.0.0.1", {{"Host", "crawler.internal:7072"}}));
  EXPECT_TRUE(
      allowed("127.0.0.1", {{"Host", "localhost:7072"}, {"Origin", "http://localhost:7072"}}));
  EXPECT_FALSE(allowed("10.0.0.7", {{"Host", "localhost"}}));
  EXPECT_FALSE(allowed("127.0.0.1", {{"Host", "127.evil.example"}}));
  EXPECT_FALSE(allowed("127.0.0.1", {{"Host", "127.0.0.1.evil.example:7072"}}));
  EXPECT_FALSE(allowed("127.0.0.1", {}));
  EXPECT_FALSE(allowed("127.0.0.1", {{"Host", "localhost"}, {"Origin", "null"}}));
  EXPECT_FALSE(
      allowed("127.0.0.1", {{"Host", "localhost:7072"}, {"Origin", "http://localhost:8080"}}));
  EXPECT_FALSE(allowed("127.0.0.1", {{"Host", "localhost"}, {"Sec-Fetch-Site", "cross-site"}}));
}

TEST(IsLoopback, KnowsAddressesOnly) {
  for (const char* yes : {"127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(IsLoopback(yes)) << yes;
  }
  for (const char* no :
       {"", "127.", "127.evil.test", "128.0.0.1", "::2", "localhost", "10.0.0.1"}) {
    EXPECT_FALSE(IsLoopback(no)) << no;
  }
}

}  // namespace
}  // namespace freshet
