// Draws plots with error bars as SVG. A style sheet sets colours, dashes and markers, so that one
// file reads well on paper, on a screen and in dark mode.
#ifndef FRESHET_LAB_PLOT_SVG_PLOT_H_
#define FRESHET_LAB_PLOT_SVG_PLOT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace freshet {

// Value type, thread-compatible.
struct PlotPoint {
  double x = 0;
  double y = 0;
  double error = 0;  // half the length of the error bar; 0 = none
};

enum class PlotForm : uint8_t {
  kLines,    // a line through the points of each series
  kScatter,  // the points, and the diagonal y = x
  kBars,     // bars from 0 up, side by side: y >= 0; x = 0, 1, ... are categories
};

// Value type, thread-compatible.
struct PlotSeries {
  std::string name;
  // In order of x. Points that are not finite are left out, except for infinite bars, which are
  // drawn beyond the top.
  std::vector<PlotPoint> points;
};

// Texts are UTF-8; the plot escapes them. Value type, thread-compatible.
struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  PlotForm form = PlotForm::kLines;
  bool log_x = false;                   // all x are > 0
  bool log_y = false;                   // all y are > 0
  std::vector<std::string> categories;  // names of the bars' categories
  std::vector<PlotSeries> series;
};

// Returns a whole SVG document. Series after the tenth reuse the styles of the first ones.
[[nodiscard]] std::string FormatSvg(const Plot& plot);

}  // namespace freshet

#endif  // FRESHET_LAB_PLOT_SVG_PLOT_H_
