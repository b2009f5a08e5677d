// Limits of the server on calls, streams, connections and internal queues. core/base/limits.h has
// the limits of the core and of stored data, and says what happens above a limit.
#ifndef FRESHET_SERVER_BASE_LIMITS_H_
#define FRESHET_SERVER_BASE_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "core/base/units.h"

namespace freshet::limits {

// --- Text that clients send

inline constexpr size_t kMaxSignalIdBytes = 128;

// --- Numbers that clients send

// How far a time in a report or signal may lie ahead of the server's clock.
inline constexpr int64_t kMaxClockSkewSeconds = 300;
inline constexpr int64_t kMaxLeaseSeconds = 24 * 3600;
inline constexpr int64_t kMaxNextWaitSeconds = 60;
inline constexpr int64_t kMaxBlockSeconds = int64_t{366} * 86400;

// --- Streams and batches

inline constexpr int kMaxItemsPerMessage = 1000;
// Messages of one stream that were read but not yet acknowledged. At the cap the server stops
// reading the stream.
inline constexpr int kMaxUnackedMessagesPerStream = 64;
// Total size in bytes of these messages of one stream. At the cap the server stops reading the
// stream.
inline constexpr size_t kMaxUnackedBytesPerStream = size_t{32} << 20;
inline constexpr int kMaxMessageBytes = 16 << 20;
// Bytes, after decompression, of a request without repeated fields.
inline constexpr size_t kMaxPlainRequestBytes = size_t{64} << 10;
// Bytes of acknowledgements that wait to be written to a stream. At the cap the server stops
// reading the stream.
inline constexpr size_t kMaxUnwrittenBytesPerStream = size_t{256} << 10;
// Bytes of the text that says why an item was refused.
inline constexpr size_t kMaxReasonBytes = 300;
// Unknown fields of one message; newer clients may send some. protobuf keeps each of them in
// memory.
inline constexpr size_t kMaxUnknownFieldsPerMessage = 16'000;
inline constexpr int64_t kMaxCreditPerWorker = 10'000;
inline constexpr int kMaxAssignmentsPerNext = 1000;
inline constexpr int kMaxWorkers = 10'000;
// Different sets of crawl ids that connected workers ask for. Choosing a worker for a page takes
// time for each set.
inline constexpr size_t kMaxWorkerSets = 512;
inline constexpr int kMaxOpenLeasesPerWorker = 10'000;
// Total open leases of newcomers, which are workers that have not reported a result yet. The
// newcomers of one client may hold half of them, which is as many as one established worker may
// hold.
inline constexpr int kNewcomerLeases = 2 * kMaxOpenLeasesPerWorker;
inline constexpr int kMaxNewcomerLeases = 10 * kMaxOpenLeasesPerWorker;
inline constexpr int kMaxConnections = 10'000;
inline constexpr int kMaxStreams = 10'000;
// Caps for one client: half of the total, so that other clients always have the rest.
inline constexpr int kMaxConnectionsPerClient = kMaxConnections / 2;
inline constexpr int kMaxStreamsPerClient = kMaxStreams / 2;
// The maximum number of clients that a table of the server remembers, such as the table of budgets
// for items (server/base/named_budgets.h).
inline constexpr size_t kMaxClients = 65'536;
inline constexpr double kMostItemsPerSecond = 1e9;
inline constexpr double kLeastItemsPerSecond = 1e-6;
// Bytes of a call's metadata: names, values and 32 bytes for each entry.
inline constexpr int kMaxMetadataBytes = 8 << 10;
inline constexpr int kMaxStreamsPerConnection = 1000;
// Bytes of messages of all streams that were read but not yet acknowledged. At the cap the server
// reads from no stream.
inline constexpr int64_t kMaxUnackedBytes = int64_t{128} << 20;
inline constexpr int kMaxListPageSize = 1000;
// Hosts and sources of one trust report.
inline constexpr int kMaxTrustRows = 1000;

// --- Queues inside the server

// Events that wait for one shard. At the cap producers wait at first, and are then refused with
// RESOURCE_EXHAUSTED.
inline constexpr size_t kMaxMailboxEvents = 16'384;
inline constexpr int kMailboxWaitMillis = 2000;
// The maximum number of events that a shard takes from its mailbox for one commit, which is one
// write batch and one sync. A long event counts as several (CostOf in server/base/mailbox.h).
inline constexpr size_t kMaxEventsPerCommit = 4096;
static_assert(kMaxEventsPerCommit <= kMaxMailboxEvents);
static_assert(kMaxItemsPerMessage <= static_cast<int>(kMaxEventsPerCommit));
// A message enters a shard's mailbox in parts of this many events, so that events of other clients
// can be served in between.
inline constexpr size_t kEventsTogether = 128;
// In one turn, a shard handles at least one part of a message, and more events if they fit into
// kEventTurnTime of processor time. How many fit is estimated from earlier turns. If the events
// take longer than estimated, the turn ends after kLongestEventTurn.
inline constexpr Duration kEventTurnTime = Duration::Millis(25);
inline constexpr Duration kLongestEventTurn = Duration::Millis(50);
// The time for making and sending the answers of one turn. If answers take longer, later turns
// handle fewer events, because a shard waits for the answers of its last turn.
inline constexpr Duration kAnswerTime = Duration::Millis(5);
inline constexpr size_t kMaxReadyAssignments = 65'536;
// Single-page reads that may wait for one shard, and how many of them one turn of the shard serves.
inline constexpr size_t kMaxWaitingReads = 256;
inline constexpr size_t kReadsPerTurn = 16;
// Checkpoints and compactions that are accepted at the same time. One of them runs, and the others
// wait.
inline constexpr size_t kMaxUpkeeps = 4;
// Lists and exports in progress.
inline constexpr size_t kMaxListings = 64;
// Calls that one server of a cluster sends to the others in order to lend out the credit of its
// workers.
inline constexpr size_t kMaxLentCalls = 2000;

// --- The HTTP port and the configuration

// Larger headers are answered with 431, larger bodies with 413.
inline constexpr size_t kMaxHttpHeaderBytes = 8 << 10;
inline constexpr size_t kMaxHttpBodyBytes = 16 << 10;
// Bytes of a request body to /indexnow, and the number of bodies above kMaxHttpBodyBytes that are
// held at the same time: 16 MiB in all.
inline constexpr size_t kMaxIndexNowBodyBytes = 2 << 20;
inline constexpr size_t kMaxLargeHttpBodies = 8;
// URLs of one request to /indexnow; the protocol sets this limit.
inline constexpr int kMaxIndexNowUrls = 10'000;
// Limits of URLs that wait until their keys are checked: bytes of these URLs, and the number of
// unchecked keys, in total and for one host.
inline constexpr size_t kMaxIndexNowPendingBytes = 16 << 20;
inline constexpr size_t kMaxIndexNowPendingKeys = 256;
inline constexpr size_t kMaxIndexNowKeysOfHost = 4;
// Checked keys that are remembered, whether valid or not. Senders share them (core/base/shares.h).
inline constexpr size_t kMaxIndexNowKeys = 65'536;
// Bytes of a file that holds a key; keys have 8 to 128 characters.
inline constexpr size_t kMaxKeyFileBytes = 1024;
// Key files that are fetched at the same time, in total and for one sender. Each fetch has a
// thread, which mostly waits for the host.
inline constexpr int kKeyFetchThreads = 32;
inline constexpr int kKeyFetchesOfSender = kKeyFetchThreads / 8;
// Requests that can wait for a slow answer; further ones get 503.
inline constexpr size_t kMaxWaitingHttpRequests = 16;
// Bytes of answers that clients have not received yet. Above the cap a connection is closed
// (HttpOptions::max_unsent_bytes).
inline constexpr size_t kMaxUnsentHttpBytes = 32 << 20;
inline constexpr int64_t kMaxHttpConnections = 10'000;
inline constexpr size_t kMaxConfigBytes = 256 << 10;

// --- Crawl ids

// Crawl ids that one worker may name.
inline constexpr size_t kMaxCrawlsPerWorker = 16;
// Crawl ids that metrics show individually.
inline constexpr size_t kMaxCrawlsShown = 100;
// Hosts that one politeness rule in the configuration may list.
inline constexpr size_t kMaxHostsPerRule = 10'000;

}  // namespace freshet::limits

#endif  // FRESHET_SERVER_BASE_LIMITS_H_
