#include "storage/kafka/client.h"

#include <syslog.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"

namespace freshet::kafka {
namespace {

constexpr size_t kErrorBytes = 512;
// Properties that users may not set, because the meaning of the log depends on them.
constexpr std::array<std::string_view, 15> kOurs = {"bootstrap.servers",
                                                    "metadata.broker.list",
                                                    "transactional.id",
                                                    "acks",
                                                    "isolation.level",
                                                    "transaction.timeout.ms",
                                                    "group.id",
                                                    "enable.auto.commit",
                                                    "enable.partition.eof",
                                                    "auto.offset.reset",
                                                    "client.id",
                                                    "max.poll.interval.ms",
                                                    "session.timeout.ms",
                                                    "heartbeat.interval.ms",
                                                    "partition.assignment.strategy"};

void Say(const rd_kafka_t* client, int level, const char* facility, const char* text) {
  auto& context = *static_cast<Context*>(rd_kafka_opaque(client));
  const KafkaOptions& options = *context.options;
  // Parses lines such as "... changed join state steady -> init (state up)". Called on librdkafka's
  // own thread.
  if (std::string_view(facility) == "CGRPJOINSTATE") {
    context.joining = std::string_view(text).find(" -> steady ") == std::string_view::npos;
  }
  if (!options.log || (level >= LOG_DEBUG && !options.properties.contains("debug"))) return;
  const char letter = level <= LOG_ERR ? 'E' : level <= LOG_WARNING ? 'W' : 'I';
  options.log(letter, fmt::format("kafka: {}", text));
}

void Delivered(rd_kafka_t* /*client*/, const rd_kafka_message_t* message, void* opaque) {
  auto& context = *static_cast<Context*>(opaque);
  if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR)
    return;  // the transaction of this row will be aborted
  if (message->offset < 0) return;
  const auto offset = static_cast<uint64_t>(message->offset);
  context.lowest = std::min(context.lowest, offset);
  context.end = std::max(context.end, offset + 1);
}

// The timeout of a request. If a broker is paused or unreachable, a client asks another one only
// after this timeout. A commit, for example, waits that long, and librdkafka's default of 60 s is
// too long for a takeover.
constexpr const char* kSocketTimeoutMs = "10000";
// The maximum of socket.timeout.ms. Each retry of taking ownership of a partition fences the
// previous one, so a request must have timed out before it is retried.
constexpr int64_t kMostSocketTimeoutMs = 10'000;
// The minimum of message.max.bytes: librdkafka's default, which fits the longest row with its
// overhead.
constexpr int64_t kLeastMessageBytes = 1'000'000;

// How long a broker holds a reader's request while there are no new rows. Only after this time, the
// broker reports the end of a partition and answers the next request. librdkafka's default of 500
// ms is too long for a takeover.
constexpr const char* kFetchWaitMs = "100";
// The number of kilobytes and rows that are read ahead. They apply to each partition, and
// librdkafka's default of 64 MB is too much for that. They must not be too small, because a reader
// with a full queue checks again only after a second.
constexpr const char* kReadAheadKilobytes = "16384";
constexpr const char* kReadAheadRows = "1000000";

Status Set(rd_kafka_conf_t* conf, const std::string& name, const std::string& value) {
  std::array<char, kErrorBytes> error{};
  if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), error.data(), error.size()) ==
      RD_KAFKA_CONF_OK) {
    return absl::OkStatus();
  }
  return InvalidArgument("cluster.properties.{}: {}", name, std::string(error.data()));
}

// Not OK: InvalidArgument for a property or value that cluster.properties may not set.
Status CheckProperty(const std::string& name, const std::string& value) {
  if (std::find(kOurs.begin(), kOurs.end(), name) != kOurs.end()) {
    return InvalidArgument("cluster.properties.{}: is set by the server itself", name);
  }
  if (name == "group.instance.id") {
    return InvalidArgument(
        "cluster.properties.{}: is not allowed: the group would wait for a server that has left",
        name);
  }
  int64_t number = 0;
  if (!absl::SimpleAtoi(value, &number)) return absl::OkStatus();
  if (name == "socket.timeout.ms" && number > kMostSocketTimeoutMs) {
    return InvalidArgument("cluster.properties.{}: is {}, and at most {} are allowed", name, value,
                           kMostSocketTimeoutMs);
  }
  if ((name == "message.max.bytes" || name == "max.message.bytes") && number < kLeastMessageBytes) {
    return InvalidArgument("cluster.properties.{}: is {}, and rows need at least {}", name, value,
                           kLeastMessageBytes);
  }
  return absl::OkStatus();
}

Status SetAll(const KafkaOptions& options, const Properties& usual, const Properties& own,
              rd_kafka_conf_t* conf) {
  RETURN_IF_ERROR(Set(conf, "socket.timeout.ms", kSocketTimeoutMs));
  for (const auto& [name, value] : usual) RETURN_IF_ERROR(Set(conf, name, value));
  for (const auto& [name, value] : options.properties) {
    RETURN_IF_ERROR(CheckProperty(name, value));
    RETURN_IF_ERROR(Set(conf, name, value));
  }
  RETURN_IF_ERROR(Set(conf, "bootstrap.servers", options.brokers));
  for (const auto& [name, value] : own) RETURN_IF_ERROR(Set(conf, name, value));
  return absl::OkStatus();
}

}  // namespace

Status Stopped() {
  return MakeStatus(absl::StatusCode::kCancelled, "stopped while waiting for Kafka");
}

std::string TopicOf(const KafkaOptions& options) { return options.cluster + ".changes"; }

std::string FleetTopicOf(const KafkaOptions& options) { return options.cluster + ".fleet"; }

std::string TransactionalIdOf(const KafkaOptions& options, uint32_t partition) {
  return fmt::format("{}-{}", options.cluster, partition);
}

StatusOr<Metadata> MetadataOf(rd_kafka_t* client, const std::string& topic, int patience_ms) {
  const std::unique_ptr<rd_kafka_topic_t, Destroyer<rd_kafka_topic_destroy>> handle(
      rd_kafka_topic_new(client, topic.c_str(), nullptr));
  const rd_kafka_metadata_t* metadata = nullptr;
  const rd_kafka_resp_err_t error =
      rd_kafka_metadata(client, 0, handle.get(), &metadata, patience_ms);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return MakeStatus(absl::StatusCode::kUnavailable, "{}", rd_kafka_err2str(error));
  }
  return Metadata(metadata);
}

StatusOr<Client> MakeClient(rd_kafka_type_t type, const Properties& own, Context& context,
                            const Properties& usual) {
  using Conf = std::unique_ptr<rd_kafka_conf_t, Destroyer<rd_kafka_conf_destroy>>;
  Conf conf(rd_kafka_conf_new());
  RETURN_IF_ERROR(SetAll(*context.options, usual, own, conf.get()));
  if (context.rebalance != nullptr) {
    // Only the client's debug log shows that the group rebalances.
    const auto more = context.options->properties.find("debug");
    const bool asked = more != context.options->properties.end();
    RETURN_IF_ERROR(Set(conf.get(), "debug", asked ? more->second + ",cgrp" : "cgrp"));
  }
  if (type == RD_KAFKA_PRODUCER) rd_kafka_conf_set_dr_msg_cb(conf.get(), Delivered);
  if (context.rebalance != nullptr) rd_kafka_conf_set_rebalance_cb(conf.get(), context.rebalance);
  if (context.committed != nullptr) {
    rd_kafka_conf_set_offset_commit_cb(conf.get(), context.committed);
  }
  rd_kafka_conf_set_opaque(conf.get(), &context);
  rd_kafka_conf_set_log_cb(conf.get(), Say);
  std::array<char, kErrorBytes> error{};
  Client client(rd_kafka_new(type, conf.get(), error.data(), error.size()));
  if (client == nullptr) return InvalidArgument("cluster: {}", std::string(error.data()));
  (void)conf.release();  // owned by the client now
  return client;
}

StatusOr<Client> MakeReader(Context& context) {
  return MakeClient(RD_KAFKA_CONSUMER,
                    {{"group.id", context.options->cluster + ".readers"},  // no member joins
                     {"isolation.level", "read_committed"},
                     {"enable.auto.commit", "false"},
                     {"enable.partition.eof", "true"},
                     {"auto.offset.reset", "error"},
                     {"allow.auto.create.topics", "false"}},
                    context,
                    {{"fetch.wait.max.ms", kFetchWaitMs},
                     {"queued.max.messages.kbytes", kReadAheadKilobytes},
                     {"queued.min.messages", kReadAheadRows}});
}

}  // namespace freshet::kafka
