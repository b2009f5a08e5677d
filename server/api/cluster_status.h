// What a server of a cluster tells of itself as one.
#ifndef FRESHET_SERVER_API_CLUSTER_STATUS_H_
#define FRESHET_SERVER_API_CLUSTER_STATUS_H_

#include <cstdint>
#include <string>

#include "server/api/rate_sharing.h"
#include "storage/change_log.h"

namespace freshet {

// Value type, thread-compatible.
struct ClusterStatus {
  // Calls that this server has others answer.
  struct Forwarded {
    uint64_t open = 0;
    uint64_t forwarded = 0;
    uint64_t refused = 0;
    uint64_t dropped = 0;
  };
  std::string name;       // of the log; empty: the server is alone
  std::string node;       // what this server is called
  std::string address;    // where the others are to send their clients' calls; empty: nowhere
  bool has_turn = false;  // to serve, as far as it knows
  bool sure = false;      // of that, as the group has said so of late
  ChangeLogStats log;
  Forwarded calls;
  uint64_t items_sent_on = 0;          // to servers of other divisions
  uint64_t assignments_elsewhere = 0;  // of other divisions, to workers of this server
  uint64_t items_sent_unanswered = 0;  // of these
  RateSharingStatus rate;
  uint32_t learned_from = 0;  // other divisions that have said what their pages showed
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_CLUSTER_STATUS_H_
