// A serving server: running shards, the dispatcher of their pages, and the services.
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
#include "server/api/crawl_rate.h"
#include "server/api/health_calls.h"
#include "server/api/message_trace.h"
#include "server/api/standby_roster.h"
#include "server/api/status.h"
#include "server/api/switchboard.h"
#include "server/api/url_pages.h"
#include "server/base/live.h"
#include "server/base/places.h"
#include "server/base/ticker.h"
#include "server/engine/plan_runner.h"
#include "server/engine/quarantine_log.h"
#include "server/engine/runtime_settings.h"
#include "server/fleet/shared_model.h"
#include "server/fleet/shared_rate.h"
#include "server/fleet/shared_settings.h"
#include "server/forward/division_peers.h"
#include "server/indexnow/receiver.h"
#include "server/ops/console_calls.h"
#include "server/ops/health.h"
#include "server/ports/grpc_port.h"
#include "server/starting.h"

namespace freshet {

class Serving;

// Measures for how long the disk has completed none of the writes in progress. One thread calls
// Look; any thread may call `lasts`.
class DiskSilence {
 public:
  // Updates and returns the duration of the silence. Must be called periodically.
  Duration Look(const StoreWrites& writes, Instant now) {
    const bool answers = writes.begun == writes.ended || writes.ended != ended_;
    if (answers || !answered_) answered_ = now;
    ended_ = writes.ended;
    lasts_ = now - *answered_;
    return lasts_;
  }
  // The duration of the silence; 0 = the disk responds, or no write is in progress.
  [[nodiscard]] Duration lasts() const { return lasts_; }

 private:
  uint64_t ended_ = 0;
  std::optional<Instant> answered_;
  Live<Duration> lasts_;
};

// Passes the shards' notifications on to Serving. The shards are constructed before Serving, so
// Serving is set later, by Tell. Thread-safe, except for Tell.
class ShardNews final : public ShardObserver {
 public:
  // Sets the receiver, which outlives the shards. Must be called before the shards start.
  void Tell(Serving* serving) { serving_ = serving; }

  void OnFailure(uint16_t shard, const Status& status) override;
  void OnPagesMayBeDue() override;
  void OnLeases(const LeaseTallies& tallies) override;
  void OnGroups(uint16_t shard, const std::vector<GroupStanding>& standings) override;
  void OnQuarantine(const QuarantineNews& news) override;
  void OnCrawlEmptied(uint16_t shard, const std::string& crawl_id) override;
  void OnCrawlDeclassed(uint16_t shard, const std::string& crawl_id) override;

 private:
  Serving* serving_ = nullptr;
  QuarantineLog quarantines_;
};

// The serving server. Thread-safe, except for Open, StopServing and Close. Each of these is called
// at most once, in this order. Open and StopServing are optional.
class Serving {
 public:
  using End = std::function<void(std::string_view why, bool at_once)>;

  // Starts the shards and their threads. At most `connections` gRPC connections are open at a time.
  // All references must outlive this object. `news` receives the shards' notifications. This object
  // calls `end` when the server should end, at most once for each value of `at_once`
  // (Server::WhenToEnd); nullptr = nothing is called.
  Serving(const ServerConfig& config, Clock& clock, int connections, ShardNews& news,
          Health& health, Door& door, LoadedStore loaded, End end);
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;
  ~Serving();

  // Opens the gRPC port, and announces in the cluster that this server serves. Returns the port
  // number.
  [[nodiscard]] StatusOr<int> Open();
  // In a cluster, waits until the standbys have loaded the pages, so that one of them can take over
  // at once. Waits at most for cluster.handover. Meanwhile the server continues to serve.
  void AwaitStandbys();
  // Accepts no more calls, lets open calls end, and returns pages that were leased ahead of demand.
  void StopServing();
  // Ends all threads and closes the store. Not OK: the store had failed, or closing it failed.
  [[nodiscard]] Status Close();

  // The status, without the parts about the HTTP port and the start.
  [[nodiscard]] ServerStatus Gather() const;
  [[nodiscard]] uint64_t pages() const;
  [[nodiscard]] ClusterStatus cluster() const {
    if (cluster_ == nullptr) return {};
    ClusterStatus status = cluster_->status();
    status.items_sent_on = calls_.counters.sent_on;
    status.assignments_elsewhere = calls_.counters.assignments_elsewhere;
    status.items_sent_unanswered = calls_.counters.sent_on_unanswered;
    status.rate = context_.rates.status();
    if (model_ != nullptr) status.learned_from = model_->heard();
    return status;
  }
  [[nodiscard]] Store& store() { return *store_; }
  [[nodiscard]] Dispatcher& dispatcher() { return dispatcher_; }
  [[nodiscard]] const Dispatcher& dispatcher() const { return dispatcher_; }
  [[nodiscard]] const ServerContext& context() const { return context_; }
  [[nodiscard]] IndexNowReceiver& indexnow() { return indexnow_; }
  // Answers the console; nullptr before Open.
  [[nodiscard]] ConsoleCalls* console() const { return open_console_; }
  // How long the disk has not completed any write; 0 = the disk responds, or no write is in
  // progress.
  [[nodiscard]] Duration disk_silence() const { return disk_.lasts(); }

 private:
  friend class ShardNews;

  // Counters and limits for the calls of all methods.
  struct Calls {
    Calls(const ServerConfig& config, Clock& clock);

    StreamSet streams;
    HandlerCounters counters;
    CallStats stats;
    Places lendings;
    Places listings{limits::kMaxListings};
    RequestIds request_ids;
    Tracer tracer;
  };
  struct Work {
    Background background;
    Background upkeep;
    Slots upkeeps{limits::kMaxUpkeeps};
  };

  [[nodiscard]] std::unique_ptr<SharedRate> MakeSharedRate(Clock& clock, const Settings& settings);
  // Reports a failure of the store. Shards and the frontier call this on any thread.
  void ReportFailure();
  void TakeOverPause(const Settings& settings);
  // Ends this server in favor of a ready standby if Kafka confirms this server's turn but accepts
  // none of its commits for too long.
  void LookAtTurn(Instant now);
  // Ends this server in favor of a ready standby if the disk does not respond for too long.
  void LookAtDisk(Instant now);
  // Whether a standby is ready to take over at once.
  [[nodiscard]] bool HasSuccessor() const;
  // Adds all methods to the switchboard, and returns the names of their services.
  [[nodiscard]] std::vector<std::string> AddMethods();
  void EndCalls();
  void StopShards();
  // Runs `work`. Meanwhile, commits that wait for Kafka are abandoned after a short time and never
  // acknowledged.
  void WithoutWaitingForKafka(const std::function<void()>& work);
  [[nodiscard]] Status AddConfiguredSources();

  const ServerConfig& config_;
  Health& health_;
  Door& door_;
  const End end_;
  std::atomic<bool> had_successor_ = false;  // HasSuccessor() when the server was told to stop
  // The time since which commits wait for Kafka although it confirms the turn; unset = they do not.
  // Used by watch_.
  std::optional<Instant> waits_since_;
  DiskSilence disk_;  // used by disk_watch_

  // Later members use earlier ones.
  const std::unique_ptr<AuditLog> audit_;
  const std::unique_ptr<Cluster> cluster_;  // nullptr = a single server
  std::unique_ptr<Forwarder> forwarder_;    // nullptr once this server serves
  // Sends calls of the crawl-frontier API to the division that serves it; nullptr = such calls are
  // not forwarded.
  const std::unique_ptr<CallForwarder> frontier_calls_;
  // nullptr = there is no other division.
  const std::unique_ptr<DivisionPeers> divisions_;
  const std::unique_ptr<Store> store_;
  const std::shared_ptr<EpochExchange> epochs_;
  const std::vector<std::unique_ptr<Shard>> shards_;
  Router router_;
  RuntimeSettings settings_;
  Sources sources_;
  const std::unique_ptr<Crawls> crawls_;
  const std::unique_ptr<Frontier> frontier_;  // nullptr = not served
  std::atomic<int> port_{0};                  // port of gRPC; 0 = not listening yet
  Calls calls_;
  StandbyRoster standbys_;
  Dispatcher dispatcher_;
  Work work_;
  PlanRunner plans_;
  const std::unique_ptr<SharedRate> shared_rate_;  // nullptr = this server shares no crawl rate
  OwnRate own_rate_;
  const std::unique_ptr<SharedSettings>
      shared_settings_;  // nullptr = this server shares no settings
  UrlPages url_pages_;
  const ServerContext context_;
  const std::unique_ptr<SharedModel> model_;  // nullptr = the shards learn from their own pages
  HealthCalls health_calls_;
  Switchboard switchboard_;
  IndexNowReceiver indexnow_;
  GrpcPort grpc_port_;
  std::unique_ptr<Ticker> watch_;       // checks open calls and the turn
  std::unique_ptr<Ticker> disk_watch_;  // nullptr once this server has given up the turn
  std::unique_ptr<ConsoleCalls> console_;
  std::atomic<ConsoleCalls*> open_console_{nullptr};  // nullptr = not ready for use yet
};

}  // namespace freshet

#endif  // FRESHET_SERVER_SERVING_H_
