// One axis of a plot: converts numbers to places, and chooses the round numbers to mark.
#ifndef FRESHET_LAB_PLOT_PLOT_AXIS_H_
#define FRESHET_LAB_PLOT_PLOT_AXIS_H_

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace freshet {

// An axis. Covers nothing at first; `low` < `high` after Widen. Value type, thread-compatible.
struct PlotAxis {
  double from = 0;  // the place of `low`
  double to = 1;    // the place of `high`
  bool logarithmic = false;
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void Cover(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // Lengthens an axis that covers one number, or none, so that it can be drawn, and adds `share` of
  // its length at both ends.
  void Widen(double share);
  [[nodiscard]] double At(double value) const {
    if (logarithmic) return from + (to - from) * std::log(value / low) / std::log(high / low);
    return from + (to - from) * (value - low) / (high - low);
  }
};

// Returns some five round numbers from `low` to `high`. For a logarithmic axis longer than a factor
// of 5: 1, 2, 5 of each decade, beyond three decades only 1. Precondition: low < high, low > 0 if
// logarithmic.
[[nodiscard]] std::vector<double> AxisTicks(double low, double high, bool logarithmic);

}  // namespace freshet

#endif  // FRESHET_LAB_PLOT_PLOT_AXIS_H_
