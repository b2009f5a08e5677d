// Plots with error bars as SVG: colours, dashes and markers by style sheet, so that one file
// reads well on paper, on a screen and in dark mode.
#ifndef FRESHET_TOOLS_SIM_PLOT_SVG_PLOT_H_
#define FRESHET_TOOLS_SIM_PLOT_SVG_PLOT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace freshet {

// Value type, thread-compatible.
struct PlotPoint {
  double x = 0;
  double y = 0;
  double error = 0;  // half the length of its bar; 0: none
};

enum class PlotForm : uint8_t {
  kLines,    // a line through the points of each series
  kScatter,  // the points alone, and the diagonal y = x
  kBars,     // bars from 0 up, side by side: y >= 0, x = 0, 1, ... are the categories
};

// Value type, thread-compatible.
struct PlotSeries {
  std::string name;
  // In order of x. Those that are not finite are left out, but for infinite bars, which go through
  // the top.
  std::vector<PlotPoint> points;
};

// Value type, thread-compatible. Texts are UTF-8 and escaped by the plot.
struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  PlotForm form = PlotForm::kLines;
  bool log_x = false;                   // all x are > 0
  bool log_y = false;                   // all y are > 0
  std::vector<std::string> categories;  // of bars
  std::vector<PlotSeries> series;
};

// A whole SVG document. Series beyond the tenth look like the first ones.
[[nodiscard]] std::string FormatSvg(const Plot& plot);

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_PLOT_SVG_PLOT_H_
