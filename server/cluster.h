// This server as one of a cluster: its log on Kafka, and whether it is this server's turn.
#ifndef FRESHET_SERVER_CLUSTER_H_
#define FRESHET_SERVER_CLUSTER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/base/status.h"
#include "server/api/cluster_status.h"
#include "server/config_cluster.h"
#include "server/fleet/shared_rate.h"
#include "server/forward/serving_peer.h"
#include "storage/kafka/kafka_log.h"
#include "storage/kafka/tenure.h"
#include "sync/mutex.h"

namespace freshet {

struct ServerConfig;

// Thread-safe.
class Cluster {
 public:
  // Finds the log. `stop` ends waiting, for Kafka as well; it outlives this. `on_replaced` is
  // called at most once, on a thread of this: another server has the turn that this one had.
  //
  // Unavailable: no broker answers. InvalidArgument and FailedPrecondition name the key at fault.
  [[nodiscard]] static StatusOr<std::unique_ptr<Cluster>> Join(const ServerConfig& config,
                                                               const std::atomic<bool>& stop,
                                                               std::function<void()> on_replaced);
  // The turn goes to the next; everything that uses the log has ended.
  ~Cluster() = default;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  [[nodiscard]] KafkaLog& log() { return *log_; }
  // Has the group give the turn to this server when it is next: once, when its store is complete,
  // as one that is not would keep those waiting that are.
  [[nodiscard]] Status Stand() { return tenure_->Stand(); }
  // Whether the store may own the log.
  [[nodiscard]] bool has_turn() const { return tenure_->assigned(); }
  // Gives the turn to the next: the store commits nothing more. By the thread that destroys this.
  void Leave() { tenure_->Leave(); }
  // Whether the server that has it may be gone. Asks Kafka; to be asked about twice a second.
  [[nodiscard]] bool other_is_silent() const;
  // Whether pages may be handed out at this moment.
  [[nodiscard]] bool sure() const { return tenure_->sure(); }
  // While they may: in which turn of this server's.
  [[nodiscard]] std::optional<uint64_t> turn() const { return tenure_->turn(); }
  // From now on the others send their clients' calls here, where `address` is; empty: no more.
  void Serve(const std::string& address) FRESHET_EXCLUDES(mutex_);
  // The server that the others are to send them to: Forwarder::Find. Asks Kafka.
  [[nodiscard]] StatusOr<std::optional<ServingPeer>> WhoServes() const;
  // The server to which items of another division go: DivisionPeers::Find. Asks Kafka.
  [[nodiscard]] StatusOr<std::optional<ServingPeer>> WhoServes(uint32_t division)
      FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] ClusterStatus status() const FRESHET_EXCLUDES(mutex_);
  // Stands for sharing out the crawl rate of the fleet, among the servers of all divisions that
  // serve; what this returns uses this. Unavailable: no broker answers.
  [[nodiscard]] StatusOr<std::unique_ptr<RateElection>> StandForRate() const;

 private:
  Cluster(KafkaOptions kafka, ClusterConfig config, std::unique_ptr<KafkaLog> log,
          std::unique_ptr<KafkaTenure> tenure, std::unique_ptr<KafkaListener> listener)
      : kafka_(std::move(kafka)),
        config_(std::move(config)),
        log_(std::move(log)),
        tenure_(std::move(tenure)),
        listener_(std::move(listener)) {}

  const KafkaOptions kafka_;
  const ClusterConfig config_;
  const std::unique_ptr<KafkaLog> log_;
  const std::unique_ptr<KafkaTenure> tenure_;
  const std::unique_ptr<KafkaListener> listener_;  // to who serves in this cluster
  mutable Mutex mutex_;
  std::string address_ FRESHET_GUARDED_BY(mutex_);  // where it serves
  // Of other divisions that were asked for.
  std::map<uint32_t, std::unique_ptr<KafkaListener>> listeners_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_CLUSTER_H_
