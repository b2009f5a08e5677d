// The answer of a shard about a page and its host. Value types, thread-compatible.
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

// The reason that decides about the next crawl of a page.
enum class Verdict : uint8_t {
  kDue,         // among the next pages, by value or by the plan
  kBelowPrice,  // or later by the plan
  kLeased,      // leased, or picked and about to be
  kHostBusy,    // no other wait ends later
  kTooEarly,
  kForced,
  kNever,  // at no time, or only on request
};

// Why a page is, or is not, crawled now.
struct Explanation {
  double value = 0;
  // The factor on the value of the policy's formula, in (0, 1]: under `default` less than 1 for
  // pages that may be gone (core/estimate/life.h) or can wait (core/schedule/urgency.h).
  double value_share = 1;
  double price = 0;
  double staleness = 0;
  double effective_elapsed_seconds = 0;  // infinite if no unsignalled change ever happens
  PageEstimate estimate;
  Instant next_crawl;     // expected if no signal comes; infinite = not at this price
  Instant eligible_from;  // none = now
  std::optional<LeaseRecord> lease;
  HostStatus host;
  int host_throttles = 0;  // throttled answers in a row that still lengthen its pauses
  Instant host_free;       // infinite = once one of its pages comes back
  Verdict verdict = Verdict::kNever;
  std::string why;  // the verdict as one sentence for a person
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_EXPLANATION_H_
