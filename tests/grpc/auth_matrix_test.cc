// Tests every method of every service, and every path of the HTTP port, with every role and every
// kind of proof. The test repeats the list of rights, so that each new method and each changed rule
// is checked twice.
#include <grpcpp/generic/generic_stub.h>

#include <csignal>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "httplib.h"
#include "server/auth/methods.h"
#include "tests/grpc/guarded_server.h"
#include "urlfrontier/urlfrontier.pb.h"

namespace freshet {
namespace {

using grpc::StatusCode;

// The roles that may call: w(orker), i(ngester), r(eader), a(dmin); * = everybody, without an
// identity.
const std::map<std::string, std::string>& Expected() {
  static const std::map<std::string, std::string> kExpected = {
      {"freshet.v1.SchedulerService/Crawl", "wa"},
      {"freshet.v1.SchedulerService/Next", "wa"},
      {"freshet.v1.IngestService/ReportCrawls", "wa"},
      {"freshet.v1.IngestService/SignalChanges", "ia"},
      {"freshet.v1.PagesService/UpsertPages", "ia"},
      {"freshet.v1.PagesService/RemovePages", "ia"},
      {"freshet.v1.PagesService/RecheckPages", "ia"},
      {"freshet.v1.PagesService/GetPage", "ra"},
      {"freshet.v1.PagesService/ListPages", "ra"},
      {"freshet.v1.PagesService/ExportPages", "ra"},
      {"freshet.v1.AdminService/GetCrawlRate", "ra"},
      {"freshet.v1.AdminService/SetCrawlRate", "a"},
      {"freshet.v1.AdminService/GetFleet", "ra"},
      {"freshet.v1.AdminService/DrainNode", "a"},
      {"freshet.v1.AdminService/GetPolicy", "ra"},
      {"freshet.v1.AdminService/SetPolicy", "a"},
      {"freshet.v1.AdminService/GetHost", "ra"},
      {"freshet.v1.AdminService/SetHostPoliteness", "a"},
      {"freshet.v1.AdminService/GetPolitenessDefaults", "ra"},
      {"freshet.v1.AdminService/SetPolitenessDefaults", "a"},
      {"freshet.v1.AdminService/Pause", "a"},
      {"freshet.v1.AdminService/Resume", "a"},
      {"freshet.v1.AdminService/RunEpoch", "a"},
      {"freshet.v1.AdminService/CreateCheckpoint", "a"},
      {"freshet.v1.AdminService/CompactStore", "a"},
      {"freshet.v1.AdminService/GetStatistics", "ra"},
      {"freshet.v1.AdminService/GetTrustReport", "ra"},
      {"freshet.v1.AdminService/RegisterSource", "a"},
      {"freshet.v1.AdminService/UnregisterSource", "a"},
      {"freshet.v1.AdminService/ListSources", "ra"},
      {"freshet.v1.AdminService/ListCrawls", "ra"},
      {"freshet.v1.AdminService/SetCrawl", "a"},
      {"freshet.v1.AdminService/DeleteCrawl", "a"},
      {"freshet.v1.AdminService/ReportShadow", "ra"},
      {"freshet.v1.AdminService/ListHosts", "ra"},
      {"freshet.v1.AdminService/DeleteHost", "a"},
      {"freshet.v1.AdminService/GetLogLevels", "ra"},
      {"freshet.v1.AdminService/SetLogLevel", "a"},
      {"freshet.v1.AdminService/ListAudit", "a"},
      {"freshet.v1.AuthService/WhoAmI", "wira"},
      {"urlfrontier.URLFrontier/GetURLs", "wa"},
      {"urlfrontier.URLFrontier/PutURLs", "wia"},
      {"urlfrontier.URLFrontier/PutDiscovered", "wia"},
      {"urlfrontier.URLFrontier/BlockQueueUntil", "wa"},
      {"urlfrontier.URLFrontier/SetDelay", "wa"},
      {"urlfrontier.URLFrontier/ListNodes", "wira"},
      {"urlfrontier.URLFrontier/GetActive", "wra"},
      {"urlfrontier.URLFrontier/ListCrawls", "ra"},
      {"urlfrontier.URLFrontier/ListQueues", "ra"},
      {"urlfrontier.URLFrontier/GetStats", "ra"},
      {"urlfrontier.URLFrontier/GetURLStatus", "ra"},
      {"urlfrontier.URLFrontier/ListURLs", "ra"},
      {"urlfrontier.URLFrontier/CountURLs", "ra"},
      {"urlfrontier.URLFrontier/SetActive", "a"},
      {"urlfrontier.URLFrontier/SetCrawlLimit", "a"},
      {"urlfrontier.URLFrontier/DeleteCrawl", "a"},
      {"urlfrontier.URLFrontier/DeleteQueue", "a"},
      {"urlfrontier.URLFrontier/PurgeURLs", "a"},
      {"urlfrontier.URLFrontier/SetLogLevel", "a"},
      {"grpc.health.v1.Health/Check", "*"},
      {"grpc.health.v1.Health/Watch", "*"},
      {"grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "wira"},
  };
  return kExpected;
}

const std::map<std::string, std::string>& ExpectedPaths() {
  static const std::map<std::string, std::string> kExpected = {
      {"/", "ra"},
      {"/status.json", "ra"},
      {"/metrics", "ra"},
      {"/healthz", "*"},
      {"/readyz", "*"},
      {"/annotations", "a"},
      {"/indexnow", "ia"},
      {"/console/", "ra"},
      {"/console/api/overview", "ra"},
      {"/console/api/history", "ra"},
      {"/console/api/workers", "ra"},
      {"/console/api/policies", "ra"},
      {"/console/api/sources", "ra"},
      {"/console/api/trust", "ra"},
      {"/console/api/hosts", "ra"},
      {"/console/api/session", "wira"},
      {"/console/api/page", "ra"},
      {"/console/api/recheck", "ia"},
      {"/console/api/rate", "a"},
      {"/console/api/policy", "a"},
      {"/console/api/pause", "a"},
      {"/console/api/resume", "a"},
      {"/console/api/host", "a"},
  };
  return kExpected;
}

constexpr const char* kRoles[] = {"worker", "ingester", "reader", "admin"};

GuardedServer::Written OnePerRole() {
  GuardedServer::Written identities;
  for (const char* role : kRoles) {
    identities.emplace_back(role, "    roles: [" + std::string(role) + "]\n");
  }
  return identities;
}

// Every method that the server answers, as "service/method".
std::set<std::string> MethodsOfServer() {
  std::set<std::string> methods = {"grpc.health.v1.Health/Check", "grpc.health.v1.Health/Watch"};
  const auto* pool = google::protobuf::DescriptorPool::generated_pool();
  std::vector<const google::protobuf::ServiceDescriptor*> services;
  for (const auto* file :
       {v1::CrawlRequest::descriptor()->file(), v1::SignalChangesRequest::descriptor()->file(),
        v1::GetPageRequest::descriptor()->file(), v1::PauseRequest::descriptor()->file(),
        v1::WhoAmIRequest::descriptor()->file(), urlfrontier::URLItem::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) services.push_back(file->service(i));
  }
  services.push_back(pool->FindServiceByName("grpc.reflection.v1alpha.ServerReflection"));
  for (const auto* service : services) {
    for (int i = 0; i < service->method_count(); ++i) {
      methods.insert(service->full_name() + "/" + service->method(i)->name());
    }
  }
  return methods;
}

// Calls a method of any kind with one empty message, and returns the status of the call. SetDelay
// gets a key, because without one it affects all queues and needs an admin
// (tests/grpc/urlfrontier_bounds_test.cc tests both).
grpc::Status TryMethod(const std::shared_ptr<grpc::Channel>& channel, const std::string& method) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  const auto call = stub.PrepareCall(&context, "/" + method, &queue);
  const auto done = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  call->StartCall(nullptr);
  if (done()) {
    const grpc::Slice message(method.ends_with("/SetDelay") ? "\x0a\x01k" : "");
    call->WriteLast(grpc::ByteBuffer(&message, 1), {}, nullptr);
    (void)done();
    grpc::ByteBuffer answer;
    do {
      call->Read(&answer, nullptr);
      // Watch never ends by itself.
      if (method.ends_with("/Watch")) context.TryCancel();
    } while (done());
  }
  grpc::Status status;
  call->Finish(&status, nullptr);
  (void)done();
  return status;
}

bool May(const std::string& who, const std::string& role) {
  return who == "*" || (!role.empty() && who.find(role.front()) != std::string::npos);
}

bool WasLetIn(StatusCode code) {
  return code != StatusCode::UNAUTHENTICATED && code != StatusCode::PERMISSION_DENIED &&
         code != StatusCode::UNAVAILABLE;
}

TEST(AuthMatrix, HasARowForEveryMethod) {
  std::set<std::string> rows;
  for (const auto& [method, who] : Expected()) rows.insert(method);
  EXPECT_EQ(rows, MethodsOfServer());
  std::set<std::string> rules;
  std::set<std::string> paths;
  for (const MethodRule& rule : AllMethods()) {
    // No role may call the methods between servers (cluster_test.cc).
    if (rule.between_servers) continue;
    const std::string path(rule.path);
    (path.starts_with("http:") ? paths : rules)
        .insert(path.substr(path.find('/') + (path[0] == '/')));
  }
  EXPECT_EQ(rules, rows);
  std::set<std::string> http;
  for (const auto& [path, who] : ExpectedPaths()) http.insert(path);
  EXPECT_EQ(paths, http);
}

TEST(AuthMatrix, RightProofsLetInWhomTheirRoleLetsIn) {
  GuardedServer server(OnePerRole());
  for (const std::string role : kRoles) {
    for (const Showing& showing : {server.Token(role), server.Certificate(role)}) {
      const auto channel = server.Open(showing);
      for (const auto& [method, who] : Expected()) {
        const grpc::Status status = TryMethod(channel, method);
        if (May(who, role)) {
          EXPECT_TRUE(WasLetIn(status.error_code()))
              << role << " " << method << ": " << status.error_message();
        } else {
          EXPECT_EQ(status.error_code(), StatusCode::PERMISSION_DENIED) << role << " " << method;
        }
      }
    }
  }
}

TEST(AuthMatrix, NoProofAndWrongOnesLetInNobody) {
  GuardedServer server(OnePerRole());
  for (const Showing& showing :
       {Showing{}, Showing{.token = "wrong"}, server.Certificate("stranger")}) {
    const auto channel = server.Open(showing);
    for (const auto& [method, who] : Expected()) {
      const grpc::Status status = TryMethod(channel, method);
      if (May(who, "")) {
        EXPECT_TRUE(WasLetIn(status.error_code())) << method << ": " << status.error_message();
      } else {
        EXPECT_EQ(status.error_code(), StatusCode::UNAUTHENTICATED) << method;
      }
    }
  }
}

// The handshake refuses clients with these certificates, so no other proof can help them.
TEST(AuthMatrix, CertificatesThatAreNotBelievedEndTheConnection) {
  GuardedServer server(OnePerRole());
  const TestAuthority another;
  for (const std::string role : kRoles) {
    const std::string name = "DNS:" + role + ".test";
    const Showing foreign{.token = role + "-token", .pair = another.Issue({.names = name})};
    const Showing expired{
        .token = role + "-token",
        .pair = server.authority.Issue({.names = name, .from_days = -9, .to_days = -1})};
    for (const Showing& showing : {foreign, expired}) {
      const auto channel = server.Open(showing);
      for (const auto& [method, who] : Expected()) {
        EXPECT_EQ(TryMethod(channel, method).error_code(), StatusCode::UNAVAILABLE) << method;
      }
    }
  }
}

TEST(AuthMatrix, PlainTextAndNoCertificateAreRefusedWhereTheyMustBe) {
  GuardedServer server(
      OnePerRole(), [](ServerConfig* config) { config->tls_client_certificate_required = true; });
  const auto plain =
      grpc::CreateChannel(server->info.grpc_address, grpc::InsecureChannelCredentials());
  const auto bare = server.Open(server.Token("admin"));
  for (const auto& [method, who] : Expected()) {
    EXPECT_EQ(TryMethod(plain, method).error_code(), StatusCode::UNAVAILABLE) << method;
    EXPECT_EQ(TryMethod(bare, method).error_code(), StatusCode::UNAVAILABLE) << method;
  }
  httplib::Client http("http://" + server->info.http_address);
  for (const auto& [path, who] : ExpectedPaths()) EXPECT_FALSE(http.Get(path)) << path;
  EXPECT_EQ(WhoAmI(server.Open(server.Certificate("reader"))), StatusCode::OK);
}

// A method that is missing in the server's table may not be called by anyone.
TEST(AuthMatrix, UnknownMethodsAreNobodys) {
  GuardedServer server(OnePerRole());
  const std::string unknown = "freshet.v1.AdminService/Nothing";
  EXPECT_EQ(TryMethod(server.Open(server.Token("admin")), unknown).error_code(),
            StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(TryMethod(server.Open({}), unknown).error_code(), StatusCode::UNAUTHENTICATED);
}

// --- HTTP

constexpr const char* kKnownUrl = "http://a.test/";

// Bodies for the paths that take a POST.
const std::map<std::string, std::string>& Bodies() {
  static const std::map<std::string, std::string> kBodies = {
      {"/annotations", R"({"a": 1})"},
      {"/console/api/recheck", R"({"urls": ["http://a.test/"]})"},
      {"/console/api/rate", R"({"crawl_rate_per_second": 10})"},
      {"/console/api/policy", R"({"policy": "greedy"})"},
      {"/console/api/pause", "{}"},
      {"/console/api/resume", "{}"},
      {"/console/api/host", R"({"host": "a.test"})"},
  };
  return kBodies;
}

class Browser {
 public:
  Browser(GuardedServer& server, const Showing& showing)
      : pem_(server.path("browser.pem")), key_(server.path("browser.key")) {
    // The HTTP library writes to connections that the server has ended.
    std::signal(SIGPIPE, SIG_IGN);
    if (showing.pair) {
      ReplaceFile(pem_, showing.pair->certificate);
      ReplaceFile(key_, showing.pair->key);
    }
    client_ = std::make_unique<httplib::Client>("https://" + server->info.http_address,
                                                showing.pair ? pem_ : "", showing.pair ? key_ : "");
    client_->set_ca_cert_path(server.path("ca.pem"));
    if (!showing.token.empty()) client_->set_bearer_token_auth(showing.token);
  }
  // Returns the HTTP status; 0 = no answer.
  int Try(const std::string& path) {
    const auto body = Bodies().find(path);
    const httplib::Result result =
        body != Bodies().end()        ? client_->Post(path, body->second, "application/json")
        : path == "/indexnow"         ? client_->Get(path + "?url=http://a.test/&key=12345678")
        : path == "/console/api/page" ? client_->Get(path + "?url=" + kKnownUrl)
                                      : client_->Get(path);
    return result ? result->status : 0;
  }

  int Ping(const httplib::Headers& headers) {
    const auto result = client_->Get("/indexnow?url=http://a.test/&key=12345678", headers);
    return result ? result->status : 0;
  }

 private:
  const std::string pem_;
  const std::string key_;
  std::unique_ptr<httplib::Client> client_;
};

void TakePings(ServerConfig* config) {
  config->indexnow.enabled = true;
  config->indexnow.verify_keys = false;
}

TEST(AuthMatrix, HttpPathsAreForWhomTheirRoleLetsIn) {
  GuardedServer server(OnePerRole(), TakePings);
  server->Use(server.Open(server.Token("admin")));
  v1::UpsertPagesRequest known;
  known.add_pages()->set_url(kKnownUrl);
  (void)server->Upsert(known);
  for (const std::string role : kRoles) {
    for (const Showing& showing : {server.Token(role), server.Certificate(role)}) {
      Browser browser(server, showing);
      for (const auto& [path, who] : ExpectedPaths()) {
        EXPECT_EQ(browser.Try(path) / 100 * 100, May(who, role) ? 200 : 400) << role << path;
        if (!May(who, role)) {
          EXPECT_EQ(browser.Try(path), 403) << role << path;
        }
      }
    }
  }
  for (const Showing& showing :
       {Showing{}, Showing{.token = "wrong"}, server.Certificate("stranger")}) {
    Browser browser(server, showing);
    for (const auto& [path, who] : ExpectedPaths()) {
      EXPECT_EQ(browser.Try(path), May(who, "") ? 200 : 401) << path;
    }
  }
  const TestAuthority another;
  for (const KeyPair& pair :
       {another.Issue({.names = "DNS:admin.test"}),
        server.authority.Issue({.names = "DNS:admin.test", .from_days = -9, .to_days = -1})}) {
    Browser browser(server, {.token = "admin-token", .pair = pair});
    for (const auto& [path, who] : ExpectedPaths()) EXPECT_EQ(browser.Try(path), 0) << path;
  }
}

// A browser sends the password and the certificate even if a page of another site makes the
// request.
TEST(AuthMatrix, APageOfAnotherSiteSendsNoPingsAsTheOperator) {
  GuardedServer server(OnePerRole(), TakePings);
  for (const Showing& showing : {server.Token("admin"), server.Certificate("admin")}) {
    Browser browser(server, showing);
    EXPECT_EQ(browser.Ping({}), 200);
    EXPECT_EQ(browser.Ping({{"Sec-Fetch-Site", "cross-site"}}), 403);
    EXPECT_EQ(browser.Ping({{"Sec-Fetch-Site", "same-site"}}), 403);
    EXPECT_EQ(browser.Ping({{"Origin", "https://evil.example"}}), 403);
    EXPECT_EQ(browser.Ping({{"Origin", "null"}}), 403);
  }
  GuardedServer open(OnePerRole(), [](ServerConfig* config) {
    config->auth_open = {"indexnow"};
    TakePings(config);
  });
  Browser anybody(open, {});
  EXPECT_EQ(anybody.Ping({{"Sec-Fetch-Site", "cross-site"}}), 200) << "a sender like others";
}

TEST(AuthMatrix, WhatIsSetOpenIsOpenAndNothingElse) {
  for (const std::string open : {"metrics", "console", "reflection", "indexnow"}) {
    GuardedServer server(OnePerRole(), [&open](ServerConfig* config) {
      config->auth_open = {open};
      TakePings(config);
    });
    Browser browser(server, {});
    EXPECT_EQ(browser.Try("/metrics"), open == "metrics" ? 200 : 401);
    EXPECT_EQ(browser.Try("/"), open == "console" ? 200 : 401);
    EXPECT_EQ(browser.Try("/status.json"), open == "console" ? 200 : 401);
    EXPECT_EQ(browser.Try("/console/api/overview"), open == "console" ? 200 : 401);
    // Pages and changes always need an identity, and an unknown client does not learn which
    // identities exist.
    for (const char* path : {"/console/api/page", "/console/api/rate", "/console/api/session"}) {
      EXPECT_EQ(browser.Try(path), 401) << path;
    }
    EXPECT_EQ(browser.Try("/annotations"), 401);
    EXPECT_EQ(browser.Try("/indexnow"), open == "indexnow" ? 200 : 401);
    const auto channel = server.Open({});
    EXPECT_EQ(
        TryMethod(channel, "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo").ok(),
        open == "reflection");
    EXPECT_EQ(TryMethod(channel, "freshet.v1.AdminService/GetStatistics").error_code(),
              StatusCode::UNAUTHENTICATED);
  }
}

// Covers streams and calls, with identities and without.
TEST(AuthMatrix, WhatIsForServersOfAFleetIsForNobodyElse) {
  GuardedServer guarded(OnePerRole(), [](ServerConfig*) {});
  TestServer open;
  size_t methods = 0;
  for (const MethodRule& rule : AllMethods()) {
    if (!rule.between_servers) continue;
    ++methods;
    const std::string path(rule.path.substr(1));
    EXPECT_EQ(TryMethod(open.channel, path).error_code(), StatusCode::PERMISSION_DENIED) << path;
    EXPECT_FALSE(TryMethod(guarded.Open({}), path).ok()) << path;
    EXPECT_EQ(TryMethod(guarded.Open(guarded.Token("admin")), path).error_code(),
              StatusCode::PERMISSION_DENIED)
        << path;
  }
  EXPECT_GE(methods, 8U);
}

}  // namespace
}  // namespace freshet
