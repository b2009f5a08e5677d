#include "server/ops/metrics.h"

#include <utility>
#include <vector>

#include "prometheus/text_serializer.h"
#include "server/base/build_info.h"
#include "server/ops/metric_families.h"
#include "server/ops/store_watch.h"
#include "server/ops/unix_seconds.h"
#include "server/ports/watched_reads.h"

namespace freshet {
namespace {

void WriteSchedule(const ServerStatus& status, FamilyWriter& out) {
  out.Gauge("freshet_crawl_rate", "Assignments per second that may leave.")
      .Add(status.dispatch.rate.per_second());
  out.Counter("freshet_assignments_total", "Assignments handed out.")
      .Add(status.dispatch.assignments);
  out.Counter("freshet_unused_ticks_total", "Ticks of the crawl rate without an assignment.")
      .Add(status.dispatch.ticks_without_credit, {{"reason", "credit"}})
      .Add(status.dispatch.ticks_without_page, {{"reason", "page"}})
      .Add(status.dispatch.ticks_late, {{"reason", "late"}})
      .Add(status.dispatch.ticks_paused, {{"reason", "paused"}})
      .Add(status.dispatch.ticks_stalled, {{"reason", "store"}});
  out.Gauge("freshet_paused", "1 while an operator has paused assignments.")
      .Add(status.dispatch.paused ? 1.0 : 0.0);
  out.Counter("freshet_forced_assignments_total",
              "Assignments of pages whose max_interval was over, or that somebody asked for.")
      .Add(status.dispatch.forced_assignments);
  out.Gauge("freshet_price", "Value of the page picked last, in importance x seconds.")
      .Add(status.price);
  out.Gauge("freshet_workers", "Open Crawl streams that said hello.")
      .Add(uint64_t{status.dispatch.workers});
  out.Gauge("freshet_worker_credit", "Assignments that workers can take now.")
      .Add(status.dispatch.credit);
  out.Gauge("freshet_ready_assignments", "Assignments leased ahead of their tick.")
      .Add(uint64_t{status.dispatch.ready});
  out.Gauge("freshet_lookahead_seconds", "How far ahead of their tick pages are leased.")
      .Add(status.dispatch.lookahead.seconds());
  out.Gauge("freshet_open_leases", "Leases open now.").Add(status.counters.leases);
  out.Counter("freshet_leases_ended_total", "Leases that ended without a result.")
      .Add(status.counters.expired_leases, {{"reason", "expired"}})
      .Add(status.counters.returned_leases, {{"reason", "returned"}});
  out.Counter("freshet_leases_given_up_total",
              "Expired leases after which their page waits for its normal turn.")
      .Add(status.counters.given_up);
}

void WriteIngest(const ServerStatus& status, FamilyWriter& out) {
  const ShardCounters& counters = status.counters;
  out.Counter("freshet_results_total", "Crawl results taken in, by what they found.")
      .Add(counters.changed, {{"outcome", "changed"}})
      .Add(counters.unchanged, {{"outcome", "unchanged"}})
      .Add(counters.errors, {{"outcome", "error"}})
      .Add(counters.gone, {{"outcome", "gone"}})
      .Add(counters.robots_denied, {{"outcome", "robots_denied"}})
      .Add(counters.duplicate_results, {{"outcome", "duplicate"}})
      .Add(counters.late_results, {{"outcome", "observed_only"}})
      .Add(status.results_refused, {{"outcome", "refused"}});
  out.Counter("freshet_throttled_results_total",
              "Results with HTTP status 429 or 503, which pause their host.")
      .Add(counters.throttled);
  out.Counter("freshet_signals_total", "Change signals taken in, by what became of them.")
      .Add(counters.signals_applied, {{"outcome", "applied"}})
      .Add(counters.signals_stale, {{"outcome", "stale"}})
      .Add(counters.signals_duplicate, {{"outcome", "duplicate"}})
      .Add(counters.signals_unknown_url, {{"outcome", "unknown_page"}})
      .Add(status.signals_refused - std::min(status.signals_refused, counters.signals_unknown_url),
           {{"outcome", "refused"}});
  out.Counter("freshet_source_signals_total", "Change signals that were well formed, by source.");
  for (const SourceFigures& source : status.sources) {
    out.Add(source.signals, {{"source", source.name}});
  }
  out.Counter("freshet_upserts_total", "Pages of upserts, by what became of them.")
      .Add(status.upserts_applied, {{"outcome", "applied"}})
      .Add(status.upserts_refused, {{"outcome", "refused"}});
  out.Gauge("freshet_waiting_events", "Events that wait for their shard.")
      .Add(uint64_t{status.waiting_events});
}

void WriteIndexNow(const IndexNowStats& stats, FamilyWriter& out) {
  out.Counter("freshet_indexnow_requests_total", "Pings of IndexNow, by the status of the answer.");
  for (const auto& [status, requests] : stats.requests) {
    out.Add(requests, {{"status", std::to_string(status)}});
  }
  out.Counter("freshet_indexnow_urls_total", "URLs of pings, by what became of them.")
      .Add(stats.applied, {{"outcome", "applied"}})
      .Add(stats.unknown, {{"outcome", "unknown_page"}})
      .Add(stats.created, {{"outcome", "created"}})
      .Add(stats.refused, {{"outcome", "refused"}})
      .Add(stats.pending, {{"outcome", "pending"}})
      .Add(stats.dropped, {{"outcome", "dropped"}});
  out.Counter("freshet_indexnow_key_checks_total", "Key files that were asked for.")
      .Add(stats.keys_good, {{"outcome", "good"}})
      .Add(stats.keys_bad, {{"outcome", "bad"}})
      .Add(stats.keys_unreachable, {{"outcome", "unreachable"}});
  out.Gauge("freshet_indexnow_pending_bytes", "Pings that wait for their key to be checked.")
      .Add(stats.pending_bytes);
}

void WriteClients(const ServerStatus& status, FamilyWriter& out) {
  out.Gauge("freshet_connections", "Open connections of gRPC.")
      .Add(uint64_t{status.connections.open});
  out.Gauge("freshet_connections_limit", "Connections of gRPC that may be open.")
      .Add(uint64_t{status.connections.limit});
  out.Counter("freshet_connections_total", "Connections of gRPC, by what became of them.")
      .Add(status.connections.accepted, {{"outcome", "taken"}})
      .Add(status.connections.refused, {{"outcome", "refused"}})
      .Add(status.connections.silent, {{"outcome", "silent"}})
      .Add(status.connections.failed, {{"outcome", "failed"}});
  out.Gauge("freshet_streams", "Open streams of all kinds.").Add(uint64_t{status.streams});
  out.Counter("freshet_streams_refused_total", "Streams refused because too many were open.")
      .Add(status.streams_refused);
  out.Gauge("freshet_unacknowledged_bytes", "Messages that were read and are not acknowledged.")
      .Add(uint64_t{status.unacked_bytes});
  out.Gauge("freshet_untaken_answer_bytes",
            "Acknowledgements, assignments and URLs that clients of streams have not taken yet.")
      .Add(uint64_t{status.answer_bytes});
  out.Gauge("freshet_workers_at_allowance", "Workers with credit that hold all leases they may.")
      .Add(uint64_t{status.dispatch.workers_at_allowance});
  out.Gauge("freshet_reduced_allowances", "Names of workers that lost leases without a result.")
      .Add(uint64_t{status.dispatch.allowances_reduced});
  out.Gauge("freshet_newcomer_leases", "Leases of workers of which no result has come yet.")
      .Add(status.dispatch.newcomer_leases);
}

void WriteLimits(const ServerStatus& status, FamilyWriter& out) {
  out.Gauge("freshet_limit", "Limits in force, by the names that the configuration has for them.");
  for (const LimitInForce& limit : status.limits) out.Add(limit.most, {{"name", limit.name}});
  out.Counter("freshet_over_limit_total",
              "How often a limit was met, and whether the client was refused or slowed down.");
  const auto count = [&out](uint64_t times, const char* name, const char* outcome) {
    out.Add(times, {{"name", name}, {"outcome", outcome}});
  };
  const ConnectionStats& connections = status.connections;
  count(connections.refused - connections.refused_by_client, "connections", "refused");
  count(connections.refused_by_client, "connections_per_client", "refused");
  count(ConnectionsCut(), "frames", "cut");
  count(status.streams_refused - status.streams_refused_by_client, "streams", "refused");
  count(status.streams_refused_by_client, "streams_per_client", "refused");
  count(status.slowed_by_client, "items_per_second_per_client", "slowed");
  count(status.refused_by_client, "items_per_second_per_client", "refused");
  count(status.slowed_by_source, "items_per_second_per_source", "slowed");
}

void WriteDoor(const DoorStats& door, FamilyWriter& out) {
  out.Gauge("freshet_tls_not_after_timestamp_seconds",
            "When the time of a certificate is over, in seconds since 1970.");
  if (door.tls) out.Add(UnixSeconds(door.certificate_not_after), {{"file", "certificate"}});
  if (door.client_ca) out.Add(UnixSeconds(door.client_ca_not_after), {{"file", "client_ca"}});
  out.Counter("freshet_credential_reloads_total",
              "Changed files of certificates and identities, by whether they came into use.")
      .Add(door.reloads, {{"outcome", "used"}})
      .Add(door.failed_reloads, {{"outcome", "refused"}});
  out.Gauge("freshet_identities", "Identities that may come in; 0: nobody is asked.")
      .Add(door.auth.identities);
  out.Counter("freshet_denied_calls_total", "Calls and requests that were refused at the door.")
      .Add(door.auth.unauthenticated, {{"reason", "unauthenticated"}})
      .Add(door.auth.permission_denied, {{"reason", "permission_denied"}});
}

void WriteHttp(const HttpStats& http, FamilyWriter& out) {
  out.Gauge("freshet_http_connections", "Open connections of HTTP.").Add(uint64_t{http.open});
  out.Gauge("freshet_http_connections_limit", "Connections of HTTP that may be open.")
      .Add(uint64_t{http.limit});
  out.Counter("freshet_http_connections_total", "Connections of HTTP, by what became of them.")
      .Add(http.taken, {{"outcome", "taken"}})
      .Add(http.failed, {{"outcome", "failed"}});
  out.Counter("freshet_http_connections_ended_total", "Connections of HTTP that the server ended.")
      .Add(http.evicted, {{"reason", "evicted"}})
      .Add(http.idle, {{"reason", "idle"}})
      .Add(http.timed_out, {{"reason", "timeout"}});
  out.Counter("freshet_http_refused_total", "Requests of HTTP refused for too much to do.")
      .Add(http.refused);
}

void WriteFrontier(const FrontierStatus& frontier, FamilyWriter& out) {
  const FrontierTotals& totals = frontier.totals;
  out.Gauge("freshet_frontier_urls", "URLs of the crawl-frontier API, by state.")
      .Add(frontier.counts.active - frontier.counts.in_flight, {{"state", "scheduled"}})
      .Add(frontier.counts.in_flight, {{"state", "in_flight"}})
      .Add(frontier.counts.completed, {{"state", "completed"}});
  out.Gauge("freshet_frontier_queues", "Queues of the crawl-frontier API that have URLs.")
      .Add(frontier.counts.queues);
  out.Gauge("freshet_frontier_crawls", "Crawl ids of the crawl-frontier API.").Add(frontier.crawls);
  out.Gauge("freshet_frontier_active", "1 while GetURLs gives out URLs.")
      .Add(uint64_t{frontier.active ? 1U : 0U});
  out.Gauge("freshet_frontier_waiting_urls", "URLs that were put and wait to be made durable.")
      .Add(frontier.waiting_urls);
  out.Counter("freshet_frontier_put_total", "URLs that were put, by what became of them.")
      .Add(totals.put_ok, {{"outcome", "ok"}})
      .Add(totals.put_skipped, {{"outcome", "skipped"}})
      .Add(totals.put_failed, {{"outcome", "failed"}});
  out.Counter("freshet_frontier_metadata_refused_total",
              "URLs that were skipped because they had too much metadata.")
      .Add(totals.metadata_too_large);
  out.Counter("freshet_frontier_served_total", "URLs that were given out.").Add(totals.served);
  out.Counter("freshet_frontier_leases_ended_total",
              "URLs that were given out and are due again, by why.")
      .Add(totals.expired, {{"reason", "expired"}})
      .Add(totals.given_back, {{"reason", "undelivered"}});
  out.Gauge("freshet_frontier_store_bytes", "Bytes on disk and in memory, by kind.")
      .Add(frontier.store.table_bytes, {{"kind", "tables"}})
      .Add(frontier.store.memtable_bytes, {{"kind", "memtables"}});
}

void WritePages(const ServerStatus& status, FamilyWriter& out) {
  out.Gauge("freshet_pages", "Pages known.").Add(status.counters.pages);
  out.Gauge("freshet_gone_pages", "Pages whose last crawl found them gone or moved.")
      .Add(status.counters.gone_pages);
  out.Gauge("freshet_hosts", "Hosts known.").Add(status.counters.hosts);
  out.Gauge("freshet_importance", "Sum of the importance of all pages.")
      .Add(status.believed.importance);
  out.Gauge("freshet_believed_freshness", "Mean probability that a page is fresh, as believed.")
      .Add(status.believed_freshness(), {{"weight", "pages"}})
      .Add(status.weighted_believed_freshness(), {{"weight", "importance"}});
  out.Counter("freshet_epochs_total", "Epochs that ended.").Add(status.last_epoch.epochs);
  out.Gauge("freshet_epoch_seconds", "How long the last epoch took.")
      .Add(status.last_epoch.took.seconds());
  out.Gauge("freshet_epoch_running", "1 while an epoch runs.")
      .Add(status.epoch_running ? 1.0 : 0.0);
  out.Gauge("freshet_sources_quarantined",
            "Sources in quarantine, counted once for each host where they are.")
      .Add(status.counters.quarantined_sources);
  out.Counter("freshet_quarantines_total", "Quarantines of a source at a host that began.")
      .Add(status.counters.quarantines);
  out.Gauge("freshet_site_models", "Models of sites that shards keep.")
      .Add(status.counters.site_models);
  out.Gauge("freshet_site_model_bytes", "Memory that they take.")
      .Add(status.counters.site_model_bytes);
}

// Crawl ids are what clients make up: only those for which somebody has set something.
void WriteCrawls(const ServerStatus& status, FamilyWriter& out) {
  const auto by_crawl = [&status](FamilyWriter& family, uint64_t CrawlCounters::*counter) {
    for (const auto& [crawl_id, counters] : status.crawls) {
      family.Add(counters.*counter, {{"crawl_id", crawl_id}});
    }
  };
  by_crawl(out.Gauge("freshet_crawl_pages", "Pages, by crawl id for which something is set."),
           &CrawlCounters::pages);
  by_crawl(out.Gauge("freshet_crawl_leases_open", "Of these, out on a lease."),
           &CrawlCounters::out);
  by_crawl(out.Counter("freshet_crawl_assignments_total", "Assignments of such pages."),
           &CrawlCounters::assignments);
  by_crawl(out.Counter("freshet_crawl_forced_assignments_total",
                       "Of these, of pages that went first whatever they are worth."),
           &CrawlCounters::forced);
  by_crawl(out.Counter("freshet_crawl_crawls_total", "Crawls of such pages that succeeded."),
           &CrawlCounters::crawls);
  by_crawl(out.Counter("freshet_crawl_changes_total", "Of these, those that found a change."),
           &CrawlCounters::changes);
  by_crawl(out.Counter("freshet_crawl_errors_total", "Crawls of such pages that failed."),
           &CrawlCounters::errors);
  by_crawl(out.Counter("freshet_crawl_robots_denied_total",
                       "Results that said that robots.txt forbids such a page."),
           &CrawlCounters::robots_denied);
}

void WriteStore(const ServerStatus& status, FamilyWriter& out) {
  out.Gauge("freshet_store_bytes", "Bytes on disk and in memory, by kind.")
      .Add(status.store.table_bytes, {{"kind", "tables"}})
      .Add(status.store.wal_bytes, {{"kind", "wal"}})
      .Add(status.store.memtable_bytes, {{"kind", "memtables"}})
      .Add(status.store.cache_bytes, {{"kind", "cache"}})
      .Add(status.store.page_cache_bytes, {{"kind", "pages"}});
  out.Counter("freshet_store_page_reads_total", "Pages read, by where they were found.")
      .Add(status.store.page_cache_hits, {{"from", "memory"}})
      .Add(status.store.page_cache_misses, {{"from", "store"}});
  out.Gauge("freshet_store_free_bytes", "Bytes free on the store's device.")
      .Add(status.store.free_bytes);
  out.Counter("freshet_store_commits_total", "Commits that succeeded.").Add(status.store.commits);
  out.Counter("freshet_store_syncs_total", "Syncs of the write-ahead log.").Add(status.store.syncs);
  out.Counter("freshet_store_written_bytes_total", "Bytes written, by what wrote them.")
      .Add(status.store.wal_written_bytes, {{"by", "wal"}})
      .Add(status.store.flushed_bytes, {{"by", "flush"}})
      .Add(status.store.compacted_bytes, {{"by", "compaction"}});
  out.Counter("freshet_store_refused_commits_total", "Commits refused for lack of space.")
      .Add(status.store.refused_commits);
  out.Gauge("freshet_store_writable", "1 while the store takes writes.")
      .Add(status.failure.ok() ? 1.0 : 0.0);
  out.Gauge("freshet_store_failure_info", "1, with the reason, while the store takes no writes.");
  if (!status.failure.ok()) out.Add(1.0, {{"reason", std::string(FailureKind(status.failure))}});
}

void WriteAudit(const AuditStats& audit, FamilyWriter& out) {
  out.Counter("freshet_audit_entries_total",
              "Entries of the audit log: written, or failed and not on the disk.")
      .Add(audit.written, {{"outcome", "written"}})
      .Add(audit.failed, {{"outcome", "failed"}});
}

// Without values where the crawl rate is the server's own.
void WriteSharedRate(const RateSharingStatus& rate, const Labels& name, FamilyWriter& out) {
  out.Gauge("freshet_fleet_crawl_rate", "Crawl rate of all divisions together, a second.");
  if (rate.shared) out.Add(rate.total.per_second(), name);
  out.Gauge("freshet_fleet_granted_crawl_rate", "Of that, what this division may crawl now.");
  if (rate.shared) out.Add(rate.granted.per_second(), name);
  out.Gauge("freshet_fleet_price", "What the next crawl of this division is worth, smoothed.");
  if (rate.shared) out.Add(rate.price, name);
  out.Gauge("freshet_fleet_leads", "1 while this server shares the crawl rate out.");
  if (rate.shared) out.Add(rate.leads ? 1.0 : 0.0, name);
  out.Gauge("freshet_fleet_price_gap",
            "Of the divisions that could have more and less: how far the price that is furthest "
            "off is from the common one, as a share of it. Of who shares the rate out.");
  if (rate.leads) out.Add(rate.price_gap, name);
  out.Gauge("freshet_fleet_ungranted_seconds",
            "For how long this division has had no part of the crawl rate that is in force; 0 "
            "while it has one.");
  if (rate.shared) out.Add(rate.ungranted.seconds(), name);
  out.Counter("freshet_fleet_rate_reports_total",
              "Reports of this division: `granted` a part of the rate, or `unheard`, as nobody "
              "answered with one.");
  if (!rate.shared) return;
  const auto outcome = [&name](const char* value) {
    Labels labels = name;
    labels.emplace_back("outcome", value);
    return labels;
  };
  out.Add(rate.grants, outcome("granted")).Add(rate.unheard, outcome("unheard"));
}

// Without values where the server is alone.
// `at_end`: of a standby.
void WriteCluster(const ClusterStatus& cluster, Instant at_end, FamilyWriter& out) {
  const bool alone = cluster.name.empty();
  const ChangeLogStats& log = cluster.log;
  const auto labelled = [&](const char* label, const char* value) {
    return Labels{{"cluster", cluster.name}, {label, value}};
  };
  const Labels name = {{"cluster", cluster.name}};
  out.Gauge("freshet_cluster_turn",
            "1 while this server of a cluster is sure that it is the one that serves.");
  if (!alone) out.Add(cluster.sure ? 1.0 : 0.0, name);
  out.Gauge("freshet_cluster_at_end_timestamp_seconds",
            "When this standby last had all of the log, seconds since 1970.");
  if (at_end != Instant::None()) out.Add(static_cast<double>(at_end.micros()) * 1e-6, name);
  out.Gauge("freshet_cluster_waiting_partitions",
            "Partitions of the log whose transaction has waited for Kafka for five seconds.");
  if (!alone) out.Add(uint64_t{log.waiting}, name);
  out.Counter("freshet_cluster_transactions_total",
              "Transactions of the log, by what became of them.");
  if (!alone) {
    out.Add(log.transactions, labelled("outcome", "committed"))
        .Add(log.aborted, labelled("outcome", "aborted"));
  }
  out.Counter("freshet_cluster_transaction_seconds_total",
              "Seconds that committed transactions took.");
  if (!alone) out.Add(1e-6 * static_cast<double>(log.transaction_micros), name);
  out.Counter("freshet_cluster_rows_total", "Rows of the log, by what this server did with them.");
  if (!alone) {
    out.Add(log.rows, labelled("op", "appended")).Add(log.rows_read, labelled("op", "read"));
  }
  out.Counter("freshet_cluster_appended_bytes_total",
              "Bytes of keys and values appended to the log.");
  if (!alone) out.Add(log.bytes, name);
  const ClusterStatus::Forwarded& calls = cluster.calls;
  out.Gauge("freshet_cluster_open_forwarded_calls",
            "Calls that another server of the cluster answers for this one.");
  if (!alone) out.Add(calls.open, name);
  out.Counter("freshet_cluster_calls_total",
              "Calls and pings of clients to this server while it stood by, and calls of the "
              "crawl-frontier API that another division answers: `forwarded` to the server that "
              "serves, and of these `dropped` when it served no more; `refused`, as nobody served "
              "or answered in time, or there were too many.");
  if (!alone) {
    out.Add(calls.forwarded, labelled("outcome", "forwarded"))
        .Add(calls.dropped, labelled("outcome", "dropped"))
        .Add(calls.refused, labelled("outcome", "refused"));
  }
  out.Counter("freshet_cluster_items_total",
              "Items of other divisions: `sent` on to the servers that serve those, and of these "
              "`unanswered`, as nobody served or the connection broke.");
  if (!alone) {
    out.Add(cluster.items_sent_on, labelled("outcome", "sent"))
        .Add(cluster.items_sent_unanswered, labelled("outcome", "unanswered"));
  }
  out.Counter("freshet_cluster_assignments_elsewhere_total",
              "Pages of other divisions that were handed to workers of this server, for credit "
              "that it lends there.");
  if (!alone) out.Add(cluster.assignments_elsewhere, name);
  WriteSharedRate(cluster.rate, name, out);
  out.Gauge("freshet_fleet_learned_divisions",
            "Other divisions that have said what their pages showed: the models are of these too.");
  if (cluster.rate.shared) out.Add(uint64_t{cluster.learned_from}, name);
}

void WriteRecovery(const RecoveryStatus& recovery, FamilyWriter& out) {
  out.Gauge("freshet_build_info", "Always 1; what the program was built from is in its labels.")
      .Add(1.0, {{"version", kVersion},
                 {"commit", std::string(BuildCommit())},
                 {"compiler", std::string(BuildCompiler())}});
  out.Gauge("freshet_ready", "1 once everything is loaded and requests are taken.")
      .Add(recovery.ready ? 1.0 : 0.0);
  out.Gauge("freshet_recovered_pages", "Pages loaded from the store at the start, so far.")
      .Add(recovery.pages);
  out.Gauge("freshet_recovered_share", "Share of the store that is loaded, 0 to 1.")
      .Add(recovery.share);
  out.Gauge("freshet_recovery_stage_info", "Always 1; how far the start has come is a label.")
      .Add(1.0, {{"stage", std::string(StageName(recovery))}});
  out.Gauge("freshet_recovery_log_bytes", "Bytes of log that the start found.")
      .Add(recovery.log_bytes);
  out.Gauge("freshet_recovered_log_bytes", "Bytes of that log worked through so far, by step.")
      .Add(recovery.checked_log_bytes, {{"step", "check"}})
      .Add(recovery.replayed_log_bytes, {{"step", "replay"}});
  out.Gauge("freshet_pages_stored_twice", "Pages whose URL another page has too, at the start.")
      .Add(recovery.stored_twice);
}

void WriteServer(const ServerStatus& status, FamilyWriter& out) {
  out.Gauge("freshet_policy_info", "Always 1; the policy in force is a label.")
      .Add(1.0, {{"policy", status.policy.in_force}});
  out.Gauge("freshet_start_time_seconds", "When the server was ready, seconds since 1970.")
      .Add(static_cast<double>(status.started.micros()) * 1e-6);
  out.Gauge("freshet_shards", "Number of shards.").Add(uint64_t{status.shards});
}

}  // namespace

Metrics::Metrics() : registry_(std::make_shared<prometheus::Registry>()) {
  commit_seconds_ =
      &prometheus::BuildHistogram()
           .Name("freshet_commit_seconds")
           .Help("How long commits took until they were durable.")
           .Register(*registry_)
           .Add({}, prometheus::Histogram::BucketBoundaries{1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3,
                                                            0.01, 0.03, 0.1, 0.3, 1, 3});
  commit_events_ = &prometheus::BuildHistogram()
                        .Name("freshet_commit_events")
                        .Help("Events that shared one commit.")
                        .Register(*registry_)
                        .Add({}, prometheus::Histogram::BucketBoundaries{1, 3, 10, 30, 100, 300,
                                                                         1000, 3000, 10000});
}

void Metrics::OnCommit(Duration took, size_t events) {
  commit_seconds_->Observe(took.seconds());
  commit_events_->Observe(static_cast<double>(events));
  if (next_ != nullptr) next_->OnCommit(took, events);
}

void Metrics::OnFailure(uint16_t shard, const Status& status) {
  if (next_ != nullptr) next_->OnFailure(shard, status);
}

void Metrics::OnPagesMayBeDue() {
  if (next_ != nullptr) next_->OnPagesMayBeDue();
}

void Metrics::OnLeases(const LeaseTallies& tallies) {
  if (next_ != nullptr) next_->OnLeases(tallies);
}

void Metrics::OnGroups(uint16_t shard, const std::vector<GroupStanding>& standings) {
  if (next_ != nullptr) next_->OnGroups(shard, standings);
}

void Metrics::OnQuarantine(const QuarantineNews& news) {
  if (next_ != nullptr) next_->OnQuarantine(news);
}

void Metrics::OnCrawlDeclassed(uint16_t shard, const std::string& crawl_id) {
  if (next_ != nullptr) next_->OnCrawlDeclassed(shard, crawl_id);
}

void Metrics::OnCrawlEmptied(uint16_t shard, const std::string& crawl_id) {
  if (next_ != nullptr) next_->OnCrawlEmptied(shard, crawl_id);
}

std::string Metrics::RenderStarting(const RecoveryStatus& recovery, const ClusterStatus& cluster) {
  Families families;
  FamilyWriter out(&families);
  WriteRecovery(recovery, out);
  WriteCluster(cluster, recovery.at_end, out);
  WriteProcess(out);
  return prometheus::TextSerializer().Serialize(families);
}

std::string Metrics::Render(const ServerStatus& status,
                            const std::map<std::string, double>& annotations) const {
  Families families = registry_->Collect();
  FamilyWriter out(&families);
  WriteRecovery(status.recovery, out);
  WriteServer(status, out);
  WriteSchedule(status, out);
  WriteIngest(status, out);
  WriteIndexNow(status.indexnow, out);
  WriteClients(status, out);
  WriteLimits(status, out);
  WriteHttp(status.http, out);
  WriteDoor(status.door, out);
  WritePages(status, out);
  WriteFrontier(status.frontier.value_or(FrontierStatus()), out);
  WriteCrawls(status, out);
  WriteStore(status, out);
  WriteAudit(status.audit, out);
  WriteCluster(status.cluster, Instant::None(), out);
  WriteFigures(status, out);
  WriteProcess(out);
  out.Gauge("freshet_annotation", "Figures that were posted to /annotations.");
  for (const auto& [name, value] : annotations) out.Add(value, {{"name", name}});
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace freshet
