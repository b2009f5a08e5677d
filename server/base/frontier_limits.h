// Limits of the crawl-frontier API. server/base/limits.h has the limits of all other calls, and
// FrontierLimits (server/frontier/frontier_limits.h) has the limits that can be configured.
#ifndef FRESHET_SERVER_BASE_FRONTIER_LIMITS_H_
#define FRESHET_SERVER_BASE_FRONTIER_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "core/base/units.h"

namespace freshet::limits {

// Characters of a crawl id or the key of a queue.
inline constexpr size_t kMaxFrontierNameCharacters = 255;
// URLs, and batches of URLs, of one stream that were read but not yet acknowledged.
inline constexpr int kMaxUnackedUrlsPerStream = 1024;
inline constexpr int kMaxUnackedUrlBatchesPerStream = 16;
inline constexpr size_t kMaxUrlsPerBatch = 10'000;
inline constexpr size_t kMaxFrontierCrawls = 10'000;
// Crawl ids in scheduled mode (docs/urlfrontier.md). In addition, the same number of crawl ids can
// be in shadow mode.
inline constexpr size_t kMaxScheduledCrawls = 16;
// Limits of a report about a crawl id in shadow mode, in this order: the number of pages that the
// report reads, at most and by default; the number of pages in the sample that it compares; and the
// number of examples in it, at most and by default.
inline constexpr uint64_t kMaxShadowReportPages = 1'000'000;
inline constexpr uint64_t kUsualShadowReportPages = 200'000;
inline constexpr size_t kShadowReportSample = 2000;
inline constexpr uint32_t kMaxShadowReportExamples = 100;
inline constexpr uint32_t kUsualShadowReportExamples = 10;
// Leased URLs of all crawl ids together. Each takes about a hundred bytes of memory.
inline constexpr uint64_t kMaxFlights = 10'000'000;
// URLs that wait for the frontier's thread. Further URLs are refused until there is room again.
inline constexpr size_t kMaxWaitingUrls = 65'536;
// URLs that one commit covers. A long URL counts as several (CostOf in server/base/mailbox.h).
inline constexpr size_t kMaxUrlsPerCommit = 4096;
// In one turn, the frontier's thread handles at least kLeastUrlsPerTurn URLs, and more if they fit
// into this processor time.
inline constexpr Duration kUrlTurnTime = Duration::Millis(20);
inline constexpr size_t kLeastUrlsPerTurn = 256;
// URLs that a call gets from the frontier at a time. The call asks for more after it has written
// them to its client.
inline constexpr size_t kMaxUrlsPerPull = 128;
// URLs that a list, a count or a purge examines before other work is served.
inline constexpr size_t kFrontierSlice = 4096;
inline constexpr uint32_t kUsualFrontierPage = 100;
inline constexpr uint32_t kUsualFrontierLeaseSeconds = 30;

}  // namespace freshet::limits

#endif  // FRESHET_SERVER_BASE_FRONTIER_LIMITS_H_
