// The longest delays, blocks and leases of the crawl-frontier API.
#ifndef FRESHET_SERVER_FRONTIER_FRONTIER_BOUNDS_H_
#define FRESHET_SERVER_FRONTIER_FRONTIER_BOUNDS_H_

#include <algorithm>
#include <cstdint>

#include "server/base/limits.h"
#include "server/frontier/frontier_state.h"

namespace freshet {

[[nodiscard]] inline uint32_t BoundedDelay(uint32_t seconds) {
  return std::min(seconds, limits::kMaxFrontierDelaySeconds);
}

[[nodiscard]] inline uint64_t BoundedBlock(uint64_t until, uint64_t now) {
  return std::min(until, now + static_cast<uint64_t>(limits::kMaxBlockSeconds));
}

[[nodiscard]] inline uint64_t BoundedLease(uint64_t until, uint64_t now) {
  return std::min(until, now + static_cast<uint64_t>(limits::kMaxLeaseSeconds));
}

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FRONTIER_BOUNDS_H_
