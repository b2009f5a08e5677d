// The plots of freshet-sim compare.
#ifndef FRESHET_LAB_SIM_COMPARE_PLOT_H_
#define FRESHET_LAB_SIM_COMPARE_PLOT_H_

#include <string>
#include <vector>

#include "core/base/status.h"
#include "lab/plot/svg_plot.h"
#include "lab/sim/compare.h"

namespace freshet {

// A plot of staleness over the crawl rate for one history at one recall, with one line per policy.
// Value type, thread-compatible.
struct ComparePlot {
  std::string name;  // made from history and recall; has only letters, digits, dots, - and _
  Plot plot;
};

// Makes one plot for each history and recall, in the order of the rows. Both axes are logarithmic,
// because staleness spans some decades; points at 0 are left out. Worlds have only one rate, so
// they have no plot.
[[nodiscard]] std::vector<ComparePlot> ComparePlots(const std::vector<ComparedRow>& rows,
                                                    const CompareOptions& options);

// Makes one plot for each history and recall. It has one bar per policy: the crawl rate at which
// weighted staleness falls to `staleness`. The policies are the subject and the simple rules
// (IsSimpleRule), in the order of the options. Between two recorded rates, the logarithm of
// staleness is interpolated linearly in the logarithm of the rate. The bar of a policy whose rows
// do not span `staleness` is left out, and so are plots without bars. Precondition: 0 < staleness <
// 1.
[[nodiscard]] std::vector<ComparePlot> NeededPlots(const std::vector<ComparedRow>& rows,
                                                   const CompareOptions& options, double staleness);

// Writes one plot to `file`. Several plots are written to one file each, with the plot's name
// before the extension. InvalidArgument: there are no plots. DataLoss: a file cannot be written.
[[nodiscard]] Status WritePlots(const std::vector<ComparePlot>& plots, const std::string& file);

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_COMPARE_PLOT_H_
