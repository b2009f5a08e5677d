// Ranks bids if some pages must not be assigned at some ticks. Crawl ids can own ticks
// (tick_shares.h), and groups of hosts can have limits over all shards (group_ledger.h). Several
// ticks of one host must be its delay apart, and forced pages go first only at some ticks
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
  std::vector<TakenBid> taken;  // ordered by tick; ticks without a page are left out
  // True if the ranking stopped before the last tick, because a shard may have a better page than
  // all bids, or a page has no taker. The caller must ask for pages for the remaining ticks again.
  bool cut = false;
};

// Finds a worker that takes the page that this tick would get; false = there is none. Used if some
// workers take only pages of some crawl ids.
using FindTaker = std::function<bool(size_t tick, const Pick& pick)>;

// Chooses the pages for the ticks at the instants `at`. Uses `ranking` alone if nothing is limited.
// Notes the chosen pages of groups in `ledger`, which must have received all standings of the
// bidding shards; nullptr = there is only one shard, which tracks its groups itself. Owners of
// ticks are ignored while a shard bids by a plan, because a plan knows no owners. `find_taker`
// unset = all pages have takers.
//
// With several shards, a forced page goes first at ticks for forced pages, and last at other ticks.
// Apart from that, a tick gets the best page of its owner, or the best page of all if the owner has
// none. The page's class and group must have room at the tick, and a worker must take the page. The
// ranking ends at the first tick whose best page has no taker, unless a plan picked the page. It
// also ends if none of a shard's bids for a tick is available and the shard has more pages, because
// an unbid page could be the best. A page that is held up only by another bid page of its host or
// group competes again in the next bid.
[[nodiscard]] RankedBids RankBids(const std::vector<ShardBid>& bids, const std::vector<Instant>& at,
                                  const TickOwners& owners, BidRanking& ranking,
                                  GroupLedger* ledger, const FindTaker& find_taker = nullptr);

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_LIMITED_RANKING_H_
