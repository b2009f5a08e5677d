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
#include "server/base/system_clock.h"
#include "server/base/turn_size.h"
#include "sync/mutex.h"

namespace freshet {

// Post and Stop: owner thread only. At most events() events can wait for their answers here. Beyond
// that, Post blocks the shard, the shard's mailbox fills up, and the limits of the mailbox slow
// down the clients.
class Answerer {
 public:
  explicit Answerer(Clock& clock) : clock_(clock) {}

  // Queues `answer`, which is called after all answers posted before it. It replies to `events`
  // events, each of which is already durable or refused. `commit`: how long their commit took.
  // Blocks while too many events wait.
  void Post(size_t events, std::function<void()> answer, Duration commit = {})
      FRESHET_EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      while (waiting_ > 0 && waiting_ + events > size_.events()) room_.Wait(mutex_);
      waiting_ += events;
    }
    const bool taken = thread_.Post([this, events, commit, answer = std::move(answer)] {
      const Instant start = clock_.Now();
      answer();
      const Duration took = clock_.Now() - start;
      {
        const MutexLock lock(mutex_);
        waiting_ -= events;
        size_.Took(events, took, commit);
      }
      room_.NotifyOne();
    });
    CHECK(taken, "answers on a thread that has ended");
  }
  // The number of events whose answers take about limits::kAnswerTime or, after a slow commit,
  // about as long as that commit. It is between limits::kEventsTogether and
  // limits::kMaxEventsPerCommit. It depends on the measured time of earlier answers, because a
  // message of one event takes far longer to answer than an event of a long message. Wall-clock
  // time is measured, because the thread mostly waits for gRPC's locks.
  [[nodiscard]] size_t events() const FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return size_.events();
  }
  // Calls all queued answers and ends the thread. Idempotent.
  void Stop() { thread_.Stop(); }

 private:
  Clock& clock_;
  mutable Mutex mutex_;
  Condition room_;
  size_t waiting_ FRESHET_GUARDED_BY(mutex_) = 0;  // number of events
  TurnSize size_ FRESHET_GUARDED_BY(mutex_){limits::kEventsTogether, limits::kMaxEventsPerCommit,
                                            limits::kAnswerTime};
  Background thread_;  // last: is destroyed first
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_ANSWERER_H_
