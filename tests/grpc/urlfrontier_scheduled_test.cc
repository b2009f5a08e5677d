// Tests scheduled crawl ids of the crawl-frontier API. Their URLs are given out in the order of
// crawl value. Some tests kill the server process.
#include <atomic>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "tests/crash/daemon.h"
#include "tests/grpc/frontier_client.h"
#include "tests/grpc/test_server.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr uint64_t kFarAway = 4'000'000'000;

uf::URLItem Fetched(const std::string& url, const std::string& status, const std::string& signature,
                    uint64_t date = kFarAway) {
  uf::URLItem item = KnownUntil(date, url, "", "shop");
  auto& metadata = *item.mutable_known()->mutable_info()->mutable_metadata();
  if (!status.empty()) metadata["fetch.statusCode"].add_values(status);
  if (!signature.empty()) metadata["signature"].add_values(signature);
  metadata["depth"].add_values("3");
  return item;
}

class ScheduledFrontier : public ::testing::Test {
 protected:
  ScheduledFrontier() : client_(server_.channel) {}

  // Takes URLs until it has `count` of them, in at most 200 calls.
  std::vector<uf::URLInfo> Take(size_t count,
                                const uf::GetParams& params = ParamsIn("shop", 0, 0, 1000)) {
    std::vector<uf::URLInfo> all;
    for (int i = 0; i < 200 && all.size() < count; ++i) {
      for (uf::URLInfo& info : client_.GetInfos(params)) all.push_back(std::move(info));
    }
    return all;
  }
  std::vector<std::string> TakeUrls(size_t count,
                                    const uf::GetParams& params = ParamsIn("shop", 0, 0, 1000)) {
    std::vector<std::string> urls;
    for (const uf::URLInfo& info : Take(count, params)) urls.push_back(info.url());
    return urls;
  }
  v1::Page Page(const std::string& url) { return server_.Get(url, "shop").page(); }
  bool HasPage(const std::string& url) {
    v1::GetPageRequest request;
    request.set_url(url);
    request.set_crawl_id("shop");
    v1::GetPageResponse response;
    grpc::ClientContext call;
    return server_.pages->GetPage(&call, request, &response).ok();
  }

  TestServer server_{[](ServerConfig* config) {
    config->shards = 2;
    config->frontier_scheduled = {"shop", "news"};
    config->max_url_bytes = 1000;
  }};
  FrontierClient client_;
};

TEST_F(ScheduledFrontier, GivesOutWhatWasPutWhateverItsDate) {
  EXPECT_EQ(client_.Put(Discovered("http://A.test", "", "shop")), "OK");
  EXPECT_EQ(client_.Put(Discovered("http://a.test/", "another key", "shop")), "SKIPPED");
  EXPECT_EQ(client_.Put(Fetched("http://b.test/1", "200", "abc")), "OK");
  EXPECT_EQ(client_.Put(Discovered("ftp://c.test/", "", "shop")), "SKIPPED");
  const std::string longest = "http://a.test/" + std::string(1000 - 14, 'l');
  EXPECT_EQ(client_.Put(Discovered(longest, "", "news")), "OK");
  EXPECT_EQ(client_.Put(Discovered(longest + "l", "", "news")), "SKIPPED") << "limits.url_bytes";
  EXPECT_EQ(Page("http://a.test/").crawl_id(), "shop");
  // This URL belongs to another crawl id and is given out at its date. The scheduled crawl id does
  // not affect it.
  EXPECT_EQ(client_.Put(Discovered("http://d.test/1")), "OK");
  const uf::GetParams one = ParamsIn("shop", 1, 1, 1000);
  EXPECT_THAT(TakeUrls(1, one), ElementsAre("http://a.test/"));
  EXPECT_EQ(client_.Stats("shop").inprocess(), 1U);
  EXPECT_EQ(client_.Stats("shop").size(), 2U);
  // The date of this URL is far in the future, but scheduled crawl ids ignore dates.
  const std::vector<uf::URLInfo> rest = Take(1, one);
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].url(), "http://b.test/1");
  EXPECT_EQ(rest[0].key(), "b.test");
  EXPECT_EQ(rest[0].metadata().at("depth").values(0), "3");
  EXPECT_THAT(client_.Get(ParamsIn("DEFAULT")), ElementsAre("http://d.test/1"));
  uf::URLItem item;
  EXPECT_TRUE(client_.Status("http://B.test/1#part", &item, "", "shop").ok());
  EXPECT_EQ(item.known().refetchable_from_date(), kFarAway);
}

TEST_F(ScheduledFrontier, LearnsFromMetadata) {
  const std::string url = "http://a.test/1";
  EXPECT_EQ(client_.Put(Discovered(url, "", "shop")), "OK");
  EXPECT_EQ(Take(1).size(), 1U);
  EXPECT_EQ(client_.Put(Fetched(url, "200", "one")), "OK");
  EXPECT_EQ(client_.Stats("shop").inprocess(), 0U);
  EXPECT_EQ(server_.Get(url, "shop").page().crawls(), 1U);
  EXPECT_EQ(client_.Put(Fetched(url, "200", "two")), "OK");
  EXPECT_EQ(server_.Get(url, "shop").page().changes(), 1U);
  EXPECT_EQ(client_.Put(Fetched(url, "200", "two")), "OK");
  EXPECT_EQ(client_.Put(Fetched(url, "304", "")), "OK");
  const v1::Page page = server_.Get(url, "shop").page();
  EXPECT_EQ(page.crawls(), 4U);
  EXPECT_EQ(page.changes(), 1U);
  // The first of these fetches has no signature, and the second has none to compare with. So
  // Freshet learns of no change from either.
  EXPECT_EQ(client_.Put(Fetched(url, "200", "")), "OK");
  EXPECT_EQ(client_.Put(Fetched(url, "", "xyz")), "OK");
  EXPECT_EQ(server_.Get(url, "shop").page().changes(), 1U);
  EXPECT_EQ(client_.Put(Fetched(url, "200", "abc")), "OK");
  EXPECT_EQ(server_.Get(url, "shop").page().changes(), 2U);
  EXPECT_EQ(client_.Put(Fetched(url, "404", "")), "OK");
  EXPECT_EQ(server_.Get(url, "shop").page().last_outcome(), v1::CRAWL_OUTCOME_GONE);
  EXPECT_EQ(client_.Put(Fetched(url, "500", "")), "OK");
  EXPECT_EQ(server_.Get(url, "shop").page().last_outcome(), v1::CRAWL_OUTCOME_ERROR);
}

TEST_F(ScheduledFrontier, NeverGivesOutWhatIsCompletedOrPurged) {
  for (const char* url : {"http://a.test/1", "http://a.test/2", "http://a.test/3"}) {
    EXPECT_EQ(client_.Put(Discovered(url, "", "shop")), "OK");
  }
  EXPECT_EQ(client_.Put(KnownUntil(0, "http://a.test/1", "", "shop")), "OK");
  EXPECT_EQ(client_.Put(Discovered("http://a.test/1", "", "shop")), "SKIPPED");
  EXPECT_THAT(TakeUrls(2), UnorderedElementsAre("http://a.test/2", "http://a.test/3"));
  EXPECT_THAT(client_.Get(ParamsIn("shop")), IsEmpty());
  EXPECT_EQ(client_.Stats("shop").counts().at("completed"), 1U);
  // Deleting a URL removes its page.
  EXPECT_EQ(client_.Put(Discovered("http://b.test/1", "", "shop")), "OK");
  EXPECT_EQ(client_.DeleteQueue("b.test", "shop"), 1U);
  EXPECT_THAT(client_.Get(ParamsIn("shop")), IsEmpty());
  EXPECT_EQ(client_.Put(Discovered("http://b.test/1", "", "shop")), "OK");
  EXPECT_THAT(TakeUrls(1), ElementsAre("http://b.test/1"));
}

// Freshet has acknowledged these pages, and no client has removed them. So their URLs must be given
// out.
TEST_F(ScheduledFrontier, GivesOutPagesThatItNeverHadAUrlOf) {
  v1::UpsertPagesRequest request;
  std::vector<std::string> urls;
  for (int i = 0; i < 20; ++i) {
    urls.push_back("http://h" + std::to_string(i) + ".test/");
    v1::PageSpec& page = *request.add_pages();
    page.set_url(urls.back());
    page.set_crawl_id("shop");
    page.set_importance(7);
  }
  EXPECT_EQ(server_.Upsert(request).statuses_size(), 0);
  EXPECT_THAT(TakeUrls(20), ::testing::UnorderedElementsAreArray(urls));
  EXPECT_EQ(client_.Stats("shop").size(), 0U) << "no result has come";
  EXPECT_EQ(client_.Stats("shop").inprocess(), 20U);
  EXPECT_EQ(client_.Stats("shop", "h3.test").inprocess(), 1U);
  for (const std::string& url : urls) {
    EXPECT_EQ(Page(url).importance(), 7) << url;
    EXPECT_EQ(client_.Put(Fetched(url, "200", "abc")), "OK");
    EXPECT_EQ(Page(url).crawls(), 1U) << url;
  }
  EXPECT_EQ(client_.Stats("shop").inprocess(), 0U);
  server_.Restart();
  client_ = FrontierClient(server_.channel);
  EXPECT_EQ(client_.Stats("shop").size(), 20U);
}

TEST_F(ScheduledFrontier, GivesOutPagesFromBeforeTheModeWasSet) {
  v1::UpsertPagesRequest request;
  v1::PageSpec& page = *request.add_pages();
  page.set_url("http://a.test/1");
  page.set_crawl_id("later");
  EXPECT_EQ(server_.Upsert(request).statuses_size(), 0);
  v1::SetCrawlRequest mode;
  mode.set_crawl_id("later");
  mode.set_frontier_mode(v1::FRONTIER_MODE_SCHEDULED);
  v1::SetCrawlResponse response;
  grpc::ClientContext call;
  ASSERT_TRUE(server_.admin->SetCrawl(&call, mode, &response).ok());
  EXPECT_THAT(TakeUrls(1, ParamsIn("later", 0, 0, 1000)), ElementsAre("http://a.test/1"));
}

// Pages whose URLs the frontier does not store are given out, too. So if deleting a URL left its
// page behind, the URL would come back.
TEST_F(ScheduledFrontier, UrlsThatAreDeletedTakeTheirPagesAlong) {
  const auto put = [this](const std::string& url) {
    EXPECT_EQ(client_.Put(Discovered(url, "", "shop")), "OK");
  };
  for (const char* url : {"http://a.test/1", "http://a.test/2", "http://b.test/1"}) put(url);
  // One of the URLs is in flight.
  EXPECT_THAT(TakeUrls(1, ParamsIn("shop", 1, 1, 1000)), ::testing::SizeIs(1));
  EXPECT_EQ(client_.DeleteQueue("a.test", "shop"), 2U);
  EXPECT_EQ(client_.Stats("shop").numberofqueues(), 1U);
  EXPECT_FALSE(HasPage("http://a.test/1"));
  EXPECT_FALSE(HasPage("http://a.test/2"));
  EXPECT_TRUE(HasPage("http://b.test/1"));
  EXPECT_EQ(client_.DeleteCrawl("shop"), 1U);
  EXPECT_FALSE(HasPage("http://b.test/1"));
  EXPECT_THAT(client_.Crawls(), IsEmpty());
  server_.Restart();
  client_ = FrontierClient(server_.channel);
  EXPECT_THAT(client_.Get(ParamsIn("shop")), IsEmpty());
  EXPECT_EQ(client_.Stats("shop").size(), 0U);
}

// A refused URL leaves no trace. Otherwise `max_pages` would not limit memory or disk space.
TEST_F(ScheduledFrontier, KeepsNoUrlWhosePageIsRefused) {
  v1::SetCrawlRequest request;
  request.set_crawl_id("shop");
  request.set_max_pages(2);
  v1::SetCrawlResponse response;
  grpc::ClientContext call;
  ASSERT_TRUE(server_.admin->SetCrawl(&call, request, &response).ok());
  std::map<std::string, int> outcomes;
  for (int i = 0; i < 10; ++i) {
    const std::string url = "http://h" + std::to_string(i) + ".test/";
    ++outcomes[client_.Put(Discovered(url, "", "shop"))];
    ++outcomes[client_.Put(Fetched(url, "200", "abc"))];
  }
  EXPECT_EQ(outcomes["OK"], 4);
  EXPECT_EQ(outcomes["FAIL"], 16);
  EXPECT_EQ(client_.Stats("shop").size(), 2U);
  EXPECT_EQ(client_.Stats("shop").numberofqueues(), 2U);
  // Puts the same new URL twice in one batch. Both puts are refused.
  uf::DiscoveredBatch batch;
  for (const char* url : {"http://x.test/1", "http://x.test/1", "http://h0.test/"}) {
    *batch.add_items() = Info(url, "", "shop");
  }
  EXPECT_THAT(client_.PutBatches({batch})[0].statuses(),
              ElementsAre(uf::AckMessage::FAIL, uf::AckMessage::FAIL, uf::AckMessage::SKIPPED));
  EXPECT_EQ(client_.Stats("shop").size(), 2U);
  // Earlier URLs stay.
  EXPECT_EQ(client_.Put(Fetched("http://h0.test/", "200", "abd")), "OK");
  EXPECT_EQ(client_.Stats("shop").size(), 2U);
}

TEST_F(ScheduledFrontier, HeedsLimitsBlocksAndInactivity) {
  for (int host = 0; host < 4; ++host) {
    for (int i = 0; i < 5; ++i) {
      const std::string name = "http://h" + std::to_string(host) + ".test/";
      EXPECT_EQ(client_.Put(Discovered(name + std::to_string(i), "", "shop")), "OK");
    }
  }
  client_.Block("h0.test", kFarAway, "shop");
  client_.SetActive(false);
  EXPECT_THAT(client_.Get(ParamsIn("shop")), IsEmpty());
  client_.SetActive(true);
  std::set<std::string> all;
  for (int i = 0; i < 200 && all.size() < 15; ++i) {
    std::map<std::string, int> by_queue;
    for (const uf::URLInfo& info : client_.GetInfos(ParamsIn("shop", 1, 2, 1000))) {
      EXPECT_TRUE(all.insert(info.url()).second) << info.url();
      EXPECT_EQ(++by_queue[info.key()], 1);
      EXPECT_NE(info.key(), "h0.test");
    }
    EXPECT_LE(by_queue.size(), 2U);
  }
  EXPECT_EQ(all.size(), 15U);
  client_.Block("h0.test", 0, "shop");
  EXPECT_EQ(Take(5).size(), 5U);
}

// While the page of a URL has a lease, the URL is not given to other clients.
TEST_F(ScheduledFrontier, LeasesLastOverARestartAndOnlySoManyBytesGoOutAtOnce) {
  for (int i = 0; i < 8; ++i) {
    uf::URLItem item = Discovered("http://h" + std::to_string(i) + ".test/", "", "shop");
    (*item.mutable_discovered()->mutable_info()->mutable_metadata())["large"].add_values(
        std::string(20'000, 'x'));
    EXPECT_EQ(client_.Put(item), "OK");
  }
  std::set<std::string> all;
  for (int i = 0; i < 200 && all.size() < 8; ++i) {
    const std::vector<uf::URLInfo> some = client_.GetInfos(ParamsIn("shop", 0, 0, 1000));
    EXPECT_LE(some.size(), 3U);
    for (const uf::URLInfo& info : some) {
      EXPECT_TRUE(all.insert(info.url()).second) << info.url();
      EXPECT_EQ(info.metadata().at("large").values(0).size(), 20'000U);
    }
  }
  EXPECT_EQ(all.size(), 8U);
  server_.Restart();
  client_ = FrontierClient(server_.channel);
  EXPECT_EQ(client_.Stats("shop").inprocess(), 8U);
  EXPECT_THAT(client_.Get(ParamsIn("shop")), IsEmpty());
}

TEST_F(ScheduledFrontier, GivesOutOfAnyCrawlId) {
  EXPECT_EQ(client_.Put(Discovered("http://a.test/1", "", "shop")), "OK");
  EXPECT_EQ(client_.Put(Discovered("http://a.test/2", "", "news")), "OK");
  EXPECT_EQ(client_.Put(Discovered("http://a.test/3", "", "plain")), "OK");
  EXPECT_THAT(TakeUrls(3, Params(0, 0, 1000)),
              UnorderedElementsAre("http://a.test/1", "http://a.test/2", "http://a.test/3"));
}

TEST_F(ScheduledFrontier, GivesOutNothingWhilePausedOrUnderARatePolicy) {
  EXPECT_EQ(client_.Put(Discovered("http://a.test/1", "", "shop")), "OK");
  const auto set_policy = [this](const std::string& name) {
    v1::SetPolicyRequest request;
    request.set_policy(name);
    v1::SetPolicyResponse response;
    grpc::ClientContext call;
    EXPECT_TRUE(server_.admin->SetPolicy(&call, request, &response).ok());
  };
  set_policy("lambda_crawl");
  EXPECT_THAT(client_.Get(ParamsIn("shop")), IsEmpty());
  set_policy("greedy");
  v1::PauseResponse paused;
  grpc::ClientContext pause;
  EXPECT_TRUE(server_.admin->Pause(&pause, {}, &paused).ok());
  EXPECT_THAT(client_.Get(ParamsIn("shop")), IsEmpty());
  v1::ResumeResponse resumed;
  grpc::ClientContext resume;
  EXPECT_TRUE(server_.admin->Resume(&resume, {}, &resumed).ok());
  EXPECT_THAT(TakeUrls(1), ElementsAre("http://a.test/1"));
}

TEST_F(ScheduledFrontier, TakesBatchesOfBothKinds) {
  uf::DiscoveredBatch batch;
  batch.set_id("b");
  *batch.add_items() = Info("http://a.test/1", "", "shop");
  *batch.add_items() = Info("not a URL", "key", "shop");
  *batch.add_items() = Info("not a URL", "key", "plain");
  *batch.add_items() = Info("http://a.test/1", "", "shop");
  const auto acks = client_.PutBatches({batch});
  ASSERT_EQ(acks.size(), 1U);
  EXPECT_THAT(acks[0].statuses(), ElementsAre(uf::AckMessage::OK, uf::AckMessage::SKIPPED,
                                              uf::AckMessage::OK, uf::AckMessage::SKIPPED));
  EXPECT_THAT(TakeUrls(1), ElementsAre("http://a.test/1"));
}

// Some clients mark every fetched URL as completed, with a date of zero.
TEST(ScheduledFrontierOfCompleters, TakesADateOfZeroAsAnyOther) {
  TestServer server([](ServerConfig* config) {
    config->frontier_scheduled = {"shop"};
    config->frontier_zero_is_never = false;
  });
  FrontierClient client(server.channel);
  EXPECT_EQ(client.Put(Fetched("http://a.test/1", "200", "abc", 0)), "OK");
  EXPECT_EQ(client.Stats("shop").size(), 1U);
  EXPECT_EQ(server.Get("http://a.test/1", "shop").page().crawls(), 1U);
  std::vector<uf::URLInfo> infos;
  for (int i = 0; i < 200 && infos.empty(); ++i) infos = client.GetInfos(ParamsIn("shop"));
  ASSERT_EQ(infos.size(), 1U);
  EXPECT_EQ(infos[0].metadata().at("depth").values(0), "3");
}

// --- Killed

class KilledScheduledFrontier : public ::testing::Test {
 protected:
  KilledScheduledFrontier() : daemon_(dir_ / "data", dir_ / "log") {
    std::ofstream(dir_ / "config.yaml") << "frontier:\n  scheduled_crawls: [shop]\n"
                                           "politeness:\n  min_delay: 0s\n  max_in_flight: 0\n";
    Start();
  }
  ~KilledScheduledFrontier() override {
    daemon_.RequestStop();
    EXPECT_EQ(daemon_.AwaitEnd(), "");
  }
  void Start() {
    daemon_.Spawn({"--config", dir_ / "config.yaml"});
    ASSERT_EQ(daemon_.AwaitReady(), "");
    client_ = std::make_unique<FrontierClient>(daemon_.channel());
  }

  TempDir dir_;
  crash::Daemon daemon_;
  std::unique_ptr<FrontierClient> client_;
};

TEST_F(KilledScheduledFrontier, KeepsWhatWasAcknowledgedInBothStores) {
  std::set<std::string> acknowledged;
  for (int round = 0; round < 3; ++round) {
    std::atomic<bool> enough{false};
    std::thread putter([&, round] {
      grpc::ClientContext call;
      const auto stream = client_->stub->PutURLs(&call);
      std::thread reader([&] {
        uf::AckMessage ack;
        while (stream->Read(&ack)) {
          if (ack.status() != uf::AckMessage::FAIL) acknowledged.insert(ack.id());
          if (acknowledged.size() > 500U * static_cast<unsigned>(round + 1)) enough = true;
        }
      });
      for (int i = 0;; ++i) {
        const std::string url = "http://h" + std::to_string(i % 40) + ".test/" +
                                std::to_string(round) + "-" + std::to_string(i);
        const uf::URLItem item =
            i % 3 == 0 ? Fetched(url, "200", "abc") : Discovered(url, "", "shop");
        if (!stream->Write(item)) break;
      }
      stream->WritesDone();
      reader.join();
      (void)stream->Finish();
    });
    WaitUntil([&] { return enough.load(); });
    EXPECT_EQ(daemon_.Kill(), "");
    putter.join();
    Start();
  }
  EXPECT_GT(acknowledged.size(), 1500U);
  uf::ListUrlParams all;
  all.set_size(10'000'000);
  all.set_crawlid("shop");
  std::set<std::string> kept;
  for (const uf::URLItem& item : client_->List(all)) kept.insert(item.known().info().url());
  const auto pages = v1::PagesService::NewStub(daemon_.channel());
  for (const std::string& url : acknowledged) {
    EXPECT_TRUE(kept.contains(url)) << url;
    v1::GetPageRequest request;
    request.set_url(url);
    request.set_crawl_id("shop");
    grpc::ClientContext call;
    v1::GetPageResponse response;
    EXPECT_TRUE(pages->GetPage(&call, request, &response).ok()) << url;
  }
  // The restarted server still gives out URLs.
  size_t served = 0;
  for (int i = 0; i < 200 && served == 0; ++i) {
    served = client_->Get(ParamsIn("shop", 0, 0, 1000)).size();
  }
  EXPECT_GT(served, 0U);
}

}  // namespace
}  // namespace freshet
