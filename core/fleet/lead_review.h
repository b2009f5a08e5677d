// Whether a leader is of use to its fleet: one that hears from few, or whose grants few can obey,
// gives up the lead, so that another one may do better.
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

  // Whether the leader is to give up: for as long as a grant lasts it was heard by fewer than half
  // of the places that are `serving`, its own among them, or more than half of these could not obey
  // what they were granted. `figures` are those of the last round; unset: it does not lead.
  [[nodiscard]] bool GivesUp(const std::optional<FleetRateFigures>& figures, size_t serving,
                             Instant now);

 private:
  const Duration patience_;
  std::optional<Instant> of_no_use_since_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_FLEET_LEAD_REVIEW_H_
