// librdkafka's C objects with owners, and its errors as statuses. Internal to storage/kafka.
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

// Who waits for Kafka was told to stop.
[[nodiscard]] Status Stopped();

// What callbacks of a client use; it outlives the client.
struct Context {
  const KafkaOptions* options = nullptr;
  // Producers, on the thread that polls: beyond the last row that was delivered, and the first of
  // those since who appends has set it last. Of some that were sent again nobody knows where.
  uint64_t end = 0;
  uint64_t lowest = 0;
  // Members of a group: what is called with this as opaque; unset: nothing is.
  using GroupCallback = void (*)(rd_kafka_t*, rd_kafka_resp_err_t, rd_kafka_topic_partition_list_t*,
                                 void*);
  GroupCallback rebalance = nullptr;
  GroupCallback committed = nullptr;
  // Members of a group: whether they meet anew, until it is known what is assigned to this one.
  // Written by the client's thread.
  std::atomic<bool> joining = false;
  void* owner = nullptr;
};
using Properties = std::map<std::string, std::string>;

// A client with the properties `usual`, then those of the context's options, which win over them,
// and then `own`, which nobody may set otherwise. InvalidArgument, naming the property.
[[nodiscard]] StatusOr<Client> MakeClient(rd_kafka_type_t type, const Properties& own,
                                          Context& context, const Properties& usual = {});
// What a broker says of a topic; the client goes by that from then on. Unavailable: none answers in
// time.
[[nodiscard]] StatusOr<Metadata> MetadataOf(rd_kafka_t* client, const std::string& topic,
                                            int patience_ms);
// A consumer of what is committed, from where it is told to the end.
[[nodiscard]] StatusOr<Client> MakeReader(Context& context);

}  // namespace freshet::kafka

#endif  // FRESHET_STORAGE_KAFKA_CLIENT_H_
