// Tests crawl ids of the crawl-frontier API in a fleet: one division has the URLs, and all
// divisions have pages.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/url.h"
#include "core/fleet/slot_division.h"
#include "tests/grpc/cluster_servers.h"
#include "tests/grpc/frontier_client.h"
#include "tests/support/faulty_env.h"

namespace freshet {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Pair;
using testing::SizeIs;

// A real clock that a test can stop and move. Thread-safe.
class HeldClock final : public Clock {
 public:
  Instant Now() override {
    const int64_t held = held_us_;
    return held > 0 ? Instant::FromMicros(held) : real_.Now();
  }
  void Hold() { held_us_ = real_.Now().micros(); }
  void Pass(Duration by) { held_us_ += by.micros(); }

 private:
  SystemClock real_;
  std::atomic<int64_t> held_us_ = 0;
};

class FleetFrontierTest : public ClusterServers {
 protected:
  static constexpr uint64_t kFarAway = 4'000'000'000;
  static constexpr uint32_t kLong = 3600;

  FleetFrontierTest() { MakeFleetTopics(); }

  TestServer::Tweak InFleet(int division) {
    const TestServer::Tweak in_cluster = InCluster(/*divisions=*/2, division);
    return [in_cluster](ServerConfig* config) {
      in_cluster(config);
      config->frontier_scheduled = {"shop", "news"};
      config->crawl_rate = Rate::PerSecond(200);
    };
  }
  static uint32_t DivisionOf(const std::string& url) {
    return SlotDivision{.divisions = 2, .division = 0}.Of(SlotOfHost(Canonicalise(url)->host));
  }
  // URLs of `count` hosts, half of them in each division.
  static std::vector<std::string> Urls(size_t count, const std::string& name = "host") {
    std::vector<std::string> urls;
    std::map<uint32_t, size_t> of_division;
    for (int i = 0; urls.size() < count; ++i) {
      std::string url = "https://" + name + std::to_string(i) + ".test/";
      if (of_division[DivisionOf(url)]++ < count / 2) urls.push_back(std::move(url));
    }
    return urls;
  }
  static std::optional<std::string> FirstOf(uint32_t division,
                                            const std::vector<std::string>& urls) {
    const auto it = std::find_if(urls.begin(), urls.end(), [division](const std::string& url) {
      return DivisionOf(url) == division;
    });
    return it != urls.end() ? std::optional(*it) : std::nullopt;
  }
  static size_t ShardOf(const TestServer& server, const std::string& url) {
    return SlotOfHost(Canonicalise(url)->host).value() % static_cast<size_t>(server.config.shards);
  }
  static void PutAll(FrontierClient& client, const std::vector<std::string>& urls,
                     const std::string& crawl) {
    std::vector<uf::URLItem> items;
    for (const std::string& url : urls) items.push_back(Discovered(url, "", crawl));
    EXPECT_THAT(client.Put(items),
                testing::AllOf(SizeIs(urls.size()), Each(Pair(testing::_, "OK"))));
  }
  static uf::URLItem Fetched(const std::string& url, const std::string& status,
                             const std::string& digest) {
    uf::URLItem item = KnownUntil(0, url, "", "shop");
    auto& metadata = *item.mutable_known()->mutable_info()->mutable_metadata();
    metadata["fetch.statusCode"].add_values(status);
    metadata["signature"].add_values(digest);
    return item;
  }
  // Takes URLs until it has `count` of them, or for a limited time. Expects no URL twice.
  static std::set<std::string> Take(FrontierClient& client, const std::string& crawl,
                                    size_t count) {
    std::set<std::string> urls;
    EXPECT_TRUE(Eventually([&] {
      for (const std::string& url : client.Get(ParamsIn(crawl, 2, 4, kLong))) {
        EXPECT_TRUE(urls.insert(url).second) << url;
      }
      return urls.size() >= count;
    })) << urls.size();
    return urls;
  }
  static std::optional<v1::Page> PageOf(TestServer& server, const std::string& url,
                                        const std::string& crawl) {
    v1::GetPageRequest request;
    request.set_url(url);
    request.set_crawl_id(crawl);
    v1::GetPageResponse response;
    grpc::ClientContext call;
    if (!server.pages->GetPage(&call, request, &response).ok()) return std::nullopt;
    return response.page();
  }
};

TEST_F(FleetFrontierTest, GivesOutPagesOfAllDivisionsByTheirValue) {
  TestServer first(InFleet(0));
  TestServer other(InFleet(1));
  FrontierClient client(other.channel);
  const std::vector<std::string> urls = Urls(12);
  PutAll(client, urls, "shop");
  for (const std::string& url : urls) EXPECT_TRUE(PageOf(first, url, "shop")) << url;
  const std::set<std::string> out = Take(client, "shop", urls.size());
  EXPECT_EQ(out, std::set<std::string>(urls.begin(), urls.end()));
  EXPECT_EQ(client.Stats("shop").inprocess(), urls.size());

  // The results of fetches reach the pages of both divisions.
  std::map<uint32_t, std::string> some;
  for (const std::string& url : urls) some[DivisionOf(url)] = url;
  for (const auto& [division, url] : some) {
    EXPECT_FALSE(PageOf(other, url, "shop")->has_last_crawl_time());
    uf::URLItem fetched = Fetched(url, "200", "one");
    fetched.mutable_known()->set_refetchable_from_date(kFarAway);
    EXPECT_EQ(client.Put(fetched), "OK");
    EXPECT_TRUE(PageOf(other, url, "shop")->has_last_crawl_time()) << division;
    EXPECT_FALSE(PageOf(other, url, "shop")->has_lease()) << division;
  }
  // A URL that is never to be fetched again has no page.
  for (const auto& [division, url] : some) {
    EXPECT_EQ(client.Put(Fetched(url, "404", "")), "OK");
    EXPECT_FALSE(PageOf(other, url, "shop")) << division;
  }
  EXPECT_EQ(client.Stats("shop").counts().at("completed"), 2U);

  // Blocking a queue blocks the queue's host as long as the host has a page.
  const std::string blocked = *FirstOf(1, urls);
  ASSERT_NE(blocked, some[1]);
  const std::string host = Canonicalise(blocked)->host;
  client.Block(host, kFarAway, "shop");
  EXPECT_TRUE(Eventually([&] {
    v1::GetHostRequest request;
    request.set_host(host);
    v1::GetHostResponse response;
    grpc::ClientContext call;
    return other.admin->GetHost(&call, request, &response).ok() &&
           response.host_state().has_blocked_until();
  }));

  // Deleting URLs also removes their pages.
  PutAll(client, urls, "news");
  EXPECT_EQ(client.DeleteCrawl("news"), urls.size());
  for (const std::string& url : urls) EXPECT_FALSE(PageOf(first, url, "news")) << url;
}

TEST_F(FleetFrontierTest, GivesOutPagesOfAllDivisionsThatItNeverHadAUrlOf) {
  TestServer first(InFleet(0));
  TestServer other(InFleet(1));
  FrontierClient client(other.channel);
  const std::vector<std::string> urls = Urls(8);
  v1::UpsertPagesRequest request;
  for (const std::string& url : urls) {
    v1::PageSpec& page = *request.add_pages();
    page.set_url(url);
    page.set_crawl_id("shop");
  }
  EXPECT_EQ(first.Upsert(request).statuses_size(), 0);
  EXPECT_EQ(Take(client, "shop", urls.size()), std::set<std::string>(urls.begin(), urls.end()));
  for (const std::string& url : urls) {
    EXPECT_TRUE(PageOf(first, url, "shop")) << url;
    EXPECT_EQ(client.Stats("shop", Canonicalise(url)->host).inprocess(), 1U) << url;
    uf::URLItem fetched = Fetched(url, "200", "one");
    fetched.mutable_known()->set_refetchable_from_date(kFarAway);
    EXPECT_EQ(client.Put(fetched), "OK");
  }
  EXPECT_EQ(client.Stats("shop").size(), urls.size());
  EXPECT_EQ(client.Stats("shop").inprocess(), 0U);
}

// If no server serves a division, putting URLs of the division fails, and clients must put them
// again. URLs of other divisions are still given out.
TEST_F(FleetFrontierTest, UrlsFromBeforeBecomePagesInAllDivisionsAndOneThatIsAwayHoldsNobodyUp) {
  TestServer first(InFleet(0));
  TestServer other(InFleet(1));
  const std::vector<std::string> urls = Urls(8);
  {
    FrontierClient client(other.channel);
    PutAll(client, urls, "late");
  }
  v1::SetCrawlRequest request;
  request.set_crawl_id("late");
  request.set_frontier_mode(v1::FRONTIER_MODE_SHADOW);
  (void)CallOf(other, &Admin::SetCrawl, request);
  for (const std::string& url : urls) {
    EXPECT_TRUE(Eventually([&] { return PageOf(first, url, "late").has_value(); })) << url;
  }
  FrontierClient client(first.channel);
  request.set_frontier_mode(v1::FRONTIER_MODE_SCHEDULED);
  (void)CallOf(other, &Admin::SetCrawl, request);
  EXPECT_EQ(Take(client, "late", urls.size()), std::set<std::string>(urls.begin(), urls.end()));

  const std::vector<std::string> more = Urls(12, "more");
  PutAll(client, more, "shop");
  EXPECT_TRUE(other.Stop().ok());
  // The call must end within this time, which is shorter than the time that items wait for a
  // division.
  const auto soon = std::chrono::steady_clock::now() + std::chrono::seconds(12);
  // The stopped server might have been the leader of the crawl rate. It takes a while until there
  // is a new leader.
  for (const std::string& url : client.Get(ParamsIn("shop", 2, 9, kLong))) {
    EXPECT_EQ(DivisionOf(url), 0U) << url;
  }
  EXPECT_EQ(client.Stats("shop").size(), more.size());
  EXPECT_LT(std::chrono::steady_clock::now(), soon);
  std::vector<uf::URLItem> items;
  for (const std::string& url : more) {
    items.push_back(Fetched(url, "200", "x"));
    items.back().mutable_known()->set_refetchable_from_date(kFarAway);
  }
  for (const auto& [url, outcome] : client.Put(items)) {
    EXPECT_EQ(outcome, DivisionOf(url) == 0 ? "OK" : "FAIL") << url;
  }
}

// A URL is deleted before it becomes a page, while no server serves its division. When the division
// has a server again, no page of the URL appears.
TEST_F(FleetFrontierTest, UrlsThatAreDeletedWhileTheyBecomePagesStayDeleted) {
  HeldClock clock;
  TestServer first(InFleet(0), nullptr, &clock);
  TestServer other(InFleet(1));
  const std::string near = *FirstOf(0, Urls(2));
  // Two hosts of the same division and shard, in the order in which they become pages.
  std::string deleted;
  std::string kept;
  for (const std::string& url : Urls(200, "away")) {
    if (DivisionOf(url) == 0) continue;
    if (deleted.empty()) {
      deleted = url;
    } else if (url > deleted && ShardOf(other, url) == ShardOf(other, deleted)) {
      kept = url;
      break;
    }
  }
  ASSERT_FALSE(kept.empty());
  FrontierClient client(first.channel);
  PutAll(client, {near, deleted, kept}, "late");
  EXPECT_TRUE(other.Stop().ok());
  clock.Hold();
  v1::SetCrawlRequest request;
  request.set_crawl_id("late");
  request.set_frontier_mode(v1::FRONTIER_MODE_SCHEDULED);
  // Setting the mode also waits for the other division, so it runs on another thread.
  std::future<grpc::StatusCode> setting =
      std::async(std::launch::async, [&] { return CodeOf(first, &Admin::SetCrawl, request); });
  // The other two URLs wait 15 s, by the held clock, for their division.
  ASSERT_TRUE(Eventually([&] { return PageOf(first, near, "late").has_value(); }));
  clock.Pass(Duration::Seconds(8));
  const auto remove = [&] {
    uf::QueueWithinCrawlParams queue;
    queue.set_key(Canonicalise(deleted)->host);
    queue.set_crawlid("late");
    uf::Long count;
    grpc::ClientContext call;
    return client.stub->DeleteQueue(&call, queue, &count).ok();
  };
  std::future<bool> deletion = std::async(std::launch::async, remove);
  ASSERT_TRUE(Eventually([&] {
    uf::URLItem item;
    EXPECT_TRUE(FrontierClient(first.channel).Status(deleted, &item, "", "late").ok());
    return item.known().refetchable_from_date() == 0;
  }));
  clock.Pass(Duration::Seconds(8));
  other.Start();
  // If the deletion was refused with "try again", it is repeated.
  EXPECT_TRUE(deletion.get() || Eventually(remove));
  (void)setting.get();
  EXPECT_TRUE(Eventually([&] { return PageOf(first, kept, "late").has_value(); }));
  EXPECT_FALSE(PageOf(first, deleted, "late"));
}

// The first division sets the mode of the crawl id although the other division refuses pages. No
// later change of the mode would make pages of these URLs, so the server must try again by itself.
TEST_F(FleetFrontierTest, UrlsWhosePagesFindADivisionBusyBecomePagesLater) {
  FaultyEnv disk(1);
  TestServer first(InFleet(0));
  TestServer other(InFleet(1), disk.env());
  const std::string near = *FirstOf(0, Urls(20));
  const std::string far = *FirstOf(1, Urls(20));
  FrontierClient client(first.channel);
  PutAll(client, {near, far}, "late");
  // A host without a page of the crawl id cannot be blocked.
  v1::UpsertPagesRequest upsert;
  v1::PageSpec& page = *upsert.add_pages();
  page.set_url(far + "other");
  page.set_crawl_id("late");
  EXPECT_EQ(other.Upsert(upsert).statuses_size(), 0);
  disk.SetFreeBytes(1 << 20);
  v1::SetCrawlRequest request;
  request.set_crawl_id("late");
  request.set_frontier_mode(v1::FRONTIER_MODE_SCHEDULED);
  // The other division refuses the mode, too, because its disk is full.
  (void)CodeOf(first, &Admin::SetCrawl, request);
  ASSERT_TRUE(Eventually([&] { return PageOf(first, near, "late").has_value(); }));
  EXPECT_FALSE(
      Eventually([&] { return PageOf(first, far, "late").has_value(); }, Duration::Seconds(1)));
  // The client gets the reason in the words of that division.
  uf::BlockQueueParams block;
  block.set_key(Canonicalise(far)->host);
  block.set_crawlid("late");
  block.set_time(kFarAway);
  uf::Empty nothing;
  grpc::ClientContext call;
  const grpc::Status blocked = client.stub->BlockQueueUntil(&call, block, &nothing);
  EXPECT_EQ(blocked.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(blocked.error_message(), HasSubstr("disk"));
  disk.ClearFaults();
  EXPECT_TRUE(Eventually([&] { return PageOf(first, far, "late").has_value(); }));
}

}  // namespace
}  // namespace freshet
