// What the index knows of pages and hosts beside their values: from when on and by when, and the
// entries of heaps that tell when one is to be looked at again.
#ifndef FRESHET_CORE_INDEX_ALARM_H_
#define FRESHET_CORE_INDEX_ALARM_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/plain_vector.h"
#include "core/base/units.h"

namespace freshet {

// Value type, thread-compatible. `tag` tells an alarm that counts from older ones of the same id:
// alarms are never taken out of a heap before their time, who is woken by one looks whether it
// still means anything.
template <typename When, typename Id>
struct Alarm {
  When at;
  Id id;
  uint8_t tag = 0;
  // For heaps with the earliest on top.
  bool operator<(const Alarm& other) const {
    return other.at != at ? other.at < at : other.id < id;
  }
};

// Alarms, the earliest first. Owner thread only.
//
// Those that come in order, as the delays of hosts do that all rest equally long, need no heap:
// they wait in a ring, and the first is that of the ring or that of the heap.
template <typename When, typename Id>
class AlarmHeap {
 public:
  using Entry = Alarm<When, Id>;
  void Push(const Entry& alarm) {
    if (size_ == 0 || !(ring_[Place(size_ - 1)] < alarm)) {
      if (size_ < ring_.size() || GrowRing()) {
        ring_[Place(size_++)] = alarm;
        return;
      }
    }
    heap_.push_back(alarm);
    std::push_heap(heap_.begin(), heap_.end());
  }
  [[nodiscard]] bool empty() const { return size_ == 0 && heap_.empty(); }
  // Whether the time of the first one has come.
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
  // What is copied when the ring grows is bounded.
  static constexpr size_t kLargestRing = size_t{1} << 17;
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
  size_t size_ = 0;  // in the ring
  PlainVector<Entry> heap_;
};

// Of a page that may not be picked before an instant, or has to be from one on: none and
// infinite where it is neither. Value type, thread-compatible.
struct PageTimes {
  Instant eligible_from;
  Instant forced_at = Instant::Infinite();
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_ALARM_H_
