// A standby: a server of a cluster that waits for the turn, the right to serve. A standby loads the
// pages when the serving server falls silent or is about to end. It then applies the log to them,
// so that it can serve as soon as it gets the turn.
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

// The functions that a standby needs. They are called on the thread that opens the store, except
// for `follow`, which is called on the threads that call Update.
struct StandbyHooks {
  // Makes this server a candidate for the turn.
  std::function<Status()> stand;
  std::function<bool()> has_turn;
  // Whether the serving server might be gone. May block briefly.
  std::function<bool()> other_is_silent;
  // Whether this server should load the pages now: the serving server waits for that, or the
  // configuration asks for a hot standby.
  std::function<bool()> is_asked_for;
  // Load, Follow and Finish of ShardsLoader.
  std::function<StatusOr<LoadedShards>(Store&, LoadOptions)> load;
  std::function<Status(LoadedShards&, uint16_t, FollowedChanges)> follow;
  std::function<Status(Store&, LoadedShards&)> finish;
};

// The standby. Owner thread only (the thread that opens the store), except for Update (see
// Follower) and `loaded`.
class Standby final : public Follower {
 public:
  // Loads end early when `stop` is set, and report to `progress`. Both outlive this object.
  Standby(StandbyHooks hooks, const std::atomic<bool>& stop, LoadProgress& progress)
      : hooks_(std::move(hooks)), stop_(stop), progress_(progress) {}

  Status CaughtUp() override { return hooks_.stand(); }
  bool MayOwn() override;
  bool MayOwnSoon() override;
  Status Prepare(Store& store) override;
  Status Update(uint16_t partition, FollowedChanges changes) override;
  void Outdate() override;

  // Whether all pages of the store are loaded and up to date with the log. Thread-safe.
  [[nodiscard]] bool loaded() const { return has_loaded_; }
  // Completes the shards that were loaded for the opened store, and returns them. Unset = there are
  // none, so the caller must load the pages.
  [[nodiscard]] std::optional<LoadedShards> Take(Store& store);

 private:
  using Steady = std::chrono::steady_clock;

  [[nodiscard]] bool TurnMayCome() { return hooks_.is_asked_for() || hooks_.other_is_silent(); }
  void Drop();
  // Prevents loads for `time`.
  void Rest(std::chrono::seconds time) { rests_until_ = Steady::now() + time; }

  const StandbyHooks hooks_;
  const std::atomic<bool>& stop_;
  LoadProgress& progress_;
  std::atomic<bool> abandoned_ = false;
  bool told_ = false;  // whether it was logged that this server takes over
  // Set by Prepare. While this is set, MayOwnSoon starts no load, but resets it.
  bool tried_ = false;
  Steady::time_point rests_until_;
  std::optional<LoadedShards> loaded_;
  std::atomic<bool> has_loaded_ = false;
  uint64_t most_followed_ = 0;  // the limit of followed_
  std::atomic<uint64_t> followed_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_STANDBY_H_
