// Turns of clients at the threads that handle messages: a client with many streams delays the
// messages of others by one message, and not by one message of each of its streams. Long messages
// leave a thread to others, and short messages wait only for short ones.
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
  size_t callers = GrpcThreadsForLongWork();  // on the threads that bring them: at least 1
  // Two more on threads of MessageTurns, one of which handles short messages alone.
  bool helpers = true;
};

// The turns. Some messages are handled at a time, and the others wait by client. Each stream and
// call has at most one message here, so the limits of open streams and calls bound the number of
// waiting ones. Thread-safe.
class MessageTurns {
 public:
  // Messages up to this size are short. A call that brings a short message needs no turn, unless
  // its method is dear: it costs no more than its wait.
  static constexpr size_t kShortBytes = size_t{4} << 10;
  // Messages from this size on are long.
  static constexpr size_t kLongBytes = size_t{256} << 10;

  explicit MessageTurns(const MessageThreads& threads = {});
  // Handles all waiting messages.
  ~MessageTurns();
  MessageTurns(const MessageTurns&) = delete;
  MessageTurns& operator=(const MessageTurns&) = delete;

  // Calls `handle` once, without any lock, for a message of `bytes` once inflated. Calls it before
  // this returns if this thread may handle one more message. Otherwise another thread calls it, in
  // the turn of the client.
  void Handle(const std::string& client, size_t bytes, std::function<void()> handle)
      FRESHET_EXCLUDES(mutex_);
  // The number of waiting messages.
  [[nodiscard]] size_t waiting() const FRESHET_EXCLUDES(mutex_);

 private:
  enum class Kind : uint8_t { kShort, kMiddle, kLong };
  static constexpr size_t kKinds = 3;
  struct Message {
    std::function<void()> handle;  // unset: there is none
    Kind kind = Kind::kShort;
  };
  // Threads of this, by what they handle.
  enum Helper : uint8_t { kForAny, kForShort };
  static constexpr size_t kHelpers = 2;

  [[nodiscard]] static Kind KindOf(size_t bytes);
  // Something waits for the helper.
  void Wake(Helper helper) FRESHET_REQUIRES(mutex_);
  void Help(Helper helper) FRESHET_EXCLUDES(mutex_);
  // Whether a message of that kind waits and may be handled.
  [[nodiscard]] bool MayBe(Kind kind) const FRESHET_REQUIRES(mutex_);
  // The next that may be handled by that helper, or by a caller, which handles any. Kinds that wait
  // take turns.
  [[nodiscard]] Message Next(Helper helper = kForAny) FRESHET_REQUIRES(mutex_);
  // Handles it, and what it holds may be destroyed, without the lock.
  void Perform(Message message) FRESHET_EXCLUDES(mutex_);

  const MessageThreads threads_;
  const size_t most_long_;  // handled at a time
  mutable Mutex mutex_;
  std::array<Condition, kHelpers> more_;                  // waits, or this ends; by Helper
  size_t callers_ FRESHET_GUARDED_BY(mutex_) = 0;         // that handle messages now
  size_t long_ FRESHET_GUARDED_BY(mutex_) = 0;            // messages of these, and of the helper's
  Kind last_ FRESHET_GUARDED_BY(mutex_) = Kind::kMiddle;  // what was taken by who takes any
  // By Kind.
  std::array<ClientTurns<std::function<void()>>, kKinds> waiting_ FRESHET_GUARDED_BY(mutex_);
  bool ended_ FRESHET_GUARDED_BY(mutex_) = false;
  // By Helper, once there was something for it.
  std::array<std::thread, kHelpers> helpers_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_MESSAGE_TURNS_H_
