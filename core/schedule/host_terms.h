// The politeness terms that apply to a host, and the origin of each.
#ifndef FRESHET_CORE_SCHEDULE_HOST_TERMS_H_
#define FRESHET_CORE_SCHEDULE_HOST_TERMS_H_

#include <cstdint>

#include "core/base/day_hours.h"
#include "core/base/units.h"
#include "core/model/crawl_cap.h"

namespace freshet {

// Politeness of hosts for which nothing else is set; 0 = none. Value type, thread-compatible.
struct PolitenessDefaults {
  Duration min_delay;          // between two assignments of a host
  uint32_t max_in_flight = 0;  // max pages of a host in flight
  Duration min_page_interval;  // between two crawls of a page
  CrawlCap max_crawls;         // max assignments of a host in any span of time
  DayHours hours;              // the hours of the day in which a host is crawled
  bool operator==(const PolitenessDefaults&) const = default;
};

// The origin of a term. If several origins set a term, the last of them in this list wins, but a
// reported delay counts only if it is longer than the delay from the others.
enum class TermOrigin : uint8_t {
  kDefault,   // the defaults for all hosts
  kCrawlId,   // the crawl ids that have pages of the host
  kRule,      // a rule that matches the host
  kHost,      // a setting of the host
  kReported,  // the host's robots.txt, as reported by a worker
};

// Value type, thread-compatible.
template <typename T>
struct Term {
  T value{};
  TermOrigin origin = TermOrigin::kDefault;
  bool operator==(const Term&) const = default;
};

// Value type, thread-compatible.
struct HostTerms {
  Term<Duration> min_delay;
  Term<uint32_t> max_in_flight;
  Term<Duration> min_page_interval;
  Term<CrawlCap> max_crawls;
  Term<DayHours> hours;
  bool operator==(const HostTerms&) const = default;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_HOST_TERMS_H_
