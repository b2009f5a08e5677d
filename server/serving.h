// What exists while a server serves: shards that run, who hands out their pages, and the services.
#ifndef FRESHET_SERVER_SERVING_H_
#define FRESHET_SERVER_SERVING_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "server/api/context.h"
#include "server/api/health_calls.h"
#include "server/api/message_trace.h"
#include "server/api/standby_roster.h"
#include "server/api/status.h"
#include "server/api/switchboard.h"
#include "server/api/url_pages.h"
#include "server/base/live.h"
#include "server/base/places.h"
#include "server/base/ticker.h"
#include "server/engine/runtime_settings.h"
#include "server/fleet/shared_model.h"
#include "server/fleet/shared_rate.h"
#include "server/fleet/shared_settings.h"
#include "server/forward/division_peers.h"
#include "server/indexnow/receiver.h"
#include "server/ops/console_calls.h"
#include "server/ops/health.h"
#include "server/ops/metrics.h"
#include "server/ports/grpc_port.h"
#include "server/starting.h"

namespace freshet {

// Thread-safe but for Open, StopServing and Close, which are called once, in this order; the later
// ones also without those before.
class Serving {
 public:
  using End = std::function<void(std::string_view why, bool at_once)>;

  // Sets the shards and their threads going. At most `connections` of gRPC are open at a time. All
  // that is referred to outlives this; `metrics` tells this what the shards say.
  // `end` ends the server from outside, for the reason that it is given: in order at most once, and
  // at most once at once; null: nothing does.
  Serving(const ServerConfig& config, Clock& clock, int connections, Metrics& metrics,
          Health& health, Door& door, LoadedStore loaded, End end);
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;
  ~Serving();

  // Answers calls, and says so. Returns the port.
  [[nodiscard]] StatusOr<int> Open();
  // Of a cluster: serves on while standbys load the pages, so that one of them takes over at once;
  // cluster.handover at most.
  void AwaitStandbys();
  // Takes no more calls, lets those that are open come to their end, and gives back what was leased
  // ahead.
  void StopServing();
  // Ends all threads and closes the store. Not OK when the store had failed or does not close.
  [[nodiscard]] Status Close();

  // All but what is known of the HTTP port and of the start.
  [[nodiscard]] ServerStatus Gather() const;
  [[nodiscard]] uint64_t pages() const;
  [[nodiscard]] ClusterStatus cluster() const {
    if (cluster_ == nullptr) return {};
    ClusterStatus status = cluster_->status();
    status.items_sent_on = counters_.sent_on;
    status.assignments_elsewhere = counters_.assignments_elsewhere;
    status.items_sent_unanswered = counters_.sent_on_unanswered;
    if (rates_ != nullptr) status.rate = rates_->status();
    if (model_ != nullptr) status.learned_from = model_->heard();
    return status;
  }
  [[nodiscard]] Store& store() { return *store_; }
  [[nodiscard]] Dispatcher& dispatcher() { return dispatcher_; }
  [[nodiscard]] const Dispatcher& dispatcher() const { return dispatcher_; }
  [[nodiscard]] const ServerContext& context() const { return context_; }
  [[nodiscard]] IndexNowReceiver& indexnow() { return indexnow_; }
  // What the console asks for; null before Open.
  [[nodiscard]] ConsoleCalls* console() const { return open_console_; }
  [[nodiscard]] std::vector<ShardSnapshot> shards() const;
  // For how long the disk has had writes and has answered none; 0: it answers, or has none.
  [[nodiscard]] Duration disk_silence() const { return disk_silence_; }

 private:
  class ShardNews;

  [[nodiscard]] std::unique_ptr<SharedRate> MakeSharedRate(Clock& clock, const Settings& settings);
  // Of the store, by shards or the frontier: on any thread.
  void ReportFailure();
  void TakeOverPause(const Settings& settings);
  // Leaves the turn to a standby that would take over at once where Kafka confirms the turn of this
  // server and takes none of its commits.
  void LookAtTurn(Instant now);
  // The same where the disk gives no answer.
  void LookAtDisk(Instant now);
  // Whether a standby would take over at once.
  [[nodiscard]] bool HasSuccessor() const;
  // The names of the services that answer, whose methods are in the switchboard from here on.
  [[nodiscard]] std::vector<std::string> AddMethods();
  void EndCalls();
  void StopShards();
  // What Kafka has not taken for some seconds is given up meanwhile: it is never acknowledged.
  void WithoutWaitingForKafka(const std::function<void()>& work);
  [[nodiscard]] Status AddConfiguredSources();

  const ServerConfig& config_;
  Health& health_;
  Door& door_;
  const End end_;
  std::atomic<bool> had_successor_ = false;  // when it was told to end
  std::optional<Instant> waits_since_;       // for Kafka, with its turn confirmed; owner: watch_
  uint64_t writes_ended_ = 0;                // of the disk; owner: disk_watch_
  std::optional<Instant> disk_answered_;     // owner: disk_watch_
  Live<Duration> disk_silence_;
  // Later members use earlier ones.
  const std::unique_ptr<AuditLog> audit_;
  const std::unique_ptr<Cluster> cluster_;  // nullptr: the server is alone
  std::unique_ptr<Forwarder> forwarder_;    // until it serves itself
  // Has the first division answer the crawl-frontier API; nullptr: it is served here, or not at
  // all.
  const std::unique_ptr<CallForwarder> frontier_calls_;
  // nullptr: nobody else has pages, or is to be asked.
  const std::unique_ptr<DivisionPeers> divisions_;
  const std::unique_ptr<Store> store_;
  const std::shared_ptr<EpochExchange> epochs_;
  const std::vector<std::unique_ptr<Shard>> shards_;
  Router router_;
  RuntimeSettings settings_;
  Sources sources_;
  const std::unique_ptr<Crawls> crawls_;
  const std::unique_ptr<Frontier> frontier_;  // nullptr: not served
  std::atomic<int> port_{0};                  // of gRPC, once it listens
  StreamSet streams_;
  HandlerCounters counters_;
  CallStats calls_;
  Slots lendings_;
  Places listings_;
  StandbyRoster standbys_;
  Slots upkeeps_;
  Dispatcher dispatcher_;
  Background background_;
  Background upkeep_;
  PlanRunner plans_;
  const std::unique_ptr<SharedRate> rates_;  // nullptr: the crawl rate is this server's own
  const std::unique_ptr<SharedSettings> shared_settings_;  // nullptr: so are its settings
  const std::unique_ptr<ShardNews> shard_news_;
  RequestIds request_ids_;
  Tracer tracer_;
  UrlPages url_pages_;
  const ServerContext context_;
  const std::unique_ptr<SharedModel> model_;  // nullptr: the shards learn from their own pages
  HealthCalls health_calls_;
  Switchboard switchboard_;
  IndexNowReceiver indexnow_;
  GrpcPort grpc_port_;
  std::unique_ptr<Ticker> watch_;       // looks at the calls that are open
  std::unique_ptr<Ticker> disk_watch_;  // until the turn is left
  std::unique_ptr<ConsoleCalls> console_;
  std::atomic<ConsoleCalls*> open_console_{nullptr};  // once it can be used
};

}  // namespace freshet

#endif  // FRESHET_SERVER_SERVING_H_
