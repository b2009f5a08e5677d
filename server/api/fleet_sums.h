// What servers of several divisions of a fleet say, made one.
//
// All functions are thread-safe.
#ifndef FRESHET_SERVER_API_FLEET_SUMS_H_
#define FRESHET_SERVER_API_FLEET_SUMS_H_

#include <cstddef>

#include "freshet/v1/admin.pb.h"

namespace freshet {

// What another division counts and believes, into the sum of those before, which begins with the
// answer of this one.
void AddCounts(const v1::GetStatisticsResponse& theirs, v1::GetStatisticsResponse* sum);
// Both by source and class; of each the one that learned from most signals is believed. Of hosts,
// each of which is of one division, no more than `limit` stay.
void AddCounts(const v1::GetTrustReportResponse& theirs, size_t limit,
               v1::GetTrustReportResponse* sum);
void AddCounts(const v1::ListSourcesResponse& theirs, v1::ListSourcesResponse* sum);
// Both by crawl id, of which no more than `limit` stay. The token is that for the next ones.
void AddCounts(const v1::ListCrawlsResponse& theirs, size_t limit, v1::ListCrawlsResponse* sum);

// What another division has done of a call, into what all did; empty where nothing has been.
template <typename Response>
void AddDone(const Response& /*theirs*/, Response* /*all*/) {}
void AddDone(const v1::RunEpochResponse& theirs, v1::RunEpochResponse* all);
void AddDone(const v1::RegisterSourceResponse& theirs, v1::RegisterSourceResponse* all);
void AddDone(const v1::UnregisterSourceResponse& theirs, v1::UnregisterSourceResponse* all);
void AddDone(const v1::SetCrawlResponse& theirs, v1::SetCrawlResponse* all);
void AddDone(const v1::DeleteCrawlResponse& theirs, v1::DeleteCrawlResponse* all);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_FLEET_SUMS_H_
