// Tests streams of results and signals: which are applied, which are refused, and why. A bad
// message does not affect the others.
#include <thread>

#include "server/base/limits.h"
#include "tests/grpc/raw_stream.h"
#include "tests/grpc/test_server.h"

namespace freshet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kYear3000 = 32'503'680'000;

TEST(Ingest, AppliesResultsAndSignals) {
  TestServer server;
  server.UpsertMany(3);
  v1::CrawlResult result;
  result.set_url(TestServer::Url(0));
  result.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  result.set_etag("\"e1\"");
  result.set_http_status(200);
  const Instant now = server.clock.Now();
  ToProto(now - Duration::Seconds(100), result.mutable_fetch_time());
  EXPECT_THAT(Described(server.Report(result)), IsEmpty());
  EXPECT_THAT(Described(server.Report(result)), ElementsAre("0 DUPLICATE"));

  v1::SignalChangesRequest signals;
  for (int i = 0; i < 3; ++i) {
    v1::ChangeSignal* signal = signals.add_signals();
    signal->set_url(TestServer::Url(i));
    signal->set_source("sitemap");
    signal->set_signal_id("ping");
  }
  // The page was crawled after the change time of this signal.
  v1::ChangeSignal* old = signals.add_signals();
  old->set_url(TestServer::Url(0));
  old->set_source("cdn");
  ToProto(now - Duration::Seconds(200), old->mutable_change_time());
  EXPECT_THAT(Described(server.Signal(signals)), ElementsAre("3 STALE"));
  EXPECT_THAT(Described(server.Signal(signals)),
              ElementsAre("0 DUPLICATE", "1 DUPLICATE", "2 DUPLICATE", "3 STALE"));

  const v1::GetPageResponse got = server.Get(TestServer::Url(0));
  EXPECT_EQ(got.page().etag(), "\"e1\"");
  EXPECT_EQ(got.page().http_status(), 200);
  EXPECT_EQ(got.page().last_outcome(), v1::CRAWL_OUTCOME_CHANGED);
  EXPECT_EQ(got.page().crawls(), 1u);
  ASSERT_EQ(got.page().pending_signals_size(), 1);
  EXPECT_EQ(got.page().pending_signals(0).source(), "sitemap");
  EXPECT_EQ(got.page().pending_signals(0).burst_class(), v1::BURST_CLASS_1_TO_2);
  const v1::GetStatisticsResponse statistics = server.Statistics();
  EXPECT_EQ(statistics.ingest().results_changed(), 1u);
  EXPECT_EQ(statistics.ingest().results_duplicate(), 1u);
  EXPECT_EQ(statistics.ingest().signals_applied(), 3u);
}

TEST(Ingest, CountsAPollByThePagesOfItsHost) {
  TestServer server;
  server.UpsertMany(40, 2);
  v1::SignalChangesRequest signals;
  for (int i = 0; i < 40; i += 2) {
    v1::ChangeSignal* signal = signals.add_signals();
    signal->set_url(TestServer::Url(i, 2));
    signal->set_source("sitemap");
  }
  signals.add_signals()->CopyFrom(signals.signals(0));  // the same page twice is one page
  v1::ChangeSignal* other_host = signals.add_signals();
  other_host->set_url(TestServer::Url(1, 2));
  other_host->set_source("sitemap");
  server.Signal(signals);
  const auto burst_class = [&](int i) {
    return server.Get(TestServer::Url(i, 2)).page().pending_signals(0).burst_class();
  };
  EXPECT_EQ(burst_class(4), v1::BURST_CLASS_10_TO_99);
  EXPECT_EQ(burst_class(1), v1::BURST_CLASS_1_TO_2);

  v1::SignalChangesRequest part;
  part.set_poll_size(5000);
  part.add_signals()->CopyFrom(*other_host);
  part.mutable_signals(0)->set_url(TestServer::Url(3, 2));
  server.Signal(part);
  EXPECT_EQ(burst_class(3), v1::BURST_CLASS_100_OR_MORE);
}

TEST(Ingest, RefusesEachBadResultForItself) {
  TestServer server;
  server.UpsertMany(1);
  v1::ReportCrawlsRequest request;
  request.set_sequence(77);
  const auto add = [&](const std::string& url) {
    v1::CrawlResult* result = request.add_results();
    result->set_url(url);
    result->set_outcome(v1::CRAWL_OUTCOME_UNCHANGED);
    return result;
  };
  add("");
  add("http://a.test/" + std::string(100'000, 'x'));
  add("http://a.test/\xff\xfe");
  add("http://a.test/\x01");
  add(TestServer::Url(0))->mutable_fetch_time()->set_seconds(kYear3000);
  add("")->set_lease_id(123'456'789);
  add(TestServer::Url(0))->set_outcome(static_cast<v1::CrawlOutcome>(99));
  add("http://unknown.test/");
  add("ftp://a.test/");
  add(TestServer::Url(0))->mutable_fetch_time()->set_nanos(-1);
  add(TestServer::Url(0))->set_outcome(v1::CRAWL_OUTCOME_UNSPECIFIED);
  add(TestServer::Url(0));

  grpc::ClientContext call;
  const auto stream = server.ingest->ReportCrawls(&call);
  v1::ReportCrawlsResponse response;
  ASSERT_TRUE(stream->Write(request));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.ack().sequence(), 77u);
  EXPECT_EQ(response.ack().item_count(), 12u);
  EXPECT_THAT(
      Described(response.ack()),
      ElementsAre("0 REFUSED INVALID_ARGUMENT url: is empty",
                  "1 REFUSED INVALID_ARGUMENT url: 100014 bytes, at most 8192 are allowed",
                  "2 REFUSED INVALID_ARGUMENT url: is not valid UTF-8",
                  "3 REFUSED INVALID_ARGUMENT url: control character at byte 14",
                  HasSubstr("4 REFUSED INVALID_ARGUMENT fetch_time: is "),
                  "5 REFUSED UNKNOWN_LEASE lease_id: 123456789 was never issued",
                  "6 REFUSED INVALID_ARGUMENT outcome: 99 is not a known outcome",
                  "7 REFUSED NOT_FOUND url: http://unknown.test/ is not known in crawl id DEFAULT",
                  "8 REFUSED INVALID_ARGUMENT url: scheme is neither http nor https",
                  "9 REFUSED INVALID_ARGUMENT fetch_time: 0 s and -1 ns are not a valid time",
                  "10 REFUSED INVALID_ARGUMENT outcome: is missing, and the server cannot tell it "
                  "without a digest: report the outcome or a digest"));
  // The stream continues.
  v1::ReportCrawlsRequest good;
  good.add_results()->CopyFrom(request.results(11));
  ASSERT_TRUE(stream->Write(good));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_THAT(response.ack().statuses().size(), 0) << response.DebugString();
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(server.Statistics().ingest().results_refused(), 11u);
}

TEST(Ingest, RefusesEachBadSignalForItself) {
  TestServer server;
  server.UpsertMany(1);
  v1::SignalChangesRequest request;
  const auto add = [&](const std::string& url, const std::string& source) {
    v1::ChangeSignal* signal = request.add_signals();
    signal->set_url(url);
    signal->set_source(source);
    return signal;
  };
  add("", "sitemap");
  add("http://a.test/" + std::string(100'000, 'x'), "sitemap");
  add(TestServer::Url(0), "\xc3\x28");
  add("http://a.test/\x7f", "sitemap");
  add(TestServer::Url(0), "sitemap")->mutable_change_time()->set_seconds(kYear3000);
  add(TestServer::Url(0), "nobody");
  add(TestServer::Url(0), "");
  add(TestServer::Url(0), "Sitemap");
  add(TestServer::Url(0), "cdn")->set_signal_id(std::string(200, 'i'));
  add("http://unknown.test/", "cdn");
  add(TestServer::Url(0), "cdn")->set_crawl_id("a b");
  add(TestServer::Url(0), "cdn");
  EXPECT_THAT(
      Described(server.Signal(request)),
      ElementsAre("0 REFUSED INVALID_ARGUMENT url: is empty",
                  "1 REFUSED INVALID_ARGUMENT url: 100014 bytes, at most 8192 are allowed",
                  "2 REFUSED INVALID_ARGUMENT source: is not valid UTF-8",
                  "3 REFUSED INVALID_ARGUMENT url: control character at byte 14",
                  HasSubstr("4 REFUSED INVALID_ARGUMENT change_time: is "),
                  "5 REFUSED UNKNOWN_SOURCE source: nobody is not registered; `freshet sources` "
                  "lists all, --add adds one",
                  "6 REFUSED INVALID_ARGUMENT source: is empty",
                  HasSubstr("7 REFUSED INVALID_ARGUMENT source: the name may hold only"),
                  "8 REFUSED INVALID_ARGUMENT signal_id: 200 bytes, at most 128 are allowed",
                  "9 REFUSED NOT_FOUND url: http://unknown.test/ is not known in crawl id DEFAULT",
                  "10 REFUSED INVALID_ARGUMENT crawl_id: only printable ASCII is allowed"));
  EXPECT_EQ(server.Statistics().ingest().signals_applied(), 1u);
  EXPECT_EQ(server.Statistics().ingest().signals_refused(), 11u);
  EXPECT_EQ(server.Statistics().ingest().signals_unknown_page(), 1u);
}

TEST(Ingest, RefusesWholeMessagesOfTheWrongSize) {
  TestServer server;
  server.UpsertMany(1);
  v1::SignalChangesRequest request;
  request.set_sequence(5);
  v1::BatchAck ack = server.Signal(request);
  EXPECT_EQ(ack.error().field(), "signals");
  EXPECT_EQ(ack.error().reason(), "is empty");
  EXPECT_EQ(ack.sequence(), 5u);
  for (int i = 0; i <= limits::kMaxItemsPerMessage; ++i) request.add_signals();
  ack = server.Signal(request);
  EXPECT_EQ(ack.error().code(), v1::ERROR_CODE_INVALID_ARGUMENT);
  EXPECT_EQ(ack.error().reason(), "1001 items, at most 1000 are allowed in a message");
  EXPECT_EQ(ack.item_count(), 1001u);
  v1::SignalChangesRequest zero;
  zero.add_signals();
  zero.set_poll_size(0);
  EXPECT_EQ(server.Signal(zero).error().field(), "poll_size");
}

TEST(Ingest, AnswersBytesThatAreNoMessageAndGoesOn) {
  TestServer server;
  server.UpsertMany(1);
  for (const std::string method : {"ReportCrawls", "SignalChanges"}) {
    RawStream stream(server, "/freshet.v1.IngestService/" + method);
    // Both responses have the acknowledgement as field 1.
    auto response = stream.Exchange<v1::ReportCrawlsResponse>("\xff\xff\xff garbage");
    EXPECT_EQ(response.ack().error().code(), v1::ERROR_CODE_INVALID_ARGUMENT);
    EXPECT_THAT(response.ack().error().reason(),
                HasSubstr("the message is not a valid freshet.v1."));
    response = stream.Exchange<v1::ReportCrawlsResponse>("");
    EXPECT_EQ(response.ack().error().reason(), "is empty");
  }
}

TEST(Ingest, AcknowledgesInTheOrderOfTheMessages) {
  TestServer server([](ServerConfig* config) { config->shards = 4; });
  server.UpsertMany(400, 100);
  grpc::ClientContext call;
  const auto stream = server.ingest->SignalChanges(&call);
  constexpr int kMessages = 300;  // far more than the unacknowledged limit
  std::thread writer([&] {
    for (int m = 0; m < kMessages; ++m) {
      v1::SignalChangesRequest request;
      request.set_sequence(static_cast<uint64_t>(m));
      // A third of the messages is refused at once, a third is handled by one shard, and a third by
      // all shards. If the server did not order the answers, they would overtake each other.
      for (int i = 0; i < (m % 3 == 0 ? 0 : m % 3 == 1 ? 1 : 100); ++i) {
        v1::ChangeSignal* signal = request.add_signals();
        signal->set_url(TestServer::Url((m + i) % 400, 100));
        signal->set_source("cdn");
      }
      if (!stream->Write(request)) break;
    }
    stream->WritesDone();
  });
  v1::SignalChangesResponse response;
  for (uint64_t m = 0; m < kMessages; ++m) {
    ASSERT_TRUE(stream->Read(&response));
    ASSERT_EQ(response.ack().sequence(), m);
  }
  writer.join();
  EXPECT_TRUE(stream->Finish().ok());
}

}  // namespace
}  // namespace freshet
