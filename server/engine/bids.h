// Several shards bid the best of their pages for the next ticks: what each bids, and whose bids are
// taken where nothing but their worth counts. Where ticks are not free for any page,
// limited_ranking.h says whose.
#ifndef FRESHET_SERVER_ENGINE_BIDS_H_
#define FRESHET_SERVER_ENGINE_BIDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/schedule/forced_turns.h"
#include "core/schedule/pick.h"
#include "server/engine/tick_shares.h"

namespace freshet {

// What one shard bids. Value type, thread-compatible.
struct ShardBid {
  std::vector<Pick> picks;        // of one kind, in the order in which they were taken
  std::vector<uint32_t> of_tick;  // by pick: the tick for which it was taken
  // Ticks, in order, for which the shard had nothing that is not bid, and those for whose owner it
  // had no such page.
  std::vector<uint32_t> without_more;
  std::vector<uint32_t> without_owner;
  uint64_t pages = 0;  // that the shard has
};

// What of one shard is bid for some ticks. A shard bids, tick by tick in their order, the best page
// of the tick's owner or, where it has none, of all. A page may have been bid in vain, because it
// is of a limited class or of a group of hosts of which other shards have pages, too; the next best
// is bid with it then: of a class until one is bid that is not limited, of groups as long as there
// are spare picks. Value type, thread-compatible.
class BidChoice {
 public:
  // `spare`: picks beyond one a tick that may be bid for the sake of groups; 0: no other shard has
  // pages.
  BidChoice(const TickOwners& owners, size_t spare)
      : owners_(owners), room_(owners), spare_(spare) {}

  // `take(among, forced_first)` takes the best page of these classes, as ShardState::Take. Appends
  // what is bid for the next tick; false: nothing.
  template <typename Take>
  bool Bid(Take take, ShardBid* bid);

 private:
  [[nodiscard]] bool InVain(const Pick& pick);

  const TickOwners& owners_;
  uint32_t tick_ = 0;
  ClassRoom room_;
  size_t spare_;
};

// Which pick of which shard a tick gets.
struct TakenBid {
  size_t tick = 0;
  size_t shard = 0;
  size_t pick = 0;
};

// The dearest first. While the policy changes, some shards may bid by the values of their pages and
// others by the urgency of a plan, which do not compare: ticks then go to the two kinds in turn, to
// each as many as the pages of its shards are of all, and within a kind to the dearest. Pages that
// are forced take turns (core/schedule/forced_turns.h).
//
// Thread-compatible.
class BidRanking {
 public:
  // For each of `ticks` ticks in their order the shard whose next pick it gets, shorter where picks
  // lack. Turns go on from call to call. Precondition: of several shards none bids what is forced.
  [[nodiscard]] std::vector<size_t> Rank(const std::vector<ShardBid>& bids, size_t ticks);
  // Whether the first of two pages that are forced goes before the second.
  [[nodiscard]] bool GoesBefore(const Pick& a, const Pick& b) const {
    return forced_.Of(a.forced) < forced_.Of(b.forced);
  }
  // A page that is forced has a tick in its turn.
  void NoteForced(const Pick& pick) { forced_.Note(pick.forced); }
  // Whether a tick for which both kinds have a page is the turn of plans.
  [[nodiscard]] bool TurnOfPlans(uint64_t planned_pages, uint64_t valued_pages);

 private:
  double owed_to_plans_ = 0;  // ticks
  ForcedTurns forced_;
};

inline bool BidChoice::InVain(const Pick& pick) {
  if (!pick.planned && room_.UseUp(pick.crawl_class)) return true;
  if (pick.group == GroupKey() || spare_ == 0) return false;
  --spare_;
  return true;
}

template <typename Take>
bool BidChoice::Bid(Take take, ShardBid* bid) {
  const ClassSet owners = owners_.of_tick.empty() ? kAllClasses : owners_.of_tick[tick_];
  const uint32_t tick = tick_++;
  const bool forced_first = owners_.ForcedFirst(tick);
  bool found = false;
  while (true) {
    std::optional<Pick> pick;
    if ((owners & room_.open()) != 0) pick = take(owners & room_.open(), forced_first);
    if (!pick && owners != kAllClasses) {
      bid->without_owner.push_back(tick);
      pick = take(room_.open(), forced_first);
    }
    if (!pick) {
      bid->without_more.push_back(tick);
      return found;
    }
    found = true;
    bid->picks.push_back(*pick);
    bid->of_tick.push_back(tick);
    if (!InVain(*pick)) return true;
  }
}

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_BIDS_H_
