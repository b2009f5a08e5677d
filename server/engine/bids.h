// Several shards bid the best of their pages for the next ticks: whose bids are taken.
#ifndef FRESHET_SERVER_ENGINE_BIDS_H_
#define FRESHET_SERVER_ENGINE_BIDS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/schedule/shard_state.h"

namespace freshet {

// What one shard bids. Value type, thread-compatible.
struct ShardBid {
  std::vector<Pick> picks;  // of one kind, the next one first
  uint64_t pages = 0;       // that the shard has
};

// The dearest first. While the policy changes, some shards may bid by the values of their pages and
// others by the urgency of a plan, which do not compare: ticks then go to the two kinds in turn, to
// each as many as the pages of its shards are of all, and within a kind to the dearest. Pages that
// are forced go before all others.
//
// Thread-compatible.
class BidRanking {
 public:
  // For each of `ticks` ticks in their order the shard whose next pick it gets, shorter where picks
  // lack. Turns go on from call to call.
  [[nodiscard]] std::vector<size_t> Rank(const std::vector<ShardBid>& bids, size_t ticks);

 private:
  [[nodiscard]] bool TurnOfPlans(uint64_t planned_pages, uint64_t valued_pages);

  double owed_to_plans_ = 0;  // ticks
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_BIDS_H_
