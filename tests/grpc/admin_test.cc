// Tests the calls of operators, over gRPC and HTTP.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>

#include "fmt/format.h"
#include "httplib.h"
#include "nlohmann/json.hpp"
#include "tests/grpc/raw_stream.h"
#include "tests/grpc/test_server.h"
#include "tests/support/gated_env.h"

namespace freshet {
namespace {

using testing::Contains;
using testing::HasSubstr;

// Calls a unary method and expects it to succeed.
template <typename Stub, typename Request, typename Response>
Response Call(Stub& stub,
              grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
              const Request& request) {
  Response response;
  grpc::ClientContext call;
  const grpc::Status status = (stub.*method)(&call, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

using Admin = v1::AdminService::Stub;

TEST(Admin, ChangesTheCrawlRate) {
  TestServer server;
  EXPECT_EQ(Call(*server.admin, &Admin::GetCrawlRate, {}).crawl_rate_per_second(), 200);
  v1::GetFleetResponse fleet;
  grpc::ClientContext alone;
  const grpc::Status status = server.admin->GetFleet(&alone, {}, &fleet);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(status.error_message(), "this server is of no cluster: cluster.name is not set");
  v1::SetCrawlRateRequest request;
  request.set_crawl_rate_per_second(12.5);
  const auto response = Call(*server.admin, &Admin::SetCrawlRate, request);
  EXPECT_EQ(response.crawl_rate_per_second(), 12.5);
  EXPECT_EQ(response.previous_crawl_rate_per_second(), 200);
  EXPECT_EQ(Call(*server.admin, &Admin::GetCrawlRate, {}).crawl_rate_per_second(), 12.5);
  for (const double bad : {-1.0, std::nan(""), 1e9}) {
    request.set_crawl_rate_per_second(bad);
    v1::SetCrawlRateResponse unused;
    grpc::ClientContext call;
    const grpc::Status refusal = server.admin->SetCrawlRate(&call, request, &unused);
    EXPECT_EQ(refusal.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(refusal.error_message(), HasSubstr(" is not from 0 to 10000000"));
  }
  v1::SetCrawlRateResponse unused;
  grpc::ClientContext call;
  EXPECT_EQ(server.admin->SetCrawlRate(&call, {}, &unused).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST(Admin, ChangesThePolicy) {
  TestServer server([](ServerConfig* config) { config->shards = 2; });
  server.UpsertMany(600, 50);
  auto policy = Call(*server.admin, &Admin::GetPolicy, {});
  EXPECT_EQ(policy.policy(), "default");
  EXPECT_THAT(policy.available_policies(), Contains("greedy"));
  v1::SetPolicyRequest request;
  request.set_policy("harmonic");
  const auto response = Call(*server.admin, &Admin::SetPolicy, request);
  EXPECT_EQ(response.policy(), "harmonic");
  EXPECT_EQ(response.previous_policy(), "default");
  policy = Call(*server.admin, &Admin::GetPolicy, {});
  EXPECT_EQ(policy.policy(), "harmonic");
  EXPECT_EQ(policy.pending_policy(), "");
  EXPECT_EQ(server.Statistics().schedule().policy(), "harmonic");
  EXPECT_EQ(server.Statistics().schedule().pending_policy(), "");
  EXPECT_EQ(server.Get(TestServer::Url(3, 50)).explanation().policy(), "harmonic");
  request.set_policy("best");
  v1::SetPolicyResponse unused;
  grpc::ClientContext call;
  const grpc::Status status = server.admin->SetPolicy(&call, request, &unused);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), testing::StartsWith("policy: 'best' is not a policy"));
}

TEST(Admin, APolicyThatNeedsADelayIsRefusedWithoutOne) {
  TestServer server([](ServerConfig* config) { config->signal_delay = Duration::Seconds(60); });
  EXPECT_THAT(Call(*server.admin, &Admin::GetPolicy, {}).available_policies(),
              Contains("greedy_ncis_d"));
  v1::SetPolicyRequest request;
  request.set_policy("greedy_ncis_d");
  EXPECT_EQ(Call(*server.admin, &Admin::SetPolicy, request).policy(), "greedy_ncis_d");
  server.config.signal_delay = Duration();
  server.Restart();
  const auto policy = Call(*server.admin, &Admin::GetPolicy, {});
  EXPECT_EQ(policy.policy(), "default");
  EXPECT_THAT(policy.available_policies(), Contains("ncis_approx_J"));
  EXPECT_THAT(policy.available_policies(), testing::Not(Contains("greedy_ncis_d")));
  v1::SetPolicyResponse unused;
  grpc::ClientContext call;
  const grpc::Status status = server.admin->SetPolicy(&call, request, &unused);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), testing::HasSubstr("signals.delay is 0"));
}

TEST(Admin, FollowsARatePlanOverAllShards) {
  TestServer server([](ServerConfig* config) {
    config->shards = 2;
    config->crawl_rate = Rate::PerSecond(1000);
  });
  server.UpsertMany(600, 50);
  for (const char* name : {"lambda_crawl", "uniform", "greedy"}) {
    v1::SetPolicyRequest request;
    request.set_policy(name);
    EXPECT_EQ(Call(*server.admin, &Admin::SetPolicy, request).policy(), name);
    const std::string why = server.Get(TestServer::Url(3, 50)).explanation().why();
    EXPECT_EQ(why.find("plan") != std::string::npos, name != std::string("greedy")) << why;
  }
}

TEST(Admin, ARatePolicyNeedsNeitherPagesNorARateToComeIntoForce) {
  TestServer server([](ServerConfig* config) { config->crawl_rate = Rate(); });
  v1::SetPolicyRequest request;
  request.set_policy("lambda_crawl");
  EXPECT_EQ(Call(*server.admin, &Admin::SetPolicy, request).policy(), "lambda_crawl");
  server.UpsertMany(20);
  EXPECT_THAT(server.Get(TestServer::Url(3)).explanation().why(), HasSubstr("plan"));
  v1::SetCrawlRateRequest rate;
  rate.set_crawl_rate_per_second(1000);
  Call(*server.admin, &Admin::SetCrawlRate, rate);
  EXPECT_GT(server.Next(5).assignments_size(), 0);
  // The policy is changed back while pages are leased.
  request.set_policy("greedy");
  EXPECT_EQ(Call(*server.admin, &Admin::SetPolicy, request).previous_policy(), "lambda_crawl");
  EXPECT_GT(server.Next(5).assignments_size(), 0);
}

TEST(Admin, ChangesThePolitenessOfAHost) {
  TestServer server;
  v1::SetHostPolitenessRequest request;
  request.set_host("Example.Test");
  request.mutable_min_delay()->set_seconds(2);
  request.set_max_in_flight(3);
  v1::HostState host = Call(*server.admin, &Admin::SetHostPoliteness, request).host_state();
  EXPECT_EQ(host.host(), "example.test");
  EXPECT_EQ(host.min_delay().seconds(), 2);
  EXPECT_EQ(host.max_in_flight(), 3u);
  EXPECT_TRUE(host.customised());
  v1::SetHostPolitenessRequest block;
  block.set_host("http://example.test:8080/page");
  ToProto(server.clock.Now() + Duration::Hours(1), block.mutable_blocked_until());
  EXPECT_TRUE(
      Call(*server.admin, &Admin::SetHostPoliteness, block).host_state().has_blocked_until());
  v1::GetHostRequest get;
  get.set_host("example.test");
  host = Call(*server.admin, &Admin::GetHost, get).host_state();
  EXPECT_TRUE(host.has_next_allowed_time());
  EXPECT_EQ(host.max_in_flight(), 3u);
  v1::SetHostPolitenessRequest reset;
  reset.set_host("example.test");
  reset.set_reset(true);
  host = Call(*server.admin, &Admin::SetHostPoliteness, reset).host_state();
  EXPECT_FALSE(host.customised());
  EXPECT_FALSE(host.has_blocked_until());

  get.set_host("unknown.test");
  v1::GetHostResponse unused;
  grpc::ClientContext unknown;
  EXPECT_EQ(server.admin->GetHost(&unknown, get, &unused).error_code(),
            grpc::StatusCode::NOT_FOUND);
  block.mutable_blocked_until()->set_seconds(32'503'680'000);
  v1::SetHostPolitenessResponse refused;
  grpc::ClientContext far;
  const grpc::Status status = server.admin->SetHostPoliteness(&far, block, &refused);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("blocked_until: "));
}

TEST(Admin, RunsEpochsWhenAsked) {
  TestServer server([](ServerConfig* config) { config->shards = 2; });
  server.UpsertMany(1000, 100);
  v1::RunEpochResponse epoch = Call(*server.admin, &Admin::RunEpoch, {});
  EXPECT_EQ(epoch.epoch(), 1u);
  EXPECT_EQ(epoch.pages(), 1000u);
  epoch = Call(*server.admin, &Admin::RunEpoch, {});
  EXPECT_EQ(epoch.epoch(), 2u);
  EXPECT_EQ(server.Statistics().pages().epoch(), 2u);
  EXPECT_TRUE(server.Statistics().pages().has_last_epoch_time());
}

TEST(Admin, RunsEpochsByItself) {
  TestServer server([](ServerConfig* config) { config->epoch_interval = Duration::Millis(20); });
  server.UpsertMany(100);
  EXPECT_TRUE(Eventually([&] { return server.Statistics().pages().epoch() >= 3; }));
}

TEST(Admin, MakesCheckpoints) {
  TestServer server;
  server.UpsertMany(100);
  v1::CreateCheckpointRequest request;
  request.set_name("before-upgrade_1");
  const auto made = Call(*server.admin, &Admin::CreateCheckpoint, request);
  EXPECT_TRUE(std::filesystem::is_directory(made.path()));
  EXPECT_GT(made.bytes(), 0u);
  v1::CreateCheckpointResponse unused;
  grpc::ClientContext taken;
  EXPECT_EQ(server.admin->CreateCheckpoint(&taken, request, &unused).error_code(),
            grpc::StatusCode::ALREADY_EXISTS);
  for (const std::string bad : {"", "..", "a/b", ".hidden"}) {
    request.set_name(bad);
    grpc::ClientContext call;
    EXPECT_EQ(server.admin->CreateCheckpoint(&call, request, &unused).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
  }
  // A server can open a checkpoint as its database.
  TestServer copy([&](ServerConfig* config) { config->data_dir = made.path(); });
  EXPECT_EQ(copy.info.pages, 100u);
}

TEST(Admin, CompactsTheStore) {
  TestServer server;
  server.UpsertMany(2000);
  const v1::CompactStoreRequest request;
  const auto full = Call(*server.admin, &Admin::CompactStore, request);
  EXPECT_GT(full.bytes_after(), 0u);
  v1::DeleteHostRequest remove;
  for (int i = 0; i < 10; ++i) {
    remove.set_host(fmt::format("host{}.test", i));
    (void)Call(*server.admin, &Admin::DeleteHost, remove);
  }
  ASSERT_TRUE(Eventually([&] { return server.Statistics().pages().pages() == 0; }));
  const auto empty = Call(*server.admin, &Admin::CompactStore, request);
  EXPECT_LT(empty.bytes_after(), full.bytes_after());
  EXPECT_TRUE(empty.has_duration());
}

TEST(Admin, RefusesOneCompactionTooMany) {
  GatedEnv env;
  TestServer server({}, &env);
  server.UpsertMany(2000);
  (void)Call(*server.admin, &Admin::CompactStore, v1::CompactStoreRequest());
  env.Close();
  std::vector<grpc::StatusCode> codes;
  for (size_t i = 0; i <= limits::kMaxUpkeeps; ++i) {
    grpc::ClientContext call;
    // A compaction continues after its client has disconnected.
    call.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
    v1::CompactStoreResponse response;
    const grpc::Status status = server.admin->CompactStore(&call, {}, &response);
    codes.push_back(status.error_code());
    if (i < limits::kMaxUpkeeps) continue;
    EXPECT_THAT(status.error_message(),
                HasSubstr("4 checkpoints and compactions are under way: try again when"));
  }
  EXPECT_EQ(codes.back(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(std::count(codes.begin(), codes.end(), codes.front()), limits::kMaxUpkeeps);
  env.Open();
  EXPECT_TRUE(Eventually([&] {
    grpc::ClientContext call;
    v1::CompactStoreResponse response;
    return server.admin->CompactStore(&call, {}, &response).ok();
  }));
}

TEST(Admin, KeepsSources) {
  TestServer server;
  const auto names = [&] {
    const v1::ListSourcesResponse response = Call(*server.admin, &Admin::ListSources, {});
    std::vector<std::string> all;
    for (const v1::Source& source : response.sources()) all.push_back(source.source());
    return all;
  };
  EXPECT_THAT(names(), testing::ElementsAre("cdn", "feed", "indexnow", "sitemap"));
  v1::RegisterSourceRequest request;
  request.set_source("webhook");
  EXPECT_TRUE(Call(*server.admin, &Admin::RegisterSource, request).created());
  EXPECT_FALSE(Call(*server.admin, &Admin::RegisterSource, request).created());
  EXPECT_THAT(names(), Contains("webhook"));
  for (int i = 0; i < 27; ++i) {
    request.set_source("s" + std::to_string(i));
    EXPECT_TRUE(Call(*server.admin, &Admin::RegisterSource, request).created());
  }
  request.set_source("one-too-many");
  v1::RegisterSourceResponse unused;
  grpc::ClientContext full;
  EXPECT_EQ(server.admin->RegisterSource(&full, request, &unused).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  request.set_source("No Name");
  grpc::ClientContext bad;
  EXPECT_EQ(server.admin->RegisterSource(&bad, request, &unused).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST(Admin, ReportsTheTrustInSources) {
  TestServer server;
  server.UpsertMany(50);
  v1::SignalChangesRequest signals;
  signals.set_poll_size(1);
  for (int i = 0; i < 50; ++i) {
    v1::ChangeSignal* signal = signals.add_signals();
    signal->set_url(TestServer::Url(i));
    signal->set_source("cdn");
  }
  const Instant now = server.clock.Now();
  for (int i = 0; i < 50; ++i) {
    v1::CrawlResult result;
    result.set_url(TestServer::Url(i));
    result.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
    ToProto(now - Duration::Hours(48), result.mutable_fetch_time());
    EXPECT_EQ(server.Report(result).statuses_size(), 0);
  }
  EXPECT_EQ(server.Signal(signals).statuses_size(), 0);
  for (int i = 0; i < 50; ++i) {
    v1::CrawlResult result;
    result.set_url(TestServer::Url(i));
    result.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
    EXPECT_EQ(server.Report(result).statuses_size(), 0);
  }
  (void)Call(*server.admin, &Admin::RunEpoch, {});
  const auto report = Call(*server.admin, &Admin::GetTrustReport, {});
  // The signals came one by one, but all for one host and within a moment. So the server learned
  // most of them as a burst.
  ASSERT_GE(report.sources_size(), 2);
  EXPECT_NE(report.sources(report.sources_size() - 1).burst_class(), v1::BURST_CLASS_1_TO_2);
  for (const v1::SourceTrust& trust : report.sources()) {
    EXPECT_EQ(trust.source(), "cdn");
    EXPECT_GE(trust.precision().value(), trust.precision().low());
    EXPECT_LE(trust.precision().value(), trust.precision().high());
  }
  v1::GetTrustReportRequest other;
  other.set_source("sitemap");
  EXPECT_EQ(Call(*server.admin, &Admin::GetTrustReport, other).sources_size(), 0);
}

// The machine's clock, which a test can move ahead. Thread-safe.
class SteppedClock final : public Clock {
 public:
  Instant Now() override { return system_.Now() + Duration::Micros(ahead_); }
  void Pass(Duration time) { ahead_ += time.micros(); }

 private:
  SystemClock system_;
  std::atomic<int64_t> ahead_{0};
};

// Waits two days, signals all pages, and reports a crawl of each an hour later.
void SignalAndCrawl(TestServer& server, SteppedClock& clock, int pages, bool changed,
                    const std::string& source = "cdn") {
  clock.Pass(Duration::Hours(48));
  v1::SignalChangesRequest signals;
  for (int i = 0; i < pages; ++i) {
    v1::ChangeSignal* signal = signals.add_signals();
    signal->set_url(TestServer::Url(i));
    signal->set_source(source);
  }
  EXPECT_EQ(server.Signal(signals).statuses_size(), 0);
  clock.Pass(Duration::Hours(1));
  for (int i = 0; i < pages; ++i) {
    v1::CrawlResult result;
    result.set_url(TestServer::Url(i));
    result.set_outcome(changed ? v1::CRAWL_OUTCOME_CHANGED : v1::CRAWL_OUTCOME_UNCHANGED);
    EXPECT_EQ(server.Report(result).statuses_size(), 0);
  }
}

TEST(Admin, ReportsTheTrustByHostWithItsQuarantine) {
  SteppedClock clock;
  TestServer server([](ServerConfig* config) { config->epoch_interval = Duration(); }, nullptr,
                    &clock);
  server.UpsertMany(20);
  for (int round = 0; round < 12; ++round) SignalAndCrawl(server, clock, 20, true);
  // Runs several epochs, because rates, recall and false signals are learned from one another.
  for (int i = 0; i < 4; ++i) (void)Call(*server.admin, &Admin::RunEpoch, {});
  auto report = Call(*server.admin, &Admin::GetTrustReport, {});
  ASSERT_EQ(report.hosts_size(), 10);
  const v1::HostTrust& honest = report.hosts(0);
  EXPECT_EQ(honest.source(), "cdn");
  EXPECT_NE(honest.host(), "");
  EXPECT_GT(honest.signals(), 15);
  EXPECT_GT(honest.precision().value(), 0.8);
  EXPECT_LE(honest.precision().low(), honest.precision().value());
  EXPECT_GE(honest.precision().high(), honest.precision().value());
  EXPECT_GT(honest.recall(), 0);
  EXPECT_GT(honest.recent_precision(), 0.8);
  EXPECT_FALSE(honest.has_quarantined_since());
  const std::string host = honest.host();

  for (int round = 0; round < 24; ++round) SignalAndCrawl(server, clock, 20, false);
  report = Call(*server.admin, &Admin::GetTrustReport, {});
  ASSERT_EQ(report.hosts_size(), 10);
  EXPECT_TRUE(report.hosts(0).has_quarantined_since()) << report.hosts(0).DebugString();
  EXPECT_LT(report.hosts(0).recent_precision(), report.hosts(0).believed_precision());

  v1::GetTrustReportRequest request;
  request.set_host("other.test");
  EXPECT_EQ(Call(*server.admin, &Admin::GetTrustReport, request).hosts_size(), 0);
  request.set_host(host);
  request.set_limit(0);
  EXPECT_EQ(Call(*server.admin, &Admin::GetTrustReport, request).hosts_size(), 0);
  request.set_limit(1000);
  EXPECT_EQ(Call(*server.admin, &Admin::GetTrustReport, request).hosts_size(), 1);
  request.set_host("HTTPS://" + host + "./any/page");
  EXPECT_EQ(Call(*server.admin, &Admin::GetTrustReport, request).hosts_size(), 1);
  const auto refused = [&] {
    grpc::ClientContext call;
    v1::GetTrustReportResponse unused;
    return server.admin->GetTrustReport(&call, request, &unused).error_code();
  };
  request.set_limit(1001);
  EXPECT_EQ(refused(), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_limit(1);
  request.set_host("no host");
  EXPECT_EQ(refused(), grpc::StatusCode::INVALID_ARGUMENT);
}

// A removed source is no longer in the report, even if its signals were mostly false.
TEST(Admin, ASourceThatWasRemovedTakesNoPlaceInTheTrustReport) {
  SteppedClock clock;
  TestServer server([](ServerConfig* config) { config->epoch_interval = Duration(); }, nullptr,
                    &clock);
  v1::RegisterSourceRequest honest;
  honest.set_source("honest");
  (void)Call(*server.admin, &Admin::RegisterSource, honest);
  server.UpsertMany(20);
  for (int round = 0; round < 4; ++round) {
    SignalAndCrawl(server, clock, 20, false);
    SignalAndCrawl(server, clock, 20, true, "honest");
  }
  for (int i = 0; i < 2; ++i) (void)Call(*server.admin, &Admin::RunEpoch, {});
  v1::GetTrustReportRequest request;
  request.set_limit(5);
  const auto rows_of = [&](const std::string& source) {
    int rows = 0;
    const auto report = Call(*server.admin, &Admin::GetTrustReport, request);
    for (const v1::HostTrust& trust : report.hosts()) rows += trust.source() == source ? 1 : 0;
    return rows;
  };
  ASSERT_EQ(rows_of("cdn"), 5) << "they are the worst";
  v1::UnregisterSourceRequest removed;
  removed.set_source("cdn");
  (void)Call(*server.admin, &Admin::UnregisterSource, removed);
  EXPECT_EQ(rows_of("honest"), 5);
}

TEST(Standard, ServesHealthAndReflection) {
  TestServer server;
  EXPECT_EQ(HealthOf(server), 1);
  RawStream reflection(server, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo");
  const std::string services = reflection.ExchangeBytes(std::string("\x3a\x00", 2));
  for (const char* name : {"SchedulerService", "IngestService", "PagesService", "AdminService"}) {
    EXPECT_THAT(services, HasSubstr(std::string("freshet.v1.") + name));
    const std::string symbol = std::string("freshet.v1.") + name;
    const std::string file = reflection.ExchangeBytes(
        "\x22" + std::string(1, static_cast<char>(symbol.size())) + symbol);
    EXPECT_GT(file.size(), 1000U);
    EXPECT_LT(file.size(), 64U << 10) << "ReflectionStream::MostAnswered";
  }
}

TEST(Http, ServesMetricsStatusAndThePage) {
  TestServer server;
  server.UpsertMany(5);
  httplib::Client http("http://" + server.info.http_address);
  const auto metrics = http.Get("/metrics");
  ASSERT_TRUE(metrics);
  EXPECT_THAT(metrics->body, HasSubstr("freshet_pages 5\n"));
  EXPECT_EQ(http.Get("/healthz")->status, 200);
  EXPECT_EQ(http.Get("/readyz")->status, 200);
  EXPECT_EQ(http.Get("/nothing")->status, 404);
  EXPECT_THAT(http.Get("/")->body, HasSubstr("<title>Freshet</title>"));
  const auto status = nlohmann::json::parse(http.Get("/status.json")->body);
  EXPECT_EQ(status["pages"], 5);
  EXPECT_EQ(status["policy"], "default");
}

TEST(Http, TakesAnnotations) {
  TestServer server;
  httplib::Client http("http://" + server.info.http_address);
  const auto post = [&](const std::string& body) {
    return http.Post("/annotations", body, "application/json")->status;
  };
  EXPECT_EQ(post(R"({"true_freshness": 0.25, "year": 2015})"), 204);
  EXPECT_THAT(http.Get("/metrics")->body,
              HasSubstr("freshet_annotation{name=\"true_freshness\"} 0.25"));
  EXPECT_EQ(nlohmann::json::parse(http.Get("/status.json")->body)["annotations"]["year"], 2015);
  EXPECT_EQ(post("nonsense"), 400);
  EXPECT_EQ(post("[1]"), 400);
  EXPECT_EQ(post(R"({"a": "text"})"), 400);
  EXPECT_EQ(post(R"({"A": 1})"), 400);
  EXPECT_EQ(post(R"({"a": 1e999})"), 400);
  nlohmann::json many;
  for (char c = 'a'; c <= 'o'; ++c) many[std::string(1, c)] = 1;
  EXPECT_EQ(post(many.dump()), 400);  // 17 with the two annotations above
  EXPECT_EQ(nlohmann::json::parse(http.Get("/status.json")->body)["annotations"].size(), 2u);
}

}  // namespace
}  // namespace freshet
