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
  // Calls that other servers answer for this one.
  struct Forwarded {
    uint64_t open = 0;
    uint64_t forwarded = 0;
    uint64_t refused = 0;
    uint64_t dropped = 0;
  };
  std::string name;       // the name of the log; empty = the server is alone
  std::string node;       // the name of this server
  std::string address;    // where others send their clients' calls; empty = nowhere
  bool has_turn = false;  // to serve, as far as it knows
  bool sure = false;      // the group has confirmed the turn lately
  ChangeLogStats log;
  Forwarded calls;
  uint64_t items_sent_on = 0;          // to servers of other divisions
  uint64_t assignments_elsewhere = 0;  // pages of other divisions, to workers of this server
  uint64_t items_sent_unanswered = 0;  // the part of items_sent_on without an answer
  RateSharingStatus rate;
  uint32_t learned_from = 0;  // number of other divisions with totals
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_CLUSTER_STATUS_H_
