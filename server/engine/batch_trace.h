// Times the steps of one batch, for the few batches that are traced.
#ifndef FRESHET_SERVER_ENGINE_BATCH_TRACE_H_
#define FRESHET_SERVER_ENGINE_BATCH_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "server/base/system_clock.h"
#include "sync/mutex.h"

namespace freshet {

// The ends of the steps of a shard's turn, in their order. Value type, thread-compatible.
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
  size_t events = 0;       // events of the batch
  size_t turn_events = 0;  // events committed together, also of other batches
  TurnTimes times;
};

// The trace of one batch. Thread-safe.
class BatchTrace {
 public:
  // `clock` outlives it.
  explicit BatchTrace(Clock& clock) : clock_(clock) {}

  // The batch goes to its shards.
  void Send() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    sent_ = clock_.Now();
  }
  // Called before the shard's replies, unless the shard refused the whole turn.
  void Add(const ShardSpan& span) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    spans_.push_back(span);
  }
  // None = it went to no shard.
  [[nodiscard]] Instant sent() const FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return sent_;
  }
  // In the order in which the shards ended.
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
