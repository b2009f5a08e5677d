// Crawl ids of the crawl-frontier API in a fleet, whose URLs are in one division and whose pages
// are in all.
#include <algorithm>
#include <chrono>
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

namespace freshet {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Pair;
using testing::SizeIs;

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
  // Of so many hosts, as many of each division.
  static std::vector<std::string> Urls(size_t count, const std::string& name = "host") {
    std::vector<std::string> urls;
    std::map<uint32_t, size_t> of_division;
    for (int i = 0; urls.size() < count; ++i) {
      std::string url = "https://" + name + std::to_string(i) + ".test/";
      if (of_division[DivisionOf(url)]++ < count / 2) urls.push_back(std::move(url));
    }
    return urls;
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
  // Until so many have come, or for a while; none twice.
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

  // What fetches find comes to pages wherever they are.
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
  // Never again: the page goes.
  for (const auto& [division, url] : some) {
    EXPECT_EQ(client.Put(Fetched(url, "404", "")), "OK");
    EXPECT_FALSE(PageOf(other, url, "shop")) << division;
  }
  EXPECT_EQ(client.Stats("shop").counts().at("completed"), 2U);

  // A queue that is blocked is a host that is.
  const std::string host = Canonicalise(some[1])->host;
  client.Block(host, kFarAway, "shop");
  EXPECT_TRUE(Eventually([&] {
    v1::GetHostRequest request;
    request.set_host(host);
    v1::GetHostResponse response;
    grpc::ClientContext call;
    return other.admin->GetHost(&call, request, &response).ok() &&
           response.host_state().has_blocked_until();
  }));

  // A page of which the frontier has nothing any more is none: its lease reaches nobody, and it
  // goes.
  PutAll(client, urls, "news");
  EXPECT_EQ(client.DeleteCrawl("news"), urls.size());
  PutAll(client, {"https://unlike.test/"}, "news");
  EXPECT_TRUE(Eventually([&] {
    for (const std::string& url : client.Get(ParamsIn("news", 9, 99, kLong))) {
      EXPECT_EQ(url, "https://unlike.test/");
    }
    return std::none_of(urls.begin(), urls.end(), [&](const std::string& url) {
      return url != some[1] && PageOf(first, url, "news").has_value();
    });
  }));
}

// What is of a division that nobody serves is to be put again; the other ones are given out.
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
  // Longer than a call takes, and shorter than items wait for a division.
  const auto soon = std::chrono::steady_clock::now() + std::chrono::seconds(12);
  // What leads the sharing of the rate may have gone, too: then there is none for a while.
  for (const std::string& url : client.Get(ParamsIn("shop", 2, 9, kLong))) {
    EXPECT_EQ(DivisionOf(url), 0U) << url;
  }
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

}  // namespace
}  // namespace freshet
