#include "lab/paper/output.h"

#include <cmath>
#include <filesystem>

#include "fmt/format.h"
#include "lab/common/rounded.h"
#include "lab/plot/svg_plot.h"
#include "lab/sim/write_file.h"
#include "nlohmann/json.hpp"

namespace freshet {
namespace {

std::string NameOfX(const PaperResult& result, size_t i) {
  return result.categories.empty() ? fmt::format("{:.6g}", result.x[i]) : result.categories[i];
}

std::string PaperCell(const MeanAndError& value, const PaperResult& result, bool sign) {
  if (std::isinf(value.mean)) return value.mean > 0 ? "∞" : "-∞";
  const std::string mean =
      sign ? fmt::format("{:+.5f}", value.mean) : fmt::format("{:.5f}", value.mean);
  return result.repeats > 1 ? fmt::format("{} ±{:.5f}", mean, value.error) : mean;
}

// Returns a table of the values or, if `above` is set, of the differences from the reference.
std::string PaperRows(const PaperResult& result, bool above) {
  std::string text = fmt::format("| {} |", result.x_name);
  std::string rule = "|--:|";
  for (size_t s = 0; s < result.series.size(); ++s) {
    if (above && s == result.reference) continue;
    text += fmt::format(" {} |", result.series[s].name);
    rule += "---|";
  }
  text += "\n" + rule + "\n";
  for (size_t i = 0; i < result.x.size(); ++i) {
    text += fmt::format("| {} |", NameOfX(result, i));
    for (size_t s = 0; s < result.series.size(); ++s) {
      if (above && s == result.reference) continue;
      const PaperPoint& point = result.series[s].points[i];
      text += fmt::format(" {} |", PaperCell(above ? point.above : point.value, result, above));
    }
    text += "\n";
  }
  return text;
}

// Returns a table with a summary of each series and its distance from the diagonal. A scatter plot
// has too many points to list.
std::string ScatterRows(const PaperResult& result) {
  std::string text = fmt::format(
      "| series | points | mean of x | mean of y | correlation | rms of y - x |\n"
      "|---|--:|--:|--:|--:|--:|\n");
  for (const PaperSeries& series : result.series) {
    const auto n = static_cast<double>(result.x.size());
    double x_sum = 0;
    double y_sum = 0;
    for (size_t i = 0; i < result.x.size(); ++i) {
      x_sum += result.x[i];
      y_sum += series.points[i].value.mean;
    }
    double xx = 0;
    double yy = 0;
    double xy = 0;
    double squares = 0;
    for (size_t i = 0; i < result.x.size(); ++i) {
      const double x = result.x[i];
      const double y = series.points[i].value.mean;
      xx += (x - x_sum / n) * (x - x_sum / n);
      yy += (y - y_sum / n) * (y - y_sum / n);
      xy += (x - x_sum / n) * (y - y_sum / n);
      squares += (y - x) * (y - x);
    }
    text += fmt::format("| {} | {} | {:.5f} | {:.5f} | {:.5f} | {:.5f} |\n", series.name,
                        result.x.size(), x_sum / n, y_sum / n, xy / std::sqrt(xx * yy),
                        std::sqrt(squares / n));
  }
  return text;
}

std::string PaperCsvField(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string PaperCsvX(const PaperResult& result, size_t i) {
  return result.categories.empty() ? fmt::format("{:.9g}", result.x[i])
                                   : PaperCsvField(result.categories[i]);
}

}  // namespace

std::string PaperTable(const PaperResult& result) {
  std::string text = fmt::format("{}: {} ({}).", result.name, result.title, result.y_label);
  if (result.form == PlotForm::kScatter) {
    if (result.repeats > 1)
      text += fmt::format(" Means of {} runs of one instance.", result.repeats);
    return text + "\n\n" + ScatterRows(result);
  }
  if (result.repeats > 1) {
    text += fmt::format(" Means of {} instances and their standard errors.", result.repeats);
  }
  text += "\n\n" + PaperRows(result, false);
  if (!result.reference.has_value()) return text;
  return text + fmt::format("\nAbove {}, on the same instances:\n\n{}",
                            result.series[*result.reference].name, PaperRows(result, true));
}

std::string PaperJson(const PaperResult& result, uint64_t seed) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (size_t i = 0; i < result.x.size(); ++i) {
    nlohmann::ordered_json series = nlohmann::ordered_json::object();
    for (const PaperSeries& one : result.series) {
      const PaperPoint& point = one.points[i];
      series[one.name] = {{"mean", Rounded(point.value.mean, 9)},
                          {"error", Rounded(point.value.error, 9)}};
      if (!result.reference.has_value()) continue;
      series[one.name]["above"] = Rounded(point.above.mean, 9);
      series[one.name]["above_error"] = Rounded(point.above.error, 9);
    }
    nlohmann::ordered_json x = Significant(result.x[i], 9);
    if (!result.categories.empty()) x = result.categories[i];
    rows.push_back({{result.x_name, std::move(x)}, {"series", std::move(series)}});
  }
  nlohmann::ordered_json all = {{"experiment", result.name}, {"title", result.title},
                                {"x", result.x_label},       {"y", result.y_label},
                                {"repeats", result.repeats}, {"seed", seed}};
  all["reference"] = result.reference.has_value()
                         ? nlohmann::ordered_json(result.series[*result.reference].name)
                         : nlohmann::ordered_json();
  all["rows"] = std::move(rows);
  return all.dump(2) + '\n';
}

std::string PaperCsv(const PaperResult& result) {
  std::string text = result.x_name + ",series,mean,standard_error,above,above_error,repeats\n";
  for (size_t i = 0; i < result.x.size(); ++i) {
    for (const PaperSeries& series : result.series) {
      const PaperPoint& point = series.points[i];
      const std::string above =
          result.reference.has_value()
              ? fmt::format("{:.9f},{:.9f}", point.above.mean, point.above.error)
              : ",";
      text += fmt::format("{},{},{:.9f},{:.9f},{},{}\n", PaperCsvX(result, i),
                          PaperCsvField(series.name), point.value.mean, point.value.error, above,
                          result.repeats);
    }
  }
  return text;
}

std::string PaperSvg(const PaperResult& result) {
  Plot plot{.title = result.title,
            .x_label = result.x_label,
            .y_label = result.y_label,
            .form = result.form,
            .log_x = result.log_x,
            .log_y = result.log_y,
            .categories = result.categories};
  for (const PaperSeries& series : result.series) {
    PlotSeries& line = plot.series.emplace_back();
    line.name = series.name;
    for (size_t i = 0; i < result.x.size(); ++i) {
      const MeanAndError& value = series.points[i].value;
      line.points.push_back({result.x[i], value.mean, value.error});
    }
  }
  return FormatSvg(plot);
}

Status WritePaper(const PaperResult& result, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return InvalidArgument("--out {}: {}", folder, error.message());
  const std::string stem = (std::filesystem::path(folder) / result.name).string();
  RETURN_IF_ERROR(WriteFile(stem + ".csv", PaperCsv(result)));
  return WriteFile(stem + ".svg", PaperSvg(result));
}

}  // namespace freshet
