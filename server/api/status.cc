#include "server/api/status.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/counted.h"
#include "fmt/format.h"
#include "server/config.h"
#include "server/engine/epochs_of_all.h"
#include "server/frontier/frontier.h"

namespace freshet {
namespace {

void AddCrawls(const std::vector<CrawlStatus>& crawls, ServerStatus* status) {
  for (const CrawlStatus& crawl : crawls) {
    const bool shown = status->crawls.contains(crawl.crawl_id);
    if (!shown && status->crawls.size() >= limits::kMaxCrawlsShown) continue;
    status->crawls[crawl.crawl_id] += crawl.counters;
  }
}

std::string DescribeLog(std::string_view what, uint64_t done, uint64_t all) {
  // The share can stay below 100%, because logs whose content is already in tables are not
  // replayed.
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
  // The expected number is only an estimate, so more pages may be loaded already.
  return fmt::format("loading: {} of about {} pages, {:.0f}% of the store", recovery.pages,
                     std::max(recovery.pages, recovery.expected_pages), 100 * recovery.share);
}

std::string_view FailureKind(const Status& failure) {
  switch (failure.code()) {
    case absl::StatusCode::kOk:
      return "";
    case absl::StatusCode::kResourceExhausted:
      return "disk_full";
    case absl::StatusCode::kDataLoss:
      return "damaged";
    default:
      return "write_failed";
  }
}

ServerStatus GatherStatus(const ServerContext& context) {
  ServerStatus status;
  status.now = context.clock.Now();
  status.started = context.started;
  status.policy = PolicyNow(context.router, context.settings);
  TrustByClass trust;
  for (const Shard* shard : context.router.shards()) {
    const ShardSnapshot& now = status.shards.emplace_back(shard->snapshot());
    AddCrawls(shard->board().crawls(), &status);
    for (const SourceTrust& source : shard->board().trust()) AddTrust(source, &trust);
    status.failure.Update(now.failure);
    if (status.shards.size() == 1 || !status.stall.ok()) status.stall = now.failure;
  }
  status.epoch_interval = context.config.epoch_interval;
  status.dispatch = context.dispatcher.stats();
  status.store = context.store.Stats();
  const Status health = context.store.health();
  status.failure.Update(health);
  if (!health.ok()) status.stall = health;
  status.durability = context.config.durability;
  status.streams = context.streams.stats();
  status.handled = context.counters;
  status.limits = LimitsOf(context.config);
  status.calls = context.calls.figures();
  status.queues = {.background = context.background.waiting(),
                   .upkeep = context.upkeep.waiting(),
                   .frontier = context.frontier == nullptr ? 0 : context.frontier->waiting()};
  status.sources = FiguresOf(context.sources, trust);
  status.audit = context.audit.stats();
  return status;
}

}  // namespace freshet
