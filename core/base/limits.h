// The limits of the core and of stored data. Limits of the server are in server/base/limits.h, and
// limits that follow from the width of ids are in core/base/id_limits.h. Input over a limit is
// refused with a precise error or held back by flow control. Each limit has a test that exceeds it.
// Sizes are bytes of UTF-8 text.
#ifndef FRESHET_CORE_BASE_LIMITS_H_
#define FRESHET_CORE_BASE_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace freshet::limits {

// --- Text that clients send

// Longer URLs exist, but none that a crawler should revisit. Common web servers accept 8 KiB.
inline constexpr size_t kMaxUrlBytes = 8192;
// Max length of a host name in ASCII, without a trailing dot. The DNS cannot look up a longer name
// (RFC 1035).
inline constexpr size_t kMaxHostBytes = 253;
inline constexpr size_t kMaxCrawlIdBytes = 64;
inline constexpr size_t kMaxSourceNameBytes = 64;
inline constexpr size_t kMaxWorkerNameBytes = 128;
// Max length of an ETag, a Last-Modified text or a content digest. A worker reports them with a
// result, and the page's next assignment contains them.
inline constexpr size_t kMaxValidatorBytes = 512;
// Max length of the reason that an operator gives for pausing assignments.
inline constexpr size_t kMaxPauseReasonBytes = 256;

// --- Numbers that clients send

inline constexpr double kMaxImportance = 1e15;
// Events per day. No real page changes more than once a second.
inline constexpr double kMaxChangesPerDay = 86400.0;
inline constexpr double kMaxCrawlsPerSecond = 10e6;
// The longest min or max interval between crawls, and the longest host delay.
inline constexpr int64_t kMaxIntervalSeconds = int64_t{100} * 366 * 86400;

// --- State

inline constexpr size_t kMaxLeasesPerShard = 4'000'000;
// Max ended leases that a shard remembers. For each one, it remembers the page, and whether a
// result was accepted.
inline constexpr size_t kMaxRememberedLeases = 65'536;
// Max crawl observations kept per page. Older ones remain only in decaying sums.
inline constexpr int kMaxObservations = 24;
// Max pages whose samples are kept to fit a rate prior.
inline constexpr size_t kMaxPriorSamples = 4096;
// Max sites per shard that have a model of their own.
inline constexpr size_t kMaxSiteModels = 4096;
// Max bursts of signals for which a shard remembers the results of crawls.
inline constexpr size_t kMaxBursts = 65'536;
// Max pages that a shard keeps in bursts, waiting for results of crawls.
inline constexpr size_t kMaxBurstPages = 4'000'000;
// Max (host, source) pairs for which a shard remembers the results of the latest crawls.
inline constexpr size_t kMaxWatchedSources = 16'384;
// Max log entries about starts and ends of quarantines that a shard keeps until they are logged.
inline constexpr size_t kMaxQuarantineNews = 64;
// Max (host, source) pairs for which a shard counts the recent signals that did not come in a
// burst.
inline constexpr size_t kMaxSignalWindows = 65'536;
// Max signals that are kept for a leased page: a signal can be newer than the fetch.
inline constexpr int kMaxSignalsDuringLease = 16;
// Max recent signal ids kept per page, so that a signal that is sent again counts once.
inline constexpr size_t kMaxRememberedSignalIds = 16;

// --- Crawl ids and hosts

// Limits of one commit that deletes pages of a crawl id or a host. The commit removes at most
// kDeletionSlice pages, and scans at most kDeletionScan page ids to find them.
inline constexpr size_t kDeletionSlice = 256;
inline constexpr uint32_t kDeletionScan = 32'768;
// Max politeness rules in the configuration.
inline constexpr size_t kMaxHostRules = 1000;
inline constexpr uint32_t kMaxCrawlsPerSpan = 1'000'000'000;  // max crawls in a crawl cap
// Max hosts that one query of a shard scans to list hosts.
inline constexpr uint32_t kHostScan = 16'384;
// Max hosts that a shard scans each second to count those that may be crawled now.
inline constexpr uint32_t kHostsPerCensus = 8192;

}  // namespace freshet::limits

#endif  // FRESHET_CORE_BASE_LIMITS_H_
