// Dozens of streams of all kinds, which are used a little and ended at any moment.
#include "freshet/v1/ingest.grpc.pb.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "freshet/v1/scheduler.grpc.pb.h"
#include "tests/hostile/scripts.h"

namespace freshet::hostile {
namespace {

void Crawl(Attack& attack, const std::shared_ptr<grpc::Channel>& channel) {
  const auto call = attack.Call();
  const auto stream = v1::SchedulerService::NewStub(channel)->Crawl(call.get());
  v1::CrawlRequest request;
  if (!attack.OneIn(5)) {
    request.mutable_hello()->set_worker("passer-by");
    request.mutable_hello()->mutable_lease_duration()->set_seconds(1);
    stream->Write(request);
  }
  for (uint64_t steps = attack.Below(5); steps > 0; --steps) {
    if (attack.OneIn(3)) {
      request.mutable_hello()->set_worker(attack.OddText().substr(0, attack.Below(200)));
    } else {
      request.mutable_credit()->set_assignments(static_cast<uint32_t>(attack.Below(4)));
    }
    stream->Write(request);
  }
  Leave<v1::CrawlResponse>(attack, *call, *stream);
}

void Upsert(Attack& attack, const std::shared_ptr<grpc::Channel>& channel) {
  const auto call = attack.Call();
  const auto stream = v1::PagesService::NewStub(channel)->UpsertPages(call.get());
  for (uint64_t messages = attack.Below(4); messages > 0; --messages) {
    v1::UpsertPagesRequest request;
    request.add_pages()->set_url(HonestUrl(attack.Below(kHonestPages)));
    stream->Write(request);
  }
  Leave<v1::UpsertPagesResponse>(attack, *call, *stream);
}

void Signal(Attack& attack, const std::shared_ptr<grpc::Channel>& channel) {
  const auto call = attack.Call();
  const auto stream = v1::IngestService::NewStub(channel)->SignalChanges(call.get());
  for (uint64_t messages = attack.Below(4); messages > 0; --messages) {
    v1::SignalChangesRequest request;
    v1::ChangeSignal& signal = *request.add_signals();
    signal.set_url(attack.AnyUrl());
    signal.set_source(attack.OneIn(2) ? "sitemap" : "nobody");
    request.set_poll_id(attack.Below(3));
    if (!stream->Write(request)) break;
  }
  Leave<v1::SignalChangesResponse>(attack, *call, *stream);
}

void Report(Attack& attack, const std::shared_ptr<grpc::Channel>& channel) {
  const auto call = attack.Call();
  const auto stream = v1::IngestService::NewStub(channel)->ReportCrawls(call.get());
  for (uint64_t messages = attack.Below(4); messages > 0; --messages) {
    v1::ReportCrawlsRequest request;
    v1::CrawlResult& result = *request.add_results();
    result.set_url(attack.AnyUrl());
    result.set_outcome(v1::CRAWL_OUTCOME_UNCHANGED);
    if (!stream->Write(request)) break;
  }
  Leave<v1::ReportCrawlsResponse>(attack, *call, *stream);
}

}  // namespace

void Streams(Attack& attack) {
  auto channel = attack.Connect();
  while (!attack.Over()) {
    if (attack.OneIn(20)) channel = attack.Connect();
    switch (attack.Below(4)) {
      case 0:
        Crawl(attack, channel);
        break;
      case 1:
        Upsert(attack, channel);
        break;
      case 2:
        Signal(attack, channel);
        break;
      default:
        Report(attack, channel);
        break;
    }
  }
}

}  // namespace freshet::hostile
