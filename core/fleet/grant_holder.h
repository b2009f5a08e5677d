// The node's side of granted rates (core/fleet/fleet_rate.h): which grant the node obeys, and at
// what rate it can pick pages now.
#ifndef FRESHET_CORE_FLEET_GRANT_HOLDER_H_
#define FRESHET_CORE_FLEET_GRANT_HOLDER_H_

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/fleet/fleet_rate.h"

namespace freshet {

// Owner thread only. Invariant: grants are obeyed in the order of their terms and numbers. Each is
// obeyed until a later one comes or it expires, whichever is first. No grant is obeyed again
// afterwards. Take refuses a grant if it shows that a clock is off by more than the bound: the
// grant has expired, or it lasts longer than any valid grant.
class GrantHolder {
 public:
  // Precondition: the options are valid.
  GrantHolder(NodeId node, const FleetRateOptions& options);

  // Takes a grant. OK: the node obeys the grant from now on, or already did. Not OK:
  // InvalidArgument if the grant is for another node or malformed; FailedPrecondition if the node
  // obeys a later grant, or the grant has expired or lasts too long.
  [[nodiscard]] Status Take(const RateGrant& grant, Instant now);

  // The rate at which the node can pick pages now; 0 = no grant is valid. Pass it to the pacer
  // after each Take and at until().
  [[nodiscard]] Rate rate(Instant now) const;
  // The time at which the rate becomes 0 unless another grant comes; none = there was never a
  // grant.
  [[nodiscard]] Instant until() const { return held_.until; }
  // The grant to report in RateReport::held, valid or not.
  [[nodiscard]] const RateGrant& held() const { return held_; }

 private:
  Duration longest_;
  RateGrant held_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_FLEET_GRANT_HOLDER_H_
