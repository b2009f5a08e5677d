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

// Adds the answer of another division to the sum, which begins with the answer of this division.
// This template is for types of answers without a function below: they have nothing to add.
template <typename Request, typename Response>
void AddAnswer(const Request& /*request*/, const Response& /*theirs*/, Response* /*sum*/) {}
void AddAnswer(const v1::GetStatisticsRequest& request, const v1::GetStatisticsResponse& theirs,
               v1::GetStatisticsResponse* sum);
// Keeps one row for each source and class: the one that was learned from the most signals. Each
// host belongs to one division. The sum keeps the worst hosts, up to the request's limit.
void AddAnswer(const v1::GetTrustReportRequest& request, const v1::GetTrustReportResponse& theirs,
               v1::GetTrustReportResponse* sum);
void AddAnswer(const v1::ListSourcesRequest& request, const v1::ListSourcesResponse& theirs,
               v1::ListSourcesResponse* sum);
// Adds up the rows of each crawl id. The sum keeps as many rows as the request's page size, and its
// token continues after the last of them.
void AddAnswer(const v1::ListCrawlsRequest& request, const v1::ListCrawlsResponse& theirs,
               v1::ListCrawlsResponse* sum);
// Adds one row for each division, sorted by division.
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

// The number of rows in GetTrustReport and in lists, unless the request sets another.
inline constexpr uint32_t kUsualRows = 100;

// Records in the sum that the division has not answered, and why.
void AddUnanswered(uint32_t division, const Status& why, google::protobuf::Message* sum);

// A list request that completes the response of a call that changed a setting. The response shows
// counts of a source or crawl id, and every division has a part of these counts. Value type,
// thread-compatible.
struct Listing {
  std::string_view path;
  grpc::ByteBuffer request;
  // Adds the list of one division to the response.
  std::function<void(const StatusOr<grpc::ByteBuffer>&)> add;
};
// Returns the listing that completes the response `done`, which outlives the listing. nullopt =
// responses of this type need no listing.
[[nodiscard]] std::optional<Listing> ListingOf(google::protobuf::Message* done);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_FLEET_SUMS_H_
