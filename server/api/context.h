// The parts of the server that services share: plain references, and the little state that belongs
// to none of them.
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

// Counts of items that never reach a shard, or whose outcome only the handlers know. Thread-safe.
struct HandlerCounters {
  Live<uint64_t> results_refused;
  Live<uint64_t> signals_refused;
  Live<uint64_t> signal_streams;
  // Items of other divisions that were sent on; and those without any answer.
  Live<uint64_t> sent_on;
  Live<uint64_t> sent_on_unanswered;
  // Pages of other divisions that were sent to workers.
  Live<uint64_t> assignments_elsewhere;
  // Pages that GetURLs of the crawl-frontier API gave out.
  Live<uint64_t> pages_of_urls;
  Live<uint64_t> upserts_applied;
  Live<uint64_t> upserts_refused;
  // Messages after which a stream was not read for a while, by the rate of its client or of a
  // source; and calls that came too early.
  Live<uint64_t> slowed_by_client;
  Live<uint64_t> slowed_by_source;
  Live<uint64_t> refused_by_client;
};

// The parts of a server, serving or standby, that calls of all methods use. As thread-safe as
// these, as all structs below.
struct CallParts {
  const ServerConfig& config;
  Clock& clock;
  StreamSet& streams;
  CallStats& calls;
  Authoriser& authoriser;
  RequestIds& request_ids;
};

// The parts that count, bound and record calls of a serving server.
struct NoteParts {
  HandlerCounters& counters;
  Places& listings;  // lists, exports and reports over all shards, views of a fleet
  AuditLog& audit;
  Tracer& tracer;
};

// Pages, and what decides about them.
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
  RateSharing& rates;  // the crawl rate: of the fleet, or this server's own
  Frontier* frontier;  // nullptr = the crawl-frontier API is not served
};

// Threads for work that waits for the disk.
struct WorkParts {
  Background& background;
  // Work that takes as long as the disk: checkpoints, compactions. Few may be under way.
  Background& upkeep;
  Slots& upkeeps;
};

// The other servers of a cluster.
struct FleetParts {
  Divisions* divisions;              // nullptr = no other divisions can be asked
  SettingsSharing* shared_settings;  // nullptr = the settings are this server's own
  StandbyRoster& standbys;
  Places& lendings;  // calls to other divisions for credit of this one's workers
  std::function<ClusterStatus()> cluster;  // null = the server is in no cluster
  // Takes an IndexNow ping that came to another server, and answers once, on any thread.
  std::function<void(const v1::TakePingRequest&,
                     std::function<void(StatusOr<v1::TakePingResponse>)>)>
      take_ping;
  // Takes a ping that came to a standby, with the credentials shown there, and answers once, on any
  // thread.
  std::function<void(const v1::AnswerPingRequest&, const Credentials&,
                     std::function<void(StatusOr<v1::AnswerPingResponse>)>)>
      answer_ping;
};

// All of these, for handlers that need more than one. Outlives the services.
struct ServerContext : CallParts, NoteParts, EngineParts, WorkParts, FleetParts {
  Instant started;
  std::function<std::string()> address;  // the address of the gRPC port, for clients
  std::function<void()> end;             // ends this server as a signal does
};

// The most bytes of a message, also once inflated.
[[nodiscard]] size_t MostBytes(const CallParts& parts);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_CONTEXT_H_
