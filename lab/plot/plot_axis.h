// One axis of a plot. It converts numbers to positions, and chooses the round numbers to mark.
#ifndef FRESHET_LAB_PLOT_PLOT_AXIS_H_
#define FRESHET_LAB_PLOT_PLOT_AXIS_H_

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace freshet {

// An axis. At first it covers nothing; after Widen, `low` < `high`. Value type, thread-compatible.
struct PlotAxis {
  double from = 0;  // the position of `low`
  double to = 1;    // the position of `high`
  bool logarithmic = false;
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void Cover(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // Lengthens an axis that covers one number or none, so that it can be drawn. Then adds `share` of
  // its length at both ends.
  void Widen(double share);
  [[nodiscard]] double At(double value) const {
    if (logarithmic) return from + (to - from) * std::log(value / low) / std::log(high / low);
    return from + (to - from) * (value - low) / (high - low);
  }
};

// Returns about five round numbers from `low` to `high`. For a logarithmic axis that spans more
// than a factor of 5, they are 1, 2 and 5 of each decade, or only 1 beyond three decades.
// Precondition: low < high; low > 0 if logarithmic.
[[nodiscard]] std::vector<double> AxisTicks(double low, double high, bool logarithmic);

}  // namespace freshet

#endif  // FRESHET_LAB_PLOT_PLOT_AXIS_H_
