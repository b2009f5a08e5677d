// Tests workers of a fleet: each is connected to one server and gets pages of all divisions.
#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/url.h"
#include "core/fleet/slot_division.h"
#include "core/schedule/leases.h"
#include "server/api/to_proto.h"
#include "server/auth/identities.h"
#include "tests/grpc/cluster_servers.h"
#include "tests/grpc/test_worker.h"
#include "tests/support/ahead_of_clock.h"

namespace freshet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class FleetWorkersTest : public ClusterServers {
 protected:
  FleetWorkersTest() { MakeFleetTopics(); }

  static uint32_t DivisionOf(const v1::Assignment& assignment) {
    return SlotDivision{.divisions = 2, .division = 0}.Of(
        SlotOfLease(LeaseId(assignment.lease_id())));
  }
  static void SetRate(TestServer& server, double rate) {
    v1::SetCrawlRateRequest request;
    request.set_crawl_rate_per_second(rate);
    (void)CallOf(server, &Admin::SetCrawlRate, request);
  }
  // Sends `request` and returns its acknowledgement. Adds assignments that come before the
  // acknowledgement to `taken`.
  static v1::BatchAck Exchange(TestWorker& worker, const v1::CrawlRequest& request,
                               std::vector<v1::Assignment>* taken) {
    EXPECT_TRUE(worker.Write(request));
    while (worker.open()) {
      v1::CrawlResponse response = worker.Read();
      for (const auto& its : response.assignments().assignments()) taken->push_back(its);
      if (response.has_result_ack()) return response.result_ack();
      if (response.has_return_ack()) return response.return_ack();
    }
    ADD_FAILURE() << "the stream has ended";
    return {};
  }
  static v1::BatchAck Report(TestWorker& worker, const std::vector<v1::Assignment>& leased,
                             Instant at, std::vector<v1::Assignment>* taken) {
    v1::CrawlRequest request;
    for (const v1::Assignment& assignment : leased) {
      v1::CrawlResult& result = *request.mutable_results()->add_results();
      result.set_lease_id(assignment.lease_id());
      result.set_outcome(v1::CRAWL_OUTCOME_UNCHANGED);
      ToProto(at, result.mutable_fetch_time());
    }
    return Exchange(worker, request, taken);
  }
};

TEST_F(FleetWorkersTest, TakePagesOfAllDivisionsByOneStream) {
  TestServer first(InCluster(/*divisions=*/2, /*division=*/0));
  TestServer second(InCluster(/*divisions=*/2, /*division=*/1));
  SetRate(first, 100);
  v1::UpsertPagesRequest upsert;
  for (int i = 0; i < 400; ++i) upsert.add_pages()->set_url(TestServer::Url(i, 200));
  ASSERT_THAT(Described(first.Upsert(upsert)), IsEmpty());
  TestWorker worker(first);
  worker.Grant(100);
  std::map<uint32_t, size_t> of_division;
  std::set<std::string> urls;
  std::vector<v1::Assignment> taken;
  while (worker.open() && (of_division[0] < 20 || of_division[1] < 20)) {
    if (taken.empty()) taken = worker.ReadAssignments(1);
    const std::vector<v1::Assignment> leased = std::exchange(taken, {});
    for (const v1::Assignment& assignment : leased) {
      ++of_division[DivisionOf(assignment)];
      urls.insert(assignment.url());
    }
    EXPECT_THAT(Described(Report(worker, leased, first.clock.Now(), &taken)), IsEmpty());
    worker.Grant(static_cast<uint32_t>(leased.size()));
  }
  for (const std::string& url : urls)
    EXPECT_TRUE(second.Get(url).page().has_last_crawl_time()) << url;
  EXPECT_THAT(Probe(first.info.http_address, "/metrics"),
              testing::Not(HasSubstr("freshet_cluster_assignments_elsewhere_total{cluster="
                                     "\"mock-0-of-2\"} 0\n")));

  // Returned leases reach their divisions, and only the worker's open leases remain.
  while (worker.open() && taken.size() < 4) {
    for (v1::Assignment& its : worker.ReadAssignments(1)) taken.push_back(std::move(its));
  }
  v1::CrawlRequest returned;
  for (const v1::Assignment& its : taken) {
    returned.mutable_returned_leases()->add_lease_ids(its.lease_id());
  }
  const std::vector<v1::Assignment> given_back = std::exchange(taken, {});
  // These two messages are for different divisions, and do not wait for each other.
  v1::CrawlRequest last;
  last.mutable_returned_leases()->add_lease_ids(returned.returned_leases().lease_ids(0));
  returned.mutable_returned_leases()->mutable_lease_ids()->erase(
      returned.returned_leases().lease_ids().begin());
  EXPECT_TRUE(worker.Write(last));
  EXPECT_THAT(Described(Exchange(worker, returned, &taken)), IsEmpty());
  EXPECT_THAT(Described(Exchange(worker, last, &taken)), IsEmpty()) << "of the other";
  for (const v1::CrawlRequest& again : {returned, last}) {
    const v1::BatchAck ack = Exchange(worker, again, &taken);
    for (const std::string& line : Described(ack)) EXPECT_THAT(line, HasSubstr("DUPLICATE"));
  }
}

// The clock jumps, as if the process had been suspended. Meanwhile, assignments of the other
// division have waited for more than half of their leases.
TEST_F(FleetWorkersTest, AreGivenNothingOfAnotherDivisionWhoseLeaseIsHalfOver) {
  AheadOfClock clock;
  TestServer first(InCluster(/*divisions=*/2, /*division=*/0), nullptr, &clock);
  TestServer second(InCluster(/*divisions=*/2, /*division=*/1));
  SetRate(first, 50);
  TestWorker worker(first);
  worker.Grant(4);
  v1::UpsertPagesRequest upsert;
  for (int i = 0; upsert.pages_size() < 2; ++i) {
    const std::string url = TestServer::Url(i, 100);
    const SlotDivision slots{.divisions = 2, .division = 1};
    if (slots.Has(SlotOfHost(Canonicalise(url)->host))) upsert.add_pages()->set_url(url);
  }
  const v1::PageSpec late = upsert.pages(1);
  upsert.mutable_pages()->RemoveLast();
  ASSERT_THAT(Described(second.Upsert(upsert)), IsEmpty());
  ASSERT_THAT(worker.ReadAssignments(1), testing::SizeIs(1));
  clock.Advance(first.config.default_lease.get());
  *upsert.mutable_pages(0) = late;
  ASSERT_THAT(Described(second.Upsert(upsert)), IsEmpty());
  // The server gives up the call that is in flight at the jump in any case, so one returned lease
  // would prove nothing.
  EXPECT_TRUE(Eventually([&] { return second.Statistics().schedule().returned_leases() >= 2; }));
  worker.Cancel();
}

TEST_F(FleetWorkersTest, ACreditOfOneGoesFromDivisionToDivision) {
  TestServer first(InCluster(/*divisions=*/2, /*division=*/0));
  TestServer second(InCluster(/*divisions=*/2, /*division=*/1));
  SetRate(first, 50);
  // The worker's server has no pages itself.
  int next = 0;
  const auto add_pages = [&](int count, uint32_t division = 1) {
    const SlotDivision slots{.divisions = 2, .division = division};
    v1::UpsertPagesRequest upsert;
    for (; upsert.pages_size() < count; ++next) {
      const std::string url = TestServer::Url(next, 1000);
      const StatusOr<CanonicalUrl> canonical = Canonicalise(url);
      if (slots.Has(SlotOfHost(canonical->host))) upsert.add_pages()->set_url(url);
    }
    ASSERT_THAT(Described(first.Upsert(upsert)), IsEmpty());
  };
  add_pages(5);
  TestWorker worker(first);
  std::vector<v1::Assignment> taken;
  std::set<std::string> urls;
  while (worker.open() && urls.size() < 5) {
    worker.Grant(1);
    if (taken.empty()) taken = worker.ReadAssignments(1);
    const std::vector<v1::Assignment> leased = std::exchange(taken, {});
    ASSERT_EQ(leased.size(), 1U) << "no more than it has credit for";
    EXPECT_EQ(DivisionOf(leased[0]), 1U);
    urls.insert(leased[0].url());
    EXPECT_THAT(Described(Report(worker, leased, first.clock.Now(), &taken)), IsEmpty());
  }
  // The worker disconnects. Assignments that other servers make for the credit of a disconnected
  // worker are returned.
  worker.Cancel();
  const auto metric = [](TestServer& server, const std::string& line) {
    return Probe(server.info.http_address, "/metrics").find("\n" + line) != std::string::npos;
  };
  const std::string none = "freshet_leases_ended_total{reason=\"returned\"} 0\n";
  ASSERT_TRUE(metric(second, none));
  EXPECT_TRUE(Eventually([&] {
    TestWorker gone(first);
    gone.Grant(1);
    EXPECT_TRUE(Eventually([&] { return metric(first, "freshet_worker_credit 0\n"); }));
    gone.Cancel();
    add_pages(1);
    return Eventually([&] { return !metric(second, none); }, Duration::Millis(200));
  }));
  // A worker also gets pages of divisions other than the last one.
  add_pages(200);
  add_pages(200, /*division=*/0);
  std::set<uint32_t> divisions;
  TestWorker next_worker(first);
  while (next_worker.open() && divisions.size() < 2) {
    next_worker.Grant(1);
    if (taken.empty()) taken = next_worker.ReadAssignments(1);
    const std::vector<v1::Assignment> leased = std::exchange(taken, {});
    for (const v1::Assignment& its : leased) divisions.insert(DivisionOf(its));
    EXPECT_THAT(Described(Report(next_worker, leased, first.clock.Now(), &taken)), IsEmpty());
  }
}

// Fleets with identities. `team` may have only pages of the crawl id news, and `all` may have any
// page.
class GuardedFleetTest : public FleetWorkersTest {
 protected:
  GuardedFleetTest() {
    const auto digest = [](const std::string& name) { return HexOf(DigestOf(name + "-token")); };
    std::ofstream(dir_ / "auth.yaml")
        << "identities:\n  - name: team\n    token_sha256: " << digest("team")
        << "\n    roles: [worker]\n    crawl_ids: [news]\n  - name: all\n    token_sha256: "
        << digest("all") << "\n    roles: [worker, admin, ingester]\n";
  }
  TestServer::Tweak Guarded(int divisions, int division) {
    return [this, tweak = InCluster(divisions, division)](ServerConfig* config) {
      tweak(config);
      config->auth_file = dir_ / "auth.yaml";
    };
  }
  static std::unique_ptr<grpc::ClientContext> As(const std::string& name) {
    auto call = std::make_unique<grpc::ClientContext>();
    call->AddMetadata("authorization", "Bearer " + name + "-token");
    return call;
  }

 private:
  const TempDir dir_;
};

// A worker of `team` whose credit the server has received.
class GreedyWorker {
 public:
  GreedyWorker(TestServer& server, std::unique_ptr<grpc::ClientContext> call)
      : call_(std::move(call)), stream_(server.scheduler->Crawl(call_.get())) {
    v1::CrawlRequest request;
    v1::CrawlResponse response;
    request.mutable_hello()->set_worker("greedy");
    EXPECT_TRUE(stream_->Write(request) && stream_->Read(&response));
    request.mutable_credit()->set_assignments(1);
    EXPECT_TRUE(stream_->Write(request));
    request.mutable_returned_leases()->add_lease_ids(1);
    EXPECT_TRUE(stream_->Write(request) && stream_->Read(&response));
    EXPECT_TRUE(response.has_return_ack()) << response.ShortDebugString();
  }
  ~GreedyWorker() {
    call_->TryCancel();
    (void)stream_->Finish();
  }

 private:
  const std::unique_ptr<grpc::ClientContext> call_;
  const std::unique_ptr<grpc::ClientReaderWriter<v1::CrawlRequest, v1::CrawlResponse>> stream_;
};

// A server lends its workers' credit to the other 199 divisions with at most ten calls at a time. A
// call to a division that nobody serves takes 15 s.
TEST_F(GuardedFleetTest, OneClientTakesNotAllCallsByWhichCreditIsLent) {
  constexpr int kDivisions = 200;
  for (const char* of : {"mock-0-of-200", "mock-1-of-200", "mock-rate-of-200"}) {
    kafka_.MakeTopics(of);
  }
  TestServer first(Guarded(kDivisions, /*division=*/0));
  TestServer second(Guarded(kDivisions, /*division=*/1));
  v1::SetCrawlRateRequest rate;
  rate.set_crawl_rate_per_second(200);
  v1::SetCrawlRateResponse set;
  ASSERT_TRUE(first.admin->SetCrawlRate(As("all").get(), rate, &set).ok());
  v1::UpsertPagesRequest upsert;
  const SlotDivision slots{.divisions = kDivisions, .division = 1};
  for (int i = 0; upsert.pages_size() < 20; ++i) {
    const std::string url = TestServer::Url(i, 100'000);
    if (slots.Has(SlotOfHost(Canonicalise(url)->host))) upsert.add_pages()->set_url(url);
  }
  {
    const auto call = As("all");
    const auto stream = second.pages->UpsertPages(call.get());
    v1::UpsertPagesResponse response;
    ASSERT_TRUE(stream->Write(upsert) && stream->Read(&response));
    EXPECT_THAT(Described(response.ack()), IsEmpty());
  }
  // Waits until the second division has a part of the crawl rate.
  ASSERT_TRUE(Eventually([&] {
    v1::NextRequest next;
    next.set_max_assignments(1);
    ToProto(Duration::Seconds(1), next.mutable_max_wait());
    v1::NextResponse response;
    EXPECT_TRUE(second.scheduler->Next(As("all").get(), next, &response).ok());
    return response.assignments_size() > 0;
  }));

  std::vector<std::unique_ptr<GreedyWorker>> greedy;
  for (int i = 0; i < 20; ++i) greedy.push_back(std::make_unique<GreedyWorker>(first, As("team")));
  const auto call = As("all");
  call->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  const auto stream = first.scheduler->Crawl(call.get());
  v1::CrawlRequest request;
  request.mutable_hello()->set_worker("another");
  ASSERT_TRUE(stream->Write(request));
  request.mutable_credit()->set_assignments(kDivisions);
  ASSERT_TRUE(stream->Write(request));
  v1::CrawlResponse response;
  while (response.assignments().assignments_size() == 0 && stream->Read(&response)) {
  }
  ASSERT_GT(response.assignments().assignments_size(), 0);
  call->TryCancel();
  while (stream->Read(&response)) {
  }
  (void)stream->Finish();
}

class LimitedFleetWorkersTest : public GuardedFleetTest {
 protected:
  LimitedFleetWorkersTest()
      : first_(Guarded(/*divisions=*/2, /*division=*/0)),
        second_(Guarded(/*divisions=*/2, /*division=*/1)) {
    v1::SetCrawlRateRequest rate;
    rate.set_crawl_rate_per_second(200);
    v1::SetCrawlRateResponse set;
    EXPECT_TRUE(first_.admin->SetCrawlRate(As("all").get(), rate, &set).ok());
    v1::UpsertPagesRequest upsert;
    for (int i = 0; i < 400; ++i) {
      v1::PageSpec& page = *upsert.add_pages();
      page.set_url(TestServer::Url(i, 200));
      page.set_crawl_id(i % 2 == 0 ? "news" : "others");
    }
    const auto call = As("all");
    const auto stream = first_.pages->UpsertPages(call.get());
    v1::UpsertPagesResponse response;
    EXPECT_TRUE(stream->Write(upsert) && stream->Read(&response));
    EXPECT_THAT(Described(response.ack()), IsEmpty());
  }

  // Leases one page of each crawl id in the second division. The team holds the lease of news.
  std::map<std::string, v1::Assignment> LeaseOfEach() {
    std::map<std::string, v1::Assignment> leased;
    EXPECT_TRUE(Eventually([&] {
      v1::NextRequest next;
      next.set_max_assignments(10);
      ToProto(Duration::Millis(500), next.mutable_max_wait());
      for (const auto& [name, wanted] : {std::pair("team", "news"), std::pair("all", "others")}) {
        v1::NextResponse response;
        EXPECT_TRUE(second_.scheduler->Next(As(name).get(), next, &response).ok());
        for (const v1::Assignment& its : response.assignments()) {
          if (its.crawl_id() == wanted) leased[wanted] = its;
        }
      }
      return leased.size() == 2;
    }));
    for (const auto& [crawl_id, its] : leased) EXPECT_EQ(DivisionOf(its), 1U);
    return leased;
  }
  v1::BatchAck Report(const std::vector<uint64_t>& leases) {
    v1::ReportCrawlsRequest report;
    for (const uint64_t lease : leases) {
      v1::CrawlResult& result = *report.add_results();
      result.set_lease_id(lease);
      result.set_outcome(v1::CRAWL_OUTCOME_UNCHANGED);
    }
    const auto call = As("all");
    const auto stream = first_.ingest->ReportCrawls(call.get());
    v1::ReportCrawlsResponse response;
    EXPECT_TRUE(stream->Write(report) && stream->Read(&response));
    return response.ack();
  }

  TestServer first_;
  TestServer second_;
};

// Each division checks the limits of an identity itself.
TEST_F(LimitedFleetWorkersTest, AreLimitedInAllDivisions) {
  std::map<std::string, v1::Assignment> leased = LeaseOfEach();
  const auto call = As("team");
  call->set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(2));
  const auto stream = first_.scheduler->Crawl(call.get());
  v1::CrawlResponse response;
  v1::CrawlRequest request;
  request.mutable_hello()->set_worker("w");
  ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
  EXPECT_EQ(response.notice().kind(), v1::NOTICE_KIND_WELCOME);
  for (const char* crawl_id : {"news", "others"}) {
    request.mutable_returned_leases()->add_lease_ids(leased[crawl_id].lease_id());
  }
  ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
  EXPECT_THAT(Described(response.return_ack()), ElementsAre(HasSubstr("1 DUPLICATE")))
      << "as if it had been returned before";
  // The lease of news is still open, so its result is accepted. The result for the other lease is
  // late.
  EXPECT_THAT(Described(Report({leased["news"].lease_id(), leased["others"].lease_id()})),
              ElementsAre(StartsWith("0 ")));
  // The worker gets no pages of the other crawl id either.
  std::map<uint32_t, size_t> of_division;
  request.Clear();
  request.mutable_credit()->set_assignments(60);
  ASSERT_TRUE(stream->Write(request));
  while (of_division[0] < 5 || of_division[1] < 5) {
    ASSERT_TRUE(stream->Read(&response));
    for (const v1::Assignment& its : response.assignments().assignments()) {
      ++of_division[DivisionOf(its)];
      EXPECT_EQ(its.crawl_id(), "news");
    }
  }
  call->TryCancel();
  while (stream->Read(&response)) {
  }
  (void)stream->Finish();
}

}  // namespace
}  // namespace freshet
