// Ranks bids where not every page may have every tick. Crawl ids may own ticks (tick_shares.h), and
// groups of hosts may be limited over all shards (group_ledger.h). A host with several ticks needs
// its delay between them, and forced pages go first only at some ticks
// (core/schedule/forced_share.h).
#ifndef FRESHET_SERVER_ENGINE_LIMITED_RANKING_H_
#define FRESHET_SERVER_ENGINE_LIMITED_RANKING_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/base/units.h"
#include "server/engine/bids.h"
#include "server/engine/group_ledger.h"
#include "server/engine/tick_shares.h"

namespace freshet {

struct RankedBids {
  std::vector<TakenBid> taken;  // by tick, without ticks that have no page
  // Whether ticks from some one on got nothing, because a shard may have a better page than all
  // bids: ask for them again.
  bool cut = false;
};

// Finds a taker for the page that this tick would get, if workers take pages of some crawl ids
// only; false = there is none.
using FindTaker = std::function<bool(size_t tick, const Pick& pick)>;

// Chooses the pages for the ticks at `at`; by `ranking` alone if nothing is limited. Taken pages of
// groups are noted in `ledger`, which has heard of all standings in `bids`; nullptr = a single
// shard knows all of its groups. Owners do not count while a shard bids by a plan, which knows
// none. `find_taker` unset = all pages have takers.
//
// Over several shards a forced page goes first at ticks for forced pages, and at other ticks if
// there is no other page. Apart from that a tick gets the best page of its owner, or of all if the
// owner has none. The page's class and group must have room at the tick, and the class a taker. If
// the best page asked for has no taker any more, the ranking ends. A shard bids its best for each
// tick: if none of that is available and the shard did not bid all its pages, the ranking ends. A
// page held up only by another of its host or group that was bid and has no tick yet competes again
// in the next bid.
[[nodiscard]] RankedBids RankBids(const std::vector<ShardBid>& bids, const std::vector<Instant>& at,
                                  const TickOwners& owners, BidRanking& ranking,
                                  GroupLedger* ledger, const FindTaker& find_taker = nullptr);

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_LIMITED_RANKING_H_
