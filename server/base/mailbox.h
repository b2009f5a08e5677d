// A bounded queue with many producers and one consumer. Push never blocks. If an item exceeds the
// bound, the result of Push says so, and the producer should pause until the item has been served
// (flow control). An item that exceeded the bound and has waited too long is returned unserved, so
// that an overloaded shard refuses work instead of falling behind. Items of one client are served
// in order; clients take turns by cost (server/base/client_turns.h).
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
  // The hard limit on waiting events, for producers that do not stop. The last quarter is reserved
  // for clients that have few events or none in the queue.
  size_t hard_weight = 0;
  Duration patience;  // how long an item over `weight` may wait
};

// Bytes of a typical event. A longer event counts as several.
inline constexpr size_t kBytesOfAnEvent = 256;
// The cost, in typical events, of `events` events that have `bytes` bytes in total.
constexpr size_t CostOf(size_t events, size_t bytes) {
  return std::max(events, bytes / kBytesOfAnEvent);
}

enum class PushOutcome {
  kTaken,      // continue
  kTakenOver,  // accepted above the bound: produce no more until this item is served
  kFull,       // not taken: RESOURCE_EXHAUSTED
  kClosed,     // not taken, now or ever
};

// The queue. Thread-safe, but Wait and Drain belong to one consumer.
template <typename T>
class Mailbox {
 public:
  explicit Mailbox(MailboxLimits limits) : limits_(limits) {}

  // A client whose waiting events weigh at most 1/kLittle of MailboxLimits::weight is not asked to
  // stop.
  static constexpr size_t kLittle = 16;

  // An item of `weight` events. If `cost` is greater than `weight`, the item takes as long as
  // `cost` typical events (CostOf).
  struct Part {
    T item;
    size_t weight = 0;
    size_t cost = 0;
  };

  // Adds an item after the client's other items. `client` is Claim::client; 0 = the server itself.
  // `item` is unchanged if it is not taken.
  PushOutcome Push(T&& item, size_t weight, Instant now, uint64_t client = 0, size_t cost = 0)
      FRESHET_EXCLUDES(mutex_) {
    Part part{.item = std::move(item), .weight = weight, .cost = cost};
    const PushOutcome outcome = PushAll({&part, 1}, now, client);
    const bool left = outcome == PushOutcome::kFull || outcome == PushOutcome::kClosed;
    if (left) item = std::move(part.item);
    return outcome;
  }
  // Adds all parts of a client's item, in order, or none of them.
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
    // Here and below, the mutex is released before the consumer is notified. Otherwise the consumer
    // would wake up only to wait for the mutex.
    lock.Unlock();
    condition_.NotifyOne();
    return over ? PushOutcome::kTakenOver : PushOutcome::kTaken;
  }
  // Adds an item of the server itself, even above the limits: the server's logic bounds the number
  // of these items. The item takes as long as `cost` events.
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

  // Puts back a drained item that was not served after all, in front of the client's other items.
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

  // Waits until there is an item to take, Wake was called, or `timeout` has passed.
  void Wait(Duration timeout) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    WaitUnless(!entries_.empty(), timeout);
  }
  // Waits until an item has come since the last DrainAhead, Wake was called, or `timeout` has
  // passed.
  void WaitForMore(Duration timeout) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    WaitUnless(more_, timeout);
  }
  // Waits until Wake was called or `timeout` has passed, even if there are items to take.
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

  // Takes items from the front, client by client in turns, as long as their total cost stays within
  // `most`. `taken` is the cost of items that were drained earlier, and counts toward the total.
  // Always takes items without cost. If `taken` is 0, always takes the first item. Moves items that
  // have expired by `now` to `expired`; these do not count. Returns the total cost, including
  // `taken`.
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

  // Takes items from the front, client by client in turns, as long as their cost stays within
  // `most`. Stops at an item that was accepted above the bound. Returns the weight of the items.
  // This weight still counts against the limits until Release is called, because the consumer has
  // not served the items yet.
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
  // Subtracts a weight that DrainAhead has returned.
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

  // The total weight of items that wait here or were taken by DrainAhead and not released yet.
  [[nodiscard]] size_t weight() const FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return weight_;
  }
  // The number of items that wait here.
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
  // Removes and returns the item at the front, and subtracts `weight` from the total.
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
  // The weight of waiting items by client; never zero.
  absl::flat_hash_map<uint64_t, size_t> held_ FRESHET_GUARDED_BY(mutex_);
  bool woken_ FRESHET_GUARDED_BY(mutex_) = false;
  bool more_ FRESHET_GUARDED_BY(mutex_) = false;  // an item has come since the last DrainAhead
  bool closed_ FRESHET_GUARDED_BY(mutex_) = false;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_MAILBOX_H_
