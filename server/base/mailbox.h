// A bounded queue with many producers and one consumer. Producers never block: a producer that goes
// over the bound is told, and waits until its item was taken (flow control). An item that was over
// the bound and has waited too long is given back unserved, so that an overloaded shard refuses
// work instead of falling behind. Items of one client come out in their order; clients take turns
// by cost (server/base/client_turns.h).
#ifndef FRESHET_SERVER_BASE_MAILBOX_H_
#define FRESHET_SERVER_BASE_MAILBOX_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"
#include "server/base/client_turns.h"
#include "sync/mutex.h"

namespace freshet {

struct MailboxLimits {
  size_t weight = 0;  // waiting events before producers are asked to stop
  // The most that may wait, for producers that do not stop. The last quarter is for clients that
  // have nothing here, or little.
  size_t hard_weight = 0;
  Duration patience;  // how long an item over `weight` may wait
};

// Bytes of a usual event. A longer event takes as long as several.
inline constexpr size_t kBytesOfAnEvent = 256;
// The cost of `events` with `bytes` together, in usual events.
constexpr size_t CostOf(size_t events, size_t bytes) {
  return std::max(events, bytes / kBytesOfAnEvent);
}

enum class PushOutcome {
  kTaken,      // continue
  kTakenOver,  // taken over the bound: produce no more until this item is served
  kFull,       // not taken: RESOURCE_EXHAUSTED
  kClosed,     // not taken, now or ever
};

// The queue. Thread-safe, but Wait and Drain belong to one consumer.
template <typename T>
class Mailbox {
 public:
  explicit Mailbox(MailboxLimits limits) : limits_(limits) {}

  // A client with at most this part of MailboxLimits::weight here is not asked to stop.
  static constexpr size_t kLittle = 16;

  // An item of `weight` events, which takes as long as `cost` events, if these are more (CostOf).
  struct Part {
    T item;
    size_t weight = 0;
    size_t cost = 0;
  };

  // Adds an item behind the client's others (Claim::client; 0 = the server itself). The item stays
  // as it was unless it is taken.
  PushOutcome Push(T&& item, size_t weight, Instant now, uint64_t client = 0, size_t cost = 0)
      FRESHET_EXCLUDES(mutex_) {
    Part part{.item = std::move(item), .weight = weight, .cost = cost};
    const PushOutcome outcome = PushAll({&part, 1}, now, client);
    const bool left = outcome == PushOutcome::kFull || outcome == PushOutcome::kClosed;
    if (left) item = std::move(part.item);
    return outcome;
  }
  // Adds the parts of a client's item in their order, or none of them.
  PushOutcome PushAll(std::span<Part> parts, Instant now, uint64_t client = 0)
      FRESHET_EXCLUDES(mutex_) {
    size_t weight = 0;
    for (const Part& part : parts) weight += part.weight;
    MutexLock lock(mutex_);
    if (closed_) return PushOutcome::kClosed;
    const auto held = held_.find(client);
    const size_t sum = (held == held_.end() ? 0 : held->second) + weight;
    const bool little = client != 0 && sum <= limits_.weight / kLittle;
    const bool for_all = client == 0 || little || sum == weight;
    const size_t most = limits_.hard_weight - (for_all ? 0 : limits_.hard_weight / 4);
    if (weight_ > 0 && weight_ + weight > most) return PushOutcome::kFull;
    const bool over = weight_ > 0 && weight_ + weight > limits_.weight && !little;
    for (Part& part : parts) {
      Add({.item = std::move(part.item),
           .weight = part.weight,
           .cost = std::max(part.weight, part.cost),
           .expires = over ? now + limits_.patience : Instant::Infinite(),
           .client = client});
    }
    // Here and below the mutex is released first, else the consumer would have to wait for it.
    lock.Unlock();
    condition_.NotifyOne();
    return over ? PushOutcome::kTakenOver : PushOutcome::kTaken;
  }
  // Adds an item of the server itself, beyond all limits: its own logic bounds it. It takes as long
  // as `cost` events.
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

  // Puts a drained item of the client back, before its other items: it was not served after all.
  void PutBack(Part part, uint64_t client) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    Count(part.weight, client);
    entries_.PutBack(client,
                     {.item = std::move(part.item),
                      .weight = part.weight,
                      .cost = part.cost,
                      .expires = Instant::Infinite(),
                      .client = client},
                     std::max<size_t>(part.cost, 1));
  }

  // Waits until there is something to take, Wake was called, or `timeout` has passed.
  void Wait(Duration timeout) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    WaitUnless(!entries_.empty(), timeout);
  }
  // Waits until something is there that the last DrainAhead did not see, Wake was called, or
  // `timeout` has passed.
  void WaitForMore(Duration timeout) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    WaitUnless(more_, timeout);
  }
  // Waits until Wake was called or `timeout` has passed, even if there is something to take.
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

  // Takes items from the front, by turns, until their cost and `taken`, that of earlier ones, reach
  // `most`. Always takes the first item, and items without cost. Moves items whose patience is over
  // by `now` to `expired`; these cost nothing. Returns the cost, with that of earlier ones.
  size_t Drain(size_t most, Instant now, std::vector<T>* items, std::vector<T>* expired,
               size_t taken = 0) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (!entries_.empty()) {
      Entry& front = entries_.front();
      const bool late = front.expires <= now;
      if (!late && taken > 0 && front.cost > 0 && taken + front.cost > most) break;
      if (!late) taken += front.cost;
      (late ? expired : items)->push_back(Take(front.weight));
    }
    return taken;
  }

  // Takes items from the front, by turns, until their cost reaches `most` or an item comes that was
  // taken over the limit. Returns their weight, which counts until Release, as the items wait for
  // something else.
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
  // Gives back a weight that DrainAhead has returned.
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

  // Accepts no more items; waiting ones can still be drained.
  void Close() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    closed_ = true;
    condition_.NotifyOne();
  }

  // The sum of the weights of items that wait, or that were taken ahead.
  [[nodiscard]] size_t weight() const FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return weight_;
  }
  // The number of items to take.
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
    size_t cost = 0;  // cost in events, for the consumer
    Instant expires;
    uint64_t client = 0;
  };

  void WaitUnless(bool ready, Duration timeout) FRESHET_REQUIRES(mutex_) {
    if (!ready && !woken_ && !closed_) condition_.WaitFor(mutex_, timeout.chrono());
    woken_ = false;
  }
  // Takes the item at the front and `weight` off the total.
  T Take(size_t weight) FRESHET_REQUIRES(mutex_) {
    weight_ -= weight;
    Entry entry = entries_.Pop();
    if (entry.weight > 0 && (held_[entry.client] -= entry.weight) == 0) held_.erase(entry.client);
    return std::move(entry.item);
  }
  void Count(size_t weight, uint64_t client) FRESHET_REQUIRES(mutex_) {
    weight_ += weight;
    if (weight > 0) held_[client] += weight;
    more_ = true;
  }
  void Add(Entry&& entry) FRESHET_REQUIRES(mutex_) {
    Count(entry.weight, entry.client);
    const uint64_t client = entry.client;
    const size_t cost = std::max<size_t>(entry.cost, 1);
    entries_.Push(client, std::move(entry), cost);
  }

  const MailboxLimits limits_;
  mutable Mutex mutex_;
  Condition condition_;
  ClientTurns<Entry, uint64_t> entries_ FRESHET_GUARDED_BY(mutex_);
  size_t weight_ FRESHET_GUARDED_BY(mutex_) = 0;
  // The part of weight_ that is not taken, by client; never zero.
  absl::flat_hash_map<uint64_t, size_t> held_ FRESHET_GUARDED_BY(mutex_);
  bool woken_ FRESHET_GUARDED_BY(mutex_) = false;
  bool more_ FRESHET_GUARDED_BY(mutex_) = false;  // an item came since the last DrainAhead
  bool closed_ FRESHET_GUARDED_BY(mutex_) = false;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_MAILBOX_H_
