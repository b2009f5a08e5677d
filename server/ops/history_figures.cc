#include "server/ops/history_figures.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace freshet {
namespace {

constexpr double kNoFigure = std::numeric_limits<double>::quiet_NaN();

// Figures that need no status before.
void AddGauges(const ServerStatus& status, Figures* out) {
  Figures& figures = *out;
  figures["crawl_rate"] = status.dispatch.rate.per_second();
  figures["price"] = status.price;
  figures["ready"] = static_cast<double>(status.dispatch.ready);
  if (status.believed.pages > 0) {
    figures["believed_freshness"] = status.believed_freshness();
    figures["weighted_believed_freshness"] = status.weighted_believed_freshness();
  }
  figures["pages"] = static_cast<double>(status.counters.pages);
  figures["hosts"] = static_cast<double>(status.counters.hosts);
  figures["workers"] = static_cast<double>(status.dispatch.workers);
  figures["worker_credit"] = static_cast<double>(status.dispatch.credit);
  figures["open_leases"] = static_cast<double>(status.counters.leases);
  figures["waiting_events"] = static_cast<double>(status.waiting_events);
  figures["signalled_pages"] = static_cast<double>(status.figures.waiting);
  figures["overdue_pages"] = static_cast<double>(status.believed.overdue_pages);
  figures["disk_bytes"] = static_cast<double>(status.store.table_bytes + status.store.wal_bytes);
}

}  // namespace

Figures FigureMaker::Make(const ServerStatus& status,
                          const std::map<std::string, double>& annotations) {
  const Counts now{.at = status.now,
                   .shards = status.counters,
                   .dispatch = status.dispatch,
                   .commits = status.store.commits};
  const std::optional<Counts> before = std::exchange(before_, now);
  if (!before) return {};
  const double elapsed = std::max(1e-3, (now.at - before->at).seconds());
  const auto rate = [elapsed](uint64_t after, uint64_t then) {
    return static_cast<double>(after - std::min(after, then)) / elapsed;
  };
  const ShardCounters& to = now.shards;
  const ShardCounters& from = before->shards;
  const DispatchStats& ticks = now.dispatch;
  const DispatchStats& old_ticks = before->dispatch;
  Figures figures;
  AddGauges(status, &figures);
  const double changed = rate(to.changed, from.changed);
  const double fetched = changed + rate(to.unchanged, from.unchanged);
  figures["crawls_per_second"] = rate(ticks.assignments, old_ticks.assignments);
  figures["results_per_second"] = fetched;
  figures["errors_per_second"] = rate(to.errors, from.errors);
  figures["signals_per_second"] = rate(to.signals_applied, from.signals_applied);
  figures["expired_per_second"] = rate(to.expired_leases, from.expired_leases);
  figures["changed_share"] = fetched > 0 ? changed / fetched : kNoFigure;
  figures["unused_credit"] = rate(ticks.ticks_without_credit, old_ticks.ticks_without_credit);
  figures["unused_page"] = rate(ticks.ticks_without_page, old_ticks.ticks_without_page);
  figures["unused_late"] = rate(ticks.ticks_late, old_ticks.ticks_late);
  figures["unused_paused"] = rate(ticks.ticks_paused, old_ticks.ticks_paused);
  figures["unused_store"] = rate(ticks.ticks_stalled, old_ticks.ticks_stalled);
  for (const auto& [name, value] : annotations) figures[kNotePrefix + name] = value;
  return figures;
}

}  // namespace freshet
