// Elects the leader of a cluster: the server that has the turn serves, the others follow its log.
// Kafka's consumer-group protocol gives the turn by assigning the only partition of
// `<cluster>.fleet`.
//
// Safety does not depend on the turn: the serving server owns the log's partitions, and Kafka
// fences their earlier owners (storage/change_log.h).
#ifndef FRESHET_STORAGE_KAFKA_TENURE_H_
#define FRESHET_STORAGE_KAFKA_TENURE_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/base/status.h"
#include "storage/kafka/kafka_log.h"

namespace freshet {

struct TenureOptions {
  KafkaOptions kafka;
  std::string node;  // name of this server, for operators of Kafka
  // A standby takes over when the leader has been silent for this long. Brokers refuse values below
  // their group.min.session.timeout.ms, usually six seconds.
  std::chrono::milliseconds silence = std::chrono::seconds(6);
};

// By default brokers accept 4096 bytes of metadata with an offset.
inline constexpr size_t kMaxAnnouncedBytes = 4000;

// Thread-safe.
class KafkaTenure {
 public:
  // Connects; Stand then makes this server a candidate. A thread of this object calls `on_lost`
  // once, when this server had the turn and another has it now.
  //
  // InvalidArgument: an option or property is invalid. Unavailable: no broker answers in time.
  [[nodiscard]] static StatusOr<std::unique_ptr<KafkaTenure>> Open(const TenureOptions& options,
                                                                   std::function<void()> on_lost);
  // Makes this server a candidate; called once. Unavailable: Kafka's client refuses.
  [[nodiscard]] Status Stand();
  // Calls Open and Stand.
  [[nodiscard]] static StatusOr<std::unique_ptr<KafkaTenure>> Join(const TenureOptions& options,
                                                                   std::function<void()> on_lost);
  // Gives up the turn for good. Waits up to fifteen seconds until the group has answered once. Call
  // it on the thread that destroys this object; the destructor leaves too.
  void Leave();
  ~KafkaTenure();
  KafkaTenure(const KafkaTenure&) = delete;
  KafkaTenure& operator=(const KafkaTenure&) = delete;

  // Whether this server has been given the turn, as far as it knows.
  [[nodiscard]] bool assigned() const;
  // Whether this server certainly still has the turn: the group confirmed that so recently that no
  // other server can have it yet, even if this process was stopped meanwhile.
  [[nodiscard]] bool sure() const;

  // The number of this server's current turn while sure(); each turn has another number.
  [[nodiscard]] std::optional<uint64_t> turn() const;

  // Text of up to kMaxAnnouncedBytes that the group keeps while this server has the turn. Empty, as
  // at first: nothing to announce.
  void Announce(std::string text);

 private:
  class Impl;
  explicit KafkaTenure(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Reads the leader's messages without joining the group, which answers its members nothing else
// during a rebalance. Each cluster needs a listener: the admin API could ask for all groups with
// one client, but librdkafka 2.0.2 then aborts the process when a broker is lost. Thread-safe.
class KafkaListener {
 public:
  // Warns in the options' log if the leader has another silence (TenureOptions) than `silence`; 0 =
  // no comparison. InvalidArgument: an option or property is invalid.
  [[nodiscard]] static StatusOr<std::unique_ptr<KafkaListener>> Open(
      const KafkaOptions& options, std::chrono::milliseconds silence = {});
  ~KafkaListener();
  KafkaListener(const KafkaListener&) = delete;
  KafkaListener& operator=(const KafkaListener&) = delete;

  // Asks the brokers for the last message of the present or last leader. Needs the right to read
  // the offsets of the group. Unavailable: the brokers do not answer within `patience`.
  [[nodiscard]] StatusOr<std::string> Announced(std::chrono::milliseconds patience) const;
  // Whether the leader has not confirmed its turn for some part of `silence` (TenureOptions), and
  // may be gone. Compares the brokers' answer with the previous one, so call it about twice a
  // second. While they do not answer within `patience`, the result stays the same.
  [[nodiscard]] bool IsSilent(std::chrono::milliseconds silence,
                              std::chrono::milliseconds patience);

 private:
  class Impl;
  explicit KafkaListener(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace freshet

#endif  // FRESHET_STORAGE_KAFKA_TENURE_H_
