// A bounded queue with many producers and one consumer. Producers never block: one that goes over
// the bound is told so, and stops producing until its item was taken (flow control). An item that
// was over the bound and has then waited too long is given back unserved, so that a shard that
// cannot keep up refuses work instead of falling behind without limit.
#ifndef FRESHET_SERVER_BASE_MAILBOX_H_
#define FRESHET_SERVER_BASE_MAILBOX_H_

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "sync/mutex.h"

namespace freshet {

struct MailboxLimits {
  size_t weight = 0;       // what may wait before producers are asked to stop
  size_t hard_weight = 0;  // what may wait at all, for producers that do not stop
  Duration patience;       // how long an item over `weight` may wait
};

enum class PushOutcome {
  kTaken,      // go on
  kTakenOver,  // taken, but the box is full: produce nothing more until this item is served
  kFull,       // not taken: RESOURCE_EXHAUSTED
  kClosed,     // not taken, and never will be
};

// Thread-safe; Wait and Drain belong to one consumer.
template <typename T>
class Mailbox {
 public:
  explicit Mailbox(MailboxLimits limits) : limits_(limits) {}

  // Adds an item of `weight` events at the end. It is left as it was unless it is taken.
  PushOutcome Push(T&& item, size_t weight, Instant now) FRESHET_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (closed_) return PushOutcome::kClosed;
    if (weight_ > 0 && weight_ + weight > limits_.hard_weight) return PushOutcome::kFull;
    const bool over = weight_ > 0 && weight_ + weight > limits_.weight;
    Add(std::move(item), weight, over ? now + limits_.patience : Instant::Infinite());
    // Here and below without the lock, for which the consumer would have to wait once more.
    lock.Unlock();
    condition_.NotifyOne();
    return over ? PushOutcome::kTakenOver : PushOutcome::kTaken;
  }
  // For what the server itself needs done: bounded by its own logic, not here.
  PushOutcome PushAlways(T&& item) FRESHET_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (closed_) return PushOutcome::kClosed;
    Add(std::move(item), 0, Instant::Infinite());
    lock.Unlock();
    condition_.NotifyOne();
    return PushOutcome::kTaken;
  }

  // Waits until there is something to take, Wake was called, or `timeout` has passed.
  void Wait(Duration timeout) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    WaitUnless(!entries_.empty(), timeout);
  }
  // Likewise, but not for what was there at the last DrainAhead.
  void WaitForMore(Duration timeout) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    WaitUnless(more_, timeout);
  }
  // Likewise, whatever there is to take.
  void WaitForWake(Duration timeout) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    WaitUnless(false, timeout);
  }
  void Wake() FRESHET_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    woken_ = true;
    lock.Unlock();
    condition_.NotifyOne();
  }

  // Takes items from the front, in order, until their weight reaches `max_weight` (the first one
  // whatever it weighs). Those whose patience is over by `now` go to `expired` and weigh nothing.
  void Drain(size_t max_weight, Instant now, std::vector<T>* items, std::vector<T>* expired)
      FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    size_t taken = 0;
    while (!entries_.empty()) {
      Entry& front = entries_.front();
      const bool late = front.expires <= now;
      if (!late && taken > 0 && taken + front.weight > max_weight) break;
      if (!late) taken += front.weight;
      (late ? expired : items)->push_back(std::move(front.item));
      weight_ -= front.weight;
      entries_.pop_front();
    }
  }

  // Takes items from the front, in order, until their weight reaches `max_weight`, or one comes
  // that was taken over the limit. They weigh on, until Release, as they wait for something else.
  // Returns their weight.
  [[nodiscard]] size_t DrainAhead(size_t max_weight, std::vector<T>* items)
      FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    size_t taken = 0;
    more_ = false;
    while (!entries_.empty()) {
      Entry& front = entries_.front();
      if (!front.expires.infinite() || taken + front.weight > max_weight) break;
      taken += front.weight;
      items->push_back(std::move(front.item));
      entries_.pop_front();
    }
    return taken;
  }
  // What DrainAhead has returned.
  void Release(size_t weight) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    weight_ -= weight;
  }

  // Takes the item at the front, if there is one.
  void DrainOne(std::vector<T>* items) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (entries_.empty()) return;
    items->push_back(std::move(entries_.front().item));
    weight_ -= entries_.front().weight;
    entries_.pop_front();
  }

  // Takes nothing more; what waits can still be drained.
  void Close() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    closed_ = true;
    condition_.NotifyOne();
  }

  // Sum of the weights of what waits, be it taken ahead.
  [[nodiscard]] size_t weight() const FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return weight_;
  }
  // How many there are to take.
  [[nodiscard]] size_t size() const FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return entries_.size();
  }
  [[nodiscard]] bool closed() const FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return closed_;
  }
  [[nodiscard]] bool empty() const FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return entries_.empty();
  }

 private:
  struct Entry {
    T item;
    size_t weight = 0;
    Instant expires;
  };

  void WaitUnless(bool ready, Duration timeout) FRESHET_REQUIRES(mutex_) {
    if (!ready && !woken_ && !closed_) condition_.WaitFor(mutex_, timeout.chrono());
    woken_ = false;
  }
  void Add(T&& item, size_t weight, Instant expires) FRESHET_REQUIRES(mutex_) {
    entries_.push_back({std::move(item), weight, expires});
    weight_ += weight;
    more_ = true;
  }

  const MailboxLimits limits_;
  mutable Mutex mutex_;
  Condition condition_;
  std::deque<Entry> entries_ FRESHET_GUARDED_BY(mutex_);
  size_t weight_ FRESHET_GUARDED_BY(mutex_) = 0;
  bool woken_ FRESHET_GUARDED_BY(mutex_) = false;
  bool more_ FRESHET_GUARDED_BY(mutex_) = false;  // came since the last DrainAhead
  bool closed_ FRESHET_GUARDED_BY(mutex_) = false;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_MAILBOX_H_
