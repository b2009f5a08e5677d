// Figures of the dispatcher.
#ifndef FRESHET_SERVER_ENGINE_DISPATCH_STATS_H_
#define FRESHET_SERVER_ENGINE_DISPATCH_STATS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/units.h"

namespace freshet {

// The figures. Value type, thread-compatible.
struct DispatchStats {
  uint64_t assignments = 0;
  uint64_t forced_assignments = 0;  // the part of `assignments` that was forced
  uint64_t ticks_without_credit = 0;
  uint64_t ticks_without_page = 0;
  uint64_t ticks_late = 0;
  uint64_t ticks_paused = 0;
  uint64_t ticks_stalled = 0;
  size_t workers = 0;  // without waiters
  uint64_t credit = 0;
  uint64_t waiting_credit = 0;      // credit of waiters
  size_t workers_at_allowance = 0;  // have credit, but a full allowance of open leases
  size_t allowances_reduced = 0;    // number of worker names
  uint64_t newcomer_leases = 0;     // open leases of workers without a result
  size_t ready = 0;
  Duration lookahead;
  Rate rate;
  bool paused = false;
  std::string pause_reason;
};

struct RecentAssignment {
  Instant at;
  std::string url;
  std::string worker;
  double value = 0;  // infinite = forced
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_DISPATCH_STATS_H_
