// Tests /metrics of a running server, whatever its clients send.
#include <grpcpp/generic/generic_stub.h>

#include <sstream>
#include <utility>

#include "fmt/format.h"
#include "httplib.h"
#include "server/auth/methods.h"
#include "tests/grpc/test_server.h"
#include "urlfrontier/urlfrontier.grpc.pb.h"

namespace freshet {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Scrape(const TestServer& server) {
  const auto result = httplib::Client("http://" + server.info.http_address).Get("/metrics");
  EXPECT_TRUE(result);
  return result ? result->body : "";
}

// Returns the number of lines with samples.
size_t Series(const std::string& metrics) {
  std::istringstream lines(metrics);
  size_t series = 0;
  for (std::string line; std::getline(lines, line);) series += line[0] == '#' ? 0 : 1;
  return series;
}

double Value(const std::string& metrics, const std::string& sample) {
  const size_t found = metrics.find("\n" + sample + " ");
  return found == std::string::npos ? -1 : std::stod(metrics.substr(found + sample.size() + 2));
}

// Crawls a page after a signal, makes calls that succeed and fail, and runs an epoch.
void Use(TestServer& server) {
  server.UpsertMany(50);
  v1::RegisterSourceRequest source;
  source.set_source("cdn");
  v1::RegisterSourceResponse registered;
  grpc::ClientContext first;
  ASSERT_TRUE(server.admin->RegisterSource(&first, source, &registered).ok());
  // Crawls each page more than once, because a first crawl tells nothing about the time before.
  for (int crawled = 0; crawled < 150;) {
    const v1::NextResponse next = server.Next(50);
    crawled += next.assignments_size();
    v1::ReportCrawlsRequest results;
    v1::SignalChangesRequest signals;
    for (const v1::Assignment& assignment : next.assignments()) {
      v1::CrawlResult& result = *results.add_results();
      result.set_lease_id(assignment.lease_id());
      result.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
      ToProto(server.clock.Now(), result.mutable_fetch_time());
      v1::ChangeSignal& signal = *signals.add_signals();
      signal.set_url(assignment.url());
      signal.set_source("cdn");
    }
    if (next.assignments().empty()) continue;
    grpc::ClientContext reporting;
    const auto stream = server.ingest->ReportCrawls(&reporting);
    (void)TestServer::Exchange<v1::ReportCrawlsResponse>(*stream, results);
    (void)server.Signal(signals);
  }
  v1::RunEpochResponse epoch;
  grpc::ClientContext second;
  ASSERT_TRUE(server.admin->RunEpoch(&second, {}, &epoch).ok());
  v1::GetPageRequest unknown;
  unknown.set_url("http://nowhere.test/");
  v1::GetPageResponse page;
  grpc::ClientContext third;
  EXPECT_EQ(server.pages->GetPage(&third, unknown, &page).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST(ServedMetrics, SayWhatHappened) {
  TestServer server;
  Use(server);
  ASSERT_TRUE(Eventually([&server] {
    const std::string metrics = Scrape(server);
    return Value(metrics, "freshet_hosts_by_state{state=\"free\"}") == 10 &&
           Value(metrics, "freshet_signal_wait_seconds_count") > 0 &&
           Value(metrics, "freshet_source_evidence{source=\"cdn\"}") > 0;
  })) << Scrape(server);
  const std::string metrics = Scrape(server);
  const double signalled = Value(metrics, "freshet_signals_total{outcome=\"applied\"}");
  EXPECT_GT(signalled, 0);
  EXPECT_LE(Value(metrics, "freshet_signalled_pages"), signalled);
  EXPECT_GE(Value(metrics, "freshet_picks_total"), 50);
  EXPECT_GE(Value(metrics, "freshet_evaluations_total"), Value(metrics, "freshet_picks_total"));
  EXPECT_GT(Value(metrics, "freshet_source_precision{source=\"cdn\"}"), 0);
  EXPECT_LE(Value(metrics, "freshet_source_precision{source=\"cdn\"}"), 1);
  EXPECT_GT(Value(metrics, "freshet_last_epoch_timestamp_seconds"), 1e9);
  EXPECT_EQ(Value(metrics,
                  "freshet_grpc_call_seconds_count{method=\"freshet.v1.PagesService/GetPage\","
                  "code=\"NOT_FOUND\"}"),
            1);
  EXPECT_EQ(Value(metrics,
                  "freshet_grpc_stream_seconds_count{method=\"freshet.v1.PagesService/"
                  "UpsertPages\",code=\"OK\"}"),
            1);
  EXPECT_EQ(Value(metrics, "freshet_grpc_open_calls{method=\"freshet.v1.PagesService/GetPage\"}"),
            0);
  EXPECT_GT(Value(metrics, "process_resident_memory_bytes"), 1e6);
  EXPECT_GT(Value(metrics, "process_open_fds"), 5);
  EXPECT_GT(Value(metrics, "process_max_fds"), Value(metrics, "process_open_fds"));
  EXPECT_GT(Value(metrics, "process_cpu_seconds_total"), 0);
  EXPECT_GT(Value(metrics, "process_threads"), 5);
  const double age =
      server.clock.Now().micros() * 1e-6 - Value(metrics, "process_start_time_seconds");
  EXPECT_GT(age, -2);
  EXPECT_LT(age, 86400);
  // Programs other than Prometheus can read the same figures.
  const auto status = httplib::Client("http://" + server.info.http_address).Get("/status.json");
  ASSERT_TRUE(status);
  for (const char* member : {"\"freshness\":{", "\"lateness\":{", "\"sources\":[{", "\"queues\":{",
                             "\"host_states\":{", "\"last_epoch\":{", "\"recall\":"}) {
    EXPECT_THAT(status->body, HasSubstr(member));
  }
}

grpc::ByteBuffer EmptyMessage() {
  const grpc::Slice nothing;
  return {&nothing, 1};
}

// Calls each method with an empty message; ignores the outcome.
void CallAll(TestServer& server) {
  grpc::GenericStub stub(server.channel);
  for (const MethodRule& rule : AllMethods()) {
    if (!rule.path.starts_with("/freshet.") && !rule.path.starts_with("/urlfrontier.")) continue;
    grpc::CompletionQueue queue;
    grpc::ClientContext call;
    call.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    const auto stream = stub.PrepareCall(&call, std::string(rule.path), &queue);
    const auto wait = [&queue] {
      void* tag = nullptr;
      bool ok = false;
      return queue.Next(&tag, &ok) && ok;
    };
    stream->StartCall(nullptr);
    ASSERT_TRUE(wait());
    stream->WriteLast(EmptyMessage(), {}, nullptr);
    (void)wait();
    grpc::Status status;
    grpc::ByteBuffer answer;
    do {
      stream->Read(&answer, nullptr);
    } while (wait());
    stream->Finish(&status, nullptr);
    (void)wait();
    EXPECT_NE(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << rule.path;
  }
}

TEST(ServedMetrics, EveryMethodIsCountedByItsName) {
  TestServer server([](ServerConfig* config) { config->frontier_enabled = true; });
  CallAll(server);
  const auto missing = [&server] {
    const std::string metrics = Scrape(server);
    std::vector<std::string> names;
    for (const MethodRule& rule : AllMethods()) {
      if (!rule.path.starts_with("/freshet.") && !rule.path.starts_with("/urlfrontier.")) continue;
      const std::string method = fmt::format("method=\"{}\"", rule.path.substr(1));
      const bool ended = metrics.find("call_seconds_count{" + method) != std::string::npos ||
                         metrics.find("stream_seconds_count{" + method) != std::string::npos;
      if (!ended) names.push_back(method);
    }
    return names;
  };
  ASSERT_TRUE(Eventually([&] { return missing().empty(); })) << testing::PrintToString(missing());
  EXPECT_THAT(Scrape(server), Not(HasSubstr("method=\"other\"")));
}

TEST(ServedMetrics, ClientsMakeNoSeries) {
  constexpr int kInvented = 3000;
  TestServer server([](ServerConfig* config) { config->frontier_enabled = true; });
  Use(server);
  CallAll(server);
  const size_t before = Series(Scrape(server));
  for (int first = 0; first < kInvented; first += 1000) {
    v1::UpsertPagesRequest upsert;
    v1::SignalChangesRequest unknown;
    for (int i = first; i < first + 1000; ++i) {
      v1::PageSpec& page = *upsert.add_pages();
      page.set_url(fmt::format("http://invented{}.test/{}", i, i));
      page.set_crawl_id(fmt::format("crawl-{}", i % 1000));
      v1::ChangeSignal& signal = *unknown.add_signals();
      signal.set_url(fmt::format("http://unknown{}.test/", i));
      signal.set_source("cdn");
    }
    EXPECT_EQ(server.Upsert(upsert).statuses_size(), 0);
    (void)server.Signal(unknown);
  }
  const auto ingest = v1::IngestService::NewStub(server.channel);
  grpc::ClientContext signalling;
  const auto signals = ingest->SignalChanges(&signalling);
  grpc::GenericStub stub(server.channel);
  for (int i = 0; i < kInvented; ++i) {
    v1::SignalChangesRequest request;
    v1::ChangeSignal& signal = *request.add_signals();
    signal.set_url(TestServer::Url(0));
    signal.set_source(fmt::format("source-{}", i));
    v1::SignalChangesResponse ack;
    ASSERT_TRUE(signals->Write(request) && signals->Read(&ack));
  }
  signals->WritesDone();
  (void)signals->Finish();
  for (int i = 0; i < kInvented / 10; ++i) {
    v1::NextRequest request;
    request.set_worker(fmt::format("worker-{}", i));
    ToProto(Duration(), request.mutable_max_wait());
    v1::NextResponse response;
    grpc::ClientContext call;
    (void)server.scheduler->Next(&call, request, &response);
    grpc::CompletionQueue queue;
    grpc::ClientContext strange;
    const auto path = fmt::format("/freshet.v1.PagesService/Method{}", i);
    const auto invented = stub.PrepareUnaryCall(&strange, path, EmptyMessage(), &queue);
    invented->StartCall();
    grpc::ByteBuffer answer;
    grpc::Status status;
    invented->Finish(&answer, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue.Next(&tag, &ok));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  }
  const std::string metrics = Scrape(server);
  // A method can end with a status that is new, which adds a series.
  EXPECT_LE(Series(metrics), before + 40);
  for (const char* invented :
       {"invented", "unknown1", "crawl-1", "source-1", "worker-1", "Method"}) {
    EXPECT_THAT(metrics, Not(HasSubstr(invented)));
  }
}

}  // namespace
}  // namespace freshet
