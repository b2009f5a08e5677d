#include "storage/kafka/kafka_log.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "storage/kafka/client.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

using kafka::Client;
using kafka::Context;
using kafka::Error;
using kafka::Partitions;
using kafka::Stopped;
using Steady = std::chrono::steady_clock;

// How long one call of librdkafka waits before it is looked whether to go on.
constexpr int kCallMs = 500;
// The most that brokers allow by default. A transaction that its owner leaves open holds nobody
// up: who owns the partition next ends it.
constexpr const char* kTransactionTimeoutMs = "900000";
// A transaction that takes longer is one that waits for Kafka.
constexpr auto kSlow = std::chrono::seconds(5);

bool IsFencing(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR__FENCED || error == RD_KAFKA_RESP_ERR_PRODUCER_FENCED ||
         error == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH;
}

}  // namespace

class KafkaLog::Impl {
 public:
  explicit Impl(const KafkaOptions& options)
      : options_(options),
        topic_(kafka::TopicOf(options)),
        partitions_(options.partitions),
        readers_(options.partitions) {}

  [[nodiscard]] const std::string& name() const { return topic_; }
  [[nodiscard]] uint32_t partitions() const { return options_.partitions; }
  [[nodiscard]] Status Own(uint32_t partition);
  [[nodiscard]] StatusOr<uint64_t> Append(uint32_t partition, std::span<const LogRow> rows);
  [[nodiscard]] StatusOr<uint64_t> Read(uint32_t partition, uint64_t from, const Visit& visit);
  [[nodiscard]] Status health() const;
  void StopWaiting() { stopped_ = true; }
  [[nodiscard]] ChangeLogStats Stats() const;

 private:
  // One that is owned, or was.
  struct Partition {
    uint32_t index = 0;
    Context context;  // outlives the producer
    Client producer;
    std::atomic<int64_t> began = 0;  // its transaction, on the steady clock; 0: none is open
    std::atomic<bool> failed = false;
    Status failure;  // constant once `failed`
  };

  // Who has read a partition, and may be asked for what came since. Asking anew costs a connection.
  struct Reader {
    Context context;  // outlives the client
    Client client;
    uint64_t next = 0;
  };

  // Ends appending to the partition.
  Status Fail(Partition& partition, rd_kafka_resp_err_t code, const std::string& why);
  [[nodiscard]] Status Send(Partition& partition, std::span<const LogRow> rows);
  [[nodiscard]] Status SendOne(Partition& partition, const LogRow& row);
  [[nodiscard]] Status WaitForDelivery(Partition& partition);
  [[nodiscard]] Status CommitTransaction(Partition& partition);
  // Nothing was appended: ResourceExhausted, with the reason.
  [[nodiscard]] Status Abort(Partition& partition, const std::string& why);
  // What an error of a call on a transaction means; OK: call again.
  [[nodiscard]] Status Judge(Partition& partition, const rd_kafka_error_t* error);
  [[nodiscard]] StatusOr<std::unique_ptr<Reader>> NewReader(uint32_t partition, uint64_t from);
  // The offset after the last row that is committed by now.
  [[nodiscard]] StatusOr<uint64_t> EndOf(Reader& reader, uint32_t partition);
  // Of a message of a reader: whether it was the end.
  [[nodiscard]] StatusOr<bool> Take(const rd_kafka_message_t& message, const Visit& visit);

  const KafkaOptions options_;
  const std::string topic_;
  std::vector<std::unique_ptr<Partition>> owned_;
  std::vector<std::atomic<Partition*>> partitions_;  // nullptr: was never owned
  std::vector<std::unique_ptr<Reader>> readers_;     // each touched by who reads its partition
  mutable Mutex mutex_;                              // of owned_ and failures
  std::atomic<bool> stopped_ = false;
  std::atomic<uint64_t> transactions_ = 0;
  std::atomic<uint64_t> aborted_ = 0;
  std::atomic<uint64_t> rows_ = 0;
  std::atomic<uint64_t> bytes_ = 0;
  std::atomic<uint64_t> transaction_micros_ = 0;
  std::atomic<uint64_t> rows_read_ = 0;
};

Status KafkaLog::Impl::Own(uint32_t partition) {
  CHECK(partition < options_.partitions, "partition {}", partition);
  CHECK(partitions_[partition] == nullptr, "partition {} is owned twice", partition);
  auto owned = std::make_unique<Partition>();
  owned->index = partition;
  owned->context.options = &options_;
  const kafka::Properties own = {
      {"transactional.id", kafka::TransactionalIdOf(options_, partition)},
      {"transaction.timeout.ms", kTransactionTimeoutMs},
      {"acks", "all"}};
  ASSIGN_OR_RETURN(owned->producer, kafka::MakeClient(RD_KAFKA_PRODUCER, own, owned->context));
  while (true) {
    if (stopped_) return Stopped();
    const Error error(rd_kafka_init_transactions(owned->producer.get(), kCallMs));
    if (error == nullptr) break;
    if (rd_kafka_error_is_retriable(error.get()) != 0) continue;
    return MakeStatus(absl::StatusCode::kFailedPrecondition, "owning partition {} of {}: {}",
                      partition, topic_, rd_kafka_error_string(error.get()));
  }
  const MutexLock lock(mutex_);
  partitions_[partition] = owned.get();
  owned_.push_back(std::move(owned));
  return absl::OkStatus();
}

StatusOr<uint64_t> KafkaLog::Impl::Append(uint32_t index, std::span<const LogRow> rows) {
  CHECK(index < options_.partitions && !rows.empty(), "partition {}", index);
  Partition* const found = partitions_[index];
  CHECK(found != nullptr, "partition {} is not owned", index);
  Partition& partition = *found;
  if (partition.failed) return partition.failure;
  const Steady::time_point start = Steady::now();
  partition.began = start.time_since_epoch().count();
  partition.context.undelivered = RD_KAFKA_RESP_ERR_NO_ERROR;
  Status status = Send(partition, rows);
  partition.began = 0;
  RETURN_IF_ERROR(status);
  ++transactions_;
  rows_ += rows.size();
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(Steady::now() - start);
  transaction_micros_ += static_cast<uint64_t>(took.count());
  return partition.context.end;
}

Status KafkaLog::Impl::Send(Partition& partition, std::span<const LogRow> rows) {
  const Error begun(rd_kafka_begin_transaction(partition.producer.get()));
  if (begun != nullptr) {
    return Fail(partition, rd_kafka_error_code(begun.get()), rd_kafka_error_string(begun.get()));
  }
  for (const LogRow& row : rows) {
    if (Status sent = SendOne(partition, row); !sent.ok()) {
      return partition.failed || absl::IsCancelled(sent)
                 ? sent
                 : Abort(partition, std::string(sent.message()));
    }
  }
  RETURN_IF_ERROR(WaitForDelivery(partition));
  return CommitTransaction(partition);
}

Status KafkaLog::Impl::SendOne(Partition& partition, const LogRow& row) {
  std::string key(1, static_cast<char>(row.family));
  key += row.key;
  const std::string_view value = row.value.value_or(std::string_view());
  std::array<rd_kafka_vu_t, 5> message{};
  message[0] = {.vtype = RD_KAFKA_VTYPE_TOPIC, .u = {.cstr = topic_.c_str()}};
  message[1] = {.vtype = RD_KAFKA_VTYPE_PARTITION,
                .u = {.i32 = static_cast<int32_t>(partition.index)}};
  message[2].vtype = RD_KAFKA_VTYPE_KEY;
  message[2].u.mem = {.ptr = key.data(), .size = key.size()};
  // Copied, all of it; without a value the row is removed.
  message[3].vtype = RD_KAFKA_VTYPE_VALUE;
  if (row.value) message[3].u.mem = {.ptr = const_cast<char*>(value.data()), .size = value.size()};
  message[4] = {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u = {.i = RD_KAFKA_MSG_F_COPY}};
  while (true) {
    const Error failed(
        rd_kafka_produceva(partition.producer.get(), message.data(), message.size()));
    const rd_kafka_resp_err_t error =
        failed == nullptr ? RD_KAFKA_RESP_ERR_NO_ERROR : rd_kafka_error_code(failed.get());
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) break;
    if (stopped_) return Stopped();
    if (error == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
      rd_kafka_poll(partition.producer.get(), kCallMs);
    } else if (rd_kafka_fatal_error(partition.producer.get(), nullptr, 0) !=
               RD_KAFKA_RESP_ERR_NO_ERROR) {
      return Fail(partition, error, rd_kafka_err2str(error));
    } else {
      return MakeStatus(absl::StatusCode::kInternal, "{}", rd_kafka_err2str(error));
    }
  }
  bytes_ += key.size() + value.size();
  return absl::OkStatus();
}

Status KafkaLog::Impl::WaitForDelivery(Partition& partition) {
  while (rd_kafka_flush(partition.producer.get(), kCallMs) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    if (stopped_) return Stopped();
  }
  return absl::OkStatus();
}

Status KafkaLog::Impl::CommitTransaction(Partition& partition) {
  while (true) {
    const Error error(rd_kafka_commit_transaction(partition.producer.get(), kCallMs));
    if (error == nullptr) return absl::OkStatus();
    if (rd_kafka_error_txn_requires_abort(error.get()) != 0) {
      return Abort(partition, rd_kafka_error_string(error.get()));
    }
    RETURN_IF_ERROR(Judge(partition, error.get()));
  }
}

Status KafkaLog::Impl::Abort(Partition& partition, const std::string& why) {
  while (true) {
    const Error error(rd_kafka_abort_transaction(partition.producer.get(), kCallMs));
    if (error == nullptr) break;
    RETURN_IF_ERROR(Judge(partition, error.get()));
  }
  ++aborted_;
  return MakeStatus(absl::StatusCode::kResourceExhausted, "partition {} of {}: {}", partition.index,
                    topic_, why);
}

Status KafkaLog::Impl::Judge(Partition& partition, const rd_kafka_error_t* error) {
  if (rd_kafka_error_is_fatal(error) != 0 || rd_kafka_error_is_retriable(error) == 0) {
    return Fail(partition, rd_kafka_error_code(error), rd_kafka_error_string(error));
  }
  return stopped_ ? Stopped() : absl::OkStatus();
}

Status KafkaLog::Impl::Fail(Partition& partition, rd_kafka_resp_err_t code,
                            const std::string& why) {
  // What was fatal first says more than that it was.
  const rd_kafka_resp_err_t fatal = rd_kafka_fatal_error(partition.producer.get(), nullptr, 0);
  const bool fenced = IsFencing(code) || IsFencing(fatal);
  const MutexLock lock(mutex_);
  if (partition.failed) return partition.failure;
  partition.failure = fenced ? MakeStatus(absl::StatusCode::kUnavailable,
                                          "fenced: another server owns partition {} of {} now",
                                          partition.index, topic_)
                             : MakeStatus(absl::StatusCode::kUnavailable, "partition {} of {}: {}",
                                          partition.index, topic_, why);
  partition.failed = true;
  if (options_.log) options_.log('E', std::string(partition.failure.message()));
  return partition.failure;
}

StatusOr<uint64_t> KafkaLog::Impl::Read(uint32_t partition, uint64_t from, const Visit& visit) {
  CHECK(partition < options_.partitions, "partition {}", partition);
  std::unique_ptr<Reader> reader = std::move(readers_[partition]);
  // A new reader is told of the end, and one that has been there only once there is another.
  std::optional<uint64_t> end;
  if (reader != nullptr && reader->next == from) {
    ASSIGN_OR_RETURN(end, EndOf(*reader, partition));
  } else {
    ASSIGN_OR_RETURN(reader, NewReader(partition, from));
  }
  while (!end || reader->next < *end) {
    if (stopped_) return Stopped();
    const kafka::Message message(rd_kafka_consumer_poll(reader->client.get(), kCallMs));
    if (message == nullptr) continue;
    ASSIGN_OR_RETURN(const bool at_end, Take(*message, visit));
    if (!at_end) continue;
    reader->next = static_cast<uint64_t>(message->offset);
    if (!end) end = reader->next;
  }
  const uint64_t next = reader->next;
  // What this process appends itself it does not read.
  if (partitions_[partition] == nullptr) readers_[partition] = std::move(reader);
  return next;
}

StatusOr<std::unique_ptr<KafkaLog::Impl::Reader>> KafkaLog::Impl::NewReader(uint32_t partition,
                                                                            uint64_t from) {
  auto reader = std::make_unique<Reader>();
  reader->context.options = &options_;
  ASSIGN_OR_RETURN(reader->client, kafka::MakeReader(reader->context));
  const Partitions list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(list.get(), topic_.c_str(), static_cast<int32_t>(partition))
      ->offset = from == 0 ? RD_KAFKA_OFFSET_BEGINNING : static_cast<int64_t>(from);
  const rd_kafka_resp_err_t assigned = rd_kafka_assign(reader->client.get(), list.get());
  CHECK(assigned == RD_KAFKA_RESP_ERR_NO_ERROR, "{}", rd_kafka_err2str(assigned));
  return reader;
}

StatusOr<uint64_t> KafkaLog::Impl::EndOf(Reader& reader, uint32_t partition) {
  while (true) {
    if (stopped_) return Stopped();
    int64_t low = 0;
    int64_t high = 0;
    // Of a client that reads what is committed this is the end of that.
    const rd_kafka_resp_err_t error = rd_kafka_query_watermark_offsets(
        reader.client.get(), topic_.c_str(), static_cast<int32_t>(partition), &low, &high, kCallMs);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return static_cast<uint64_t>(high);
  }
}

StatusOr<bool> KafkaLog::Impl::Take(const rd_kafka_message_t& message, const Visit& visit) {
  if (message.err == RD_KAFKA_RESP_ERR__PARTITION_EOF) return true;
  if (message.err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
      message.err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE) {
    return MakeStatus(absl::StatusCode::kDataLoss,
                      "partition {} of {} does not reach to where the local store is complete to",
                      message.partition, topic_);
  }
  // Of others librdkafka tries again by itself.
  if (message.err != RD_KAFKA_RESP_ERR_NO_ERROR) return false;
  const auto* const key = static_cast<const char*>(message.key);
  if (message.key_len < 1 || static_cast<uint8_t>(key[0]) >= storage::kFamilies) {
    return MakeStatus(absl::StatusCode::kDataLoss, "partition {} of {}: offset {} is no row",
                      message.partition, topic_, message.offset);
  }
  LogRow row{.family = static_cast<storage::Family>(key[0]),
             .key = std::string_view(key + 1, message.key_len - 1),
             .value = std::nullopt};
  if (message.payload != nullptr) {
    row.value = std::string_view(static_cast<const char*>(message.payload), message.len);
  }
  ++rows_read_;
  RETURN_IF_ERROR(visit(row, static_cast<uint64_t>(message.offset) + 1));
  return false;
}

Status KafkaLog::Impl::health() const {
  const MutexLock lock(mutex_);
  for (const auto& partition : owned_) {
    if (partition->failed) return partition->failure;
  }
  return absl::OkStatus();
}

ChangeLogStats KafkaLog::Impl::Stats() const {
  ChangeLogStats stats{.transactions = transactions_,
                       .aborted = aborted_,
                       .rows = rows_,
                       .bytes = bytes_,
                       .transaction_micros = transaction_micros_,
                       .rows_read = rows_read_};
  const int64_t slow = (Steady::now() - kSlow).time_since_epoch().count();
  const MutexLock lock(mutex_);
  for (const auto& partition : owned_) {
    if (partition->began != 0 && partition->began <= slow) ++stats.waiting;
  }
  return stats;
}

StatusOr<std::unique_ptr<KafkaLog>> KafkaLog::Open(const KafkaOptions& options) {
  RETURN_IF_ERROR(kafka::EnsureTopic(options));
  return std::unique_ptr<KafkaLog>(new KafkaLog(std::make_unique<Impl>(options)));
}

KafkaLog::KafkaLog(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KafkaLog::~KafkaLog() = default;

const std::string& KafkaLog::name() const { return impl_->name(); }
uint32_t KafkaLog::partitions() const { return impl_->partitions(); }
Status KafkaLog::Own(uint32_t partition) { return impl_->Own(partition); }
StatusOr<uint64_t> KafkaLog::Append(uint32_t partition, std::span<const LogRow> rows) {
  return impl_->Append(partition, rows);
}
StatusOr<uint64_t> KafkaLog::Read(uint32_t partition, uint64_t from, const Visit& visit) {
  return impl_->Read(partition, from, visit);
}
Status KafkaLog::health() const { return impl_->health(); }
void KafkaLog::StopWaiting() { impl_->StopWaiting(); }
ChangeLogStats KafkaLog::Stats() const { return impl_->Stats(); }

}  // namespace freshet
