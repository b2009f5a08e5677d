// How long to explore before committing to a plan: the question of "Learning to Crawl" (Upadhyay et
// al., AAAI 2020), whose explore_commit has a regret of the order of the root of the horizon if
// that is chosen well.
#ifndef FRESHET_TOOLS_SIM_EXPLORATION_H_
#define FRESHET_TOOLS_SIM_EXPLORATION_H_

#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "core/estimate/moment.h"
#include "core/plan/plan.h"

namespace freshet {

// Value type, thread-compatible. Times are in the unit of the pages' rates.
struct ExplorationOptions {
  double crawl_rate = 0;
  double horizon = 0;           // exploration included
  RateBounds bounds{1e-9, 25};  // as LearnerOptions has them
  int repeats = 20;
  uint64_t seed = 1;
};

// One length of exploration. Value type, thread-compatible.
struct ExplorationPoint {
  double time = 0;
  double accuracy = 0;  // share of requests served fresh over the whole horizon
  double error = 0;     // its standard error
};

// Value type, thread-compatible.
struct Exploration {
  double known = 0;                      // the accuracy of blc at the true rates
  double uniform = 0;                    // and of equal intervals, the same for all pages
  ExplorationPoint best;                 // of `points`
  std::vector<ExplorationPoint> points;  // by time
};

// What explore_commit reaches on pages whose rates are those of `pages`, over lengths of
// exploration from one crawl of each page to the horizon, each the root of 2 of the one before: it
// draws what the crawls of each page would find, takes the moment estimate of that, which for equal
// intervals has a closed form, and commits to blc. No asymptotics: where some pages change several
// times between two crawls the delta method is off by a factor of several. InvalidArgument for
// options out of range, horizons shorter than two crawls of each page, and more than 2e9 crawls to
// draw in all; and as ValidatePlanInput.
[[nodiscard]] StatusOr<Exploration> ExploreBeforeCommitting(const PlanPages& pages,
                                                            const ExplorationOptions& options);

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_EXPLORATION_H_
