// Tests crawl ids of the crawl-frontier API in shadow mode, in which the dates of clients decide
// and Freshet only learns. Also tests modes that are set by calls. Some tests kill the server and
// start it again.
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "tests/crash/daemon.h"
#include "tests/grpc/frontier_client.h"
#include "tests/grpc/test_server.h"
#include "tests/support/ahead_of_clock.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr uint64_t kShadowFarAway = 4'000'000'000;

uf::URLItem ShadowFetched(const std::string& url, const std::string& signature,
                          uint64_t date = kShadowFarAway) {
  uf::URLItem item = KnownUntil(date, url, "", "news");
  auto& metadata = *item.mutable_known()->mutable_info()->mutable_metadata();
  if (!signature.empty()) metadata["signature"].add_values(signature);
  return item;
}

// Makes an operator's calls of AdminService.
class Operator {
 public:
  explicit Operator(const std::shared_ptr<grpc::Channel>& channel)
      : admin_(v1::AdminService::NewStub(channel)) {}

  grpc::Status SetMode(const std::string& crawl, v1::FrontierMode mode, v1::Crawl* now = nullptr) {
    v1::SetCrawlRequest request;
    request.set_crawl_id(crawl);
    request.set_frontier_mode(mode);
    return Set(request, now);
  }
  grpc::Status Set(const v1::SetCrawlRequest& request, v1::Crawl* now = nullptr) {
    v1::SetCrawlResponse response;
    grpc::ClientContext call;
    const grpc::Status status = admin_->SetCrawl(&call, request, &response);
    if (now != nullptr) *now = response.crawl();
    return status;
  }
  v1::FrontierMode ModeOf(const std::string& crawl) {
    v1::ListCrawlsRequest request;
    request.set_crawl_id(crawl);
    v1::ListCrawlsResponse response;
    grpc::ClientContext call;
    const grpc::Status status = admin_->ListCrawls(&call, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.crawls_size() == 1 ? response.crawls(0).frontier_mode()
                                       : v1::FRONTIER_MODE_UNSPECIFIED;
  }
  grpc::Status Report(const v1::ReportShadowRequest& request, v1::ReportShadowResponse* report) {
    grpc::ClientContext call;
    return admin_->ReportShadow(&call, request, report);
  }
  v1::ReportShadowResponse Report(const std::string& crawl) {
    v1::ReportShadowRequest request;
    request.set_crawl_id(crawl);
    v1::ReportShadowResponse report;
    const grpc::Status status = Report(request, &report);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return report;
  }

 private:
  std::unique_ptr<v1::AdminService::Stub> admin_;
};

class ShadowFrontier : public ::testing::Test {
 protected:
  ShadowFrontier() : client_(server_.channel), operator_(server_.channel) {}

  // Takes pages as a worker of freshet.v1 until none come for a while. Returns their URLs.
  std::vector<std::string> TakePages() {
    std::vector<std::string> urls;
    while (true) {
      const v1::NextResponse next = server_.Next(100, 100);
      if (next.assignments().empty()) return urls;
      for (const v1::Assignment& assignment : next.assignments()) urls.push_back(assignment.url());
    }
  }
  // Takes URLs as a client of a scheduled crawl id until it has at least `count`, in at most 200
  // calls.
  std::vector<std::string> TakeScheduled(size_t count) {
    std::vector<std::string> urls;
    for (int i = 0; i < 200 && urls.size() < count; ++i) {
      for (std::string& url : client_.Get(ParamsIn("news", 0, 0, 1000))) {
        urls.push_back(std::move(url));
      }
    }
    return urls;
  }
  v1::GetPageResponse Page(const std::string& url) { return server_.Get(url, "news"); }

  AheadOfClock clock_;
  TestServer server_{[](ServerConfig* config) {
                       config->shards = 2;
                       config->frontier_shadow = {"news"};
                     },
                     nullptr, &clock_};
  FrontierClient client_;
  Operator operator_;
};

TEST_F(ShadowFrontier, GivesOutByDatesAndItsPagesToNobody) {
  server_.UpsertMany(2);
  EXPECT_EQ(client_.Put(Discovered("http://A.test", "some key", "news")), "OK");
  EXPECT_EQ(client_.Put(Discovered("http://A.test", "some key", "news")), "SKIPPED");
  EXPECT_EQ(client_.Put(ShadowFetched("http://b.test/1", "one")), "OK");
  EXPECT_EQ(client_.Put(Discovered("ftp://c.test/", "", "news")), "OK");
  // The frontier keeps the URL and the key as the client wrote them. The page has the canonical
  // URL. A text that is not a valid URL does not become a page.
  const std::vector<uf::URLInfo> infos = client_.GetInfos(ParamsIn("news"));
  ASSERT_EQ(infos.size(), 2U);
  EXPECT_THAT((std::vector{infos[0].url(), infos[1].url()}),
              UnorderedElementsAre("http://A.test", "ftp://c.test/"));
  EXPECT_EQ(Page("http://a.test/").page().crawls(), 0U);
  EXPECT_EQ(Page("http://b.test/1").page().crawls(), 1U);
  // Freshet hands out neither a new page nor a page with a recheck.
  v1::RecheckPagesRequest recheck;
  recheck.set_crawl_id("news");
  recheck.add_urls("http://b.test/1");
  grpc::ClientContext call;
  v1::RecheckPagesResponse asked;
  EXPECT_TRUE(server_.pages->RecheckPages(&call, recheck, &asked).ok());
  EXPECT_THAT(Described(asked.ack()), IsEmpty());
  EXPECT_THAT(TakePages(), UnorderedElementsAre(TestServer::Url(0), TestServer::Url(1)));
  EXPECT_THAT(Page("http://a.test/").explanation().why(), HasSubstr("shadow mode"));
  EXPECT_EQ(operator_.ModeOf("news"), v1::FRONTIER_MODE_SHADOW);
}

TEST_F(ShadowFrontier, HandsOutNothingAfterARestartEither) {
  EXPECT_EQ(client_.Put(Discovered("http://a.test/1", "", "news")), "OK");
  server_.Restart();
  server_.UpsertMany(1);
  EXPECT_THAT(TakePages(), ElementsAre(TestServer::Url(0)));
}

TEST_F(ShadowFrontier, LearnsFromMetadataAndHoldsUpNobody) {
  const std::string url = "http://a.test/1";
  for (const char* signature : {"one", "one", "two", "two"}) {
    EXPECT_EQ(client_.Put(ShadowFetched(url, signature)), "OK");
  }
  EXPECT_EQ(Page(url).page().crawls(), 4U);
  EXPECT_EQ(Page(url).page().changes(), 1U);
  // The frontier accepts a URL even if there is no room for its page.
  v1::SetCrawlRequest request;
  request.set_crawl_id("news");
  request.set_max_pages(1);
  ASSERT_TRUE(operator_.Set(request).ok());
  EXPECT_EQ(client_.Put(Discovered("http://a.test/2", "", "news")), "OK");
  EXPECT_EQ(client_.Stats("news").size(), 2U);
  EXPECT_THAT(client_.Get(ParamsIn("news")), ElementsAre("http://a.test/2"));
  // A URL that is never to be fetched again has no page.
  EXPECT_EQ(client_.Put(ShadowFetched(url, "two", 0)), "OK");
  v1::GetPageRequest get;
  get.set_url(url);
  get.set_crawl_id("news");
  v1::GetPageResponse response;
  grpc::ClientContext call;
  EXPECT_EQ(server_.pages->GetPage(&call, get, &response).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

// StormCrawler after 3.5.1 writes all keys in lower case.
TEST_F(ShadowFrontier, LearnsFromKeysInWhateverCase) {
  const std::string url = "http://a.test/1";
  const auto put = [&](const std::vector<std::pair<std::string, std::string>>& pairs) {
    uf::URLItem item = KnownUntil(kShadowFarAway, url, "", "news");
    auto& metadata = *item.mutable_known()->mutable_info()->mutable_metadata();
    for (const auto& [key, value] : pairs) metadata[key].add_values(value);
    EXPECT_EQ(client_.Put(item), "OK");
    return Page(url).page();
  };
  EXPECT_EQ(put({{"fetch.statuscode", "200"}, {"Signature", "one"}}).changes(), 0U);
  EXPECT_EQ(put({{"fetch.statuscode", "200"}, {"SIGNATURE", "two"}}).changes(), 1U);
  EXPECT_EQ(put({{"fetch.statuscode", "404"}}).http_status(), 404);
  // A key in the configured spelling takes precedence over other spellings.
  EXPECT_EQ(put({{"fetch.statuscode", "410"},
                 {"fetch.statusCode", "200"},
                 {"FETCH.STATUSCODE", "410"},
                 {"signature", "two"}})
                .http_status(),
            200);
}

TEST_F(ShadowFrontier, ReportsWhatItWouldGain) {
  EXPECT_THAT(operator_.Report("news").why_not(), HasSubstr("crawled yet"));
  // All pages are fetched once a day. Every tenth page is different at each fetch; the others never
  // change.
  constexpr int kPages = 60;
  constexpr int kDays = 24;
  const auto url = [](int i) {
    return "http://h" + std::to_string(i % 6) + ".test/" + std::to_string(i);
  };
  for (int day = 0; day < kDays; ++day) {
    std::vector<uf::URLItem> items;
    for (int i = 0; i < kPages; ++i) {
      items.push_back(ShadowFetched(url(i), i % 10 == 0 ? std::to_string(day) : "same"));
    }
    for (const auto& [id, outcome] : client_.Put(items)) EXPECT_EQ(outcome, "OK") << id;
    if (day == 0) {
      EXPECT_THAT(operator_.Report("news").why_not(), HasSubstr("crawled twice"));
    }
    clock_.Advance(Duration::Days(1));
  }
  const v1::ReportShadowResponse report = operator_.Report("news");
  EXPECT_EQ(report.pages(), 60U);
  EXPECT_EQ(report.pages_read(), 60U);
  EXPECT_EQ(report.compared_pages(), 60U);
  EXPECT_EQ(report.crawls(), uint64_t{kPages * kDays});
  // The 24 fetches of a page have 23 intervals between them. The report may lack one of these.
  EXPECT_NEAR(static_cast<double>(report.compared_crawls()), kPages * (kDays - 1.5), kPages / 2.0);
  EXPECT_NEAR(static_cast<double>(report.changes()), kPages / 10 * (kDays - 1.5), kPages / 20.0);
  ASSERT_TRUE(report.has_comparison()) << report.why_not();
  const v1::ShadowComparison& comparison = report.comparison();
  EXPECT_NEAR(comparison.crawls_per_day(), 60, 1);
  EXPECT_GT(comparison.best_freshness(), comparison.freshness() + 0.005);
  EXPECT_LE(comparison.best_freshness(), 1);
  EXPECT_LT(comparison.crawls_per_day_for_same(), 0.9 * comparison.crawls_per_day());
  EXPECT_EQ(comparison.sampled_pages(), 60U);
  // Pages that never change are crawled too often, and pages that always change too rarely.
  ASSERT_EQ(report.too_often_size(), 10);
  ASSERT_EQ(report.too_rarely_size(), 6);
  for (const v1::ShadowPage& page : report.too_rarely()) {
    EXPECT_NEAR(page.crawls_per_day(), 1, 0.05);
    EXPECT_GT(page.best_crawls_per_day(), 1.5);
    EXPECT_GT(page.change_rate_per_day(), 0.5);
  }
  for (const v1::ShadowPage& page : report.too_often()) EXPECT_LT(page.best_crawls_per_day(), 1);
}

TEST_F(ShadowFrontier, RefusesReportsOfOthersAndLimitsOutOfRange) {
  v1::ReportShadowResponse report;
  v1::ReportShadowRequest request;
  EXPECT_EQ(operator_.Report(request, &report).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  request.set_crawl_id("news");
  for (const uint64_t limit : {uint64_t{0}, uint64_t{1'000'001}}) {
    request.set_limit(limit);
    EXPECT_EQ(operator_.Report(request, &report).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  request.clear_limit();
  request.set_examples(101);
  EXPECT_EQ(operator_.Report(request, &report).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ShadowFrontier, FollowsItsModeFromCallToCall) {
  EXPECT_EQ(client_.Put(ShadowFetched("http://a.test/1", "one")), "OK");
  EXPECT_THAT(client_.Get(ParamsIn("news")), IsEmpty());
  v1::Crawl crawl;
  ASSERT_TRUE(operator_.SetMode("news", v1::FRONTIER_MODE_SCHEDULED, &crawl).ok());
  EXPECT_EQ(crawl.frontier_mode(), v1::FRONTIER_MODE_SCHEDULED);
  EXPECT_EQ(crawl.settings().frontier_mode(), v1::FRONTIER_MODE_SCHEDULED);
  // The URL is scheduled by value; its date is ignored.
  EXPECT_THAT(TakeScheduled(1), ElementsAre("http://a.test/1"));
  EXPECT_EQ(client_.Put(ShadowFetched("http://a.test/1", "two")), "OK");
  ASSERT_TRUE(operator_.SetMode("news", v1::FRONTIER_MODE_SHADOW).ok());
  EXPECT_THAT(client_.Get(ParamsIn("news")), IsEmpty());
  EXPECT_THAT(TakePages(), IsEmpty());
  ASSERT_TRUE(operator_.SetMode("news", v1::FRONTIER_MODE_DATES).ok());
  EXPECT_EQ(client_.Put(ShadowFetched("http://a.test/1", "three")), "OK");
  EXPECT_EQ(Page("http://a.test/1").page().crawls(), 2U);
  // The crawl id returns to the configured mode.
  v1::SetCrawlRequest reset;
  reset.set_crawl_id("news");
  reset.set_reset(true);
  ASSERT_TRUE(operator_.Set(reset, &crawl).ok());
  EXPECT_EQ(crawl.frontier_mode(), v1::FRONTIER_MODE_SHADOW);
  EXPECT_EQ(crawl.settings().frontier_mode(), v1::FRONTIER_MODE_UNSPECIFIED);
}

TEST_F(ShadowFrontier, UrlsFromBeforeBecomePagesWhenTheModeIsSet) {
  ASSERT_TRUE(operator_.SetMode("news", v1::FRONTIER_MODE_DATES).ok());
  std::vector<uf::URLItem> items;
  for (int i = 0; i < 50; ++i) {
    items.push_back(KnownUntil(kShadowFarAway, "http://a.test/" + std::to_string(i), "", "news"));
  }
  items.push_back(KnownUntil(kShadowFarAway, "http://a.test/other", "another key", "news"));
  items.push_back(KnownUntil(0, "http://a.test/never", "", "news"));
  for (const auto& [id, outcome] : client_.Put(items)) EXPECT_EQ(outcome, "OK") << id;
  ASSERT_TRUE(operator_.SetMode("news", v1::FRONTIER_MODE_SCHEDULED).ok());
  EXPECT_EQ(TakeScheduled(50).size(), 50U);
  EXPECT_THAT(client_.Get(ParamsIn("news", 0, 0, 1000)), IsEmpty());
}

// If the pages of deleted URLs stayed, the URLs would come back when the crawl id becomes
// scheduled.
TEST_F(ShadowFrontier, UrlsThatAreDeletedTakeTheirPagesAlong) {
  EXPECT_EQ(client_.Put(Discovered("http://a.test/1", "another key", "news")), "OK");
  EXPECT_EQ(client_.Put(Discovered("http://b.test/1", "", "news")), "OK");
  EXPECT_EQ(client_.DeleteQueue("another key", "news"), 1U);
  ASSERT_TRUE(operator_.SetMode("news", v1::FRONTIER_MODE_SCHEDULED).ok());
  EXPECT_THAT(TakeScheduled(1), ElementsAre("http://b.test/1"));
  EXPECT_THAT(client_.Get(ParamsIn("news", 0, 0, 1000)), IsEmpty());
  EXPECT_EQ(client_.Stats("news").size(), 1U);
}

TEST_F(ShadowFrontier, OfEachModeThereAreSixteenAtMost) {
  for (int i = 0; i < 16; ++i) {
    ASSERT_TRUE(operator_.SetMode("s" + std::to_string(i), v1::FRONTIER_MODE_SCHEDULED).ok());
  }
  const grpc::Status status = operator_.SetMode("more", v1::FRONTIER_MODE_SCHEDULED);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("frontier_mode"));
  EXPECT_TRUE(operator_.SetMode("s3", v1::FRONTIER_MODE_SCHEDULED).ok());
  EXPECT_TRUE(operator_.SetMode("more", v1::FRONTIER_MODE_SHADOW).ok());
}

TEST(WithoutTheFrontier, NoModeCanBeSet) {
  TestServer server([](ServerConfig* config) { config->frontier_enabled = false; });
  EXPECT_EQ(Operator(server.channel).SetMode("news", v1::FRONTIER_MODE_SHADOW).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
}

// --- Killed

class KilledShadowFrontier : public ::testing::Test {
 protected:
  KilledShadowFrontier() : daemon_(dir_ / "data", dir_ / "log") {
    std::ofstream(dir_ / "config.yaml") << "frontier:\n  shadow_crawls: [news]\n"
                                           "politeness:\n  min_delay: 0s\n  max_in_flight: 0\n";
    Start();
  }
  ~KilledShadowFrontier() override {
    daemon_.RequestStop();
    EXPECT_EQ(daemon_.AwaitEnd(), "");
  }
  void Start() {
    daemon_.Spawn({"--config", dir_ / "config.yaml"});
    ASSERT_EQ(daemon_.AwaitReady(), "");
    client_ = std::make_unique<FrontierClient>(daemon_.channel());
  }
  void KillAndStart() {
    EXPECT_EQ(daemon_.Kill(), "");
    Start();
  }
  uint64_t CrawlsOf(const std::string& url) {
    v1::GetPageRequest request;
    request.set_url(url);
    request.set_crawl_id("news");
    v1::GetPageResponse response;
    grpc::ClientContext call;
    const auto pages = v1::PagesService::NewStub(daemon_.channel());
    const grpc::Status status = pages->GetPage(&call, request, &response);
    EXPECT_TRUE(status.ok()) << url << ": " << status.error_message();
    return response.page().crawls();
  }

  TempDir dir_;
  crash::Daemon daemon_;
  std::unique_ptr<FrontierClient> client_;
};

TEST_F(KilledShadowFrontier, KeepsWhatItHasLearned) {
  constexpr int kUrls = 300;
  const auto url = [](int i) { return "http://h.test/" + std::to_string(i); };
  for (int round = 1; round <= 2; ++round) {
    std::vector<uf::URLItem> items;
    for (int i = 0; i < kUrls; ++i) items.push_back(ShadowFetched(url(i), "one"));
    for (const auto& [id, outcome] : client_->Put(items)) EXPECT_EQ(outcome, "OK") << id;
    KillAndStart();
    for (int i = 0; i < kUrls; i += 7) EXPECT_EQ(CrawlsOf(url(i)), static_cast<uint64_t>(round));
    EXPECT_THAT(client_->Get(ParamsIn("news")), IsEmpty());
  }
  EXPECT_EQ(Operator(daemon_.channel()).Report("news").crawls(), uint64_t{2 * kUrls});
  // The store of the killed server is intact.
  EXPECT_EQ(daemon_.Kill(), "");
  for (const auto& [option, said] :
       {std::pair{"--verify", "verified"}, std::pair{"--repair", "intact"}}) {
    const ProgramResult result =
        RunProgram(std::string("freshetd ") + option + " --data-dir " + (dir_ / "data"), "");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out,
                HasSubstr(std::string(said) + " frontier: crawls=1 queues=1 urls=300 in_flight=0 "
                                              "problems=0\n"));
  }
  Start();
}

TEST_F(KilledShadowFrontier, ModesThatWereSetAreKept) {
  ASSERT_TRUE(Operator(daemon_.channel()).SetMode("news", v1::FRONTIER_MODE_SCHEDULED).ok());
  ASSERT_TRUE(Operator(daemon_.channel()).SetMode("shop", v1::FRONTIER_MODE_SHADOW).ok());
  KillAndStart();
  // Settings of operators take precedence over the configuration.
  EXPECT_EQ(Operator(daemon_.channel()).ModeOf("news"), v1::FRONTIER_MODE_SCHEDULED);
  EXPECT_EQ(Operator(daemon_.channel()).ModeOf("shop"), v1::FRONTIER_MODE_SHADOW);
  EXPECT_EQ(client_->Put(Discovered("http://a.test/1", "", "news")), "OK");
  std::vector<std::string> urls;
  for (int i = 0; i < 200 && urls.empty(); ++i) urls = client_->Get(ParamsIn("news", 0, 0, 1000));
  EXPECT_THAT(urls, ElementsAre("http://a.test/1"));
}

}  // namespace
}  // namespace freshet
