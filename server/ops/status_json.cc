#include "server/ops/status_json.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/safe_text.h"
#include "nlohmann/json.hpp"
#include "server/ops/figures_json.h"
#include "server/ops/history_figures.h"
#include "server/ops/unix_seconds.h"

namespace freshet {
namespace {

using nlohmann::json;

bool ValidName(const std::string& name) {
  return !name.empty() && name.size() <= 40 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || c == '_';
  });
}

// JSON has no infinity and no NaN: they become null.
json Number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

// Programs have known these names since there was a history of the last minutes.
constexpr const char* kSeries[] = {"crawls_per_second",
                                   "results_per_second",
                                   "signals_per_second",
                                   "changed_share",
                                   "believed_freshness",
                                   "weighted_believed_freshness",
                                   "price",
                                   "ready"};
constexpr size_t kMaxSamples = 600;

// The last rows of one series.
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

json SharedRateJson(const RateSharingStatus& rate) {
  return {{"crawl_rate", rate.total.per_second()},
          {"granted", rate.granted.per_second()},
          {"price", rate.price},
          {"leads", rate.leads},
          {"leader", rate.leader ? json(*rate.leader) : json(nullptr)}};
}

json ClusterJson(const ClusterStatus& cluster) {
  json out = {{"name", cluster.name},
              {"turn", cluster.sure},
              {"transactions", cluster.log.transactions},
              {"rows_appended", cluster.log.rows},
              {"rows_read", cluster.log.rows_read},
              {"waiting_partitions", cluster.log.waiting}};
  if (cluster.rate.shared) {
    out["fleet_rate"] = SharedRateJson(cluster.rate);
    out["learned_divisions"] = cluster.learned_from;
  }
  return out;
}

json StatusJson(const ServerStatus& status) {
  const ShardCounters& counters = status.counters;
  const DispatchStats& dispatch = status.dispatch;
  json out;
  out["version"] = kVersion;
  out["time"] = UnixSeconds(status.now);
  out["started"] = UnixSeconds(status.started);
  out["policy"] = status.policy.in_force;
  out["pending_policy"] = status.policy.pending;
  out["durability"] = status.durability;
  out["failure"] = status.failure.ok() ? "" : status.failure.ToString();
  out["shards"] = status.shards;
  out["pages"] = counters.pages;
  out["hosts"] = counters.hosts;
  out["importance"] = status.believed.importance;
  out["believed_freshness"] = status.believed_freshness();
  out["weighted_believed_freshness"] = status.weighted_believed_freshness();
  out["price"] = status.price;
  out["epochs"] = status.last_epoch.epochs;
  out["epoch_running"] = status.epoch_running;
  out["crawl_rate"] = dispatch.rate.per_second();
  out["paused"] = dispatch.paused;
  out["pause_reason"] = dispatch.pause_reason;
  out["assignments"] = dispatch.assignments;
  out["unused_ticks"] = {{"credit", dispatch.ticks_without_credit},
                         {"page", dispatch.ticks_without_page},
                         {"late", dispatch.ticks_late},
                         {"paused", dispatch.ticks_paused},
                         {"store", dispatch.ticks_stalled}};
  out["workers"] = dispatch.workers;
  out["worker_credit"] = dispatch.credit;
  out["ready"] = dispatch.ready;
  out["waiting_events"] = status.waiting_events;
  out["open_leases"] = counters.leases;
  out["expired_leases"] = counters.expired_leases;
  out["returned_leases"] = counters.returned_leases;
  out["results"] = {{"changed", counters.changed},
                    {"unchanged", counters.unchanged},
                    {"error", counters.errors},
                    {"gone", counters.gone},
                    {"robots_denied", counters.robots_denied},
                    {"duplicate", counters.duplicate_results},
                    {"observed_only", counters.late_results},
                    {"refused", status.results_refused}};
  out["signals"] = {{"applied", counters.signals_applied},
                    {"stale", counters.signals_stale},
                    {"duplicate", counters.signals_duplicate},
                    {"unknown_page", counters.signals_unknown_url},
                    {"refused", status.signals_refused}};
  AddFigures(status, &out);
  out["commits"] = status.store.commits;
  out["syncs"] = status.store.syncs;
  out["disk_bytes"] = status.store.table_bytes + status.store.wal_bytes;
  if (!status.cluster.name.empty()) out["cluster"] = ClusterJson(status.cluster);
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

std::string RenderStartingJson(const RecoveryStatus& recovery) {
  return json{{"starting", Describe(recovery)},
              {"stage", StageName(recovery)},
              {"log_bytes", recovery.log_bytes},
              {"checked_log_bytes", recovery.checked_log_bytes},
              {"replayed_log_bytes", recovery.replayed_log_bytes},
              {"rows_taken_in", recovery.rows_taken_in},
              {"recovered_pages", recovery.pages},
              {"recovered_share", recovery.share}}
      .dump();
}

std::string RenderStatusJson(const ServerStatus& status, const HistoryWindow& history,
                             const std::vector<RecentAssignment>& recent,
                             const std::map<std::string, double>& annotations) {
  json out = StatusJson(status);
  out["history"] = HistoryJson(history, annotations);
  out["annotations"] = annotations;
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
