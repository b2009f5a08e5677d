// Whose turn it is: of the servers of a cluster one serves, the others follow its log. Kafka's
// consumer-group protocol chooses it, by whom it assigns the one partition of `<cluster>.fleet` to.
//
// Nothing depends on this for safety: whoever serves owns the log's partitions, and Kafka fences
// who owned them before (storage/change_log.h).
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
  std::string node;  // what this server is called, for operators of Kafka
  // After so long without a word from the server that serves another takes its place. Brokers
  // refuse what is shorter than their group.min.session.timeout.ms, usually six seconds.
  std::chrono::milliseconds silence = std::chrono::seconds(6);
};

// Brokers take 4096 by default of what goes with an offset.
inline constexpr size_t kMaxAnnouncedBytes = 4000;

// Thread-safe.
class KafkaTenure {
 public:
  // Stands for the turn from Stand on. `on_lost` is called once, on a thread of this, when this
  // server had the turn and another has it now.
  //
  // InvalidArgument: an option or property is none. Unavailable: no broker answers in time.
  [[nodiscard]] static StatusOr<std::unique_ptr<KafkaTenure>> Open(const TenureOptions& options,
                                                                   std::function<void()> on_lost);
  // To be called once. Unavailable: Kafka's client refuses.
  [[nodiscard]] Status Stand();
  // One that stands from the beginning.
  [[nodiscard]] static StatusOr<std::unique_ptr<KafkaTenure>> Join(const TenureOptions& options,
                                                                   std::function<void()> on_lost);
  // Gives the turn to the next, for good. Waits, fifteen seconds at most, until the group has
  // answered it once. By the thread that destroys this, which does it as well.
  void Leave();
  ~KafkaTenure();
  KafkaTenure(const KafkaTenure&) = delete;
  KafkaTenure& operator=(const KafkaTenure&) = delete;

  // Whether the turn was given to this server, as far as it knows.
  [[nodiscard]] bool assigned() const;
  // Whether it surely has it still: the group has confirmed it so short a time ago that nobody else
  // can have it yet, also if this process was stopped meanwhile.
  [[nodiscard]] bool sure() const;

  // While it is sure: which turn of this server's that is. Another one each time that it was given.
  [[nodiscard]] std::optional<uint64_t> turn() const;

  // While this server has the turn, the group keeps this text, which may be of kMaxAnnouncedBytes.
  // Empty, as it is before this is called: there is nothing to say.
  void Announce(std::string text);

 private:
  class Impl;
  explicit KafkaTenure(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Hears what the server says that has the turn of a cluster. It is no member of the group, whose
// members are answered nothing else while the turn is given anew. Thread-safe.
class KafkaListener {
 public:
  // Warns, where the options say to, of a server with another silence than this (TenureOptions);
  // zero: compares nothing. InvalidArgument: an option or property is none.
  [[nodiscard]] static StatusOr<std::unique_ptr<KafkaListener>> Open(
      const KafkaOptions& options, std::chrono::milliseconds silence = {});
  ~KafkaListener();
  KafkaListener(const KafkaListener&) = delete;
  KafkaListener& operator=(const KafkaListener&) = delete;

  // What the server said last that has the turn, or had it last; asks the brokers. Whoever may read
  // the offsets of the group reads it. Unavailable: they do not answer within `patience`.
  [[nodiscard]] StatusOr<std::string> Announced(std::chrono::milliseconds patience) const;
  // Whether it has not confirmed its turn for some part of `silence` (TenureOptions): it may be
  // gone. Compares what the brokers say with what they said when this was asked before, so it is to
  // be asked about twice a second; while they do not answer within `patience`, nobody becomes
  // silent, nor is heard again.
  [[nodiscard]] bool IsSilent(std::chrono::milliseconds silence,
                              std::chrono::milliseconds patience);

 private:
  class Impl;
  explicit KafkaListener(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace freshet

#endif  // FRESHET_STORAGE_KAFKA_TENURE_H_
