// Judges whether the leader of a fleet (core/fleet/fleet_rate.h) does its work well enough. A
// leader that hears from few nodes, or whose grants few nodes can obey, gives up its lead, so that
// another node can lead.
#ifndef FRESHET_CORE_FLEET_LEAD_REVIEW_H_
#define FRESHET_CORE_FLEET_LEAD_REVIEW_H_

#include <cstddef>
#include <optional>

#include "core/base/units.h"
#include "core/fleet/fleet_rate.h"
#include "core/fleet/rate_leader.h"

namespace freshet {

// Owner thread only.
class LeadReview {
 public:
  // Precondition: the options are valid.
  explicit LeadReview(const FleetRateOptions& options) : patience_(options.lifetime) {}

  // Returns true if the leader should give up. This is so if, for the lifetime of a grant, the
  // leader heard from fewer than half of the `serving` places (the leader's place included), or
  // more than half could not obey their grants. `figures` are those of the last round; unset = this
  // node does not lead.
  [[nodiscard]] bool GivesUp(const std::optional<FleetRateFigures>& figures, size_t serving,
                             Instant now);

 private:
  const Duration patience_;
  std::optional<Instant> of_no_use_since_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_FLEET_LEAD_REVIEW_H_
