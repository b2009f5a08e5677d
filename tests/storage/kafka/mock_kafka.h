// Brokers inside the process, librdkafka's own: they keep transactions and order, and answer as
// they are told to. Those of 2.0.2 neither hide what was aborted nor fence by themselves.
#ifndef FRESHET_TESTS_STORAGE_KAFKA_MOCK_KAFKA_H_
#define FRESHET_TESTS_STORAGE_KAFKA_MOCK_KAFKA_H_

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <string>
#include <vector>

#include "core/base/check.h"
#include "storage/kafka/kafka_log.h"

namespace freshet {

// Thread-compatible.
class MockKafka {
 public:
  // Of request types, from Kafka's protocol.
  static constexpr int16_t kOffsetCommit = 8;
  static constexpr int16_t kHeartbeat = 12;
  static constexpr int16_t kSyncGroup = 14;
  static constexpr int16_t kInitProducerId = 22;
  static constexpr int16_t kEndTxn = 26;

  // All that a cluster uses is on the first of the brokers.
  explicit MockKafka(const std::string& cluster = "mock", uint32_t partitions = 2,
                     int brokers = 1) {
    options_ = {.cluster = cluster, .partitions = partitions};
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "log_level", "0", nullptr, 0);
    client_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, nullptr, 0);
    CHECK(client_ != nullptr, "librdkafka");
    brokers_ = rd_kafka_mock_cluster_new(client_, brokers);
    options_.brokers = rd_kafka_mock_cluster_bootstraps(brokers_);
    // Such a client asks again at once, not after a second.
    options_.properties = {{"retry.backoff.ms", "10"},
                           {"reconnect.backoff.ms", "10"},
                           {"reconnect.backoff.max.ms", "50"},
                           {"topic.metadata.refresh.fast.interval.ms", "20"}};
    MakeTopics(cluster);
  }
  ~MockKafka() {
    rd_kafka_mock_cluster_destroy(brokers_);
    rd_kafka_destroy(client_);
  }
  MockKafka(const MockKafka&) = delete;
  MockKafka& operator=(const MockKafka&) = delete;

  // Those of a cluster, which these brokers do not make when they are asked to.
  void MakeTopics(const std::string& cluster) {
    const auto partitions = static_cast<int>(options_.partitions);
    const std::string changes = cluster + ".changes";
    const std::string fleet = cluster + ".fleet";
    rd_kafka_mock_topic_create(brokers_, changes.c_str(), partitions, 1);
    rd_kafka_mock_topic_create(brokers_, fleet.c_str(), 1, 1);
    rd_kafka_mock_partition_set_leader(brokers_, fleet.c_str(), 0, kFirst);
    SetCoordinator("group", fleet, kFirst);
    for (int i = 0; i < partitions; ++i) {
      rd_kafka_mock_partition_set_leader(brokers_, changes.c_str(), i, kFirst);
      SetCoordinator("transaction", cluster + "-" + std::to_string(i), kFirst);
    }
  }
  // The group that chooses the server of the cluster that has the turn is this broker's.
  void MoveGroup(const std::string& cluster, int broker) {
    SetCoordinator("group", cluster + ".fleet", broker);
  }
  [[nodiscard]] const KafkaOptions& options() const { return options_; }
  void Down() { rd_kafka_mock_broker_set_down(brokers_, kFirst); }
  void Up() { rd_kafka_mock_broker_set_up(brokers_, kFirst); }
  // Takes what it is sent, and answers nothing of it within an hour: as if it were cut off.
  void Mute(int broker) {
    constexpr int kHourMs = 3'600'000;
    rd_kafka_mock_broker_set_rtt(brokers_, broker, kHourMs);
  }
  // The next request of this type fails so.
  void FailNext(int16_t request, rd_kafka_resp_err_t error) {
    rd_kafka_mock_push_request_errors(brokers_, request, 1, error);
  }
  // So do all of them until Forgive: half an hour of them, as they are asked again at once.
  void Fail(int16_t request, rd_kafka_resp_err_t error) {
    const std::vector<rd_kafka_resp_err_t> errors(500'000, error);
    rd_kafka_mock_push_request_errors_array(brokers_, request, errors.size(), errors.data());
  }
  // The next request of this type is answered after a minute.
  void DelayNext(int16_t request) {
    constexpr int kMinuteMs = 60'000;
    rd_kafka_mock_broker_push_request_error_rtts(brokers_, kFirst, request, 1,
                                                 RD_KAFKA_RESP_ERR_NO_ERROR, kMinuteMs);
  }
  void Forgive(int16_t request) { rd_kafka_mock_clear_request_errors(brokers_, request); }

 private:
  static constexpr int kFirst = 1;

  void SetCoordinator(const char* of, const std::string& key, int broker) {
    rd_kafka_mock_coordinator_set(brokers_, of, key.c_str(), broker);
  }

  KafkaOptions options_;
  rd_kafka_t* client_ = nullptr;
  rd_kafka_mock_cluster_t* brokers_ = nullptr;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_STORAGE_KAFKA_MOCK_KAFKA_H_
