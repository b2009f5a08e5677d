// Statistics of the dispatcher.
#ifndef FRESHET_SERVER_ENGINE_DISPATCH_STATS_H_
#define FRESHET_SERVER_ENGINE_DISPATCH_STATS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/units.h"

namespace freshet {

// The statistics. Value type, thread-compatible.
struct DispatchStats {
  uint64_t assignments = 0;
  uint64_t forced_assignments = 0;  // assignments of forced pages, included in `assignments`
  uint64_t ticks_without_credit = 0;
  uint64_t ticks_without_page = 0;
  uint64_t ticks_late = 0;
  uint64_t ticks_paused = 0;
  uint64_t ticks_stalled = 0;
  size_t workers = 0;  // waiters not included
  uint64_t credit = 0;
  uint64_t waiting_credit = 0;      // credit of waiters
  size_t workers_at_allowance = 0;  // workers with credit that may open no further lease
  size_t allowances_reduced = 0;    // number of worker names with a reduced allowance
  uint64_t newcomer_leases = 0;     // open leases of workers that have reported no result
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
