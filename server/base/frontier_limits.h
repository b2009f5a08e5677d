// The caps of the crawl-frontier API, as server/base/limits.h has those of all other calls. What
// can be configured beside them is in FrontierLimits (server/frontier/frontier_limits.h).
#ifndef FRESHET_SERVER_BASE_FRONTIER_LIMITS_H_
#define FRESHET_SERVER_BASE_FRONTIER_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace freshet::limits {

// Of crawl ids and keys of queues, in characters.
inline constexpr size_t kMaxFrontierNameCharacters = 255;
// URLs, and batches of them, of one stream that were read and not yet acknowledged.
inline constexpr int kMaxUnackedUrlsPerStream = 1024;
inline constexpr int kMaxUnackedUrlBatchesPerStream = 16;
inline constexpr size_t kMaxUrlsPerBatch = 10'000;
inline constexpr size_t kMaxFrontierCrawls = 10'000;
// That Freshet schedules, and likewise those in shadow mode.
inline constexpr size_t kMaxScheduledCrawls = 16;
// Pages of one in shadow mode that a report reads, and those that it computes with.
inline constexpr uint64_t kMaxShadowReportPages = 1'000'000;
inline constexpr uint64_t kUsualShadowReportPages = 200'000;
inline constexpr size_t kShadowReportSample = 2000;
inline constexpr uint32_t kMaxShadowReportExamples = 100;
inline constexpr uint32_t kUsualShadowReportExamples = 10;
// Of all crawl ids together; each takes some hundred bytes of memory.
inline constexpr uint64_t kMaxFlights = 10'000'000;
// URLs that wait for the frontier; past it they are refused for now.
inline constexpr size_t kMaxWaitingUrls = 65'536;
// URLs that one commit covers. A long one counts as several (CostOf in server/base/mailbox.h).
inline constexpr size_t kMaxUrlsPerCommit = 4096;
// That are given out to one call before it is asked whether it has written them.
inline constexpr size_t kMaxUrlsPerPull = 128;
// That are looked at for a list, a count or a purge before others have their turn.
inline constexpr size_t kFrontierSlice = 4096;
inline constexpr uint32_t kUsualFrontierPage = 100;
inline constexpr uint32_t kUsualFrontierLeaseSeconds = 30;

}  // namespace freshet::limits

#endif  // FRESHET_SERVER_BASE_FRONTIER_LIMITS_H_
