// Line plots with error bars as SVG: colours, dashes and markers by style sheet, so that one file
// reads well on paper, on a screen and in dark mode.
#ifndef FRESHET_TOOLS_SIM_SVG_PLOT_H_
#define FRESHET_TOOLS_SIM_SVG_PLOT_H_

#include <string>
#include <vector>

namespace freshet {

// Value type, thread-compatible.
struct PlotPoint {
  double x = 0;
  double y = 0;
  double error = 0;  // half the length of its bar; 0: none
};

// A line through its points. Value type, thread-compatible.
struct PlotSeries {
  std::string name;
  std::vector<PlotPoint> points;  // in order of x; those that are not finite are left out
};

// Value type, thread-compatible. Texts are UTF-8 and escaped by the plot.
struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  bool log_x = false;  // all x are > 0
  std::vector<PlotSeries> series;
};

// A whole SVG document. Series beyond the eighth look like the first ones.
[[nodiscard]] std::string FormatSvg(const Plot& plot);

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_SVG_PLOT_H_
