// How much of the crawl-frontier API an operator allows.
#ifndef FRESHET_SERVER_FRONTIER_FRONTIER_LIMITS_H_
#define FRESHET_SERVER_FRONTIER_FRONTIER_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "server/base/frontier_limits.h"
#include "server/base/limits.h"

namespace freshet {

// How much there may be. Value type, thread-compatible.
struct FrontierLimits {
  size_t metadata_bytes = size_t{64} << 10;  // of a URL
  uint64_t urls = 1'000'000'000;
  uint64_t queues = 10'000'000;  // they are in memory
  uint64_t flights = limits::kMaxFlights;
  // Most of these flights that clients hold of others' crawl ids without having reported as many
  // (server/frontier/taker_shares.h).
  uint64_t uncovered_flights = limits::kNewcomerLeases;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FRONTIER_LIMITS_H_
