// The experiments of "Learning to Crawl" (Upadhyay et al.).
#ifndef FRESHET_TOOLS_SIM_PAPER_LEARN_TO_CRAWL_H_
#define FRESHET_TOOLS_SIM_PAPER_LEARN_TO_CRAWL_H_

#include <vector>

#include "tools/sim/paper/plan.h"

namespace freshet {

// In the order of its figures: 100 pages, R = 100 crawls per unit of time, importance and change
// rate uniform on (0, 1). Regret is the accuracy that the rates in force lose against the best
// ones, crawls coming at Poisson times, as the paper counts it: no run is long enough to be noisy.
[[nodiscard]] std::vector<PaperExperiment> LearnToCrawlExperiments();

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_PAPER_LEARN_TO_CRAWL_H_
