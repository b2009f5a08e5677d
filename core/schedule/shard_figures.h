// What a shard says of itself once a second: figures that nothing is decided by.
#ifndef FRESHET_CORE_SCHEDULE_SHARD_FIGURES_H_
#define FRESHET_CORE_SCHEDULE_SHARD_FIGURES_H_

#include <algorithm>
#include <cstdint>

#include "core/base/units.h"
#include "core/schedule/host_standing.h"
#include "core/schedule/lateness.h"

namespace freshet {

// Sums over shards are made by +=. Value type, thread-compatible.
struct ShardFigures {
  // Of the index: pages that compete, values computed, pages picked (core/index/price_index.h).
  // While a rate policy is in force there is no index, and nothing awake; computed are then none.
  uint64_t awake = 0;
  uint64_t evaluations = 0;
  uint64_t picks = 0;
  // Of signals (core/schedule/signal_waits.h).
  WaitCounts waits;
  uint64_t waiting = 0;
  Duration longest_wait;
  HostCounts hosts;

  ShardFigures& operator+=(const ShardFigures& other) {
    awake += other.awake;
    evaluations += other.evaluations;
    picks += other.picks;
    waits += other.waits;
    waiting += other.waiting;
    longest_wait = std::max(longest_wait, other.longest_wait);
    hosts += other.hosts;
    return *this;
  }
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_SHARD_FIGURES_H_
