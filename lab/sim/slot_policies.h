// The policies that pick pages of a synthetic world: some know the true rates, learners do not.
#ifndef FRESHET_LAB_SIM_SLOT_POLICIES_H_
#define FRESHET_LAB_SIM_SLOT_POLICIES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/model/crawl_value.h"
#include "lab/sim/synthetic_worlds.h"

namespace freshet {

// The longest horizon whose times fit into an Instant, in units of the papers' time.
inline constexpr double kLongestHorizon = 4e6;

// Makes one of three kinds of policy. An index policy (core/model/policy.h) picks the page of
// highest value. A rate plan (core/plan/planner.h) is executed by lab/sim/plan_execution.h; in it a
// page of recall 1 without false signals has complete signals. A learner (lab/methods/learners.h)
// does not know the change rates (lab/sim/learner_policy.h). All pages were crawled at time 0.
// InvalidArgument: the name is unknown. Precondition: pages from DrawPages, crawl_rate > 0 and
// finite.
[[nodiscard]] StatusOr<std::unique_ptr<SlotPolicy>> MakeSlotPolicy(
    const std::string& name, const std::vector<PaperRates>& pages, double crawl_rate);

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_SLOT_POLICIES_H_
