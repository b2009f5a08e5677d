#include "server/ops/metric_families.h"
#include "server/ops/process_stats.h"
#include "server/ops/standing_names.h"
#include "server/ops/unix_seconds.h"

namespace freshet {
namespace {

void WriteLateness(const ServerStatus& status, FamilyWriter& out) {
  const WaitCounts& waits = status.figures.waits;
  out.Histogram("freshet_signal_wait_seconds",
                "From the first signal of a page to the crawl that saw what it told of.")
      .AddCounts(WaitCounts::kBounds, waits.ended, waits.seconds);
  out.Gauge("freshet_signalled_pages", "Pages that wait for the crawl that a signal asked for.")
      .Add(status.figures.waiting);
  out.Gauge("freshet_longest_signal_wait_seconds", "How long the first of them has waited.")
      .Add(status.figures.longest_wait.seconds());
  out.Gauge("freshet_overdue_pages", "Pages whose last crawl is longer ago than max_interval.")
      .Add(status.believed.overdue_pages);
}

void WriteSources(const ServerStatus& status, FamilyWriter& out) {
  const auto by_source = [&status, &out](const char* name, const char* help,
                                         double SourceFigures::*figure) {
    out.Gauge(name, help);
    for (const SourceFigures& source : status.sources) {
      if (source.evidence > 0) out.Add(source.*figure, {{"source", source.name}});
    }
  };
  by_source("freshet_source_precision",
            "Estimated probability that a signal of the source stands for a change.",
            &SourceFigures::precision);
  by_source("freshet_source_precision_low", "Lower end of its 95% interval.",
            &SourceFigures::precision_low);
  by_source("freshet_source_precision_high", "Upper end of its 95% interval.",
            &SourceFigures::precision_high);
  by_source("freshet_source_recall", "Estimated share of all changes that the source signals.",
            &SourceFigures::recall);
  by_source("freshet_source_evidence",
            "Signals that these rest on, an effective number that fades with time.",
            &SourceFigures::evidence);
}

void WriteHostsAndIndex(const ServerStatus& status, FamilyWriter& out) {
  out.Gauge("freshet_hosts_by_state", "Hosts that have pages, by whether one may be fetched now.");
  for (const HostStanding standing : kAllStandings) {
    out.Add(status.figures.hosts[standing], {{"state", NameOf(standing)}});
  }
  out.Gauge("freshet_awake_pages", "Pages whose value competes for the next pick.")
      .Add(status.figures.awake);
  out.Counter("freshet_evaluations_total", "Values of pages that picks have computed.")
      .Add(status.figures.evaluations);
  out.Counter("freshet_picks_total", "Pages that were picked by value.").Add(status.figures.picks);
}

void WriteEpochs(const ServerStatus& status, FamilyWriter& out) {
  out.Gauge("freshet_last_epoch_timestamp_seconds",
            "When the last epoch ended, seconds since 1970; absent before the first.");
  if (status.last_epoch.epochs > 0) out.Add(UnixSeconds(status.last_epoch.ended));
  out.Gauge("freshet_epoch_interval_seconds",
            "From the end of an epoch to the start of the next; 0: only when somebody asks.")
      .Add(status.epoch_interval.seconds());
}

void WriteCalls(const CallFigures& calls, FamilyWriter& out) {
  const auto ended = [&calls, &out](CallKind kind) {
    for (const EndedCalls& row : calls.ended) {
      if (row.kind != kind) continue;
      out.AddCounts(CallStats::Bounds(kind), row.by_bound, row.seconds,
                    {{"method", row.method}, {"code", std::string(row.code)}});
    }
  };
  out.Histogram("freshet_grpc_call_seconds", "How long unary calls took, by method and status.");
  ended(CallKind::kUnary);
  out.Histogram("freshet_grpc_stream_seconds",
                "How long streams that ended were open, by method and status.");
  ended(CallKind::kStream);
  out.Gauge("freshet_grpc_open_calls", "Calls and streams that have not ended, by method.");
  for (const MethodCalls& row : calls.methods) out.Add(row.open, {{"method", row.method}});
  out.Counter("freshet_grpc_stream_messages_total", "Messages of streams, by method.");
  for (const MethodCalls& row : calls.methods) {
    if (row.kind != CallKind::kStream) continue;
    out.Add(row.received, {{"method", row.method}, {"direction", "received"}});
    out.Add(row.sent, {{"method", row.method}, {"direction", "sent"}});
  }
}

void WriteQueues(const ServerStatus& status, FamilyWriter& out) {
  out.Gauge("freshet_queue_depth", "Work that waits for a thread, by queue.");
  for (const QueueDepth& queue : status.queues) {
    out.Add(uint64_t{queue.waiting}, {{"queue", queue.queue}});
  }
  out.Add(uint64_t{status.http.waiting}, {{"queue", "http"}});
}

void WriteStoreInside(const StoreStats& store, FamilyWriter& out) {
  out.Counter("freshet_store_block_reads_total",
              "Blocks of tables that were read, by whether the cache had them.")
      .Add(store.block_cache_hits, {{"from", "cache"}})
      .Add(store.block_cache_misses, {{"from", "disk"}});
  out.Counter("freshet_store_stalled_seconds_total",
              "Time that writes were held back for, as compactions were behind.")
      .Add(static_cast<double>(store.stalled_micros) * 1e-6);
  out.Gauge("freshet_store_writes_stopped", "1 while no write goes on until compactions catch up.")
      .Add(store.writes_stopped ? 1.0 : 0.0);
  out.Gauge("freshet_store_delayed_write_bytes_per_second",
            "What writes are held to while compactions are behind; 0: to nothing.")
      .Add(store.delayed_bytes_per_second);
  out.Gauge("freshet_store_pending_compaction_bytes", "About what compactions have to rewrite yet.")
      .Add(store.pending_compaction_bytes);
  out.Gauge("freshet_store_running_jobs", "Work in the background of the store, by kind.")
      .Add(store.running_flushes, {{"kind", "flush"}})
      .Add(store.running_compactions, {{"kind", "compaction"}});
  out.Gauge("freshet_store_table_files", "Files of tables, by level.");
  for (size_t level = 0; level < StoreStats::kLevels; ++level) {
    out.Add(store.table_files[level], {{"level", std::to_string(level)}});
  }
}

}  // namespace

void WriteFigures(const ServerStatus& status, FamilyWriter& out) {
  WriteLateness(status, out);
  WriteSources(status, out);
  WriteHostsAndIndex(status, out);
  WriteEpochs(status, out);
  WriteCalls(status.calls, out);
  WriteQueues(status, out);
  WriteStoreInside(status.store, out);
}

void WriteProcess(FamilyWriter& out) {
  const ProcessStats process = ReadProcessStats();
  out.Gauge("process_resident_memory_bytes", "Memory that the process has in RAM.")
      .Add(process.resident_bytes);
  out.Gauge("process_virtual_memory_bytes", "Memory that the process has addresses for.")
      .Add(process.virtual_bytes);
  out.Counter("process_cpu_seconds_total", "Processor time that the process has taken.")
      .Add(process.cpu_seconds);
  out.Gauge("process_open_fds", "File descriptors that are open.").Add(process.open_fds);
  out.Gauge("process_max_fds", "File descriptors that may be open.").Add(process.max_fds);
  out.Gauge("process_threads", "Threads of the process.").Add(process.threads);
  out.Gauge("process_start_time_seconds", "When the process began, seconds since 1970.")
      .Add(process.start_time);
}

}  // namespace freshet
