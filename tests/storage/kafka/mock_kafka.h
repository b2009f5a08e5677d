// The mock brokers of librdkafka inside the process. They keep transactions and order, and answer
// as a test wants. In release 2.0.2, they do not hide aborted rows and do not fence earlier owners
// by themselves.
#ifndef FRESHET_TESTS_STORAGE_KAFKA_MOCK_KAFKA_H_
#define FRESHET_TESTS_STORAGE_KAFKA_MOCK_KAFKA_H_

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <string>
#include <vector>

#include "core/base/check.h"
#include "storage/kafka/kafka_log.h"

namespace freshet {

// A mock cluster with the topics of a Freshet cluster. Thread-compatible.
class MockKafka {
 public:
  // Request types of Kafka's protocol.
  static constexpr int16_t kOffsetCommit = 8;
  static constexpr int16_t kHeartbeat = 12;
  static constexpr int16_t kSyncGroup = 14;
  static constexpr int16_t kInitProducerId = 22;
  static constexpr int16_t kEndTxn = 26;

  // All topics and groups are on the first broker.
  explicit MockKafka(const std::string& cluster = "mock", uint32_t partitions = 2,
                     int brokers = 1) {
    options_ = {.cluster = cluster, .partitions = partitions};
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "log_level", "0", nullptr, 0);
    client_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, nullptr, 0);
    CHECK(client_ != nullptr, "librdkafka");
    brokers_ = rd_kafka_mock_cluster_new(client_, brokers);
    options_.brokers = rd_kafka_mock_cluster_bootstraps(brokers_);
    // Clients retry almost at once instead of after a second.
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

  // Makes the topics of a cluster, which the mock brokers do not make on request.
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
  // Moves the group that chooses the serving server to this broker.
  void MoveGroup(const std::string& cluster, int broker) {
    SetCoordinator("group", cluster + ".fleet", broker);
  }
  [[nodiscard]] const KafkaOptions& options() const { return options_; }
  void Down() { rd_kafka_mock_broker_set_down(brokers_, kFirst); }
  void Up() { rd_kafka_mock_broker_set_up(brokers_, kFirst); }
  // Makes the broker accept requests without answering any for an hour, as if it were disconnected.
  void Mute(int broker) {
    constexpr int kHourMs = 3'600'000;
    rd_kafka_mock_broker_set_rtt(brokers_, broker, kHourMs);
  }
  // The next request of this type fails with `error`.
  void FailNext(int16_t request, rd_kafka_resp_err_t error) {
    rd_kafka_mock_push_request_errors(brokers_, request, 1, error);
  }
  // Makes all requests of this type fail until Forgive(). Clients repeat a failed request at once,
  // so this queues enough errors for half an hour.
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
