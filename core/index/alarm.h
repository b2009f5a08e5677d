// Entries of heaps that tell when something is to be looked at again.
#ifndef FRESHET_CORE_INDEX_ALARM_H_
#define FRESHET_CORE_INDEX_ALARM_H_

#include <cstdint>

namespace freshet {

// Value type, thread-compatible. `tag` tells an alarm that counts from older ones of the same id.
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

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_ALARM_H_
