// Judges whether a leader is of use to its fleet. A leader that hears from few nodes, or whose
// grants few can obey, gives up the lead, so that another may do better.
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

  // Whether the leader should give up. For the time of a grant, fewer than half of the `serving`
  // places (its own counts) have heard it, or more than half could not obey their grants.
  // `figures`: of the last round; unset = this node does not lead.
  [[nodiscard]] bool GivesUp(const std::optional<FleetRateFigures>& figures, size_t serving,
                             Instant now);

 private:
  const Duration patience_;
  std::optional<Instant> of_no_use_since_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_FLEET_LEAD_REVIEW_H_
