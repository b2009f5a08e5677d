// Tells clients of a shard what became of their events, on a thread of its own: to build, serialise
// and send acknowledgements takes longer than to install what they acknowledge.
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

// Post and Stop: owner thread only. At most as many events wait for their answers as one commit may
// have. A shard that is ahead by more waits, and its mailbox fills: the limits of the mailbox then
// hold back the clients.
class Answerer {
 public:
  // Has `answer` called, after those posted before. It tells what became of `events` events, which
  // are durable or refused by now.
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
  // Gives all answers and ends the thread. Idempotent.
  void Stop() { thread_.Stop(); }

 private:
  Mutex mutex_;
  Condition room_;
  size_t waiting_ FRESHET_GUARDED_BY(mutex_) = 0;  // events
  Background thread_;                              // ends first
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_ANSWERER_H_
