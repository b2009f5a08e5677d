// The topics of a cluster: found or made, and as they have to be. Internal to storage/kafka.
#ifndef FRESHET_STORAGE_KAFKA_TOPICS_H_
#define FRESHET_STORAGE_KAFKA_TOPICS_H_

#include <map>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "storage/kafka/kafka_log.h"

namespace freshet::kafka {

// Finds the topic of the log or makes it, compacted. FailedPrecondition: it has another number of
// partitions, or forgets what it must not. Cancelled: the options say so. Unavailable: no broker
// answers in time.
[[nodiscard]] Status EnsureTopic(const KafkaOptions& options);
// The same of the one whose only partition is the turn of a server. Nothing is written to it.
[[nodiscard]] Status EnsureFleetTopic(const KafkaOptions& options);

// Looks at the topic of a log that is in use, and at those of the brokers that servers depend on;
// warns where the options say to. FailedPrecondition as EnsureTopic's. DataLoss: a partition no
// longer begins with its first row. Any other failure: the brokers do not say.
[[nodiscard]] Status LookAtTopics(const KafkaOptions& options);

// What a broker says of the topic of a log.
struct TopicSettings {
  std::map<std::string, std::string> values;  // those in force, the brokers' own among them
  int replicas = 0;                           // of a partition; 0: not known
};

// FailedPrecondition, naming the topic and what to do: it forgets rows that are state, or removals
// before every store has met them. Adds to `warnings` what makes acknowledged rows less safe than
// they could be. What `settings` does not have passes.
[[nodiscard]] Status JudgeTopic(const std::string& topic, const TopicSettings& settings,
                                std::vector<std::string>* warnings);

// The same of a topic of the brokers' own: warnings alone.
[[nodiscard]] std::vector<std::string> JudgeBrokersTopic(const std::string& topic,
                                                         const TopicSettings& settings);

}  // namespace freshet::kafka

#endif  // FRESHET_STORAGE_KAFKA_TOPICS_H_
