#include "server/ops/status_json.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/safe_text.h"
#include "nlohmann/json.hpp"
#include "server/api/figure.h"
#include "server/base/unix_seconds.h"
#include "server/ops/history_figures.h"

namespace freshet {
namespace {

using nlohmann::json;

bool ValidName(const std::string& name) {
  return !name.empty() && name.size() <= 40 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || c == '_';
  });
}

// Makes a JSON number. Infinity and NaN become null, because JSON has neither.
json Number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

// These names must not change, because other programs use them.
constexpr const char* kSeries[] = {"crawls_per_second",
                                   "results_per_second",
                                   "signals_per_second",
                                   "changed_share",
                                   "believed_freshness",
                                   "weighted_believed_freshness",
                                   "price",
                                   "ready"};
constexpr size_t kMaxSamples = 600;

// Writes the last rows of one series.
json Series(const HistoryWindow& history, const std::string& name) {
  const auto it = std::find(history.names.begin(), history.names.end(), name);
  const auto index = static_cast<size_t>(it - history.names.begin());
  json series = json::array();
  const size_t rows = history.rows.size();
  for (size_t i = rows - std::min(rows, kMaxSamples); i < rows; ++i) {
    const std::vector<double>& values = history.rows[i].values;
    series.push_back(index < values.size() ? Number(values[index]) : json(nullptr));
  }
  return series;
}

json HistoryJson(const HistoryWindow& history, const std::map<std::string, double>& annotations) {
  json out;
  out["time"] = json::array();
  const size_t rows = history.rows.size();
  for (size_t i = rows - std::min(rows, kMaxSamples); i < rows; ++i) {
    out["time"].push_back(history.rows[i].at);
  }
  for (const char* name : kSeries) out[name] = Series(history, name);
  for (const auto& [name, unused] : annotations) {
    out["annotations"][name] = Series(history, kNotePrefix + name);
  }
  return out;
}

}  // namespace

Status Annotations::Post(const std::string& text) {
  const json posted = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!posted.is_object())
    return InvalidArgument("the body must be a JSON object whose values are numbers");
  for (const auto& [name, value] : posted.items()) {
    if (!ValidName(name)) {
      return InvalidArgument("a name must be 1 to 40 characters of a-z and '_'");
    }
    if (!value.is_number() || !std::isfinite(value.get<double>())) {
      return InvalidArgument("{}: is not a finite number", name);
    }
  }
  const MutexLock lock(mutex_);
  std::map<std::string, double> merged = values_;
  for (const auto& [name, value] : posted.items()) merged[name] = value.get<double>();
  if (merged.size() > kMaxSeries) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "too many names: at most {} can be posted", kMaxSeries);
  }
  values_ = std::move(merged);
  return absl::OkStatus();
}

std::map<std::string, double> Annotations::values() const {
  const MutexLock lock(mutex_);
  return values_;
}

std::string RenderStartingJson(const ServerStatus& status) {
  json out = FiguresJson(status, /*starting=*/true);
  out["starting"] = Describe(status.recovery);
  return out.dump();
}

std::string RenderStatusJson(const ServerStatus& status, const HistoryWindow& history,
                             const std::vector<RecentAssignment>& recent) {
  json out = FiguresJson(status);
  out["history"] = HistoryJson(history, status.annotations);
  out["recent"] = json::array();
  for (const RecentAssignment& assignment : recent) {
    out["recent"].push_back({{"time", UnixSeconds(assignment.at)},
                             {"url", assignment.url},
                             {"worker", assignment.worker},
                             {"value", Number(assignment.value)}});
  }
  return SafeJson(out.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace freshet
