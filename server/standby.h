// A standby: a server of a cluster that waits for its turn. A standby loads the pages when the
// serving server falls silent or is about to end. It keeps them up with the log, so that it serves
// as soon as its turn comes.
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

// Functions for a standby. The thread that opens the store calls them; `follow` is called on the
// threads of Update.
struct StandbyHooks {
  // Asks to be given the turn from now on.
  std::function<Status()> stand;
  std::function<bool()> has_turn;
  // Whether the server that serves may be gone. May take a moment.
  std::function<bool()> other_is_silent;
  // Whether the serving server waits until this one has the pages, or an operator asks for that.
  std::function<bool()> is_asked_for;
  // The functions of ShardsLoader.
  std::function<StatusOr<LoadedShards>(Store&, LoadOptions)> load;
  std::function<Status(LoadedShards&, uint16_t, FollowedChanges)> follow;
  std::function<Status(Store&, LoadedShards&)> finish;
};

// The standby. Owner thread only while the store is not open, except as Follower and this class
// say.
class Standby final : public Follower {
 public:
  // Loads end early once `stop` is set, and report to `progress`. Both outlive this.
  Standby(StandbyHooks hooks, const std::atomic<bool>& stop, LoadProgress& progress)
      : hooks_(std::move(hooks)), stop_(stop), progress_(progress) {}

  Status CaughtUp() override { return hooks_.stand(); }
  bool MayOwn() override;
  bool MayOwnSoon() override;
  Status Prepare(Store& store) override;
  Status Update(uint16_t partition, FollowedChanges changes) override;
  void Outdate() override;

  // Whether it has all pages of the store, and has read the log since. Thread-safe.
  [[nodiscard]] bool loaded() const { return has_loaded_; }
  // Takes the shards of the opened store; unset = they are still to be loaded.
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
  bool told_ = false;   // whether it was notified of its turn
  bool tried_ = false;  // to load, since MayOwnSoon last found no need
  Steady::time_point rests_until_;
  std::optional<LoadedShards> loaded_;
  std::atomic<bool> has_loaded_ = false;
  uint64_t most_followed_ = 0;  // records
  std::atomic<uint64_t> followed_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_STANDBY_H_
