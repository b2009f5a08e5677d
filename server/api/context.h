// What the services share: plain references to the parts of the server, and the little state that
// belongs to none of them.
#ifndef FRESHET_SERVER_API_CONTEXT_H_
#define FRESHET_SERVER_API_CONTEXT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "core/base/status.h"
#include "core/base/units.h"
#include "freshet/version.h"

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

// Counts of items that never reach a shard, or whose fate only the handlers know. Thread-safe.
struct HandlerCounters {
  std::atomic<uint64_t> results_refused{0};
  std::atomic<uint64_t> signals_refused{0};
  std::atomic<uint64_t> signal_streams{0};
  // Items of other divisions, that were sent on; and of these, those that nobody has answered for.
  std::atomic<uint64_t> sent_on{0};
  std::atomic<uint64_t> sent_on_unanswered{0};
  // Pages of other divisions that were sent to workers.
  std::atomic<uint64_t> assignments_elsewhere{0};
  std::atomic<uint64_t> upserts_applied{0};
  std::atomic<uint64_t> upserts_refused{0};
  // Messages after which a stream was read no further for a while, for the rate of its client or of
  // a source, and calls that came too early.
  std::atomic<uint64_t> slowed_by_client{0};
  std::atomic<uint64_t> slowed_by_source{0};
  std::atomic<uint64_t> refused_by_client{0};
};

// Outlives the services. Thread-safe as far as its parts are.
struct ServerContext {
  const ServerConfig& config;
  Clock& clock;
  Store& store;
  Router& router;
  Dispatcher& dispatcher;
  Sources& sources;
  Crawls& crawls;
  RuntimeSettings& settings;
  StreamSet& streams;
  Background& background;
  // What takes as long as the disk does: checkpoints, compactions. Few may be under way.
  Background& upkeep;
  Slots& upkeeps;
  PlanRunner& plans;
  EpochExchange& epochs;
  HandlerCounters& counters;
  CallStats& calls;
  Slots& lendings;   // calls to other divisions for credit of this one's workers
  Places& listings;  // lists, exports and reports over all shards, views of a fleet
  StandbyRoster& standbys;
  Authoriser& authoriser;
  AuditLog& audit;
  RequestIds& request_ids;
  Tracer& tracer;
  Instant started;
  Divisions* divisions;  // nullptr: there are none that can be asked
  UrlPages& url_pages;
  RateSharing* rates;                      // nullptr: the crawl rate is this server's own
  SettingsSharing* shared_settings;        // nullptr: so are its settings
  Frontier* frontier;                      // nullptr: the crawl-frontier API is not served
  std::function<std::string()> address;    // of the gRPC port, as clients may be told
  std::function<ClusterStatus()> cluster;  // null: this server is of none
  std::function<void()> end;               // ends this server as a signal does
  // Takes in a ping of IndexNow that came to another server, and answers once, on any thread.
  std::function<void(const v1::TakePingRequest&,
                     std::function<void(StatusOr<v1::TakePingResponse>)>)>
      take_ping;
  // The same of one that came to a standby, on behalf of whoever showed that there.
  std::function<void(const v1::AnswerPingRequest&, const Credentials&,
                     std::function<void(StatusOr<v1::AnswerPingResponse>)>)>
      answer_ping;
};

// Of a message, also once it is inflated.
[[nodiscard]] size_t MostBytes(const ServerContext& context);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_CONTEXT_H_
