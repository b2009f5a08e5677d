#include "server/api/status.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/counted.h"
#include "fmt/format.h"
#include "server/api/stream_set.h"
#include "server/api/to_proto.h"
#include "server/config.h"
#include "server/engine/epochs_of_all.h"

namespace freshet {
namespace {

void Add(const ShardCounters& from, ShardCounters* to) {
  to->pages += from.pages;
  to->gone_pages += from.gone_pages;
  to->hosts += from.hosts;
  to->leases += from.leases;
  *to += from;  // what events do
  to->epochs += from.epochs;
  to->quarantined_sources += from.quarantined_sources;
  to->quarantines += from.quarantines;
  to->site_models += from.site_models;
  to->site_model_bytes += from.site_model_bytes;
}

void Add(const BelievedFreshness& from, BelievedFreshness* to) {
  to->importance += from.importance;
  to->fresh_importance += from.fresh_importance;
  to->fresh_pages += from.fresh_pages;
  to->overdue_pages += from.overdue_pages;
  to->pages += from.pages;
}

void AddCrawls(const std::vector<CrawlStatus>& crawls, ServerStatus* status) {
  for (const CrawlStatus& crawl : crawls) {
    const bool shown = status->crawls.contains(crawl.crawl_id);
    if (!shown && status->crawls.size() >= limits::kMaxCrawlsShown) continue;
    status->crawls[crawl.crawl_id] += crawl.counters;
  }
}

void AddShard(const ShardSnapshot& shard, bool first, ServerStatus* status) {
  Add(shard.counters, &status->counters);
  Add(shard.believed, &status->believed);
  status->price = std::max(status->price, shard.price);
  status->events += shard.events;
  status->waiting_events += shard.waiting_events;
  status->epoch_running |= shard.epoch_running;
  EpochResult& epoch = status->last_epoch;
  epoch.number = first ? shard.last_epoch.number : std::min(epoch.number, shard.last_epoch.number);
  epoch.epochs = first ? shard.last_epoch.epochs : std::min(epoch.epochs, shard.last_epoch.epochs);
  epoch.pages += shard.last_epoch.pages;
  epoch.ended = std::max(epoch.ended, shard.last_epoch.ended);
  epoch.took = std::max(epoch.took, shard.last_epoch.took);
  status->failure.Update(shard.failure);
  status->stall = first || !status->stall.ok() ? shard.failure : absl::OkStatus();
}

std::string DescribeLog(std::string_view what, uint64_t done, uint64_t all) {
  // Logs that tables made superfluous are not replayed.
  return fmt::format("{} the log: {:.1f} of {:.1f} MB, {}%", what, static_cast<double>(done) * 1e-6,
                     static_cast<double>(all) * 1e-6, std::min<uint64_t>(100, 100 * done / all));
}

}  // namespace

RecoveryStatus RecoveryOf(const OpenProgress& progress) {
  RecoveryStatus recovery;
  recovery.stage = progress.stage;
  recovery.log_bytes = progress.log_bytes;
  recovery.checked_log_bytes = progress.checked_log_bytes;
  recovery.replayed_log_bytes = progress.replayed_log_bytes;
  recovery.rows_taken_in = progress.rows_taken_in;
  if (recovery.stage == OpenStage::kFollowing) {
    recovery.at_end = Instant::FromUnixSeconds(static_cast<int64_t>(progress.at_end_seconds));
  }
  return recovery;
}

std::string_view StageName(const RecoveryStatus& recovery) {
  if (recovery.ready) return "serving";
  switch (recovery.stage) {
    case OpenStage::kOpening:
      return "opening";
    case OpenStage::kCheckingLogs:
      return "checking_log";
    case OpenStage::kReplayingLogs:
      return "replaying_log";
    case OpenStage::kMigrating:
      return "migrating";
    case OpenStage::kCatchingUp:
      return "catching_up";
    case OpenStage::kFollowing:
      return "standing_by";
    case OpenStage::kOpen:
      return "loading";
  }
  CHECK(false, "stage {}", static_cast<int>(recovery.stage));
}

std::string Describe(const RecoveryStatus& recovery) {
  if (recovery.ready) return "ready";
  if (recovery.stage == OpenStage::kCheckingLogs && recovery.log_bytes > 0) {
    return DescribeLog("checking", recovery.checked_log_bytes, recovery.log_bytes);
  }
  if (recovery.stage == OpenStage::kReplayingLogs && recovery.log_bytes > 0) {
    return DescribeLog("replaying", recovery.replayed_log_bytes, recovery.log_bytes);
  }
  if (recovery.stage == OpenStage::kCatchingUp) {
    return fmt::format("catching up with the log of the cluster: {} so far",
                       Counted(recovery.rows_taken_in, "row"));
  }
  if (recovery.stage == OpenStage::kFollowing) {
    return fmt::format(
        "standing by: has the whole log of the cluster, {} so far, and waits for its turn",
        Counted(recovery.rows_taken_in, "row"));
  }
  if (recovery.stage == OpenStage::kMigrating) return "migrating the store to this release";
  if (recovery.stage != OpenStage::kOpen) return "opening the store";
  if (recovery.share >= 1)
    return fmt::format("starting: {} loaded", Counted(recovery.pages, "page"));
  if (recovery.share == 0 && recovery.expected_pages == 0) return "opening the store";
  // The number expected is an estimate.
  return fmt::format("loading: {} of about {} pages, {:.0f}% of the store", recovery.pages,
                     std::max(recovery.pages, recovery.expected_pages), 100 * recovery.share);
}

ServerStatus GatherStatus(const ServerContext& context) {
  ServerStatus status;
  status.now = context.clock.Now();
  status.started = context.started;
  status.policy = PolicyNow(context.router, context.settings);
  TrustByClass trust;
  size_t reads = 0;
  for (const Shard* shard : context.router.shards()) {
    AddShard(shard->snapshot(), status.shards == 0, &status);
    AddCrawls(shard->crawls(), &status);
    status.figures += shard->figures();
    for (const SourceTrust& source : shard->trust()) AddTrust(source, &trust);
    reads += shard->waiting_reads();
    ++status.shards;
  }
  status.dispatch = context.dispatcher.stats();
  status.store = context.store.Stats();
  const Status health = context.store.health();
  status.failure.Update(health);
  if (!health.ok()) status.stall = health;
  status.durability = context.config.durability;
  status.streams = context.streams.size();
  status.streams_refused = context.streams.refused();
  status.limits = LimitsOf(context.config);
  status.streams_refused_by_client = context.streams.refused_by_client();
  status.slowed_by_client = context.counters.slowed_by_client;
  status.slowed_by_source = context.counters.slowed_by_source;
  status.refused_by_client = context.counters.refused_by_client;
  status.calls = context.calls.figures();
  status.audit = context.audit.stats();
  status.unacked_bytes = context.streams.unacked_bytes();
  status.answer_bytes = context.streams.answer_bytes();
  status.results_refused = context.counters.results_refused;
  status.signals_refused = context.counters.signals_refused;
  status.upserts_applied = context.counters.upserts_applied;
  status.upserts_refused = context.counters.upserts_refused;
  status.sources = FiguresOf(context.sources, trust);
  status.epoch_interval = context.config.epoch_interval;
  status.queues = {{"shards", status.waiting_events},
                   {"reads", reads},
                   {"background", context.background.waiting()},
                   {"upkeep", context.upkeep.waiting()},
                   {"frontier", context.frontier == nullptr ? 0 : context.frontier->waiting()}};
  return status;
}

void ToProto(const ServerStatus& status, v1::GetStatisticsResponse* out) {
  v1::ServerStatistics& server = *out->mutable_server();
  server.set_version(kVersion);
  ToProto(status.started, server.mutable_start_time());
  ToProto(status.now, server.mutable_server_time());
  server.set_shards(status.shards);
  server.set_workers(static_cast<uint32_t>(status.dispatch.workers));
  server.set_worker_credit(status.dispatch.credit);
  server.set_workers_at_allowance(static_cast<uint32_t>(status.dispatch.workers_at_allowance));
  server.set_reduced_allowances(static_cast<uint32_t>(status.dispatch.allowances_reduced));

  v1::PageStatistics& pages = *out->mutable_pages();
  pages.set_pages(status.counters.pages);
  pages.set_gone_pages(status.counters.gone_pages);
  pages.set_hosts(status.counters.hosts);
  pages.set_importance(status.believed.importance);
  pages.set_believed_freshness(status.believed_freshness());
  pages.set_weighted_believed_freshness(status.weighted_believed_freshness());
  pages.set_epoch(status.last_epoch.number);
  if (status.last_epoch.epochs > 0) {
    ToProto(status.last_epoch.ended, pages.mutable_last_epoch_time());
    ToProto(status.last_epoch.took, pages.mutable_last_epoch_duration());
  }

  v1::ScheduleStatistics& schedule = *out->mutable_schedule();
  schedule.set_crawl_rate_per_second(status.dispatch.rate.per_second());
  schedule.set_policy(status.policy.in_force);
  schedule.set_pending_policy(status.policy.pending);
  schedule.set_paused(status.dispatch.paused);
  schedule.set_pause_reason(status.dispatch.pause_reason);
  schedule.set_price(status.price);
  schedule.set_assignments(status.dispatch.assignments);
  schedule.set_ticks_without_credit(status.dispatch.ticks_without_credit);
  schedule.set_ticks_without_page(status.dispatch.ticks_without_page);
  schedule.set_ticks_late(status.dispatch.ticks_late);
  schedule.set_open_leases(status.counters.leases);
  schedule.set_expired_leases(status.counters.expired_leases);
  schedule.set_returned_leases(status.counters.returned_leases);
  schedule.set_given_up_leases(status.counters.given_up);

  v1::IngestStatistics& ingest = *out->mutable_ingest();
  ingest.set_results_changed(status.counters.changed);
  ingest.set_results_unchanged(status.counters.unchanged);
  ingest.set_results_error(status.counters.errors);
  ingest.set_results_throttled(status.counters.throttled);
  ingest.set_results_gone(status.counters.gone);
  ingest.set_results_robots_denied(status.counters.robots_denied);
  ingest.set_results_duplicate(status.counters.duplicate_results);
  ingest.set_results_observed_only(status.counters.late_results);
  ingest.set_results_refused(status.results_refused);
  ingest.set_signals_applied(status.counters.signals_applied);
  ingest.set_signals_stale(status.counters.signals_stale);
  ingest.set_signals_duplicate(status.counters.signals_duplicate);
  ingest.set_signals_unknown_page(status.counters.signals_unknown_url);
  ingest.set_signals_refused(status.signals_refused);
  ingest.set_upserts_applied(status.upserts_applied);
  ingest.set_upserts_refused(status.upserts_refused);

  v1::StoreStatistics& store = *out->mutable_store();
  store.set_durability(status.durability);
  store.set_disk_bytes(status.store.table_bytes + status.store.wal_bytes);
  store.set_commits(status.store.commits);
  store.set_syncs(status.store.syncs);
  store.set_write_error(status.failure.ok() ? "" : status.failure.ToString());
}

}  // namespace freshet
