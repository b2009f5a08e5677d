// One axis of a plot: from numbers to places, and the round numbers to mark.
#ifndef FRESHET_TOOLS_SIM_PLOT_PLOT_AXIS_H_
#define FRESHET_TOOLS_SIM_PLOT_PLOT_AXIS_H_

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace freshet {

// Covers nothing at first; `low` < `high` after Widen. Value type, thread-compatible.
struct PlotAxis {
  double from = 0;  // the place of `low`
  double to = 1;    // and of `high`
  bool logarithmic = false;
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void Cover(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // Makes an axis that covers one number, or none, long enough to draw, and adds that share of its
  // length at both ends.
  void Widen(double share);
  [[nodiscard]] double At(double value) const {
    if (logarithmic) return from + (to - from) * std::log(value / low) / std::log(high / low);
    return from + (to - from) * (value - low) / (high - low);
  }
};

// Round numbers from the first at or above `low` to the last at or below `high`, some five of them;
// of a logarithmic axis longer than a factor of 5: 1, 2, 5 of each decade, beyond three decades 1
// alone. Precondition: low < high, low > 0 if logarithmic.
[[nodiscard]] std::vector<double> AxisTicks(double low, double high, bool logarithmic);

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_PLOT_PLOT_AXIS_H_
