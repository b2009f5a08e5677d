#include "lab/bench/serve_rows.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "lab/common/rounded.h"
#include "server/base/limits.h"

namespace freshet {
namespace {

// Returns the load average over a minute, because other work of the machine affects the figures.
double LoadAverage() {
  double load = 0;
  return getloadavg(&load, 1) == 1 ? load : std::numeric_limits<double>::quiet_NaN();
}

void AddQuantiles(const std::string& prefix, const Latencies& latencies,
                  nlohmann::ordered_json& line) {
  line[prefix + "p50_us"] = Rounded(latencies.Quantile(0.5), 0);
  line[prefix + "p99_us"] = Rounded(latencies.Quantile(0.99), 0);
  line[prefix + "p999_us"] = Rounded(latencies.Quantile(0.999), 0);
}

// Returns the growth of a metric per item; null = the metric is unknown.
nlohmann::ordered_json Growth(const std::string& metric, const ServeSample& before,
                              const ServeSample& after, double items, int decimals) {
  const auto first = before.metrics.find(metric);
  const auto last = after.metrics.find(metric);
  if (first == before.metrics.end() || last == after.metrics.end()) return nullptr;
  return Rounded((last->second - first->second) / items, decimals);
}

}  // namespace

// The modes in the order in which they run. The first ones find freshly loaded pages, which are all
// alike, as in the first hour of every user.
const std::vector<ServeMode>& ServeModes() {
  static const std::vector<ServeMode> kModes = {
      {"upsert", {{.workers = 2, .batch = 1000}}, 0, &LoadTally::upserts, &LoadTally::acks},
      {"crawl",
       {{.workers = 1, .credit = 1000},
        {.workers = 1, .credit = 10'000},
        {.workers = 4, .credit = 1000},
        {.workers = 16, .credit = 1000},
        {.workers = 100, .credit = 1000},
        {.workers = 1000, .credit = 1000}},
       20,
       &LoadTally::results,
       &LoadTally::ticks},
      {"next",
       {{.workers = 8, .batch = 1}, {.workers = 4, .batch = 100}},
       20,
       &LoadTally::assignments,
       &LoadTally::calls},
      {"signals",
       {{.workers = 4, .batch = 100},
        {.workers = 2, .batch = 1000},
        {.workers = 16, .batch = 1},
        {.workers = 1, .batch = 1}},
       0,
       &LoadTally::signals,
       &LoadTally::acks},
      {"results",
       {{.workers = 4, .batch = 100}, {.workers = 2, .batch = 1000}},
       0,
       &LoadTally::results,
       &LoadTally::acks},
      {"frontier_put", {{.workers = 1}}, 0, &LoadTally::upserts, &LoadTally::acks},
      {"frontier_crawl",
       {{.workers = 1}, {.workers = 8}},
       0,
       &LoadTally::results,
       &LoadTally::calls}};
  return kModes;
}

bool IsLoading(const ServeRow& row) { return row.mode == "upsert" || row.mode == "frontier_put"; }

std::vector<ServeRow> RowsOf(const ServeMode& mode, const ServeFlags& flags) {
  std::vector<ServeRow> rows = mode.rows;
  // Makes a copy of each row for every number, without duplicates.
  const auto vary = [&rows](const auto& numbers, auto member) {
    if (numbers.empty()) return;
    std::vector<ServeRow> varied;
    for (const auto& number : numbers) {
      ServeRow row = rows.front();
      row.*member = number;
      varied.push_back(row);
    }
    rows = std::move(varied);
  };
  const auto cross = [&rows, &vary](const auto& numbers, auto member) {
    std::vector<ServeRow> all;
    const std::vector<ServeRow> before = rows;
    for (const ServeRow& row : before) {
      rows = {row};
      vary(numbers, member);
      all.insert(all.end(), rows.begin(), rows.end());
    }
    rows = all;
  };
  const bool said = !flags.workers.empty() || !flags.batches.empty() || !flags.credits.empty();
  if (said) rows.resize(1);
  cross(flags.workers, &ServeRow::workers);
  if (rows.front().batch > 0) cross(flags.batches, &ServeRow::batch);
  if (rows.front().credit > 0) cross(flags.credits, &ServeRow::credit);
  for (ServeRow& row : rows) {
    row.mode = mode.name;
    row.rate = flags.rate;
  }
  return rows;
}

uint64_t MostItems(const ServeFlags& flags, const ServeMode& mode) {
  const uint64_t unset =
      mode.share > 0
          ? std::max<uint64_t>(1, flags.synthetic.pages / mode.share / (flags.half ? 2 : 1))
          : 0;
  const uint64_t items = flags.items.value_or(unset);
  return items > 0 ? items : std::numeric_limits<uint64_t>::max() / 2;
}

int InFlight(const ServeFlags& flags, int batch) {
  if (flags.in_flight > 0) return flags.in_flight;
  return std::clamp(8000 / batch, 1, limits::kMaxUnackedMessagesPerStream);
}

nlohmann::ordered_json LineOf(const ServeFlags& flags, const ServeMode& mode, const ServeRow& row,
                              const ServeSample& before, const ServeSample& after,
                              const LoadTally& tally) {
  const double seconds = std::chrono::duration<double>(after.at - before.at).count();
  const auto per_second = [seconds](uint64_t first, uint64_t last) {
    return Rounded(static_cast<double>(last - first) / seconds, 0);
  };
  const double millions = static_cast<double>(after.items - before.items) / 1e6;
  nlohmann::ordered_json line = {
      {"mode", row.mode},
      {"workers", row.workers},
      {"batch", row.batch},
      {"credit", row.credit},
      {"assignments_per_second", per_second(before.assignments, after.assignments)},
      {"results_per_second", per_second(before.results, after.results)},
      {"signals_per_second", per_second(before.signals, after.signals)},
      {"upserts_per_second", per_second(before.upserts, after.upserts)}};
  AddQuantiles("", tally.*mode.latencies, line);
  AddQuantiles("ack_", tally.acks, line);
  const bool known = before.server && after.server;
  const double server_cpu = known ? after.server->cpu_seconds - before.server->cpu_seconds : 0;
  line["server_cpu_s_per_million"] = known ? Rounded(server_cpu / millions, 2) : nullptr;
  line["server_rss_mb"] = known ? Rounded(after.server->resident_mb, 1) : nullptr;
  line["server_cores"] = known ? Rounded(server_cpu / seconds, 2) : nullptr;
  line["client_cpu_s_per_million"] =
      Rounded((after.client_cpu_seconds - before.client_cpu_seconds) / millions, 2);
  line["syncs_per_million"] = Growth("freshet_store_syncs_total", before, after, millions, 0);
  line["log_bytes_per_item"] =
      Growth("freshet_store_written_bytes_total{by=\"wal\"}", before, after, millions * 1e6, 1);
  line["written_bytes_per_item"] =
      Growth("freshet_store_written_bytes_total", before, after, millions * 1e6, 1);
  line["refused"] = tally.refused.load();
  line["items"] = after.items - before.items;
  line["seconds"] = Rounded(seconds, 2);
  line["crawl_rate"] = row.mode == "crawl" || row.mode == "next" ? Rounded(row.rate, 0) : nullptr;
  line["in_flight"] = row.batch > 0 && row.mode != "next" ? InFlight(flags, row.batch) : 0;
  line["pages"] = flags.synthetic.pages;
  line["hosts"] = (flags.synthetic.pages - 1) / flags.synthetic.pages_per_host + 1;
  line["shards"] = flags.served.shards;
  line["durability"] = flags.served.durability;
  line["load_average"] = Rounded(LoadAverage(), 1);
  return line;
}

}  // namespace freshet
