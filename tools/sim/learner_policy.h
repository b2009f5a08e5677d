// A policy of slots that has to learn the change rates first.
#ifndef FRESHET_TOOLS_SIM_LEARNER_POLICY_H_
#define FRESHET_TOOLS_SIM_LEARNER_POLICY_H_

#include <memory>
#include <vector>

#include "core/base/status.h"
#include "core/model/crawl_value.h"
#include "core/plan/learners.h"
#include "tools/sim/synthetic_worlds.h"

namespace freshet {

// Runs a learner (core/plan/learners.h), which knows importance and which pages have complete
// signals, and nothing else of `pages`. An epoch is as long as a crawl of every page takes, of
// explore_commit, which has one, and of eps_greedy ten times as long; its plan is executed as
// MakeSlotPolicy executes plans. Keeps every observation. Precondition as of MakeSlotPolicy.
[[nodiscard]] StatusOr<std::unique_ptr<SlotPolicy>> MakeLearnerPolicy(
    LearnerKind kind, const std::vector<PaperRates>& pages, double crawl_rate);

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_LEARNER_POLICY_H_
