// A bounded queue with many producers and one consumer. Producers never block: one that goes over
// the bound is told so, and stops producing until its item was taken (flow control). An item that
// was over the bound and has then waited too long is given back unserved, so that a shard that
// cannot keep up refuses work instead of falling behind without limit. Items of one client come out
// in their order; several clients take turns by cost (server/base/client_turns.h).
#ifndef FRESHET_SERVER_BASE_MAILBOX_H_
#define FRESHET_SERVER_BASE_MAILBOX_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"
#include "server/base/client_turns.h"
#include "sync/mutex.h"

namespace freshet {

struct MailboxLimits {
  size_t weight = 0;  // what may wait before producers are asked to stop
  // What may wait at all, for producers that do not stop: the last quarter is for clients of which
  // nothing waits, or little.
  size_t hard_weight = 0;
  Duration patience;  // how long an item over `weight` may wait
};

// An event of more bytes takes as long as several: one for each so many bytes.
inline constexpr size_t kBytesOfAnEvent = 256;
// What so many events cost, of so many bytes together.
constexpr size_t CostOf(size_t events, size_t bytes) {
  return std::max(events, bytes / kBytesOfAnEvent);
}

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

  // A client of which no more than this part of MailboxLimits::weight waits is not asked to stop,
  // however much waits of others.
  static constexpr size_t kLittle = 16;

  // Adds an item of `weight` events at the end of what waits of that client (Claim::client; 0 = the
  // server itself). It takes as long as `cost` events, if these are more (CostOf). It is left as it
  // was unless it is taken.
  PushOutcome Push(T&& item, size_t weight, Instant now, uint64_t client = 0, size_t cost = 0)
      FRESHET_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (closed_) return PushOutcome::kClosed;
    const auto held = held_.find(client);
    const size_t sum = (held == held_.end() ? 0 : held->second) + weight;
    const bool little = client != 0 && sum <= limits_.weight / kLittle;
    const bool for_all = client == 0 || little || sum == weight;
    const size_t most = limits_.hard_weight - (for_all ? 0 : limits_.hard_weight / 4);
    if (weight_ > 0 && weight_ + weight > most) return PushOutcome::kFull;
    const bool over = weight_ > 0 && weight_ + weight > limits_.weight && !little;
    Add({.item = std::move(item),
         .weight = weight,
         .cost = std::max(weight, cost),
         .expires = over ? now + limits_.patience : Instant::Infinite(),
         .client = client});
    // Here and below without the lock, for which the consumer would have to wait once more.
    lock.Unlock();
    condition_.NotifyOne();
    return over ? PushOutcome::kTakenOver : PushOutcome::kTaken;
  }
  // For what the server itself needs done: bounded by its own logic, not here. It takes as long as
  // `cost` events.
  PushOutcome PushAlways(T&& item, uint64_t client = 0, size_t cost = 0) FRESHET_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (closed_) return PushOutcome::kClosed;
    Add({.item = std::move(item),
         .weight = 0,
         .cost = cost,
         .expires = Instant::Infinite(),
         .client = client});
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

  // Takes items from the front, by turns, until their cost and that of what was `taken` before
  // reach `most`. The first one is taken whatever it costs, and what costs nothing always. Items
  // whose patience is over by `now` go to `expired` and cost nothing.
  void Drain(size_t most, Instant now, std::vector<T>* items, std::vector<T>* expired,
             size_t taken = 0) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (!entries_.empty()) {
      Entry& front = entries_.front();
      const bool late = front.expires <= now;
      if (!late && taken > 0 && front.cost > 0 && taken + front.cost > most) break;
      if (!late) taken += front.cost;
      (late ? expired : items)->push_back(Take(front.weight));
    }
  }

  // Takes items from the front, by turns, until their cost reaches `most`, or one comes that was
  // taken over the limit. They weigh on, until Release, as they wait for something else. Returns
  // their weight.
  [[nodiscard]] size_t DrainAhead(size_t most, std::vector<T>* items) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    size_t taken = 0;
    size_t weight = 0;
    more_ = false;
    while (!entries_.empty()) {
      Entry& front = entries_.front();
      if (!front.expires.infinite() || taken + front.cost > most) break;
      taken += front.cost;
      weight += front.weight;
      items->push_back(Take(0));
    }
    return weight;
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
    items->push_back(Take(entries_.front().weight));
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
    size_t cost = 0;  // in events, for who takes it
    Instant expires;
    uint64_t client = 0;
  };

  void WaitUnless(bool ready, Duration timeout) FRESHET_REQUIRES(mutex_) {
    if (!ready && !woken_ && !closed_) condition_.WaitFor(mutex_, timeout.chrono());
    woken_ = false;
  }
  // The item at the front, of which so much weighs no longer.
  T Take(size_t weight) FRESHET_REQUIRES(mutex_) {
    weight_ -= weight;
    Entry entry = entries_.Pop();
    if (entry.weight > 0 && (held_[entry.client] -= entry.weight) == 0) held_.erase(entry.client);
    return std::move(entry.item);
  }
  void Add(Entry&& entry) FRESHET_REQUIRES(mutex_) {
    weight_ += entry.weight;
    if (entry.weight > 0) held_[entry.client] += entry.weight;
    const uint64_t client = entry.client;
    const size_t cost = std::max<size_t>(entry.cost, 1);
    entries_.Push(client, std::move(entry), cost);
    more_ = true;
  }

  const MailboxLimits limits_;
  mutable Mutex mutex_;
  Condition condition_;
  ClientTurns<Entry, uint64_t> entries_ FRESHET_GUARDED_BY(mutex_);
  size_t weight_ FRESHET_GUARDED_BY(mutex_) = 0;
  // The part of weight_ that is not taken, by client; none are zero.
  absl::flat_hash_map<uint64_t, size_t> held_ FRESHET_GUARDED_BY(mutex_);
  bool woken_ FRESHET_GUARDED_BY(mutex_) = false;
  bool more_ FRESHET_GUARDED_BY(mutex_) = false;  // came since the last DrainAhead
  bool closed_ FRESHET_GUARDED_BY(mutex_) = false;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_MAILBOX_H_
