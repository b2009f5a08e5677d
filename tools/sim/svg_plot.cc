#include "tools/sim/svg_plot.h"

#include <array>
#include <cmath>

#include "fmt/format.h"
#include "tools/sim/plot_axis.h"

namespace freshet {
namespace {

constexpr double kPlotLeft = 70;
constexpr double kPlotRight = 540;
constexpr double kPlotTop = 40;
constexpr double kPlotBottom = 350;

// The colours can be told apart by the colour-blind (after Okabe and Ito), dashes and markers
// without any colour.
struct PlotStyle {
  const char* light;
  const char* dark;
  const char* dashes;
  const char* marker;  // a path from its middle
};
constexpr std::array<PlotStyle, 8> kPlotStyles = {
    {{"#0072b2", "#56b4e9", "none", "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z"},
     {"#d55e00", "#ff8f40", "8 3", "m-3.2-3.2h6.4v6.4h-6.4z"},
     {"#00805e", "#2fd0a0", "3 3", "m0-4.4l4 7.2h-8z"},
     {"#a8437f", "#f08cc8", "9 3 2 3", "m0-4.8l4 4.8l-4 4.8l-4-4.8z"},
     {"#8a6d00", "#e6c229", "14 4", "m0 4.4l4-7.2h-8z"},
     {"#56616b", "#a9b4be", "5 5", "m-4.5-1h9v2h-9z"},
     {"#6a3fb5", "#b79cf5", "2 5", "m-1-4.5h2v9h-2z"},
     {"#b02020", "#ff7b72", "12 3 3 3", "m-2-4h4l2 4l-2 4h-4l-2-4z"}}};

std::string PlotColours(const char* ink, const char* back, const char* grid, bool dark) {
  std::string rules =
      fmt::format("text{{fill:{0}}}.back{{fill:{1}}}.grid{{stroke:{2}}}", ink, back, grid) +
      fmt::format(".axis{{stroke:{}}}\n", ink);
  for (size_t i = 0; i < kPlotStyles.size(); ++i) {
    rules += fmt::format(".line{0},.bar{0}{{stroke:{1}}}.mark{0}{{fill:{1}}}\n", i,
                         dark ? kPlotStyles[i].dark : kPlotStyles[i].light);
  }
  return rules;
}

// Plain rules, no variables, which programs other than browsers do not know; those pass over the
// last rule as well. Paper is always light.
std::string PlotStyleSheet() {
  std::string rules =
      "svg{font:13px sans-serif}.title{font-size:15px;font-weight:bold}path{fill:none}"
      ".line{stroke-width:2}\n";
  for (size_t i = 0; i < kPlotStyles.size(); ++i) {
    rules += fmt::format(".line{}{{stroke-dasharray:{}}}", i, kPlotStyles[i].dashes);
  }
  return rules + "\n" + PlotColours("#1b1f24", "#ffffff", "#d5d9de", false) +
         "@media screen and (prefers-color-scheme:dark){\n" +
         PlotColours("#e4e7ea", "#14171a", "#3a4047", true) + "}\n";
}

std::string EscapedXml(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    escaped += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  }
  return escaped;
}

// Line, bars and markers of one series, with its numbers as tooltips, and its line of the legend.
std::string DrawSeries(const PlotSeries& series, size_t place, const PlotAxis& x,
                       const PlotAxis& y) {
  const size_t style = place % kPlotStyles.size();
  const double row = kPlotTop + 10 + 22 * static_cast<double>(place);
  std::string line;
  std::string bars;
  std::string marks;
  const bool marked = series.points.size() <= 50;  // of more the line is enough
  const auto mark = [&](double px, double py, const std::string& note) {
    marks += fmt::format("<path class=\"mark{}\" d=\"M{:.2f} {:.2f}{}\"><title>{}</title></path>\n",
                         style, px, py, kPlotStyles[style].marker, EscapedXml(note));
  };
  for (const PlotPoint& point : series.points) {
    if (!std::isfinite(point.x) || !std::isfinite(point.y)) continue;
    const double px = x.At(point.x);
    const double py = y.At(point.y);
    line += fmt::format("{}{:.2f} {:.2f}", line.empty() ? "M" : "L", px, py);
    if (point.error > 0) {
      bars += fmt::format("M{0:.2f} {1:.2f}V{2:.2f}m-3 0h6M{3:.2f} {1:.2f}h6", px,
                          y.At(point.y - point.error), y.At(point.y + point.error), px - 3);
    }
    if (!marked) continue;
    const std::string error = point.error > 0 ? fmt::format(" ±{:.2g}", point.error) : "";
    mark(px, py, fmt::format("{}: {:.6g}, {:.6g}{}", series.name, point.x, point.y, error));
  }
  if (marked) mark(kPlotRight + 31, row, series.name);
  return fmt::format("<path class=\"line line{0}\" d=\"{1}M{2} {3}h30\"/>\n", style, line,
                     kPlotRight + 16, row) +
         (bars.empty() ? "" : fmt::format("<path class=\"bar{}\" d=\"{}\"/>\n", style, bars)) +
         marks +
         fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", kPlotRight + 53, row + 4.5,
                     EscapedXml(series.name));
}

std::string DrawAxes(const Plot& plot, const PlotAxis& x, const PlotAxis& y) {
  std::string text;
  const auto note = [&](double px, double py, const char* anchor, const std::string& words) {
    text += fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"{}\">{}</text>\n", px, py,
                        anchor, EscapedXml(words));
  };
  for (const double tick : AxisTicks(x.low, x.high, x.logarithmic)) {
    text += fmt::format("<path class=\"grid\" d=\"M{:.2f} {}V{}\"/>", x.At(tick), kPlotTop,
                        kPlotBottom);
    note(x.At(tick), kPlotBottom + 18, "middle", fmt::format("{:.6g}", tick));
  }
  for (const double tick : AxisTicks(y.low, y.high, false)) {
    text += fmt::format("<path class=\"grid\" d=\"M{} {:.2f}H{}\"/>", kPlotLeft, y.At(tick),
                        kPlotRight);
    note(kPlotLeft - 8, y.At(tick) + 4.5, "end", fmt::format("{:.6g}", tick));
  }
  text += fmt::format("<path class=\"axis\" d=\"M{} {}V{}H{}\"/>\n", kPlotLeft, kPlotTop,
                      kPlotBottom, kPlotRight);
  note((kPlotLeft + kPlotRight) / 2, kPlotBottom + 40, "middle", plot.x_label);
  text +=
      fmt::format("<g transform=\"translate(20 {}) rotate(-90)\">", (kPlotTop + kPlotBottom) / 2);
  note(0, 0, "middle", plot.y_label);
  return text + "</g>\n";
}

}  // namespace

std::string FormatSvg(const Plot& plot) {
  PlotAxis x{.from = kPlotLeft, .to = kPlotRight, .logarithmic = plot.log_x};
  PlotAxis y{.from = kPlotBottom, .to = kPlotTop};
  for (const PlotSeries& series : plot.series) {
    for (const PlotPoint& point : series.points) {
      if (!std::isfinite(point.x) || !std::isfinite(point.y)) continue;
      x.Cover(point.x);
      y.Cover(point.y - point.error);
      y.Cover(point.y + point.error);
    }
  }
  x.Widen(0);
  y.Widen(0.03);
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
      "viewBox=\"0 0 760 400\" width=\"760\" height=\"400\" role=\"img\">\n<title>{0}</title>\n"
      "<style>{1}</style>\n<rect class=\"back\" width=\"760\" height=\"400\"/>\n<text "
      "class=\"title\" x=\"{2}\" y=\"24\">{0}</text>\n",
      EscapedXml(plot.title), PlotStyleSheet(), kPlotLeft);
  text += DrawAxes(plot, x, y);
  for (size_t i = 0; i < plot.series.size(); ++i) text += DrawSeries(plot.series[i], i, x, y);
  return text + "</svg>\n";
}

}  // namespace freshet
