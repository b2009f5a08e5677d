// The experiments of "Learning to Crawl" (Upadhyay et al.).
#ifndef FRESHET_LAB_PAPER_LEARN_TO_CRAWL_H_
#define FRESHET_LAB_PAPER_LEARN_TO_CRAWL_H_

#include <vector>

#include "lab/paper/plan.h"

namespace freshet {

// Returns the experiments in the order of the paper's figures: 100 pages, R = 100 crawls per unit
// of time, importance and change rate uniform on (0, 1). Regret is how much lower the accuracy of
// the current rates is than that of the best rates, with crawls at Poisson times. It is computed as
// in the paper, so it has no noise.
[[nodiscard]] std::vector<PaperExperiment> LearnToCrawlExperiments();

}  // namespace freshet

#endif  // FRESHET_LAB_PAPER_LEARN_TO_CRAWL_H_
