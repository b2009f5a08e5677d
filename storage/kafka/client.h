// RAII owners of librdkafka's C objects, and functions that return its errors as statuses. Internal
// to storage/kafka.
#ifndef FRESHET_STORAGE_KAFKA_CLIENT_H_
#define FRESHET_STORAGE_KAFKA_CLIENT_H_

#include <librdkafka/rdkafka.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/base/status.h"
#include "storage/kafka/kafka_log.h"

namespace freshet::kafka {

template <auto Destroy>
struct Destroyer {
  template <typename T>
  void operator()(T* object) const {
    Destroy(object);
  }
};
using Client = std::unique_ptr<rd_kafka_t, Destroyer<rd_kafka_destroy>>;
using Error = std::unique_ptr<rd_kafka_error_t, Destroyer<rd_kafka_error_destroy>>;
using Partitions = std::unique_ptr<rd_kafka_topic_partition_list_t,
                                   Destroyer<rd_kafka_topic_partition_list_destroy>>;
using Metadata = std::unique_ptr<const rd_kafka_metadata_t, Destroyer<rd_kafka_metadata_destroy>>;
using Message = std::unique_ptr<rd_kafka_message_t, Destroyer<rd_kafka_message_destroy>>;

[[nodiscard]] std::string TopicOf(const KafkaOptions& options);
[[nodiscard]] std::string FleetTopicOf(const KafkaOptions& options);
[[nodiscard]] std::string TransactionalIdOf(const KafkaOptions& options, uint32_t partition);

// The status of a wait for Kafka that was stopped.
[[nodiscard]] Status Stopped();

// The state of a client's callbacks. It outlives the client.
struct Context {
  const KafkaOptions* options = nullptr;
  // For producers, set on the polling thread. `end`: the offset after the last delivered row.
  // `lowest`: the lowest offset since the appender last reset `lowest`. Rows that were resent might
  // have unknown offsets.
  uint64_t end = 0;
  uint64_t lowest = 0;
  // For group members: callbacks that get this Context as their `opaque`; nullptr = none.
  using GroupCallback = void (*)(rd_kafka_t*, rd_kafka_resp_err_t, rd_kafka_topic_partition_list_t*,
                                 void*);
  GroupCallback rebalance = nullptr;
  GroupCallback committed = nullptr;
  // For group members: true while the group rebalances and this member has no assignment yet.
  // Written by the client's thread.
  std::atomic<bool> joining = false;
  void* owner = nullptr;
};
using Properties = std::map<std::string, std::string>;

// Makes a client with the properties `usual`, then those of the context's options, which override
// them, and then `own`, which nothing overrides. Not OK: InvalidArgument, with the name of the
// property.
[[nodiscard]] StatusOr<Client> MakeClient(rd_kafka_type_t type, const Properties& own,
                                          Context& context, const Properties& usual = {});
// Asks a broker for the metadata of a topic, which the client uses from then on. Unavailable: no
// broker answers in time.
[[nodiscard]] StatusOr<Metadata> MetadataOf(rd_kafka_t* client, const std::string& topic,
                                            int patience_ms);
// Makes a consumer of committed rows, which reports the end of a partition.
[[nodiscard]] StatusOr<Client> MakeReader(Context& context);

}  // namespace freshet::kafka

#endif  // FRESHET_STORAGE_KAFKA_CLIENT_H_
