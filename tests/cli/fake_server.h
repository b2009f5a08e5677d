// A server for tests of the client. It records requests and gives prepared answers.
#ifndef FRESHET_TESTS_CLI_FAKE_SERVER_H_
#define FRESHET_TESTS_CLI_FAKE_SERVER_H_

#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "freshet/v1/admin.grpc.pb.h"
#include "freshet/v1/ingest.grpc.pb.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "freshet/v1/scheduler.grpc.pb.h"
#include "tools/cli/run.h"

namespace freshet::cli {

// Makes the status of a refused item.
inline v1::ItemStatus Refusal(int index, v1::ErrorCode code, const std::string& field,
                              const std::string& reason, bool retryable = false) {
  v1::ItemStatus status;
  status.set_index(static_cast<uint32_t>(index));
  status.set_outcome(v1::ITEM_OUTCOME_REFUSED);
  status.mutable_error()->set_code(code);
  status.mutable_error()->set_field(field);
  status.mutable_error()->set_reason(reason);
  status.mutable_error()->set_retryable(retryable);
  return status;
}

// Records batches, and acknowledges each with the statuses that `judge` returns. Thread-compatible.
template <typename Request, typename Response>
struct BatchLog {
  std::vector<Request> requests;
  std::function<void(const Request&, v1::BatchAck*)> judge = [](const Request&, v1::BatchAck*) {};
  // The status that ends the stream instead of the acknowledgement of message `fail_at`, counted
  // from 0.
  grpc::Status failure = {grpc::StatusCode::UNAVAILABLE, "going down"};
  size_t fail_at = SIZE_MAX;
  bool silent = false;  // acknowledge nothing

  grpc::Status Serve(grpc::ServerReaderWriter<Response, Request>* stream) {
    Request request;
    while (stream->Read(&request)) {
      if (requests.size() == fail_at) return failure;
      requests.push_back(request);
      if (silent) continue;
      Response response;
      response.mutable_ack()->set_sequence(request.sequence());
      judge(request, response.mutable_ack());
      stream->Write(response);
    }
    return grpc::Status::OK;
  }
};

class FakePages : public v1::PagesService::Service {
 public:
  BatchLog<v1::UpsertPagesRequest, v1::UpsertPagesResponse> upserts;
  std::vector<v1::RemovePagesRequest> removals;
  v1::Explanation explanation;  // GetPage's explanation of a page
  v1::ListPagesRequest list_request;
  std::vector<v1::ListPagesResponse> list;
  grpc::Status list_status;  // status at the end of a list
  std::vector<v1::ExportPagesRequest> export_requests;
  std::vector<v1::ExportPagesResponse> exported;
  grpc::Status export_status;  // status at the end of an export
  std::vector<v1::RecheckPagesRequest> rechecks;
  int busy = 0;  // number of rechecks to answer with "retry in 20 ms"

  grpc::Status UpsertPages(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<v1::UpsertPagesResponse, v1::UpsertPagesRequest>* stream) override {
    return upserts.Serve(stream);
  }
  grpc::Status RemovePages(grpc::ServerContext*, const v1::RemovePagesRequest* request,
                           v1::RemovePagesResponse* response) override {
    removals.push_back(*request);
    for (int i = 0; i < request->urls_size(); ++i) {
      if (request->urls(i).find("unknown") == std::string::npos) continue;
      *response->mutable_ack()->add_statuses() =
          Refusal(i, v1::ERROR_CODE_NOT_FOUND, "url", "no such page");
    }
    return grpc::Status::OK;
  }
  grpc::Status GetPage(grpc::ServerContext*, const v1::GetPageRequest* request,
                       v1::GetPageResponse* response) override {
    if (request->url().find("unknown") != std::string::npos) {
      return {grpc::StatusCode::NOT_FOUND, "no such page"};
    }
    response->mutable_page()->set_url(request->url());
    response->mutable_page()->set_crawls(request->url().find("new") == std::string::npos ? 3 : 1);
    *response->mutable_explanation() = explanation;
    response->mutable_explanation()->set_why("Its value is below the price.");
    if (request->url().find("paused") != std::string::npos) {
      response->mutable_explanation()->set_decision(v1::DECISION_PAUSED);
    }
    return grpc::Status::OK;
  }
  grpc::Status ListPages(grpc::ServerContext*, const v1::ListPagesRequest* request,
                         grpc::ServerWriter<v1::ListPagesResponse>* writer) override {
    list_request = *request;
    for (const v1::ListPagesResponse& part : list) writer->Write(part);
    return list_status;
  }
  grpc::Status ExportPages(grpc::ServerContext*, const v1::ExportPagesRequest* request,
                           grpc::ServerWriter<v1::ExportPagesResponse>* writer) override {
    export_requests.push_back(*request);
    for (const v1::ExportPagesResponse& part : exported) writer->Write(part);
    return export_status;
  }
  grpc::Status RecheckPages(grpc::ServerContext* context, const v1::RecheckPagesRequest* request,
                            v1::RecheckPagesResponse*) override {
    rechecks.push_back(*request);
    if (busy-- <= 0) return grpc::Status::OK;
    context->AddTrailingMetadata("grpc-retry-pushback-ms", "20");
    return {grpc::StatusCode::RESOURCE_EXHAUSTED, "too many items a second"};
  }
};

class FakeIngest : public v1::IngestService::Service {
 public:
  BatchLog<v1::ReportCrawlsRequest, v1::ReportCrawlsResponse> results;
  BatchLog<v1::SignalChangesRequest, v1::SignalChangesResponse> signals;

  grpc::Status ReportCrawls(grpc::ServerContext*,
                            grpc::ServerReaderWriter<v1::ReportCrawlsResponse,
                                                     v1::ReportCrawlsRequest>* stream) override {
    return results.Serve(stream);
  }
  grpc::Status SignalChanges(grpc::ServerContext*,
                             grpc::ServerReaderWriter<v1::SignalChangesResponse,
                                                      v1::SignalChangesRequest>* stream) override {
    return signals.Serve(stream);
  }
};

class FakeScheduler : public v1::SchedulerService::Service {
 public:
  v1::NextRequest request;
  v1::NextResponse response;

  grpc::Status Next(grpc::ServerContext*, const v1::NextRequest* asked,
                    v1::NextResponse* answer) override {
    request = *asked;
    *answer = response;
    return grpc::Status::OK;
  }
};

class FakeAdmin : public v1::AdminService::Service {
 public:
  double rate = 10;
  v1::GetFleetResponse fleet;
  v1::DrainNodeResponse drained;
  std::function<void(v1::GetFleetResponse*)> hand_over;  // called after the next answer
  v1::SetHostPolitenessRequest politeness;
  v1::SetPolitenessDefaultsRequest defaults;
  v1::SetCrawlRequest crawl;
  v1::ReportShadowRequest shadow;
  std::vector<v1::ListHostsRequest> host_lists;
  bool host_lists_lack_a_division = false;
  v1::GetStatisticsResponse statistics;

  grpc::Status GetStatistics(grpc::ServerContext*, const v1::GetStatisticsRequest*,
                             v1::GetStatisticsResponse* response) override {
    *response = statistics;
    return grpc::Status::OK;
  }

  grpc::Status GetCrawlRate(grpc::ServerContext*, const v1::GetCrawlRateRequest*,
                            v1::GetCrawlRateResponse* response) override {
    response->set_crawl_rate_per_second(rate);
    return grpc::Status::OK;
  }
  grpc::Status SetCrawlRate(grpc::ServerContext*, const v1::SetCrawlRateRequest* request,
                            v1::SetCrawlRateResponse* response) override {
    response->set_previous_crawl_rate_per_second(rate);
    rate = request->crawl_rate_per_second();
    response->set_crawl_rate_per_second(rate);
    return grpc::Status::OK;
  }
  grpc::Status SetHostPoliteness(grpc::ServerContext*, const v1::SetHostPolitenessRequest* request,
                                 v1::SetHostPolitenessResponse* response) override {
    politeness = *request;
    response->mutable_host_state()->set_host(request->host());
    return grpc::Status::OK;
  }
  grpc::Status GetHost(grpc::ServerContext*, const v1::GetHostRequest* request,
                       v1::GetHostResponse* response) override {
    v1::HostState& host = *response->mutable_host_state();
    host.set_host(request->host());
    host.mutable_min_delay()->set_seconds(1);
    host.set_max_in_flight(1);
    host.mutable_min_page_interval()->set_seconds(60);
    host.mutable_blocked_until()->set_seconds(1'772'359'200);
    host.set_throttled_answers(request->host() == "once.test" ? 1 : 3);
    host.mutable_last_throttled_time()->set_seconds(1'772'359'100);
    return grpc::Status::OK;
  }
  grpc::Status GetPolitenessDefaults(grpc::ServerContext*, const v1::GetPolitenessDefaultsRequest*,
                                     v1::GetPolitenessDefaultsResponse* response) override {
    for (auto* shown : {response->mutable_defaults(), response->mutable_configured()}) {
      shown->mutable_min_delay()->set_seconds(1);
      shown->mutable_min_page_interval()->set_seconds(60);
    }
    response->mutable_configured()->set_max_in_flight(1);
    return grpc::Status::OK;
  }
  grpc::Status SetPolitenessDefaults(grpc::ServerContext*,
                                     const v1::SetPolitenessDefaultsRequest* request,
                                     v1::SetPolitenessDefaultsResponse* response) override {
    defaults = *request;
    *response->mutable_defaults()->mutable_min_delay() = request->min_delay();
    return grpc::Status::OK;
  }
  grpc::Status GetFleet(grpc::ServerContext*, const v1::GetFleetRequest*,
                        v1::GetFleetResponse* response) override {
    *response = fleet;
    return grpc::Status::OK;
  }
  grpc::Status DrainNode(grpc::ServerContext*, const v1::DrainNodeRequest* request,
                         v1::DrainNodeResponse* response) override {
    if (request->node() != "crawl-a") return grpc::Status::OK;
    *response = drained;
    if (hand_over) hand_over(&fleet);
    return grpc::Status::OK;
  }
  grpc::Status ListCrawls(grpc::ServerContext*, const v1::ListCrawlsRequest* request,
                          v1::ListCrawlsResponse* response) override {
    if (request->crawl_id() == "unknown" || request->crawl_id() == "shpo") {
      return {grpc::StatusCode::NOT_FOUND, "no such crawl"};
    }
    v1::Crawl* shop = response->add_crawls();
    shop->set_crawl_id("shop");
    shop->set_pages(1234);
    shop->set_deleting(true);
    shop->mutable_settings()->set_share(0.25);
    shop->mutable_settings()->set_max_pages(2000);
    return grpc::Status::OK;
  }
  grpc::Status SetCrawl(grpc::ServerContext*, const v1::SetCrawlRequest* request,
                        v1::SetCrawlResponse* response) override {
    crawl = *request;
    response->mutable_crawl()->set_crawl_id(request->crawl_id());
    return grpc::Status::OK;
  }
  grpc::Status ReportShadow(grpc::ServerContext*, const v1::ReportShadowRequest* request,
                            v1::ReportShadowResponse* response) override {
    if (request->crawl_id() == "unknown") {
      return {grpc::StatusCode::FAILED_PRECONDITION, "not in shadow mode"};
    }
    shadow = *request;
    response->set_crawl_id(request->crawl_id());
    response->set_pages(3000);
    response->set_pages_read(2000);
    response->set_compared_pages(1900);
    response->set_crawls(8000);
    if (request->crawl_id() == "early") {
      response->set_why_not("too early");
      return grpc::Status::OK;
    }
    response->set_compared_crawls(4000);
    response->set_changes(1000);
    response->set_believed_freshness(0.5);
    v1::ShadowComparison& comparison = *response->mutable_comparison();
    comparison.set_crawls_per_day(600);
    comparison.set_freshness(0.6);
    comparison.set_best_freshness(0.8);
    comparison.set_best_freshness_without_signals(0.7);
    comparison.set_crawls_per_day_for_same(150);
    comparison.set_sampled_pages(1900);
    v1::ShadowPage& page = *response->add_too_often();
    page.set_url("http://a.test/static");
    page.set_crawls_per_day(24);
    page.set_best_crawls_per_day(0.5);
    return grpc::Status::OK;
  }
  grpc::Status ListHosts(grpc::ServerContext*, const v1::ListHostsRequest* request,
                         v1::ListHostsResponse* response) override {
    host_lists.push_back(*request);
    const bool first = request->page_token().empty();
    response->add_hosts()->set_host(first ? "a.test" : "b.test");
    if (first) response->set_next_page_token("more");
    if (first && host_lists_lack_a_division) {
      response->add_unanswered()->set_division(1);
      response->mutable_unanswered(0)->set_reason("is away");
    }
    return grpc::Status::OK;
  }
  grpc::Status DeleteHost(grpc::ServerContext*, const v1::DeleteHostRequest* request,
                          v1::DeleteHostResponse* response) override {
    response->mutable_host_state()->set_host(request->host());
    response->mutable_host_state()->set_pages(7);
    return grpc::Status::OK;
  }
  grpc::Status GetTrustReport(grpc::ServerContext*, const v1::GetTrustReportRequest* request,
                              v1::GetTrustReportResponse* response) override {
    if (request->host().empty()) return grpc::Status::OK;
    v1::HostTrust* trust = response->add_hosts();
    trust->set_host(request->host());
    trust->set_source(request->source());
    trust->set_signals(request->limit());
    trust->mutable_precision()->set_value(0.25);
    trust->set_recent_precision(0.125);
    trust->set_believed_precision(0.5);
    trust->mutable_quarantined_since()->set_seconds(1'700'000'000);
    return grpc::Status::OK;
  }
  grpc::Status UnregisterSource(grpc::ServerContext*, const v1::UnregisterSourceRequest* request,
                                v1::UnregisterSourceResponse* response) override {
    if (request->source() == "unknown") return {grpc::StatusCode::NOT_FOUND, "no such source"};
    response->mutable_source()->set_source(request->source());
    return grpc::Status::OK;
  }
};

// Tests must not read the settings of the developer who runs them.
inline const bool kWithoutSettings = setenv("XDG_CONFIG_HOME", "/dev/null", 1) == 0;

// The outcome of a run of the client.
struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

// Runs the client in this process, with `input` as its standard input.
inline Outcome RunClient(std::vector<std::string> arguments, const std::string& input = "") {
  std::FILE* file = std::tmpfile();
  std::fwrite(input.data(), 1, input.size(), file);
  std::rewind(file);
  std::ostringstream out;
  std::ostringstream err;
  Outcome outcome;
  outcome.code = RunCommandLine(std::move(arguments), {fileno(file), &out, &err});
  std::fclose(file);
  return {outcome.code, out.str(), err.str()};
}

// A server with all services on a free port. Thread-compatible.
class FakeServer {
 public:
  FakeServer() {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&pages);
    builder.RegisterService(&ingest);
    builder.RegisterService(&scheduler);
    builder.RegisterService(&admin);
    server_ = builder.BuildAndStart();
    address = "127.0.0.1:" + std::to_string(port);
  }
  ~FakeServer() { server_->Shutdown(); }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  [[nodiscard]] Outcome Run(std::vector<std::string> arguments,
                            const std::string& input = "") const {
    arguments.insert(arguments.begin(), {"--server", address});
    return RunClient(std::move(arguments), input);
  }

  std::string address;
  FakePages pages;
  FakeIngest ingest;
  FakeScheduler scheduler;
  FakeAdmin admin;

 private:
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace freshet::cli

#endif  // FRESHET_TESTS_CLI_FAKE_SERVER_H_
