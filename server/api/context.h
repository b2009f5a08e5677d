// The parts of the server that services share, as plain references, and a little state that belongs
// to no part.
#ifndef FRESHET_SERVER_API_CONTEXT_H_
#define FRESHET_SERVER_API_CONTEXT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "core/base/status.h"
#include "core/base/units.h"
#include "freshet/version.h"
#include "server/base/live.h"

namespace freshet {

namespace v1 {
class AnswerPingRequest;
class AnswerPingResponse;
class TakePingRequest;
class TakePingResponse;
}  // namespace v1

class AuditLog;
class Authoriser;
class Background;
class CallStats;
class Clock;
struct ClusterStatus;
class Crawls;
struct Credentials;
class Dispatcher;
class Divisions;
class EpochExchange;
class Frontier;
class Places;
class PlanRunner;
class RateSharing;
class RequestIds;
class Router;
class RuntimeSettings;
struct ServerConfig;
class SettingsSharing;
class Slots;
class Sources;
class StandbyRoster;
class Store;
class StreamSet;
class Tracer;
class UrlPages;

inline constexpr const char* kVersion = FRESHET_VERSION;

// Counts of items that never reach a shard, or whose outcomes only the handlers know. Thread-safe.
struct HandlerCounters {
  Live<uint64_t> results_refused;
  Live<uint64_t> signals_refused;
  Live<uint64_t> signal_streams;
  // Items that were forwarded to other divisions, and how many of these got no answer.
  Live<uint64_t> sent_on;
  Live<uint64_t> sent_on_unanswered;
  // Pages of other divisions that were assigned to workers of this server.
  Live<uint64_t> assignments_elsewhere;
  // Pages handed out by GetURLs of the crawl-frontier API.
  Live<uint64_t> pages_of_urls;
  Live<uint64_t> upserts_applied;
  Live<uint64_t> upserts_refused;
  // Messages after which the server paused reading, because the client or a source exceeded its
  // rate; and calls that were refused because the client exceeded its rate.
  Live<uint64_t> slowed_by_client;
  Live<uint64_t> slowed_by_source;
  Live<uint64_t> refused_by_client;
};

// The parts of a server that calls of all methods use. Both an active server and a standby have
// them. This struct and the structs below are as thread-safe as their parts.
struct CallParts {
  const ServerConfig& config;
  Clock& clock;
  StreamSet& streams;
  CallStats& calls;
  Authoriser& authoriser;
  RequestIds& request_ids;
};

// The parts that count, limit and record calls of an active server.
struct NoteParts {
  HandlerCounters& counters;
  Places& listings;  // lists, exports and reports over all shards, and views of a fleet
  AuditLog& audit;
  Tracer& tracer;
};

// The pages, and the parts that decide about them.
struct EngineParts {
  Store& store;
  Router& router;
  Dispatcher& dispatcher;
  Sources& sources;
  Crawls& crawls;
  RuntimeSettings& settings;
  PlanRunner& plans;
  EpochExchange& epochs;
  UrlPages& url_pages;
  RateSharing& rates;  // the crawl rate of the fleet, or of this server alone
  Frontier* frontier;  // nullptr = the crawl-frontier API is not served
};

// Threads for work that waits for the disk.
struct WorkParts {
  Background& background;
  // For work that takes long on the disk, such as checkpoints and compactions. `upkeeps` limits the
  // number of accepted jobs.
  Background& upkeep;
  Slots& upkeeps;
};

// The parts that know the other servers of a cluster.
struct FleetParts {
  Divisions* divisions;              // nullptr = other divisions cannot be asked
  SettingsSharing* shared_settings;  // nullptr = this server shares no settings
  StandbyRoster& standbys;
  Places& lendings;  // calls to other divisions that lend credit of this server's workers
  std::function<ClusterStatus()> cluster;  // nullptr = the server is in no cluster
  // Handles an IndexNow ping that another server received. Answers exactly once, on any thread.
  std::function<void(const v1::TakePingRequest&,
                     std::function<void(StatusOr<v1::TakePingResponse>)>)>
      take_ping;
  // Handles a ping that a standby received, with the credentials that the client showed to the
  // standby. Answers exactly once, on any thread.
  std::function<void(const v1::AnswerPingRequest&, const Credentials&,
                     std::function<void(StatusOr<v1::AnswerPingResponse>)>)>
      answer_ping;
};

// All parts, for handlers that need several of them. Outlives the services.
struct ServerContext : CallParts, NoteParts, EngineParts, WorkParts, FleetParts {
  Instant started;
  std::function<std::string()> address;  // the address of the gRPC port, for clients
  std::function<void()> end;             // ends this server in the same way as a signal
};

// The maximum size of a message in bytes, both as received and after decompression.
[[nodiscard]] size_t MostBytes(const CallParts& parts);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_CONTEXT_H_
