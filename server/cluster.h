// This server's membership in a cluster: its connection to the log on Kafka, and the turn. The turn
// is the right to serve and to write to the log. Only one server of a division has it at a time.
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
  // Connects to the log. Setting `stop` ends all waiting, even for Kafka. `stop` must outlive this
  // object. `on_replaced` is called at most once, on a thread of this object, when another server
  // has taken over the turn.
  //
  // Not OK: Unavailable if no broker answers; InvalidArgument or FailedPrecondition if a key of the
  // configuration is wrong, with the name of the key.
  [[nodiscard]] static StatusOr<std::unique_ptr<Cluster>> Join(const ServerConfig& config,
                                                               const std::atomic<bool>& stop,
                                                               std::function<void()> on_replaced);
  // Gives up the turn. Precondition: nothing uses the log any more.
  ~Cluster() = default;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  [[nodiscard]] KafkaLog& log() { return *log_; }
  // Makes this server a candidate for the turn. Must be called once, when the store of this server
  // is complete. A candidate with an incomplete store could get the turn although another one could
  // serve sooner.
  [[nodiscard]] Status Stand() { return tenure_->Stand(); }
  // Whether this server has the turn, so that its store may write to the log.
  [[nodiscard]] bool has_turn() const { return tenure_->assigned(); }
  // Gives up the turn. From then on the store must not commit. Called by the thread that destroys
  // this object.
  void Leave() { tenure_->Leave(); }
  // Whether the server that has the turn might have failed. Asks Kafka, and compares the answer
  // with the previous one, so it should be called about twice a second.
  [[nodiscard]] bool other_is_silent() const;
  // Whether Kafka has confirmed the turn of this server recently enough that pages may be handed
  // out.
  [[nodiscard]] bool sure() const { return tenure_->sure(); }
  // The number of this server's turn; unset = pages may not be handed out at the moment.
  [[nodiscard]] std::optional<uint64_t> turn() const { return tenure_->turn(); }
  // Announces `address`, to which other servers send their clients' calls from now on. Empty = they
  // no longer send calls to this server.
  void Serve(const std::string& address) FRESHET_EXCLUDES(mutex_);
  // The server to which other servers send their clients' calls (Forwarder::Find); unset = none.
  // Asks Kafka.
  [[nodiscard]] StatusOr<std::optional<ServingPeer>> WhoServes() const;
  // The server that accepts items for `division` (DivisionPeers::Find); unset = none. Asks Kafka.
  [[nodiscard]] StatusOr<std::optional<ServingPeer>> WhoServes(uint32_t division)
      FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] ClusterStatus status() const FRESHET_EXCLUDES(mutex_);
  // Makes this server a candidate in the election of the leader that distributes the fleet's crawl
  // rate. The candidates are the serving servers of all divisions. This object must outlive the
  // result. Not OK: Unavailable if no broker answers.
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
      listener_;  // announcements of the server that serves this division
  mutable Mutex mutex_;
  std::string address_ FRESHET_GUARDED_BY(mutex_);  // the address where this server serves
  // Listeners for other divisions, created when first needed.
  std::map<uint32_t, std::unique_ptr<KafkaListener>> listeners_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_CLUSTER_H_
