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
  size_t metadata_bytes = size_t{64} << 10;  // maximum for the metadata of one URL
  uint64_t urls = 1'000'000'000;
  uint64_t queues = 10'000'000;  // queues in memory
  uint64_t flights = limits::kMaxFlights;
  // The number of URLs that all clients together may have in flight from crawl ids of other
  // clients. URLs that a client's results cover do not count (server/frontier/taker_shares.h).
  uint64_t uncovered_flights = limits::kNewcomerLeases;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FRONTIER_LIMITS_H_
