// Groups of hosts that share a server, and a limit on fetches from all together: by list, by
// suffix, or by the address that workers report.
#ifndef FRESHET_CORE_SCHEDULE_HOST_GROUP_H_
#define FRESHET_CORE_SCHEDULE_HOST_GROUP_H_

#include <cstdint>
#include <string>

#include "core/base/units.h"

namespace freshet {

// The terms of all hosts of a group together; 0 = none. Value type, thread-compatible.
struct GroupTerms {
  Duration min_delay;          // between two assignments of any of its hosts
  uint32_t max_in_flight = 0;  // pages of its hosts out at a time
  bool operator==(const GroupTerms&) const = default;
};

// A group of hosts. A name has one set of terms at a time, the same on all shards. Value type,
// thread-compatible.
struct HostGroup {
  std::string name;  // not empty
  GroupTerms terms;
  bool operator==(const HostGroup&) const = default;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HOST_GROUP_H_
