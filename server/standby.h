// A server of a cluster that waits for its turn: it loads the pages as soon as the one that serves
// falls silent, or says that it is about to end, and keeps them up with the log, so that it serves
// at once when its turn comes.
#ifndef FRESHET_SERVER_STANDBY_H_
#define FRESHET_SERVER_STANDBY_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "core/base/status.h"
#include "core/schedule/followed_changes.h"
#include "server/engine/shard_loader.h"
#include "server/loaded_shards.h"
#include "storage/follower.h"

namespace freshet {

// What a standby asks, on the thread that opens the store, but for `follow`: on those of Update.
struct StandbyHooks {
  // To be given the turn from here on.
  std::function<Status()> stand;
  std::function<bool()> has_turn;
  // Whether the server that serves may be gone. May take a moment.
  std::function<bool()> other_is_silent;
  // Whether it has said that it waits for this one to have the pages, or an operator has.
  std::function<bool()> is_asked_for;
  // Those of ShardsLoader.
  std::function<StatusOr<LoadedShards>(Store&, LoadOptions)> load;
  std::function<Status(LoadedShards&, uint16_t, FollowedChanges)> follow;
  std::function<Status(Store&, LoadedShards&)> finish;
};

// Owner thread only, as long as the store is not open, but for what Follower and this say
// otherwise.
class Standby final : public Follower {
 public:
  // Loads end early once `stop` is set. `progress` is that of the loads. Both outlive this.
  Standby(StandbyHooks hooks, const std::atomic<bool>& stop, LoadProgress& progress)
      : hooks_(std::move(hooks)), stop_(stop), progress_(progress) {}

  Status CaughtUp() override { return hooks_.stand(); }
  bool MayOwn() override;
  bool MayOwnSoon() override;
  Status Prepare(Store& store) override;
  Status Update(uint16_t partition, FollowedChanges changes) override;
  void Outdate() override;

  // Whether it has all pages that the store has, and has read the log since. Thread-safe.
  [[nodiscard]] bool loaded() const { return has_loaded_; }
  // The shards of the store, which was opened; none: they are still to be loaded.
  [[nodiscard]] std::optional<LoadedShards> Take(Store& store);

 private:
  using Steady = std::chrono::steady_clock;

  [[nodiscard]] bool TurnMayCome() { return hooks_.is_asked_for() || hooks_.other_is_silent(); }
  void Drop();
  // Loads nothing for a while.
  void Rest(std::chrono::seconds time) { rests_until_ = Steady::now() + time; }

  const StandbyHooks hooks_;
  const std::atomic<bool>& stop_;
  LoadProgress& progress_;
  std::atomic<bool> abandoned_ = false;
  bool told_ = false;   // that it has the turn
  bool tried_ = false;  // to load, since the store last was told that there is no use in that
  Steady::time_point rests_until_;
  std::optional<LoadedShards> loaded_;
  std::atomic<bool> has_loaded_ = false;
  uint64_t most_followed_ = 0;  // records
  std::atomic<uint64_t> followed_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_STANDBY_H_
