// The start of a server: its progress, and how a store is loaded into shards.
#ifndef FRESHET_SERVER_STARTING_H_
#define FRESHET_SERVER_STARTING_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/base/status.h"
#include "core/base/units.h"
#include "server/api/status.h"
#include "server/base/system_clock.h"
#include "server/cluster.h"
#include "server/engine/shard_loader.h"
#include "server/forward/forwarder.h"
#include "server/forward/serving_peer.h"
#include "server/forward/standby_reporter.h"
#include "server/frontier/frontier.h"
#include "server/loaded_shards.h"
#include "server/logs/audit_log.h"
#include "server/ports/descriptors.h"
#include "server/standby.h"
#include "storage/open_progress.h"
#include "storage/store.h"
#include "sync/mutex.h"

namespace rocksdb {
class Env;
}  // namespace rocksdb

namespace freshet {

struct ServerConfig;

// The progress of a start, and whether a stop was requested. Thread-safe.
struct StartProgress {
  OpenProgress open;
  LoadProgress load;
  ForwardCounters forwarding;
  std::atomic<int> forwarding_port{0};  // port that accepts calls for the serving server; 0 = none
  std::atomic<bool> stop_requested{false};

  // The server that serves while this one does not, as far as the forwarding port knows.
  void SetPeer(std::optional<ServingPeer> peer) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    peer_ = std::move(peer);
  }
  [[nodiscard]] std::optional<ServingPeer> peer() const FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return peer_;
  }
  void RequestStop() {
    stop_requested = true;
    open.cancelled = true;
  }
  // Says whether the start may continue. Not OK: Cancelled if a stop was requested.
  [[nodiscard]] Status GoOn() const;
  // The progress for status reports; leaves `ready` false.
  [[nodiscard]] RecoveryStatus Recovery() const;
  [[nodiscard]] ClusterStatus::Forwarded Forwarded() const;

 private:
  mutable Mutex mutex_;
  std::optional<ServingPeer> peer_ FRESHET_GUARDED_BY(mutex_);
};

// An open store, and shards that hold all of its pages but do not run yet. Thread-compatible.
struct LoadedStore {
  std::unique_ptr<Cluster> cluster;  // nullptr = a single server; used by the store
  std::unique_ptr<Forwarder>
      forwarder;  // nullptr = no calls are accepted until this server serves; uses cluster
  std::unique_ptr<StandbyReporter>
      reporter;  // nullptr = this server does not report as a standby; uses cluster and forwarder
  ForwardCounters* forwarding = nullptr;  // counts forwarded calls; outlives this object
  std::unique_ptr<Store> store;
  LoadedShards pages;                  // these use the store
  std::unique_ptr<Frontier> frontier;  // nullptr = not served; uses the store
  std::unique_ptr<AuditLog> audit;
};

// Starts a server. Owner thread only.
class Starter {
 public:
  // `begun`: when the server started. All references outlive this object. `clock` and `observer`
  // are passed to the shards, so they also outlive the loaded store. `on_replaced`: see
  // Cluster::Join. `door` is used for calls that arrive before the server serves.
  Starter(const ServerConfig& config, Clock& clock, Door& door, Instant begun,
          StartProgress& progress, ShardObserver& observer,
          std::function<void()> on_replaced = nullptr)
      : config_(config),
        clock_(clock),
        door_(door),
        begun_(begun),
        progress_(progress),
        loader_(config, clock, begun, observer),
        on_replaced_(std::move(on_replaced)) {}

  // Opens the store, makes the shards and loads them. `env` is for the store; nullptr = the
  // machine's default. `files` limits the store's open tables. Not OK: Cancelled if a stop was
  // requested.
  [[nodiscard]] StatusOr<LoadedStore> Load(rocksdb::Env* env, const DescriptorPlan& files);

 private:
  [[nodiscard]] Status OpenStore(rocksdb::Env* env, const DescriptorPlan& files,
                                 LoadedStore* loaded);
  // Joins the cluster, and makes its log the store's source of truth.
  [[nodiscard]] Status JoinCluster(LoadedStore* loaded, StoreOptions* options);
  // Accepts calls for the cluster's serving server, and reports to that server that this one is a
  // standby.
  [[nodiscard]] Status Forward(int connections, LoadedStore* loaded);
  [[nodiscard]] v1::FleetStandby DescribeStandby(const Cluster& cluster) const;
  [[nodiscard]] StatusOr<std::unique_ptr<AuditLog>> OpenAudit() const;
  // Loads the crawl frontier from the store.
  [[nodiscard]] Status LoadFrontier(LoadedStore* loaded) const;
  // Loads the pages, unless the standby has already loaded them.
  [[nodiscard]] Status LoadPages(LoadedStore* loaded);
  void LogRecovery();
  // Ends the start if this server has had the turn for cluster.handover without opening the store
  // or reading rows.
  void LookAtTurn(const Cluster& cluster);

  const ServerConfig& config_;
  Clock& clock_;
  Door& door_;
  const Instant begun_;
  StartProgress& progress_;
  const ShardsLoader loader_;
  const std::function<void()> on_replaced_;
  std::unique_ptr<Standby> standby_;  // nullptr = a single server
  // Until this instant, in microseconds, the serving server is assumed to wait until this server
  // has loaded the pages.
  std::atomic<int64_t> asked_to_load_until_ = 0;
  bool standing_by_ = false;  // already logged that this server is a standby
  // The time since which this server has had the turn without reading a row. Used by the thread
  // that reports the progress of opening.
  std::optional<Instant> stuck_since_;
  uint64_t rows_then_ = 0;
  bool gave_up_ = false;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_STARTING_H_
