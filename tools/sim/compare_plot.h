// What freshet-sim compare draws.
#ifndef FRESHET_TOOLS_SIM_COMPARE_PLOT_H_
#define FRESHET_TOOLS_SIM_COMPARE_PLOT_H_

#include <string>
#include <vector>

#include "core/base/status.h"
#include "tools/sim/compare.h"
#include "tools/sim/plot/svg_plot.h"

namespace freshet {

// Staleness over the crawl rate, a line a policy, of one history at one recall. Value type,
// thread-compatible.
struct ComparePlot {
  std::string name;  // of the history and recall, of letters, digits, dots, - and _ alone
  Plot plot;
};

// One for each history and recall, in the order of the rows. Both axes are logarithmic, as
// staleness spans some decades; what is 0 is left out. Worlds have one rate each, and no plot.
[[nodiscard]] std::vector<ComparePlot> ComparePlots(const std::vector<ComparedRow>& rows,
                                                    const CompareOptions& options);

// The crawl rate at which weighted staleness falls to `staleness`, a bar a policy, for each history
// and recall: the subject and the simple rules (IsSimpleRule), in the order of the options. Between
// two recorded rates the logarithm of staleness is taken as linear in the logarithm of the rate.
// A policy whose rows do not span `staleness` has no bar; a plot without a bar is left out.
// Domain: 0 < staleness < 1.
[[nodiscard]] std::vector<ComparePlot> NeededPlots(const std::vector<ComparedRow>& rows,
                                                   const CompareOptions& options, double staleness);

// One plot: the file of that name; several: each in a file with its name before the extension.
// InvalidArgument without any; DataLoss for a file that cannot be written.
[[nodiscard]] Status WritePlots(const std::vector<ComparePlot>& plots, const std::string& file);

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_COMPARE_PLOT_H_
