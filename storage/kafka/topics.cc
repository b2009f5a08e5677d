#include "storage/kafka/topics.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/numbers.h"
#include "core/base/check.h"
#include "storage/kafka/client.h"

namespace freshet::kafka {
namespace {

using Steady = std::chrono::steady_clock;
using NewTopic = std::unique_ptr<rd_kafka_NewTopic_t, Destroyer<rd_kafka_NewTopic_destroy>>;
using Resource =
    std::unique_ptr<rd_kafka_ConfigResource_t, Destroyer<rd_kafka_ConfigResource_destroy>>;
using AdminOptions =
    std::unique_ptr<rd_kafka_AdminOptions_t, Destroyer<rd_kafka_AdminOptions_destroy>>;
using Queue = std::unique_ptr<rd_kafka_queue_t, Destroyer<rd_kafka_queue_destroy>>;
using Event = std::unique_ptr<rd_kafka_event_t, Destroyer<rd_kafka_event_destroy>>;

// How long compaction keeps removals: longer than restoring any node takes. A reader that starts at
// the beginning of a partition must also see the later removals of the rows that it reads.
constexpr int64_t kDeleteRetentionMs = 604'800'000;
constexpr const char* kCleanupPolicy = "cleanup.policy";
constexpr const char* kDeleteRetention = "delete.retention.ms";
constexpr const char* kInSync = "min.insync.replicas";
constexpr const char* kUnclean = "unclean.leader.election.enable";
constexpr const char* kMessageBytes = "max.message.bytes";
// The smallest batch limit of a topic that is safe: the maximum number of bytes that the client
// sends at a time (storage/kafka/client.cc), plus the broker's overhead.
constexpr int64_t kLeastBatchBytes = 1'000'012;
// The brokers' own topics that hold the turn and the ownership of partitions.
constexpr std::array<const char*, 2> kBrokersTopics = {"__consumer_offsets", "__transaction_state"};
// With this many replicas, a majority of them has each acknowledged row even if one broker is down.
constexpr int kReplicasToSpare = 3;
constexpr size_t kReasonBytes = 512;
constexpr int kCallMs = 1000;
constexpr int kAnswerMs = 10 * kCallMs;
constexpr int kAgainMs = 100;
// A start can be a takeover, so it waits only briefly for the settings of a topic.
constexpr int kSettingsMs = 3000;

struct Topic {
  std::string name;
  int partitions = 1;
  bool of_shards = false;
};

// An existing topic; zero partitions = the topic does not exist (yet).
struct Found {
  int partitions = 0;
  int replicas = 0;
};

StatusOr<Found> Find(rd_kafka_t* client, const std::string& topic) {
  ASSIGN_OR_RETURN(const Metadata metadata, MetadataOf(client, topic, kCallMs));
  if (metadata->topic_cnt != 1) return Found{};
  const rd_kafka_metadata_topic_t& found = metadata->topics[0];
  if (found.err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) return Found{};
  if (found.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return MakeStatus(absl::StatusCode::kUnavailable, "topic {}: {}", topic,
                      rd_kafka_err2str(found.err));
  }
  return Found{.partitions = found.partition_cnt,
               .replicas = found.partition_cnt == 0 ? 0 : found.partitions[0].replica_cnt};
}

// Waits for a broker's answer to one request of the admin API. Unavailable: no answer, or a
// failure.
StatusOr<Event> Answer(const Queue& queue, const std::string& what) {
  Event event(rd_kafka_queue_poll(queue.get(), kAnswerMs));
  if (event == nullptr) {
    return MakeStatus(absl::StatusCode::kUnavailable, "{}: no answer", what);
  }
  if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return MakeStatus(absl::StatusCode::kUnavailable, "{}: {}", what,
                      rd_kafka_event_error_string(event.get()));
  }
  return event;
}

// Creates a topic. Also OK if another process creates the topic first.
Status MakeTopic(rd_kafka_t* client, const KafkaOptions& options, const Topic& wanted) {
  const std::string& name = wanted.name;
  std::array<char, kReasonBytes> error{};
  const NewTopic topic(rd_kafka_NewTopic_new(name.c_str(), wanted.partitions, options.replication,
                                             error.data(), error.size()));
  if (topic == nullptr) return InvalidArgument("cluster: {}", std::string(error.data()));
  const auto set = [&topic](const char* key, const std::string& value) {
    rd_kafka_NewTopic_set_config(topic.get(), key, value.c_str());
  };
  set(kCleanupPolicy, "compact");
  set(kDeleteRetention, std::to_string(kDeleteRetentionMs));
  if (options.replication >= kReplicasToSpare) {
    set(kInSync, std::to_string(options.replication / 2 + 1));
  }
  const Queue queue(rd_kafka_queue_new(client));
  rd_kafka_NewTopic_t* one = topic.get();
  rd_kafka_CreateTopics(client, &one, 1, nullptr, queue.get());
  ASSIGN_OR_RETURN(const Event event, Answer(queue, fmt::format("making topic {}", name)));
  size_t count = 0;
  const rd_kafka_topic_result_t* const* results =
      rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event.get()), &count);
  for (size_t i = 0; i < count; ++i) {
    const rd_kafka_resp_err_t result = rd_kafka_topic_result_error(results[i]);
    if (result == RD_KAFKA_RESP_ERR_NO_ERROR || result == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) {
      continue;
    }
    return MakeStatus(absl::StatusCode::kFailedPrecondition, "making topic {}: {}", name,
                      rd_kafka_err2str(result));
  }
  return absl::OkStatus();
}

// Checks the topic's partitions. NotFound: there is no such topic.
StatusOr<Found> CheckTopic(rd_kafka_t* client, const Topic& wanted) {
  ASSIGN_OR_RETURN(const Found found, Find(client, wanted.name));
  if (found.partitions == 0) return NotFound("topic {}", wanted.name);
  if (found.partitions == wanted.partitions) return found;
  if (!wanted.of_shards) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "topic {} has {} partitions and needs {}; it is empty, so delete it",
                      wanted.name, found.partitions, wanted.partitions);
  }
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "shards: topic {} has {} partitions, one a shard, and not {}", wanted.name,
                    found.partitions, wanted.partitions);
}

StatusOr<Found> Ensure(const KafkaOptions& options, rd_kafka_t* client, const Topic& wanted) {
  const auto until = Steady::now() + options.open_patience;
  Status status;
  while (true) {
    StatusOr<Found> found = CheckTopic(client, wanted);
    if (found.ok() || absl::IsFailedPrecondition(found.status())) return found;
    status = found.status();
    if (absl::IsNotFound(status)) {
      Status made = MakeTopic(client, options, wanted);
      if (absl::IsFailedPrecondition(made) || absl::IsInvalidArgument(made)) return made;
      if (!made.ok()) status = made;
    }
    if (options.cancelled != nullptr && *options.cancelled) return Stopped();
    if (Steady::now() >= until) break;
    rd_kafka_poll(client, kAgainMs);
  }
  return MakeStatus(absl::StatusCode::kUnavailable, "cluster.brokers: {}: {}", options.brokers,
                    std::string(status.message()));
}

// Reads the settings that are in force for a topic. Not OK: Unavailable if a broker did not answer,
// so that a retry can help; with any other status, a retry cannot help.
StatusOr<std::map<std::string, std::string>> SettingsOf(rd_kafka_t* client,
                                                        const std::string& topic) {
  // Only the controller answers this request. If no broker is the controller at the moment, the
  // client would wait for one.
  ASSIGN_OR_RETURN(const Metadata metadata, MetadataOf(client, topic, kCallMs));
  const std::span<const rd_kafka_metadata_broker_t> brokers(
      metadata->brokers, static_cast<size_t>(metadata->broker_cnt));
  const int32_t controller = rd_kafka_controllerid(client, kCallMs);
  if (std::none_of(brokers.begin(), brokers.end(),
                   [&](const auto& broker) { return broker.id == controller; })) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition, "no controller");
  }
  const Resource asked(rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str()));
  const AdminOptions options(rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS));
  std::array<char, kReasonBytes> error{};
  const rd_kafka_resp_err_t set =
      rd_kafka_AdminOptions_set_request_timeout(options.get(), kCallMs, error.data(), error.size());
  CHECK(set == RD_KAFKA_RESP_ERR_NO_ERROR, "{}", std::string(error.data()));
  const Queue queue(rd_kafka_queue_new(client));
  rd_kafka_ConfigResource_t* one = asked.get();
  rd_kafka_DescribeConfigs(client, &one, 1, options.get(), queue.get());
  ASSIGN_OR_RETURN(const Event event, Answer(queue, "DescribeConfigs"));
  size_t count = 0;
  const rd_kafka_ConfigResource_t** const found = rd_kafka_DescribeConfigs_result_resources(
      rd_kafka_event_DescribeConfigs_result(event.get()), &count);
  std::map<std::string, std::string> values;
  for (size_t i = 0; i < count; ++i) {
    const rd_kafka_resp_err_t refused = rd_kafka_ConfigResource_error(found[i]);
    if (refused != RD_KAFKA_RESP_ERR_NO_ERROR) {
      const bool forbidden = refused == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
      return MakeStatus(
          forbidden ? absl::StatusCode::kPermissionDenied : absl::StatusCode::kUnavailable,
          "DescribeConfigs: {}", rd_kafka_err2str(refused));
    }
    size_t entries = 0;
    const rd_kafka_ConfigEntry_t** const entry =
        rd_kafka_ConfigResource_configs(found[i], &entries);
    for (size_t j = 0; j < entries; ++j) {
      const char* const value = rd_kafka_ConfigEntry_value(entry[j]);
      if (value != nullptr) values.emplace(rd_kafka_ConfigEntry_name(entry[j]), value);
    }
  }
  return values;
}

std::optional<int64_t> NumberOf(const TopicSettings& settings, const char* name) {
  const auto found = settings.values.find(name);
  int64_t number = 0;
  if (found == settings.values.end() || !absl::SimpleAtoi(found->second, &number)) {
    return std::nullopt;
  }
  return number;
}

// OK if each partition begins with its first row. The message of any other status says where a
// partition begins.
Status CheckBeginnings(const KafkaOptions& options, rd_kafka_t* client, const std::string& topic) {
  const Partitions list(rd_kafka_topic_partition_list_new(static_cast<int>(options.partitions)));
  for (uint32_t i = 0; i < options.partitions; ++i) {
    rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), static_cast<int32_t>(i))->offset =
        RD_KAFKA_OFFSET_BEGINNING;
  }
  if (rd_kafka_offsets_for_times(client, list.get(), kAnswerMs) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return absl::OkStatus();
  }
  for (const auto& found : std::span(list->elems, static_cast<size_t>(list->cnt))) {
    if (found.err == RD_KAFKA_RESP_ERR_NO_ERROR && found.offset > 0) {
      return BeginsTooLate(topic, static_cast<uint32_t>(found.partition));
    }
  }
  return absl::OkStatus();
}

// Warns of unsafe settings of the brokers' topics, if the brokers report them.
void CheckBrokersTopics(const KafkaOptions& options, rd_kafka_t* client) {
  for (const std::string topic : kBrokersTopics) {
    if (options.cancelled != nullptr && *options.cancelled) return;
    const StatusOr<Found> found = Find(client, topic);
    // Brokers create the topic when it is first needed.
    if (!found.ok() || found->partitions == 0) continue;
    auto values = SettingsOf(client, topic);
    if (!values.ok()) values = std::map<std::string, std::string>();
    for (const std::string& line :
         JudgeBrokersTopic(topic, {.values = *std::move(values), .replicas = found->replicas})) {
      if (options.log) options.log('W', line);
    }
  }
}

Status CheckSettings(const KafkaOptions& options, rd_kafka_t* client, const std::string& topic,
                     int replicas) {
  const auto warn = [&](const std::string& line) {
    if (options.log) options.log('W', line);
  };
  const auto until = Steady::now() + std::chrono::milliseconds(kSettingsMs);
  auto values = SettingsOf(client, topic);
  // Some brokers do not know a new topic yet.
  while (absl::IsUnavailable(values.status()) && Steady::now() < until) {
    if (options.cancelled != nullptr && *options.cancelled) return Stopped();
    rd_kafka_poll(client, kAgainMs);
    values = SettingsOf(client, topic);
  }
  if (!values.ok()) {
    // A server does not need the right to read these settings.
    warn(
        fmt::format("topic {}: its settings are not known ({}): see to it that it has {}=compact "
                    "and {}={}",
                    topic, std::string(values.status().message()), kCleanupPolicy, kDeleteRetention,
                    kDeleteRetentionMs));
    values = std::map<std::string, std::string>();
  }
  std::vector<std::string> warnings;
  const Status status =
      JudgeTopic(topic, {.values = *std::move(values), .replicas = replicas}, &warnings);
  for (const std::string& line : warnings) warn(line);
  return status;
}

}  // namespace

Status JudgeTopic(const std::string& topic, const TopicSettings& settings,
                  std::vector<std::string>* warnings) {
  const auto policy = settings.values.find(kCleanupPolicy);
  if (policy != settings.values.end() && policy->second != "compact") {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "topic {} has {}={}, so Kafka would delete pages: set it to compact", topic,
                      kCleanupPolicy, policy->second);
  }
  const std::optional<int64_t> retention = NumberOf(settings, kDeleteRetention);
  if (retention && *retention < kDeleteRetentionMs) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "topic {} has {}={}, so a server that was away could bring back removed "
                      "pages: set it to at least {}",
                      topic, kDeleteRetention, *retention, kDeleteRetentionMs);
  }
  const std::optional<int64_t> bytes = NumberOf(settings, kMessageBytes);
  if (bytes && *bytes < kLeastBatchBytes) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "topic {} has {}={}, so Kafka would refuse rows: set it to at least {}",
                      topic, kMessageBytes, *bytes, kLeastBatchBytes);
  }
  if (settings.replicas == 1) {
    warnings->push_back(fmt::format(
        "topic {} has one replica: what is acknowledged is lost with the disk of one broker",
        topic));
  } else if (NumberOf(settings, kInSync).value_or(2) < 2) {
    warnings->push_back(
        fmt::format("topic {} has {}=1: what is acknowledged while other brokers are away is lost "
                    "with the disk of one",
                    topic, kInSync));
  }
  const auto unclean = settings.values.find(kUnclean);
  if (unclean != settings.values.end() && unclean->second == "true") {
    warnings->push_back(
        fmt::format("topic {} has {}=true: a broker that was away may undo what is acknowledged",
                    topic, kUnclean));
  }
  return absl::OkStatus();
}

std::vector<std::string> JudgeBrokersTopic(const std::string& topic,
                                           const TopicSettings& settings) {
  if (settings.replicas == 1) {
    return {
        fmt::format("topic {} has one replica: no server can take over while one broker is "
                    "away, nor after its disk is lost",
                    topic)};
  }
  if (NumberOf(settings, kInSync).value_or(2) >= 2) return {};
  return {
      fmt::format("topic {} has {}=1: no server can take over after the disk of one broker is "
                  "lost while others are away",
                  topic, kInSync)};
}

Status LookAtTopics(const KafkaOptions& options) {
  Context context{.options = &options};
  ASSIGN_OR_RETURN(const Client client, MakeReader(context));
  CheckBrokersTopics(options, client.get());
  const Topic wanted{.name = TopicOf(options),
                     .partitions = static_cast<int>(options.partitions),
                     .of_shards = true};
  ASSIGN_OR_RETURN(const Found found, CheckTopic(client.get(), wanted));
  RETURN_IF_ERROR(CheckSettings(options, client.get(), wanted.name, found.replicas));
  return CheckBeginnings(options, client.get(), wanted.name);
}

Status EnsureTopic(const KafkaOptions& options) {
  // If a producer asks for a missing topic, brokers create the topic without compaction. A request
  // of a consumer creates no topic, so a consumer is used.
  Context context{.options = &options};
  ASSIGN_OR_RETURN(const Client client, MakeReader(context));
  const Topic wanted{.name = TopicOf(options),
                     .partitions = static_cast<int>(options.partitions),
                     .of_shards = true};
  ASSIGN_OR_RETURN(const Found found, Ensure(options, client.get(), wanted));
  return CheckSettings(options, client.get(), wanted.name, found.replicas);
}

Status EnsureFleetTopic(const KafkaOptions& options) {
  Context context{.options = &options};
  ASSIGN_OR_RETURN(const Client client, MakeReader(context));
  return Ensure(options, client.get(), {.name = FleetTopicOf(options), .partitions = 1}).status();
}

}  // namespace freshet::kafka
