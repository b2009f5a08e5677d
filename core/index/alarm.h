// What the index knows of pages and hosts beside their values: from when on and by when, and the
// entries of heaps that tell when one is to be looked at again.
#ifndef FRESHET_CORE_INDEX_ALARM_H_
#define FRESHET_CORE_INDEX_ALARM_H_

#include <cstdint>

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

// Of a page that may not be picked before an instant, or has to be from one on: none and
// infinite where it is neither. Value type, thread-compatible.
struct PageTimes {
  Instant eligible_from;
  Instant forced_at = Instant::Infinite();
};

// Whether the pages of a host may be picked, and those that wait until they may. Value type,
// thread-compatible.
struct WaitingHost {
  Instant free_at;
  uint32_t pool = 0;  // in BoundPools; 0: none of its pages waits
  uint32_t pages : 31 = 0;
  uint32_t blocked : 1 = 0;  // `free_at` had not come when this was last looked at
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_ALARM_H_
