// What exists while a server starts: how far it has come, and how a store becomes shards that hold
// every page.
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

// How far a start has come, for others to see, and whether it goes on. Thread-safe.
struct StartProgress {
  OpenProgress open;
  LoadProgress load;
  ForwardCounters forwarding;
  std::atomic<int> forwarding_port{0};  // where calls are taken meanwhile; 0: nowhere
  std::atomic<bool> stop_requested{false};

  // Who serves meanwhile, as far as is known, where calls are taken.
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
  // Cancelled once that was requested.
  [[nodiscard]] Status GoOn() const;
  // `ready` is left false: whether the server serves is not known here.
  [[nodiscard]] RecoveryStatus Recovery() const;
  [[nodiscard]] ClusterStatus::Forwarded Forwarded() const;

 private:
  mutable Mutex mutex_;
  std::optional<ServingPeer> peer_ FRESHET_GUARDED_BY(mutex_);
};

// A store, and shards that hold all that is in it and do not run yet. Thread-compatible.
struct LoadedStore {
  std::unique_ptr<Cluster> cluster;      // nullptr: the server is alone; used by the store
  std::unique_ptr<Forwarder> forwarder;  // nullptr: takes no calls until it serves; uses cluster
  std::unique_ptr<StandbyReporter> reporter;  // likewise; uses both
  ForwardCounters* forwarding = nullptr;      // of calls that others answer; outlives this
  std::unique_ptr<Store> store;
  LoadedShards pages;                  // use the store
  std::unique_ptr<Frontier> frontier;  // nullptr: not served; of a cluster it uses the store
  std::unique_ptr<AuditLog> audit;
};

// Owner thread only.
class Starter {
 public:
  // `begun` is when the server was started. All that is referred to outlives this; `clock` and
  // `observer`, which is that of the shards, what is loaded as well.
  // `on_replaced` is Cluster::Join's; `door` is for calls that come before the server serves.
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

  // Opens the store, makes the shards and loads them. `env` is the store's, null for the machine's
  // own; of its tables as many are open at a time as `files` says. Cancelled when a stop is
  // requested meanwhile.
  [[nodiscard]] StatusOr<LoadedStore> Load(rocksdb::Env* env, const DescriptorPlan& files);

 private:
  [[nodiscard]] Status OpenStore(rocksdb::Env* env, const DescriptorPlan& files,
                                 LoadedStore* loaded);
  // Puts the store's truth where the servers of the cluster have it.
  [[nodiscard]] Status JoinCluster(LoadedStore* loaded, StoreOptions* options);
  // Takes calls for the server of the cluster that serves, and tells it that this one stands by.
  [[nodiscard]] Status Forward(int connections, LoadedStore* loaded);
  [[nodiscard]] v1::FleetStandby DescribeStandby(const Cluster& cluster) const;
  [[nodiscard]] StatusOr<std::unique_ptr<AuditLog>> OpenAudit() const;
  // The crawl-frontier API's, from a directory beside the pages.
  [[nodiscard]] Status LoadFrontier(rocksdb::Env* env, int table_files, LoadedStore* loaded) const;
  // Unless a standby has loaded them.
  [[nodiscard]] Status LoadPages(LoadedStore* loaded);
  void LogRecovery();
  // Ends the start of a server that has had its turn for cluster.handover and is not open yet, and
  // reads nothing either.
  void LookAtTurn(const Cluster& cluster);

  const ServerConfig& config_;
  Clock& clock_;
  Door& door_;
  const Instant begun_;
  StartProgress& progress_;
  const ShardsLoader loader_;
  const std::function<void()> on_replaced_;
  std::unique_ptr<Standby> standby_;  // nullptr: the server is alone
  // Until then, in microseconds, the server that serves waits for this one to have the pages, as
  // far as was heard.
  std::atomic<int64_t> asked_to_load_until_ = 0;
  bool standing_by_ = false;  // the log says so already
  // Since when it has its turn and has read no row. Of the thread that opens the store.
  std::optional<Instant> stuck_since_;
  uint64_t rows_then_ = 0;
  bool gave_up_ = false;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_STARTING_H_
