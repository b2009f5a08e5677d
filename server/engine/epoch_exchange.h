// Exchanges what the pages of each shard showed, so that all shards learn one model of all hosts
// (core/estimate/epoch_sums.h), even over divisions of a fleet.
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

// Every shard runs its own epochs, and learns from what it has collected and the last publications
// of the others. Before it learns, it waits for the shards that owed a publication when its epoch
// began, and for those collecting when it published. At first, and whenever an epoch is requested,
// all owe one, so that such an epoch learns from the present pages of all shards. No two shards
// wait for each other: what a waiting shard owes was asked for before, so its own epoch began
// later. Thread-safe.
class EpochExchange {
 public:
  // Returns what other divisions showed last, as far as known; may ask them.
  using Others = std::function<DivisionTotals()>;

  explicit EpochExchange(size_t shards);

  // From now on all learn from other divisions too; this store is that of `own`. Null = no longer.
  // Waits for All, which asks them.
  void SetOthers(uint32_t own, Others others) FRESHET_EXCLUDES(others_mutex_);

  // Asks the shard for an epoch that begins after this call.
  void Expect(size_t shard) FRESHET_EXCLUDES(mutex_);
  // The shard begins an epoch, which ends with Publish, or with Withdraw if there is nothing to
  // publish: its last publication still holds.
  void Begin(size_t shard) FRESHET_EXCLUDES(mutex_);
  void Publish(size_t shard, EpochSums sums) FRESHET_EXCLUDES(mutex_);
  void Withdraw(size_t shard) FRESHET_EXCLUDES(mutex_);
  // The shard will never publish again: it is stopped, or its store has failed.
  void Leave(size_t shard) FRESHET_EXCLUDES(mutex_);

  // Whether a shard that has published may stop waiting.
  [[nodiscard]] bool MayLearn(size_t shard) const FRESHET_EXCLUDES(mutex_);
  // The last publications of all shards, and the figures of other divisions. May take as long as
  // asking those.
  [[nodiscard]] EpochSums All() const FRESHET_EXCLUDES(mutex_) FRESHET_EXCLUDES(others_mutex_);
  // The sums of this store for others; unset until each of its shards has published.
  [[nodiscard]] std::optional<EpochTotals> Totals() const FRESHET_EXCLUDES(mutex_);

 private:
  struct OfShard {
    // Numbers of epochs of the shard: asked for, covered by the one under way, and ended.
    uint64_t asked = 1;
    uint64_t answering = 0;
    uint64_t answered = 0;
    bool gone = false;
    std::vector<uint64_t> waits_for;        // numbers of ended epochs to wait for, by shard
    std::shared_ptr<const EpochSums> sums;  // nullptr = none yet
  };
  // The last publications of all shards. Sets `complete` to false if one is missing.
  [[nodiscard]] EpochSums Published(bool* complete) const FRESHET_EXCLUDES(mutex_);

  // Held by the one shard that asks other divisions.
  mutable Mutex others_mutex_;
  uint32_t own_ FRESHET_GUARDED_BY(others_mutex_) = 0;
  Others others_ FRESHET_GUARDED_BY(others_mutex_);
  mutable Mutex mutex_;
  std::vector<OfShard> shards_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_EPOCH_EXCHANGE_H_
