// The times of pages and hosts in the index, and heaps of alarms. An alarm is an instant at which
// the index must check a page or host again.
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

// An alarm in a heap. A heap keeps alarms that are no longer valid. The owner of the heap therefore
// checks each alarm: of several alarms with the same id, only the one with the current `tag` is
// valid. Value type, thread-compatible.
template <typename When, typename Id>
struct Alarm {
  When at;
  Id id;
  uint32_t tag = 0;
  // Reversed, so that the standard heap functions put the earliest on top.
  bool operator<(const Alarm& other) const {
    return other.at != at ? other.at < at : other.id < id;
  }
};

// A queue of alarms, the earliest first. Owner thread only.
//
// Clients can replace alarms as often as they like, and each replaced alarm leaves a stale entry.
// Each Push therefore checks a few entries of the heap, round-robin, and drops stale ones. The heap
// keeps fewer stale entries than valid ones (or at most a few thousand), and no call has to scan
// the whole heap.
//
// Alarms that come in order, such as those of hosts with equal delays, need no heap. They go to a
// ring buffer, and the first alarm of the queue is the earlier one of the ring's first and the
// heap's first. An alarm takes 16 bytes. Cost: one comparison for an alarm in order, otherwise the
// logarithm of the heap's size.
template <typename When, typename Id>
class AlarmHeap {
 public:
  using Entry = Alarm<When, Id>;
  // Adds an alarm. `counts(entry)` returns true if an alarm is valid.
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
  // Removes due alarms up to the first valid one, and returns its id. Each removed alarm decrements
  // `left`. nullopt = no due alarm is left, or `left` has reached 0.
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
  // Returns true if the first alarm is due.
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
  // Max size of the ring. It bounds the copying when the ring grows.
  static constexpr size_t kLargestRing = size_t{1} << 17;
  // A heap with at most this many entries is not swept.
  static constexpr size_t kUnswept = 4096;
  // A sweep stops after kCounting valid entries, or kLookedAt entries in total.
  static constexpr int kCounting = 2;
  static constexpr int kLookedAt = 4;

  // Checks the next entries of the heap, round-robin by position, and drops stale ones. A stale
  // entry is dropped at the latest after half as many pushes as the heap has entries. The share of
  // stale entries therefore settles below one half, where each push drops as many entries as it
  // adds. The ring needs no sweep, because its size is bounded.
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
  // Removes an entry. The last entry takes its place and is sifted.
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

  std::vector<Entry> ring_;  // size is 0 or a power of two
  size_t first_ = 0;
  size_t size_ = 0;  // entries in the ring
  PlainVector<Entry> heap_;
  size_t swept_ = 0;  // the position in the heap where the next sweep starts
};

// The times of a page. The page is never picked before `eligible_from` (none = no limit), and
// precedes all other pages from `forced_at` on (infinite = never). Value type, thread-compatible.
struct PageTimes {
  Instant eligible_from;
  Instant forced_at = Instant::Infinite();
  uint32_t tag = 0;  // tag of the page's valid alarms
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_ALARM_H_
