// Every cap of the program, in one place. What goes over a cap is refused with a precise error or
// held back by flow control; a test drives each one over its edge. Sizes are bytes of UTF-8 text.
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
inline constexpr size_t kMaxSignalIdBytes = 128;
inline constexpr size_t kMaxWorkerNameBytes = 128;
// An ETag, a Last-Modified text or a content digest that a worker wants back with the next
// assignment.
inline constexpr size_t kMaxValidatorBytes = 512;

// --- Numbers that clients send

inline constexpr double kMaxImportance = 1e15;
// Events per day; a page that changes more than once a second is not a page.
inline constexpr double kMaxChangesPerDay = 86400.0;
inline constexpr double kMaxCrawlsPerSecond = 10e6;
// Times in reports and signals may be this far in the future of the server's clock, not more.
inline constexpr int64_t kMaxClockSkewSeconds = 300;
inline constexpr int64_t kMaxLeaseSeconds = 24 * 3600;
inline constexpr int64_t kMaxNextWaitSeconds = 60;
inline constexpr int64_t kMaxBlockSeconds = int64_t{366} * 86400;
// Longest min or max interval between crawls, and longest host delay.
inline constexpr int64_t kMaxIntervalSeconds = int64_t{100} * 366 * 86400;

// --- Streams and batches

inline constexpr int kMaxItemsPerMessage = 1000;
// Messages of one stream that were read and not yet acknowledged; past it the stream is not read.
inline constexpr int kMaxUnackedMessagesPerStream = 64;
// Of messages that were read and not yet acknowledged; past it the stream is not read.
inline constexpr size_t kMaxUnackedBytesPerStream = size_t{32} << 20;
inline constexpr int kMaxMessageBytes = 16 << 20;
// Largest request, inflated, of a call whose request repeats no field.
inline constexpr size_t kMaxPlainRequestBytes = size_t{64} << 10;
// Of acknowledgements that wait to be written to a stream; past it the stream is not read.
inline constexpr size_t kMaxUnwrittenBytesPerStream = size_t{256} << 10;
// Of the text that says why an item was refused.
inline constexpr size_t kMaxReasonBytes = 300;
// Of the text that says why assignments are paused.
inline constexpr size_t kMaxPauseReasonBytes = 256;
// Fields of clients that are newer than the server, which protobuf keeps one by one.
inline constexpr size_t kMaxUnknownFieldsPerMessage = 16'000;
inline constexpr int64_t kMaxCreditPerWorker = 10'000;
inline constexpr int kMaxAssignmentsPerNext = 1000;
inline constexpr int kMaxWorkers = 10'000;
inline constexpr int kMaxOpenLeasesPerWorker = 10'000;
// Leases of all workers of which no result has come. Those of one address have half of them: as
// many as one worker may have.
inline constexpr int kNewcomerLeases = 2 * kMaxOpenLeasesPerWorker;
inline constexpr int kMaxNewcomerLeases = 10 * kMaxOpenLeasesPerWorker;
inline constexpr int kMaxConnections = 10'000;
inline constexpr int kMaxStreams = 10'000;
// Of one client: another always finds a place.
inline constexpr int kMaxConnectionsPerClient = kMaxConnections / 2;
inline constexpr int kMaxStreamsPerClient = kMaxStreams / 2;
// Clients of which it is remembered how many items they may send.
inline constexpr size_t kMaxClients = 65'536;
inline constexpr double kMostItemsPerSecond = 1e9;
inline constexpr double kLeastItemsPerSecond = 1e-6;
// Of the metadata of a call: names, values and 32 bytes for each.
inline constexpr int kMaxMetadataBytes = 8 << 10;
inline constexpr int kMaxStreamsPerConnection = 1000;
// Messages of all streams that were read and not yet acknowledged; past it no stream is read.
inline constexpr int64_t kMaxUnackedBytes = int64_t{128} << 20;
inline constexpr int kMaxListPageSize = 1000;

// --- Queues inside the server

// Events that wait for one shard; past it producers wait, then are refused with
// RESOURCE_EXHAUSTED.
inline constexpr size_t kMaxMailboxEvents = 16'384;
inline constexpr int kMailboxWaitMillis = 2000;
// Events that one drain takes, and so the most that one write batch and one sync cover. A long one
// counts as several (CostOf in server/base/mailbox.h).
inline constexpr size_t kMaxEventsPerCommit = 4096;
static_assert(kMaxEventsPerCommit <= kMaxMailboxEvents);
static_assert(kMaxItemsPerMessage <= static_cast<int>(kMaxEventsPerCommit));
inline constexpr size_t kMaxReadyAssignments = 65'536;
// Reads of single pages that wait for one shard, and those that one turn of it serves.
inline constexpr size_t kMaxWaitingReads = 256;
inline constexpr size_t kReadsPerTurn = 16;
// Checkpoints and compactions under way, of which all but one wait.
inline constexpr size_t kMaxUpkeeps = 4;
// Lists and exports under way.
inline constexpr size_t kMaxListings = 64;
// Calls that are out at the servers of a division, of all others together, for credit that their
// workers lend.
inline constexpr size_t kMaxLentCalls = 2000;

// --- The HTTP port and the configuration

// What goes over is answered with 431 and 413.
inline constexpr size_t kMaxHttpHeaderBytes = 8 << 10;
inline constexpr size_t kMaxHttpBodyBytes = 16 << 10;
// Of requests to /indexnow, and how many bodies larger than usual are held at a time: 16 MiB.
inline constexpr size_t kMaxIndexNowBodyBytes = 2 << 20;
inline constexpr size_t kMaxLargeHttpBodies = 8;
// URLs of one such request, as the protocol has it.
inline constexpr int kMaxIndexNowUrls = 10'000;
// What waits for keys to be checked, as bytes of URLs, and keys that wait.
inline constexpr size_t kMaxIndexNowPendingBytes = 16 << 20;
inline constexpr size_t kMaxIndexNowPendingKeys = 256;
inline constexpr size_t kMaxIndexNowKeysOfHost = 4;
// Keys whose check is remembered: good ones, and bad ones.
inline constexpr size_t kMaxIndexNowKeys = 65'536;
// Of a file that holds a key; keys have 8 to 128 characters.
inline constexpr size_t kMaxKeyFileBytes = 1024;
inline constexpr int kKeyFetchThreads = 4;
// Requests that wait for an answer which takes a while; past it they get 503.
inline constexpr size_t kMaxWaitingHttpRequests = 16;
// Bytes of answers that clients have not taken yet; past it the oldest connection is closed.
inline constexpr size_t kMaxUnsentHttpBytes = 32 << 20;
inline constexpr int64_t kMaxHttpConnections = 10'000;
inline constexpr size_t kMaxConfigBytes = 256 << 10;

// --- State

inline constexpr uint16_t kSlots = 4096;
inline constexpr size_t kMaxShards = 64;
// Of each page the queue of a rate plan may have to keep times, which it numbers by 28 bits.
inline constexpr uint64_t kMaxPagesPerShard = (uint64_t{1} << 28) - 1;
// Verification has all pages of a store in one shard; one page id is kept free.
inline constexpr uint64_t kMaxPageIds = (uint64_t{1} << 32) - 1;
static_assert(kMaxPagesPerShard <= kMaxPageIds);
inline constexpr size_t kMaxLeasesPerShard = 4'000'000;
// Leases that are over, of which a shard still knows the page and whether a result came.
inline constexpr size_t kMaxRememberedLeases = 65'536;
// Named signal sources. With four burst classes each, a (source, class) pair fits in one byte.
inline constexpr int kMaxSources = 32;
inline constexpr int kBurstClasses = 4;
static_assert(kMaxSources * kBurstClasses <= 256);
// Crawl observations kept per page; older ones live on in fading sums.
inline constexpr int kMaxObservations = 24;
// Pages of which the fit of a rate prior keeps what they showed, and sites of a shard that have a
// model of their own.
inline constexpr size_t kMaxPriorSamples = 4096;
inline constexpr size_t kMaxSiteModels = 4096;
// Bursts of signals of which a shard remembers what they proved worth, and pages waiting in them.
inline constexpr size_t kMaxBursts = 65'536;
inline constexpr size_t kMaxBurstPages = 4'000'000;
// Hosts and sources of which a shard remembers what their last crawls proved.
inline constexpr size_t kMaxWatchedSources = 16'384;
// Quarantines that began or ended and wait to be logged.
inline constexpr size_t kMaxQuarantineNews = 64;
// Hosts and sources of one trust report.
inline constexpr int kMaxTrustRows = 1000;
// Hosts and sources whose single signals of the last hours a shard counts together.
inline constexpr size_t kMaxSignalWindows = 65'536;
// Signals that arrive while a page is leased and may be newer than the fetch.
inline constexpr int kMaxSignalsDuringLease = 16;
// Ids of the latest signals of a page that are kept with it, so that one sent again counts once.
inline constexpr size_t kMaxRememberedSignalIds = 16;

// --- Crawl ids

// That have pages or settings.
inline constexpr size_t kMaxCrawls = 65'535;
// Those with a share or a maximum of the crawl rate, or whose pages some workers take alone, each
// of which has an index of its own in every shard, and all others together: a bit of a word for
// each.
inline constexpr size_t kMaxCrawlClasses = 64;
// That one worker may name.
inline constexpr size_t kMaxCrawlsPerWorker = 16;
// Pages of a crawl id or host being deleted that one commit of a shard removes, and ids that are
// looked at for them.
inline constexpr size_t kDeletionSlice = 256;
inline constexpr uint32_t kDeletionScan = 32'768;
// Crawl ids that metrics show one by one.
inline constexpr size_t kMaxCrawlsShown = 100;
// Rules of politeness in the configuration, and the hosts that one may list.
inline constexpr size_t kMaxHostRules = 1000;
inline constexpr size_t kMaxHostsPerRule = 10'000;
inline constexpr uint32_t kMaxCrawlsPerSpan = 1'000'000'000;  // of a cap
// Hosts that one look at a shard goes through for a list of hosts.
inline constexpr uint32_t kHostScan = 16'384;
// And once a second, to count those that are free.
inline constexpr uint32_t kHostsPerCensus = 8192;

}  // namespace freshet::limits

#endif  // FRESHET_CORE_BASE_LIMITS_H_
