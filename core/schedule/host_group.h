// Groups of hosts that share a server, and limits that apply to all hosts of a group together. The
// hosts of a group are those of a list, those of a domain, or those for which workers report the
// same IP address.
#ifndef FRESHET_CORE_SCHEDULE_HOST_GROUP_H_
#define FRESHET_CORE_SCHEDULE_HOST_GROUP_H_

#include <cstdint>
#include <string>

#include "core/base/units.h"

namespace freshet {

// Terms that apply to all hosts of a group together; 0 = none. Value type, thread-compatible.
struct GroupTerms {
  Duration min_delay;          // between two assignments of any of the group's hosts
  uint32_t max_in_flight = 0;  // max pages of the group's hosts in flight
  bool operator==(const GroupTerms&) const = default;
};

// A group of hosts. A name has only one set of terms at a time, equal on all shards. Value type,
// thread-compatible.
struct HostGroup {
  std::string name;  // not empty
  GroupTerms terms;
  bool operator==(const HostGroup&) const = default;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HOST_GROUP_H_
