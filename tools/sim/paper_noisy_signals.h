// The experiments of the noisy-signals paper (Busa-Fekete et al.).
#ifndef FRESHET_TOOLS_SIM_PAPER_NOISY_SIGNALS_H_
#define FRESHET_TOOLS_SIM_PAPER_NOISY_SIGNALS_H_

#include <vector>

#include "tools/sim/paper_plan.h"

namespace freshet {

// In the order of its figures. R = 100 crawls per unit of time, importance and change rate uniform
// on (0, 1), 1,000 units of time unless said.
[[nodiscard]] std::vector<PaperExperiment> NoisySignalsExperiments();

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_PAPER_NOISY_SIGNALS_H_
