// Finds or creates the topics of a cluster, and checks their settings. Internal to storage/kafka.
#ifndef FRESHET_STORAGE_KAFKA_TOPICS_H_
#define FRESHET_STORAGE_KAFKA_TOPICS_H_

#include <map>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "storage/kafka/kafka_log.h"

namespace freshet::kafka {

// Finds the topic of the log or creates it, compacted. FailedPrecondition: it has another number of
// partitions, or deletes rows that must stay. Cancelled: the options say so. Unavailable: no broker
// answers in time.
[[nodiscard]] Status EnsureTopic(const KafkaOptions& options);
// Does so for the topic whose only partition is a server's turn. It holds no rows.
[[nodiscard]] Status EnsureFleetTopic(const KafkaOptions& options);

// Checks the topic of a log in use, and the brokers' topics on which servers depend; warns where
// the options say. FailedPrecondition: as for EnsureTopic. DataLoss: a partition no longer begins
// with its first row. Any other failure: the brokers do not answer.
[[nodiscard]] Status LookAtTopics(const KafkaOptions& options);

// The settings of a log's topic, as a broker reports them.
struct TopicSettings {
  std::map<std::string, std::string> values;  // settings in force, including the brokers' own
  int replicas = 0;                           // per partition; 0 = unknown
};

// FailedPrecondition, naming the topic and the remedy: the topic deletes rows that are state, or
// removals that some store may not have read. Adds to `warnings` what makes acknowledged rows less
// safe than they could be. Missing settings pass.
[[nodiscard]] Status JudgeTopic(const std::string& topic, const TopicSettings& settings,
                                std::vector<std::string>* warnings);

// Judges a topic of the brokers' own in the same way, but only with warnings.
[[nodiscard]] std::vector<std::string> JudgeBrokersTopic(const std::string& topic,
                                                         const TopicSettings& settings);

}  // namespace freshet::kafka

#endif  // FRESHET_STORAGE_KAFKA_TOPICS_H_
