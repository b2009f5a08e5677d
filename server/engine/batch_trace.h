// How long the parts of the way of one batch took, for the few batches that are traced.
#ifndef FRESHET_SERVER_ENGINE_BATCH_TRACE_H_
#define FRESHET_SERVER_ENGINE_BATCH_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "server/base/system_clock.h"
#include "sync/mutex.h"

namespace freshet {

// When a turn of a shard had done each of its steps, in their order. Value type, thread-compatible.
struct TurnTimes {
  Instant begun;  // what waited was taken in
  Instant read;
  Instant stepped;
  Instant committed;
  Instant installed;
};

// What a shard did with its part of a batch. Value type, thread-compatible.
struct ShardSpan {
  uint16_t shard = 0;
  size_t events = 0;       // of the batch
  size_t turn_events = 0;  // that were committed together, those of others included
  TurnTimes times;
};

// Thread-safe.
class BatchTrace {
 public:
  // `clock` outlives it.
  explicit BatchTrace(Clock& clock) : clock_(clock) {}

  // The batch is handed to its shards.
  void Send() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    sent_ = clock_.Now();
  }
  // Before the shard's replies; not if it refused all of its turn.
  void Add(const ShardSpan& span) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    spans_.push_back(span);
  }
  // None: it was not handed to any.
  [[nodiscard]] Instant sent() const FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return sent_;
  }
  // As the shards came to their end.
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
