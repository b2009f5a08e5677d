// A host in the gate (core/schedule/host_gate.h), and functions that say when it is free.
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
  HostRecord record;        // empty name = the id belongs to no host now
  uint32_t in_flight = 0;   // number of picks and leases
  uint32_t picks = 0;       // number of picks whose leases are not open yet
  Instant last_pick;        // the latest of these picks
  Instant assigned_before;  // the assignment before the last; if not known, the last
  std::unique_ptr<PolitenessDefaults> defaults;  // nullptr = the general defaults
  const HostRule* rule = nullptr;                // the rule that matches the host; nullptr = none
  GroupId group;                                 // 0 = none
  GroupId domain;                                // 0 = none
};

// In all functions below, `terms` are the politeness terms of the host (HostGate::TermsOf).

// The time at which the host's block, delay and cap have all ended. Ignores the hours of the day.
[[nodiscard]] Instant RestedAt(const GatedHost& host, const HostTerms& terms);
// The instant from which the host is free, as of `now`; infinite while it has as many pages in
// flight as it may. A host with hours of the day stops being free when the hours end, so a pick
// checks again.
[[nodiscard]] Instant FreeAt(const GatedHost& host, const HostTerms& terms, Instant now);
// Like FreeAt, but ignores the limit of pages in flight. The delay counts from the last assignment
// only, not from picks.
[[nodiscard]] Instant AllowedAt(const GatedHost& host, const HostTerms& terms, Instant now);
// The standing of the host at `now`. `group_free`: the instant from which its group is free.
[[nodiscard]] HostStanding StandingOf(const GatedHost& host, const HostTerms& terms,
                                      Instant group_free, Instant now);
// The minimum time between two assignments of the host, for use when the assignments can leave
// later than their ticks. It is the delay of the host. If the span of the host's cap is so short
// that lateness matters, it is at least this span.
[[nodiscard]] Duration HostSpacing(const HostTerms& terms);
// The minimum time between two crawls of a page, as set for the host or by its rule. Unset =
// neither sets it, so the intervals of crawl ids apply.
[[nodiscard]] std::optional<Duration> OwnPageInterval(const GatedHost& host);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_GATED_HOST_H_
