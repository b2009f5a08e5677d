// The record of a host, as the store keeps it. Value type, thread-compatible.
#ifndef FRESHET_CORE_MODEL_HOST_H_
#define FRESHET_CORE_MODEL_HOST_H_

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/day_hours.h"
#include "core/base/ip_address.h"
#include "core/base/units.h"
#include "core/model/crawl_cap.h"

namespace freshet {

// The politeness settings of one host, and its current state.
struct HostRecord {
  std::string host;
  std::optional<Duration> min_delay;      // between two assignments; unset: configured default
  std::optional<uint32_t> max_in_flight;  // unset: configured default; 0 = no limit
  // The minimum time between two crawls of a page; unset: configured default.
  std::optional<Duration> min_page_interval;
  Instant blocked_until;    // none = not blocked
  Instant last_assignment;  // none = never
  // Number of consecutive answers with HTTP status 429 or 503, counted at last_throttled. It counts
  // for less as quiet time passes (core/schedule/host_backoff.h).
  uint8_t throttles = 0;
  Instant last_throttled;  // none = never
  // All pages of the host are being removed. The server accepts no new ones until all are gone.
  bool deleting = false;
  std::optional<CrawlCap> max_crawls;  // unset: configured default; count 0 = no cap
  std::optional<DayHours> hours;       // unset: configured default
  // The latest reports of workers: the Crawl-delay of robots.txt (0 = none), and the address of the
  // last fetch.
  Duration crawl_delay;
  IpAddress address;
  RecentCrawls recent_crawls;  // kept only if there is a cap
  bool operator==(const HostRecord&) const = default;
};

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_HOST_H_
