// Elects the leader of a cluster. Here, the leader is said to have the turn: it serves, and the
// other servers follow its log. The server to which Kafka's consumer-group protocol assigns the
// only partition of `<cluster>.fleet` has the turn.
//
// Safety does not depend on the turn: the server that serves owns the log's partitions, and Kafka
// fences earlier owners of the partitions (storage/change_log.h).
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

// Brokers accept 4096 bytes of metadata with an offset by default.
inline constexpr size_t kMaxAnnouncedBytes = 4000;

// Thread-safe.
class KafkaTenure {
 public:
  // Connects to the brokers. Stand then makes this server a candidate. A thread of this object
  // calls `on_lost` once if another server has taken over the turn from this one.
  //
  // InvalidArgument: an option or property is invalid. Unavailable: no broker answers in time.
  [[nodiscard]] static StatusOr<std::unique_ptr<KafkaTenure>> Open(const TenureOptions& options,
                                                                   std::function<void()> on_lost);
  // Makes this server a candidate; called once. Unavailable: Kafka's client refuses.
  [[nodiscard]] Status Stand();
  // Calls Open and Stand.
  [[nodiscard]] static StatusOr<std::unique_ptr<KafkaTenure>> Join(const TenureOptions& options,
                                                                   std::function<void()> on_lost);
  // Gives up the turn permanently. If the group has not answered this server yet, first waits up to
  // fifteen seconds for an answer. Must be called on the thread that destroys this object. The
  // destructor calls Leave, too.
  void Leave();
  ~KafkaTenure();
  KafkaTenure(const KafkaTenure&) = delete;
  KafkaTenure& operator=(const KafkaTenure&) = delete;

  // Returns true if this server has the turn, as far as the server knows.
  [[nodiscard]] bool assigned() const;
  // Returns true if this server certainly still has the turn: the group confirmed it so recently
  // that no other server can have the turn yet. This is right even if the process was suspended
  // meanwhile.
  [[nodiscard]] bool sure() const;

  // The number of this server's current turn if sure(); unset if not. Each turn has a different
  // number.
  [[nodiscard]] std::optional<uint64_t> turn() const;

  // Sets a text of up to kMaxAnnouncedBytes that other servers can read while this server has the
  // turn; empty (the default) = nothing to announce.
  void Announce(std::string text);

 private:
  class Impl;
  explicit KafkaTenure(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Reads the leader's messages without joining the group, because a group does not answer requests
// of its members during a rebalance. Each cluster needs its own listener. One client could read all
// groups with the admin API, but librdkafka 2.0.2 then aborts the process when a broker is lost.
// Thread-safe.
class KafkaListener {
 public:
  // Warns in the options' log if the leader's setting for `silence` (TenureOptions) differs from
  // the argument; 0 = no comparison. Not OK: InvalidArgument if an option or property is invalid.
  [[nodiscard]] static StatusOr<std::unique_ptr<KafkaListener>> Open(
      const KafkaOptions& options, std::chrono::milliseconds silence = {});
  ~KafkaListener();
  KafkaListener(const KafkaListener&) = delete;
  KafkaListener& operator=(const KafkaListener&) = delete;

  // Asks the brokers for the text that the current or last leader has announced. Needs the right to
  // read the offsets of the group. Not OK: Unavailable if the brokers do not answer within
  // `patience`.
  [[nodiscard]] StatusOr<std::string> Announced(std::chrono::milliseconds patience) const;
  // Returns true if the leader has not confirmed its turn for three tenths of `silence`
  // (TenureOptions), and might be gone. Compares the brokers' answer with the previous one, so it
  // should be called about twice a second. If the brokers do not answer within `patience`, the
  // result stays the same.
  [[nodiscard]] bool IsSilent(std::chrono::milliseconds silence,
                              std::chrono::milliseconds patience);

 private:
  class Impl;
  explicit KafkaListener(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace freshet

#endif  // FRESHET_STORAGE_KAFKA_TENURE_H_
