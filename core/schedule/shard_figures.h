// Figures that a shard reports once a second. They do not influence its decisions.
#ifndef FRESHET_CORE_SCHEDULE_SHARD_FIGURES_H_
#define FRESHET_CORE_SCHEDULE_SHARD_FIGURES_H_

#include <cstdint>

#include "core/base/units.h"
#include "core/schedule/host_standing.h"
#include "core/schedule/lateness.h"

namespace freshet {

// Value type, thread-compatible.
struct ShardFigures {
  // Figures of the index: pages that compete, values computed and pages picked
  // (core/index/price_index.h). Under a rate policy there is no index, so no page is awake and no
  // value is computed.
  uint64_t awake = 0;
  uint64_t evaluations = 0;
  uint64_t picks = 0;
  // How long pages wait after signals (core/schedule/signal_waits.h).
  WaitCounts waits;
  uint64_t waiting = 0;
  Duration longest_wait;
  HostCounts hosts;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_SHARD_FIGURES_H_
