// Merges the answers of several divisions of a fleet.
//
// All functions are thread-safe.
#ifndef FRESHET_SERVER_API_FLEET_SUMS_H_
#define FRESHET_SERVER_API_FLEET_SUMS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "core/base/status.h"
#include "freshet/v1/admin.pb.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"

namespace freshet {

// Adds the answer of another division to the sum of the answers before, which begins with this
// division's own. An answer for which no function below is says nothing of its division.
template <typename Request, typename Response>
void AddAnswer(const Request& /*request*/, const Response& /*theirs*/, Response* /*sum*/) {}
void AddAnswer(const v1::GetStatisticsRequest& request, const v1::GetStatisticsResponse& theirs,
               v1::GetStatisticsResponse* sum);
// Adds by source and class; the answer that learned from most signals is believed. A host belongs
// to one division; as many hosts stay as the request's limit.
void AddAnswer(const v1::GetTrustReportRequest& request, const v1::GetTrustReportResponse& theirs,
               v1::GetTrustReportResponse* sum);
void AddAnswer(const v1::ListSourcesRequest& request, const v1::ListSourcesResponse& theirs,
               v1::ListSourcesResponse* sum);
// Both by crawl id, of which no more stay than the request's page size. The token is that for the
// next ones.
void AddAnswer(const v1::ListCrawlsRequest& request, const v1::ListCrawlsResponse& theirs,
               v1::ListCrawlsResponse* sum);
// One row for each division, by rising division.
void AddAnswer(const v1::GetFleetRequest& request, const v1::GetFleetResponse& theirs,
               v1::GetFleetResponse* sum);
void AddAnswer(const v1::DrainNodeRequest& request, const v1::DrainNodeResponse& theirs,
               v1::DrainNodeResponse* sum);
void AddAnswer(const v1::RunEpochRequest& request, const v1::RunEpochResponse& theirs,
               v1::RunEpochResponse* sum);
void AddAnswer(const v1::UnregisterSourceRequest& request,
               const v1::UnregisterSourceResponse& theirs, v1::UnregisterSourceResponse* sum);
void AddAnswer(const v1::DeleteCrawlRequest& request, const v1::DeleteCrawlResponse& theirs,
               v1::DeleteCrawlResponse* sum);

// Rows that GetTrustReport and the lists have, unless the request says how many.
inline constexpr uint32_t kUsualRows = 100;

// Says in the sum that the division has not answered, and why.
void AddUnanswered(uint32_t division, const Status& why, google::protobuf::Message* sum);

// The list of a setting that the call which set it answers: other divisions have parts of it.
// Value type, thread-compatible.
struct Listing {
  std::string_view path;
  grpc::ByteBuffer request;
  std::function<void(const StatusOr<grpc::ByteBuffer>&)> add;  // adds one list to the sums
};
// Adds to `done`, which outlives the listing. nullopt: nothing of such an answer is listed.
[[nodiscard]] std::optional<Listing> ListingOf(google::protobuf::Message* done);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_FLEET_SUMS_H_
