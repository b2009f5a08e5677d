// What the index knows of pages and hosts beside their values: from when on and by when, and the
// entries of heaps that tell when one is to be looked at again.
#ifndef FRESHET_CORE_INDEX_ALARM_H_
#define FRESHET_CORE_INDEX_ALARM_H_

#include <algorithm>
#include <cstdint>

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
template <typename When, typename Id>
class AlarmHeap {
 public:
  using Entry = Alarm<When, Id>;
  void Push(const Entry& alarm) {
    alarms_.push_back(alarm);
    std::push_heap(alarms_.begin(), alarms_.end());
  }
  [[nodiscard]] bool empty() const { return alarms_.empty(); }
  // Whether the time of the first one has come.
  [[nodiscard]] bool Rings(When now) const { return !empty() && !(now < alarms_.front().at); }
  // Precondition of both: not empty.
  [[nodiscard]] const Entry& First() const { return alarms_.front(); }
  Entry Pop() {
    DCHECK(!empty());
    const Entry first = alarms_.front();
    std::pop_heap(alarms_.begin(), alarms_.end());
    alarms_.pop_back();
    return first;
  }

 private:
  PlainVector<Entry> alarms_;
};

// Of a page that may not be picked before an instant, or has to be from one on: none and
// infinite where it is neither. Value type, thread-compatible.
struct PageTimes {
  Instant eligible_from;
  Instant forced_at = Instant::Infinite();
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_ALARM_H_
