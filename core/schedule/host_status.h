// A shard's description of a host, and the query for a list of hosts.
#ifndef FRESHET_CORE_SCHEDULE_HOST_STATUS_H_
#define FRESHET_CORE_SCHEDULE_HOST_STATUS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/units.h"
#include "core/model/host.h"
#include "core/schedule/host_terms.h"

namespace freshet {

struct HostGroup;

// The status of a host. Value type, thread-compatible.
struct HostStatus {
  HostRecord record;
  HostTerms terms;
  std::string rule;                        // the rule that matches the host; empty = none
  std::shared_ptr<const HostGroup> group;  // the group of the host; nullptr = none
  // The earliest time at which the host's terms allow a crawl, ignoring the in-flight limit and the
  // group. Can be in the past.
  Instant allowed_at;
  uint32_t pages = 0;
  uint32_t in_flight = 0;
};

// Selects hosts for a list. An empty field matches every host. Value type, thread-compatible.
struct HostQuery {
  std::string prefix;
  std::string part;  // occurs anywhere in the name
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HOST_STATUS_H_
