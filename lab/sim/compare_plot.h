// The plots of freshet-sim compare.
#ifndef FRESHET_LAB_SIM_COMPARE_PLOT_H_
#define FRESHET_LAB_SIM_COMPARE_PLOT_H_

#include <string>
#include <vector>

#include "core/base/status.h"
#include "lab/plot/svg_plot.h"
#include "lab/sim/compare.h"

namespace freshet {

// Staleness over the crawl rate, one line per policy, for one history at one recall. Value type,
// thread-compatible.
struct ComparePlot {
  std::string name;  // for history and recall, in letters, digits, dots, - and _
  Plot plot;
};

// Makes one plot for each history and recall, in the order of the rows. Both axes are logarithmic,
// because staleness spans some decades; leaves out points at 0. Worlds have only one rate, and so
// no plot.
[[nodiscard]] std::vector<ComparePlot> ComparePlots(const std::vector<ComparedRow>& rows,
                                                    const CompareOptions& options);

// Plots for each history and recall the crawl rate at which weighted staleness falls to
// `staleness`, one bar per policy: the subject and the simple rules (IsSimpleRule), in the order of
// the options. Between two recorded rates the logarithm of staleness counts as linear in the
// logarithm of the rate. Leaves out the bar of a policy whose rows do not span `staleness`, and
// plots without bars. Domain: 0 < staleness < 1.
[[nodiscard]] std::vector<ComparePlot> NeededPlots(const std::vector<ComparedRow>& rows,
                                                   const CompareOptions& options, double staleness);

// Writes one plot to `file`; of several, writes each to a file with its name before the extension.
// InvalidArgument: there are no plots. DataLoss: a file cannot be written.
[[nodiscard]] Status WritePlots(const std::vector<ComparePlot>& plots, const std::string& file);

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_COMPARE_PLOT_H_
