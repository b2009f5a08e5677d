// Finds the best time to explore before committing to a plan. This is the question of "Learning to
// Crawl" (Upadhyay et al., AAAI 2020). With a good choice, the regret of the paper's explore_commit
// is of the order of the root of the horizon.
#ifndef FRESHET_LAB_SIM_EXPLORATION_H_
#define FRESHET_LAB_SIM_EXPLORATION_H_

#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "core/plan/plan.h"
#include "lab/methods/moment.h"

namespace freshet {

// Times are in the unit of the pages' rates. Value type, thread-compatible.
struct ExplorationOptions {
  double crawl_rate = 0;
  double horizon = 0;           // includes exploration
  RateBounds bounds{1e-9, 25};  // same as in LearnerOptions
  int repeats = 20;
  uint64_t seed = 1;
};

// The result for one length of exploration. Value type, thread-compatible.
struct ExplorationPoint {
  double time = 0;
  double accuracy = 0;  // share of requests served fresh over the whole horizon
  double error = 0;     // its standard error
};

// Value type, thread-compatible.
struct Exploration {
  double known = 0;                      // the accuracy of blc at the true rates
  double uniform = 0;                    // the accuracy of equal intervals, the same for all pages
  ExplorationPoint best;                 // the best of `points`
  std::vector<ExplorationPoint> points;  // by time
};

// Computes the accuracy of explore_commit on pages with the rates of `pages`. Tries lengths of
// exploration from one crawl of each page to the horizon, each sqrt(2) times the previous one. For
// each length, the function draws the findings of the crawls, computes their moment estimate, which
// has a closed form for equal intervals, and commits to blc. Uses no asymptotics: if pages change
// several times between two crawls, the delta method is off by a factor of several.
// InvalidArgument: options are out of range, the horizon is shorter than two crawls of each page,
// or more than 2e9 crawls would be drawn. Other errors: from ValidatePlanInput.
[[nodiscard]] StatusOr<Exploration> ExploreBeforeCommitting(const PlanPages& pages,
                                                            const ExplorationOptions& options);

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_EXPLORATION_H_
