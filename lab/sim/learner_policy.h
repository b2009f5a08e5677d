// A policy for slots that does not know the change rates and must learn them.
#ifndef FRESHET_LAB_SIM_LEARNER_POLICY_H_
#define FRESHET_LAB_SIM_LEARNER_POLICY_H_

#include <memory>
#include <vector>

#include "core/base/status.h"
#include "core/model/crawl_value.h"
#include "lab/methods/learners.h"
#include "lab/sim/synthetic_worlds.h"

namespace freshet {

// Makes a policy that runs a learner (lab/methods/learners.h). It knows only the importance and the
// complete signals of `pages`. An epoch lasts as long as it takes to crawl every page once. For
// eps_greedy, and for the single epoch of explore_commit, it lasts ten times as long. The plan is
// executed as in MakeSlotPolicy. All observations are kept. Precondition: that of MakeSlotPolicy.
[[nodiscard]] StatusOr<std::unique_ptr<SlotPolicy>> MakeLearnerPolicy(
    LearnerKind kind, const std::vector<PaperRates>& pages, double crawl_rate);

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_LEARNER_POLICY_H_
