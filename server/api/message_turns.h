// Shares the threads that handle messages among clients. A client with many streams delays another
// client's message by one message, not by one message for each stream. Long messages leave a thread
// free for others, and short messages wait only for short ones.
#ifndef FRESHET_SERVER_API_MESSAGE_TURNS_H_
#define FRESHET_SERVER_API_MESSAGE_TURNS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "server/base/client_turns.h"
#include "server/base/grpc_threads.h"
#include "sync/mutex.h"

namespace freshet {

// The threads that handle messages. Value type, thread-compatible.
struct MessageThreads {
  // The maximum number of gRPC threads that handle messages at the same time; at least 1.
  size_t callers = GrpcThreadsForLongWork();
  // Whether MessageTurns has two more threads, one of which handles only short messages.
  bool helpers = true;
};

// The turns. A limited number of messages are handled at the same time; the others wait in a queue
// for each client. Each stream or call has at most one message here, so the limits on open streams
// and calls also limit the waiting messages. Thread-safe.
class MessageTurns {
 public:
  // Messages up to this size are short. A short message of a unary call needs no turn, because
  // handling it costs no more than queueing it. Expensive methods are an exception
  // (MethodRule::expensive).
  static constexpr size_t kShortBytes = size_t{4} << 10;
  // Messages from this size on are long.
  static constexpr size_t kLongBytes = size_t{256} << 10;

  explicit MessageTurns(const MessageThreads& threads = {});
  // Handles all waiting messages.
  ~MessageTurns();
  MessageTurns(const MessageTurns&) = delete;
  MessageTurns& operator=(const MessageTurns&) = delete;

  // Calls `handle` once, without any lock. `bytes` is the size of the message after inflation. If
  // the calling thread may handle one more message, it calls `handle` before this function returns.
  // Otherwise another thread calls `handle` when it is the client's turn.
  void Handle(const std::string& client, size_t bytes, std::function<void()> handle)
      FRESHET_EXCLUDES(mutex_);
  // The number of waiting messages.
  [[nodiscard]] size_t waiting() const FRESHET_EXCLUDES(mutex_);

 private:
  enum class Kind : uint8_t { kShort, kMiddle, kLong };
  static constexpr size_t kKinds = 3;
  struct Message {
    std::function<void()> handle;  // unset = none
    Kind kind = Kind::kShort;
  };
  // The threads of this class, by the messages that they handle.
  enum Helper : uint8_t { kForAny, kForShort };
  static constexpr size_t kHelpers = 2;

  [[nodiscard]] static Kind KindOf(size_t bytes);
  // Starts or wakes the helper, because a message waits for it.
  void Wake(Helper helper) FRESHET_REQUIRES(mutex_);
  void Help(Helper helper) FRESHET_EXCLUDES(mutex_);
  // Whether a message of this kind waits and may be handled.
  [[nodiscard]] bool MayBe(Kind kind) const FRESHET_REQUIRES(mutex_);
  // Takes the next message for the helper, or for a gRPC thread (kForAny). Kinds with waiting
  // messages take turns.
  [[nodiscard]] Message Next(Helper helper = kForAny) FRESHET_REQUIRES(mutex_);
  // Handles the message and destroys its function, without the lock.
  void Perform(Message message) FRESHET_EXCLUDES(mutex_);

  const MessageThreads threads_;
  const size_t most_long_;  // the maximum number of long messages that are handled at the same time
  mutable Mutex mutex_;
  std::array<Condition, kHelpers> more_;  // notified when a message waits or this ends; by Helper
  size_t callers_ FRESHET_GUARDED_BY(mutex_) = 0;         // gRPC threads that handle messages now
  size_t long_ FRESHET_GUARDED_BY(mutex_) = 0;            // long messages being handled
  Kind last_ FRESHET_GUARDED_BY(mutex_) = Kind::kMiddle;  // kind of the last message for kForAny
  // The waiting messages, by Kind.
  std::array<ClientTurns<std::function<void()>>, kKinds> waiting_ FRESHET_GUARDED_BY(mutex_);
  bool ended_ FRESHET_GUARDED_BY(mutex_) = false;
  // The threads, by Helper. Each is started when a message first waits for it.
  std::array<std::thread, kHelpers> helpers_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_MESSAGE_TURNS_H_
