// Exchanges the statistics that each shard collects from its pages, so that all shards learn the
// same model from all hosts (core/estimate/epoch_sums.h). In a fleet, it includes the statistics of
// other divisions.
#ifndef FRESHET_SERVER_ENGINE_EPOCH_EXCHANGE_H_
#define FRESHET_SERVER_ENGINE_EPOCH_EXCHANGE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/estimate/epoch_sums.h"
#include "sync/mutex.h"

namespace freshet {

// Every shard runs its epochs independently. A shard learns from its own sums and from the last
// sums that the other shards have published. At the start, and whenever an epoch of all shards is
// requested, every shard owes a publication, so that the epoch learns from the present pages of all
// shards.
//
// Before a shard learns, it waits for two kinds of other shards: those that owed a publication when
// its epoch began, and those whose epoch was under way when it published. It does not wait for
// shards that have left. Two shards never wait for each other: once both have published, the one
// whose epoch began first has nothing left to wait for from the other. Thread-safe.
class EpochExchange {
 public:
  // Returns the last known sums of the other divisions. May call the servers of these divisions.
  using Others = std::function<DivisionTotals()>;

  explicit EpochExchange(size_t shards);

  // From now on all shards learn from other divisions too. `own` is the division of this store.
  // `others` unset = from now on they learn from this store only. Blocks while All asks other
  // divisions.
  void SetOthers(uint32_t own, Others others) FRESHET_EXCLUDES(others_mutex_);

  // Notes that the shard owes an epoch that begins after this call.
  void Expect(size_t shard) FRESHET_EXCLUDES(mutex_);
  // Begins an epoch of the shard, which must end with Publish or Withdraw. Withdraw publishes
  // nothing, so that the shard's last sums stay valid.
  void Begin(size_t shard) FRESHET_EXCLUDES(mutex_);
  void Publish(size_t shard, EpochSums sums) FRESHET_EXCLUDES(mutex_);
  void Withdraw(size_t shard) FRESHET_EXCLUDES(mutex_);
  // Notes that the shard will never publish again, because it is stopped or its store has failed.
  void Leave(size_t shard) FRESHET_EXCLUDES(mutex_);

  // Returns true if the shard, which has published, need not wait for other shards any more.
  [[nodiscard]] bool MayLearn(size_t shard) const FRESHET_EXCLUDES(mutex_);
  // The last sums of all shards, and those of other divisions. Can block while it calls the other
  // divisions.
  [[nodiscard]] EpochSums All() const FRESHET_EXCLUDES(mutex_) FRESHET_EXCLUDES(others_mutex_);
  // The sums of this store, for other divisions; unset until each shard of the store has published
  // or left.
  [[nodiscard]] std::optional<EpochTotals> Totals() const FRESHET_EXCLUDES(mutex_);

 private:
  struct OfShard {
    // Requests for epochs are numbered. `asked`: the last request. `answering`: the last request
    // that the epoch under way covers. `answered`: the last request that an ended epoch covered.
    uint64_t asked = 1;
    uint64_t answering = 0;
    uint64_t answered = 0;
    bool gone = false;
    std::vector<uint64_t> waits_for;        // by shard: the value of `answered` to wait for
    std::shared_ptr<const EpochSums> sums;  // nullptr = none yet
  };
  // The last sums of all shards. Sets `complete` to false if a shard that has not left has
  // published none.
  [[nodiscard]] EpochSums Published(bool* complete) const FRESHET_EXCLUDES(mutex_);

  // Held while a shard asks other divisions.
  mutable Mutex others_mutex_;
  uint32_t own_ FRESHET_GUARDED_BY(others_mutex_) = 0;
  Others others_ FRESHET_GUARDED_BY(others_mutex_);
  mutable Mutex mutex_;
  std::vector<OfShard> shards_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_EPOCH_EXCHANGE_H_
