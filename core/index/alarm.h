// The times of pages and hosts in the index, and heaps of alarms that say when to look at one
// again.
#ifndef FRESHET_CORE_INDEX_ALARM_H_
#define FRESHET_CORE_INDEX_ALARM_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/plain_vector.h"
#include "core/base/units.h"

namespace freshet {

// An alarm in a heap. `tag` tells the alarm that counts from older ones of the same id: a stale
// alarm stays in the heap, so its owner checks whether it still counts. Value type,
// thread-compatible.
template <typename When, typename Id>
struct Alarm {
  When at;
  Id id;
  uint32_t tag = 0;
  // For heaps with the earliest on top.
  bool operator<(const Alarm& other) const {
    return other.at != at ? other.at < at : other.id < id;
  }
};

// Alarms, the earliest first. Owner thread only.
//
// Clients decide how often an alarm is replaced by another. So each Push looks at a few entries in
// turn and drops stale ones: these stay fewer than the others and some thousands, and no call has
// to look through all.
//
// Alarms that come in order, such as those of hosts with equal delays, need no heap: they wait in a
// ring, and the first alarm is the first of the ring or of the heap. 16 bytes an alarm. Cost: a
// comparison for an alarm in order, else the logarithm of the entries of the heap.
template <typename When, typename Id>
class AlarmHeap {
 public:
  using Entry = Alarm<When, Id>;
  // Adds an alarm. `counts(entry)`: whether an alarm is not stale.
  template <typename Counts>
  void Push(const Entry& alarm, Counts counts) {
    if (heap_.size() > kUnswept) Sweep(counts);
    if (size_ == 0 || !(ring_[Place(size_ - 1)] < alarm)) {
      if (size_ < ring_.size() || GrowRing()) {
        ring_[Place(size_++)] = alarm;
        return;
      }
    }
    heap_.push_back(alarm);
    std::push_heap(heap_.begin(), heap_.end());
  }
  // Takes out due alarms up to the first that counts, and returns its id. nullopt = no due alarm is
  // left, or `left` ran out, which counts down the alarms looked at.
  template <typename Counts>
  [[nodiscard]] std::optional<Id> NextDue(When now, size_t* left, Counts counts) {
    while (*left > 0 && Rings(now)) {
      --*left;
      const Entry alarm = Pop();
      if (counts(alarm)) return alarm.id;
    }
    return std::nullopt;
  }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] size_t size() const { return size_ + heap_.size(); }
  // Whether the first alarm is due.
  [[nodiscard]] bool Rings(When now) const { return !empty() && !(now < First().at); }
  // Precondition of both: not empty.
  [[nodiscard]] const Entry& First() const { return RingFirst() ? ring_[first_] : heap_.front(); }
  Entry Pop() {
    DCHECK(!empty());
    const Entry first = First();
    if (RingFirst()) {
      first_ = (first_ + 1) & (ring_.size() - 1);
      --size_;
      return first;
    }
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
    return first;
  }

 private:
  // Bounds the copy when the ring grows.
  static constexpr size_t kLargestRing = size_t{1} << 17;
  // A heap with fewer entries needs no sweep.
  static constexpr size_t kUnswept = 4096;
  // A push adds one entry. A sweep looks at entries until kCounting count, and at most at
  // kLookedAt.
  static constexpr int kCounting = 2;
  static constexpr int kLookedAt = 4;

  // The sweep goes round the heap in the order of its places. An entry that does not count is
  // dropped when the sweep comes by, at the latest after half as many pushes as there are entries.
  // So the share of such entries settles where a push drops as many as it adds, below one in two.
  // The ring needs no sweep: its size is bounded.
  template <typename Counts>
  void Sweep(Counts counts) {
    int counting = 0;
    for (int i = 0; i < kLookedAt && counting < kCounting && !heap_.empty(); ++i) {
      if (swept_ >= heap_.size()) swept_ = 0;
      if (counts(heap_[swept_])) {
        ++swept_;
        ++counting;
      } else {
        RemoveAt(swept_);
      }
    }
  }
  // Removes an entry; the last one takes the place.
  void RemoveAt(size_t place) {
    const Entry last = heap_.back();
    heap_.pop_back();
    if (place == heap_.size()) return;
    while (place > 0 && heap_[(place - 1) / 2] < last) {
      heap_[place] = heap_[(place - 1) / 2];
      place = (place - 1) / 2;
    }
    for (size_t child = 2 * place + 1; child < heap_.size(); child = 2 * place + 1) {
      if (child + 1 < heap_.size() && heap_[child] < heap_[child + 1]) ++child;
      if (!(last < heap_[child])) break;
      heap_[place] = heap_[child];
      place = child;
    }
    heap_[place] = last;
  }
  [[nodiscard]] bool RingFirst() const {
    return size_ > 0 && (heap_.empty() || !(ring_[first_] < heap_.front()));
  }
  [[nodiscard]] size_t Place(size_t i) const { return (first_ + i) & (ring_.size() - 1); }
  [[nodiscard]] bool GrowRing() {
    if (ring_.size() == kLargestRing) return false;
    std::vector<Entry> grown(std::max<size_t>(2 * ring_.size(), 16));
    for (size_t i = 0; i < size_; ++i) grown[i] = ring_[Place(i)];
    ring_ = std::move(grown);
    first_ = 0;
    return true;
  }

  std::vector<Entry> ring_;  // a power of two of them, or none
  size_t first_ = 0;
  size_t size_ = 0;  // entries in the ring
  PlainVector<Entry> heap_;
  size_t swept_ = 0;  // the entry of the heap that the next sweep looks at first
};

// The times of a page: picked never before `eligible_from` (none = any time), and before all others
// from `forced_at` on (infinite = never). Value type, thread-compatible.
struct PageTimes {
  Instant eligible_from;
  Instant forced_at = Instant::Infinite();
  uint32_t tag = 0;  // tag of the alarms that count
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_ALARM_H_
