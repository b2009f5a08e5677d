#include "server/ops/console_state.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "core/base/safe_text.h"
#include "nlohmann/json.hpp"
#include "server/api/figure.h"
#include "server/base/unix_seconds.h"
#include "server/ports/http_query.h"

namespace freshet {
namespace {

using nlohmann::json;

// Rounds to six digits, because a plot shows no more. Infinity and NaN become null, because JSON
// has neither.
json Short(double value) {
  if (!std::isfinite(value)) return nullptr;
  double rounded = value;
  if (!absl::SimpleAtod(fmt::format("{:.6g}", value), &rounded)) return nullptr;
  return rounded;
}

std::string Dump(const json& value) {
  return SafeJson(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

json ShardsJson(const std::vector<ShardSnapshot>& shards) {
  json out = json::array();
  for (const ShardSnapshot& shard : shards) {
    out.push_back({{"pages", shard.counters.pages},
                   {"hosts", shard.counters.hosts},
                   {"open_leases", shard.counters.leases},
                   {"price", Short(shard.price)},
                   {"waiting_events", shard.waiting_events},
                   {"commits", shard.commits.count},
                   {"last_commit_seconds", Short(shard.last_commit.seconds())},
                   {"epoch", shard.last_epoch.number},
                   {"epoch_running", shard.epoch_running},
                   {"failure", shard.failure.ok() ? "" : shard.failure.ToString()}});
  }
  return out;
}

json RecentJson(const std::vector<RecentAssignment>& recent) {
  constexpr size_t kShown = 20;
  json out = json::array();
  for (size_t i = 0; i < std::min(kShown, recent.size()); ++i) {
    out.push_back({{"time", UnixSeconds(recent[i].at)},
                   {"url", recent[i].url},
                   {"worker", recent[i].worker},
                   {"value", Short(recent[i].value)}});
  }
  return out;
}

// Parses a time span in seconds, or with a unit: "15m" is 900.
std::optional<int64_t> ParseSpan(std::string_view text) {
  int64_t unit = 1;
  if (!text.empty()) {
    const char last = text.back();
    unit = last == 'm' ? 60 : last == 'h' ? 3600 : last == 'd' ? 86400 : 1;
    if (unit != 1 || last == 's') text.remove_suffix(1);
  }
  int64_t number = 0;
  if (!absl::SimpleAtoi(std::string(text), &number) || number <= 0 ||
      number > History::kMaxWindow) {
    return std::nullopt;
  }
  return number * unit;
}

}  // namespace

std::string RenderOverview(const ConsoleState& state, const ServerStatus& status,
                           const std::vector<RecentAssignment>& recent) {
  json out = FiguresJson(status);
  out["state"] = state.word;
  out["detail"] = state.detail;
  out["shards"] = ShardsJson(status.shards);
  out["recent"] = RecentJson(recent);
  return Dump(out);
}

std::string RenderStartingOverview(const ConsoleState& state, const ServerStatus& status) {
  json out = FiguresJson(status, /*starting=*/true);
  out["state"] = state.word;
  out["detail"] = state.detail;
  return Dump(out);
}

std::string RenderWorkers(const std::vector<WorkerRecord>& workers, Instant now) {
  json list = json::array();
  for (const WorkerRecord& worker : workers) {
    list.push_back({{"name", worker.name},
                    {"client", worker.client},
                    {"address", worker.address},
                    {"streams", worker.streams},
                    {"credit", worker.credit},
                    {"leases", worker.leases},
                    {"assignments", worker.assignments},
                    {"results", worker.results},
                    {"expired", worker.expired},
                    {"last_seen", UnixSeconds(worker.last_seen)}});
  }
  return Dump({{"now", UnixSeconds(now)}, {"workers", std::move(list)}});
}

std::string RenderHistory(const HistoryWindow& history, Instant now) {
  json out = {{"now", UnixSeconds(now)}, {"step", history.step}};
  json& time = out["time"] = json::array();
  for (const HistoryRow& row : history.rows) time.push_back(row.at);
  json& series = out["series"] = json::object();
  for (size_t i = 0; i < history.names.size(); ++i) {
    json values = json::array();
    bool any = false;
    for (const HistoryRow& row : history.rows) {
      values.push_back(i < row.values.size() ? Short(row.values[i]) : json(nullptr));
      any |= !values.back().is_null();
    }
    // Leaves out a figure without values in this window, for example one that was last posted a
    // week ago.
    if (any) series[history.names[i]] = std::move(values);
  }
  return Dump(out);
}

StatusOr<HistoryQuery> ParseHistoryQuery(const std::string& query) {
  ASSIGN_OR_RETURN(const HttpParameters parameters, ParseQuery(query));
  HistoryQuery parsed;
  for (const auto& [name, value] : parameters) {
    if (name == "window") {
      const std::optional<int64_t> window = ParseSpan(value);
      if (!window || *window > History::kMaxWindow) {
        return InvalidArgument("window: must be from 1s to 30d, such as 15m, 6h or 7d");
      }
      parsed.window = *window;
    } else if (name == "since") {
      if (!absl::SimpleAtoi(value, &parsed.since) || parsed.since < -1) {
        return InvalidArgument("since: must be a time in Unix seconds");
      }
    } else {
      return InvalidArgument("{}: is not a parameter of this call", name);
    }
  }
  return parsed;
}

}  // namespace freshet
