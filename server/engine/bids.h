// Bids of several shards for the next ticks, and the ranking of bids by worth alone.
// limited_ranking.h ranks where not every page may have every tick.
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

// The bid of one shard. Value type, thread-compatible.
struct ShardBid {
  std::vector<Pick> picks;        // of one kind, in the order of picking
  std::vector<uint32_t> of_tick;  // by pick: the tick that it was picked for
  // Ticks, in order, for which the shard has bid all its pages, and those for whose owner it had no
  // further page.
  std::vector<uint32_t> without_more;
  std::vector<uint32_t> without_owner;
  uint64_t pages = 0;  // pages of the shard
};

// Chooses the bid of one shard. Tick by tick the shard bids the best page of the tick's owner, or
// of all if the owner has none. A bid may be in vain: its class may be limited, or other shards may
// have pages of its group of hosts. Then the next best page is bid as well: for a class until one
// without a limit is bid, for groups while there are spare picks. Value type, thread-compatible.
class BidChoice {
 public:
  // `spare`: picks beyond one a tick that may be bid for groups; 0 = no other shard has pages.
  BidChoice(const TickOwners& owners, size_t spare)
      : owners_(owners), room_(owners), spare_(spare) {}

  // Appends the bid for the next tick; false = none. `take(among, forced_first)` takes the best
  // page of these classes, as ShardState::Take.
  template <typename Take>
  bool Bid(Take take, ShardBid* bid);

 private:
  [[nodiscard]] bool InVain(const Pick& pick);

  const TickOwners& owners_;
  uint32_t tick_ = 0;
  ClassRoom room_;
  size_t spare_;
};

// The pick that a tick gets.
struct TakenBid {
  size_t tick = 0;
  size_t shard = 0;
  size_t pick = 0;
};

// Ranks bids, the dearest first. While the policy changes, some shards may bid by value and others
// by the urgency of a plan, which cannot be compared. The two kinds then take turns, by the numbers
// of their pages, and within a kind the dearest comes first. Forced pages take turns
// (core/schedule/forced_turns.h).
//
// Thread-compatible.
class BidRanking {
 public:
  // For each of `ticks` ticks, in order, the shard whose next pick it gets; shorter if picks lack.
  // Turns continue from call to call. Precondition: several shards never bid forced pages.
  [[nodiscard]] std::vector<size_t> Rank(const std::vector<ShardBid>& bids, size_t ticks);
  // Whether forced page `a` goes before forced page `b`.
  [[nodiscard]] bool GoesBefore(const Pick& a, const Pick& b) const {
    return forced_.Of(a.forced) < forced_.Of(b.forced);
  }
  // A forced page got a tick in its turn.
  void NoteForced(const Pick& pick) { forced_.Note(pick.forced); }
  // Whether a tick for which both kinds have a page goes to plans.
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
