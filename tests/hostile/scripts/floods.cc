// Clients that never read an acknowledgement and send large messages as fast as the server reads
// them.
#include "freshet/v1/ingest.grpc.pb.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "tests/hostile/scripts.h"

namespace freshet::hostile {
namespace {

// Writes until the server reads no more. Because of gRPC's flow control, the last write waits for
// the deadline of the call.
template <typename Stream, typename Request>
void Flood(Attack& attack, grpc::ClientContext& call, Stream& stream, const Request& request) {
  while (!attack.Over() && stream.Write(request)) {
  }
  call.TryCancel();
  (void)stream.Finish();
}

}  // namespace

void Floods(Attack& attack) {
  const auto channel = attack.Connect();
  while (!attack.Over()) {
    const auto call = attack.Call();
    switch (attack.Below(3)) {
      case 0: {
        v1::UpsertPagesRequest request;
        for (int i = 0; i < 1000; ++i) request.add_pages()->set_url(attack.AnyUrl());
        Flood(attack, *call, *v1::PagesService::NewStub(channel)->UpsertPages(call.get()), request);
        break;
      }
      case 1: {
        v1::SignalChangesRequest request;
        for (int i = 0; i < 1000; ++i) {
          v1::ChangeSignal& signal = *request.add_signals();
          signal.set_url(attack.AnyUrl());
          signal.set_source("feed");
          signal.set_signal_id(attack.Bytes(20));
        }
        Flood(attack, *call, *v1::IngestService::NewStub(channel)->SignalChanges(call.get()),
              request);
        break;
      }
      default: {
        v1::ReportCrawlsRequest request;
        for (int i = 0; i < 1000; ++i) {
          v1::CrawlResult& result = *request.add_results();
          result.set_lease_id(attack.Below(UINT64_MAX));
          result.set_outcome(v1::CRAWL_OUTCOME_ERROR);
        }
        Flood(attack, *call, *v1::IngestService::NewStub(channel)->ReportCrawls(call.get()),
              request);
      }
    }
  }
}

}  // namespace freshet::hostile
