// The state of a server in its cluster.
#ifndef FRESHET_SERVER_API_CLUSTER_STATUS_H_
#define FRESHET_SERVER_API_CLUSTER_STATUS_H_

#include <cstdint>
#include <string>

#include "server/api/rate_sharing.h"
#include "storage/change_log.h"

namespace freshet {

// The state. Value type, thread-compatible.
struct ClusterStatus {
  // Calls that this server forwards to other servers.
  struct Forwarded {
    uint64_t open = 0;
    uint64_t forwarded = 0;
    uint64_t refused = 0;
    uint64_t dropped = 0;
  };
  std::string name;       // the name of the log; empty = the server is in no cluster
  std::string node;       // the name of this server
  std::string address;    // the address to which other servers forward calls; empty = none
  bool has_turn = false;  // this is the active server, as far as it knows
  bool sure = false;      // the group has confirmed recently that this server is active
  ChangeLogStats log;
  Forwarded calls;
  uint64_t items_sent_on = 0;  // to servers of other divisions
  // Assignments of other divisions' pages to workers of this server.
  uint64_t assignments_elsewhere = 0;
  uint64_t items_sent_unanswered = 0;  // the part of items_sent_on that got no answer
  RateSharingStatus rate;
  uint32_t learned_from = 0;  // number of other divisions whose EpochTotals are in use
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_CLUSTER_STATUS_H_
