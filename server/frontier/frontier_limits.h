// The limits of the crawl-frontier API that operators set.
#ifndef FRESHET_SERVER_FRONTIER_FRONTIER_LIMITS_H_
#define FRESHET_SERVER_FRONTIER_FRONTIER_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "server/base/frontier_limits.h"
#include "server/base/limits.h"

namespace freshet {

// The limits. Value type, thread-compatible.
struct FrontierLimits {
  size_t metadata_bytes = size_t{64} << 10;  // of a URL
  uint64_t urls = 1'000'000'000;
  uint64_t queues = 10'000'000;  // kept in memory
  uint64_t flights = limits::kMaxFlights;
  // URLs that clients may have in flight of others' crawl ids without as many results
  // (server/frontier/taker_shares.h).
  uint64_t uncovered_flights = limits::kNewcomerLeases;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FRONTIER_LIMITS_H_
