// The caps of the core and of stored data. server/base/limits.h has the caps of the server,
// core/base/id_limits.h the caps that follow from the width of ids. Input over a cap is refused
// with a precise error or held back by flow control; a test drives each one over its edge. Sizes
// are bytes of UTF-8 text.
#ifndef FRESHET_CORE_BASE_LIMITS_H_
#define FRESHET_CORE_BASE_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace freshet::limits {

// --- Text that clients send

// Longer URLs exist but none that a crawler should revisit; 8 KiB is what common web servers
// accept.
inline constexpr size_t kMaxUrlBytes = 8192;
// In ASCII and without a trailing dot; no longer name can be looked up in the DNS (RFC 1035).
inline constexpr size_t kMaxHostBytes = 253;
inline constexpr size_t kMaxCrawlIdBytes = 64;
inline constexpr size_t kMaxSourceNameBytes = 64;
inline constexpr size_t kMaxWorkerNameBytes = 128;
// An ETag, a Last-Modified text or a content digest that a worker wants back with the next
// assignment.
inline constexpr size_t kMaxValidatorBytes = 512;
// The text that says why assignments are paused.
inline constexpr size_t kMaxPauseReasonBytes = 256;

// --- Numbers that clients send

inline constexpr double kMaxImportance = 1e15;
// Events per day; a page that changes more than once a second is not a page.
inline constexpr double kMaxChangesPerDay = 86400.0;
inline constexpr double kMaxCrawlsPerSecond = 10e6;
// Longest min or max interval between crawls, and longest host delay.
inline constexpr int64_t kMaxIntervalSeconds = int64_t{100} * 366 * 86400;

// --- State

inline constexpr size_t kMaxLeasesPerShard = 4'000'000;
// Max ended leases of which a shard still knows the page and whether a result came.
inline constexpr size_t kMaxRememberedLeases = 65'536;
// Crawl observations kept per page; older ones live on in fading sums.
inline constexpr int kMaxObservations = 24;
// Max pages whose samples the fit of a rate prior keeps, and sites of a shard with a model of their
// own.
inline constexpr size_t kMaxPriorSamples = 4096;
inline constexpr size_t kMaxSiteModels = 4096;
// Max bursts of signals whose proven worth a shard remembers, and pages waiting in them.
inline constexpr size_t kMaxBursts = 65'536;
inline constexpr size_t kMaxBurstPages = 4'000'000;
// Max (host, source) pairs of which a shard remembers what the last crawls proved.
inline constexpr size_t kMaxWatchedSources = 16'384;
// Max quarantines that began or ended and wait to be logged.
inline constexpr size_t kMaxQuarantineNews = 64;
// Max (host, source) pairs whose single signals of the last hours a shard counts together.
inline constexpr size_t kMaxSignalWindows = 65'536;
// Max signals kept that arrive while a page is leased: they may be newer than the fetch.
inline constexpr int kMaxSignalsDuringLease = 16;
// Max ids of latest signals kept with a page, so that a signal sent again counts once.
inline constexpr size_t kMaxRememberedSignalIds = 16;

// --- Crawl ids and hosts

// While a crawl id or host is deleted: max pages that one commit of a shard removes, and max ids
// that it looks at for them.
inline constexpr size_t kDeletionSlice = 256;
inline constexpr uint32_t kDeletionScan = 32'768;
// Max rules of politeness in the configuration.
inline constexpr size_t kMaxHostRules = 1000;
inline constexpr uint32_t kMaxCrawlsPerSpan = 1'000'000'000;  // max count of a cap
// Max hosts that one look at a shard goes through for a list of hosts.
inline constexpr uint32_t kHostScan = 16'384;
// Max hosts that a shard looks at each second, to count the free ones.
inline constexpr uint32_t kHostsPerCensus = 8192;

}  // namespace freshet::limits

#endif  // FRESHET_CORE_BASE_LIMITS_H_
