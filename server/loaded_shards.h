// Loads a store into shards. The shards then hold every page, but do not run yet.
#ifndef FRESHET_SERVER_LOADED_SHARDS_H_
#define FRESHET_SERVER_LOADED_SHARDS_H_

#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/schedule/crawl_policy.h"
#include "server/base/system_clock.h"
#include "server/engine/crawls.h"
#include "server/engine/epoch_exchange.h"
#include "server/engine/shard.h"
#include "server/engine/shard_loader.h"
#include "storage/store.h"

namespace freshet {

struct FollowedChanges;
struct ServerConfig;

// The loaded shards. Thread-compatible; different threads may use different shards.
struct LoadedShards {
  GlobalRecords globals;
  std::string policy_name;
  CrawlPolicy policy;
  std::unique_ptr<Crawls> crawls;
  std::shared_ptr<EpochExchange> epochs;       // shared by the shards
  std::vector<std::unique_ptr<Shard>> shards;  // these use the store
};

// Makes and loads shards. All references outlive the loader. `clock` and `observer` are passed to
// the shards, so they also outlive the shards. Thread-compatible.
class ShardsLoader {
 public:
  // `begun`: when the server started.
  ShardsLoader(const ServerConfig& config, Clock& clock, Instant begun, ShardObserver& observer)
      : config_(config), clock_(clock), begun_(begun), observer_(observer) {}

  // Makes the shards and loads them. Overrides `options.now`. Can be cancelled like LoadShards.
  [[nodiscard]] StatusOr<LoadedShards> Load(Store& store, LoadOptions options,
                                            LoadProgress& progress) const;
  // Applies later changes of the store to one shard. Precondition: the shards were loaded without
  // leases. Not OK: ResourceExhausted or Internal. The shards cannot be used any more in that case.
  [[nodiscard]] Status Follow(LoadedShards& loaded, uint16_t shard, FollowedChanges changes,
                              LoadProgress& progress) const;
  // Completes the shards once all changes of the store have been applied to them. The shards are
  // then in the state that Load would have produced.
  [[nodiscard]] Status Finish(Store& store, LoadedShards& loaded) const;

 private:
  // Chooses the policy. A policy that an operator has set takes precedence over flags and files,
  // which apply only to new databases.
  void ChoosePolicy(LoadedShards* loaded) const;
  [[nodiscard]] Status MakeShards(Store& store, LoadedShards* loaded) const;
  [[nodiscard]] ShardSettings SettingsOf(const LoadedShards& loaded, uint64_t generation,
                                         int shard) const;
  static void LoadModels(const LoadedShards& loaded);
  // Loads the settings of crawl ids.
  [[nodiscard]] Status LoadCrawls(LoadedShards* loaded) const;

  const ServerConfig& config_;
  Clock& clock_;
  const Instant begun_;
  ShardObserver& observer_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_LOADED_SHARDS_H_
