// Figures of the store, and of the audit log.
#include <string>
#include <vector>

#include "server/api/figure_makers.h"

namespace freshet {
namespace {

Value FilesByLevel(S s) {
  Value files = Value::object();
  for (size_t level = 0; level < StoreStats::kLevels; ++level) {
    files[std::to_string(level)] = s.store.table_files[level];
  }
  return files;
}

// Makes a getter for a histogram that is summed over all shards.
template <typename T>
Getter Counts(T CommitCounts::*field) {
  return [field](S s) -> Value {
    const T counts = SumOf(s, field);
    return {{"bounds", T::kBounds}, {"counts", counts.ended}, {"sum", counts.sum}};
  };
}

Value Failure(S s) {
  if (s.failure.ok()) return nullptr;
  return {{std::string(FailureKind(s.failure)), 1}};
}

}  // namespace

std::vector<Figure> CommitsFigures() {
  return {
      Histogram("freshet_commit_seconds", Counts(&CommitCounts::seconds), "duration of a commit"),
      Histogram("freshet_commit_events", Counts(&CommitCounts::events),
                "events stored by one commit"),
      Counter("freshet_store_commits_total", Of(&StoreStats::commits), {"commits", "store.commits"},
              "commits"),
      Counter("freshet_store_syncs_total", Of(&StoreStats::syncs), {"syncs", "store.syncs"},
              "syncs of the write-ahead log"),
      Counter("freshet_store_refused_commits_total", Of(&StoreStats::refused_commits),
              "commits refused: full disk"),
      Counter("freshet_store_written_bytes_total{by}",
              {By("wal", Of(&StoreStats::wal_written_bytes)),
               By("flush", Of(&StoreStats::flushed_bytes)),
               By("compaction", Of(&StoreStats::compacted_bytes))},
              "bytes written by the `wal` (write-ahead log), by `flush` and by `compaction`"),
      Gauge("freshet_store_bytes{kind}",
            {By("tables", Of(&StoreStats::table_bytes)), By("wal", Of(&StoreStats::wal_bytes)),
             By("memtables", Of(&StoreStats::memtable_bytes)),
             By("cache", Of(&StoreStats::cache_bytes)),
             By("pages", Of(&StoreStats::page_cache_bytes))},
            "bytes on disk (`tables`, `wal`), or in memory (`memtables`, `cache` of blocks, "
            "`pages`)"),
      Counter("freshet_store_page_reads_total{from}",
              {By("memory", Of(&StoreStats::page_cache_hits)),
               By("store", Of(&StoreStats::page_cache_misses))},
              "rows of pages found in `memory`, or read from the `store`"),
      Counter("freshet_store_block_reads_total{from}",
              {By("cache", Of(&StoreStats::block_cache_hits)),
               By("disk", Of(&StoreStats::block_cache_misses))},
              "blocks of the store found in the `cache`, or read from `disk`"),
      Fact([](S s) { return s.store.table_bytes + s.store.wal_bytes; },
           {"disk_bytes", "store.disk_bytes", "disk_bytes"}),
      Fact(Of(&ServerStatus::durability), {"durability", "store.durability"}),
      Fact([](S s) { return s.failure.ok() ? std::string() : s.failure.ToString(); },
           {"failure", "store.write_error"}),
  };
}

std::vector<Figure> ConditionFigures() {
  return {
      Counter(
          "freshet_store_stalled_seconds_total",
          [](S s) { return static_cast<double>(s.store.stalled_micros) * 1e-6; },
          "time that commits waited for flushes or compactions"),
      Gauge("freshet_store_writes_stopped", Of(&StoreStats::writes_stopped),
            "1 while commits wait for flushes or compactions"),
      Gauge("freshet_store_delayed_write_bytes_per_second",
            Of(&StoreStats::delayed_bytes_per_second),
            "speed limit for commits while compactions are behind"),
      Gauge("freshet_store_pending_compaction_bytes", Of(&StoreStats::pending_compaction_bytes),
            "estimated bytes that compactions must rewrite"),
      Gauge("freshet_store_running_jobs{kind}",
            {By("flush", Of(&StoreStats::running_flushes)),
             By("compaction", Of(&StoreStats::running_compactions))},
            "running jobs: `flush` and `compaction`"),
      Gauge("freshet_store_table_files{level}", FilesByLevel,
            "files of the store, by level `0`-`6`"),
      Gauge("freshet_store_free_bytes", Of(&StoreStats::free_bytes), "free bytes on the disk"),
      Gauge(
          "freshet_store_writable", [](S s) { return s.failure.ok(); },
          "1 while the store accepts writes"),
      Gauge("freshet_store_failure_info{reason}", Failure,
            "1 while the store accepts no writes, otherwise absent. `disk_full` lasts until the "
            "disk has space, `write_failed` and `damaged` until a restart"),
      Counter("freshet_audit_entries_total{outcome}",
              {By("written", Of(&AuditStats::written)), By("failed", Of(&AuditStats::failed))},
              "entries of the [audit log](operations.md#audit-log): `written`, or `failed` (the "
              "change happened without an entry)"),
  };
}

}  // namespace freshet
