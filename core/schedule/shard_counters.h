// The counters of a shard.
#ifndef FRESHET_CORE_SCHEDULE_SHARD_COUNTERS_H_
#define FRESHET_CORE_SCHEDULE_SHARD_COUNTERS_H_

#include <cstdint>

namespace freshet {

// Counts the effects of events. An event counts once its transaction is committed and installed
// (core/schedule/shard_install.h). Value type, thread-compatible.
struct EventCounts {
  uint64_t assignments = 0;
  uint64_t expired_leases = 0;
  uint64_t returned_leases = 0;
  uint64_t given_up = 0;  // expired leases after which the page waits for a normal interval
  uint64_t changed = 0;
  uint64_t unchanged = 0;
  uint64_t errors = 0;
  uint64_t throttled = 0;  // throttled answers, including late ones
  uint64_t gone = 0;
  uint64_t robots_denied = 0;
  uint64_t duplicate_results = 0;
  uint64_t late_results = 0;  // results of leases that were no longer open
  uint64_t signals_applied = 0;
  uint64_t signals_stale = 0;
  uint64_t signals_duplicate = 0;
  uint64_t signals_unknown_url = 0;
  EventCounts& operator+=(const EventCounts& other);
  bool operator==(const EventCounts&) const = default;
};

// EventCounts plus other counters of a shard. Value type, thread-compatible.
struct ShardCounters : EventCounts {
  uint64_t pages = 0;
  uint64_t gone_pages = 0;  // number of pages that are gone now
  uint64_t hosts = 0;
  uint64_t leases = 0;  // number of open leases
  uint64_t epochs = 0;
  uint64_t quarantined_sources = 0;  // (host, source) pairs in quarantine now
  uint64_t quarantines = 0;          // number of quarantines that have begun
  uint64_t site_models = 0;          // as of the last epoch or start, like site_model_bytes
  uint64_t site_model_bytes = 0;
  bool operator==(const ShardCounters&) const = default;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_SHARD_COUNTERS_H_
