#include "server/starting.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "core/base/counted.h"
#include "core/base/id_limits.h"
#include "core/schedule/page_to_load.h"
#include "server/api/to_proto.h"
#include "server/base/host_port.h"
#include "server/base/reporting.h"
#include "server/config.h"
#include "server/store_options.h"
#include "spdlog/spdlog.h"

namespace freshet {
namespace {

// A standby that lags further behind the log is not ready, because it would have to read the rest
// first.
constexpr Duration kMostBehind = Duration::Seconds(10);
// How long a request to load the pages is valid. A stopping server repeats the request once a
// second.
constexpr Duration kAskedFor = Duration::Seconds(30);

}  // namespace

Status StartProgress::GoOn() const {
  return stop_requested ? MakeStatus(absl::StatusCode::kCancelled, "stopped while starting")
                        : absl::OkStatus();
}

RecoveryStatus StartProgress::Recovery() const {
  RecoveryStatus recovery = RecoveryOf(open);
  recovery.pages = load.pages;
  recovery.expected_pages = load.expected_pages;
  recovery.share = load.slots / static_cast<double>(limits::kSlots);
  recovery.stored_twice = load.stored_twice;
  return recovery;
}

ClusterStatus::Forwarded StartProgress::Forwarded() const {
  return {.open = forwarding.open,
          .forwarded = forwarding.forwarded,
          .refused = forwarding.refused,
          .dropped = forwarding.dropped};
}

StatusOr<LoadedStore> Starter::Load(rocksdb::Env* env, const DescriptorPlan& files) {
  LoadedStore loaded;
  loaded.forwarding = &progress_.forwarding;
  RETURN_IF_ERROR(OpenStore(env, files, &loaded));
  ASSIGN_OR_RETURN(loaded.audit, OpenAudit());
  RETURN_IF_ERROR(progress_.GoOn());
  // The server is no longer a standby, so it no longer reports as one.
  loaded.reporter = nullptr;
  RETURN_IF_ERROR(LoadPages(&loaded));
  RETURN_IF_ERROR(LoadFrontier(&loaded));
  RETURN_IF_ERROR(loaded.store->StartCompactions());
  RETURN_IF_ERROR(progress_.GoOn());
  return loaded;
}

Status Starter::OpenStore(rocksdb::Env* env, const DescriptorPlan& files, LoadedStore* loaded) {
  std::error_code error;
  std::filesystem::create_directories(config_.data_dir, error);
  if (error) {
    return MakeStatus(absl::StatusCode::kUnavailable, "data_dir: cannot create {}: {}",
                      config_.data_dir, error.message());
  }
  StoreOptions options = StoreOptionsOf(config_);
  options.env = env;
  options.hold_compactions = true;
  options.progress = &progress_.open;
  options.max_open_tables = files.table_files;
  if (config_.cluster.configured()) {
    RETURN_IF_ERROR(JoinCluster(loaded, &options));
    if (!config_.cluster.address.empty()) RETURN_IF_ERROR(Forward(files.connections, loaded));
  }
  StatusOr<std::unique_ptr<Store>> opened = nullptr;
  RunReporting({[&] { opened = Store::Open(config_.data_dir, options); }}, kReportInterval,
               [this, loaded] {
                 LogRecovery();
                 if (loaded->cluster != nullptr) LookAtTurn(*loaded->cluster);
                 const bool stop = progress_.stop_requested;
                 if (stop && loaded->cluster != nullptr) loaded->cluster->log().StopWaiting();
               });
  if (gave_up_ && !opened.ok()) {
    return MakeStatus(absl::StatusCode::kUnavailable,
                      "cluster: this server could not become active, because it could not open its "
                      "log within cluster.handover ({:g} s); the next standby tries: {}",
                      config_.cluster.handover.seconds(), std::string(opened.status().message()));
  }
  ASSIGN_OR_RETURN(loaded->store, std::move(opened));
  return loaded->store->SetShards(static_cast<uint32_t>(config_.shards));
}

void Starter::LookAtTurn(const Cluster& cluster) {
  const Instant now = clock_.Now();
  const uint64_t rows = progress_.open.rows_taken_in;
  // If Kafka does not confirm the turn, another server would have the same problem.
  if (!cluster.sure() || !stuck_since_ || rows != rows_then_) {
    stuck_since_ = now;
    rows_then_ = rows;
  }
  if (gave_up_ || now - *stuck_since_ < config_.cluster.handover) return;
  gave_up_ = true;
  progress_.RequestStop();
}

Status Starter::JoinCluster(LoadedStore* loaded, StoreOptions* options) {
  const ClusterConfig& config = config_.cluster;
  spdlog::info("joining the cluster '{}' at {}", config.NameOf(config.slots().division),
               config.brokers);
  ASSIGN_OR_RETURN(loaded->cluster, Cluster::Join(config_, progress_.stop_requested, on_replaced_));
  Cluster* const cluster = loaded->cluster.get();
  standby_ = std::make_unique<Standby>(
      StandbyHooks{
          .stand = [cluster] { return cluster->Stand(); },
          .has_turn = [cluster] { return cluster->has_turn(); },
          .other_is_silent = [cluster] { return cluster->other_is_silent(); },
          .is_asked_for =
              [this] {
                return config_.cluster.hot_standby || clock_.Now().micros() < asked_to_load_until_;
              },
          .load = [this](
                      Store& store,
                      const LoadOptions& how) { return loader_.Load(store, how, progress_.load); },
          .follow =
              [this](LoadedShards& shards, uint16_t shard, FollowedChanges changes) {
                return loader_.Follow(shards, shard, std::move(changes), progress_.load);
              },
          .finish = [this](Store& store,
                           LoadedShards& shards) { return loader_.Finish(store, shards); }},
      progress_.stop_requested, progress_.load);
  options->truth = &cluster->log();
  options->follower = standby_.get();
  return absl::OkStatus();
}

Status Starter::Forward(int connections, LoadedStore* loaded) {
  loaded->forwarder = std::make_unique<Forwarder>(
      config_, static_cast<size_t>(connections), door_, clock_, progress_.forwarding,
      // The function does not capture `this`, because it can outlive this object.
      [&progress = progress_, cluster = loaded->cluster.get()] {
        StatusOr<std::optional<ServingPeer>> peer = cluster->WhoServes();
        if (peer.ok()) progress.SetPeer(*peer);
        return peer;
      });
  ASSIGN_OR_RETURN(progress_.forwarding_port, loaded->forwarder->Start());
  loaded->reporter = std::make_unique<StandbyReporter>(
      config_, door_, [forwarder = loaded->forwarder.get()] { return forwarder->peer(); },
      [this, cluster = loaded->cluster.get()] { return DescribeStandby(*cluster); },
      [this](const v1::ReportStandbyResponse& answer) {
        asked_to_load_until_ = answer.load() ? (clock_.Now() + kAskedFor).micros() : 0;
      });
  return absl::OkStatus();
}

v1::FleetStandby Starter::DescribeStandby(const Cluster& cluster) const {
  v1::FleetStandby standby;
  standby.set_node(cluster.status().node);
  standby.set_address(WithPortIfAny(config_.cluster.address, progress_.forwarding_port));
  const RecoveryStatus recovery = progress_.Recovery();
  standby.set_rows(recovery.rows_taken_in);
  standby.set_loaded(standby_->loaded());
  if (recovery.at_end != Instant::None()) {
    const Duration behind = std::max(clock_.Now() - recovery.at_end, Duration());
    standby.set_ready(behind <= kMostBehind);
    ToProto(behind, standby.mutable_behind());
  }
  return standby;
}

StatusOr<std::unique_ptr<AuditLog>> Starter::OpenAudit() const {
  const std::string beside = config_.data_dir + "/audit.jsonl";
  return AuditLog::Open({.path = config_.audit_log.empty() ? beside : config_.audit_log,
                         .max_bytes = config_.audit_log_bytes},
                        clock_);
}

Status Starter::LoadPages(LoadedStore* loaded) {
  std::optional<LoadedShards> beforehand;
  if (standby_ != nullptr) beforehand = standby_->Take(*loaded->store);
  if (beforehand) {
    loaded->pages = *std::move(beforehand);
    spdlog::info("the pages are loaded already");
    return absl::OkStatus();
  }
  LoadOptions options;
  options.report = [this] { LogRecovery(); };
  options.cancelled = &progress_.stop_requested;
  ASSIGN_OR_RETURN(loaded->pages, loader_.Load(*loaded->store, options, progress_.load));
  spdlog::info("loaded {} in {:.1f} s", Counted(progress_.load.pages.load(), "page"),
               (clock_.Now() - begun_).seconds());
  return absl::OkStatus();
}

Status Starter::LoadFrontier(LoadedStore* loaded) const {
  if (!config_.has_frontier()) return absl::OkStatus();
  FrontierLimits limits = config_.frontier_limits;
  limits.uncovered_flights = static_cast<uint64_t>(config_.max_newcomer_leases);
  ASSIGN_OR_RETURN(loaded->frontier, Frontier::Open(*loaded->store, limits, clock_));
  const FrontierStatus status = loaded->frontier->status();
  if (status.counts.queues > 0) {
    spdlog::info("frontier: {} in {} of {}, {} in flight",
                 Counted(status.counts.active + status.counts.completed, "URL"),
                 Counted(status.counts.queues, "queue"), Counted(status.crawls, "crawl id"),
                 status.counts.in_flight);
  }
  return absl::OkStatus();
}

void Starter::LogRecovery() {
  // A standby may wait for months, so it logs this only once.
  const bool standing_by = progress_.open.stage == OpenStage::kFollowing;
  if (std::exchange(standing_by_, standing_by) && standing_by) return;
  spdlog::info("{}; {:.0f} s since the start", Describe(progress_.Recovery()),
               (clock_.Now() - begun_).seconds());
}

}  // namespace freshet
