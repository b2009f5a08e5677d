// A server of a cluster that waits for its turn: it loads the pages as soon as the one that serves
// falls silent, so that it serves at once when that has been silent for long enough.
#ifndef FRESHET_SERVER_STANDBY_H_
#define FRESHET_SERVER_STANDBY_H_

#include <atomic>
#include <functional>
#include <optional>
#include <utility>

#include "core/base/status.h"
#include "server/engine/shard_loader.h"
#include "server/loaded_shards.h"
#include "storage/follower.h"

namespace freshet {

// What a standby asks, on the thread that opens the store.
struct StandbyHooks {
  // To be given the turn from here on.
  std::function<Status()> stand;
  std::function<bool()> has_turn;
  // Whether the server that serves may be gone. May take a moment.
  std::function<bool()> other_is_silent;
  // ShardsLoader::Load.
  std::function<StatusOr<LoadedShards>(Store&, LoadOptions)> load;
};

// Owner thread only, as long as the store is not open.
class Standby final : public Follower {
 public:
  // Loads end early once `stop` is set. `progress` is that of the loads. Both outlive this.
  Standby(StandbyHooks hooks, const std::atomic<bool>& stop, LoadProgress& progress)
      : hooks_(std::move(hooks)), stop_(stop), progress_(progress) {}

  Status CaughtUp() override { return hooks_.stand(); }
  bool MayOwn() override;
  bool MayOwnSoon() override;
  Status Prepare(Store& store) override;
  void Outdate() override { Drop(); }

  // The shards of the store that was opened; none: they are still to be loaded.
  [[nodiscard]] std::optional<LoadedShards> Take() { return std::exchange(loaded_, std::nullopt); }

 private:
  void Drop();

  const StandbyHooks hooks_;
  const std::atomic<bool>& stop_;
  LoadProgress& progress_;
  std::atomic<bool> abandoned_ = false;
  bool told_ = false;  // that it has the turn
  std::optional<LoadedShards> loaded_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_STANDBY_H_
