// Counts of IndexNow pings (server/indexnow/receiver.h).
#ifndef FRESHET_SERVER_API_INDEXNOW_STATS_H_
#define FRESHET_SERVER_API_INDEXNOW_STATS_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>

namespace freshet {

// The HTTP statuses of answers to pings.
inline constexpr std::array kIndexNowStatuses = {200, 202, 400, 401, 403, 404,
                                                 405, 413, 422, 429, 503};

// Counters since the start. Thread-safe.
struct IndexNowCounters {
  std::array<std::atomic<uint64_t>, kIndexNowStatuses.size()> requests{};  // by status
  // Numbers of URLs:
  std::atomic<uint64_t> applied{0};
  std::atomic<uint64_t> unknown{0};
  std::atomic<uint64_t> created{0};
  std::atomic<uint64_t> refused{0};
  std::atomic<uint64_t> pending{0};
  std::atomic<uint64_t> dropped{0};

  void Count(int status) {
    const auto* it = std::find(kIndexNowStatuses.begin(), kIndexNowStatuses.end(), status);
    if (it != kIndexNowStatuses.end()) ++requests[it - kIndexNowStatuses.begin()];
  }
};

// A snapshot of the counts. Value type, thread-compatible.
struct IndexNowStats {
  std::map<int, uint64_t> requests;  // by HTTP status
  uint64_t applied = 0;              // URLs that signalled known pages
  uint64_t unknown = 0;              // URLs of unknown pages
  uint64_t created = 0;              // URLs that became pages
  uint64_t refused = 0;              // URLs that the page's shard refused
  // URLs that had to wait for a key. If the key is good, they are counted again by outcome.
  uint64_t pending = 0;
  uint64_t dropped = 0;    // pending URLs with a bad key
  uint64_t keys_good = 0;  // fetched key files
  uint64_t keys_bad = 0;
  uint64_t keys_unreachable = 0;
  uint64_t pending_bytes = 0;  // bytes of waiting pings
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_INDEXNOW_STATS_H_
