// Counts and totals of the crawl frontier.
#ifndef FRESHET_SERVER_FRONTIER_FRONTIER_COUNTS_H_
#define FRESHET_SERVER_FRONTIER_FRONTIER_COUNTS_H_

#include <cstdint>

namespace freshet {

// Sums over the queues of a crawl id, or over all. Value type, thread-compatible.
struct FrontierCounts {
  uint64_t active = 0;
  uint64_t completed = 0;
  uint64_t in_flight = 0;
  // Places that the URLs in flight take. Long URLs take several (PlacesOfFlight).
  uint64_t flight_places = 0;
  uint64_t queues = 0;         // queues with URLs
  uint64_t active_queues = 0;  // queues with scheduled URLs
  uint64_t kept_queues = 0;    // all queues in memory
};

// Counts since the start. Value type, thread-compatible.
struct FrontierTotals {
  uint64_t put_ok = 0;
  uint64_t put_skipped = 0;
  uint64_t put_failed = 0;
  uint64_t metadata_too_large = 0;  // part of `put_skipped`: metadata too large
  uint64_t served = 0;
  uint64_t given_back = 0;  // part of `served`: the client had left
  uint64_t expired = 0;     // leases that ended without a result
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FRONTIER_COUNTS_H_
