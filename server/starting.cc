#include "server/starting.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/check.h"
#include "core/base/limits.h"
#include "server/base/reporting.h"
#include "server/engine/runtime_settings.h"
#include "server/store_options.h"
#include "spdlog/spdlog.h"

namespace freshet {

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
  RETURN_IF_ERROR(OpenStore(env, files, &loaded));
  ASSIGN_OR_RETURN(loaded.audit, OpenAudit());
  RETURN_IF_ERROR(progress_.GoOn());
  ChoosePolicy(&loaded);
  const auto exchange = std::make_shared<EpochExchange>(static_cast<size_t>(config_.shards));
  // One for all shards: a group is one object.
  ASSIGN_OR_RETURN(const auto rules, HostRules::Make(config_.host_rules, config_.by_address));
  std::shared_ptr<Quota> hosts;
  if (config_.max_hosts > 0) {
    hosts = std::make_shared<Quota>(static_cast<uint64_t>(config_.max_hosts));
  }
  for (int i = 0; i < config_.shards; ++i) {
    ShardSettings settings = SettingsOf(loaded, i);
    settings.state.host_quota = hosts;
    settings.state.host_rules = rules;
    settings.epochs.exchange = exchange;
    loaded.shards.push_back(std::make_unique<Shard>(settings, *loaded.store, clock_, observer_));
  }
  // First of all: what a shard has learned says when rates change by age.
  LoadModels(loaded);
  RETURN_IF_ERROR(LoadCrawls(&loaded));
  RETURN_IF_ERROR(LoadPages(loaded));
  RETURN_IF_ERROR(LoadFrontier(env, files.frontier_table_files, &loaded));
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
                 const bool stop = progress_.stop_requested;
                 if (stop && loaded->cluster != nullptr) loaded->cluster->log().StopWaiting();
               });
  ASSIGN_OR_RETURN(loaded->store, std::move(opened));
  RETURN_IF_ERROR(loaded->store->SetShards(static_cast<uint32_t>(config_.shards)));
  ASSIGN_OR_RETURN(loaded->globals, loaded->store->LoadGlobals());
  return absl::OkStatus();
}

Status Starter::JoinCluster(LoadedStore* loaded, StoreOptions* options) const {
  spdlog::info("joining the cluster '{}' at {}", config_.cluster.name, config_.cluster.brokers);
  ASSIGN_OR_RETURN(loaded->cluster, Cluster::Join(config_, progress_.stop_requested, on_replaced_));
  Cluster* const cluster = loaded->cluster.get();
  options->truth = &cluster->log();
  options->may_own = [cluster] { return cluster->has_turn(); };
  return absl::OkStatus();
}

Status Starter::Forward(int connections, LoadedStore* loaded) {
  loaded->forwarder = std::make_unique<Forwarder>(
      config_, static_cast<size_t>(connections), door_, clock_, progress_.forwarding,
      [cluster = loaded->cluster.get()] { return cluster->WhoServes(); });
  ASSIGN_OR_RETURN(progress_.forwarding_port, loaded->forwarder->Start());
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<AuditLog>> Starter::OpenAudit() const {
  const std::string beside = config_.data_dir + "/audit.jsonl";
  return AuditLog::Open({.path = config_.audit_log.empty() ? beside : config_.audit_log,
                         .max_bytes = config_.audit_log_bytes},
                        clock_);
}

void Starter::ChoosePolicy(LoadedStore* loaded) const {
  std::string& name = loaded->policy_name;
  name = loaded->globals.settings.policy.value_or(config_.policy);
  if (name != config_.policy) {
    spdlog::info("policy '{}', set at run time, wins over '{}'", name, config_.policy);
  }
  StatusOr<CrawlPolicy> policy = ResolvePolicy(name, config_.signal_delay);
  if (!policy.ok()) {
    spdlog::warn("the policy set at run time cannot be used ({}): using {}",
                 std::string(policy.status().message()), config_.policy);
    name = config_.policy;
    policy = ResolvePolicy(name, config_.signal_delay);
  }
  CHECK(policy.ok(), "the configuration was validated");
  loaded->policy = *policy;
}

ShardSettings Starter::SettingsOf(const LoadedStore& loaded, int shard) const {
  ShardSettings settings;
  settings.state.policy = loaded.policy;
  settings.state.estimator = {.kind = config_.estimator, .day = config_.day, .since = begun_};
  settings.state.politeness = PolitenessIn(loaded.globals.settings, config_.politeness);
  settings.state.host_backoff = config_.host_backoff;
  settings.state.max_crawl_delay = config_.max_crawl_delay;
  settings.state.robots_backoff = config_.robots_backoff;
  settings.state.max_robots_backoff = config_.max_robots_backoff;
  settings.state.error_backoff = config_.error_backoff;
  settings.state.max_error_backoff = config_.max_error_backoff;
  settings.state.lease_backoff = config_.lease_backoff;
  settings.state.max_lease_backoff = config_.max_lease_backoff;
  settings.state.max_unanswered = config_.max_unanswered_leases;
  settings.state.gone_backoff = config_.gone_backoff;
  settings.state.max_gone_backoff = config_.max_gone_backoff;
  settings.state.retire_moved = config_.retire_moved;
  settings.state.signal_delay = config_.signal_delay;
  if (config_.max_pages_per_host > 0) {
    settings.state.max_pages_per_host = static_cast<uint64_t>(config_.max_pages_per_host);
  }
  settings.state.shard = static_cast<uint16_t>(shard);
  settings.state.generation = static_cast<uint32_t>(loaded.store->generation());
  settings.epochs.first_slot = Slot(static_cast<uint16_t>(shard));
  settings.epochs.stride = static_cast<uint16_t>(config_.shards);
  settings.epochs.interval = config_.epoch_interval;
  settings.mailbox = {.weight = config_.mailbox_events,
                      .hard_weight = 2 * config_.mailbox_events,
                      .patience = config_.mailbox_patience};
  return settings;
}

void Starter::LoadModels(const LoadedStore& loaded) const {
  for (const EpochRecord& epoch : loaded.globals.epochs) {
    if (epoch.shard >= loaded.shards.size()) continue;
    const Status status = loaded.shards[epoch.shard]->state().LoadEpoch(epoch);
    // The next epoch learns it again from the pages.
    if (!status.ok()) {
      spdlog::warn("the model of shard {} is dropped: {}", epoch.shard,
                   std::string(status.message()));
    }
  }
}

Status Starter::LoadCrawls(LoadedStore* loaded) const {
  FrontierModeTable modes;
  for (const std::string& crawl_id : config_.frontier_shadow) {
    modes[crawl_id] = FrontierMode::kShadow;
  }
  for (const std::string& crawl_id : config_.frontier_scheduled) {
    modes[crawl_id] = FrontierMode::kScheduled;
  }
  loaded->crawls =
      std::make_unique<Crawls>(loaded->globals.crawls, loaded->shards.size(), std::move(modes));
  for (const CrawlTable::Terms& terms : loaded->crawls->Terms()) {
    for (const auto& shard : loaded->shards) RETURN_IF_ERROR(shard->state().LoadCrawl(terms));
  }
  return absl::OkStatus();
}

Status Starter::LoadPages(const LoadedStore& loaded) {
  std::vector<ShardState*> states;
  for (const auto& shard : loaded.shards) states.push_back(&shard->state());
  LoadOptions options;
  options.now = clock_.Now();
  options.report = [this] { LogRecovery(); };
  options.cancelled = &progress_.stop_requested;
  RETURN_IF_ERROR(LoadShards(*loaded.store, states, options, progress_.load));
  spdlog::info("loaded {} pages in {:.1f} s", progress_.load.pages.load(),
               (clock_.Now() - begun_).seconds());
  return absl::OkStatus();
}

Status Starter::LoadFrontier(rocksdb::Env* env, int table_files, LoadedStore* loaded) const {
  if (!config_.frontier_enabled) return absl::OkStatus();
  StoreOptions options = StoreOptionsOf(config_);
  options.env = env;
  options.page_cache_bytes = 0;
  options.max_open_tables = table_files;
  const std::string dir = FrontierDirectory(config_.data_dir);
  ASSIGN_OR_RETURN(loaded->frontier, Frontier::Open(dir, options, config_.frontier_limits, clock_));
  const FrontierStatus status = loaded->frontier->status();
  if (status.counts.queues > 0) {
    spdlog::info("frontier: {} URLs in {} queues of {} crawl ids, {} in flight",
                 status.counts.active + status.counts.completed, status.counts.queues,
                 status.crawls, status.counts.in_flight);
  }
  return absl::OkStatus();
}

void Starter::LogRecovery() {
  // May take months: once is enough.
  const bool standing_by = progress_.open.stage == OpenStage::kFollowing;
  if (std::exchange(standing_by_, standing_by) && standing_by) return;
  spdlog::info("{}; {:.0f} s since the start", Describe(progress_.Recovery()),
               (clock_.Now() - begun_).seconds());
}

}  // namespace freshet
