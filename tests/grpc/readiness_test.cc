// Tests what a server answers while it starts. It answers probes from the beginning, and requests
// only when everything is loaded.
#include <filesystem>
#include <future>

#include "httplib.h"
#include "tests/grpc/test_server.h"
#include "tests/support/gated_env.h"

namespace freshet {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

constexpr int kStoredPages = 3000;

// A store with pages in tables behind a gate, and a server that starts on it. Thread-compatible.
class Readiness : public testing::Test {
 protected:
  Readiness() {
    TestServer filled([this](ServerConfig* config) { Configure(config); });
    filled.UpsertMany(kStoredPages, 500);
    EXPECT_TRUE(filled.Stop().ok());
    Configure(&config_);
    config_.listen = config_.http_listen = "127.0.0.1:0";
    config_.log_level = "off";
    server_ = std::make_unique<Server>(config_, clock_, &env_);
  }
  ~Readiness() override {
    env_.Open();
    if (start_.valid()) (void)start_.get();
  }
  void Configure(ServerConfig* config) const {
    config->data_dir = dir_ / "data";
    config->crawl_rate = Rate();
  }
  // Starts with a closed gate, and waits until the first read arrives at the gate.
  void Start() {
    env_.Close();
    start_ = std::async(std::launch::async, [this] { return server_->Start(); });
    env_.AwaitVisitor();
  }
  httplib::Result Get(const char* path) const {
    return httplib::Client("http://" + server_->http_address()).Get(path);
  }

  TempDir dir_;
  GatedEnv env_;
  SystemClock clock_;
  ServerConfig config_;
  std::unique_ptr<Server> server_;
  std::future<StatusOr<ServingInfo>> start_;
};

TEST_F(Readiness, ProbesAreAnsweredWhileTheStoreIsOpened) {
  Start();
  const httplib::Result ready = Get("/readyz");
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->status, 503);
  EXPECT_EQ(ready->body, "opening the store\n");
  EXPECT_EQ(Get("/healthz")->status, 200);
}

TEST_F(Readiness, SaysHowFarLoadingHasComeAndServesWhenAllIsThere) {
  Start();
  // Opening the store reads one block at a time. The next read after that is the read of the first
  // page.
  while (Get("/readyz")->body == "opening the store\n") {
    env_.LetOnePass();
    env_.AwaitVisitor();
  }
  const httplib::Result ready = Get("/readyz");
  EXPECT_EQ(ready->status, 503);
  EXPECT_EQ(ready->body, "loading: 0 of about 3000 pages, 0% of the store\n");
  EXPECT_EQ(Get("/healthz")->status, 200);
  const std::string metrics = Get("/metrics")->body;
  EXPECT_THAT(metrics, HasSubstr("freshet_ready 0\n"));
  EXPECT_THAT(metrics, HasSubstr("freshet_recovered_pages 0\n"));
  EXPECT_THAT(metrics, Not(HasSubstr("freshet_crawl_rate")));
  EXPECT_THAT(Get("/status.json")->body, HasSubstr("\"starting\":\"loading: 0 of about 3000"));
  EXPECT_EQ(Get("/")->status, 200);

  env_.Open();
  const StatusOr<ServingInfo> info = start_.get();
  ASSERT_TRUE(info.ok()) << info.status().ToString();
  EXPECT_EQ(info->pages, uint64_t{kStoredPages});
  EXPECT_EQ(info->http_address, server_->http_address());
  EXPECT_EQ(Get("/readyz")->status, 200);
  const std::string served = Get("/metrics")->body;
  EXPECT_THAT(served, HasSubstr("freshet_ready 1\n"));
  EXPECT_THAT(served, HasSubstr("freshet_recovered_pages 3000\n"));
  EXPECT_THAT(served, HasSubstr("freshet_recovered_share 1\n"));
  EXPECT_THAT(served, HasSubstr("freshet_recovery_stage_info{stage=\"serving\"} 1\n"));
  EXPECT_THAT(served, HasSubstr("freshet_recovery_log_bytes 0\n"));
  EXPECT_THAT(served, HasSubstr("freshet_crawl_rate 0\n"));
  EXPECT_THAT(Get("/status.json")->body, Not(HasSubstr("starting")));
  EXPECT_TRUE(server_->Stop().ok());
}

// A start by mistake can be ended before all pages are loaded.
TEST_F(Readiness, AStartThatIsToEndDoesNotLoadEverything) {
  Start();
  while (Get("/readyz")->body == "opening the store\n") {
    env_.LetOnePass();
    env_.AwaitVisitor();
  }
  server_->RequestStop();
  EXPECT_EQ(Get("/readyz")->body, "stopping\n");
  env_.Open();
  EXPECT_TRUE(absl::IsCancelled(start_.get().status()));
  EXPECT_TRUE(server_->Stop().ok());
  // The store is undamaged.
  Server again(config_, clock_);
  const StatusOr<ServingInfo> info = again.Start();
  ASSERT_TRUE(info.ok()) << info.status().ToString();
  EXPECT_EQ(info->pages, uint64_t{kStoredPages});
  EXPECT_TRUE(again.Stop().ok());
}

// Returns the value of a metric.
double ValueOf(const std::string& metrics, const std::string& name) {
  const size_t at = metrics.find("\n" + name + " ");
  EXPECT_NE(at, std::string::npos) << name;
  return at == std::string::npos ? -1 : std::stod(metrics.substr(at + name.size() + 2));
}

// Returns the configuration of a server whose store is as a kill leaves it: all records are only in
// the log.
ServerConfig AfterACrash(const std::string& data_dir) {
  TestServer killed([&](ServerConfig* config) { config->durability = "wal"; });
  killed.UpsertMany(kStoredPages, 500);
  std::filesystem::copy(killed.config.data_dir, data_dir);
  ServerConfig config;
  config.data_dir = data_dir;
  config.listen = config.http_listen = "127.0.0.1:0";
  config.durability = "wal";
  return config;
}

TEST(ReadinessAfterACrash, SaysHowFarTheLogIsCheckedAndReplayed) {
  const TempDir dir;
  GatedEnv env(".log");
  SystemClock clock;
  Server server(AfterACrash(dir / "data"), clock, &env);
  env.Close();
  auto start = std::async(std::launch::async, [&] { return server.Start(); });
  env.AwaitVisitor();
  const auto get = [&](const char* path) {
    return httplib::Client("http://" + server.http_address()).Get(path)->body;
  };
  // The check of the format reads the first record of the log, and comes before the check of the
  // log.
  while (get("/readyz") == "opening the store\n") {
    env.LetOnePass();
    env.AwaitVisitor();
  }
  EXPECT_THAT(get("/readyz"), MatchesRegex("checking the log: 0.0 of [0-9.]+ MB, 0%\n"));
  EXPECT_THAT(get("/metrics"),
              HasSubstr("freshet_recovery_stage_info{stage=\"checking_log\"} 1\n"));
  // Lets reads pass one by one, until a part of the log was replayed.
  while (
      !testing::Matches(MatchesRegex("replaying the log: .* MB, [1-9][0-9]?%\n"))(get("/readyz"))) {
    env.LetOnePass();
    env.AwaitVisitor();
  }
  const std::string replaying = get("/metrics");
  const double bytes = ValueOf(replaying, "freshet_recovery_log_bytes");
  EXPECT_GT(bytes, 50.0 * kStoredPages);
  EXPECT_EQ(ValueOf(replaying, "freshet_recovered_log_bytes{step=\"check\"}"), bytes);
  EXPECT_LT(ValueOf(replaying, "freshet_recovered_log_bytes{step=\"replay\"}"), bytes);
  EXPECT_THAT(get("/status.json"), HasSubstr("\"stage\":\"replaying_log\""));
  env.Open();
  const StatusOr<ServingInfo> info = start.get();
  ASSERT_TRUE(info.ok()) << info.status().ToString();
  EXPECT_EQ(info->pages, uint64_t{kStoredPages});
  // Replayed bytes are counted without the frames of records, so the sum is slightly below the size
  // of the log.
  EXPECT_GT(ValueOf(get("/metrics"), "freshet_recovered_log_bytes{step=\"replay\"}"), 0.95 * bytes);
}

// The replay of a long log can take longer than operators wait before they kill a server.
TEST(ReadinessAfterACrash, AStartThatIsToEndDoesNotReplayTheWholeLog) {
  for (const std::string stage : {"checking", "replaying"}) {
    const TempDir dir;
    GatedEnv env(".log");
    SystemClock clock;
    const ServerConfig config = AfterACrash(dir / "data");
    Server server(config, clock, &env);
    env.Close();
    auto start = std::async(std::launch::async, [&] { return server.Start(); });
    env.AwaitVisitor();
    const auto get = [&](const char* path) {
      return httplib::Client("http://" + server.http_address()).Get(path)->body;
    };
    while (!testing::Matches(testing::StartsWith(stage))(get("/readyz"))) {
      env.LetOnePass();
      env.AwaitVisitor();
    }
    server.RequestStop();
    env.Open();
    EXPECT_TRUE(absl::IsCancelled(start.get().status())) << stage;
    EXPECT_TRUE(server.Stop().ok());
    // The store is undamaged.
    Server again(config, clock);
    const StatusOr<ServingInfo> info = again.Start();
    ASSERT_TRUE(info.ok()) << info.status().ToString();
    EXPECT_EQ(info->pages, uint64_t{kStoredPages});
    EXPECT_TRUE(again.Stop().ok());
  }
}

TEST_F(Readiness, AStartThatFailsLetsThePortGo) {
  config_.data_dir = "/proc/no-such-directory";
  Server other(config_, clock_);
  EXPECT_FALSE(other.Start().ok());
  const std::string address = other.http_address();
  EXPECT_NE(address, "");
  EXPECT_FALSE(httplib::Client("http://" + address).Get("/healthz"));
}

}  // namespace
}  // namespace freshet
