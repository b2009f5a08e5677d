// The experiments of the noisy-signals paper (Busa-Fekete et al.).
#ifndef FRESHET_TOOLS_SIM_PAPER_NOISY_SIGNALS_H_
#define FRESHET_TOOLS_SIM_PAPER_NOISY_SIGNALS_H_

#include <vector>

#include "tools/sim/paper/plan.h"

namespace freshet {

// In the order of its figures. R = 100 crawls per unit of time, importance and change rate uniform
// on (0, 1), 1,000 units of time unless said.
[[nodiscard]] std::vector<PaperExperiment> NoisySignalsExperiments();

// Parts of them: figure 5; 10 and 11; 7 and 12 to 14.
[[nodiscard]] PaperExperiment NoisyCorpusExperiment();
[[nodiscard]] std::vector<PaperExperiment> NoisyQualityExperiments();
[[nodiscard]] std::vector<PaperExperiment> NoisyRatesExperiments();

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_PAPER_NOISY_SIGNALS_H_
