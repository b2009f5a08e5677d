// IngestService: streams of crawl results and change signals.
#ifndef FRESHET_SERVER_API_INGEST_SERVICE_H_
#define FRESHET_SERVER_API_INGEST_SERVICE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "freshet/v1/ingest.grpc.pb.h"
#include "server/api/batch.h"
#include "server/api/call_method.h"
#include "server/api/context.h"

namespace freshet {

inline constexpr std::string_view kReportCrawlsPath = "/freshet.v1.IngestService/ReportCrawls";

// The methods of the service. `context` outlives them. Thread-safe.
[[nodiscard]] std::vector<CallMethod> IngestMethods(const ServerContext& context);

// Converts the results of one message. Precondition: CheckItemCount accepts their number. `caller`
// outlives the call.
[[nodiscard]] Batch ConvertResults(
    const ServerContext& context, uint64_t sequence,
    const google::protobuf::RepeatedPtrField<v1::CrawlResult>& results,
    const std::vector<TextFault>& faults, const Caller& caller);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_INGEST_SERVICE_H_
