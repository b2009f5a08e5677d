// This server as a member of a cluster: its log on Kafka, and whether it has the turn. The server
// that has the turn is the leader: it serves, and may write to the log.
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
  // Connects to the log. Setting `stop` ends all waiting, even for Kafka. `stop` outlives this
  // object. `on_replaced` is called at most once, on a thread of this object, when another server
  // has taken over the turn.
  //
  // Not OK: Unavailable if no broker answers; InvalidArgument and FailedPrecondition, with the name
  // of the wrong key.
  [[nodiscard]] static StatusOr<std::unique_ptr<Cluster>> Join(const ServerConfig& config,
                                                               const std::atomic<bool>& stop,
                                                               std::function<void()> on_replaced);
  // Gives up the turn. Everything that uses the log must have ended before.
  ~Cluster() = default;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  [[nodiscard]] KafkaLog& log() { return *log_; }
  // Makes this server a candidate for the turn. Called once, when its store is complete, because an
  // incomplete standby would delay complete ones.
  [[nodiscard]] Status Stand() { return tenure_->Stand(); }
  // Whether the store may own the log.
  [[nodiscard]] bool has_turn() const { return tenure_->assigned(); }
  // Gives up the turn. The store must commit nothing more. Called by the thread that destroys this
  // object.
  void Leave() { tenure_->Leave(); }
  // Whether the server that has the turn may be gone. Asks Kafka. Should be called about twice a
  // second.
  [[nodiscard]] bool other_is_silent() const;
  // Whether pages may be handed out at this moment.
  [[nodiscard]] bool sure() const { return tenure_->sure(); }
  // The number of this server's turn, while pages may be handed out.
  [[nodiscard]] std::optional<uint64_t> turn() const { return tenure_->turn(); }
  // Makes other servers send their clients' calls to `address` from now on; empty = not any more.
  void Serve(const std::string& address) FRESHET_EXCLUDES(mutex_);
  // The server to which other servers send their clients' calls (Forwarder::Find); unset = none.
  // Asks Kafka.
  [[nodiscard]] StatusOr<std::optional<ServingPeer>> WhoServes() const;
  // The server that accepts items for `division` (DivisionPeers::Find); unset = none. Asks Kafka.
  [[nodiscard]] StatusOr<std::optional<ServingPeer>> WhoServes(uint32_t division)
      FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] ClusterStatus status() const FRESHET_EXCLUDES(mutex_);
  // Makes this server a candidate for the leader that distributes the fleet's crawl rate. The
  // candidates are the serving servers of all divisions. The result uses this object. Not OK:
  // Unavailable if no broker answers.
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
  const std::unique_ptr<KafkaListener>
      listener_;  // listens for announcements of the server that serves this division
  mutable Mutex mutex_;
  std::string address_ FRESHET_GUARDED_BY(mutex_);  // the address where this server serves
  // Listeners for other divisions, created when first needed.
  std::map<uint32_t, std::unique_ptr<KafkaListener>> listeners_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_CLUSTER_H_
