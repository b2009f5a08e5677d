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

// For how long the disk has answered none of its writes. One thread looks; any asks.
class DiskSilence {
 public:
  // Returns how long it lasts. Called regularly.
  Duration Look(const StoreWrites& writes, Instant now) {
    const bool answers = writes.begun == writes.ended || writes.ended != ended_;
    if (answers || !answered_) answered_ = now;
    ended_ = writes.ended;
    lasts_ = now - *answered_;
    return lasts_;
  }
  // 0 = the disk answers, or has no write to answer.
  [[nodiscard]] Duration lasts() const { return lasts_; }

 private:
  uint64_t ended_ = 0;
  std::optional<Instant> answered_;
  Live<Duration> lasts_;
};

// Passes on events of the shards. Thread-safe but for Tell.
class ShardNews final : public ShardObserver {
 public:
  // Sets the receiver before the shards start; it outlives them.
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

// The serving server. Thread-safe but for Open, StopServing and Close, which are called once, in
// this order; later ones also without earlier ones.
class Serving {
 public:
  using End = std::function<void(std::string_view why, bool at_once)>;

  // Starts the shards and their threads. At most `connections` of gRPC are open at a time. All
  // references outlive this; `news` passes on the shards' events. `end` ends the server from
  // outside for a reason, at most once for each value of its `at_once`; null = nothing does.
  Serving(const ServerConfig& config, Clock& clock, int connections, ShardNews& news,
          Health& health, Door& door, LoadedStore loaded, End end);
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;
  ~Serving();

  // Answers calls, and announces it. Returns the port number.
  [[nodiscard]] StatusOr<int> Open();
  // In a cluster: serves on while standbys load the pages, so that one takes over at once; at most
  // for cluster.handover.
  void AwaitStandbys();
  // Takes no more calls, lets open ones end, and gives back pages leased ahead.
  void StopServing();
  // Ends all threads and closes the store. Not OK: the store had failed, or does not close.
  [[nodiscard]] Status Close();

  // The status without the HTTP port and the start.
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
  // For how long the disk has answered none of its writes; 0 = it answers, or has none.
  [[nodiscard]] Duration disk_silence() const { return disk_.lasts(); }

 private:
  friend class ShardNews;

  // Counts, and bytes kept, of calls of all methods.
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
  // Reports a failure of the store; shards and the frontier call it, on any thread.
  void ReportFailure();
  void TakeOverPause(const Settings& settings);
  // Leaves the turn to a ready standby while Kafka confirms this server's turn but takes none of
  // its commits.
  void LookAtTurn(Instant now);
  // Does the same while the disk gives no answer.
  void LookAtDisk(Instant now);
  // Whether a standby would take over at once.
  [[nodiscard]] bool HasSuccessor() const;
  // Adds all methods to the switchboard, and returns the names of their services.
  [[nodiscard]] std::vector<std::string> AddMethods();
  void EndCalls();
  void StopShards();
  // Does `work`; meanwhile commits that Kafka has not taken for some seconds are given up, and
  // never acknowledged.
  void WithoutWaitingForKafka(const std::function<void()>& work);
  [[nodiscard]] Status AddConfiguredSources();

  const ServerConfig& config_;
  Health& health_;
  Door& door_;
  const End end_;
  std::atomic<bool> had_successor_ = false;  // when it was told to end
  std::optional<Instant> waits_since_;       // for Kafka, with its turn confirmed; owner: watch_
  DiskSilence disk_;                         // owner: disk_watch_
  // Later members use earlier ones.
  const std::unique_ptr<AuditLog> audit_;
  const std::unique_ptr<Cluster> cluster_;  // nullptr = the server is alone
  std::unique_ptr<Forwarder> forwarder_;    // until it serves itself
  // Sends the crawl-frontier API to the first division; nullptr = it is served here, or not at all.
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
  std::atomic<int> port_{0};                  // of gRPC, once it listens
  Calls calls_;
  StandbyRoster standbys_;
  Dispatcher dispatcher_;
  Work work_;
  PlanRunner plans_;
  const std::unique_ptr<SharedRate> shared_rate_;  // nullptr = the crawl rate is this server's own
  OwnRate own_rate_;
  const std::unique_ptr<SharedSettings> shared_settings_;  // nullptr = the settings are this
                                                           // server's own
  UrlPages url_pages_;
  const ServerContext context_;
  const std::unique_ptr<SharedModel> model_;  // nullptr = the shards learn from their own pages
  HealthCalls health_calls_;
  Switchboard switchboard_;
  IndexNowReceiver indexnow_;
  GrpcPort grpc_port_;
  std::unique_ptr<Ticker> watch_;       // looks at open calls
  std::unique_ptr<Ticker> disk_watch_;  // until the turn is left
  std::unique_ptr<ConsoleCalls> console_;
  std::atomic<ConsoleCalls*> open_console_{nullptr};  // once it can be used
};

}  // namespace freshet

#endif  // FRESHET_SERVER_SERVING_H_
