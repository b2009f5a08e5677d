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
  static constexpr int16_t kSyncGroup = 14;
  static constexpr int16_t kEndTxn = 26;

  explicit MockKafka(const std::string& cluster = "mock", uint32_t partitions = 2) {
    options_ = {.cluster = cluster, .partitions = partitions};
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "log_level", "0", nullptr, 0);
    client_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, nullptr, 0);
    CHECK(client_ != nullptr, "librdkafka");
    brokers_ = rd_kafka_mock_cluster_new(client_, 1);
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
    rd_kafka_mock_topic_create(brokers_, (cluster + ".changes").c_str(), partitions, 1);
    rd_kafka_mock_topic_create(brokers_, (cluster + ".fleet").c_str(), 1, 1);
  }
  [[nodiscard]] const KafkaOptions& options() const { return options_; }
  void Down() { rd_kafka_mock_broker_set_down(brokers_, 1); }
  void Up() { rd_kafka_mock_broker_set_up(brokers_, 1); }
  // The next request of this type fails so.
  void FailNext(int16_t request, rd_kafka_resp_err_t error) {
    rd_kafka_mock_push_request_errors(brokers_, request, 1, error);
  }
  // So do all of them until Forgive.
  void Fail(int16_t request, rd_kafka_resp_err_t error) {
    const std::vector<rd_kafka_resp_err_t> errors(10'000, error);
    rd_kafka_mock_push_request_errors_array(brokers_, request, errors.size(), errors.data());
  }
  // The next request of this type is answered after a minute.
  void DelayNext(int16_t request) {
    constexpr int kMinuteMs = 60'000;
    rd_kafka_mock_broker_push_request_error_rtts(brokers_, 1, request, 1,
                                                 RD_KAFKA_RESP_ERR_NO_ERROR, kMinuteMs);
  }
  void Forgive(int16_t request) { rd_kafka_mock_clear_request_errors(brokers_, request); }

 private:
  KafkaOptions options_;
  rd_kafka_t* client_ = nullptr;
  rd_kafka_mock_cluster_t* brokers_ = nullptr;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_STORAGE_KAFKA_MOCK_KAFKA_H_
