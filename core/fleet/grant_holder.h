// The node's side of a granted rate: which grant it obeys, and at which rate it may pick now.
#ifndef FRESHET_CORE_FLEET_GRANT_HOLDER_H_
#define FRESHET_CORE_FLEET_GRANT_HOLDER_H_

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/fleet/fleet_rate.h"

namespace freshet {

// Owner thread only. Invariant: grants are obeyed in the order of their terms and numbers, each
// until a later one comes or it runs out, whichever is first; none is ever taken up again. A node
// whose clock is off by more than the bound is refused its grants as far as it can be seen: they
// have run out, or run on for longer than any may.
class GrantHolder {
 public:
  // Precondition: the options are valid.
  GrantHolder(NodeId node, const FleetRateOptions& options);

  // A grant has come. OK: it is obeyed from now on, or the very one that already is.
  // InvalidArgument: it is for another node or malformed; FailedPrecondition: a later one is
  // obeyed, or it is outside its time.
  [[nodiscard]] Status Take(const RateGrant& grant, Instant now);

  // What the node may pick at; zero: nothing, no grant is valid. The pacer is to be told of both:
  // each Take, and what becomes of the rate at until().
  [[nodiscard]] Rate rate(Instant now) const;
  // When the rate becomes zero unless another grant comes; none: there was never one.
  [[nodiscard]] Instant until() const { return held_.until; }
  // For RateReport::held, valid or not.
  [[nodiscard]] const RateGrant& held() const { return held_; }

 private:
  Duration longest_;
  RateGrant held_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_FLEET_GRANT_HOLDER_H_
