// A store as shards that hold every page, and do not run yet.
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

// Thread-compatible, and each shard by itself.
struct LoadedShards {
  GlobalRecords globals;
  std::string policy_name;
  CrawlPolicy policy;
  std::unique_ptr<Crawls> crawls;
  std::shared_ptr<EpochExchange> epochs;       // of the shards
  std::vector<std::unique_ptr<Shard>> shards;  // use the store
};

// What shards are made with besides a store. All that is referred to outlives the loader; `clock`
// and `observer`, which is that of the shards, what is loaded as well. Thread-compatible.
class ShardsLoader {
 public:
  // `begun` is when the server was started.
  ShardsLoader(const ServerConfig& config, Clock& clock, Instant begun, ShardObserver& observer)
      : config_(config), clock_(clock), begun_(begun), observer_(observer) {}

  // Makes the shards and loads them. `options.now` is set here. Cancelled as
  // LoadShards is.
  [[nodiscard]] StatusOr<LoadedShards> Load(Store& store, LoadOptions options,
                                            LoadProgress& progress) const;
  // For shards that were loaded without leases. What the store has taken in since, of one shard.
  // ResourceExhausted, Internal: they are of no use any more.
  [[nodiscard]] Status Follow(LoadedShards& loaded, uint16_t shard, FollowedChanges changes,
                              LoadProgress& progress) const;
  // They have followed the store to its end: makes of them what Load would.
  [[nodiscard]] Status Finish(Store& store, LoadedShards& loaded) const;

 private:
  // What an operator has set wins over flags and files, which are for new databases.
  void ChoosePolicy(LoadedShards* loaded) const;
  [[nodiscard]] Status MakeShards(Store& store, LoadedShards* loaded) const;
  [[nodiscard]] ShardSettings SettingsOf(const LoadedShards& loaded, uint64_t generation,
                                         int shard) const;
  static void LoadModels(const LoadedShards& loaded);
  // What is set for crawl ids.
  [[nodiscard]] Status LoadCrawls(LoadedShards* loaded) const;

  const ServerConfig& config_;
  Clock& clock_;
  const Instant begun_;
  ShardObserver& observer_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_LOADED_SHARDS_H_
