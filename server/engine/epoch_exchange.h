// Where the shards of a store tell each other what their pages showed, so that all learn one model
// of all hosts (core/estimate/epoch_sums.h), also those of other divisions of a fleet.
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

// Every shard runs its epochs by itself and learns from what it has collected and the last that the
// others have published. Before it learns it waits for those that owed a publication when its epoch
// began, or collected when it published: at first all, as nothing is known of them yet, and where
// an epoch is asked for all again, so that such an epoch learns from the pages of all shards as
// they are. Nobody waits for a shard that waits for him: what it owes was asked for before his
// epoch began, so that its own began later. Thread-safe.
class EpochExchange {
 public:
  // What the stores of other divisions showed last, as far as it is known; may ask them for it.
  using Others = std::function<DivisionTotals()>;

  explicit EpochExchange(size_t shards);

  // All learn from those as well from here on, this store being that of `own`; null: no longer.
  // Waits for All, which asks them.
  void SetOthers(uint32_t own, Others others) FRESHET_EXCLUDES(others_mutex_);

  // The shard is to run an epoch that begins after this call.
  void Expect(size_t shard) FRESHET_EXCLUDES(mutex_);
  // It begins one, which ends with Publish, or with Withdraw where there is nothing to publish:
  // what it published last holds.
  void Begin(size_t shard) FRESHET_EXCLUDES(mutex_);
  void Publish(size_t shard, EpochSums sums) FRESHET_EXCLUDES(mutex_);
  void Withdraw(size_t shard) FRESHET_EXCLUDES(mutex_);
  // It never will publish again: it is stopped, or its store has failed.
  void Leave(size_t shard) FRESHET_EXCLUDES(mutex_);

  // Whether a shard that has published need not wait any more.
  [[nodiscard]] bool MayLearn(size_t shard) const FRESHET_EXCLUDES(mutex_);
  // What all shards published last, and the other divisions. May take as long as these are asked.
  [[nodiscard]] EpochSums All() const FRESHET_EXCLUDES(mutex_) FRESHET_EXCLUDES(others_mutex_);
  // What this store has to tell others: nothing before each of its shards has published.
  [[nodiscard]] std::optional<EpochTotals> Totals() const FRESHET_EXCLUDES(mutex_);

 private:
  struct OfShard {
    // Epochs of the shard, counted: asked for, covered by the one that runs, and over.
    uint64_t asked = 1;
    uint64_t answering = 0;
    uint64_t answered = 0;
    bool gone = false;
    std::vector<uint64_t> waits_for;        // so many of every shard are to be over
    std::shared_ptr<const EpochSums> sums;  // null: none yet
  };
  // What all shards published last. Sets `complete` to false where one has yet to.
  [[nodiscard]] EpochSums Published(bool* complete) const FRESHET_EXCLUDES(mutex_);

  // Held while others are asked: one shard at a time does.
  mutable Mutex others_mutex_;
  uint32_t own_ FRESHET_GUARDED_BY(others_mutex_) = 0;
  Others others_ FRESHET_GUARDED_BY(others_mutex_);
  mutable Mutex mutex_;
  std::vector<OfShard> shards_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_EPOCH_EXCHANGE_H_
