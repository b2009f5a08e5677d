// Tests what clients of the crawl-frontier API rely on (docs/urlfrontier.md), call by call, over
// the network.
#include <atomic>
#include <set>
#include <string>
#include <vector>

#include "server/base/frontier_limits.h"
#include "storage/pages_read.h"
#include "storage/restore.h"
#include "tests/grpc/frontier_client.h"
#include "tests/grpc/raw_stream.h"
#include "tests/grpc/test_server.h"

namespace freshet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

using Urls = std::vector<std::string>;

class UrlFrontier : public ::testing::Test {
 protected:
  explicit UrlFrontier(const TestServer::Tweak& tweak = {})
      : server_(tweak, nullptr, &clock_), client_(server_.channel) {}

  void Restart() {
    server_.Restart();
    client_ = FrontierClient(server_.channel);
  }
  // Lets two seconds pass, which is longer than the delay of every queue, and gets URLs of crawl
  // DEFAULT.
  Urls GetLater(const uf::GetParams& params) {
    clock_.Pass(2);
    return client_.Get(params);
  }

  SecondsClock clock_;
  TestServer server_;
  FrontierClient client_;
};

// --- Crawl ids and keys

TEST_F(UrlFrontier, AnEmptyOrBlankCrawlIdIsDefaultInEveryCall) {
  EXPECT_EQ(client_.Put(Discovered("http://a.test/1")), "OK");
  EXPECT_EQ(client_.Put(Discovered("http://a.test/1", "", "  ")), "SKIPPED");
  EXPECT_EQ(client_.Put(Discovered("http://a.test/1", "", "DEFAULT")), "SKIPPED");
  EXPECT_THAT(client_.Crawls(), ElementsAre("DEFAULT"));
  EXPECT_EQ(client_.Stats("").crawlid(), "DEFAULT");
  EXPECT_EQ(client_.Stats(" ").size(), 1u);
  const auto infos = client_.GetInfos(ParamsIn(""));
  ASSERT_THAT(infos, SizeIs(1));
  EXPECT_EQ(infos[0].crawlid(), "DEFAULT");
  EXPECT_EQ(infos[0].key(), "a.test");
  EXPECT_EQ(client_.DeleteCrawl(""), 1u);
}

TEST_F(UrlFrontier, CrawlIdsAreNamespaces) {
  client_.Put({Discovered("http://a.test/1", "", "one"), Discovered("http://a.test/1", "", "two")});
  EXPECT_THAT(client_.Crawls(), UnorderedElementsAre("one", "two"));
  EXPECT_THAT(client_.Get(ParamsIn("one")), ElementsAre("http://a.test/1"));
  EXPECT_EQ(client_.Stats("one").inprocess(), 1u);
  EXPECT_EQ(client_.Stats("two").inprocess(), 0u);
  EXPECT_EQ(client_.DeleteCrawl("one"), 1u);
  EXPECT_THAT(client_.Crawls(), ElementsAre("two"));
  EXPECT_THAT(client_.Get(ParamsIn("one")), IsEmpty());
  EXPECT_THAT(client_.Get(ParamsIn("two")), ElementsAre("http://a.test/1"));
}

TEST_F(UrlFrontier, NeitherCrawlIdNorAnyIsAnyCrawl) {
  client_.Put({Discovered("http://a.test/1", "", "one"), Discovered("http://b.test/1", "", "two")});
  EXPECT_THAT(client_.Get(Params()), UnorderedElementsAre("http://a.test/1", "http://b.test/1"));
  uf::GetParams any = Params();
  any.mutable_anycrawlid();
  client_.Put({Discovered("http://c.test/1", "", "one"), Discovered("http://d.test/1", "", "two")});
  EXPECT_THAT(client_.Get(any), UnorderedElementsAre("http://c.test/1", "http://d.test/1"));
}

TEST_F(UrlFrontier, AMissingKeyIsTheHost) {
  const auto outcomes =
      client_.Put({Discovered("http://a.test:8080/x"), Discovered("https://b.test?q"),
                   Discovered("http://c.test&x"), Discovered("http://user:pass@d.test:1/x"),
                   Discovered("http://[2001:db8::1]:80/x"), Discovered("mailto"),
                   Discovered("http:///x"), Discovered("mailto:someone", "mail_box")});
  EXPECT_EQ(outcomes.at("mailto"), "SKIPPED");
  EXPECT_EQ(outcomes.at("http:///x"), "SKIPPED");
  EXPECT_EQ(outcomes.at("mailto:someone"), "OK");
  uf::Pagination page;
  EXPECT_THAT(client_.Queues(page), UnorderedElementsAre("a.test", "b.test", "c.test", "d.test",
                                                         "[2001:db8::1]", "mail_box"));
}

TEST_F(UrlFrontier, KeysAndCrawlIdsHave255CharactersAtMost) {
  const std::string longest(255, 'k');
  EXPECT_EQ(client_.Put(Discovered("http://a.test/1", longest)), "OK");
  EXPECT_EQ(client_.Put(Discovered("http://a.test/2", longest + "k")), "SKIPPED");
  EXPECT_EQ(client_.Put(Discovered("http://a.test/3", "k", longest)), "OK");
  EXPECT_EQ(client_.Put(Discovered("http://a.test/4", "k", longest + "c")), "SKIPPED");
}

TEST_F(UrlFrontier, TheSameUrlUnderTwoKeysIsTwoEntries) {
  EXPECT_EQ(client_.Put(Discovered("http://a.test/1", "x")), "OK");
  EXPECT_EQ(client_.Put(Discovered("http://a.test/1", "y")), "OK");
  EXPECT_EQ(client_.Stats().size(), 2u);
  EXPECT_EQ(client_.Put(KnownUntil(0, "http://a.test/1", "x")), "OK");
  EXPECT_THAT(client_.GetInfos(Params()), ElementsAre(::testing::Property(&uf::URLInfo::key, "y")));
}

// --- PutURLs

TEST_F(UrlFrontier, AnAckNamesTheIdOrElseTheUrl) {
  uf::URLItem named = Discovered("http://a.test/1");
  named.set_id("my id");
  EXPECT_THAT(client_.Put({named, Discovered("http://a.test/2")}),
              UnorderedElementsAre(Pair("my id", "OK"), Pair("http://a.test/2", "OK")));
}

TEST_F(UrlFrontier, WhatIsDiscoveredAgainStaysAsItIs) {
  uf::URLItem first = Discovered("http://a.test/1");
  (*first.mutable_discovered()->mutable_info()->mutable_metadata())["depth"].add_values("1");
  EXPECT_EQ(client_.Put(first), "OK");
  EXPECT_EQ(client_.Put(Discovered("http://a.test/1")), "SKIPPED");
  const auto infos = client_.GetInfos(Params());
  ASSERT_THAT(infos, SizeIs(1));
  EXPECT_THAT(infos[0].metadata().at("depth").values(), ElementsAre("1"));
}

TEST_F(UrlFrontier, WhatIsKnownTakesThePlaceOfWhatWas) {
  const uint64_t now = clock_.seconds();
  uf::URLItem known = KnownUntil(now + 10, "http://a.test/1");
  auto& metadata = *known.mutable_known()->mutable_info()->mutable_metadata();
  metadata["etag"].add_values("\"x\"");
  metadata["etag"].add_values("\"y\"");
  EXPECT_EQ(client_.Put(known), "OK") << "also of a URL that nobody had discovered";
  EXPECT_THAT(client_.Get(Params()), IsEmpty());
  clock_.Pass(9);
  EXPECT_THAT(client_.Get(Params()), IsEmpty());
  clock_.Pass(1);
  const auto infos = client_.GetInfos(Params());
  ASSERT_THAT(infos, SizeIs(1));
  EXPECT_THAT(infos[0].metadata().at("etag").values(), ElementsAre("\"x\"", "\"y\""));
  EXPECT_EQ(client_.Put(KnownUntil(now + 20, "http://a.test/1")), "OK");
  EXPECT_EQ(client_.Stats().inprocess(), 0u) << "the lease is over";
  clock_.Pass(10);
  const auto again = client_.GetInfos(Params());
  ASSERT_THAT(again, SizeIs(1));
  EXPECT_THAT(again[0].metadata(), IsEmpty());
}

TEST_F(UrlFrontier, ADateOfZeroIsNeverAgainAndDropsTheMetadata) {
  uf::URLItem done = KnownUntil(0, "http://a.test/1");
  (*done.mutable_known()->mutable_info()->mutable_metadata())["k"].add_values("v");
  EXPECT_EQ(client_.Put(Discovered("http://a.test/1")), "OK");
  EXPECT_EQ(client_.Put(done), "OK");
  EXPECT_EQ(client_.Put(Discovered("http://a.test/1")), "SKIPPED");
  EXPECT_THAT(GetLater(Params()), IsEmpty());
  const uf::Stats stats = client_.Stats();
  EXPECT_EQ(stats.size(), 0u);
  EXPECT_EQ(stats.counts().at("completed"), 1u);
  EXPECT_EQ(stats.counts().at("active_queues"), 0u);
  EXPECT_EQ(stats.numberofqueues(), 1u);
  uf::URLItem item;
  ASSERT_TRUE(client_.Status("http://a.test/1", &item).ok());
  EXPECT_EQ(item.known().refetchable_from_date(), 0u);
  EXPECT_THAT(item.known().info().metadata(), IsEmpty());
}

TEST_F(UrlFrontier, CountsStayRightWhenWhatIsCompletedIsUpdated) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client_.Put(KnownUntil(0, "http://a.test/1")), "OK");
  EXPECT_EQ(client_.Stats().size(), 0u);
  EXPECT_EQ(client_.Stats().counts().at("completed"), 1u);
  EXPECT_EQ(client_.Put(KnownUntil(clock_.seconds(), "http://a.test/1")), "OK");
  EXPECT_EQ(client_.Stats().size(), 1u);
  EXPECT_EQ(client_.Stats().counts().at("completed"), 0u);
}

TEST_F(UrlFrontier, TheServerSetsTheDateOfCreationOnce) {
  const uint64_t now = clock_.seconds();
  uf::URLItem item = Discovered("http://a.test/1");
  item.set_creation_date(12);
  EXPECT_EQ(client_.Put(item), "OK");
  clock_.Pass(100);
  EXPECT_EQ(client_.Put(KnownUntil(now, "http://a.test/1")), "OK");
  uf::URLItem kept;
  ASSERT_TRUE(client_.Status("http://a.test/1", &kept).ok());
  EXPECT_EQ(kept.creation_date(), now);
}

TEST_F(UrlFrontier, TenThousandUrlsOnOneStreamAreAllAcknowledged) {
  std::vector<uf::URLItem> items;
  for (int i = 0; i < 10'000; ++i) {
    items.push_back(Discovered("http://h" + std::to_string(i % 50) + ".test/" + std::to_string(i)));
  }
  for (const auto& [id, status] : client_.Put(items)) EXPECT_EQ(status, "OK") << id;
  EXPECT_EQ(client_.Stats().size(), 10'000u);
  EXPECT_EQ(client_.Stats().numberofqueues(), 50u);
}

TEST_F(UrlFrontier, WhatIsNoItemIsSkippedAndTheStreamGoesOn) {
  EXPECT_EQ(client_.Put(uf::URLItem()), "SKIPPED");
  EXPECT_EQ(client_.Put(Discovered("")), "SKIPPED");
  EXPECT_EQ(client_.Put(Discovered("http://a.test/" + std::string(9000, 'x'))), "SKIPPED");
  RawStream stream(server_, "/urlfrontier.URLFrontier/PutURLs");
  std::vector<int> statuses;
  for (const std::string& bytes :
       {std::string("\x0a\xff", 2), std::string("\x0a\x05\x0a\x03\x0a\x01\xff", 7),
        Discovered("http://a.test/1").SerializeAsString()}) {
    statuses.push_back(stream.Exchange<uf::AckMessage>(bytes).status());
  }
  EXPECT_THAT(statuses, ElementsAre(1, 1, 0));
}

// --- PutDiscovered

TEST_F(UrlFrontier, ABatchIsAcknowledgedItemByItem) {
  uf::DiscoveredBatch empty;
  empty.set_id("probe");
  uf::DiscoveredBatch batch;
  batch.set_id("b");
  *batch.add_items() = Info("http://a.test/1");
  *batch.add_items() = Info("http://a.test/1");
  *batch.add_items() = Info("no url");
  *batch.add_items() = Info("http://b.test/1");
  const auto acks = client_.PutBatches({empty, batch, batch});
  EXPECT_EQ(acks[0].id(), "probe");
  EXPECT_THAT(acks[0].statuses(), IsEmpty());
  EXPECT_EQ(acks[1].id(), "b");
  EXPECT_THAT(acks[1].statuses(), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(acks[2].statuses(), ElementsAre(1, 1, 1, 1));
}

TEST_F(UrlFrontier, ABatchMayHoldAsMuchMetadataAsAMessageDoes) {
  uf::DiscoveredBatch batch;
  for (int i = 0; i < 100; ++i) {
    uf::URLInfo& info = *batch.add_items() = Info("http://a.test/" + std::to_string(i));
    for (int j = 0; j < 30; ++j) {
      (*info.mutable_metadata())["k" + std::to_string(j)].add_values("v");
    }
  }
  const auto acks = client_.PutBatches({batch});
  EXPECT_THAT(acks[0].statuses(), ::testing::AllOf(SizeIs(100), ::testing::Each(0)));
}

TEST_F(UrlFrontier, UrlsOverTheLimitOfABatchMayComeAgain) {
  uf::DiscoveredBatch batch;
  for (size_t i = 0; i < limits::kMaxUrlsPerBatch + 2; ++i) {
    *batch.add_items() = Info("http://a.test/" + std::to_string(i));
  }
  const auto acks = client_.PutBatches({batch});
  ASSERT_EQ(static_cast<size_t>(acks[0].statuses_size()), limits::kMaxUrlsPerBatch + 2);
  EXPECT_EQ(acks[0].statuses(0), uf::AckMessage::OK);
  EXPECT_EQ(acks[0].statuses(limits::kMaxUrlsPerBatch), uf::AckMessage::FAIL);
}

// --- GetURLs

TEST_F(UrlFrontier, UrlsComeInTheOrderOfDueDateAndText) {
  const uint64_t now = clock_.seconds();
  client_.Put({KnownUntil(now - 1, "http://a.test/c"), KnownUntil(now - 5, "http://a.test/z"),
               KnownUntil(now - 1, "http://a.test/b"), KnownUntil(now + 1, "http://a.test/a")});
  EXPECT_THAT(client_.Get(Params()),
              ElementsAre("http://a.test/z", "http://a.test/b", "http://a.test/c"));
}

TEST_F(UrlFrontier, ZeroIsNoLimit) {
  std::vector<uf::URLItem> items;
  for (int i = 0; i < 1000; ++i) {
    items.push_back(Discovered("http://h" + std::to_string(i % 4) + ".test/" + std::to_string(i)));
  }
  client_.Put(items);
  const Urls urls = client_.Get(Params());
  EXPECT_EQ(std::set<std::string>(urls.begin(), urls.end()).size(), 1000u);
}

TEST_F(UrlFrontier, TheNumbersOfUrlsAndQueuesAreLimits) {
  std::vector<uf::URLItem> items;
  for (int i = 0; i < 100; ++i) {
    items.push_back(Discovered("http://h" + std::to_string(i % 10) + ".test/" + std::to_string(i)));
  }
  client_.Put(items);
  std::map<std::string, int> by_queue;
  for (const uf::URLInfo& info : client_.GetInfos(Params(3, 4))) ++by_queue[info.key()];
  EXPECT_THAT(by_queue, SizeIs(4));
  for (const auto& [key, urls] : by_queue) EXPECT_EQ(urls, 3) << key;
  // Queues are served in turn: those that were not served yet come first.
  std::set<std::string> others;
  for (const uf::URLInfo& info : client_.GetInfos(Params(3, 0))) others.insert(info.key());
  EXPECT_THAT(others, SizeIs(6));
  for (const auto& [key, urls] : by_queue) EXPECT_FALSE(others.contains(key));
}

TEST_F(UrlFrontier, ALeaseKeepsAUrlFromOthersUntilItEnds) {
  client_.Put(Discovered("http://a.test/1"));
  EXPECT_THAT(client_.Get(Params(0, 0, 60)), SizeIs(1));
  EXPECT_EQ(client_.Stats().inprocess(), 1u);
  EXPECT_EQ(client_.Stats().size(), 1u);
  clock_.Pass(59);
  EXPECT_THAT(client_.Get(Params()), IsEmpty());
  clock_.Pass(1);
  EXPECT_THAT(client_.Get(Params()), SizeIs(1));
  EXPECT_EQ(client_.Stats().inprocess(), 1u);
  // If no time is requested, a lease lasts half a minute.
  clock_.Pass(29);
  EXPECT_THAT(client_.Get(Params()), IsEmpty());
  clock_.Pass(1);
  EXPECT_THAT(client_.Get(Params()), SizeIs(1));
}

TEST_F(UrlFrontier, AQueueWithAsMuchInFlightAsMayBeTakenIsLeftOut) {
  client_.Put({Discovered("http://a.test/1"), Discovered("http://a.test/2"),
               Discovered("http://a.test/3"), Discovered("http://b.test/1")});
  EXPECT_THAT(client_.Get(Params(1, 1)), SizeIs(1));
  EXPECT_THAT(client_.Get(Params(1, 1)), SizeIs(1));
  EXPECT_THAT(GetLater(Params(1)), IsEmpty());
  EXPECT_THAT(GetLater(Params(2)), SizeIs(2));
  EXPECT_THAT(GetLater(Params(3)), IsEmpty());
}

TEST_F(UrlFrontier, AQueueRestsForItsDelay) {
  client_.Put({Discovered("http://a.test/1"), Discovered("http://a.test/2"),
               Discovered("http://a.test/3")});
  EXPECT_THAT(client_.Get(Params(1)), SizeIs(1));
  clock_.Pass(1);
  EXPECT_THAT(client_.Get(Params(2)), IsEmpty()) << "the second second at the soonest";
  clock_.Pass(1);
  EXPECT_THAT(client_.Get(Params(2)), SizeIs(2));
}

TEST_F(UrlFrontier, AKeyNamesAQueueOfOneCrawl) {
  client_.Put({Discovered("http://a.test/1"), Discovered("http://b.test/1")});
  uf::GetParams params = Params();
  params.set_key("b.test");
  EXPECT_THAT(client_.Get(params), IsEmpty()) << "no crawl id is chosen";
  params.set_crawlid("DEFAULT");
  EXPECT_THAT(client_.Get(params), ElementsAre("http://b.test/1"));
  params.set_key("c.test");
  EXPECT_THAT(client_.Get(params), IsEmpty());
  params.set_crawlid("other");
  EXPECT_THAT(client_.Get(params), IsEmpty());
}

TEST_F(UrlFrontier, WhatAClientDropsBeforeItWasWrittenIsThereForOthers) {
  std::vector<uf::URLItem> items;
  const std::string filler(7000, 'x');
  for (int i = 0; i < 2000; ++i) {
    items.push_back(Discovered("http://a.test/" + std::to_string(i) + filler));
  }
  client_.Put(items);
  {
    grpc::ClientContext call;
    const auto stream = client_.stub->GetURLs(&call, Params(0, 0, 36'000));
    uf::URLInfo info;
    ASSERT_TRUE(stream->Read(&info));
    call.TryCancel();
    while (stream->Read(&info)) {
    }
    EXPECT_FALSE(stream->Finish().ok());
  }
  // URLs in the buffers of the cancelled connection count as sent.
  EXPECT_TRUE(Eventually([&] {
    const uint64_t in_flight = client_.Stats().inprocess();
    return in_flight > 0 && in_flight < 1500;
  }));
  const uint64_t in_flight = client_.Stats().inprocess();
  EXPECT_EQ(GetLater(Params()).size(), 2000 - in_flight);
}

TEST_F(UrlFrontier, UrlsDoNotWaitForAnythingElseToBeWritten) {
  std::vector<uf::URLItem> items;
  for (int i = 0; i < 50; ++i) items.push_back(Discovered("http://a.test/" + std::to_string(i)));
  client_.Put(items);
  FrontierClient other(OwnChannel(server_.info.grpc_address));
  grpc::ClientContext call;
  // The deadline is earlier than the next ping. A ping would make gRPC send bytes that it has
  // buffered.
  call.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(8));
  const auto stream = other.stub->GetURLs(&call, Params());
  uf::URLInfo info;
  int urls = 0;
  while (stream->Read(&info)) ++urls;
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(urls, 50);
}

TEST_F(UrlFrontier, AcksThatAreDueTogetherAtFirstDoNotWaitForAnythingElseToBeWritten) {
  FrontierClient other(OwnChannel(server_.info.grpc_address));
  grpc::ClientContext call;
  call.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(8));
  const auto stream = other.stub->PutURLs(&call);
  // The first URL waits for the disk. The others are skipped at once.
  for (const char* url : {"http://a.test/1", "none", "none", "none"}) {
    EXPECT_TRUE(stream->Write(Discovered(url)));
  }
  uf::AckMessage ack;
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(stream->Read(&ack)) << i;
  call.TryCancel();
  (void)stream->Finish();
}

// --- Settings of queues

TEST_F(UrlFrontier, ABlockedQueueGivesNothing) {
  client_.Put(Discovered("http://a.test/1"));
  client_.Block("a.test", clock_.seconds() + 10);
  EXPECT_THAT(client_.Get(Params()), IsEmpty());
  uf::Pagination page;
  EXPECT_THAT(client_.Queues(page), IsEmpty());
  page.set_include_inactive(true);
  EXPECT_THAT(client_.Queues(page), ElementsAre("a.test"));
  clock_.Pass(10);
  EXPECT_THAT(client_.Get(Params()), IsEmpty()) << "until then, that included";
  clock_.Pass(1);
  EXPECT_THAT(client_.Get(Params()), SizeIs(1));
  client_.Put(Discovered("http://b.test/1"));
  client_.Block("b.test", clock_.seconds() + 1000);
  client_.Block("b.test", 0);
  EXPECT_THAT(client_.Get(Params()), SizeIs(1));
}

TEST_F(UrlFrontier, WhatIsSetForAQueueThatIsNotKnownYetIsKept) {
  client_.Block("a.test", clock_.seconds() + 10);
  client_.SetDelay("b.test", 5);
  EXPECT_THAT(client_.Crawls(), IsEmpty());
  EXPECT_EQ(client_.Stats().numberofqueues(), 0u);
  client_.Put({Discovered("http://a.test/1"), Discovered("http://b.test/1"),
               Discovered("http://b.test/2")});
  EXPECT_THAT(client_.Get(Params(1)), ElementsAre("http://b.test/1"));
  clock_.Pass(5);
  EXPECT_THAT(client_.Get(Params(2)), IsEmpty());
  clock_.Pass(1);
  EXPECT_THAT(client_.Get(Params(2)), ElementsAre("http://b.test/2"));
}

TEST_F(UrlFrontier, ADelayWithoutAKeyIsThatOfAllQueuesWithoutOne) {
  client_.SetDelay("b.test", 1, "two");
  client_.SetDelay("", 10);
  for (const char* crawl : {"one", "two"}) {
    for (const char* url :
         {"http://a.test/1", "http://a.test/2", "http://b.test/1", "http://b.test/2"}) {
      client_.Put(Discovered(url, "", crawl));
    }
  }
  EXPECT_THAT(client_.Get(Params(1)), SizeIs(4));
  clock_.Pass(2);
  EXPECT_THAT(client_.Get(Params(2)), ElementsAre("http://b.test/2"));
  clock_.Pass(8);
  EXPECT_THAT(client_.Get(Params(2)), IsEmpty());
  clock_.Pass(1);
  EXPECT_THAT(client_.Get(Params(2)), SizeIs(3));
}

TEST_F(UrlFrontier, AQueueAtItsCrawlLimitGivesNothing) {
  const grpc::Status unknown = client_.SetLimit("a.test", 1);
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::UNKNOWN);
  client_.Put({Discovered("http://a.test/1"), Discovered("http://a.test/2")});
  EXPECT_TRUE(client_.SetLimit("a.test", 1).ok());
  EXPECT_THAT(client_.Get(Params(1)), ElementsAre("http://a.test/1"));
  client_.Put(KnownUntil(0, "http://a.test/1"));
  client_.Put(KnownUntil(0, "http://a.test/1"));
  EXPECT_THAT(GetLater(Params()), IsEmpty());
  EXPECT_TRUE(client_.SetLimit("a.test", 2).ok());
  EXPECT_THAT(GetLater(Params(1)), ElementsAre("http://a.test/2"));
  EXPECT_TRUE(client_.SetLimit("a.test", 0).ok());
}

TEST_F(UrlFrontier, WhileInactiveNothingIsGivenAndPutsGoOn) {
  EXPECT_TRUE(client_.IsActive());
  client_.SetActive(false);
  EXPECT_FALSE(client_.IsActive());
  EXPECT_EQ(client_.Put(Discovered("http://a.test/1")), "OK");
  EXPECT_THAT(client_.Get(Params()), IsEmpty());
  Restart();
  EXPECT_FALSE(client_.IsActive());
  client_.SetActive(true);
  EXPECT_THAT(client_.Get(Params()), SizeIs(1));
}

// --- Reading and deleting

TEST_F(UrlFrontier, StatsOfWhatIsNotKnownAreZero) {
  const uf::Stats stats = client_.Stats("nowhere", "nothing");
  EXPECT_EQ(stats.size(), 0u);
  EXPECT_EQ(stats.inprocess(), 0u);
  EXPECT_EQ(stats.numberofqueues(), 0u);
  EXPECT_EQ(stats.crawlid(), "nowhere");
  EXPECT_EQ(stats.counts().at("completed"), 0u);
}

TEST_F(UrlFrontier, StatsOfACrawlAreTheSumOfItsQueues) {
  client_.Put({Discovered("http://a.test/1"), Discovered("http://a.test/2"),
               Discovered("http://b.test/1"), KnownUntil(0, "http://c.test/1")});
  EXPECT_THAT(client_.Get(ParamsIn("DEFAULT", 1, 1)), SizeIs(1));
  const uf::Stats all = client_.Stats();
  EXPECT_EQ(all.size(), 3u);
  EXPECT_EQ(all.inprocess(), 1u);
  EXPECT_EQ(all.numberofqueues(), 3u);
  EXPECT_EQ(all.counts().at("completed"), 1u);
  EXPECT_EQ(all.counts().at("active_queues"), 2u);
  const uf::Stats one = client_.Stats("", "a.test");
  EXPECT_EQ(one.size(), 2u);
  EXPECT_EQ(one.numberofqueues(), 1u);
}

TEST_F(UrlFrontier, QueuesAreListedAPageAtATime) {
  std::vector<uf::URLItem> items;
  for (int i = 0; i < 250; ++i) items.push_back(Discovered("http://h" + std::to_string(i) + "/"));
  items.push_back(KnownUntil(0, "http://done.test/"));
  client_.Put(items);
  std::set<std::string> seen;
  uf::Pagination page;
  for (const size_t expected : {100u, 100u, 50u, 0u}) {
    const auto list = client_.Call<uf::QueueList>(&uf::URLFrontier::Stub::ListQueues, page);
    EXPECT_EQ(list.size(), expected);
    EXPECT_EQ(list.start(), page.start());
    EXPECT_EQ(list.total(), 0u);
    EXPECT_EQ(list.crawlid(), "DEFAULT");
    seen.insert(list.values().begin(), list.values().end());
    page.set_start(page.start() + 100);
  }
  EXPECT_THAT(seen, SizeIs(250));
  page.set_start(0);
  page.set_size(1000);
  page.set_include_inactive(true);
  EXPECT_THAT(client_.Queues(page), SizeIs(251));
  page.set_crawlid("other");
  EXPECT_THAT(client_.Queues(page), IsEmpty());
}

TEST_F(UrlFrontier, UrlsAreListedAndCountedAsKnown) {
  const uint64_t now = clock_.seconds();
  std::vector<uf::URLItem> items;
  for (int i = 0; i < 700; ++i) {
    items.push_back(Discovered("http://a.test/Page" + std::to_string(1000 + i)));
  }
  items.push_back(KnownUntil(0, "http://a.test/done"));
  items.push_back(KnownUntil(now + 77, "http://b.test/later"));
  client_.Put(items);
  uf::ListUrlParams list;
  list.set_key("a.test");
  EXPECT_THAT(client_.List(list), SizeIs(100));
  list.set_start(650);
  EXPECT_THAT(client_.List(list), SizeIs(51));
  list.set_start(0);
  list.set_filter("DONE");
  EXPECT_THAT(client_.List(list), IsEmpty());
  list.set_ignorecase(true);
  const auto done = client_.List(list);
  ASSERT_THAT(done, SizeIs(1));
  EXPECT_TRUE(done[0].has_known());
  EXPECT_EQ(done[0].known().refetchable_from_date(), 0u);
  EXPECT_EQ(done[0].creation_date(), now);
  EXPECT_EQ(done[0].known().info().crawlid(), "DEFAULT");
  EXPECT_EQ(done[0].known().info().key(), "a.test");
  list.set_key("nowhere");
  EXPECT_THAT(client_.List(list), IsEmpty());
  uf::ListUrlParams all;
  all.set_size(10'000);
  EXPECT_THAT(client_.List(all), SizeIs(702));

  uf::CountUrlParams count;
  EXPECT_EQ(client_.Count(count), 702u);
  count.set_key("a.test");
  EXPECT_EQ(client_.Count(count), 701u);
  count.set_filter("page1");
  EXPECT_EQ(client_.Count(count), 0u);
  count.set_ignorecase(true);
  EXPECT_EQ(client_.Count(count), 700u);
  count.set_crawlid("other");
  EXPECT_EQ(client_.Count(count), 0u);
}

TEST_F(UrlFrontier, TheStatusOfAUrlIsWhatIsKept) {
  uf::URLItem item;
  EXPECT_EQ(client_.Status("http://a.test/1", &item).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(client_.Status("", &item).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(client_.Status("nothing", &item).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  client_.Put({KnownUntil(99, "http://a.test/1"), Discovered("http://a.test/1", "key")});
  ASSERT_TRUE(client_.Status("http://a.test/1", &item).ok());
  EXPECT_EQ(item.known().refetchable_from_date(), 99u);
  ASSERT_TRUE(client_.Status("http://a.test/1", &item, "key").ok());
  EXPECT_EQ(item.known().refetchable_from_date(), clock_.seconds());
  EXPECT_EQ(client_.Status("http://a.test/1", &item, "key", "x").error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(UrlFrontier, APurgeForgetsWhatCameInLongAgo) {
  client_.Put({Discovered("http://a.test/old"), Discovered("http://b.test/old"),
               KnownUntil(0, "http://a.test/done"), Discovered("http://a.test/x", "", "other")});
  EXPECT_THAT(client_.Get(ParamsIn("DEFAULT", 1, 1)), SizeIs(1));
  clock_.Pass(86'400 * 3);
  client_.Put(Discovered("http://a.test/new"));
  EXPECT_EQ(client_.Purge(3), 0u) << "not before, but at that moment";
  clock_.Pass(1);
  EXPECT_EQ(client_.Purge(3, "b.test"), 1u);
  EXPECT_EQ(client_.Purge(3), 2u);
  const uf::Stats stats = client_.Stats();
  EXPECT_EQ(stats.size(), 1u);
  EXPECT_EQ(stats.inprocess(), 0u);
  EXPECT_EQ(stats.counts().at("completed"), 0u);
  EXPECT_EQ(stats.numberofqueues(), 1u);
  EXPECT_EQ(client_.Stats("other").size(), 1u);
  EXPECT_THAT(GetLater(ParamsIn("DEFAULT")), ElementsAre("http://a.test/new"));
  EXPECT_EQ(client_.Put(Discovered("http://a.test/old")), "OK");
}

TEST_F(UrlFrontier, DeletingReturnsHowManyUrlsThereWere) {
  client_.Put({Discovered("http://a.test/1"), Discovered("http://a.test/2"),
               KnownUntil(0, "http://a.test/3"), Discovered("http://b.test/1")});
  EXPECT_EQ(client_.DeleteQueue("nothing"), 0u);
  EXPECT_EQ(client_.DeleteQueue("a.test"), 3u);
  EXPECT_EQ(client_.Put(Discovered("http://a.test/1")), "OK") << "nothing is left of it";
  EXPECT_EQ(client_.Stats("", "a.test").size(), 1u);
  EXPECT_THAT(client_.Get(Params()), SizeIs(2));
  EXPECT_EQ(client_.DeleteCrawl("other"), 0u);
  EXPECT_EQ(client_.DeleteCrawl("DEFAULT"), 2u);
  EXPECT_THAT(client_.Crawls(), IsEmpty());
  Restart();
  EXPECT_THAT(client_.Crawls(), IsEmpty());
  EXPECT_EQ(client_.Stats().size(), 0u);
}

TEST_F(UrlFrontier, ANodeNamesItself) {
  const auto nodes = client_.Call<uf::StringList>(&uf::URLFrontier::Stub::ListNodes, uf::Empty());
  EXPECT_THAT(nodes.values(), ElementsAre(server_.info.grpc_address));
}

TEST_F(UrlFrontier, ALevelOfLoggingIsTaken) {
  uf::LogLevelParams params;
  params.set_package("some.package");
  params.set_level(uf::LogLevelParams::ERROR);
  (void)client_.Call<uf::Empty>(&uf::URLFrontier::Stub::SetLogLevel, params);
}

// --- Restarts and limits

TEST_F(UrlFrontier, ARestartKeepsAllThatIsSetAndInFlight) {
  client_.Put({Discovered("http://a.test/1"), Discovered("http://b.test/1"),
               Discovered("http://c.test/1"), Discovered("http://c.test/2")});
  client_.SetDelay("", 100);
  client_.SetDelay("c.test", 50);
  client_.Block("b.test", clock_.seconds() + 1000);
  uf::GetParams one = ParamsIn("DEFAULT", 1, 1, 500);
  one.set_key("c.test");
  EXPECT_THAT(client_.Get(one), ElementsAre("http://c.test/1"));
  Restart();
  EXPECT_EQ(client_.Stats().inprocess(), 1u);
  EXPECT_THAT(client_.Get(Params()), ElementsAre("http://a.test/1"));
  clock_.Pass(51);
  EXPECT_THAT(client_.Get(Params()), ElementsAre("http://c.test/2"));
  clock_.Pass(449);
  EXPECT_THAT(client_.Get(Params()),
              UnorderedElementsAre("http://a.test/1", "http://c.test/1", "http://c.test/2"));
  clock_.Pass(501);
  EXPECT_THAT(client_.Get(Params()), ::testing::Contains("http://b.test/1"));
}

TEST_F(UrlFrontier, ACheckpointBringsItBack) {
  client_.Put({Discovered("http://a.test/1"), KnownUntil(0, "http://a.test/2")});
  v1::CreateCheckpointRequest request;
  request.set_name("copy");
  v1::CreateCheckpointResponse response;
  grpc::ClientContext call;
  ASSERT_TRUE(server_.admin->CreateCheckpoint(&call, request, &response).ok());
  client_.DeleteCrawl("");
  const TempDir dir;
  const auto report = storage::Restore(response.path(), dir / "data", {});
  ASSERT_TRUE(report.ok()) << report.status();
  TestServer restored([&dir](ServerConfig* config) { config->data_dir = dir / "data"; });
  FrontierClient client(restored.channel);
  EXPECT_EQ(client.Stats().size(), 1u);
  EXPECT_EQ(client.Stats().counts().at("completed"), 1u);
  EXPECT_EQ(client_.Stats().size(), 0u);
}

// One client may use half of each limit.
class SmallUrlFrontier : public UrlFrontier {
 protected:
  SmallUrlFrontier()
      : UrlFrontier([](ServerConfig* config) {
          config->frontier_limits = {.metadata_bytes = 64, .urls = 6, .queues = 4, .flights = 2};
        }) {}
};

TEST_F(SmallUrlFrontier, EveryLimitRefuses) {
  uf::URLItem large = Discovered("http://a.test/large");
  (*large.mutable_discovered()->mutable_info()->mutable_metadata())["k"].add_values(
      std::string(100, 'v'));
  EXPECT_EQ(client_.Put(large), "SKIPPED");
  EXPECT_EQ(client_.Put(Discovered("http://a.test/1")), "OK");
  EXPECT_EQ(client_.Put(Discovered("http://b.test/1")), "OK");
  EXPECT_EQ(client_.Put(Discovered("http://c.test/1")), "FAIL") << "a queue too many";
  EXPECT_EQ(client_.Put(Discovered("http://a.test/2")), "OK");
  EXPECT_EQ(client_.Put(Discovered("http://a.test/3")), "FAIL") << "a URL too many";
  EXPECT_EQ(client_.Put(KnownUntil(5, "http://a.test/2")), "OK") << "it is there";
  EXPECT_THAT(client_.Get(Params(1)), SizeIs(1)) << "one in flight at a time";
  uf::BlockQueueParams block;
  block.set_key("d.test");
  block.set_time(clock_.seconds() + 10);
  grpc::ClientContext call;
  uf::Empty empty;
  EXPECT_EQ(client_.stub->BlockQueueUntil(&call, block, &empty).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST(UrlFrontierSwitchedOff, IsNotServed) {
  TestServer server([](ServerConfig* config) { config->frontier_enabled = false; });
  FrontierClient client(server.channel);
  grpc::ClientContext call;
  uf::StringList list;
  EXPECT_EQ(client.stub->ListCrawls(&call, {}, &list).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

}  // namespace
}  // namespace freshet
