// A policy for slots that must learn the change rates first.
#ifndef FRESHET_LAB_SIM_LEARNER_POLICY_H_
#define FRESHET_LAB_SIM_LEARNER_POLICY_H_

#include <memory>
#include <vector>

#include "core/base/status.h"
#include "core/model/crawl_value.h"
#include "lab/methods/learners.h"
#include "lab/sim/synthetic_worlds.h"

namespace freshet {

// Makes a policy that runs a learner (lab/methods/learners.h), which knows only importance and
// complete signals of `pages`. An epoch lasts as long as a crawl of every page; ten times as long
// for eps_greedy, and for explore_commit, which has only one. Executes its plan as MakeSlotPolicy
// does. Keeps every observation. Precondition: that of MakeSlotPolicy.
[[nodiscard]] StatusOr<std::unique_ptr<SlotPolicy>> MakeLearnerPolicy(
    LearnerKind kind, const std::vector<PaperRates>& pages, double crawl_rate);

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_LEARNER_POLICY_H_
