// The experiments of the LambdaCrawl paper (Kolobov et al.).
#ifndef FRESHET_TOOLS_SIM_PAPER_LAMBDA_CRAWL_H_
#define FRESHET_TOOLS_SIM_PAPER_LAMBDA_CRAWL_H_

#include <vector>

#include "tools/sim/paper/plan.h"

namespace freshet {

// In the order of its figures, on the pages of tools/sim/paper/corpus.h with complete signals
// alone; a day is the unit of time, and there are 0.2 crawls a day for each page.
[[nodiscard]] std::vector<PaperExperiment> LambdaCrawlExperiments();

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_PAPER_LAMBDA_CRAWL_H_
