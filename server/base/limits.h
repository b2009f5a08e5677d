// The caps of the server: of calls, streams, connections and the queues inside it. Those of the
// core and of what is stored are in core/base/limits.h, where it says what becomes of what goes
// over one.
#ifndef FRESHET_SERVER_BASE_LIMITS_H_
#define FRESHET_SERVER_BASE_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace freshet::limits {

// --- Text that clients send

inline constexpr size_t kMaxSignalIdBytes = 128;

// --- Numbers that clients send

// Times in reports and signals may be this far in the future of the server's clock, not more.
inline constexpr int64_t kMaxClockSkewSeconds = 300;
inline constexpr int64_t kMaxLeaseSeconds = 24 * 3600;
inline constexpr int64_t kMaxNextWaitSeconds = 60;
inline constexpr int64_t kMaxBlockSeconds = int64_t{366} * 86400;

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
// Hosts and sources of one trust report.
inline constexpr int kMaxTrustRows = 1000;

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

// --- Crawl ids

// Crawl ids that one worker may name.
inline constexpr size_t kMaxCrawlsPerWorker = 16;
// Crawl ids that metrics show one by one.
inline constexpr size_t kMaxCrawlsShown = 100;
// Hosts that one rule of politeness in the configuration may list.
inline constexpr size_t kMaxHostsPerRule = 10'000;

}  // namespace freshet::limits

#endif  // FRESHET_SERVER_BASE_LIMITS_H_
