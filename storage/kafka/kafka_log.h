// A ChangeLog that is a topic of Apache Kafka, `<cluster>.changes`: compacted, with one
// transactional producer for each partition, `<cluster>-<partition>`. Kafka replicates the rows,
// orders them, and fences earlier owners. This code only translates a shard's commit into calls of
// Kafka's client (docs/decisions/0100-fleet-on-kafka.md).
#ifndef FRESHET_STORAGE_KAFKA_KAFKA_LOG_H_
#define FRESHET_STORAGE_KAFKA_KAFKA_LOG_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "storage/change_log.h"

namespace freshet {

// Value type, thread-compatible.
struct KafkaOptions {
  std::string cluster;  // first part of the names of the topic and the producers
  std::string brokers;  // host:port, separated by commas
  uint32_t partitions = 0;
  // Replicas of each row of a new topic; -1 = the brokers' default.
  int replication = -1;
  // Properties for librdkafka, e.g. "security.protocol". Properties that Freshet sets itself are
  // refused.
  std::map<std::string, std::string> properties;
  // How long Open waits for the brokers.
  std::chrono::milliseconds open_patience = std::chrono::seconds(30);
  // Set by other threads to stop waiting calls. Outlives the options; nullptr = none.
  const std::atomic<bool>* cancelled = nullptr;
  // Receives messages of Kafka's client, one line each, level first: 'I', 'W' or 'E'. Called from
  // any thread. Unset = nothing is logged.
  std::function<void(char level, std::string_view line)> log;
};

// The log on Kafka. Thread-safe, with the exceptions of ChangeLog.
class KafkaLog : public ChangeLog {
 public:
  // Finds or creates the topic. The result owns no partition yet.
  //
  // InvalidArgument: an option or property is invalid. Unavailable: no broker answers in time.
  // FailedPrecondition: the topic has a different number of partitions, or would delete rows.
  [[nodiscard]] static StatusOr<std::unique_ptr<KafkaLog>> Open(const KafkaOptions& options);
  ~KafkaLog() override;
  KafkaLog(const KafkaLog&) = delete;
  KafkaLog& operator=(const KafkaLog&) = delete;

  [[nodiscard]] const std::string& name() const override;
  [[nodiscard]] uint32_t partitions() const override;
  [[nodiscard]] Status Own(uint32_t partition) override;
  [[nodiscard]] StatusOr<uint64_t> Append(uint32_t partition,
                                          std::span<const LogRow> rows) override;
  [[nodiscard]] StatusOr<uint64_t> Read(uint32_t partition, uint64_t from,
                                        std::optional<uint64_t> end, const Visit& visit) override;
  [[nodiscard]] Status health() const override;
  void StopWaiting() override;

  [[nodiscard]] ChangeLogStats Stats() const override;

 private:
  class Impl;
  explicit KafkaLog(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace freshet

#endif  // FRESHET_STORAGE_KAFKA_KAFKA_LOG_H_
