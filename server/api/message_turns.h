// Turns of clients at the threads that handle messages: a client with many streams delays the
// messages of others by one message, and not by one message of each of its streams. Long messages
// leave a thread to others.
#ifndef FRESHET_SERVER_API_MESSAGE_TURNS_H_
#define FRESHET_SERVER_API_MESSAGE_TURNS_H_

#include <cstddef>
#include <functional>
#include <string>
#include <thread>

#include "server/base/client_turns.h"
#include "server/base/grpc_threads.h"
#include "sync/mutex.h"

namespace freshet {

// How many messages are handled at a time. Value type, thread-compatible.
struct MessageThreads {
  size_t callers = GrpcThreadsForLongWork();  // on the threads that bring them: at least 1
  bool helper = true;                         // one more on a thread of MessageTurns
};

// Some messages are handled at a time; those that wait are taken client by client. Each stream and
// call has at most one message here, so the limits of open streams and calls bound what waits.
// Thread-safe.
class MessageTurns {
 public:
  // Calls that bring one message of so many bytes need no turn: it costs no more than its wait.
  static constexpr size_t kShortBytes = size_t{4} << 10;
  // One of so many bytes is long.
  static constexpr size_t kLongBytes = size_t{2} << 20;

  explicit MessageTurns(const MessageThreads& threads = {});
  // Handles what waits.
  ~MessageTurns();
  MessageTurns(const MessageTurns&) = delete;
  MessageTurns& operator=(const MessageTurns&) = delete;

  // Calls `handle` for a message of so many bytes of the client, inflated, once, without any lock.
  // It is called before this returns if this thread may handle one more message. Otherwise another
  // thread calls it, in the turn of the client.
  void Handle(const std::string& client, size_t bytes, std::function<void()> handle)
      FRESHET_EXCLUDES(mutex_);
  // Messages that wait for their turn.
  [[nodiscard]] size_t waiting() const FRESHET_EXCLUDES(mutex_);

 private:
  struct Message {
    std::function<void()> handle;  // unset: there is none
    bool is_long = false;
  };

  void Help() FRESHET_EXCLUDES(mutex_);
  // The next that may be handled. Where both kinds wait, they alternate.
  [[nodiscard]] Message Next() FRESHET_REQUIRES(mutex_);
  // Handles it, and what it holds may be destroyed, without the lock.
  void Perform(Message message) FRESHET_EXCLUDES(mutex_);

  const MessageThreads threads_;
  const size_t most_long_;  // that are handled at a time
  mutable Mutex mutex_;
  Condition more_;                                    // waits, or this ends
  size_t callers_ FRESHET_GUARDED_BY(mutex_) = 0;     // that handle messages now
  size_t long_ FRESHET_GUARDED_BY(mutex_) = 0;        // messages of these, and of the helper's
  bool was_long_ FRESHET_GUARDED_BY(mutex_) = false;  // what Next returned
  ClientTurns<std::function<void()>> waiting_ FRESHET_GUARDED_BY(mutex_);
  ClientTurns<std::function<void()>> long_waiting_ FRESHET_GUARDED_BY(mutex_);
  bool ended_ FRESHET_GUARDED_BY(mutex_) = false;
  std::thread helper_ FRESHET_GUARDED_BY(mutex_);  // once there was something for it
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_MESSAGE_TURNS_H_
