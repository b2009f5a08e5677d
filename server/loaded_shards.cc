#include "server/loaded_shards.h"

#include <utility>

#include "core/base/check.h"
#include "core/schedule/clock_ahead.h"
#include "core/schedule/followed_changes.h"
#include "core/schedule/learning.h"
#include "core/schedule/shard_loading.h"
#include "server/base/registrable_domain.h"
#include "server/config.h"
#include "server/engine/runtime_settings.h"
#include "spdlog/spdlog.h"

namespace freshet {
namespace {

constexpr Duration kSliceOfCluster = Duration::Millis(30);
constexpr size_t kSlicePagesOfCluster = 1024;

std::vector<ShardState*> StatesOf(const LoadedShards& loaded) {
  std::vector<ShardState*> states;
  for (const auto& shard : loaded.shards) states.push_back(&shard->state());
  return states;
}

}  // namespace

StatusOr<LoadedShards> ShardsLoader::Load(Store& store, LoadOptions options,
                                          LoadProgress& progress) const {
  LoadedShards loaded;
  ASSIGN_OR_RETURN(loaded.globals, store.LoadGlobals());
  ChoosePolicy(&loaded);
  RETURN_IF_ERROR(MakeShards(store, &loaded));
  // Models are loaded before the pages, because a model says how the rates of pages change with
  // age.
  LoadModels(loaded);
  RETURN_IF_ERROR(LoadCrawls(&loaded));
  options.now = clock_.Now();
  RETURN_IF_ERROR(LoadShards(store, StatesOf(loaded), options, progress));
  if (progress.ahead > 0) {
    spdlog::warn(
        "{} pages, hosts and leases have times that are later than the clock shows, by up to "
        "{:.0f} "
        "s: it ran ahead. They count as of this start",
        progress.ahead.load(), Duration::Micros(progress.ahead_micros).seconds());
  }
  // A shard that follows another server picks no pages, so its due timers pile up, and its first
  // pick would have to handle them all. Follow handles those that are due now, before this server
  // gets the turn.
  if (options.without_leases) {
    for (ShardState* state : StatesOf(loaded)) {
      RETURN_IF_ERROR(state->loading().Follow({}, options.now));
    }
  }
  return loaded;
}

Status ShardsLoader::Follow(LoadedShards& loaded, uint16_t shard, FollowedChanges changes,
                            LoadProgress& progress) const {
  const Instant now = clock_.Now();
  for (HostRecord& host : changes.hosts) CapAtNow(now, &host);
  ShardState& state = loaded.shards.at(shard)->state();
  const uint64_t before = state.counters().pages;
  RETURN_IF_ERROR(state.loading().Follow(changes, now));
  progress.pages += state.counters().pages - before;
  return absl::OkStatus();
}

Status ShardsLoader::Finish(Store& store, LoadedShards& loaded) const {
  // New sources may have been added since the load. Any other change would have caused the shards
  // to be loaded again.
  ASSIGN_OR_RETURN(loaded.globals, store.LoadGlobals());
  return LoadLeases(store, StatesOf(loaded), clock_.Now());
}

Status ShardsLoader::MakeShards(Store& store, LoadedShards* loaded) const {
  loaded->epochs = std::make_shared<EpochExchange>(static_cast<size_t>(config_.shards));
  // All shards share one HostRules object, because each group of hosts must be a single object.
  ASSIGN_OR_RETURN(const auto rules,
                   HostRules::Make(config_.host_rules, {.by_address = config_.by_address,
                                                        .by_domain = config_.by_domain,
                                                        .domain_of = RegistrableDomainOf}));
  std::shared_ptr<Quota> hosts;
  if (config_.max_hosts > 0) {
    hosts = std::make_shared<Quota>(static_cast<uint64_t>(config_.max_hosts));
  }
  for (int i = 0; i < config_.shards; ++i) {
    ShardSettings settings = SettingsOf(*loaded, store.generation(), i);
    settings.state.host_quota = hosts;
    settings.state.domain_of = RegistrableDomainOf;
    settings.state.host_rules = rules;
    settings.epochs.exchange = loaded->epochs;
    loaded->shards.push_back(std::make_unique<Shard>(settings, store, clock_, observer_));
  }
  return absl::OkStatus();
}

void ShardsLoader::ChoosePolicy(LoadedShards* loaded) const {
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

ShardSettings ShardsLoader::SettingsOf(const LoadedShards& loaded, uint64_t generation,
                                       int shard) const {
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
  settings.state.generation = static_cast<uint32_t>(generation);
  settings.epochs.first_slot = Slot(static_cast<uint16_t>(shard));
  settings.epochs.stride = static_cast<uint16_t>(config_.shards);
  settings.epochs.interval = config_.epoch_interval;
  if (config_.cluster.configured()) {
    // Slices are longer in a cluster, because the commit of each slice waits for Kafka, and all
    // other work of the shard waits for the commit.
    settings.epochs.slice = kSliceOfCluster;
    settings.epochs.slice_pages = kSlicePagesOfCluster;
  }
  settings.mailbox = {.weight = config_.mailbox_events,
                      .hard_weight = 2 * config_.mailbox_events,
                      .patience = config_.mailbox_patience};
  return settings;
}

void ShardsLoader::LoadModels(const LoadedShards& loaded) {
  for (const EpochRecord& epoch : loaded.globals.epochs) {
    if (epoch.shard >= loaded.shards.size()) continue;
    const Status status = loaded.shards[epoch.shard]->state().learning().LoadEpoch(epoch);
    // The next epoch will learn the model again from the pages.
    if (!status.ok()) {
      spdlog::warn("the model of shard {} is dropped: {}", epoch.shard,
                   std::string(status.message()));
    }
  }
}

Status ShardsLoader::LoadCrawls(LoadedShards* loaded) const {
  FrontierModeTable modes;
  for (const std::string& crawl_id : config_.frontier_shadow) {
    modes[crawl_id] = FrontierMode::kShadow;
  }
  for (const std::string& crawl_id : config_.frontier_scheduled) {
    modes[crawl_id] = FrontierMode::kScheduled;
  }
  loaded->crawls =
      std::make_unique<Crawls>(loaded->globals.crawls, loaded->shards.size(), std::move(modes));
  for (const CrawlTerms& terms : loaded->crawls->Terms()) {
    for (const auto& shard : loaded->shards) {
      RETURN_IF_ERROR(shard->state().loading().LoadCrawl(terms));
    }
  }
  return absl::OkStatus();
}

}  // namespace freshet
