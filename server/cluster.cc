#include "server/cluster.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <utility>

#include "absl/strings/numbers.h"
#include "server/auth/on_behalf.h"
#include "server/config.h"
#include "server/logging.h"

namespace freshet {
namespace {

constexpr std::chrono::seconds kAskPatience{1};
// How long other_is_silent waits for Kafka. Meanwhile this server cannot notice that it has got the
// turn, so the wait is short.
constexpr std::chrono::milliseconds kSilencePatience{250};

std::string NameOfMachine() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "freshetd";
  return name.data();
}

std::string NodeOf(const ClusterConfig& cluster) {
  return cluster.node.empty() ? NameOfMachine() : cluster.node;
}

std::chrono::milliseconds SilenceOf(const ClusterConfig& cluster) {
  return std::chrono::milliseconds(static_cast<int64_t>(cluster.silence.seconds() * 1000));
}

// The election of the rate leader. The servers of all divisions form a group, and the leader is the
// member that has the turn in this group.
class KafkaRateElection final : public RateElection {
 public:
  KafkaRateElection(std::unique_ptr<KafkaTenure> tenure, std::unique_ptr<KafkaListener> listener)
      : tenure_(std::move(tenure)), listener_(std::move(listener)) {}

  [[nodiscard]] std::optional<uint64_t> leads() const override { return tenure_->turn(); }
  [[nodiscard]] StatusOr<std::optional<uint32_t>> Leader() override {
    ASSIGN_OR_RETURN(const std::string announced, listener_->Announced(kAskPatience));
    uint32_t division = 0;
    if (!absl::SimpleAtoi(announced, &division)) return std::optional<uint32_t>();
    return std::optional(division);
  }

 private:
  const std::unique_ptr<KafkaTenure> tenure_;
  const std::unique_ptr<KafkaListener> listener_;
};

}  // namespace

StatusOr<std::unique_ptr<Cluster>> Cluster::Join(const ServerConfig& config,
                                                 const std::atomic<bool>& stop,
                                                 std::function<void()> on_replaced) {
  const ClusterConfig& cluster = config.cluster;
  const KafkaOptions kafka = {.cluster = cluster.NameOf(cluster.slots().division),
                              .brokers = cluster.brokers,
                              .partitions = static_cast<uint32_t>(config.shards),
                              .replication = cluster.replication,
                              .properties = cluster.properties,
                              .cancelled = &stop,
                              .log = LogStoreLine};
  ASSIGN_OR_RETURN(std::unique_ptr<KafkaLog> log, KafkaLog::Open(kafka));
  ASSIGN_OR_RETURN(
      std::unique_ptr<KafkaTenure> tenure,
      KafkaTenure::Open({.kafka = kafka, .node = NodeOf(cluster), .silence = SilenceOf(cluster)},
                        std::move(on_replaced)));
  ASSIGN_OR_RETURN(std::unique_ptr<KafkaListener> listener,
                   KafkaListener::Open(kafka, SilenceOf(cluster)));
  return std::unique_ptr<Cluster>(
      new Cluster(kafka, cluster, std::move(log), std::move(tenure), std::move(listener)));
}

void Cluster::Serve(const std::string& address) {
  {
    const MutexLock lock(mutex_);
    address_ = address;
  }
  tenure_->Announce(address.empty() ? "" : AnnouncementOf({.address = address, .key = OwnKey()}));
}

bool Cluster::other_is_silent() const {
  return listener_->IsSilent(SilenceOf(config_), kSilencePatience);
}

StatusOr<std::optional<ServingPeer>> Cluster::WhoServes() const {
  ASSIGN_OR_RETURN(const std::string announced, listener_->Announced(kAskPatience));
  return ParseAnnouncement(announced);
}

StatusOr<std::optional<ServingPeer>> Cluster::WhoServes(uint32_t division) {
  const KafkaListener* listener = nullptr;
  {
    const MutexLock lock(mutex_);
    std::unique_ptr<KafkaListener>& its = listeners_[division];
    if (its == nullptr) {
      KafkaOptions kafka = kafka_;
      kafka.cluster = config_.NameOf(division);
      ASSIGN_OR_RETURN(its, KafkaListener::Open(kafka, SilenceOf(config_)));
    }
    listener = its.get();
  }
  ASSIGN_OR_RETURN(const std::string announced, listener->Announced(kAskPatience));
  return ParseAnnouncement(announced);
}

StatusOr<std::unique_ptr<RateElection>> Cluster::StandForRate() const {
  KafkaOptions kafka = kafka_;
  // Neither a division nor a cluster without divisions can have this name.
  kafka.cluster = fmt::format("{}-rate-of-{}", config_.name, config_.divisions);
  ASSIGN_OR_RETURN(
      std::unique_ptr<KafkaTenure> tenure,
      KafkaTenure::Join({.kafka = kafka, .node = NodeOf(config_), .silence = SilenceOf(config_)},
                        nullptr));
  tenure->Announce(std::to_string(config_.slots().division));
  ASSIGN_OR_RETURN(std::unique_ptr<KafkaListener> listener,
                   KafkaListener::Open(kafka, SilenceOf(config_)));
  return std::make_unique<KafkaRateElection>(std::move(tenure), std::move(listener));
}

ClusterStatus Cluster::status() const {
  ClusterStatus status = {.name = kafka_.cluster,
                          .node = NodeOf(config_),
                          .has_turn = has_turn(),
                          .sure = sure(),
                          .log = log_->Stats()};
  const MutexLock lock(mutex_);
  status.address = address_;
  return status;
}

}  // namespace freshet
