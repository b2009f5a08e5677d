// This server in a cluster: its log on Kafka, and whether it has the turn to serve.
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
#include "server/fleet/rate_election.h"
#include "server/forward/serving_peer.h"
#include "storage/kafka/kafka_log.h"
#include "storage/kafka/tenure.h"
#include "sync/mutex.h"

namespace freshet {

struct ServerConfig;

// The membership. Thread-safe.
class Cluster {
 public:
  // Finds the log. `stop` ends all waiting, even for Kafka, and outlives this. `on_replaced` is
  // called at most once, on a thread of this: another server has taken this one's turn.
  //
  // Unavailable: no broker answers. InvalidArgument and FailedPrecondition name the key at fault.
  [[nodiscard]] static StatusOr<std::unique_ptr<Cluster>> Join(const ServerConfig& config,
                                                               const std::atomic<bool>& stop,
                                                               std::function<void()> on_replaced);
  // Passes the turn on. Everything that uses the log has ended before.
  ~Cluster() = default;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  [[nodiscard]] KafkaLog& log() { return *log_; }
  // Asks the group to give the turn to this server when it is next. Called once, when its store is
  // complete: an incomplete standby would keep complete ones waiting.
  [[nodiscard]] Status Stand() { return tenure_->Stand(); }
  // Whether the store may own the log.
  [[nodiscard]] bool has_turn() const { return tenure_->assigned(); }
  // Passes the turn on: the store commits nothing more. Called by the thread that destroys this.
  void Leave() { tenure_->Leave(); }
  // Whether the server that has the turn may be gone. Asks Kafka; to be called about twice a
  // second.
  [[nodiscard]] bool other_is_silent() const;
  // Whether pages may be handed out at this moment.
  [[nodiscard]] bool sure() const { return tenure_->sure(); }
  // The number of this server's turn, while pages may be handed out.
  [[nodiscard]] std::optional<uint64_t> turn() const { return tenure_->turn(); }
  // From now on other servers send their clients' calls to `address`; empty = no longer.
  void Serve(const std::string& address) FRESHET_EXCLUDES(mutex_);
  // The server that takes the calls of others' clients: Forwarder::Find. Asks Kafka.
  [[nodiscard]] StatusOr<std::optional<ServingPeer>> WhoServes() const;
  // The server that takes items of another division: DivisionPeers::Find. Asks Kafka.
  [[nodiscard]] StatusOr<std::optional<ServingPeer>> WhoServes(uint32_t division)
      FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] ClusterStatus status() const FRESHET_EXCLUDES(mutex_);
  // Stands for the lead of the fleet's crawl rate, among the serving servers of all divisions; the
  // result uses this. Unavailable: no broker answers.
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
  const std::unique_ptr<KafkaListener> listener_;  // to announcements of who serves in this cluster
  mutable Mutex mutex_;
  std::string address_ FRESHET_GUARDED_BY(mutex_);  // the address where it serves
  // Listeners to other divisions, made when first asked for.
  std::map<uint32_t, std::unique_ptr<KafkaListener>> listeners_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_CLUSTER_H_
