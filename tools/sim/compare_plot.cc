#include "tools/sim/compare_plot.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "fmt/format.h"
#include "tools/sim/write_file.h"

namespace freshet {
namespace {

std::string PlotName(const ComparedRow& row) {
  std::string name = fmt::format("{}-recall-{:.4g}", row.source, row.recall);
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_') c = '-';
  }
  return name;
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

Status WritePlots(const std::vector<ComparePlot>& plots, const std::string& file) {
  if (plots.empty()) return InvalidArgument("--plot: no history, and worlds have no rates to draw");
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
