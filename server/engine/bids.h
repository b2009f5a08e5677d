// Bids of several shards for the next ticks, and the ranking of bids by value alone.
// limited_ranking.h ranks bids if some pages must not be assigned at some ticks.
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
  std::vector<Pick> picks;        // all by value or all by plan, in the order of picking
  std::vector<uint32_t> of_tick;  // by pick: the tick for which it was picked
  // Both are in ascending order. `without_more`: ticks for which the shard had no further page to
  // bid. `without_owner`: ticks for which the shard had no page of the tick's owner.
  std::vector<uint32_t> without_more;
  std::vector<uint32_t> without_owner;
  uint64_t pages = 0;  // number of pages of the shard
};

// Chooses the bid of one shard. For each tick, the shard bids the best page of the tick's owner, or
// the best page of all if the owner has none. A bid can fail because its class is limited, or
// because other shards have pages of its group of hosts. After a bid that can fail, the shard also
// bids the next best page for the same tick. For limited classes, the shard can bid any number of
// extra pages. For groups, it stops when the spare picks are used up. Value type,
// thread-compatible.
class BidChoice {
 public:
  // `spare`: the number of extra picks, beyond one for each tick, that may be bid because of
  // groups; 0 = there are no other shards.
  BidChoice(const TickOwners& owners, size_t spare)
      : owners_(owners), room_(owners), spare_(spare) {}

  // Appends the bid for the next tick to `bid`; false = there is no page. `take(among,
  // forced_first)` takes the best page of these classes, like ShardState::Take.
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

// Ranks bids, the highest value first. During a change of policy, some shards can bid by value and
// others by the urgency of a plan, and the two cannot be compared. Ticks are then divided between
// the two kinds in proportion to their numbers of pages. Within a kind the highest value comes
// first. Crawl ids take turns with their forced pages (core/schedule/forced_turns.h).
//
// Thread-compatible.
class BidRanking {
 public:
  // Returns, for each of the `ticks` ticks in order, the shard whose next pick the tick gets. The
  // result is shorter if there are too few picks. The division between the two kinds continues from
  // call to call. Precondition: there is only one shard, or no bid has forced pages.
  [[nodiscard]] std::vector<size_t> Rank(const std::vector<ShardBid>& bids, size_t ticks);
  // Returns true if forced page `a` goes before forced page `b`.
  [[nodiscard]] bool GoesBefore(const Pick& a, const Pick& b) const {
    return forced_.Of(a.forced) < forced_.Of(b.forced);
  }
  // Notes that a forced page got a tick for forced pages.
  void NoteForced(const Pick& pick) { forced_.Note(pick.forced); }
  // Returns true if the next tick goes to the shards that bid by plan. Called for ticks at which
  // both kinds have a page.
  [[nodiscard]] bool TurnOfPlans(uint64_t planned_pages, uint64_t valued_pages);

 private:
  double owed_to_plans_ = 0;  // in ticks
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
