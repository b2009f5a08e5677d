#include "lab/sim/compare_plot.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "fmt/format.h"
#include "lab/sim/write_file.h"

namespace freshet {
namespace {

std::string PlotName(const ComparedRow& row) {
  std::string name = fmt::format("{}-recall-{:.4g}", row.source, row.recall);
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_') c = '-';
  }
  return name;
}

// Returns the x at which a falling line through the points has the value `y`; nullopt = nowhere.
// The points are positive and in the order of x.
std::optional<double> Crossing(const std::vector<PlotPoint>& points, double y) {
  for (size_t i = 1; i < points.size(); ++i) {
    const PlotPoint& left = points[i - 1];
    const PlotPoint& right = points[i];
    if (left.y < y || right.y > y || left.y == right.y) continue;
    const double share = std::log(left.y / y) / std::log(left.y / right.y);
    return left.x * std::pow(right.x / left.x, share);
  }
  return std::nullopt;
}

}  // namespace

std::vector<ComparePlot> ComparePlots(const std::vector<ComparedRow>& rows,
                                      const CompareOptions& options) {
  std::vector<ComparePlot> plots;
  for (const ComparedRow& row : rows) {
    if (row.is_world) continue;
    std::string name = PlotName(row);
    if (plots.empty() || plots.back().name != name) {
      ComparePlot plot;
      plot.name = std::move(name);
      plot.plot.title = fmt::format("{}, recall {:.4g}", row.source, row.recall);
      plot.plot.x_label = "crawls a day per 1,000 pages";
      plot.plot.y_label = "weighted staleness";
      plot.plot.log_x = plot.plot.log_y = true;
      for (const std::string& policy : options.policies) plot.plot.series.push_back({policy, {}});
      plots.push_back(std::move(plot));
    }
    for (PlotSeries& series : plots.back().plot.series) {
      const ComparedPolicy* policy = row.Find(series.name);
      if (policy == nullptr || !(policy->weighted_staleness.mean > 0)) continue;
      series.points.push_back({row.crawls_per_day_per_1000, policy->weighted_staleness.mean});
    }
  }
  for (ComparePlot& plot : plots) {
    for (PlotSeries& series : plot.plot.series) {
      std::sort(series.points.begin(), series.points.end(),
                [](const PlotPoint& a, const PlotPoint& b) { return a.x < b.x; });
    }
  }
  return plots;
}

std::vector<ComparePlot> NeededPlots(const std::vector<ComparedRow>& rows,
                                     const CompareOptions& options, double staleness) {
  std::vector<ComparePlot> needed;
  for (ComparePlot& lines : ComparePlots(rows, options)) {
    Plot bars{.title = fmt::format("Crawls needed to keep {:.4g}% of requests fresh",
                                   100 * (1 - staleness)),
              .y_label = lines.plot.x_label,
              .form = PlotForm::kBars,
              .categories = {lines.plot.title}};
    for (const PlotSeries& line : lines.plot.series) {
      if (line.name != options.subject && !IsSimpleRule(line.name)) continue;
      const std::optional<double> rate = Crossing(line.points, staleness);
      if (!rate) continue;
      bars.series.push_back({fmt::format("{}: {:.2g}", line.name, *rate), {{0, *rate}}});
    }
    if (bars.series.empty()) continue;
    needed.push_back({std::move(lines.name), std::move(bars)});
  }
  return needed;
}

Status WritePlots(const std::vector<ComparePlot>& plots, const std::string& file) {
  if (plots.empty())
    return InvalidArgument("--plot: needs --history, because a world has only one crawl rate");
  const std::filesystem::path path(file);
  for (const ComparePlot& plot : plots) {
    const std::filesystem::path own =
        plots.size() == 1 ? path
                          : path.parent_path() / (path.stem().string() + "-" + plot.name +
                                                  path.extension().string());
    RETURN_IF_ERROR(WriteFile(own.string(), FormatSvg(plot.plot)));
  }
  return {};
}

}  // namespace freshet
