#include "storage/kafka/kafka_log.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "storage/kafka/client.h"
#include "storage/kafka/topic_watch.h"
#include "storage/kafka/topics.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

using kafka::Client;
using kafka::Context;
using kafka::Error;
using kafka::Partitions;
using kafka::Stopped;
using Steady = std::chrono::steady_clock;

// A reader that receives nothing for this long asks which broker leads the partition.
constexpr auto kVain = std::chrono::seconds(1);
// How long one call of librdkafka waits before the caller checks whether to continue.
constexpr int kCallMs = 500;
// How long to wait for the end offset of a partition. A broker first answers the reader's pending
// request, which can be waiting for rows.
constexpr int kEndMs = 2000;
// How long a log may appear to end before the offset up to which it was read. Right after a broker
// became leader, it can report an end that is too early. A broker can also do so until it hears
// from another broker, which might be gone, that a transaction has ended.
constexpr auto kShortFor = std::chrono::seconds(30);
constexpr int kAgainMs = 100;
// The timeout of taking ownership. It must not be shorter than a request can take
// (kafka::MakeClient). Each retry sends another request, and if a broker answers both requests,
// this process fences itself.
constexpr int kOwnMs = 11'000;
// The maximum that brokers allow by default. If an owner leaves a transaction open, nobody is
// delayed: the next owner of the partition ends the transaction.
constexpr const char* kTransactionTimeoutMs = "900000";
// The first check of the topics is delayed, because a starting server has other work.
constexpr auto kFirstLook = std::chrono::seconds(30);
constexpr auto kLookEvery = std::chrono::hours(1);
// A longer transaction counts as waiting for Kafka.
constexpr auto kSlow = std::chrono::seconds(5);

// Warns repeatedly during an unusually long wait.
class Waiting {
 public:
  // `what` names the activity; the log in `options` receives the warnings.
  Waiting(const KafkaOptions& options, std::string what)
      : options_(options), what_(std::move(what)) {}

  // The waiting code calls Go repeatedly. When a warning is due, Go calls `why` for the reason and
  // logs the warning.
  template <typename Why>
  void Go(const Why& why) {
    const Steady::time_point now = Steady::now();
    if (now < tell_ || !options_.log) return;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - start_).count();
    options_.log('W', fmt::format("{} has taken {} s so far: {}", what_, seconds, why()));
    tell_ = now + kTellEvery;
  }

 private:
  static constexpr std::chrono::seconds kTellEvery{10};

  const KafkaOptions& options_;
  const std::string what_;
  const Steady::time_point start_ = Steady::now();
  Steady::time_point tell_ = start_ + kSlow;
};

bool IsFencing(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR__FENCED || error == RD_KAFKA_RESP_ERR_PRODUCER_FENCED ||
         error == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH;
}

// Returns true if the error says that the topic does not exist (any more).
bool IsUnknown(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
         error == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION ||
         error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
}

}  // namespace

class KafkaLog::Impl {
 public:
  explicit Impl(const KafkaOptions& options)
      : options_(options),
        topic_(kafka::TopicOf(options)),
        partitions_(options.partitions),
        readers_(options.partitions),
        watch_(options, kFirstLook, kLookEvery) {}

  [[nodiscard]] const std::string& name() const { return topic_; }
  [[nodiscard]] uint32_t partitions() const { return options_.partitions; }
  [[nodiscard]] Status Own(uint32_t partition);
  [[nodiscard]] StatusOr<uint64_t> Append(uint32_t partition, std::span<const LogRow> rows);
  [[nodiscard]] StatusOr<uint64_t> Read(uint32_t partition, uint64_t from,
                                        std::optional<uint64_t> end, const Visit& visit);
  [[nodiscard]] Status health() const;
  void StopWaiting() { stopped_ = true; }
  [[nodiscard]] ChangeLogStats Stats() const;

 private:
  // A partition that this process owns or owned.
  struct Partition {
    uint32_t index = 0;
    Context context;  // outlives the producer
    Client producer;
    std::atomic<int64_t> began = 0;  // start of its transaction (steady clock); 0 = none open
    std::atomic<bool> failed = false;
    Status failure;  // constant once `failed` is set
  };

  // A client that has read a partition and can continue to read it. A new client would cost a
  // connection.
  struct Reader {
    KafkaOptions options;  // the options of the context
    Context context;       // outlives the client
    Client client;
    uint64_t next = 0;
    bool told = false;  // the brokers have confirmed `next`
    // Set if the brokers do not know the topic. Such a client cannot be destroyed: librdkafka 2.0.2
    // hangs when it destroys a client whose topic was deleted.
    bool stuck = false;
  };
  // Destroys a reader, but leaks a stuck client, together with its threads of librdkafka.
  struct ReaderEnd {
    void operator()(Reader* reader) const {
      if (!reader->stuck) delete reader;
    }
  };
  using ReaderOwner = std::unique_ptr<Reader, ReaderEnd>;

  // Makes all further appends to the partition fail.
  Status Fail(Partition& partition, rd_kafka_resp_err_t code, const std::string& why);
  [[nodiscard]] Status Send(Partition& partition, std::span<const LogRow> rows);
  [[nodiscard]] Status SendOne(Partition& partition, const LogRow& row);
  [[nodiscard]] Status WaitForDelivery(Partition& partition);
  [[nodiscard]] Status CommitTransaction(Partition& partition);
  // Aborts the transaction, so that nothing is appended. Returns ResourceExhausted with the reason.
  [[nodiscard]] Status Abort(Partition& partition, const std::string& why);
  // Returns the status for an error of a call on a transaction; OK = call again.
  [[nodiscard]] Status Judge(Partition& partition, const rd_kafka_error_t* error);
  [[nodiscard]] StatusOr<ReaderOwner> NewReader(uint32_t partition, uint64_t from);
  // Asks for the offset where the partition begins or ends; nullopt = no broker answers, and
  // `*error` says why.
  [[nodiscard]] std::optional<uint64_t> Ask(Reader& reader, uint32_t partition, int64_t which,
                                            rd_kafka_resp_err_t* error) const;
  // DataLoss: the partition no longer begins with its first row.
  [[nodiscard]] Status CheckBeginning(Reader& reader, uint32_t partition);
  // Returns the offset after the last committed row. Not OK: DataLoss if the partition keeps ending
  // before `from`; Aborted if the partition ended before `from` at first but does not any more.
  [[nodiscard]] StatusOr<uint64_t> EndOf(Reader& reader, uint32_t partition, uint64_t from);
  // Makes a client ask which brokers lead the topic's partitions now. Without this request, the
  // client would wait for a lost broker until socket.timeout.ms has passed.
  void AskWhoLeads(rd_kafka_t* client) const;
  // Handles a message of a reader. Returns true if the message was a row or the end of the
  // partition.
  [[nodiscard]] StatusOr<bool> Take(const rd_kafka_message_t& message, const Visit& visit,
                                    Reader* reader);

  const KafkaOptions options_;
  const std::string topic_;
  std::vector<std::unique_ptr<Partition>> owned_;
  std::vector<std::atomic<Partition*>> partitions_;  // nullptr = never owned
  std::vector<ReaderOwner> readers_;  // each used only by the thread that reads its partition
  mutable Mutex mutex_;               // guards owned_ and failures
  std::atomic<bool> stopped_ = false;
  std::atomic<uint64_t> transactions_ = 0;
  std::atomic<uint64_t> aborted_ = 0;
  std::atomic<uint64_t> rows_ = 0;
  std::atomic<uint64_t> bytes_ = 0;
  std::atomic<uint64_t> transaction_micros_ = 0;
  std::atomic<uint64_t> rows_read_ = 0;
  const kafka::TopicWatch watch_;
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
  // Returns when a broker is connected. A client without connected brokers would retry only after
  // half a second.
  AskWhoLeads(owned->producer.get());
  Waiting waiting(options_,
                  fmt::format("becoming the only writer of partition {} of {}", partition, topic_));
  while (true) {
    if (stopped_) return Stopped();
    const Error error(rd_kafka_init_transactions(owned->producer.get(), kOwnMs));
    if (error == nullptr) break;
    if (rd_kafka_error_code(error.get()) == RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT) {
      return MakeStatus(absl::StatusCode::kFailedPrecondition,
                        "becoming the only writer of partition {} of {}: the brokers allow no "
                        "transaction of {} ms: raise their transaction.max.timeout.ms to that",
                        partition, topic_, kTransactionTimeoutMs);
    }
    waiting.Go([&] { return std::string(rd_kafka_error_string(error.get())); });
    if (rd_kafka_error_is_retriable(error.get()) != 0) continue;
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "becoming the only writer of partition {} of {}: {}", partition, topic_,
                      rd_kafka_error_string(error.get()));
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
  for (const LogRow& row : rows) {
    const size_t value = row.value ? row.value->size() : 0;
    RETURN_IF_ERROR(CheckRowSize(row.family, row.key.size() + value));
  }
  const Steady::time_point start = Steady::now();
  partition.context.lowest = std::numeric_limits<uint64_t>::max();
  partition.began = start.time_since_epoch().count();
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
  const uint64_t before = partition.context.end;
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
  RETURN_IF_ERROR(CommitTransaction(partition));
  if (partition.context.lowest >= before) return absl::OkStatus();
  return Fail(partition, RD_KAFKA_RESP_ERR_NO_ERROR,
              "has lost rows: somebody has deleted the topic and made it again, or brokers have "
              "lost what they had acknowledged");
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
  // Kafka copies the key and the value. A message without a value removes the row.
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
  // `code` can be a mere consequence of the producer's first fatal error.
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

StatusOr<uint64_t> KafkaLog::Impl::Read(uint32_t partition, uint64_t from,
                                        std::optional<uint64_t> end, const Visit& visit) {
  CHECK(partition < options_.partitions, "partition {}", partition);
  ReaderOwner reader = std::move(readers_[partition]);
  if (reader == nullptr || reader->next != from) {
    ASSIGN_OR_RETURN(reader, NewReader(partition, from));
    if (from == 0) RETURN_IF_ERROR(CheckBeginning(*reader, partition));
  }
  if (!end) {
    // EndOf checks that the partition does not end before `from`. A new reader does not need this
    // check, because its client reports such an end itself.
    ASSIGN_OR_RETURN(end, EndOf(*reader, partition, reader->told ? from : 0));
  }
  Waiting waiting(options_, fmt::format("reading partition {} of {}", partition, topic_));
  Steady::time_point heard = Steady::now();
  std::string trouble;
  while (!reader->told || reader->next < *end) {
    if (stopped_) return Stopped();
    const kafka::Message message(rd_kafka_consumer_poll(reader->client.get(), kCallMs));
    if (message != nullptr) {
      ASSIGN_OR_RETURN(const bool news, Take(*message, visit, reader.get()));
      if (news) heard = Steady::now();
      if (!news) trouble = fmt::format(": {}", rd_kafka_err2str(message->err));
    }
    if (Steady::now() - heard < kVain) continue;
    heard = Steady::now();
    AskWhoLeads(reader->client.get());
    waiting.Go(
        [&] { return fmt::format("is at {}, is to reach {}{}", reader->next, *end, trouble); });
  }
  const uint64_t next = reader->next;
  // An owner does not read the rows that it appends, so it needs no reader.
  if (partitions_[partition] == nullptr) readers_[partition] = std::move(reader);
  return next;
}

StatusOr<KafkaLog::Impl::ReaderOwner> KafkaLog::Impl::NewReader(uint32_t partition, uint64_t from) {
  ReaderOwner reader(new Reader);
  reader->options = options_;
  reader->context.options = &reader->options;
  reader->next = from;
  ASSIGN_OR_RETURN(reader->client, kafka::MakeReader(reader->context));
  const Partitions list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(list.get(), topic_.c_str(), static_cast<int32_t>(partition))
      ->offset = from == 0 ? RD_KAFKA_OFFSET_BEGINNING : static_cast<int64_t>(from);
  const rd_kafka_resp_err_t assigned = rd_kafka_assign(reader->client.get(), list.get());
  CHECK(assigned == RD_KAFKA_RESP_ERR_NO_ERROR, "{}", rd_kafka_err2str(assigned));
  return reader;
}

std::optional<uint64_t> KafkaLog::Impl::Ask(Reader& reader, uint32_t partition, int64_t which,
                                            rd_kafka_resp_err_t* error) const {
  const Partitions list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_t& asked = *rd_kafka_topic_partition_list_add(
      list.get(), topic_.c_str(), static_cast<int32_t>(partition));
  // A client that reads only committed rows gets the end of the committed rows.
  // rd_kafka_query_watermark_offsets would return the same offset, but waits longer than its
  // timeout for a lost broker.
  asked.offset = which;
  *error = rd_kafka_offsets_for_times(reader.client.get(), list.get(), kEndMs);
  if (*error == RD_KAFKA_RESP_ERR_NO_ERROR) *error = asked.err;
  reader.stuck = IsUnknown(*error);
  if (*error != RD_KAFKA_RESP_ERR_NO_ERROR || asked.offset < 0) return std::nullopt;
  return static_cast<uint64_t>(asked.offset);
}

Status KafkaLog::Impl::CheckBeginning(Reader& reader, uint32_t partition) {
  Waiting waiting(options_,
                  fmt::format("asking for the beginning of partition {} of {}", partition, topic_));
  while (true) {
    if (stopped_) return Stopped();
    rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
    const auto lowest = Ask(reader, partition, RD_KAFKA_OFFSET_BEGINNING, &error);
    // Compaction keeps the first offset, however few rows remain.
    if (lowest) return *lowest == 0 ? absl::OkStatus() : BeginsTooLate(topic_, partition);
    rd_kafka_poll(reader.client.get(), kAgainMs);
    AskWhoLeads(reader.client.get());
    waiting.Go([&] { return std::string(rd_kafka_err2str(error)); });
  }
}

StatusOr<uint64_t> KafkaLog::Impl::EndOf(Reader& reader, uint32_t partition, uint64_t from) {
  std::optional<Steady::time_point> short_since;
  Waiting waiting(options_,
                  fmt::format("asking for the end of partition {} of {}", partition, topic_));
  while (true) {
    if (stopped_) return Stopped();
    rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
    if (const auto end = Ask(reader, partition, RD_KAFKA_OFFSET_END, &error)) {
      if (*end >= from) {
        if (!short_since) return *end;
        return MakeStatus(absl::StatusCode::kAborted, "partition {} of {} ended before {}",
                          partition, topic_, from);
      }
      if (!short_since) short_since = Steady::now();
      if (Steady::now() - *short_since > kShortFor) return EndsTooSoon(topic_, partition);
    }
    // A broker that does not know the topic answers at once.
    rd_kafka_poll(reader.client.get(), kAgainMs);
    AskWhoLeads(reader.client.get());
    waiting.Go([&] {
      return short_since ? fmt::format("ends before {}", from)
                         : std::string(rd_kafka_err2str(error));
    });
  }
}

void KafkaLog::Impl::AskWhoLeads(rd_kafka_t* client) const {
  (void)kafka::MetadataOf(client, topic_, kCallMs);
}

StatusOr<bool> KafkaLog::Impl::Take(const rd_kafka_message_t& message, const Visit& visit,
                                    Reader* reader) {
  const auto offset = static_cast<uint64_t>(message.offset);
  if (message.err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
    reader->next = offset;
    reader->told = true;
    return true;
  }
  reader->stuck = IsUnknown(message.err);
  if (message.err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
      message.err == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE) {
    return EndsTooSoon(topic_, static_cast<uint32_t>(message.partition));
  }
  // librdkafka retries by itself after other errors.
  if (message.err != RD_KAFKA_RESP_ERR_NO_ERROR) return false;
  const auto* const key = static_cast<const char*>(message.key);
  if (message.key_len < 1 || static_cast<uint8_t>(key[0]) >= storage::kLogFamilies) {
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
  RETURN_IF_ERROR(visit(row, offset + 1));
  // A row confirms the position too. The reader must not rely on reports of the end alone: brokers
  // report the end only after appends have paused for as long as brokers hold a reader's request.
  reader->next = offset + 1;
  reader->told = true;
  return true;
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
StatusOr<uint64_t> KafkaLog::Read(uint32_t partition, uint64_t from, std::optional<uint64_t> end,
                                  const Visit& visit) {
  return impl_->Read(partition, from, end, visit);
}
Status KafkaLog::health() const { return impl_->health(); }
void KafkaLog::StopWaiting() { impl_->StopWaiting(); }
ChangeLogStats KafkaLog::Stats() const { return impl_->Stats(); }

}  // namespace freshet
