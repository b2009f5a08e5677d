// What a shard tells of a host and a page to whoever asks. Value types, thread-compatible.
#ifndef FRESHET_CORE_SCHEDULE_EXPLANATION_H_
#define FRESHET_CORE_SCHEDULE_EXPLANATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/units.h"
#include "core/estimate/page_estimate.h"
#include "core/model/host.h"
#include "core/model/lease.h"
#include "core/schedule/host_terms.h"

namespace freshet {

struct HostGroup;

// What a shard knows of a host. Value type, thread-compatible.
struct HostStatus {
  HostRecord record;
  HostTerms terms;
  std::string rule;                        // that matches it; empty: none
  std::shared_ptr<const HostGroup> group;  // that it is in; null: none
  Instant allowed_at;                      // but for what is in flight and its group; or before now
  uint32_t pages = 0;
  uint32_t in_flight = 0;
};

// Which hosts a list of them is to have; an empty text fits all. Value type, thread-compatible.
struct HostQuery {
  std::string prefix;
  std::string part;  // somewhere in the name
};

// What decides about the next crawl of a page.
enum class Verdict : uint8_t {
  kDue,         // among the next, by value or by the plan
  kBelowPrice,  // or later by the plan
  kLeased,      // out, or picked and about to be
  kHostBusy,    // and no other wait ends later
  kTooEarly,
  kForced,
  kNever,  // at no time, or not unless somebody asks for it
};

// Why a page is, or is not, crawled now.
struct Explanation {
  double value = 0;
  // What the value of the policy's formula was multiplied with, in (0, 1]: under `default` less
  // than one for pages that may be gone (core/estimate/life.h), or can wait
  // (core/schedule/urgency.h).
  double value_share = 1;
  double price = 0;
  double staleness = 0;
  double effective_elapsed_seconds = 0;  // infinite when no unsignalled change ever happens
  PageEstimate estimate;
  Instant next_crawl;     // expected if no signal comes; infinite: not at this price
  Instant eligible_from;  // none: now
  std::optional<LeaseRecord> lease;
  HostStatus host;
  int host_throttles = 0;  // answers in a row for which the host still waits longer
  Instant host_free;       // infinite: once one of its pages comes back
  Verdict verdict = Verdict::kNever;
  std::string why;  // the same as one sentence for a person
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_EXPLANATION_H_
