// A ChangeLog that is a topic of Apache Kafka, `<cluster>.changes`: compacted, one transactional
// producer a partition, `<cluster>-<partition>`. Kafka replicates, orders and fences; here is only
// what a shard's commit makes of it (docs/decisions/0100-fleet-on-kafka.md).
#ifndef FRESHET_STORAGE_KAFKA_KAFKA_LOG_H_
#define FRESHET_STORAGE_KAFKA_KAFKA_LOG_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "storage/change_log.h"

namespace freshet {

// Value type, thread-compatible.
struct KafkaOptions {
  std::string cluster;  // name of the topic before the dot, and of the producers
  std::string brokers;  // host:port, with commas between them
  uint32_t partitions = 0;
  // Of a topic that is made: how many brokers have each row; -1: as the brokers are configured.
  int replication = -1;
  // Handed to librdkafka as they are, e.g. "security.protocol". Those that this sets itself are
  // refused.
  std::map<std::string, std::string> properties;
  // How long Open waits for the brokers.
  std::chrono::milliseconds open_patience = std::chrono::seconds(30);
  // Told of what Kafka's client has to say, one line each, level first: 'I', 'W' or 'E'. Called
  // from any thread. Unset: nothing is said.
  std::function<void(char level, std::string_view line)> log;
};

struct KafkaStats {
  uint64_t transactions = 0;  // committed
  uint64_t aborted = 0;
  uint64_t rows = 0;  // that they had
  uint64_t bytes = 0;
  uint64_t transaction_micros = 0;  // that they took together
  uint64_t rows_read = 0;
  uint32_t fenced = 0;   // partitions that others have taken over
  uint32_t waiting = 0;  // partitions whose transaction has taken more than five seconds
};

// On the terms of ChangeLog.
class KafkaLog : public ChangeLog {
 public:
  // Finds the topic, or makes it. Nothing is owned yet.
  //
  // InvalidArgument: an option or property is none. Unavailable: no broker answers in time.
  // FailedPrecondition: the topic has another number of partitions.
  [[nodiscard]] static StatusOr<std::unique_ptr<KafkaLog>> Open(const KafkaOptions& options);
  ~KafkaLog() override;
  KafkaLog(const KafkaLog&) = delete;
  KafkaLog& operator=(const KafkaLog&) = delete;

  [[nodiscard]] uint32_t partitions() const override;
  [[nodiscard]] Status Own(uint32_t partition) override;
  [[nodiscard]] StatusOr<uint64_t> Append(uint32_t partition,
                                          std::span<const LogRow> rows) override;
  [[nodiscard]] StatusOr<uint64_t> Read(uint32_t partition, uint64_t from,
                                        const Visit& visit) override;
  [[nodiscard]] Status health() const override;
  void StopWaiting() override;

  [[nodiscard]] KafkaStats Stats() const;

 private:
  class Impl;
  explicit KafkaLog(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace freshet

#endif  // FRESHET_STORAGE_KAFKA_KAFKA_LOG_H_
