// A host as the gate knows it (core/schedule/host_gate.h), and what follows for it.
#ifndef FRESHET_CORE_SCHEDULE_GATED_HOST_H_
#define FRESHET_CORE_SCHEDULE_GATED_HOST_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/units.h"
#include "core/model/host.h"
#include "core/schedule/host_standing.h"
#include "core/schedule/host_terms.h"

namespace freshet {

struct HostRule;

// Only the gate changes it. Thread-compatible.
struct GatedHost {
  HostRecord record;        // without a name: the id belongs to no host now
  uint32_t in_flight = 0;   // picks and leases
  uint32_t picks = 0;       // picks whose lease is not open yet
  Instant last_pick;        // the latest of these picks
  Instant assigned_before;  // the assignment before the last, if known, else the last
  std::unique_ptr<PolitenessDefaults> defaults;  // nullptr = the general ones
  const HostRule* rule = nullptr;                // the rule that matches it; nullptr = none
  GroupId group;                                 // 0 = none
  GroupId domain;                                // 0 = none
};

// In all of these `terms` are those in force for the host (HostGate::TermsOf).

// When its block, delay and cap are all over, without its hours.
[[nodiscard]] Instant RestedAt(const GatedHost& host, const HostTerms& terms);
// The instant from which the host is free, as of `now`; infinite while its limit is reached. A host
// with hours of the day is no longer free when they are over: a pick looks again.
[[nodiscard]] Instant FreeAt(const GatedHost& host, const HostTerms& terms, Instant now);
// FreeAt without the limit of pages out and picks.
[[nodiscard]] Instant AllowedAt(const GatedHost& host, const HostTerms& terms, Instant now);
// `group_free`: from when the group of the host is free.
[[nodiscard]] HostStanding StandingOf(const GatedHost& host, const HostTerms& terms,
                                      Instant group_free, Instant now);
// The least time between two assignments whose picks were out together, if they leave later than
// planned: the delay, and a cap over such a short time.
[[nodiscard]] Duration HostSpacing(const HostTerms& terms);
// The least time between two crawls of a page of the host, if it is set for the host or by its
// rule: then the intervals of crawl ids do not count.
[[nodiscard]] std::optional<Duration> OwnPageInterval(const GatedHost& host);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_GATED_HOST_H_
