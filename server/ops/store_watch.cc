#include "server/ops/store_watch.h"

#include <utility>

#include "server/logs/loggers.h"

namespace freshet {
namespace {

constexpr Duration kReminder = Duration::Seconds(60);

}  // namespace

StoreWatch::StoreWatch(Health& health, std::function<void(const Status&)> on_change)
    : health_(health), on_change_(std::move(on_change)) {}

void StoreWatch::Look(const Status& failure, const StoreStats& stats, Instant now) {
  if (failed_) return;
  if (failure.ok()) return LookAtSpace(stats, now);
  if (absl::IsResourceExhausted(failure)) return LookAtFullDisk(stats, now);
  failed_ = true;
  if (!health_.failed())
    Logger(LogModule::kOps).critical("the store has failed: {}", failure.ToString());
  health_.ReportFailure();
  on_change_(MakeStatus(
      absl::StatusCode::kUnavailable,
      "the store of the server has failed: no page is handed out until the server restarts"));
}

void StoreWatch::LookAtFullDisk(const StoreStats& stats, Instant now) {
  if (full_) {
    if (now - said_ < kReminder) return;
    said_ = now;
    Logger(LogModule::kOps)
        .warn("the disk is still full: {} bytes are free, {} commits were refused in {:.0f} s",
              stats.free_bytes, stats.refused_commits - refused_at_first_,
              (now - full_since_).seconds());
    return;
  }
  full_ = true;
  full_since_ = said_ = now;
  refused_at_first_ = stats.refused_commits;
  Logger(LogModule::kOps)
      .warn(
          "the disk is full, {} bytes are free: changes are refused and no page is handed out "
          "until "
          "there is space",
          stats.free_bytes);
  health_.SetFull(true);
  on_change_(
      MakeStatus(absl::StatusCode::kResourceExhausted,
                 "the disk of the server is full: no page is handed out until there is space"));
}

void StoreWatch::LookAtSpace(const StoreStats& stats, Instant now) {
  if (!full_) return;
  full_ = false;
  Logger(LogModule::kOps)
      .info("there is space on the disk again after {:.0f} s: {} commits were refused",
            (now - full_since_).seconds(), stats.refused_commits - refused_at_first_);
  health_.SetFull(false);
  on_change_(absl::OkStatus());
}

}  // namespace freshet
