// The experiments of the LambdaCrawl paper (Kolobov et al.).
#ifndef FRESHET_LAB_PAPER_LAMBDA_CRAWL_H_
#define FRESHET_LAB_PAPER_LAMBDA_CRAWL_H_

#include <vector>

#include "lab/paper/plan.h"

namespace freshet {

// Returns the experiments in the order of the paper's figures, on the pages of lab/paper/corpus.h
// with only complete signals. The unit of time is a day, with 0.2 crawls a day for each page.
[[nodiscard]] std::vector<PaperExperiment> LambdaCrawlExperiments();

}  // namespace freshet

#endif  // FRESHET_LAB_PAPER_LAMBDA_CRAWL_H_
