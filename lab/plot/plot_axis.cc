#include "lab/plot/plot_axis.h"

#include "core/base/check.h"

namespace freshet {

void PlotAxis::Widen(double share) {
  if (low > high) low = high = 1;
  if (low == high) {
    const double half = low == 0 ? 1 : std::abs(low) / 2;
    low -= half;
    high += half;
  }
  if (logarithmic) {
    const double factor = std::pow(high / low, share);
    low /= factor;
    high *= factor;
    return;
  }
  const double more = share * (high - low);
  low -= more;
  high += more;
}

std::vector<double> AxisTicks(double low, double high, bool logarithmic) {
  CHECK(low < high && (!logarithmic || low > 0), "axis from {} to {}", low, high);
  std::vector<double> ticks;
  if (logarithmic && high / low > 5) {
    for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= high; decade *= 10) {
      for (const double step : {1, 2, 5}) {
        if (step > 1 && high / low > 1000) break;
        const double tick = step * decade;
        if (tick >= low * (1 - 1e-12) && tick <= high * (1 + 1e-12)) ticks.push_back(tick);
      }
    }
    return ticks;
  }
  const double rough = (high - low) / 5;
  const double decade = std::pow(10, std::floor(std::log10(rough)));
  const double share = rough / decade;
  const double step = decade * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
  const double last = std::floor(high / step + 1e-9);
  for (double i = std::ceil(low / step - 1e-9); i <= last; ++i) {
    ticks.push_back(i == 0 ? 0 : i * step);
  }
  return ticks;
}

}  // namespace freshet
