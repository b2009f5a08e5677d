// Tests the routes of the console: its files, valid requests, and who may change something.
#include "server/ops/console.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "server/auth/methods.h"
#include "server/ops/console_files.h"
#include "server/ops/http.h"
#include "server/ops/source_verdict.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<HttpRoute> Routes() {
  return MakeConsoleRoutes(
      {.overview = [] { return std::string("{}"); },
       .history = [](const HistoryQuery& query) { return std::to_string(query.window); },
       .workers = [] { return std::string("{}"); },
       .calls = []() -> ConsoleCalls* { return nullptr; },
       .guarded = [] { return false; }},
      "127.0.0.1:0");
}

HttpResponse Ask(HttpRequest request) {
  static const std::vector<HttpRoute> kRoutes = Routes();
  request.peer = "127.0.0.1";
  HttpResponse refusal;
  const HttpRoute* route = FindRoute(kRoutes, request, &refusal);
  return route == nullptr ? refusal : route->answer(request);
}
HttpRequest ConsoleGet(const std::string& path, const std::string& query = "") {
  return {.method = "GET", .path = path, .query = query, .fields = {{"Host", "localhost"}}};
}
std::string FieldOf(const HttpResponse& response, std::string_view name) {
  for (const auto& [field, value] : response.fields) {
    if (field == name) return value;
  }
  return "";
}

TEST(ConsoleFiles, LoadNothingFromElsewhereAndRunNoTextOfThePage) {
  for (const ConsoleFile& file : ConsoleFiles()) {
    const HttpResponse response = Ask(ConsoleGet("/console/" + std::string(file.name)));
    EXPECT_EQ(response.status, 200) << file.name;
    EXPECT_EQ(*response.body, file.text);
    const std::string policy = FieldOf(response, "Content-Security-Policy");
    EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
    EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
    EXPECT_EQ(FieldOf(response, "X-Frame-Options"), "DENY");
  }
  const std::string page = *Ask(ConsoleGet("/")).body;
  EXPECT_THAT(page, HasSubstr("<title>Freshet</title>"));
  EXPECT_THAT(page, Not(HasSubstr("<script>")));
  EXPECT_THAT(page, Not(HasSubstr("style=")));
  EXPECT_THAT(page, Not(HasSubstr("http")));
}

// Text that a client has named never becomes markup.
TEST(ConsoleFiles, MakeNoMarkupOfText) {
  for (const ConsoleFile& file : ConsoleFiles()) {
    if (file.name == "chart.min.js") continue;
    for (const char* way :
         {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("}) {
      EXPECT_THAT(std::string(file.text), Not(HasSubstr(way))) << file.name;
    }
  }
}

TEST(ConsoleFiles, AreNotSentAgainToWhoeverHasThem) {
  const HttpResponse first = Ask(ConsoleGet("/console/main.js"));
  HttpRequest again = ConsoleGet("/console/main.js");
  again.fields.emplace_back("If-None-Match", FieldOf(first, "ETag"));
  const HttpResponse second = Ask(again);
  EXPECT_EQ(second.status, 304);
  EXPECT_EQ(second.body, nullptr);
}

TEST(ConsoleRoutes, AllHaveARule) {
  for (const HttpRoute& route : Routes()) {
    const bool file = route.path.starts_with("/console/") && !route.path.starts_with(kConsoleApi);
    const MethodRule* rule = FindMethod(file ? "http:/console/" : "http:" + route.path);
    ASSERT_NE(rule, nullptr) << route.path;
    EXPECT_NE(rule->roles, 0) << route.path;
    // Paths that change something always need an identity.
    if (route.post) {
      EXPECT_EQ(rule->open_as, "") << route.path;
    }
  }
}

TEST(ConsoleHistory, TakesSpansAndNamesWhatIsWrong) {
  const auto window = [](const std::string& query) {
    return *Ask(ConsoleGet("/console/api/history", query)).body;
  };
  EXPECT_EQ(window(""), "900");
  EXPECT_EQ(window("window=6h"), "21600");
  EXPECT_EQ(window("window=30d&since=12"), "2592000");
  EXPECT_EQ(window("window=90s"), "90");
  for (const char* bad :
       {"window=", "window=31d", "window=-1", "window=9223372036854775807d", "window=x"}) {
    EXPECT_THAT(window(bad), HasSubstr("window: must be from 1s to 30d")) << bad;
    EXPECT_EQ(Ask(ConsoleGet("/console/api/history", bad)).status, 400) << bad;
  }
  EXPECT_THAT(window("since=soon"), HasSubstr("since: must be a time"));
  EXPECT_THAT(window("until=5"), HasSubstr("until: is not a parameter"));
  EXPECT_THAT(window("window=1h&window=2h"), HasSubstr("window: is given twice"));
}

TEST(ConsoleChanges, ComeFromTheServersOwnPageAsJson) {
  const auto post = [](const HttpFields& fields) {
    return Ask({.method = "POST", .path = "/console/api/rate", .fields = fields, .body = "{}"});
  };
  const std::pair<std::string, std::string> host = {"Host", "localhost:7072"};
  const std::pair<std::string, std::string> type = {"Content-Type",
                                                    "application/json; charset=utf-8"};
  // The server accepts the request, but does not serve yet.
  EXPECT_EQ(post({host, type}).status, 503);
  EXPECT_EQ(post({host, type, {"Origin", "http://localhost:7072"}}).status, 503);
  EXPECT_EQ(post({host}).status, 415);
  EXPECT_EQ(post({host, {"Content-Type", "text/plain"}}).status, 415);
  EXPECT_EQ(post({host, type, {"Origin", "http://evil.example"}}).status, 403);
  EXPECT_EQ(post({host, type, {"Sec-Fetch-Site", "cross-site"}}).status, 403);
  EXPECT_EQ(post({{"Host", "rebound.example"}, type}).status, 403);
  EXPECT_EQ(Ask(ConsoleGet("/console/api/rate")).status, 405);
}

// With identities, operators may connect from other machines and use the server's name there.
TEST(ConsoleChanges, WithIdentitiesTheOriginIsAskedForAlone) {
  const HttpRequest far = {
      .fields = {{"Host", "crawl.internal"}, {"Origin", "https://crawl.internal"}},
      .peer = "10.0.0.7",
      .secure = true};
  EXPECT_EQ(WhyNoChange(far, true, "0.0.0.0"), "");
  EXPECT_EQ(WhyNoChange(far, false, "0.0.0.0"), "only from this machine");
  HttpRequest foreign = far;
  foreign.fields[1].second = "https://evil.example";
  EXPECT_EQ(WhyNoChange(foreign, true, "0.0.0.0"), "not from a page of another origin");
}

TEST(WhyUnseen, SitesThatPointTheirNameHereReadNothing) {
  const auto why = [](const std::string& path, const std::string& host, const std::string& listen) {
    return WhyUnseen({.path = path}, {.fields = {{"Host", host}}}, listen);
  };
  for (const char* path : {"/console/api/overview", "/metrics", "/status.json", "/", "/console/"}) {
    for (const char* listen : {"127.0.0.1", "0.0.0.0", "::", "crawl.internal"}) {
      for (const char* host : {"localhost:7072", "LOCALHOST", "[::1]:7072", "127.0.0.1", "10.0.0.7",
                               "[2001:db8::1]:7072"}) {
        EXPECT_EQ(why(path, host, listen), "") << path << host << listen;
      }
      for (const char* host :
           {"rebound.example", "rebound.example:7072", "127.0.0.1.rebound.example", "freshet.",
            "localhost.rebound.example", "svc.example", "xlocal.example", ""}) {
        EXPECT_NE(why(path, host, listen), "") << path << host << listen;
      }
    }
    EXPECT_EQ(why(path, "crawl.example.org:7072", "crawl.example.org"), "") << path;
    EXPECT_NE(why(path, "crawl.example.org:7072", "0.0.0.0"), "") << path;
    // Prometheus uses the name of a container or a service.
    for (const char* local : {"freshet:7072", "freshet.crawl.svc:7072", "Crawl.Internal",
                              "freshet-0.freshet.crawl.svc.cluster.local:7072"}) {
      EXPECT_EQ(why(path, local, "0.0.0.0"), "") << path << local;
      EXPECT_NE(why(path, local, "127.0.0.1"), "") << path << local;
    }
  }
  // The server answers to names that operators configured, but not to names below them.
  const std::vector<std::string> names = {"crawl.example.org"};
  const auto named = [&names](const std::string& host) {
    return WhyUnseen({.path = "/metrics"}, {.fields = {{"Host", host}}}, "127.0.0.1", names);
  };
  EXPECT_EQ(named("Crawl.Example.org:7072"), "");
  EXPECT_NE(named("a.crawl.example.org:7072"), "");
  // Probes and pings work under any name and reveal nothing.
  for (const char* path : {"/healthz", "/readyz", "/indexnow"}) {
    EXPECT_EQ(why(path, "rebound.example", "127.0.0.1"), "") << path;
  }
}

// If there are identities, even paths that need no identity need a known name.
TEST(MakeGuard, WhatNeedsNoIdentityIsNotShownByAnyName) {
  const auto status = [](Authoriser& authoriser, const std::string& path, const std::string& host,
                         const std::string& token = {}, bool secure = false) {
    HttpRequest request{.fields = {{"Host", host}}, .secure = secure};
    if (!token.empty()) request.fields.emplace_back("Authorization", "Bearer " + token);
    const auto refusal =
        MakeGuard(authoriser, "0.0.0.0:7072", {"named.example"})({.path = path}, request);
    return refusal ? refusal->status : 200;
  };
  Authoriser none({}, false);
  Authoriser some({"console", "metrics"}, false);
  StatusOr<Identities> identities = Identities::Parse(
      "identities: [{name: r, roles: [reader], token_sha256: " + HexOf(DigestOf("r")) + "}]");
  ASSERT_TRUE(identities.ok());
  some.SetIdentities(*std::move(identities));
  for (Authoriser* authoriser : {&none, &some}) {
    for (const char* path : {"/metrics", "/status.json", "/console/api/trust", "/"}) {
      EXPECT_EQ(status(*authoriser, path, "rebound.example"), 403) << path;
      EXPECT_EQ(status(*authoriser, path, "10.0.0.7:7072"), 200) << path;
      EXPECT_EQ(status(*authoriser, path, "freshet:7072"), 200) << path;
      EXPECT_EQ(status(*authoriser, path, "named.example:7072"), 200) << path;
      // With TLS, any name is accepted, because a foreign site has no certificate for its name at
      // this server.
      EXPECT_EQ(status(*authoriser, path, "crawl.example.org", "", true), 200) << path;
    }
    EXPECT_EQ(status(*authoriser, "/healthz", "rebound.example"), 200);
  }
  // A browser sends the token only to the site that it belongs to, so pages with an identity need
  // no check of names.
  EXPECT_EQ(status(some, "/console/api/page", "crawl.example.org"), 401);
  EXPECT_EQ(status(some, "/console/api/page", "crawl.example.org", "r"), 200);
}

v1::SourceTrust* AddTrust(const std::string& source, double signals, double precision,
                          double recall, v1::GetTrustReportResponse* report) {
  v1::SourceTrust* trust = report->add_sources();
  trust->set_source(source);
  trust->set_signals(signals);
  trust->mutable_precision()->set_value(precision);
  trust->mutable_precision()->set_low(precision - 0.05);
  trust->mutable_precision()->set_high(precision + 0.05);
  trust->set_recall(recall);
  return trust;
}

TEST(SourceVerdict, SaysWhatToThinkOfASource) {
  v1::GetTrustReportResponse report;
  AddTrust("cdn", 300, 0.9, 0.5, &report);
  AddTrust("cdn", 100, 0.7, 0.3, &report);
  AddTrust("feed", 5, 0.9, 0.1, &report);
  AddTrust("ping", 1000, 0.1, 0.02, &report);
  AddTrust("sitemap", 100, 0.3, 0.2, &report);
  v1::HostTrust* host = report.add_hosts();
  host->set_source("ping");
  host->mutable_quarantined_since()->set_seconds(1);
  host = report.add_hosts();
  host->set_source("push");
  host->set_signals(50);
  host->mutable_precision()->set_value(0.6);
  const std::vector<SourceVerdict> verdicts = VerdictsOf(report);
  ASSERT_EQ(verdicts.size(), 5u);
  EXPECT_EQ(verdicts[0].grade, "reliable");
  EXPECT_NEAR(verdicts[0].precision, 0.85, 1e-9);
  EXPECT_NEAR(verdicts[0].recall, 0.8, 1e-9);
  EXPECT_THAT(verdicts[0].words, HasSubstr("Reliable: 85% of its signals stand for a change (80% "
                                           "to 90%). It announces most changes (80%)."));
  EXPECT_EQ(verdicts[1].grade, "unproven");
  EXPECT_THAT(verdicts[1].words, HasSubstr("Too early to judge: 5 signals"));
  EXPECT_EQ(verdicts[2].grade, "noise");
  EXPECT_THAT(verdicts[2].words, HasSubstr("In quarantine at 1 host,"));
  EXPECT_EQ(verdicts[3].grade, "weak");
  // This verdict is only about hosts, and its recall is not known.
  EXPECT_EQ(verdicts[4].grade, "useful");
  EXPECT_EQ(verdicts[4].words, "Useful: 60% of its signals stand for a change (0% to 0%).");
}

}  // namespace
}  // namespace freshet
