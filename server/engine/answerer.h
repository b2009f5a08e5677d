// Sends the replies of a shard to its clients on a separate thread. Building, serializing and
// sending acknowledgements takes longer than installing the events that they acknowledge.
#ifndef FRESHET_SERVER_ENGINE_ANSWERER_H_
#define FRESHET_SERVER_ENGINE_ANSWERER_H_

#include <cstddef>
#include <functional>
#include <utility>

#include "core/base/check.h"
#include "server/base/background.h"
#include "server/base/limits.h"
#include "sync/mutex.h"

namespace freshet {

// Post and Stop: owner thread only. The answers of at most limits::kMaxEventsPerCommit events can
// wait here. Beyond that, Post blocks the shard, the shard's mailbox fills up, and the limits of
// the mailbox slow down the clients.
class Answerer {
 public:
  // Queues `answer`, which is called after all answers posted before it. It replies to `events`
  // events, each of which is already durable or refused. Blocks while too many events wait.
  void Post(size_t events, std::function<void()> answer) FRESHET_EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      while (waiting_ > 0 && waiting_ + events > limits::kMaxEventsPerCommit) room_.Wait(mutex_);
      waiting_ += events;
    }
    const bool taken = thread_.Post([this, events, answer = std::move(answer)] {
      answer();
      {
        const MutexLock lock(mutex_);
        waiting_ -= events;
      }
      room_.NotifyOne();
    });
    CHECK(taken, "answers on a thread that has ended");
  }
  // Calls all queued answers and ends the thread. Idempotent.
  void Stop() { thread_.Stop(); }

 private:
  Mutex mutex_;
  Condition room_;
  size_t waiting_ FRESHET_GUARDED_BY(mutex_) = 0;  // number of events
  Background thread_;                              // last: is destroyed first
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_ANSWERER_H_
