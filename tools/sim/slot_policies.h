// Who picks the pages of a synthetic world: policies that know the true rates, and learners.
#ifndef FRESHET_TOOLS_SIM_SLOT_POLICIES_H_
#define FRESHET_TOOLS_SIM_SLOT_POLICIES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/model/crawl_value.h"
#include "tools/sim/synthetic_worlds.h"

namespace freshet {

// So long that the times of a run fit an Instant, in units of the papers' time.
inline constexpr double kLongestHorizon = 4e6;

// An index policy (core/model/policy.h), which picks the page of highest value; a rate plan
// (core/plan/planner.h), executed as tools/sim/plan_execution.h says, where a page of recall 1
// without false signals has complete ones; or a learner (core/plan/learners.h), which does not know
// the change rates (tools/sim/learner_policy.h). Pages were all crawled at 0. InvalidArgument for a
// name that is none. Precondition: pages as DrawPages makes them, crawl_rate > 0 and finite.
[[nodiscard]] StatusOr<std::unique_ptr<SlotPolicy>> MakeSlotPolicy(
    const std::string& name, const std::vector<PaperRates>& pages, double crawl_rate);

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_SLOT_POLICIES_H_
