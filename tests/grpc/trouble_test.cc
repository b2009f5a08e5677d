// Tests pages and workers that cause trouble: wrong clocks, invented answers of sites, leases
// without an answer, missing pages. In each case, the page comes back, but not immediately.
#include "tests/grpc/test_server.h"
#include "tests/grpc/test_worker.h"

namespace freshet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> NotesOf(const v1::BatchAck& ack) {
  std::vector<std::string> notes;
  for (const v1::ItemStatus& status : ack.statuses()) {
    notes.insert(notes.end(), status.notes().begin(), status.notes().end());
  }
  return notes;
}

// A server with a single page. Answer() leases the page and makes a result for it.
class TroubleTest : public testing::Test {
 protected:
  explicit TroubleTest(const TestServer::Tweak& tweak = {})
      : server_([&tweak](ServerConfig* config) {
          config->epoch_interval = Duration();
          config->politeness.min_delay = Duration();
          if (tweak) tweak(config);
        }) {
    server_.UpsertMany(1);
  }

  v1::CrawlResult Answer(v1::CrawlOutcome outcome = v1::CRAWL_OUTCOME_UNCHANGED) {
    const v1::NextResponse next = server_.Next(1, 10'000);
    EXPECT_EQ(next.assignments_size(), 1);
    v1::CrawlResult result;
    if (next.assignments_size() == 1) result.set_lease_id(next.assignments(0).lease_id());
    result.set_outcome(outcome);
    return result;
  }
  v1::Page Page() { return server_.Get(TestServer::Url(0)).page(); }
  void Recheck() {
    v1::RecheckPagesRequest request;
    request.add_urls(TestServer::Url(0));
    v1::RecheckPagesResponse response;
    grpc::ClientContext call;
    EXPECT_TRUE(server_.pages->RecheckPages(&call, request, &response).ok());
    EXPECT_THAT(Described(response.ack()), IsEmpty());
  }

  TestServer server_;
};

TEST_F(TroubleTest, AWorkersClockIsWrong) {
  server_.Report(Answer());
  for (const int64_t off :
       {int64_t{-60}, int64_t{-86'400}, int64_t{86'400}, int64_t{-4'000'000'000}}) {
    Recheck();
    v1::CrawlResult result = Answer();
    const Instant before = server_.clock.Now();
    ToProto(before + Duration::Seconds(off), result.mutable_fetch_time());
    const v1::BatchAck ack = server_.Report(result);
    EXPECT_THAT(Described(ack), ElementsAre("0 APPLIED")) << off;
    EXPECT_THAT(NotesOf(ack), testing::Contains(HasSubstr("fetch_time: "))) << off;
    const v1::Page page = Page();
    EXPECT_NEAR(static_cast<double>(page.last_crawl_time().seconds()),
                static_cast<double>(before.micros()) * 1e-6, 30);
    EXPECT_FALSE(page.has_lease());
    EXPECT_FALSE(page.recheck_pending());
    EXPECT_THAT(Described(server_.Report(result)), ElementsAre("0 DUPLICATE"));
  }
  EXPECT_EQ(Page().crawls(), 5u);
  EXPECT_EQ(server_.Statistics().ingest().results_observed_only(), 0u);
}

TEST_F(TroubleTest, WhatASiteMakesUpCostsNoResult) {
  const auto report = [&](const std::function<void(v1::CrawlResult*)>& make_up) {
    v1::CrawlResult result = Answer();
    make_up(&result);
    const v1::BatchAck ack = server_.Report(result);
    EXPECT_THAT(Described(ack), ElementsAre("0 APPLIED"));
    EXPECT_FALSE(Page().has_lease());
    const std::vector<std::string> notes = NotesOf(ack);
    v1::SetHostPolitenessRequest unblock;
    unblock.set_host(TestServer::Url(0));
    unblock.set_reset(true);
    v1::SetHostPolitenessResponse unblocked;
    grpc::ClientContext call;
    EXPECT_TRUE(server_.admin->SetHostPoliteness(&call, unblock, &unblocked).ok());
    Recheck();
    return notes;
  };
  using Result = v1::CrawlResult;
  EXPECT_THAT(report([](Result* r) {
                r->set_etag("\"kept\"");
                r->set_http_status(999);
              }),
              ElementsAre("http_status: 999 is not 100 to 599; left out"));
  EXPECT_FALSE(Page().has_http_status());
  EXPECT_THAT(report([](Result* r) { r->set_etag(std::string(600, 'e')); }),
              ElementsAre("etag: 600 bytes, at most 512 are allowed; left out"));
  EXPECT_THAT(report([](Result* r) { r->set_etag("a\nb"); }),
              ElementsAre("etag: control character at byte 1; left out"));
  EXPECT_THAT(report([](Result* r) { r->set_etag("\"\u00e9\""); }),
              ElementsAre("etag: has characters that are not ASCII; left out"));
  EXPECT_EQ(Page().etag(), "\"kept\"");
  EXPECT_THAT(
      report([](Result* r) { r->mutable_last_modified()->set_nanos(-1); }),
      ElementsAre(HasSubstr("last_modified: 0 s and -1 ns are not a valid time; left out")));
  EXPECT_THAT(report([](Result* r) { r->mutable_retry_after()->set_seconds(-5); }),
              ElementsAre("retry_after: is negative; left out"));
  EXPECT_THAT(report([](Result* r) { r->mutable_retry_after()->set_seconds(400 * 86400); }),
              ElementsAre(HasSubstr("is over the limit of 31622400 s, which counts")));
  EXPECT_THAT(report([](Result* r) { r->set_content_digest(std::string(513, 'd')); }),
              ElementsAre("content_digest: 513 bytes, at most 512 are allowed; left out"));
  EXPECT_THAT(report([](Result* r) { r->set_moved_to("http://elsewhere.test/"); }),
              ElementsAre("moved_to: is not of a page that has moved; left out"));
  EXPECT_EQ(Page().crawls(), 9u);
  EXPECT_EQ(server_.Statistics().ingest().results_refused(), 0u);
}

TEST_F(TroubleTest, WhatCannotBeDecidedCountsForTheWorse) {
  v1::CrawlResult result = Answer(v1::CRAWL_OUTCOME_UNSPECIFIED);
  result.set_content_digest(std::string(513, 'd'));
  EXPECT_THAT(NotesOf(server_.Report(result)),
              ElementsAre(HasSubstr("content_digest: "), HasSubstr("counts as changed")));
  EXPECT_EQ(Page().last_outcome(), v1::CRAWL_OUTCOME_CHANGED);
  Recheck();
  result = Answer(static_cast<v1::CrawlOutcome>(99));
  EXPECT_THAT(
      NotesOf(server_.Report(result)),
      ElementsAre("outcome: 99 is not a known outcome; left out", HasSubstr("counts as an error")));
  EXPECT_EQ(Page().last_outcome(), v1::CRAWL_OUTCOME_ERROR);
  EXPECT_FALSE(Page().has_lease());
}

// Sends results with texts that are not valid UTF-8 on a worker's stream.
TEST_F(TroubleTest, TextsThatAreNotUtf8AreLeftOut) {
  TestWorker worker(server_);
  worker.Grant(1);
  const std::vector<v1::Assignment> assignments = worker.ReadAssignments(1);
  ASSERT_EQ(assignments.size(), 1u);
  v1::CrawlRequest request;
  v1::CrawlResult* result = request.mutable_results()->add_results();
  result->set_lease_id(assignments[0].lease_id());
  result->set_outcome(v1::CRAWL_OUTCOME_MOVED);
  result->set_etag("caf\xe9");
  result->set_moved_to("http://a.test/\xff");
  request.mutable_results()->add_results()->set_url("http://a.test/\xff");
  ASSERT_TRUE(worker.Write(request));
  const v1::BatchAck ack = worker.Read().result_ack();
  EXPECT_THAT(Described(ack),
              ElementsAre("0 APPLIED", "1 REFUSED INVALID_ARGUMENT url: is not valid UTF-8"));
  EXPECT_THAT(NotesOf(ack), ElementsAre("etag: is not valid UTF-8; left out",
                                        "moved_to: is not valid UTF-8; left out"));
  EXPECT_EQ(Page().last_outcome(), v1::CRAWL_OUTCOME_MOVED);
  worker.Cancel();
}

TEST_F(TroubleTest, AMoveIsKeptAndLooksForThePageAgain) {
  v1::CrawlResult result = Answer(v1::CRAWL_OUTCOME_MOVED);
  result.set_moved_to("HTTP://Elsewhere.TEST:80/new#part");
  EXPECT_THAT(Described(server_.Report(result)), IsEmpty());
  const v1::GetPageResponse moved = server_.Get(TestServer::Url(0));
  EXPECT_EQ(moved.page().moved_to(), "http://elsewhere.test/new");
  EXPECT_EQ(moved.explanation().decision(), v1::DECISION_TOO_EARLY);
  EXPECT_THAT(moved.explanation().why(), HasSubstr("the server will look for it again"));
  const v1::GetStatisticsResponse statistics = server_.Statistics();
  EXPECT_EQ(statistics.pages().gone_pages(), 1u);
  EXPECT_EQ(statistics.pages().pages(), 1u) << "the target is not added";
  server_.Restart();
  EXPECT_EQ(Page().moved_to(), "http://elsewhere.test/new");
  const v1::GetPageResponse later = server_.Get(TestServer::Url(0));
  EXPECT_EQ(later.explanation().decision(), v1::DECISION_TOO_EARLY);
  EXPECT_THAT(later.explanation().why(), HasSubstr("the server will look for it again"));
  EXPECT_EQ(server_.Statistics().pages().gone_pages(), 1u);

  v1::SignalChangesRequest signals;
  signals.add_signals()->set_url(TestServer::Url(0));
  signals.mutable_signals(0)->set_source("sitemap");
  EXPECT_THAT(Described(server_.Signal(signals)), IsEmpty());
  server_.Report(Answer(v1::CRAWL_OUTCOME_CHANGED));
  EXPECT_EQ(Page().moved_to(), "");
  EXPECT_EQ(server_.Statistics().pages().gone_pages(), 0u);
}

TEST_F(TroubleTest, AMoveToNowhereIsAMoveAllTheSame) {
  v1::CrawlResult result = Answer(v1::CRAWL_OUTCOME_MOVED);
  result.set_moved_to("/relative");
  EXPECT_THAT(NotesOf(server_.Report(result)), ElementsAre(HasSubstr("moved_to: ")));
  EXPECT_EQ(Page().last_outcome(), v1::CRAWL_OUTCOME_MOVED);
  EXPECT_EQ(Page().moved_to(), "");
}

class UnansweredTest : public TroubleTest {
 protected:
  UnansweredTest()
      : TroubleTest([](ServerConfig* config) {
          config->default_lease = Duration::Seconds(1);
          config->lease_backoff = config->max_lease_backoff = Duration::Millis(1);
          config->max_unanswered_leases = 2;
          config->max_error_backoff = config->error_backoff = Duration::Hours(1);
        }) {}
};

TEST_F(UnansweredTest, APageThatNobodyAnswersForWaitsItsTurn) {
  (void)Answer();
  (void)Answer();
  ASSERT_TRUE(Eventually([&] { return server_.Statistics().schedule().expired_leases() == 2; }));
  EXPECT_EQ(server_.Statistics().schedule().given_up_leases(), 1u);
  EXPECT_EQ(Page().unanswered_leases(), 2u);
  EXPECT_EQ(Page().crawls(), 0u);
  server_.Restart();
  EXPECT_EQ(Page().unanswered_leases(), 2u);
  EXPECT_EQ(server_.Next(1, 100).assignments_size(), 0) << "its turn is not yet";
  v1::RecheckPagesRequest recheck;
  recheck.add_urls(TestServer::Url(0));
  v1::RecheckPagesResponse asked;
  grpc::ClientContext call;
  ASSERT_TRUE(server_.pages->RecheckPages(&call, recheck, &asked).ok());
  server_.Report(Answer(v1::CRAWL_OUTCOME_CHANGED));
  EXPECT_EQ(Page().unanswered_leases(), 0u);
}

// The commit that opens a lease also stores when the lease began, for the next process.
TEST_F(TroubleTest, ARestartBetweenLeaseAndResultChangesNothing) {
  v1::CrawlResult result = Answer(v1::CRAWL_OUTCOME_CHANGED);
  const int64_t began = Page().lease().start_time().seconds();
  server_.Restart();
  ToProto(server_.clock.Now() - Duration::Days(1), result.mutable_fetch_time());
  EXPECT_THAT(Described(server_.Report(result)), ElementsAre("0 APPLIED"));
  EXPECT_EQ(Page().last_crawl_time().seconds(), began);
  EXPECT_THAT(Described(server_.Report(result)), ElementsAre("0 DUPLICATE"));
}

TEST(HostsWithoutPages, AreForgottenAndLeaveNoRow) {
  TestServer server;
  constexpr int kHosts = 500;
  for (int turn = 0; turn < 3; ++turn) {
    server.UpsertMany(kHosts, kHosts);
    EXPECT_EQ(server.Statistics().pages().hosts(), uint64_t{kHosts});
    v1::RemovePagesRequest request;
    for (int i = 0; i < kHosts; ++i) request.add_urls(TestServer::Url(i, kHosts));
    v1::RemovePagesResponse response;
    grpc::ClientContext call;
    ASSERT_TRUE(server.pages->RemovePages(&call, request, &response).ok());
    EXPECT_TRUE(Eventually([&] { return server.Statistics().pages().hosts() == 0; }));
  }
  server.UpsertMany(3, 3);
  server.Restart();
  EXPECT_EQ(server.Statistics().pages().hosts(), 3u);
}

}  // namespace
}  // namespace freshet
