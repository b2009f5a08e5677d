// A shard's explanation of the state of a page and its host. Value types, thread-compatible.
#ifndef FRESHET_CORE_SCHEDULE_EXPLANATION_H_
#define FRESHET_CORE_SCHEDULE_EXPLANATION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/units.h"
#include "core/estimate/page_estimate.h"
#include "core/model/lease.h"
#include "core/schedule/host_status.h"

namespace freshet {

// The reason that determines when the page is crawled next.
enum class Verdict : uint8_t {
  kDue,         // one of the next pages, by value or by the plan
  kBelowPrice,  // below the price, or later by the plan
  kLeased,      // leased, or picked and about to be leased
  kHostBusy,    // the host is not free, and this wait ends last
  kTooEarly,
  kForced,
  kNever,  // never crawled, or only on request
};

// Explains why a page is or is not crawled now.
struct Explanation {
  double value = 0;
  // The value is that of the policy's formula times this factor, which is in (0, 1]. Under
  // `default` it is less than 1 for pages that might be gone (core/estimate/life.h) or can wait
  // (core/schedule/urgency.h).
  double value_share = 1;
  double price = 0;
  double staleness = 0;
  double effective_elapsed_seconds = 0;  // infinite if the page is stale and signals complete
  PageEstimate estimate;
  Instant next_crawl;     // expected if no signal comes; infinite = never at this price
  Instant eligible_from;  // none = now
  std::optional<LeaseRecord> lease;
  HostStatus host;
  int host_throttles = 0;  // throttled answers in a row that still lengthen the host's pauses
  Instant host_free;       // infinite = it has its maximum of pages in flight
  Verdict verdict = Verdict::kNever;
  std::string why;  // the verdict in one sentence, for people
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_EXPLANATION_H_
