// IngestService: streams of crawl results and change signals.
#ifndef FRESHET_SERVER_API_INGEST_SERVICE_H_
#define FRESHET_SERVER_API_INGEST_SERVICE_H_

#include <vector>

#include "freshet/v1/ingest.grpc.pb.h"
#include "server/api/batch.h"
#include "server/api/context.h"

namespace freshet {

using IngestServiceBase = v1::IngestService::WithRawCallbackMethod_ReportCrawls<
    v1::IngestService::WithRawCallbackMethod_SignalChanges<v1::IngestService::Service>>;

// Thread-safe.
class IngestService final : public IngestServiceBase {
 public:
  explicit IngestService(const ServerContext& context) : context_(context) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* ReportCrawls(
      grpc::CallbackServerContext* call) override;
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* SignalChanges(
      grpc::CallbackServerContext* call) override;

 private:
  const ServerContext& context_;
};

// Gives every result a place in the batch.
void FillResults(const google::protobuf::RepeatedPtrField<v1::CrawlResult>& results,
                 const std::vector<TextFault>& faults, const ServerContext& context, Batch* batch);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_INGEST_SERVICE_H_
