#include "server/ops/figures_json.h"

#include "nlohmann/json.hpp"
#include "server/ops/standing_names.h"
#include "server/ops/unix_seconds.h"

namespace freshet {
namespace {

using nlohmann::json;

json FreshnessJson(const ServerStatus& status) {
  const BelievedFreshness& believed = status.believed;
  return {{"pages", status.believed_freshness()},
          {"importance", status.weighted_believed_freshness()},
          {"pages_error", believed.pages_share_error},
          {"importance_error", believed.importance_share_error}};
}

json LatenessJson(const ServerStatus& status) {
  const ShardFigures& figures = status.figures;
  return {{"bounds_seconds", WaitCounts::kBounds},
          {"crawled", figures.waits.ended},
          {"crawled_total", figures.waits.total()},
          {"seconds_total", figures.waits.seconds},
          {"waiting_pages", figures.waiting},
          {"longest_wait_seconds", figures.longest_wait.seconds()},
          {"overdue_pages", status.believed.overdue_pages}};
}

json SourcesJson(const ServerStatus& status) {
  json sources = json::array();
  for (const SourceFigures& source : status.sources) {
    json row = {{"name", source.name}, {"signals", source.signals}, {"evidence", source.evidence}};
    const bool known = source.evidence > 0;
    const auto number = [known](double value) { return known ? json(value) : json(nullptr); };
    row["precision"] = number(source.precision);
    row["precision_low"] = number(source.precision_low);
    row["precision_high"] = number(source.precision_high);
    row["recall"] = number(source.recall);
    sources.push_back(std::move(row));
  }
  return sources;
}

json HostsJson(const ServerStatus& status) {
  json hosts = json::object();
  for (const HostStanding standing : kAllStandings) {
    hosts[NameOf(standing)] = status.figures.hosts[standing];
  }
  return hosts;
}

json EpochJson(const ServerStatus& status) {
  const EpochResult& last = status.last_epoch;
  const bool ended = last.epochs > 0;
  return {{"ended", ended ? json(UnixSeconds(last.ended)) : json(nullptr)},
          {"seconds", last.took.seconds()},
          {"pages", last.pages},
          {"interval_seconds", status.epoch_interval.seconds()}};
}

}  // namespace

void AddFigures(const ServerStatus& status, json* out) {
  json& object = *out;
  object["freshness"] = FreshnessJson(status);
  object["lateness"] = LatenessJson(status);
  object["sources"] = SourcesJson(status);
  object["host_states"] = HostsJson(status);
  object["last_epoch"] = EpochJson(status);
  object["index"] = {{"awake_pages", status.figures.awake},
                     {"evaluations", status.figures.evaluations},
                     {"picks", status.figures.picks}};
  object["queues"] = json::object();
  for (const QueueDepth& queue : status.queues) object["queues"][queue.queue] = queue.waiting;
  object["queues"]["http"] = status.http.waiting;
  json signals = json::object();
  for (const SourceFigures& source : status.sources) signals[source.name] = source.signals;
  object["source_signals"] = std::move(signals);
}

}  // namespace freshet
