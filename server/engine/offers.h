// Which of the pages that several shards offer for the next ticks are taken.
#ifndef FRESHET_SERVER_ENGINE_OFFERS_H_
#define FRESHET_SERVER_ENGINE_OFFERS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/schedule/shard_state.h"

namespace freshet {

// The dearest first. While the policy changes, some shards may offer pages by their values and
// others by the urgency of a plan, which do not compare: ticks then go to the two kinds in turn, to
// each as many as the pages of its shards are of all, and within a kind to the dearest. Pages that
// are forced go before all others.
//
// Thread-compatible.
class OfferRanking {
 public:
  struct Offer {
    std::vector<Pick> picks;  // of one kind, the next one first
    uint64_t pages = 0;       // that the shard has
  };

  // For each of `ticks` ticks in their order the shard whose next pick it gets, shorter where picks
  // lack. Turns go on from call to call.
  [[nodiscard]] std::vector<size_t> Rank(const std::vector<Offer>& offers, size_t ticks);

 private:
  [[nodiscard]] bool TurnOfPlans(uint64_t planned_pages, uint64_t valued_pages);

  double owed_to_plans_ = 0;  // ticks
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_OFFERS_H_
