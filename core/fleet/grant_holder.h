// The node's side of a granted rate: the grant that it obeys, and the rate at which it may pick
// now.
#ifndef FRESHET_CORE_FLEET_GRANT_HOLDER_H_
#define FRESHET_CORE_FLEET_GRANT_HOLDER_H_

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/fleet/fleet_rate.h"

namespace freshet {

// Owner thread only. Invariant: grants are obeyed in the order of their terms and numbers, each
// until a later one comes or it runs out, whichever is first; none is ever taken up again. Take
// refuses grants where it can see that a clock is off by more than the bound: they have run out, or
// run for longer than any may.
class GrantHolder {
 public:
  // Precondition: the options are valid.
  GrantHolder(NodeId node, const FleetRateOptions& options);

  // Takes a grant. OK: the node obeys it from now on, or did already. InvalidArgument: the grant is
  // for another node or malformed. FailedPrecondition: the node obeys a later one, or the grant is
  // outside its time.
  [[nodiscard]] Status Take(const RateGrant& grant, Instant now);

  // The rate at which the node may pick; 0 = no grant is valid. Tell the pacer after each Take and
  // at until().
  [[nodiscard]] Rate rate(Instant now) const;
  // The time at which the rate becomes 0 unless another grant comes; none = there was never one.
  [[nodiscard]] Instant until() const { return held_.until; }
  // The grant for RateReport::held, valid or not.
  [[nodiscard]] const RateGrant& held() const { return held_; }

 private:
  Duration longest_;
  RateGrant held_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_FLEET_GRANT_HOLDER_H_
