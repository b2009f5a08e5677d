#include "lab/plot/svg_plot.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "fmt/format.h"
#include "lab/plot/plot_axis.h"

namespace freshet {
namespace {

constexpr double kPlotLeft = 70;
constexpr double kPlotRight = 540;
constexpr double kPlotTop = 40;
constexpr double kPlotBottom = 350;

// The style of a series. Colour-blind people can distinguish its colours (after Okabe and Ito).
// Dashes and markers work without colour.
struct PlotStyle {
  const char* light;
  const char* dark;
  const char* dashes;
  const char* marker;  // a path around the point
};
constexpr std::array<PlotStyle, 10> kPlotStyles = {
    {{"#0072b2", "#56b4e9", "none", "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z"},
     {"#d55e00", "#ff8f40", "8 3", "m-3.2-3.2h6.4v6.4h-6.4z"},
     {"#00805e", "#2fd0a0", "3 3", "m0-4.4l4 7.2h-8z"},
     {"#a8437f", "#f08cc8", "9 3 2 3", "m0-4.8l4 4.8l-4 4.8l-4-4.8z"},
     {"#8a6d00", "#e6c229", "14 4", "m0 4.4l4-7.2h-8z"},
     {"#56616b", "#a9b4be", "5 5", "m-4.5-1h9v2h-9z"},
     {"#6a3fb5", "#b79cf5", "2 5", "m-1-4.5h2v9h-2z"},
     {"#b02020", "#ff7b72", "12 3 3 3", "m-2-4h4l2 4l-2 4h-4l-2-4z"},
     {"#4f7a00", "#a6d854", "1 4", "m-4.4 0l7.2-4v8z"},
     {"#1b1f24", "#e4e7ea", "18 3", "m-1.2-4h2.4v2.8h2.8v2.4h-2.8v2.8h-2.4v-2.8h-2.8v-2.4h2.8z"}}};

std::string PlotColours(const char* ink, const char* back, const char* grid, bool dark,
                        PlotForm form) {
  std::string rules =
      fmt::format("text{{fill:{0}}}.back{{fill:{1}}}.grid{{stroke:{2}}}", ink, back, grid) +
      fmt::format(".axis{{stroke:{}}}\n", ink);
  for (size_t i = 0; i < kPlotStyles.size(); ++i) {
    const char* colour = dark ? kPlotStyles[i].dark : kPlotStyles[i].light;
    rules += fmt::format(".line{0},.bar{0}{{stroke:{1}}}.mark{0}{{fill:{1}}}\n", i, colour);
    if (form == PlotForm::kBars)
      rules += fmt::format(".box{0}{{fill:{1};stroke:{1}}}\n", i, colour);
  }
  return rules;
}

// Returns rules without variables, because only browsers support those. Other programs also skip
// the last rule, which is for dark mode. Printed pages are always light.
std::string PlotStyleSheet(PlotForm form) {
  std::string rules =
      "svg{font:13px sans-serif}.title{font-size:15px;font-weight:bold}path{fill:none}"
      ".line{stroke-width:2}\n";
  // Makes overlapping points distinguishable.
  if (form == PlotForm::kScatter) rules += "path[class^=mark]{fill-opacity:.6}";
  if (form == PlotForm::kBars) rules += "path[class^=box]{fill-opacity:.3}";
  for (size_t i = 0; i < kPlotStyles.size(); ++i) {
    rules += fmt::format(".line{}{{stroke-dasharray:{}}}", i, kPlotStyles[i].dashes);
  }
  return rules + "\n" + PlotColours("#1b1f24", "#ffffff", "#d5d9de", false, form) +
         "@media screen and (prefers-color-scheme:dark){\n" +
         PlotColours("#e4e7ea", "#14171a", "#3a4047", true, form) + "}\n";
}

std::string EscapedXml(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    escaped += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  }
  return escaped;
}

// The frame of a plot: its axes, its form and its number of series.
struct PlotFrame {
  PlotAxis x{.from = kPlotLeft, .to = kPlotRight};
  PlotAxis y{.from = kPlotBottom, .to = kPlotTop};
  PlotForm form = PlotForm::kLines;
  double series = 0;
};

PlotFrame FrameOf(const Plot& plot) {
  PlotFrame frame{.form = plot.form, .series = static_cast<double>(plot.series.size())};
  frame.x.logarithmic = plot.log_x;
  frame.y.logarithmic = plot.log_y;
  for (const PlotSeries& series : plot.series) {
    for (const PlotPoint& point : series.points) {
      if (!std::isfinite(point.x) || !std::isfinite(point.y)) continue;
      frame.x.Cover(point.x);
      frame.y.Cover(point.y);
      if (!plot.log_y || point.y > point.error) frame.y.Cover(point.y - point.error);
      frame.y.Cover(point.y + point.error);
    }
  }
  if (plot.form == PlotForm::kBars) {
    frame.x.Cover(-0.5);
    frame.x.Cover(static_cast<double>(plot.categories.size()) - 0.5);
    frame.y.Cover(0);
  }
  frame.x.Widen(plot.form == PlotForm::kScatter ? 0.02 : 0);
  frame.y.Widen(0.03);
  // Bars begin at 0.
  if (plot.form == PlotForm::kBars) frame.y.low = 0;
  return frame;
}

std::string PlotMark(size_t style, double px, double py, const std::string& note) {
  return fmt::format("<path class=\"mark{}\" d=\"M{:.2f} {:.2f}{}\"><title>{}</title></path>\n",
                     style, px, py, kPlotStyles[style].marker, EscapedXml(note));
}

std::string PlotNote(const PlotSeries& series, const PlotPoint& point) {
  const std::string error = point.error > 0 ? fmt::format(" ±{:.2g}", point.error) : "";
  return fmt::format("{}: {:.6g}, {:.6g}{}", series.name, point.x, point.y, error);
}

std::string ErrorBar(double px, const PlotPoint& point, const PlotAxis& y) {
  if (!(point.error > 0)) return "";
  const double low = y.logarithmic ? std::max(y.low, point.y - point.error) : point.y - point.error;
  return fmt::format("M{0:.2f} {1:.2f}V{2:.2f}m-3 0h6M{3:.2f} {1:.2f}h6", px, y.At(low),
                     y.At(point.y + point.error), px - 3);
}

// Whether points are marked. With more than 50 points, the line is enough.
bool IsMarked(const PlotSeries& series, PlotForm form) {
  return form != PlotForm::kLines || series.points.size() <= 50;
}

double LegendRow(double place) { return kPlotTop + 10 + 22 * place; }

// Draws the line, bars and markers of one series, with its numbers as tooltips, and the line in the
// legend.
std::string DrawSeries(const PlotSeries& series, size_t style, double place,
                       const PlotFrame& frame) {
  std::string line;
  std::string boxes;
  std::string bars;
  std::string marks;
  const bool marked = IsMarked(series, frame.form);
  const double width = 0.8 / std::max(1.0, frame.series);  // width of a bar
  for (const PlotPoint& point : series.points) {
    const bool box = frame.form == PlotForm::kBars;
    if (!std::isfinite(point.x) || std::isnan(point.y) || (std::isinf(point.y) && !box)) continue;
    const double middle = box ? point.x - 0.4 + width * (place + 0.5) : point.x;
    const double px = frame.x.At(middle);
    const double py = std::isinf(point.y) ? kPlotTop : frame.y.At(point.y);
    if (box) {
      boxes += fmt::format("M{:.2f} {:.2f}V{:.2f}H{:.2f}V{:.2f}", frame.x.At(middle - 0.45 * width),
                           kPlotBottom, py, frame.x.At(middle + 0.45 * width), kPlotBottom);
    } else if (frame.form == PlotForm::kLines) {
      line += fmt::format("{}{:.2f} {:.2f}", line.empty() ? "M" : "L", px, py);
    }
    if (std::isinf(point.y)) {
      marks += fmt::format("<text x=\"{:.2f}\" y=\"{}\" text-anchor=\"middle\">∞</text>\n", px,
                           kPlotTop - 3);
      continue;
    }
    bars += ErrorBar(px, point, frame.y);
    if (marked) marks += PlotMark(style, px, py, PlotNote(series, point));
  }
  if (frame.form != PlotForm::kScatter) {
    line += fmt::format("M{} {}h30", kPlotRight + 16, LegendRow(place));
  }
  const auto path = [style](const char* kind, const std::string& d) {
    return d.empty() ? "" : fmt::format("<path class=\"{}{}\" d=\"{}\"/>\n", kind, style, d);
  };
  return path("box", boxes) + path("line line", line) + path("bar", bars) + marks;
}

// Draws the marker and the name in the legend of the series at `place`.
std::string DrawLegend(const PlotSeries& series, size_t style, double place, PlotForm form) {
  const double row = LegendRow(place);
  std::string text;
  if (IsMarked(series, form)) text += PlotMark(style, kPlotRight + 31, row, series.name);
  return text + fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", kPlotRight + 53, row + 4.5,
                            EscapedXml(series.name));
}

std::string DrawAxes(const Plot& plot, const PlotFrame& frame) {
  const PlotAxis& x = frame.x;
  const PlotAxis& y = frame.y;
  std::string text;
  const auto note = [&](double px, double py, const char* anchor, const std::string& words) {
    text += fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"{}\">{}</text>\n", px, py,
                        anchor, EscapedXml(words));
  };
  const std::vector<double> ticks =
      plot.categories.empty() ? AxisTicks(x.low, x.high, x.logarithmic) : std::vector<double>();
  for (size_t i = 0; i < plot.categories.size(); ++i) {
    note(x.At(static_cast<double>(i)), kPlotBottom + 18, "middle", plot.categories[i]);
  }
  for (const double tick : ticks) {
    text += fmt::format("<path class=\"grid\" d=\"M{:.2f} {}V{}\"/>", x.At(tick), kPlotTop,
                        kPlotBottom);
    note(x.At(tick), kPlotBottom + 18, "middle", fmt::format("{:.6g}", tick));
  }
  size_t widest = 0;
  for (const double tick : AxisTicks(y.low, y.high, y.logarithmic)) {
    widest = std::max(widest, fmt::format("{:.6g}", tick).size());
    text += fmt::format("<path class=\"grid\" d=\"M{} {:.2f}H{}\"/>", kPlotLeft, y.At(tick),
                        kPlotRight);
    note(kPlotLeft - 8, y.At(tick) + 4.5, "end", fmt::format("{:.6g}", tick));
  }
  text += fmt::format("<path class=\"axis\" d=\"M{} {}V{}H{}\"/>\n", kPlotLeft, kPlotTop,
                      kPlotBottom, kPlotRight);
  if (plot.form == PlotForm::kScatter) {
    const double low = std::max(x.low, y.low);
    const double high = std::min(x.high, y.high);
    if (low < high) {
      text += fmt::format("<path class=\"axis\" d=\"M{:.2f} {:.2f}L{:.2f} {:.2f}\"/>\n", x.At(low),
                          y.At(low), x.At(high), y.At(high));
    }
  }
  note((kPlotLeft + kPlotRight) / 2, kPlotBottom + 40, "middle", plot.x_label);
  // The title of the axis is further left if the labels are long.
  text += fmt::format("<g transform=\"translate({} {}) rotate(-90)\">", widest > 5 ? 13 : 20,
                      (kPlotTop + kPlotBottom) / 2);
  note(0, 0, "middle", plot.y_label);
  return text + "</g>\n";
}

}  // namespace

std::string FormatSvg(const Plot& plot) {
  const PlotFrame frame = FrameOf(plot);
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
      "viewBox=\"0 0 760 400\" width=\"760\" height=\"400\" role=\"img\">\n<title>{0}</title>\n"
      "<style>{1}</style>\n<rect class=\"back\" width=\"760\" height=\"400\"/>\n<text "
      "class=\"title\" x=\"{2}\" y=\"24\">{0}</text>\n",
      EscapedXml(plot.title), PlotStyleSheet(plot.form), kPlotLeft);
  text += DrawAxes(plot, frame);
  for (size_t i = 0; i < plot.series.size(); ++i) {
    const PlotSeries& series = plot.series[i];
    const size_t style = i % kPlotStyles.size();
    const auto place = static_cast<double>(i);
    text += DrawSeries(series, style, place, frame);
    text += DrawLegend(series, style, place, plot.form);
  }
  return text + "</svg>\n";
}

}  // namespace freshet
