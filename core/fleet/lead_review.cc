#include "core/fleet/lead_review.h"

namespace freshet {

bool LeadReview::GivesUp(const std::optional<FleetRateFigures>& figures, size_t serving,
                         Instant now) {
  const bool of_use =
      !figures || (figures->nodes * 2 >= serving && figures->refusing * 2 <= serving);
  if (of_use) {
    of_no_use_since_.reset();
    return false;
  }
  if (!of_no_use_since_) of_no_use_since_ = now;
  return now - *of_no_use_since_ >= patience_;
}

}  // namespace freshet
