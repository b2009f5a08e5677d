// Tests the answers and actions of a server that has no disk space to write.
#include <map>
#include <string>

#include "core/base/id_limits.h"
#include "httplib.h"
#include "tests/grpc/raw_stream.h"
#include "tests/grpc/test_server.h"
#include "tests/support/faulty_env.h"

namespace freshet {
namespace {

using testing::HasSubstr;
using testing::Not;

// Fewer bytes than the reserve.
constexpr uint64_t kTooLittle = 1 << 20;

struct NextAnswer {
  grpc::Status status;
  v1::NextResponse response;
  std::string pushback_ms;
};

NextAnswer TryNext(const TestServer& server) {
  NextAnswer answer;
  v1::NextRequest request;
  ToProto(Duration::Millis(50), request.mutable_max_wait());
  grpc::ClientContext call;
  answer.status = server.scheduler->Next(&call, request, &answer.response);
  const auto& trailers = call.GetServerTrailingMetadata();
  if (const auto it = trailers.find("grpc-retry-pushback-ms"); it != trailers.end()) {
    answer.pushback_ms = std::string(it->second.data(), it->second.size());
  }
  return answer;
}

httplib::Result Get(const TestServer& server, const char* path) {
  return httplib::Client("http://" + server.info.http_address).Get(path);
}

// The server refuses changes with a delay, keeps leases open, and answers reads. Once there is
// space, everything works again without a restart.
TEST(FullDisk, RefusesChangesUntilThereIsSpaceAndLosesNothing) {
  FaultyEnv faulty(1);
  TestServer server([](ServerConfig* config) { config->durability = "sync"; }, faulty.env());
  server.UpsertMany(10);
  const v1::NextResponse next = server.Next(1);
  ASSERT_EQ(next.assignments_size(), 1);
  faulty.SetFreeBytes(1 << 20);  // less than the reserve

  v1::UpsertPagesRequest more;
  more.add_pages()->set_url("http://late.test/");
  v1::CrawlResult result;
  result.set_lease_id(next.assignments(0).lease_id());
  result.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  for (const v1::BatchAck& ack : {server.Upsert(more), server.Report(result)}) {
    ASSERT_EQ(ack.statuses_size(), 1);
    const v1::ItemStatus& status = ack.statuses(0);
    EXPECT_EQ(status.error().code(), v1::ERROR_CODE_RESOURCE_EXHAUSTED) << status.DebugString();
    EXPECT_TRUE(status.error().retryable());
    EXPECT_GT(status.error().retry_after().seconds(), 0);
  }
  // A page that was handed out now could be handed out again after a restart, because its lease is
  // not stored.
  EXPECT_EQ(TryNext(server).response.assignments_size(), 0);
  EXPECT_EQ(HealthOf(server), 1);
  EXPECT_EQ(server.Statistics().schedule().open_leases(), 1u);
  EXPECT_EQ(server.Get(next.assignments(0).url()).page().lease().lease_id(),
            next.assignments(0).lease_id());

  faulty.ClearFaults();
  EXPECT_EQ(server.Upsert(more).statuses_size(), 0);
  EXPECT_EQ(server.Report(result).statuses_size(), 0);
  EXPECT_EQ(server.Statistics().schedule().open_leases(), 0u);
  EXPECT_TRUE(Eventually([&] { return TryNext(server).response.assignments_size() == 1; }));
  EXPECT_TRUE(server.Stop().ok());
  faulty.Crash();
  server.Start();
  EXPECT_EQ(server.info.pages, 11u);
}

// Probes, workers with and without a stream, and metrics all tell why no pages come.
TEST(FullDisk, IsToldToAllWhoAsk) {
  FaultyEnv faulty(1);
  TestServer server([](ServerConfig* config) { config->durability = "sync"; }, faulty.env());
  server.UpsertMany(10);
  grpc::ClientContext call;
  const auto stream = server.scheduler->Crawl(&call);
  v1::CrawlRequest hello;
  hello.mutable_hello()->set_worker("w");
  v1::CrawlResponse said;
  ASSERT_TRUE(stream->Write(hello) && stream->Read(&said));
  EXPECT_EQ(said.notice().kind(), v1::NOTICE_KIND_WELCOME);
  faulty.SetFreeBytes(kTooLittle);

  ASSERT_TRUE(stream->Read(&said));
  EXPECT_EQ(said.notice().kind(), v1::NOTICE_KIND_STALLED);
  EXPECT_EQ(said.notice().error().code(), v1::ERROR_CODE_RESOURCE_EXHAUSTED);
  EXPECT_GT(said.notice().error().retry_after().seconds(), 0);
  const NextAnswer none = TryNext(server);
  EXPECT_EQ(none.status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(none.status.error_message(), HasSubstr("disk of the server is full"));
  EXPECT_EQ(none.pushback_ms, "1000");
  EXPECT_EQ(Get(server, "/readyz")->status, 503);
  EXPECT_THAT(Get(server, "/readyz")->body, HasSubstr("the disk is full"));
  EXPECT_EQ(Get(server, "/healthz")->status, 200) << "a restart would not help";
  const std::string metrics = Get(server, "/metrics")->body;
  EXPECT_THAT(metrics, HasSubstr("freshet_store_failure_info{reason=\"disk_full\"} 1\n"));
  // A worker that connects now is told, too.
  grpc::ClientContext late_call;
  const auto late = server.scheduler->Crawl(&late_call);
  ASSERT_TRUE(late->Write(hello) && late->Read(&said) && late->Read(&said));
  EXPECT_EQ(said.notice().kind(), v1::NOTICE_KIND_STALLED);
  late_call.TryCancel();

  faulty.ClearFaults();
  ASSERT_TRUE(stream->Read(&said));
  EXPECT_EQ(said.notice().kind(), v1::NOTICE_KIND_RESUMED);
  EXPECT_EQ(Get(server, "/readyz")->status, 200);
  EXPECT_TRUE(Eventually([&] { return TryNext(server).response.assignments_size() == 1; }));
  EXPECT_THAT(Get(server, "/metrics")->body, Not(HasSubstr("freshet_store_failure_info{")));
  call.TryCancel();
}

// The server repeatedly tries to lease pages for workers with credit, but logs the failure once.
TEST(FullDisk, DoesNotFillTheLog) {
  FaultyEnv faulty(1);
  testing::internal::CaptureStderr();
  {
    TestServer server(
        [](ServerConfig* config) {
          config->durability = "sync";
          config->log_level = "info";
        },
        faulty.env());
    server.UpsertMany(10);
    grpc::ClientContext call;
    const auto stream = server.scheduler->Crawl(&call);
    v1::CrawlRequest request;
    request.mutable_hello()->set_worker("w");
    ASSERT_TRUE(stream->Write(request));
    faulty.SetFreeBytes(kTooLittle);
    request.mutable_credit()->set_assignments(1000);
    ASSERT_TRUE(stream->Write(request));
    v1::UpsertPagesRequest more;
    more.add_pages()->set_url("http://late.test/");
    ASSERT_TRUE(Eventually([&] { return Get(server, "/readyz")->status == 503; }));
    for (int i = 0; i < 50; ++i) EXPECT_EQ(server.Upsert(more).statuses_size(), 1);
    faulty.ClearFaults();
    ASSERT_TRUE(Eventually([&] { return Get(server, "/readyz")->status == 200; }));
    call.TryCancel();
  }
  const std::string log = testing::internal::GetCapturedStderr();
  const auto count = [&log](const std::string& text) {
    int found = 0;
    for (size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("the disk is full"), 1) << log;
  EXPECT_EQ(count("there is space on the disk again"), 1) << log;
  EXPECT_EQ(count("a commit of"), 0) << log;
}

// A client repeats a refused signal or result until it is accepted. The item then counts once, and
// one ping does not become a burst.
TEST(FullDisk, LeavesNoTraceOfWhatWasRefused) {
  FaultyEnv faulty(1);
  TestServer server([](ServerConfig* config) { config->durability = "sync"; }, faulty.env());
  grpc::ClientContext call;
  v1::RegisterSourceRequest source;
  source.set_source("cms");
  v1::RegisterSourceResponse registered;
  ASSERT_TRUE(server.admin->RegisterSource(&call, source, &registered).ok());
  server.UpsertMany(10);
  v1::CrawlResult result;
  result.set_lease_id(server.Next(1).assignments(0).lease_id());
  result.set_outcome(v1::CRAWL_OUTCOME_UNCHANGED);
  v1::SignalChangesRequest ping;
  ping.add_signals()->set_url(TestServer::Url(3));
  ping.mutable_signals(0)->set_source("cms");
  const v1::IngestStatistics before = server.Statistics().ingest();
  const std::string page = server.Get(TestServer::Url(3)).page().DebugString();

  faulty.SetFreeBytes(kTooLittle);
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(Described(server.Signal(ping)),
                testing::ElementsAre(HasSubstr("RESOURCE_EXHAUSTED")));
    EXPECT_THAT(Described(server.Report(result)),
                testing::ElementsAre(HasSubstr("RESOURCE_EXHAUSTED")));
  }
  v1::IngestStatistics refused = server.Statistics().ingest();
  EXPECT_EQ(refused.signals_refused(), before.signals_refused() + 20);
  refused.set_signals_refused(before.signals_refused());
  refused.set_results_refused(before.results_refused());
  EXPECT_EQ(refused.DebugString(), before.DebugString());
  EXPECT_EQ(server.Get(TestServer::Url(3)).page().DebugString(), page);

  faulty.ClearFaults();
  EXPECT_EQ(server.Signal(ping).statuses_size(), 0);
  EXPECT_EQ(server.Report(result).statuses_size(), 0);
  const v1::IngestStatistics after = server.Statistics().ingest();
  EXPECT_EQ(after.signals_applied(), 1u);
  EXPECT_EQ(after.results_unchanged(), 1u);
  const v1::Page signalled = server.Get(TestServer::Url(3)).page();
  ASSERT_EQ(signalled.pending_signals_size(), 1);
  EXPECT_EQ(signalled.pending_signals(0).burst_class(), v1::BURST_CLASS_1_TO_2);
}

TEST(FullDisk, IsNoReasonToEndBadly) {
  FaultyEnv faulty(1);
  TestServer server([](ServerConfig* config) { config->durability = "sync"; }, faulty.env());
  server.UpsertMany(3);
  faulty.SetFreeBytes(1 << 20);
  v1::UpsertPagesRequest more;
  more.add_pages()->set_url("http://late.test/");
  EXPECT_EQ(server.Upsert(more).statuses_size(), 1) << "refused";
  EXPECT_TRUE(server.Stop().ok());
  faulty.ClearFaults();
  server.Start();
  EXPECT_EQ(server.info.pages, 3u);
}

// Refused changes take no places in the tables of sources, shares and crawl ids.
TEST(FullDisk, WhatItRefusesOfOperatorsUsesUpNoTable) {
  FaultyEnv faulty(1);
  TestServer server([](ServerConfig* config) { config->durability = "sync"; }, faulty.env());
  const auto register_source = [&server](const std::string& name) {
    v1::RegisterSourceRequest request;
    request.set_source(name);
    v1::RegisterSourceResponse response;
    grpc::ClientContext call;
    return server.admin->RegisterSource(&call, request, &response).error_code();
  };
  const auto set_share = [&server](const std::string& crawl_id) {
    v1::SetCrawlRequest request;
    request.set_crawl_id(crawl_id);
    request.set_share(0.001);
    v1::SetCrawlResponse response;
    grpc::ClientContext call;
    return server.admin->SetCrawl(&call, request, &response).error_code();
  };
  faulty.SetFreeBytes(kTooLittle);
  for (int i = 0; i < limits::kMaxSources + 1; ++i) {
    EXPECT_EQ(register_source("s" + std::to_string(i)), grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  for (size_t i = 0; i < limits::kMaxCrawlClasses + 1; ++i) {
    EXPECT_EQ(set_share("c" + std::to_string(i)), grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  faulty.ClearFaults();
  EXPECT_EQ(register_source("late"), grpc::StatusCode::OK);
  EXPECT_EQ(set_share("late"), grpc::StatusCode::OK);
  v1::NextRequest request;
  request.add_crawl_ids("taken-alone");
  ToProto(Duration(), request.mutable_max_wait());
  // If the refusals took long, the server accepts calls only after its disk watch has seen the free
  // space.
  EXPECT_TRUE(Eventually([&] {
    v1::NextResponse response;
    grpc::ClientContext call;
    return server.scheduler->Next(&call, request, &response).ok();
  }));
}

}  // namespace
}  // namespace freshet
