// Tests assignments on streams and by unary calls, and the reports of workers.
#include <algorithm>
#include <set>

#include "tests/grpc/test_server.h"
#include "tests/grpc/test_worker.h"

namespace freshet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

v1::CrawlRequest Results(const std::vector<v1::Assignment>& assignments, v1::CrawlOutcome outcome,
                         uint64_t sequence) {
  v1::CrawlRequest request;
  request.mutable_results()->set_sequence(sequence);
  for (const v1::Assignment& assignment : assignments) {
    v1::CrawlResult* result = request.mutable_results()->add_results();
    result->set_lease_id(assignment.lease_id());
    result->set_outcome(outcome);
  }
  return request;
}

TEST(Scheduler, StreamsAssignmentsAndTakesResults) {
  TestServer server;
  server.UpsertMany(20);
  TestWorker worker(server);
  worker.Grant(20);
  const std::vector<v1::Assignment> assignments = worker.ReadAssignments(20);
  std::set<std::string> urls;
  std::set<uint64_t> leases;
  for (const v1::Assignment& assignment : assignments) {
    urls.insert(assignment.url());
    leases.insert(assignment.lease_id());
    EXPECT_EQ(assignment.crawl_id(), "DEFAULT");
    EXPECT_GT(assignment.deadline().seconds(), assignment.last_crawl_time().seconds());
    EXPECT_FALSE(assignment.has_last_crawl_time());
    EXPECT_GT(assignment.expected_value(), 0);
    EXPECT_EQ(assignment.importance(), 1);
  }
  EXPECT_EQ(urls.size(), 20u);
  EXPECT_EQ(leases.size(), 20u);
  ASSERT_TRUE(worker.Write(Results(assignments, v1::CRAWL_OUTCOME_CHANGED, 9)));
  v1::BatchAck ack = worker.Read().result_ack();
  EXPECT_EQ(ack.sequence(), 9u);
  EXPECT_EQ(ack.item_count(), 20u);
  EXPECT_EQ(ack.statuses_size(), 0);
  // A repeated result counts once.
  ASSERT_TRUE(worker.Write(Results({assignments[0]}, v1::CRAWL_OUTCOME_CHANGED, 10)));
  ack = worker.Read().result_ack();
  EXPECT_EQ(ack.sequence(), 10u);
  EXPECT_THAT(Described(ack), ElementsAre("0 DUPLICATE"));
  EXPECT_TRUE(worker.End().ok());
  const v1::GetStatisticsResponse statistics = server.Statistics();
  EXPECT_EQ(statistics.schedule().assignments(), 20u);
  EXPECT_EQ(statistics.schedule().open_leases(), 0u);
  EXPECT_EQ(statistics.ingest().results_changed(), 20u);
}

TEST(Scheduler, GivesBackTheValidatorsOfTheLastCrawl) {
  TestServer server;
  server.UpsertMany(1);
  v1::CrawlResult result;
  result.set_url(TestServer::Url(0));
  result.set_content_digest("12345678");
  result.set_etag("\"tag\"");
  result.mutable_last_modified()->set_seconds(1'000'000'000);
  ToProto(server.clock.Now() - Duration::Seconds(9), result.mutable_fetch_time());
  EXPECT_EQ(server.Report(result).statuses_size(), 0);
  const v1::NextResponse next = server.Next(1);
  ASSERT_EQ(next.assignments_size(), 1);
  EXPECT_EQ(next.assignments(0).etag(), "\"tag\"");
  EXPECT_EQ(next.assignments(0).content_digest(), "12345678");
  EXPECT_EQ(next.assignments(0).last_modified().seconds(), 1'000'000'000);
  EXPECT_EQ(next.assignments(0).last_crawl_time().seconds(), result.fetch_time().seconds());
}

TEST(Scheduler, UsesNoMoreThanTheCredit) {
  TestServer server([](ServerConfig* config) { config->crawl_rate = Rate::PerSecond(2000); });
  server.UpsertMany(100);
  TestWorker worker(server);
  worker.Grant(7);
  EXPECT_EQ(worker.ReadAssignments(7).size(), 7u);
  // If the server reserved pages beyond the credit, one of these counts would show it.
  ASSERT_TRUE(
      Eventually([&] { return server.Statistics().schedule().ticks_without_credit() > 100; }));
  EXPECT_EQ(server.Statistics().schedule().assignments(), 7u);
  EXPECT_EQ(server.Statistics().schedule().open_leases(), 7u);
  EXPECT_EQ(server.Statistics().server().worker_credit(), 0u);
  worker.Cancel();
}

TEST(Scheduler, ServesWorkersInTurn) {
  TestServer server([](ServerConfig* config) { config->crawl_rate = Rate::PerSecond(1000); });
  server.UpsertMany(300);
  TestWorker first(server, "first");
  TestWorker second(server, "second");
  TestWorker third(server, "third");
  for (TestWorker* worker : {&first, &second, &third}) worker->Grant(100);
  // The sum of all credit is the number of pages. Each worker gets as many pages as it has credit
  // for.
  for (TestWorker* worker : {&first, &second, &third}) {
    EXPECT_EQ(worker->ReadAssignments(100).size(), 100u);
  }
  EXPECT_EQ(server.Statistics().schedule().assignments(), 300u);
}

TEST(Scheduler, TakesLeasesBack) {
  TestServer server;
  server.UpsertMany(1);
  TestWorker worker(server);
  worker.Grant(1);
  const std::vector<v1::Assignment> first = worker.ReadAssignments(1);
  v1::CrawlRequest request;
  request.mutable_returned_leases()->set_sequence(3);
  request.mutable_returned_leases()->add_lease_ids(first[0].lease_id());
  request.mutable_returned_leases()->add_lease_ids(first[0].lease_id());
  request.mutable_returned_leases()->add_lease_ids(0);
  ASSERT_TRUE(worker.Write(request));
  const v1::BatchAck ack = worker.Read().return_ack();
  EXPECT_EQ(ack.sequence(), 3u);
  EXPECT_THAT(
      Described(ack),
      ElementsAre("1 DUPLICATE", "2 REFUSED INVALID_ARGUMENT lease_ids: a lease id is never 0"));
  worker.Grant(1);
  const std::vector<v1::Assignment> again = worker.ReadAssignments(1);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].url(), first[0].url());
  EXPECT_GT(again[0].lease_id(), first[0].lease_id());
  worker.Cancel();
}

TEST(Scheduler, PutsAPageBackWhenItsLeaseEnds) {
  TestServer server([](ServerConfig* config) { config->lease_backoff = Duration::Millis(1); });
  server.UpsertMany(1);
  v1::NextRequest request;
  request.mutable_lease_duration()->set_seconds(1);
  v1::NextResponse response;
  grpc::ClientContext call;
  ASSERT_TRUE(server.scheduler->Next(&call, request, &response).ok());
  ASSERT_EQ(response.assignments_size(), 1);
  const v1::NextResponse again = server.Next(1, 10'000);
  ASSERT_EQ(again.assignments_size(), 1);
  EXPECT_EQ(again.assignments(0).url(), response.assignments(0).url());
  EXPECT_EQ(server.Statistics().schedule().expired_leases(), 1u);
  // A report of the first worker is now only an observation.
  v1::CrawlResult late;
  late.set_url(TestServer::Url(0));
  late.set_lease_id(response.assignments(0).lease_id());
  late.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  late.clear_url();
  EXPECT_THAT(Described(server.Report(late)), ElementsAre("0 OBSERVED_ONLY"));
  EXPECT_THAT(Described(server.Report(late)), ElementsAre("0 DUPLICATE"));
  EXPECT_EQ(server.Get(TestServer::Url(0)).page().lease().lease_id(),
            again.assignments(0).lease_id());
}

TEST(Scheduler, AWorkerThatDiesLosesNothing) {
  TestServer server;
  server.UpsertMany(30);
  std::vector<v1::Assignment> held;
  {
    TestWorker worker(server);
    worker.Grant(30);
    held = worker.ReadAssignments(10);
    // The worker disconnects while its results and further assignments are in flight.
    ASSERT_TRUE(worker.Write(Results(held, v1::CRAWL_OUTCOME_CHANGED, 1)));
    worker.Cancel();
  }
  // Assignments that the worker never received are free again. Pages that it has stay leased until
  // their deadline.
  ASSERT_TRUE(Eventually([&] {
    const v1::GetStatisticsResponse now = server.Statistics();
    return now.server().workers() == 0 && now.schedule().open_leases() <= 10;
  }));
  std::set<uint64_t> taken;
  for (const v1::Assignment& assignment : held) {
    v1::CrawlResult again;
    again.set_lease_id(assignment.lease_id());
    again.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
    const v1::BatchAck ack = server.Report(again);
    const bool before = ack.statuses_size() == 1;
    if (before) {
      EXPECT_EQ(ack.statuses(0).outcome(), v1::ITEM_OUTCOME_DUPLICATE);
    }
    EXPECT_EQ(server.Get(assignment.url()).page().crawls(), 1u) << assignment.url();
    taken.insert(assignment.lease_id());
  }
  EXPECT_EQ(server.Statistics().ingest().results_changed(), 10u);
  TestWorker next(server, "next");
  next.Grant(20);
  for (const v1::Assignment& assignment : next.ReadAssignments(20)) {
    EXPECT_TRUE(taken.insert(assignment.lease_id()).second) << "a fencing token given twice";
  }
  next.Cancel();
}

TEST(Scheduler, AnswersWhatAWorkerDoesWrongAndGoesOn) {
  TestServer server;
  server.UpsertMany(2);
  grpc::ClientContext call;
  const auto stream = server.scheduler->Crawl(&call);
  v1::CrawlResponse response;
  const auto refusal = [&](const v1::CrawlRequest& request) {
    EXPECT_TRUE(stream->Write(request));
    EXPECT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.notice().kind(), v1::NOTICE_KIND_REFUSED) << response.DebugString();
    const v1::ItemError& error = response.notice().error();
    return v1::ErrorCode_Name(error.code()) + " " + error.field() + ": " + error.reason();
  };
  EXPECT_EQ(refusal({}), "ERROR_CODE_INVALID_ARGUMENT message: is unset");
  v1::CrawlRequest credit;
  credit.mutable_credit()->set_assignments(1);
  EXPECT_THAT(refusal(credit), HasSubstr("FAILED_PRECONDITION hello: the first message"));
  v1::CrawlRequest results = Results({v1::Assignment()}, v1::CRAWL_OUTCOME_CHANGED, 4);
  ASSERT_TRUE(stream->Write(results));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.result_ack().sequence(), 4u);
  EXPECT_EQ(response.result_ack().error().code(), v1::ERROR_CODE_FAILED_PRECONDITION);
  v1::CrawlRequest hello;
  hello.mutable_hello()->set_worker("");
  EXPECT_EQ(refusal(hello), "ERROR_CODE_INVALID_ARGUMENT worker: is empty");
  hello.mutable_hello()->set_worker("\xff");
  EXPECT_EQ(refusal(hello), "ERROR_CODE_INVALID_ARGUMENT worker: is not valid UTF-8");
  hello.mutable_hello()->set_worker(std::string(129, 'w'));
  EXPECT_THAT(refusal(hello), HasSubstr("worker: 129 bytes"));
  hello.mutable_hello()->set_worker("w");
  hello.mutable_hello()->mutable_lease_duration()->set_seconds(1'000'000);
  EXPECT_THAT(refusal(hello),
              HasSubstr("lease_duration: 1000000 s is out of range: it must be from 1 s to"));
  hello.mutable_hello()->mutable_lease_duration()->set_seconds(7);
  ASSERT_TRUE(stream->Write(hello));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.notice().kind(), v1::NOTICE_KIND_WELCOME);
  EXPECT_EQ(response.notice().lease_duration().seconds(), 7);
  EXPECT_THAT(refusal(hello), HasSubstr("FAILED_PRECONDITION hello: "));
  v1::CrawlRequest nothing;
  nothing.mutable_credit();
  EXPECT_EQ(refusal(nothing), "ERROR_CODE_INVALID_ARGUMENT assignments: is 0");

  // Bad results affect neither other results nor later assignments.
  v1::CrawlRequest bad;
  bad.mutable_results()->add_results()->set_url("http://a.test/\x80");
  v1::CrawlResult* unknown = bad.mutable_results()->add_results();
  unknown->set_lease_id(42);
  unknown->set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  ASSERT_TRUE(stream->Write(bad));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_THAT(Described(response.result_ack()),
              ElementsAre("0 REFUSED INVALID_ARGUMENT url: is not valid UTF-8",
                          "1 REFUSED UNKNOWN_LEASE lease_id: 42 was never issued"));
  ASSERT_TRUE(stream->Write(credit));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.assignments().assignments_size(), 1);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST(Scheduler, NextGivesSeveralAndWaitsNoLongerThanAsked) {
  TestServer server([](ServerConfig* config) { config->crawl_rate = Rate::PerSecond(2000); });
  server.UpsertMany(50);
  std::set<std::string> urls;
  while (urls.size() < 50) {
    const v1::NextResponse next = server.Next(20);
    ASSERT_GT(next.assignments_size(), 0);
    ASSERT_LE(next.assignments_size(), 20);
    for (const v1::Assignment& assignment : next.assignments()) urls.insert(assignment.url());
  }
  const Instant start = server.clock.Now();
  EXPECT_EQ(server.Next(1, 100).assignments_size(), 0);
  EXPECT_GE(server.clock.Now() - start, Duration::Millis(100));
  EXPECT_EQ(server.Statistics().schedule().open_leases(), 50u);
}

TEST(Scheduler, NextRefusesBadRequests) {
  TestServer server;
  const auto code = [&](const v1::NextRequest& request) {
    grpc::ClientContext call;
    v1::NextResponse response;
    return server.scheduler->Next(&call, request, &response).error_code();
  };
  v1::NextRequest request;
  request.set_max_assignments(0);
  EXPECT_EQ(code(request), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_max_assignments(1001);
  EXPECT_EQ(code(request), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_max_assignments(1);
  request.mutable_max_wait()->set_seconds(61);
  EXPECT_EQ(code(request), grpc::StatusCode::INVALID_ARGUMENT);
  request.clear_max_wait();
  request.mutable_lease_duration()->set_nanos(1);
  EXPECT_EQ(code(request), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST(Scheduler, ReturnsWhatDidNotReachAWorker) {
  TestServer server([](ServerConfig* config) { config->crawl_rate = Rate::PerSecond(500); });
  server.UpsertMany(200);
  for (int round = 0; round < 5; ++round) {
    TestWorker worker(server);
    worker.Grant(100);
    (void)worker.ReadAssignments(3);
    worker.Cancel();
  }
  // After all workers have disconnected, only assignments that were sent on a stream are still
  // leased.
  ASSERT_TRUE(Eventually([&] {
    const v1::GetStatisticsResponse statistics = server.Statistics();
    return statistics.server().workers() == 0 &&
           statistics.schedule().open_leases() <= statistics.schedule().assignments();
  }));
  EXPECT_LT(server.Statistics().schedule().open_leases(), 200u);
}

// Assignments that wait for a worker that does not read are given to other workers before their
// leases end.
TEST(Scheduler, TakesBackWhatWaitsForAWorkerThatDoesNotRead) {
  constexpr int kPages = 4000;
  TestServer server([](ServerConfig* config) {
    config->crawl_rate = Rate::PerSecond(5000);
    config->default_lease = Duration::Seconds(2);
  });
  for (int i = 0; i < kPages;) {
    v1::UpsertPagesRequest request;
    // These are more bytes than all buffers on the way can hold.
    for (const int end = i + 500; i < end; ++i) {
      request.add_pages()->set_url(TestServer::Url(i) + "?" + std::string(1900, 'x'));
    }
    EXPECT_EQ(server.Upsert(request).statuses_size(), 0);
  }
  TestWorker worker(server);
  worker.Grant(kPages);
  EXPECT_TRUE(Eventually([&] { return server.Statistics().schedule().returned_leases() > 0; }));
  worker.Cancel();
}

TEST(Scheduler, PausesAndResumes) {
  TestServer server;
  server.UpsertMany(10);
  TestWorker worker(server);
  v1::PauseRequest pause;
  pause.set_reason("maintenance");
  v1::PauseResponse paused;
  grpc::ClientContext pause_call;
  ASSERT_TRUE(server.admin->Pause(&pause_call, pause, &paused).ok());
  EXPECT_FALSE(paused.was_paused());
  EXPECT_EQ(worker.Read().notice().kind(), v1::NOTICE_KIND_PAUSED);
  worker.Grant(5);
  v1::NextResponse next = server.Next(1, 60);
  EXPECT_EQ(next.assignments_size(), 0);
  EXPECT_EQ(next.retry_after().seconds(), 1);
  EXPECT_EQ(server.Statistics().schedule().pause_reason(), "maintenance");
  EXPECT_EQ(server.Statistics().schedule().open_leases(), 0u);

  v1::ResumeResponse resumed;
  grpc::ClientContext resume_call;
  ASSERT_TRUE(server.admin->Resume(&resume_call, {}, &resumed).ok());
  EXPECT_TRUE(resumed.was_paused());
  EXPECT_EQ(worker.Read().notice().kind(), v1::NOTICE_KIND_RESUMED);
  EXPECT_EQ(worker.ReadAssignments(5).size(), 5u);
  EXPECT_FALSE(server.Statistics().schedule().paused());
}

TEST(Scheduler, TakesTheDearestOverAllShards) {
  TestServer server([](ServerConfig* config) {
    config->shards = 3;
    config->crawl_rate = Rate::PerSecond(500);
  });
  v1::UpsertPagesRequest request;
  for (int i = 1; i <= 60; ++i) {
    v1::PageSpec* page = request.add_pages();
    page->set_url("http://host" + std::to_string(i) + ".test/");
    page->set_importance(i * 7919 % 61);
  }
  EXPECT_EQ(server.Upsert(request).statuses_size(), 0);
  std::vector<double> importance;
  TestWorker worker(server);
  worker.Grant(30);
  for (const v1::Assignment& assignment : worker.ReadAssignments(30)) {
    importance.push_back(assignment.importance());
  }
  // The value of a page that was never crawled is its importance over its change rate, at any time.
  EXPECT_TRUE(std::is_sorted(importance.rbegin(), importance.rend()));
  EXPECT_EQ(importance.front(), 60);
  EXPECT_EQ(importance.back(), 31);
  worker.Cancel();
}

TEST(Scheduler, KeepsToThePolitenessOfHosts) {
  TestServer server([](ServerConfig* config) { config->politeness.max_in_flight = 2; });
  server.UpsertMany(30, 3);
  TestWorker worker(server);
  worker.Grant(30);
  const std::vector<v1::Assignment> first = worker.ReadAssignments(6);
  ASSERT_TRUE(Eventually([&] { return server.Statistics().schedule().ticks_without_page() > 5; }));
  EXPECT_EQ(server.Statistics().schedule().open_leases(), 6u);
  ASSERT_TRUE(worker.Write(Results({first[0]}, v1::CRAWL_OUTCOME_UNCHANGED, 1)));
  const std::vector<v1::Assignment> next = worker.ReadAssignments(1);
  ASSERT_EQ(next.size(), 1u);
  const auto host = [](const v1::Assignment& a) { return a.url().substr(0, a.url().rfind('/')); };
  EXPECT_EQ(host(next[0]), host(first[0]));
  worker.Cancel();
}

TEST(Next, ACallWithoutANameIsNamedByItsAddress) {
  TestServer server;
  server.UpsertMany(1);
  v1::NextRequest request;
  ToProto(Duration::Seconds(10), request.mutable_max_wait());
  v1::NextResponse response;
  grpc::ClientContext call;
  ASSERT_TRUE(server.scheduler->Next(&call, request, &response).ok());
  ASSERT_EQ(response.assignments_size(), 1);
  // The client's address is shown without its port, which is different for each connection.
  EXPECT_EQ(server.Get(TestServer::Url(0)).page().lease().worker(), "ipv4:127.0.0.1");
}

}  // namespace
}  // namespace freshet
