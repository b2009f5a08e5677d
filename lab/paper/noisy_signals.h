// The experiments of the noisy-signals paper (Busa-Fekete et al.).
#ifndef FRESHET_LAB_PAPER_NOISY_SIGNALS_H_
#define FRESHET_LAB_PAPER_NOISY_SIGNALS_H_

#include <vector>

#include "lab/paper/plan.h"

namespace freshet {

// Returns the experiments in the order of the paper's figures. R = 100 crawls per unit of time,
// importance and change rate uniform on (0, 1), 1,000 units of time unless noted.
[[nodiscard]] std::vector<PaperExperiment> NoisySignalsExperiments();

// The experiments of figure 5, of figures 10 and 11, and of figures 7 and 12 to 14.
[[nodiscard]] PaperExperiment NoisyCorpusExperiment();
[[nodiscard]] std::vector<PaperExperiment> NoisyQualityExperiments();
[[nodiscard]] std::vector<PaperExperiment> NoisyRatesExperiments();

}  // namespace freshet

#endif  // FRESHET_LAB_PAPER_NOISY_SIGNALS_H_
