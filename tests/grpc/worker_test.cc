// Tests workers that have closed their side, and workers that never answer again.
#include <string>
#include <vector>

#include "tests/grpc/test_server.h"
#include "tests/grpc/test_worker.h"

namespace freshet {
namespace {

using testing::HasSubstr;

// --- The usual style in Python: an iterator of requests that ends

struct Heard {
  size_t assignments = 0;
  grpc::Status status;
};

// Says hello, grants credit and closes its side.
auto HalfClosed(TestServer& server, grpc::ClientContext* call, uint32_t credit) {
  auto stream = server.scheduler->Crawl(call);
  v1::CrawlRequest request;
  request.mutable_hello()->set_worker("iterator");
  EXPECT_TRUE(stream->Write(request));
  if (credit > 0) {
    request.mutable_credit()->set_assignments(credit);
    EXPECT_TRUE(stream->Write(request));
  }
  stream->WritesDone();
  return stream;
}

// Like HalfClosed(), but also reads until the end of the stream.
Heard HearAll(TestServer& server, uint32_t credit) {
  grpc::ClientContext call;
  const auto stream = HalfClosed(server, &call, credit);
  Heard heard;
  v1::CrawlResponse response;
  while (stream->Read(&response)) {
    heard.assignments += static_cast<size_t>(response.assignments().assignments_size());
  }
  heard.status = stream->Finish();
  return heard;
}

TEST(HalfClosedCrawl, GetsWhatItsCreditAllowsAndOk) {
  TestServer server;
  server.UpsertMany(30);
  const Heard heard = HearAll(server, 20);
  EXPECT_EQ(heard.assignments, 20u);
  EXPECT_TRUE(heard.status.ok()) << heard.status.error_message();
  // The leases of these pages stay open as usual, although the worker is gone.
  EXPECT_EQ(server.Statistics().schedule().open_leases(), 20u);
  EXPECT_EQ(server.Statistics().server().workers(), 0u);
}

TEST(HalfClosedCrawl, WithoutCreditEndsAtOnce) {
  TestServer server;
  server.UpsertMany(3);
  const Heard heard = HearAll(server, 0);
  EXPECT_EQ(heard.assignments, 0u);
  EXPECT_TRUE(heard.status.ok());
}

TEST(HalfClosedCrawl, EndsWithAReasonWhenNoPageBecomesDue) {
  TestServer server([](ServerConfig* config) { config->half_closed_wait = Duration::Millis(300); });
  server.UpsertMany(5);
  const Heard heard = HearAll(server, 20);
  EXPECT_EQ(heard.assignments, 5u);
  EXPECT_EQ(heard.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(heard.status.error_message(),
            "credit is left, but no page became due for 0.3 s: call again later");
  EXPECT_TRUE(Eventually([&] { return server.Statistics().server().workers() == 0; }));
}

TEST(HalfClosedCrawl, EndsWithAReasonWhilePaused) {
  TestServer server([](ServerConfig* config) { config->half_closed_wait = Duration::Millis(100); });
  server.UpsertMany(5);
  grpc::ClientContext call;
  v1::PauseResponse paused;
  ASSERT_TRUE(server.admin->Pause(&call, {}, &paused).ok());
  const Heard heard = HearAll(server, 1);
  EXPECT_EQ(heard.assignments, 0u);
  EXPECT_THAT(heard.status.error_message(), HasSubstr("assignments are paused"));
}

TEST(HalfClosedCrawl, ThatIsCancelledLeavesNothingBehind) {
  TestServer server([](ServerConfig* config) { config->half_closed_wait = Duration::Hours(1); });
  {
    grpc::ClientContext call;
    const auto stream = HalfClosed(server, &call, 5);
    v1::CrawlResponse welcome;
    ASSERT_TRUE(stream->Read(&welcome));
    call.TryCancel();
    (void)stream->Finish();
  }
  EXPECT_TRUE(Eventually([&] { return server.Statistics().server().workers() == 0; }));
  // Pages added now go to other workers.
  server.UpsertMany(1);
  EXPECT_EQ(server.Next(1).assignments_size(), 1);
}

TEST(HalfClosedCrawl, DoesNotHoldUpAStop) {
  TestServer server([](ServerConfig* config) { config->half_closed_wait = Duration::Hours(1); });
  grpc::ClientContext call;
  const auto stream = HalfClosed(server, &call, 5);
  v1::CrawlResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_TRUE(server.Stop().ok());
  while (stream->Read(&response)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

// --- Limits of a silent worker

v1::CrawlRequest ResultOf(const v1::Assignment& assignment) {
  v1::CrawlRequest request;
  v1::CrawlResult* result = request.mutable_results()->add_results();
  result->set_lease_id(assignment.lease_id());
  result->set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  return request;
}

TEST(Allowance, BoundsWhatASilentWorkerHolds) {
  TestServer server([](ServerConfig* config) { config->max_open_leases = 8; });
  server.UpsertMany(100);
  TestWorker silent(server, "silent");
  silent.Grant(100);
  const std::vector<v1::Assignment> held = silent.ReadAssignments(8);
  ASSERT_EQ(held.size(), 8u);
  EXPECT_TRUE(Eventually([&] { return server.Statistics().server().workers_at_allowance() == 1; }));
  EXPECT_EQ(server.Statistics().schedule().open_leases(), 8u);
  // The other pages are for workers that answer.
  TestWorker other(server, "other");
  other.Grant(5);
  EXPECT_EQ(other.ReadAssignments(5).size(), 5u);
  // One result frees a place for one page.
  ASSERT_TRUE(silent.Write(ResultOf(held[0])));
  EXPECT_EQ(silent.ReadAssignments(1).size(), 1u);
  EXPECT_TRUE(Eventually([&] { return server.Statistics().server().workers_at_allowance() == 1; }));
  silent.Cancel();
  other.Cancel();
}

TEST(Allowance, IsHalvedWhenLeasesRunOutAndGrowsWithResults) {
  TestServer server([](ServerConfig* config) {
    config->default_lease = Duration::Seconds(1);
    config->max_open_leases = 16;
  });
  server.UpsertMany(200, 200);
  TestWorker worker(server, "sleepy");
  worker.Grant(16);
  ASSERT_EQ(worker.ReadAssignments(16).size(), 16u);
  // Each expiry halves the worker's allowance, and the server tells this to the worker.
  std::vector<uint32_t> told;
  while (worker.open() && (told.empty() || told.back() > 1)) {
    const v1::CrawlResponse response = worker.Read();
    if (response.notice().kind() != v1::NOTICE_KIND_ALLOWANCE) continue;
    told.push_back(response.notice().max_open_leases());
    EXPECT_THAT(response.notice().text(), HasSubstr("ran out without a result"));
  }
  ASSERT_FALSE(told.empty());
  EXPECT_LE(told.front(), 8u);
  EXPECT_EQ(server.Statistics().server().reduced_allowances(), 1u);
  EXPECT_TRUE(Eventually([&] { return server.Statistics().schedule().expired_leases() == 16; }));
  // The worker answers again, and its allowance grows from one page to the maximum.
  worker.Grant(1000);
  bool whole = false;
  while (worker.open() && !whole) {
    const v1::CrawlResponse response = worker.Read();
    for (const v1::Assignment& assignment : response.assignments().assignments()) {
      worker.Write(ResultOf(assignment));
    }
    whole = response.notice().max_open_leases() == 16;
  }
  EXPECT_TRUE(Eventually([&] { return server.Statistics().server().reduced_allowances() == 0; }));
  worker.Cancel();
}

TEST(Allowance, NextSaysThatItIsUsedUp) {
  TestServer server([](ServerConfig* config) {
    config->max_open_leases = 3;
    config->max_newcomer_leases = 13;
  });
  server.UpsertMany(50);
  const auto next = [&](const std::string& worker, uint32_t most) {
    v1::NextRequest request;
    request.set_worker(worker);
    request.set_max_assignments(most);
    request.mutable_max_wait()->set_nanos(200'000'000);
    v1::NextResponse response;
    grpc::ClientContext call;
    EXPECT_TRUE(server.scheduler->Next(&call, request, &response).ok());
    return response;
  };
  std::vector<v1::Assignment> held;
  while (held.size() < 3) {
    const v1::NextResponse some = next("a", 3);
    held.insert(held.end(), some.assignments().begin(), some.assignments().end());
  }
  v1::NextResponse none = next("a", 1);
  EXPECT_EQ(none.assignments_size(), 0);
  EXPECT_EQ(none.allowance().max_open_leases(), 3u);
  EXPECT_EQ(none.allowance().open_leases(), 3u);
  EXPECT_FALSE(none.allowance().newcomers());
  // All new names from the same address get two more leases in total.
  EXPECT_EQ(next("b", 1).assignments_size(), 1);
  EXPECT_FALSE(next("c", 1).has_allowance());
  none = next("d", 1);
  EXPECT_EQ(none.assignments_size(), 0);
  EXPECT_EQ(none.allowance().max_open_leases(), 5u);
  EXPECT_EQ(none.allowance().open_leases(), 5u);
  EXPECT_TRUE(none.allowance().newcomers());
  // A result frees a place for its worker and for newcomers.
  v1::CrawlResult result;
  result.set_lease_id(held[0].lease_id());
  result.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  EXPECT_EQ(server.Report(result).statuses_size(), 0);
  EXPECT_EQ(next("a", 1).assignments_size(), 1);
  // A result by URL also frees a place.
  v1::CrawlResult by_url;
  by_url.set_url(held[1].url());
  by_url.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  EXPECT_EQ(server.Report(by_url).statuses_size(), 0);
  EXPECT_EQ(next("a", 1).assignments_size(), 1);
  EXPECT_EQ(next("d", 1).assignments_size(), 1);
}

TEST(Allowance, AResultByUrlProvesItsWorker) {
  TestServer server([](ServerConfig* config) { config->max_newcomer_leases = 2; });
  server.UpsertMany(5);
  const auto next = [&] {
    v1::NextRequest request;
    request.set_worker("a");
    request.mutable_max_wait()->set_nanos(500'000'000);
    v1::NextResponse response;
    grpc::ClientContext call;
    EXPECT_TRUE(server.scheduler->Next(&call, request, &response).ok());
    return response;
  };
  const v1::NextResponse first = next();
  ASSERT_EQ(first.assignments_size(), 1);
  EXPECT_TRUE(next().allowance().newcomers()) << "one at a time, until it has answered";
  v1::CrawlResult by_url;
  by_url.set_url(first.assignments(0).url());
  by_url.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  EXPECT_EQ(server.Report(by_url).statuses_size(), 0);
  EXPECT_EQ(next().assignments_size(), 1);
  EXPECT_EQ(next().assignments_size(), 1);
}

}  // namespace
}  // namespace freshet
