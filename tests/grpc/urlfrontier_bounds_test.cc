// What one client of the crawl-frontier API cannot take from all others: leases, delays and blocks
// are bounded, and what everybody feels needs a role and is written down.
#include <fstream>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "server/frontier/frontier_state.h"
#include "server/logs/audit_log.h"
#include "tests/grpc/frontier_client.h"
#include "tests/grpc/guarded_server.h"

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

uf::BlockQueueParams BlockOf(const std::string& key, uint64_t until) {
  uf::BlockQueueParams params;
  params.set_key(key);
  params.set_time(until);
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
  // Clients that set at their start what holds anyway work on.
  EXPECT_TRUE(set(fleet, DelayOf("", 1)).ok());
  const grpc::Status refused = set(fleet, DelayOf("", UINT32_MAX));
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(), HasSubstr("key: is empty, which stands for the default"));
  EXPECT_TRUE(set(fleet, DelayOf("a.test", 5)).ok());
  EXPECT_TRUE(set(ops, DelayOf("", 5)).ok());
  EXPECT_TRUE(set(fleet, DelayOf("", 5)).ok());
  // A worker blocks for as long as a host may ask for, an admin for longer.
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

// A crawler that regulates its queues does not fill the log, and hides nothing behind that.
TEST(FrontierBounds, ManyBlocksAreAFewLines) {
  TestServer server;
  FrontierClient client(server.channel);
  for (int i = 0; i < 100; ++i) client.SetDelay("host" + std::to_string(i) + ".test", 5);
  client.SetDelay("", 7);
  const std::vector<AuditEntry> entries = AuditOf(server);
  ASSERT_FALSE(entries.empty());
  EXPECT_LT(entries.size(), 30U);
  EXPECT_THAT(entries.back().before, HasSubstr("\"delayRequestable\":1"));
}

// An acknowledgement waits for its client, and is no larger than it needs to be.
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

// A team that puts whatever it may leaves the others their part.
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

}  // namespace
}  // namespace freshet
