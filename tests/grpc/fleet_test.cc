// Tests a fleet of two divisions, in which each server answers for both.
#include <atomic>
#include <future>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/url.h"
#include "core/fleet/slot_division.h"
#include "freshet/v1/fleet.grpc.pb.h"
#include "server/base/limits.h"
#include "tests/grpc/cluster_servers.h"
#include "tests/support/ahead_of_clock.h"

namespace freshet {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class FleetTest : public ClusterServers {
 protected:
  FleetTest() { MakeFleetTopics(); }

  // The fleet of two divisions, as the server sees it.
  static v1::GetFleetResponse Fleet(TestServer& server) {
    v1::GetFleetResponse response;
    grpc::ClientContext call;
    const grpc::Status status = server.admin->GetFleet(&call, {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.divisions_size(), 2);
    while (response.divisions_size() < 2) response.add_divisions();
    return response;
  }
  // Expects that both servers describe the two divisions.
  static void ExpectBothDescribed(TestServer& first, TestServer& second, uint64_t pages) {
    v1::GetFleetResponse fleet;
    EXPECT_TRUE(Eventually([&] {
      fleet = Fleet(second);
      return !fleet.divisions(0).has_unanswered() && !fleet.divisions(1).has_unanswered();
    })) << fleet.DebugString();
    EXPECT_EQ(fleet.cluster(), "mock");
    EXPECT_EQ(fleet.divisions(0).address(), first.info.grpc_address);
    EXPECT_EQ(fleet.divisions(1).address(), second.info.grpc_address);
    EXPECT_EQ(fleet.divisions(0).pages() + fleet.divisions(1).pages(), pages);
    EXPECT_EQ(second.Statistics().pages().pages(), pages);
    EXPECT_TRUE(fleet.divisions(0).has_serves_since());
    EXPECT_FALSE(fleet.divisions(0).node().empty());
  }
  // Lists all hosts, `size` at a time.
  static std::set<std::string> HostsOf(TestServer& server, uint32_t size) {
    std::set<std::string> hosts;
    v1::ListHostsRequest request;
    request.set_page_size(size);
    do {
      const v1::ListHostsResponse part = CallOf(server, &Admin::ListHosts, request);
      EXPECT_TRUE(part.unanswered().empty());
      EXPECT_EQ(static_cast<uint32_t>(part.hosts_size()) == size, !part.next_page_token().empty());
      for (const v1::HostState& host : part.hosts()) {
        EXPECT_TRUE(hosts.insert(host.host()).second) << host.host();
      }
      request.set_page_token(part.next_page_token());
    } while (!request.page_token().empty());
    return hosts;
  }
  // The URLs of one list, and the token of its next part.
  static std::pair<std::set<std::string>, std::string> PagesOf(
      TestServer& server, const v1::ListPagesRequest& request) {
    std::set<std::string> urls;
    std::string token;
    grpc::ClientContext call;
    const auto stream = server.pages->ListPages(&call, request);
    v1::ListPagesResponse part;
    while (stream->Read(&part)) {
      for (const v1::Page& page : part.pages()) {
        EXPECT_TRUE(urls.insert(page.url()).second) << page.url();
      }
      token = part.next_page_token();
    }
    const grpc::Status status = stream->Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    return {urls, token};
  }
  static void ExpectTokensRefused(TestServer& first) {
    for (const char* bad : {"2:", "1", "x:", "0:zz", "1:zz", ":"}) {
      v1::ListHostsRequest hosts;
      hosts.set_page_token(bad);
      EXPECT_EQ(CodeOf(first, &Admin::ListHosts, hosts), grpc::StatusCode::INVALID_ARGUMENT) << bad;
    }
    for (const char* bad : {"2.", "0.!", "1.!", "AAAA", "."}) {
      v1::ListPagesRequest pages;
      pages.set_page_token(bad);
      grpc::ClientContext call;
      EXPECT_EQ(first.pages->ListPages(&call, pages)->Finish().error_code(),
                grpc::StatusCode::INVALID_ARGUMENT)
          << bad;
    }
  }
  // Stops the first division. Expects that the second server still answers for the fleet and names
  // the missing division, and that an incomplete list of pages ends with an error.
  static void ExpectToMissTheFirst(TestServer& first, TestServer& second) {
    const uint64_t of_second = Fleet(second).divisions(1).pages();
    const size_t hosts_of_both = HostsOf(second, 1000).size();
    EXPECT_TRUE(first.Stop().ok());
    EXPECT_TRUE(Eventually([&] { return second.Statistics().unanswered_size() == 1; }));
    const v1::GetStatisticsResponse statistics = second.Statistics();
    EXPECT_EQ(statistics.unanswered(0).division(), 0U);
    EXPECT_FALSE(statistics.unanswered(0).reason().empty());
    EXPECT_EQ(statistics.pages().pages(), of_second);
    const auto hosts = CallOf(second, &Admin::ListHosts, {});
    EXPECT_EQ(hosts.unanswered_size(), 1);
    EXPECT_GT(hosts.hosts_size(), 10);
    EXPECT_LT(static_cast<size_t>(hosts.hosts_size()), hosts_of_both);
    // A call that was answered no longer holds a place, although the first division never answered
    // it. Two rounds of calls need more places than one client may have.
    for (int round = 0; round < 2; ++round) {
      std::vector<std::future<grpc::StatusCode>> lists;
      for (size_t i = 0; i < limits::kMaxListings * 5 / 16; ++i) {
        lists.push_back(
            std::async(std::launch::async, [&] { return CodeOf(second, &Admin::ListHosts, {}); }));
      }
      for (auto& list : lists) EXPECT_EQ(list.get(), grpc::StatusCode::OK);
    }
    EXPECT_EQ(CodeOf(second, &Admin::ListHosts, {}), grpc::StatusCode::OK);
    // An incomplete list of pages ends with an error.
    grpc::ClientContext call;
    const auto stream = second.pages->ListPages(&call, {});
    v1::ListPagesResponse response;
    EXPECT_FALSE(stream->Read(&response));
    const grpc::Status cut = stream->Finish();
    EXPECT_EQ(cut.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_THAT(cut.error_message(), HasSubstr("division 0: "));
  }
  // Returns the settings of a crawl id in the server's own division.
  static v1::CrawlSettings SettingsOf(TestServer& server, const std::string& crawl_id) {
    v1::ListCrawlsRequest request;
    request.set_crawl_id(crawl_id);
    v1::ListCrawlsResponse response;
    grpc::ClientContext call;
    const grpc::Status status = server.admin->ListCrawls(&call, request, &response);
    return status.ok() ? response.crawls(0).settings() : v1::CrawlSettings();
  }
  // Expects that a source registered at one server is known in both divisions.
  static void ExpectSourcesOfBoth(TestServer& first, TestServer& second, int pages) {
    v1::RegisterSourceRequest source;
    source.set_source("ticker");
    EXPECT_TRUE(CallOf(second, &Admin::RegisterSource, source).created());
    EXPECT_FALSE(CallOf(first, &Admin::RegisterSource, source).created());
    v1::SignalChangesRequest signals;
    for (int i = 0; i < 40; ++i) {
      signals.add_signals()->set_url(TestServer::Url(i, pages));
      signals.mutable_signals(i)->set_source("ticker");
    }
    EXPECT_THAT(Described(first.Signal(signals)), IsEmpty());
    uint64_t counted = 0;
    const v1::ListSourcesResponse sources = CallOf(second, &Admin::ListSources, {});
    for (const v1::Source& its : sources.sources()) {
      if (its.source() == "ticker") counted = its.signals();
    }
    EXPECT_EQ(counted, 40U);
    v1::UnregisterSourceRequest gone;
    gone.set_source("ticker");
    EXPECT_EQ(CallOf(first, &Admin::UnregisterSource, gone).source().signals(), 40U);
    EXPECT_EQ(CodeOf(second, &Admin::UnregisterSource, gone), grpc::StatusCode::NOT_FOUND);
    EXPECT_THAT(Described(second.Signal(signals)), SizeIs(40));
  }
  // Leases `count` pages. The workers of a division get a part of the fleet's rate only after they
  // have asked for pages.
  static std::vector<v1::Assignment> LeaseOfAFleet(TestServer& server, size_t count) {
    std::vector<v1::Assignment> leased;
    (void)Eventually([&] {
      const v1::NextResponse next = server.Next(static_cast<uint32_t>(count - leased.size()));
      leased.insert(leased.end(), next.assignments().begin(), next.assignments().end());
      return leased.size() == count;
    });
    return leased;
  }
  // Expects that both servers find a page, its host and the host's settings, whichever division has
  // them.
  static void ExpectFoundByWayOfEither(TestServer& first, TestServer& second, int page, int hosts) {
    const std::string url = TestServer::Url(page, hosts);
    for (TestServer* server : {&first, &second}) EXPECT_EQ(server->Get(url).page().url(), url);
    v1::SetHostPolitenessRequest polite;
    polite.set_host("host" + std::to_string(page) + ".test");
    ToProto(Duration::Seconds(7), polite.mutable_min_delay());
    v1::SetHostPolitenessResponse set;
    grpc::ClientContext call;
    EXPECT_TRUE(first.admin->SetHostPoliteness(&call, polite, &set).ok());
    v1::GetHostRequest host;
    host.set_host(polite.host());
    v1::GetHostResponse its;
    grpc::ClientContext again;
    EXPECT_TRUE(second.admin->GetHost(&again, host, &its).ok());
    EXPECT_EQ(its.host_state().DebugString(), set.host_state().DebugString());
  }
};

TEST_F(FleetTest, ServersThatCannotBeAskedRefuseWhatIsOfAnotherDivision) {
  constexpr int kPages = 300;
  constexpr int kHosts = 100;
  TestServer first(InCluster(/*divisions=*/2, /*division=*/0, /*address=*/""));
  TestServer second(InCluster(/*divisions=*/2, /*division=*/1, /*address=*/""));
  v1::UpsertPagesRequest request;
  for (int i = 0; i < kPages; ++i) request.add_pages()->set_url(TestServer::Url(i, kHosts));
  const std::vector<std::string> of_second = Described(first.Upsert(request));
  const std::vector<std::string> of_first = Described(second.Upsert(request));
  EXPECT_GT(of_first.size(), 0U);
  EXPECT_GT(of_second.size(), 0U);
  EXPECT_EQ(of_first.size() + of_second.size(), size_t{kPages});
  EXPECT_THAT(of_second.front(), HasSubstr("REFUSED FAILED_PRECONDITION host: belongs to division "
                                           "1 of 2, but this server serves division 0"));
  EXPECT_EQ(first.Statistics().pages().pages(), of_first.size());
  const v1::GetFleetResponse fleet = Fleet(first);
  EXPECT_EQ(fleet.divisions(0).pages(), of_first.size());
  EXPECT_FALSE(fleet.divisions(0).has_address());
  EXPECT_EQ(fleet.divisions(1).unanswered(), "cannot be reached: cluster.address is not set");
  EXPECT_EQ(second.Statistics().pages().pages(), of_second.size());

  // One server has the page. The other refuses the call and says which division it serves.
  std::map<TestServer*, std::set<std::string>> hosts;
  for (int i = 0; i < kPages; ++i) {
    v1::GetPageRequest get;
    get.set_url(TestServer::Url(i, kHosts));
    v1::GetHostRequest host;
    host.set_host("host" + std::to_string(i % kHosts) + ".test");
    for (TestServer* server : {&first, &second}) {
      v1::GetPageResponse page;
      grpc::ClientContext call;
      const grpc::Status status = server->pages->GetPage(&call, get, &page);
      if (status.ok()) {
        hosts[server].insert(host.host());
        continue;
      }
      EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
      EXPECT_THAT(status.error_message(), HasSubstr("of 2, but this server serves"));
      v1::GetHostResponse its;
      grpc::ClientContext again;
      EXPECT_EQ(server->admin->GetHost(&again, host, &its).error_code(),
                grpc::StatusCode::FAILED_PRECONDITION);
    }
  }
  EXPECT_EQ(hosts[&first].size() + hosts[&second].size(), size_t{kHosts});

  // Reports on a page of the other division are refused, by URL and by lease.
  const v1::NextResponse leased = first.Next(1);
  ASSERT_EQ(leased.assignments_size(), 1);
  v1::CrawlResult result;
  result.set_url(leased.assignments(0).url());
  ToProto(second.clock.Now(), result.mutable_fetch_time());
  result.set_content_digest("digest");
  EXPECT_THAT(Described(second.Report(result)).at(0), HasSubstr("belongs to division 0 of 2"));
  result.clear_url();
  result.set_lease_id(leased.assignments(0).lease_id());
  EXPECT_THAT(Described(second.Report(result)).at(0), HasSubstr("belongs to division 0 of 2"));
  EXPECT_THAT(Described(first.Report(result)), IsEmpty());
  EXPECT_THAT(Probe(second.info.http_address, "/metrics"),
              HasSubstr(R"(freshet_cluster_turn{cluster="mock-1-of-2"} 1)"));
  // The other division could not make pages of crawl-frontier URLs, so the mode is refused.
  v1::SetCrawlRequest scheduled;
  scheduled.set_crawl_id("shop");
  scheduled.set_frontier_mode(v1::FRONTIER_MODE_SCHEDULED);
  EXPECT_EQ(CodeOf(first, &Admin::SetCrawl, scheduled), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(FleetTest, AnyServerOfAFleetTakesAnyItem) {
  constexpr int kPages = 300;
  constexpr int kHosts = 100;
  TestServer first(InCluster(/*divisions=*/2, /*division=*/0));
  TestServer second(InCluster(/*divisions=*/2, /*division=*/1));
  v1::UpsertPagesRequest request;
  request.set_sequence(7);
  for (int i = 0; i < kPages; ++i) {
    request.add_pages()->set_url(i == 5 ? "no URL" : TestServer::Url(i, kHosts));
  }
  const v1::BatchAck ack = first.Upsert(request);
  EXPECT_THAT(Described(ack), ElementsAre(HasSubstr("5 REFUSED INVALID_ARGUMENT url: ")));
  EXPECT_EQ(ack.sequence(), 7U);
  EXPECT_EQ(ack.item_count(), static_cast<uint32_t>(kPages));
  ExpectBothDescribed(first, second, uint64_t{kPages} - 1);
  const v1::GetFleetResponse fleet = Fleet(first);
  EXPECT_GT(fleet.divisions(0).pages(), 50U);
  EXPECT_GT(fleet.divisions(1).pages(), 50U);

  for (int i = 0; i < 20; ++i) ExpectFoundByWayOfEither(first, second, i == 5 ? 25 : i, kHosts);
  v1::GetPageRequest unknown;
  unknown.set_url("http://host1.test/unknown");
  for (TestServer* server : {&first, &second}) {
    v1::GetPageResponse page;
    grpc::ClientContext call;
    EXPECT_EQ(server->pages->GetPage(&call, unknown, &page).error_code(),
              grpc::StatusCode::NOT_FOUND);
  }

  // Results by URL and by lease, signals, removals. After the restart, the two divisions number
  // their runs differently.
  second.Restart();
  v1::ReportCrawlsRequest results;
  for (TestServer* server : {&first, &second}) {
    const std::vector<v1::Assignment> leased = LeaseOfAFleet(*server, 2);
    ASSERT_EQ(leased.size(), 2U);
    results.add_results()->set_url(leased[0].url());
    results.add_results()->set_lease_id(leased[1].lease_id());
  }
  for (v1::CrawlResult& result : *results.mutable_results()) {
    ToProto(second.clock.Now(), result.mutable_fetch_time());
    result.set_content_digest("digest");
  }
  {
    grpc::ClientContext call;
    const auto stream = first.ingest->ReportCrawls(&call);
    const auto answer = TestServer::Exchange<v1::ReportCrawlsResponse>(*stream, results);
    EXPECT_THAT(Described(answer.ack()), IsEmpty());
  }
  v1::SignalChangesRequest signals;
  v1::RemovePagesRequest removal;
  for (int i = 10; i < 30; ++i) {
    signals.add_signals()->set_url(TestServer::Url(i, kHosts));
    signals.mutable_signals(i - 10)->set_source("sitemap");
    removal.add_urls(TestServer::Url(i, kHosts));
  }
  signals.add_signals()->set_url("http://host1.test/unknown");
  signals.mutable_signals(20)->set_source("sitemap");
  EXPECT_THAT(Described(first.Signal(signals)), ElementsAre(HasSubstr("20 REFUSED NOT_FOUND")));
  v1::RemovePagesResponse removed;
  grpc::ClientContext call;
  EXPECT_TRUE(second.pages->RemovePages(&call, removal, &removed).ok());
  EXPECT_THAT(Described(removed.ack()), IsEmpty());
  ExpectBothDescribed(first, second, uint64_t{kPages} - 1 - 20);
}

TEST_F(FleetTest, ListsAndStatisticsTellOfAllDivisions) {
  constexpr int kPages = 600;
  constexpr int kHosts = 100;
  TestServer first(InCluster(/*divisions=*/2, /*division=*/0));
  TestServer second(InCluster(/*divisions=*/2, /*division=*/1));
  first.UpsertMany(kPages, kHosts);
  v1::UpsertPagesRequest news;
  news.add_pages()->set_url("http://host1.test/news");
  news.mutable_pages(0)->set_crawl_id("news");
  EXPECT_THAT(Described(first.Upsert(news)), IsEmpty());
  ExpectBothDescribed(first, second, kPages + 1);
  for (TestServer* server : {&first, &second}) {
    const v1::GetStatisticsResponse statistics = server->Statistics();
    EXPECT_EQ(statistics.pages().pages(), uint64_t{kPages} + 1);
    EXPECT_EQ(statistics.pages().hosts(), uint64_t{kHosts});
    EXPECT_EQ(statistics.ingest().upserts_applied(), uint64_t{kPages} + 1);
    EXPECT_TRUE(statistics.unanswered().empty());

    EXPECT_EQ(HostsOf(*server, 30).size(), size_t{kHosts});
    v1::ListCrawlsRequest ask;
    ask.set_page_size(1);
    const auto crawls = CallOf(*server, &Admin::ListCrawls, ask);
    ASSERT_EQ(crawls.crawls_size(), 1);
    EXPECT_EQ(crawls.crawls(0).pages(), uint64_t{kPages});
    EXPECT_EQ(crawls.crawls(0).hosts(), uint64_t{kHosts});
    EXPECT_EQ(crawls.next_page_token(), "DEFAULT");
    ask.set_crawl_id("news");
    EXPECT_EQ(CallOf(*server, &Admin::ListCrawls, ask).crawls(0).pages(), 1U);
    ask.set_crawl_id("unknown");
    EXPECT_EQ(CodeOf(*server, &Admin::ListCrawls, ask), grpc::StatusCode::NOT_FOUND);

    EXPECT_EQ(PagesOf(*server, {}).first.size(), size_t{kPages} + 1);
    // All pages of one host, whichever division has it.
    for (int i = 0; i < 10; ++i) {
      v1::ListPagesRequest of_host;
      of_host.mutable_filter()->set_host("host" + std::to_string(i + 10) + ".test");
      EXPECT_EQ(PagesOf(*server, of_host).first.size(), size_t{kPages / kHosts});
    }
  }
  // A list that one server begins can continue at the other.
  v1::ListPagesRequest part;
  part.set_limit(450);
  const auto [begun, token] = PagesOf(first, part);
  EXPECT_EQ(begun.size(), 450U);
  part.clear_limit();
  part.set_page_token(token);
  const auto [rest, end] = PagesOf(second, part);
  EXPECT_EQ(end, "");
  std::set<std::string> all = begun;
  all.insert(rest.begin(), rest.end());
  EXPECT_EQ(begun.size() + rest.size(), size_t{kPages} + 1);
  EXPECT_EQ(all.size(), size_t{kPages} + 1);

  ExpectTokensRefused(first);
  ExpectToMissTheFirst(first, second);
}

TEST_F(FleetTest, WhatIsSetAtOneServerHoldsInAllDivisions) {
  constexpr int kPages = 100;
  TestServer first(InCluster(/*divisions=*/2, /*division=*/0));
  TestServer second(InCluster(/*divisions=*/2, /*division=*/1));
  first.UpsertMany(kPages, kPages);
  ExpectBothDescribed(first, second, kPages);

  v1::PauseRequest pause;
  pause.set_reason("a new disk");
  EXPECT_FALSE(CallOf(second, &Admin::Pause, pause).was_paused());
  EXPECT_TRUE(Fleet(first).divisions(0).paused());
  EXPECT_TRUE(Fleet(first).divisions(1).paused());
  EXPECT_TRUE(CallOf(first, &Admin::Resume, {}).was_paused());
  EXPECT_FALSE(Fleet(first).divisions(0).paused());
  EXPECT_FALSE(Fleet(first).divisions(1).paused());

  v1::SetPolicyRequest policy;
  policy.set_policy("greedy");
  (void)CallOf(first, &Admin::SetPolicy, policy);
  EXPECT_EQ(CallOf(second, &Admin::GetPolicy, {}).policy(), "greedy");
  policy.set_policy("best");
  EXPECT_EQ(CodeOf(second, &Admin::SetPolicy, policy), grpc::StatusCode::INVALID_ARGUMENT);
  v1::SetPolitenessDefaultsRequest polite;
  ToProto(Duration::Seconds(3), polite.mutable_min_delay());
  (void)CallOf(second, &Admin::SetPolitenessDefaults, polite);
  EXPECT_EQ(CallOf(first, &Admin::GetPolitenessDefaults, {}).defaults().min_delay().seconds(), 3);
  EXPECT_EQ(CallOf(first, &Admin::RunEpoch, {}).pages(), uint64_t{kPages});

  ExpectSourcesOfBoth(first, second, kPages);

  // The pages of this crawl id are in one division only. Its settings hold in both divisions.
  v1::SetCrawlRequest crawl;
  crawl.set_crawl_id("DEFAULT");
  crawl.set_max_pages(1);
  EXPECT_EQ(CallOf(first, &Admin::SetCrawl, crawl).crawl().pages(), uint64_t{kPages});
  v1::UpsertPagesRequest more;
  for (int i = 0; i < 40; ++i) more.add_pages()->set_url(TestServer::Url(kPages + i, kPages));
  EXPECT_THAT(Described(second.Upsert(more)), AllOf(SizeIs(40), Each(HasSubstr("EXHAUSTED"))));
  for (TestServer* server : {&first, &second}) {
    v1::DeleteCrawlRequest shop;
    shop.set_crawl_id(server == &first ? "shop" : "shoes");
    EXPECT_EQ(CodeOf(*server, &Admin::DeleteCrawl, shop), grpc::StatusCode::NOT_FOUND);
    v1::UpsertPagesRequest one;
    one.add_pages()->set_url("http://host1.test/" + shop.crawl_id());
    one.mutable_pages(0)->set_crawl_id(shop.crawl_id());
    EXPECT_THAT(Described(server->Upsert(one)), IsEmpty());
    EXPECT_TRUE(CallOf(*server, &Admin::DeleteCrawl, shop).crawl().deleting());
  }

  // A pause takes effect in all divisions that can be reached. Its error names the others.
  EXPECT_TRUE(first.Stop().ok());
  grpc::ClientContext call;
  v1::PauseResponse paused;
  const grpc::Status status = second.admin->Pause(&call, pause, &paused);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(),
              AllOf(HasSubstr("division 0: "),
                    HasSubstr("it is done in others: the same call again does the rest")));
  EXPECT_TRUE(Fleet(second).divisions(1).paused());
  EXPECT_TRUE(Fleet(second).divisions(0).has_unanswered());
  const v1::ListAuditResponse audit = CallOf(second, &Admin::ListAudit, {});
  ASSERT_FALSE(audit.entries().empty());
  EXPECT_THAT(audit.entries(0).outcome(), HasSubstr("UNAVAILABLE: division 0: "));
  EXPECT_THAT(audit.entries(0).after(), HasSubstr("a new disk"));
  first.Start();
  EXPECT_TRUE(CallOf(second, &Admin::Pause, pause).was_paused());
  EXPECT_TRUE(Fleet(second).divisions(0).paused());
}

// Whichever server is called, all divisions eventually have the last settings.
TEST_F(FleetTest, SettingsAtTwoServersAtOnceHaveOneOrder) {
  TestServer first(InCluster(/*divisions=*/2, /*division=*/0));
  TestServer second(InCluster(/*divisions=*/2, /*division=*/1));
  ExpectBothDescribed(first, second, 0);
  const auto at_once = [](const std::function<void()>& one, const std::function<void()>& other) {
    auto done = std::async(std::launch::async, one);
    other();
    done.get();
  };
  for (int i = 0; i < 5; ++i) {
    const auto set_delay = [&](TestServer& server, int seconds) {
      v1::SetPolitenessDefaultsRequest polite;
      ToProto(Duration::Seconds(seconds), polite.mutable_min_delay());
      (void)CallOf(server, &Admin::SetPolitenessDefaults, polite);
    };
    at_once([&] { set_delay(first, 2 * i + 1); }, [&] { set_delay(second, 2 * i + 2); });
    const auto delay = [&](TestServer& server) {
      const auto now = CallOf(server, &Admin::GetPolitenessDefaults, {});
      return now.defaults().min_delay().seconds();
    };
    EXPECT_EQ(delay(first), delay(second));
    at_once([&] { (void)CallOf(first, &Admin::Pause, {}); },
            [&] { (void)CallOf(second, &Admin::Resume, {}); });
    EXPECT_EQ(Fleet(first).divisions(0).paused(), Fleet(first).divisions(1).paused());
    const auto set_share = [&](TestServer& server, double share) {
      v1::SetCrawlRequest crawl;
      crawl.set_crawl_id("news");
      crawl.set_share(share);
      (void)CallOf(server, &Admin::SetCrawl, crawl);
    };
    at_once([&] { set_share(first, 0.1 + 0.01 * i); }, [&] { set_share(second, 0.5 + 0.01 * i); });
    const auto share = [](TestServer& server) { return SettingsOf(server, "news").share(); };
    EXPECT_EQ(share(first), share(second));
  }
}

TEST_F(FleetTest, ADivisionThatWasAwayTakesOverWhatWasSetMeanwhile) {
  TestServer first(InCluster(/*divisions=*/2, /*division=*/0));
  TestServer second(InCluster(/*divisions=*/2, /*division=*/1));
  ExpectBothDescribed(first, second, 0);
  EXPECT_TRUE(second.Stop().ok());
  v1::PauseRequest pause;
  pause.set_reason("a new disk");
  EXPECT_EQ(CodeOf(first, &Admin::Pause, pause), grpc::StatusCode::UNAVAILABLE);
  v1::RegisterSourceRequest source;
  source.set_source("feeds");
  EXPECT_EQ(CodeOf(first, &Admin::RegisterSource, source), grpc::StatusCode::UNAVAILABLE);
  v1::SetCrawlRequest crawl;
  crawl.set_crawl_id("news");
  crawl.set_max_pages(7);
  EXPECT_EQ(CodeOf(first, &Admin::SetCrawl, crawl), grpc::StatusCode::UNAVAILABLE);
  second.Start();
  EXPECT_TRUE(Eventually([&] { return second.Statistics().schedule().paused(); }));
  EXPECT_EQ(second.Statistics().schedule().pause_reason(), "a new disk");
  EXPECT_TRUE(Eventually([&] { return SettingsOf(second, "news").max_pages() == 7U; }));
  v1::GetTrustReportRequest trust;
  trust.set_source("feeds");
  EXPECT_TRUE(Eventually(
      [&] { return CodeOf(second, &Admin::GetTrustReport, trust) == grpc::StatusCode::OK; }));
}

// Pages of one division change all the time. Pages of the other were never crawled.
TEST_F(FleetTest, DivisionsLearnOneModelOfAllPages) {
  TestServer first(InCluster(/*divisions=*/2, /*division=*/0));
  TestServer second(InCluster(/*divisions=*/2, /*division=*/1));
  v1::UpsertPagesRequest upsert;
  v1::ReportCrawlsRequest results;
  const Instant now = first.clock.Now();
  std::string quiet;  // a page of the second division
  for (int i = 0; i < 400; ++i) {
    const std::string host = "host" + std::to_string(i) + ".test";
    const std::string url = "https://" + host + "/";
    upsert.add_pages()->set_url(url);
    if (!SlotDivision{.divisions = 2}.Has(SlotOfHost(host))) {
      quiet = url;
      continue;
    }
    for (const int hours : {48, 24, 1}) {
      v1::CrawlResult* const result = results.add_results();
      result->set_url(url);
      result->set_outcome(v1::CRAWL_OUTCOME_CHANGED);
      ToProto(now - Duration::Hours(hours), result->mutable_fetch_time());
    }
  }
  EXPECT_THAT(Described(first.Upsert(upsert)), IsEmpty());
  grpc::ClientContext call;
  const auto stream = first.ingest->ReportCrawls(&call);
  EXPECT_THAT(Described(TestServer::Exchange<v1::ReportCrawlsResponse>(*stream, results).ack()),
              IsEmpty());
  const auto rate = [&] {
    return second.Get(quiet).explanation().estimates().change_rate_per_day().value();
  };
  EXPECT_LT(rate(), 0.01) << "what is believed of pages nobody has looked at";
  // The first division's epoch must end before the epoch of the second begins. The second division
  // learns from it.
  (void)CallOf(first, &Admin::RunEpoch, {});
  const double learned = rate();
  EXPECT_GT(learned, 0.1);
  EXPECT_THAT(Probe(second.info.http_address, "/metrics"),
              HasSubstr(R"(freshet_fleet_learned_divisions{cluster="mock-1-of-2"} 1)"));
  // While no server serves the first division, and until it has new totals, its last totals count.
  EXPECT_TRUE(first.Stop().ok());
  (void)CodeOf(second, &Admin::RunEpoch, {});
  EXPECT_NEAR(rate(), learned, 0.2 * learned);
  first.Start();
  EXPECT_EQ(CodeOf(second, &Admin::RunEpoch, {}), grpc::StatusCode::OK);
  EXPECT_NEAR(rate(), learned, 0.2 * learned);

  v1::GetEpochTotalsResponse totals;
  grpc::ClientContext other;
  const grpc::Status asked =
      v1::FleetService::NewStub(first.channel)->GetEpochTotals(&other, {}, &totals);
  EXPECT_EQ(asked.error_code(), grpc::StatusCode::PERMISSION_DENIED) << "it is for servers alone";
}

TEST_F(FleetTest, AnyServerTakesPingsOfIndexNow) {
  constexpr int kHosts = 40;
  const auto with_pings = [](const TestServer::Tweak& tweak) {
    return [tweak](ServerConfig* config) {
      tweak(config);
      config->indexnow.enabled = true;
      config->indexnow.verify_keys = false;
      config->indexnow.create_pages = true;
    };
  };
  TestServer first(with_pings(InCluster(/*divisions=*/2, /*division=*/0)));
  TestServer second(with_pings(InCluster(/*divisions=*/2, /*division=*/1)));
  first.UpsertMany(kHosts, kHosts);
  ExpectBothDescribed(first, second, kHosts);
  const auto ping = [&first](const std::string& url) {
    return Probe(first.info.http_address, "/indexnow?key=0123456789abcdef&url=" + url);
  };
  const auto of_second = [](const std::string& host) {
    return SlotDivision{.divisions = 2, .division = 1}.Has(SlotOfHost(host));
  };
  std::string away;  // a page of the second division
  std::string here;  // a page of the first division
  for (int i = 0; i < kHosts; ++i) {
    const std::string url = TestServer::Url(i, kHosts);
    (of_second("host" + std::to_string(i) + ".test") ? away : here) = url;
    // On a busy machine, the answer can take longer than a ping waits.
    EXPECT_TRUE(Eventually([&] {
      return ping(url).starts_with("200 1 page told, 0 unknown, 0 new");
    })) << url;
  }
  EXPECT_GE(second.Statistics().ingest().signals_applied(), uint64_t{kHosts});
  EXPECT_THAT(Probe(second.info.http_address, "/metrics"),
              testing::Not(HasSubstr("freshet_indexnow_urls_total{outcome=\"applied\"} 0\n")));
  EXPECT_THAT(ping(away + "/new"), HasSubstr("200 0 pages told, 0 unknown, 1 new"));
  EXPECT_EQ(first.Get(away + "/new").page().url(), away + "/new");
  // The list is longer than one message between servers allows.
  std::string list;
  for (int i = 0; i < 2500; ++i) list += (i == 0 ? "\"" : ",\"") + away + std::to_string(i) + "\"";
  httplib::Client client("http://" + first.info.http_address);
  EXPECT_TRUE(Eventually([&] {
    const httplib::Result result =
        client.Post("/indexnow",
                    R"({"key": "0123456789abcdef", "host": ")" +
                        std::string(HostOfCanonical(away)) + R"(", "urlList": [)" + list + "]}",
                    "application/json");
    return result && result->status == 200;
  }));
  // Only servers may state that a key was checked.
  v1::TakePingRequest taken;
  taken.add_urls(away);
  taken.set_poll_size(1);
  v1::TakePingResponse response;
  grpc::ClientContext call;
  EXPECT_EQ(
      v1::FleetService::NewStub(second.channel)->TakePing(&call, taken, &response).error_code(),
      grpc::StatusCode::PERMISSION_DENIED);

  EXPECT_TRUE(second.Stop().ok());
  EXPECT_THAT(ping(away), HasSubstr("503 division 1: "));
  // Pings for one division do not wait for another one that has no server.
  const Instant begun = first.clock.Now();
  for (int i = 0; i < 5; ++i)
    EXPECT_THAT(ping(away), HasSubstr("503 division 1: its server did not answer"));
  EXPECT_THAT(ping(here), HasSubstr("200 1 page told"));
  EXPECT_LT((first.clock.Now() - begun).seconds(), 10);
  second.Start();
  EXPECT_TRUE(Eventually([&] { return ping(away).starts_with("200 1 page told"); }));
}

TEST_F(FleetTest, DivisionsShareOneCrawlRate) {
  TestServer first(InCluster(/*divisions=*/2, /*division=*/0));
  TestServer second(InCluster(/*divisions=*/2, /*division=*/1));
  v1::SetCrawlRateRequest request;
  request.set_crawl_rate_per_second(40);
  {
    v1::SetCrawlRateResponse response;
    grpc::ClientContext call;
    const grpc::Status set = second.admin->SetCrawlRate(&call, request, &response);
    EXPECT_TRUE(set.ok()) << set.error_message();
    EXPECT_DOUBLE_EQ(response.crawl_rate_per_second(), 40);
  }
  for (TestServer* server : {&first, &second}) {
    v1::GetCrawlRateResponse rate;
    grpc::ClientContext call;
    EXPECT_TRUE(server->admin->GetCrawlRate(&call, {}, &rate).ok());
    EXPECT_DOUBLE_EQ(rate.crawl_rate_per_second(), 40);
    // The other server gets the setting a moment later.
    EXPECT_TRUE(Eventually([&] { return Fleet(*server).crawl_rate_per_second() == 40; }));
    // Only servers of the fleet may ask for parts of the rate.
    v1::ShareRateResponse part;
    grpc::ClientContext other;
    const grpc::Status asked =
        v1::FleetService::NewStub(server->channel)->ShareRate(&other, {}, &part);
    EXPECT_EQ(asked.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  }

  v1::UpsertPagesRequest upsert;
  for (int i = 0; i < 400; ++i) upsert.add_pages()->set_url(TestServer::Url(i, 40));
  EXPECT_THAT(Described(first.Upsert(upsert)), IsEmpty());
  const auto granted = [](TestServer& server, int division) {
    const std::string metrics = Probe(server.info.http_address, "/metrics");
    const std::string name = R"(freshet_fleet_granted_crawl_rate{cluster="mock-)" +
                             std::to_string(division) + "-of-2\"} ";
    const size_t at = metrics.find(name);
    return at == std::string::npos ? -1.0 : std::stod(metrics.substr(at + name.size()));
  };
  ExpectBothDescribed(first, second, 400);
  // Workers of both divisions ask, so both divisions get a part.
  std::atomic<bool> enough = false;
  const auto work = [&enough](TestServer& server) {
    size_t handed_out = 0;
    while (!enough) handed_out += static_cast<size_t>(server.Next(5).assignments_size());
    return handed_out;
  };
  auto of_first = std::async(std::launch::async, [&] { return work(first); });
  auto of_second = std::async(std::launch::async, [&] { return work(second); });
  EXPECT_TRUE(Eventually([&] {
    const double sum = granted(first, 0) + granted(second, 1);
    EXPECT_LE(sum, 40.001);
    return sum > 35 && granted(first, 0) > 1 && granted(second, 1) > 1;
  }));
  enough = true;
  EXPECT_GT(of_first.get(), 0U);
  EXPECT_GT(of_second.get(), 0U);
  v1::GetFleetResponse fleet;
  EXPECT_TRUE(Eventually([&] {
    fleet = Fleet(first);
    return fleet.divisions(0).leads() != fleet.divisions(1).leads();
  })) << fleet.DebugString();
}

// This server cannot reach a leader of the crawl rate.
TEST_F(FleetTest, ADivisionWithoutAPartOfTheRateIsNotReady) {
  AheadOfClock clock;
  TestServer second(InCluster(/*divisions=*/2, /*division=*/1), nullptr, &clock);
  ASSERT_TRUE(
      Eventually([&] { return Probe(second.info.http_address, "/readyz").find("200") == 0; }));
  clock.Advance(Duration::Seconds(60));
  EXPECT_TRUE(Eventually([&] {
    return Probe(second.info.http_address, "/readyz").find("no part of the fleet's crawl rate") !=
           std::string::npos;
  }));
  const std::string metrics = Probe(second.info.http_address, "/metrics");
  const std::string name = R"(freshet_fleet_ungranted_seconds{cluster="mock-1-of-2"} )";
  ASSERT_THAT(metrics, HasSubstr(name));
  EXPECT_GE(std::stod(metrics.substr(metrics.find(name) + name.size())), 60);
}

TEST_F(FleetTest, ItemsWaitForADivisionThatStartsAndThenSayThatNobodyServesIt) {
  TestServer first([this](ServerConfig* config) {
    InCluster(/*divisions=*/2, /*division=*/0)(config);
    config->max_unacked_bytes = 1;
  });
  v1::UpsertPagesRequest request;
  for (int i = 0; i < 100; ++i) request.add_pages()->set_url(TestServer::Url(i, 100));
  // No server has ever served this division.
  const v1::BatchAck nobody = first.Upsert(request);
  const uint64_t own = first.Statistics().pages().pages();
  EXPECT_GT(own, 0U);
  EXPECT_EQ(static_cast<uint64_t>(nobody.statuses_size()), 100 - own);
  EXPECT_THAT(Described(nobody),
              Each(HasSubstr("REFUSED UNAVAILABLE : division 1 cannot be reached at the moment")));
  EXPECT_TRUE(nobody.statuses(0).error().has_retry_after());
  const v1::GetFleetResponse fleet = Fleet(first);
  EXPECT_FALSE(fleet.divisions(0).has_unanswered());
  EXPECT_EQ(fleet.divisions(1).unanswered(),
            "no server serves this division, or its server has not answered within 3 s");
  const std::string metrics = Probe(first.info.http_address, "/metrics");
  const std::string others = std::to_string(100 - own) + "\n";
  const std::string items = R"(freshet_cluster_items_total{cluster="mock-0-of-2",outcome=)";
  EXPECT_THAT(metrics, HasSubstr(items + R"("sent"} )" + others));
  EXPECT_THAT(metrics, HasSubstr(items + R"("unanswered"} )" + others));
  EXPECT_THAT(metrics, HasSubstr(R"(freshet_upserts_total{outcome="applied"} )" +
                                 std::to_string(own) + "\n"));

  v1::RemovePagesRequest removal;
  for (const v1::PageSpec& page : request.pages()) removal.add_urls(page.url() + "/unknown");
  const auto remove = [&] {
    v1::RemovePagesResponse response;
    grpc::ClientContext call;
    EXPECT_TRUE(first.pages->RemovePages(&call, removal, &response).ok());
    return Described(response.ack());
  };
  auto waits_to_be_removed = std::async(std::launch::async, remove);
  ASSERT_TRUE(Eventually([&] {
    return Probe(first.info.http_address, "/metrics")
               .find(items + R"("sent"} )" + std::to_string(2 * (100 - own)) + "\n") !=
           std::string::npos;
  }));
  // If requests exceed `limits.unacked_bytes`, they are refused instead of waiting.
  EXPECT_THAT(remove(),
              Contains(HasSubstr("REFUSED RESOURCE_EXHAUSTED : too many requests wait for "
                                 "servers of other divisions"))
                  .Times(static_cast<int>(100 - own)));
  auto waits = std::async(std::launch::async, [&] { return first.Upsert(request); });
  TestServer second(InCluster(/*divisions=*/2, /*division=*/1));
  EXPECT_THAT(waits_to_be_removed.get(), AllOf(SizeIs(100), Each(HasSubstr("NOT_FOUND"))));
  EXPECT_THAT(Described(waits.get()), Each(HasSubstr("RESOURCE_EXHAUSTED")));
  EXPECT_THAT(Described(first.Upsert(request)), IsEmpty());
  EXPECT_EQ(Fleet(second).divisions(1).pages(), 100 - own);

  // The same requests can be sent on a stream that stayed open while the division changed its
  // server.
  grpc::ClientContext call;
  const auto stream = first.pages->UpsertPages(&call);
  v1::UpsertPagesResponse response;
  ASSERT_TRUE(stream->Write(request));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_THAT(Described(response.ack()), IsEmpty());
  EXPECT_TRUE(second.Stop().ok());
  ASSERT_TRUE(stream->Write(request));
  second.Start();
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_THAT(Described(response.ack()), IsEmpty());
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

}  // namespace
}  // namespace freshet
