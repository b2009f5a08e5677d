// Records when each step of a batch ends. Only a few batches are traced.
#ifndef FRESHET_SERVER_ENGINE_BATCH_TRACE_H_
#define FRESHET_SERVER_ENGINE_BATCH_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "server/base/system_clock.h"
#include "sync/mutex.h"

namespace freshet {

// The times at which the steps of a shard's turn (server/engine/shard.h) ended, in order. Value
// type, thread-compatible.
struct TurnTimes {
  Instant begun;  // when the shard took the requests
  Instant read;
  Instant stepped;
  Instant committed;
  Instant installed;
};

// A shard's work on its part of a batch. Value type, thread-compatible.
struct ShardSpan {
  uint16_t shard = 0;
  size_t events = 0;       // events of this batch
  size_t turn_events = 0;  // events of the whole turn, including those of other batches
  TurnTimes times;
};

// The trace of one batch. Thread-safe.
class BatchTrace {
 public:
  // `clock` must outlive this object.
  explicit BatchTrace(Clock& clock) : clock_(clock) {}

  // Notes that the batch is being sent to its shards.
  void Send() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    sent_ = clock_.Now();
  }
  // Adds the work of one shard. Called before that shard replies, but not if it refused the whole
  // turn.
  void Add(const ShardSpan& span) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    spans_.push_back(span);
  }
  // When the batch was sent; none = no shard got a part of it.
  [[nodiscard]] Instant sent() const FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return sent_;
  }
  // The work of the shards, in the order in which they finished.
  [[nodiscard]] std::vector<ShardSpan> spans() const FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return spans_;
  }

 protected:
  [[nodiscard]] Clock& clock() const { return clock_; }

 private:
  Clock& clock_;
  mutable Mutex mutex_;
  Instant sent_ FRESHET_GUARDED_BY(mutex_) = Instant::None();
  std::vector<ShardSpan> spans_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_BATCH_TRACE_H_
