// Finds or creates the topics of a cluster, and checks their settings. Internal to storage/kafka.
#ifndef FRESHET_STORAGE_KAFKA_TOPICS_H_
#define FRESHET_STORAGE_KAFKA_TOPICS_H_

#include <map>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "storage/kafka/kafka_log.h"

namespace freshet::kafka {

// Finds the topic of the log, or creates it with compaction. Not OK: FailedPrecondition if it has a
// different number of partitions or deletes rows that must stay; Cancelled if
// KafkaOptions::cancelled is set; Unavailable if no broker answers in time.
[[nodiscard]] Status EnsureTopic(const KafkaOptions& options);
// Does the same for the topic `<cluster>.fleet`, whose only partition stands for the turn
// (storage/kafka/tenure.h). This topic holds no rows.
[[nodiscard]] Status EnsureFleetTopic(const KafkaOptions& options);

// Checks the topic of a log in use, and the brokers' topics on which servers depend; warns in the
// options' log. FailedPrecondition: as for EnsureTopic. DataLoss: a partition no longer begins with
// its first row. Any other failure: the brokers do not answer.
[[nodiscard]] Status LookAtTopics(const KafkaOptions& options);

// The settings of a log's topic, as a broker reports them.
struct TopicSettings {
  std::map<std::string, std::string> values;  // settings in force, including the brokers' own
  int replicas = 0;                           // per partition; 0 = unknown
};

// Judges the settings of the topic of a log. Not OK: FailedPrecondition, with the topic and the
// remedy, if the topic deletes rows that are state, or removals that some store may not have read
// yet. Adds to `warnings` settings that make acknowledged rows less safe than they could be.
// Accepts missing settings.
[[nodiscard]] Status JudgeTopic(const std::string& topic, const TopicSettings& settings,
                                std::vector<std::string>* warnings);

// Judges one of the brokers' internal topics in the same way, but returns only warnings.
[[nodiscard]] std::vector<std::string> JudgeBrokersTopic(const std::string& topic,
                                                         const TopicSettings& settings);

}  // namespace freshet::kafka

#endif  // FRESHET_STORAGE_KAFKA_TOPICS_H_
