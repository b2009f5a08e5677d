// Tests that one client of the crawl-frontier API cannot take everything from the others. Leases,
// delays and blocks are bounded. Effects on all clients need a role and are audited.
#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "server/base/limits.h"
#include "server/frontier/frontier_state.h"
#include "server/logs/audit_log.h"
#include "tests/grpc/frontier_client.h"
#include "tests/grpc/guarded_server.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using FrontierStub = uf::URLFrontier::Stub;

std::vector<AuditEntry> AuditOf(const TestServer& server) {
  std::ifstream file(server.config.data_dir + "/audit.jsonl");
  std::vector<AuditEntry> entries;
  for (std::string line; std::getline(file, line);) {
    std::optional<AuditEntry> entry = ParseAuditLine(line);
    if (entry) entries.push_back(*std::move(entry));
  }
  return entries;
}

uf::QueueDelayParams DelayOf(const std::string& key, uint32_t seconds) {
  uf::QueueDelayParams params;
  params.set_key(key);
  params.set_delay_requestable(seconds);
  return params;
}

template <typename Request>
grpc::Status Ask(FrontierStub& stub,
                 grpc::Status (FrontierStub::*method)(grpc::ClientContext*, const Request&,
                                                      uf::Empty*),
                 const Request& request) {
  grpc::ClientContext call;
  uf::Empty empty;
  return (stub.*method)(&call, request, &empty);
}

TEST(FrontierBounds, NoLeaseIsLongerThanTheLongest) {
  SecondsClock clock;
  TestServer server([](ServerConfig* config) { config->max_lease = Duration::Hours(2); }, nullptr,
                    &clock);
  FrontierClient client(server.channel);
  client.Put({Discovered("http://a.test/1"), Discovered("http://b.test/1")});
  EXPECT_THAT(client.Get(Params(0, 0, UINT32_MAX)), SizeIs(2));
  clock.Pass(7199);
  EXPECT_THAT(client.Get(Params()), IsEmpty());
  server.Restart();
  client = FrontierClient(server.channel);
  EXPECT_EQ(client.Stats().inprocess(), 2U);
  clock.Pass(1);
  EXPECT_THAT(client.Get(Params()), SizeIs(2));
}

// URLs that wait for a slow client are not given out after half of their lease has passed.
TEST(FrontierBounds, NothingIsGivenOutWhoseLeaseIsHalfOver) {
  constexpr size_t kUrls = 4000;
  constexpr uint32_t kLease = 100;
  SecondsClock clock;
  TestServer server({}, nullptr, &clock);
  FrontierClient client(server.channel);
  std::vector<uf::URLItem> items;
  for (size_t i = 0; i < kUrls; ++i) {
    items.push_back(Discovered("http://a.test/" + std::to_string(i)));
    uf::StringList& more =
        (*items.back().mutable_discovered()->mutable_info()->mutable_metadata())["more"];
    more.add_values(std::string(2000, 'x'));
  }
  ASSERT_THAT(client.Put(items), SizeIs(kUrls));
  grpc::ClientContext call;
  const auto stream = client.stub->GetURLs(&call, Params(0, 0, kLease));
  std::set<std::string> urls;
  uf::URLInfo info;
  ASSERT_TRUE(stream->Read(&info));
  urls.insert(info.url());
  clock.Pass(kLease / 2 + 1);
  while (stream->Read(&info)) urls.insert(info.url());
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_LT(urls.size(), kUrls);
  // The other URLs can be given out again once the server has seen the end of the call and the
  // delay of the queue has passed.
  ASSERT_TRUE(Eventually([&] { return client.Stats().inprocess() == urls.size(); }));
  clock.Pass(2);
  for (const std::string& url : client.Get(Params(0, 0, kLease))) {
    EXPECT_TRUE(urls.insert(url).second) << url;
  }
  EXPECT_EQ(urls.size(), kUrls);
}

TEST(FrontierBounds, NoDelayAndNoBlockIsForEver) {
  SecondsClock clock;
  TestServer server({}, nullptr, &clock);
  FrontierClient client(server.channel);
  for (const char* host : {"http://a.test/", "http://b.test/", "http://c.test/"}) {
    client.Put({Discovered(host + std::string("1")), Discovered(host + std::string("2"))});
  }
  client.SetDelay("", UINT32_MAX);
  client.SetDelay("b.test", UINT32_MAX);
  client.Block("c.test", uint64_t{1} << 63);
  EXPECT_THAT(client.Get(Params(1, 0, 86'400)), SizeIs(2));
  clock.Pass(limits::kMaxFrontierDelaySeconds);
  EXPECT_THAT(client.Get(Params()), IsEmpty());
  clock.Pass(1);
  EXPECT_THAT(client.Get(Params()), SizeIs(4));
  clock.Pass(limits::kMaxBlockSeconds);
  EXPECT_THAT(client.Get(Params()), ::testing::Contains("http://c.test/1"));
}

TEST(FrontierBounds, WhatEverybodyFeelsNeedsItsRoleAndIsWrittenDown) {
  SecondsClock clock;
  GuardedServer guarded(
      {{"ops", "    roles: [admin]\n"}, {"fleet", "    roles: [worker, reader]\n"}},
      [](ServerConfig* config) { config->host_backoff.longest_asked = Duration::Hours(1); },
      &clock);
  FrontierClient ops(guarded.Open(guarded.Token("ops")));
  FrontierClient fleet(guarded.Open(guarded.Token("fleet")));
  const auto set = [](FrontierClient& client, const uf::QueueDelayParams& params) {
    return Ask(*client.stub, &FrontierStub::SetDelay, params);
  };
  // A client may set the value that is already set, because clients do this when they start.
  EXPECT_TRUE(set(fleet, DelayOf("", 1)).ok());
  const grpc::Status refused = set(fleet, DelayOf("", UINT32_MAX));
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(),
              HasSubstr("key: is empty, which would change the default delay of all queues"));
  EXPECT_TRUE(set(fleet, DelayOf("a.test", 5)).ok());
  EXPECT_TRUE(set(ops, DelayOf("", 5)).ok());
  EXPECT_TRUE(set(fleet, DelayOf("", 5)).ok());
  // A worker can block a host only for as long as the host itself could ask for. An admin can block
  // the host for longer.
  fleet.Put({Discovered("http://b.test/1"), Discovered("http://c.test/1")});
  fleet.Block("b.test", uint64_t{1} << 63);
  ops.Block("c.test", clock.seconds() + 86'400);
  clock.Pass(3600);
  EXPECT_THAT(fleet.Get(Params()), IsEmpty());
  clock.Pass(1);
  EXPECT_THAT(fleet.Get(Params()), ::testing::ElementsAre("http://b.test/1"));
  clock.Pass(86'400);
  EXPECT_THAT(fleet.Get(Params()), ::testing::Contains("http://c.test/1"));

  const std::vector<AuditEntry> entries = AuditOf(*guarded);
  ASSERT_THAT(entries, SizeIs(7));
  EXPECT_EQ(entries[1].who, "identity fleet");
  EXPECT_THAT(entries[1].outcome, HasSubstr("PERMISSION_DENIED"));
  EXPECT_EQ(entries[3].who, "identity ops");
  EXPECT_EQ(entries[3].action, "/urlfrontier.URLFrontier/SetDelay");
  EXPECT_THAT(entries[3].before, HasSubstr("\"delayRequestable\":1"));
  EXPECT_EQ(entries[5].action, "/urlfrontier.URLFrontier/BlockQueueUntil");
}

// --- Reports about hosts, by role

// A server with the crawl ids `shop` (scheduled), `seen` (shadow mode) and `plain`. The host
// victim.test has a page, and a URL in each of the three.
class FrontierRoles : public ::testing::Test {
 protected:
  FrontierRoles() {
    guarded_->Use(guarded_.Open(guarded_.Token("ops")));
    v1::UpsertPagesRequest request;
    request.add_pages()->set_url("http://victim.test/1");
    EXPECT_EQ(guarded_->Upsert(request).statuses_size(), 0);
    for (const char* crawl : {"shop", "seen", "plain"}) {
      EXPECT_EQ(ops_.Put(Discovered("http://victim.test/1", "", crawl)), "OK");
    }
    EXPECT_EQ(ops_.Put(Discovered("http://fence.test/1", "", "shop")), "OK");
  }

  // Returns nullopt if the host is unknown.
  std::optional<v1::HostState> Host(const std::string& host) {
    v1::GetHostRequest request;
    request.set_host(host);
    v1::GetHostResponse response;
    grpc::ClientContext call;
    if (!guarded_->admin->GetHost(&call, request, &response).ok()) return std::nullopt;
    return response.host_state();
  }
  int64_t BlockedFor(const std::string& host) {
    const std::optional<v1::HostState> state = Host(host);
    if (!state || !state->has_blocked_until()) return 0;
    return state->blocked_until().seconds() - static_cast<int64_t>(clock_.seconds());
  }
  // Waits until earlier reports about hosts have been applied.
  void Settle() {
    const int64_t until = ++settled_ + 100;
    worker_.Block("fence.test", clock_.seconds() + static_cast<uint64_t>(until), "shop");
    EXPECT_TRUE(Eventually([&] { return BlockedFor("fence.test") == until; }));
  }
  void BlockByWorker(const std::string& host, uint64_t until) {
    worker_.Block(host, until, "shop");
    Settle();
  }
  uf::URLItem Fetched(const std::string& url, const std::string& crawl, const std::string& status) {
    uf::URLItem item = KnownUntil(clock_.seconds() + 3600, url, "", crawl);
    (*item.mutable_known()->mutable_info()->mutable_metadata())["fetch.statusCode"].add_values(
        status);
    return item;
  }

  SecondsClock clock_;
  GuardedServer guarded_{
      {{"ops", "    roles: [admin]\n"},
       {"fetcher", "    roles: [worker]\n    crawl_ids: [shop, seen, plain]\n"},
       {"loader", "    roles: [ingester]\n    crawl_ids: [shop, seen, plain]\n"}},
      [](ServerConfig* config) {
        config->frontier_scheduled = {"shop"};
        config->frontier_shadow = {"seen"};
        config->frontier_limits.queues = 53;
      },
      &clock_};
  FrontierClient ops_{guarded_.Open(guarded_.Token("ops"))};
  FrontierClient worker_{guarded_.Open(guarded_.Token("fetcher"))};
  FrontierClient loader_{guarded_.Open(guarded_.Token("loader"))};
  int64_t settled_ = 0;
};

TEST_F(FrontierRoles, AWorkerLiftsNeitherAnOperatorsBlockNorARetryAfter) {
  constexpr int64_t kMonth = 30 * 86'400;
  v1::SetHostPolitenessRequest block;
  block.set_host("victim.test");
  block.mutable_blocked_until()->set_seconds(static_cast<int64_t>(clock_.seconds()) + kMonth);
  grpc::ClientContext call;
  v1::SetHostPolitenessResponse response;
  ASSERT_TRUE(guarded_->admin->SetHostPoliteness(&call, block, &response).ok());
  for (const uint64_t until : {uint64_t{0}, clock_.seconds() + 2, uint64_t{1} << 63}) {
    BlockByWorker("victim.test", until);
    EXPECT_EQ(BlockedFor("victim.test"), kMonth);
  }
  // The site asks for a delay of one hour.
  ops_.Block("victim.test", 0, "shop");
  Settle();
  EXPECT_EQ(BlockedFor("victim.test"), 0);
  v1::CrawlResult result;
  result.set_url("http://victim.test/1");
  result.set_outcome(v1::CRAWL_OUTCOME_ERROR);
  result.set_http_status(429);
  result.mutable_retry_after()->set_seconds(3600);
  EXPECT_EQ(guarded_->Report(result).statuses_size(), 0);
  const int64_t asked = BlockedFor("victim.test");
  EXPECT_GE(asked, 3600);
  for (const uint64_t until : {uint64_t{0}, clock_.seconds() + 2}) {
    BlockByWorker("victim.test", until);
    EXPECT_EQ(BlockedFor("victim.test"), asked);
    EXPECT_EQ(Host("victim.test")->throttled_answers(), 1U);
  }
  BlockByWorker("victim.test", clock_.seconds() + 7200);
  EXPECT_EQ(BlockedFor("victim.test"), 7200);
}

TEST_F(FrontierRoles, BlocksOfHostsWithoutPagesMakeNothing) {
  for (int i = 0; i < 100; ++i) {
    const std::string host = "h" + std::to_string(i) + ".test";
    worker_.Block(host, clock_.seconds() + 1000, "shop");
    ops_.Block(host, clock_.seconds() + 1000, "shop");
  }
  Settle();
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(Host("h" + std::to_string(i) + ".test"));
  // The refused blocks did not use up any of the allowed queues.
  EXPECT_EQ(loader_.Put(Discovered("http://new.test/", "", "shop")), "OK");
  // If the page of a URL was removed, the URL alone does not make its host known.
  v1::RemovePagesRequest remove;
  remove.set_crawl_id("shop");
  remove.add_urls("http://new.test/");
  grpc::ClientContext call;
  v1::RemovePagesResponse removed;
  ASSERT_TRUE(guarded_->pages->RemovePages(&call, remove, &removed).ok());
  BlockByWorker("new.test", clock_.seconds() + 1000);
  EXPECT_EQ(BlockedFor("new.test"), 0);
}

TEST_F(FrontierRoles, AWorkerOnlyAddsToWhatAnOperatorHasSetForAQueue) {
  const auto comes = [&] { return !ops_.Get(ParamsIn("plain", 0, 0, 1)).empty(); };
  ops_.Block("victim.test", clock_.seconds() + 100, "plain");
  worker_.Block("victim.test", 0, "plain");
  worker_.Block("victim.test", clock_.seconds() + 1, "plain");
  clock_.Pass(100);
  EXPECT_FALSE(comes());
  // The worker can end blocks that it has set.
  worker_.Block("victim.test", clock_.seconds() + 500, "plain");
  clock_.Pass(1);
  EXPECT_FALSE(comes());
  worker_.Block("victim.test", 0, "plain");
  EXPECT_TRUE(comes());
  ops_.SetDelay("victim.test", 300, "plain");
  worker_.SetDelay("victim.test", 0, "plain");
  clock_.Pass(300);
  EXPECT_FALSE(comes());
  clock_.Pass(1);
  EXPECT_TRUE(comes());
}

// A client that puts URLs may not report fetches.
TEST_F(FrontierRoles, AnIngesterReportsNothing) {
  const std::string url = "http://victim.test/1";
  for (const char* crawl : {"shop", "seen"}) {
    for (const char* status : {"503", "503", "404"}) {
      EXPECT_EQ(loader_.Put(Fetched(url, crawl, status)), "OK");
    }
    uf::URLItem item;
    EXPECT_TRUE(ops_.Status(url, &item, "", crawl).ok());
    EXPECT_EQ(item.known().refetchable_from_date(), clock_.seconds() + 3600);
    Settle();
    const v1::Page page = guarded_->Get(url, crawl).page();
    EXPECT_EQ(page.last_outcome(), v1::CRAWL_OUTCOME_UNSPECIFIED) << crawl;
    EXPECT_EQ(page.consecutive_errors(), 0U) << crawl;
    EXPECT_EQ(Host("victim.test")->throttled_answers(), 0U) << crawl;
    EXPECT_EQ(BlockedFor("victim.test"), 0) << crawl;
    // New pages can be added in this way, too.
    EXPECT_EQ(loader_.Put(Fetched("http://victim.test/2", crawl, "503")), "OK");
    EXPECT_EQ(guarded_->Get("http://victim.test/2", crawl).page().crawl_id(), crawl);
  }
  // A worker may report the fetch.
  EXPECT_EQ(worker_.Put(Fetched(url, "shop", "404")), "OK");
  EXPECT_EQ(guarded_->Get(url, "shop").page().last_outcome(), v1::CRAWL_OUTCOME_GONE);
  EXPECT_EQ(worker_.Put(Fetched(url, "seen", "503")), "OK");
  EXPECT_TRUE(Eventually([&] { return Host("victim.test")->throttled_answers() == 1; }));
}

TEST_F(FrontierRoles, AnIngesterEndsNoLease) {
  const std::string url = "http://victim.test/1";
  EXPECT_THAT(worker_.Get(ParamsIn("plain", 0, 0, 600)), SizeIs(1));
  EXPECT_EQ(loader_.Put(Fetched(url, "plain", "200")), "OK");
  EXPECT_EQ(loader_.Put(KnownUntil(0, url, "", "plain")), "FAIL");
  EXPECT_EQ(ops_.Stats("plain").inprocess(), 1U);
  EXPECT_EQ(worker_.Put(Fetched(url, "plain", "200")), "OK");
  EXPECT_EQ(ops_.Stats("plain").inprocess(), 0U);
}

// A crawler that changes its queue's delay again and again must neither fill the audit log nor hide
// other changes.
TEST(FrontierBounds, ManyDelaysOfAQueueAreAFewLines) {
  TestServer server;
  FrontierClient client(server.channel);
  for (uint32_t i = 0; i < 100; ++i) client.SetDelay("host.test", 5 + i);
  client.SetDelay("", 7);
  const std::vector<AuditEntry> entries = AuditOf(server);
  ASSERT_FALSE(entries.empty());
  EXPECT_LT(entries.size(), 30U);
  EXPECT_THAT(entries.back().before, HasSubstr("\"delayRequestable\":1"));
}

TEST(FrontierBounds, NoBlockIsHiddenBehindThoseOfOtherQueues) {
  TestServer server;
  FrontierClient client(server.channel);
  const uint64_t until = 4'000'000'000;
  const auto block = [&](const std::string& host) { client.Block(host, until); };
  for (int i = 0; i < 25; ++i) block("decoy" + std::to_string(i) + ".test");
  block("important.test");
  block("decoy.test");
  const std::vector<AuditEntry> entries = AuditOf(server);
  EXPECT_THAT(entries, SizeIs(27));
  EXPECT_EQ(std::count_if(entries.begin(), entries.end(),
                          [](const AuditEntry& entry) {
                            return entry.request.find("important.test") != std::string::npos;
                          }),
            1);
}

// An acknowledgement that the client does not read takes memory, so the server shortens the id in
// it.
TEST(FrontierBounds, LongIdsComeBackCut) {
  TestServer server;
  FrontierClient client(server.channel);
  uf::URLItem item = Discovered("http://a.test/");
  item.set_id(std::string(100'000, 'x'));
  const std::string cut(limits::kMaxUrlBytes, 'x');
  EXPECT_THAT(client.Put(std::vector{item}), testing::ElementsAre(testing::Pair(cut, "OK")));
  uf::DiscoveredBatch batch;
  batch.set_id(item.id());
  *batch.add_items() = Info("http://b.test/");
  EXPECT_EQ(client.PutBatches({batch})[0].id(), cut);
}

// After a team has put as much as it may, the other teams still have their share.
TEST(FrontierBounds, OneTeamDoesNotUseUpTheQueues) {
  GuardedServer guarded({{"evil", "    roles: [worker]\n    crawl_ids: [mine]\n"},
                         {"good", "    roles: [worker]\n    crawl_ids: [news]\n"}},
                        [](ServerConfig* config) { config->frontier_limits.queues = 53; });
  FrontierClient evil(guarded.Open(guarded.Token("evil")));
  FrontierClient good(guarded.Open(guarded.Token("good")));
  std::vector<uf::URLItem> flood;
  for (int i = 0; i < 60; ++i) {
    flood.push_back(Discovered("http://h" + std::to_string(i) + ".test/", "", "mine"));
  }
  size_t taken = 0;
  for (const auto& [url, outcome] : evil.Put(flood)) taken += outcome == "OK" ? 1 : 0;
  EXPECT_EQ(taken, 20U);
  EXPECT_EQ(Ask(*evil.stub, &FrontierStub::SetDelay,
                [] {
                  uf::QueueDelayParams params = DelayOf("late.test", 5);
                  params.set_crawlid("mine");
                  return params;
                }())
                .error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(good.Put(Discovered("http://g" + std::to_string(i) + ".test/", "", "news")), "OK");
  }
}

// In a scheduled crawl id, a known URL from another identity only counts as an observation of the
// page. It does not end the lease.
TEST(FrontierLeases, OfScheduledUrlsAreEndedByTheirIdentityAlone) {
  GuardedServer guarded({{"evil", "    roles: [worker]\n"},
                         {"good", "    roles: [worker]\n"},
                         {"eye", "    roles: [reader]\n"}},
                        [](ServerConfig* config) { config->frontier_scheduled = {"shop"}; });
  FrontierClient evil(guarded.Open(guarded.Token("evil")));
  FrontierClient good(guarded.Open(guarded.Token("good")));
  FrontierClient eye(guarded.Open(guarded.Token("eye")));
  ASSERT_EQ(good.Put(Discovered("http://a.test/1", "", "shop")), "OK");
  std::vector<std::string> taken;
  WaitUntil([&] {
    taken = good.Get(ParamsIn("shop", 0, 0, 1000));
    return !taken.empty();
  });
  EXPECT_EQ(evil.Put(KnownUntil(4'000'000'000, "http://a.test/1", "", "shop")), "OK");
  EXPECT_EQ(eye.Stats("shop").inprocess(), 1U);
  EXPECT_EQ(good.Put(KnownUntil(4'000'000'000, "http://a.test/1", "", "shop")), "OK");
  EXPECT_EQ(eye.Stats("shop").inprocess(), 0U);
}

}  // namespace
}  // namespace freshet
