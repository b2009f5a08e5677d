// Who picks the pages of a synthetic world: policies that know the true rates.
#ifndef FRESHET_TOOLS_SIM_SLOT_POLICIES_H_
#define FRESHET_TOOLS_SIM_SLOT_POLICIES_H_

#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/model/crawl_value.h"
#include "tools/sim/synthetic_worlds.h"

namespace freshet {

// So long that the times of a run fit an Instant, in units of the papers' time.
inline constexpr double kLongestHorizon = 4e6;

// An index policy (core/model/policy.h), which picks the page of highest value, or lds: the plan of
// Azar et al. (core/plan/lds.h) executed by their low-discrepancy schedule. Pages were all crawled
// at 0. InvalidArgument for a name that is none. Precondition: pages as DrawPages makes them,
// crawl_rate > 0 and finite.
[[nodiscard]] StatusOr<std::unique_ptr<SlotPolicy>> MakeSlotPolicy(
    const std::string& name, const std::vector<PaperRates>& pages, double crawl_rate);

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_SLOT_POLICIES_H_
