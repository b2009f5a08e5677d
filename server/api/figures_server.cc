// Figures of the server, its start, and its process.
#include <string>
#include <vector>

#include "server/api/figure_makers.h"
#include "server/base/build_info.h"

namespace freshet {
namespace {

Value BuildLabels(S /*status*/) {
  return {{kVersion, {{std::string(BuildCommit()), {{std::string(BuildCompiler()), 1}}}}}};
}

}  // namespace

std::vector<Figure> StartingFigures() {
  return {
      Gauge("freshet_build_info{version,commit,compiler}", BuildLabels,
            "1; labels describe the build"),
      Gauge("freshet_ready", Of(&RecoveryStatus::ready),
            "1 while the server accepts requests (even if the disk is full), otherwise 0"),
      Gauge("freshet_recovered_pages", Of(&RecoveryStatus::pages), {"recovered_pages"},
            "pages loaded so far"),
      Gauge("freshet_recovered_share", Of(&RecoveryStatus::share), {"recovered_share"},
            "loaded share of the store"),
      Gauge(
          "freshet_recovery_stage_info{stage}",
          [](S s) {
            return Value{{std::string(StageName(s.recovery)), 1}};
          },
          "1; `stage` is the stage of the start: `opening`, `checking_log`, `replaying_log`, "
          "`migrating`, `loading`, `serving`; in a cluster also `catching_up` and `standing_by`"),
      Gauge("freshet_recovery_log_bytes", Of(&RecoveryStatus::log_bytes), {"log_bytes"},
            "bytes of the write-ahead log at the start; 0 after a clean stop"),
      Gauge("freshet_recovered_log_bytes{step}",
            {By("check", Of(&RecoveryStatus::checked_log_bytes), {"checked_log_bytes"}),
             By("replay", Of(&RecoveryStatus::replayed_log_bytes), {"replayed_log_bytes"})},
            "bytes of the write-ahead log that the steps `check` and `replay` have read"),
      Gauge("freshet_pages_stored_twice", Of(&RecoveryStatus::stored_twice),
            "pages stored twice: [repair](backup.md#repair) the store"),
      Fact([](S) { return kVersion; }, {"version", "server.version"}),
      Fact([](S s) { return StageName(s.recovery); }, {"stage"}),
      Fact(Of(&RecoveryStatus::rows_taken_in), {"rows_taken_in"}),
  };
}

std::vector<Figure> ServingFigures() {
  return {
      Gauge(
          "freshet_policy_info{policy}",
          [](S s) {
            return Value{{s.policy.in_force, 1}};
          },
          "1; `policy` names the policy"),
      Gauge("freshet_start_time_seconds", Of(&ServerStatus::started),
            {"started", "server.start_time"}, "when the server became ready"),
      Gauge(
          "freshet_shards", [](S s) { return s.shards.size(); }, {"shards", "server.shards"},
          "shards"),
      Gauge("freshet_annotation{name}", Of(&ServerStatus::annotations), {"annotations"},
            "a figure [posted](operations.md#annotations) by programs"),
      Fact(Of(&ServerStatus::now), {"time", "server.server_time"}),
      Fact(Of(&ServerStatus::now), {"now"}),
      Fact([](S s) { return s.policy.in_force; }, {"policy", "schedule.policy"}),
      Fact([](S s) { return s.policy.pending; }, {"pending_policy", "schedule.pending_policy"}),
  };
}

std::vector<Figure> ProcessFigures() {
  return {
      Gauge("process_resident_memory_bytes", Of(&ProcessStats::resident_bytes), "resident memory"),
      Gauge("process_virtual_memory_bytes", Of(&ProcessStats::virtual_bytes), "address space"),
      Counter("process_cpu_seconds_total", Of(&ProcessStats::cpu_seconds),
              "processor time of all threads"),
      Gauge("process_open_fds", Of(&ProcessStats::open_fds), "open file descriptors"),
      Gauge("process_max_fds", Of(&ProcessStats::max_fds), "maximum open file descriptors"),
      Gauge("process_threads", Of(&ProcessStats::threads), "threads of the server"),
      Gauge("process_start_time_seconds", Of(&ProcessStats::start_time), "Unix time of the start"),
  };
}

}  // namespace freshet
