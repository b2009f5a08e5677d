// Which of the pages that shards bid each tick gets, where not every page may have it: ticks may be
// owned by crawl ids (tick_shares.h), groups of hosts limited over all shards (group_ledger.h), a
// host that was bid for several ticks needs its delay between those that it gets, and pages that
// are forced go first at some ticks only (core/schedule/forced_share.h).
#ifndef FRESHET_SERVER_ENGINE_LIMITED_RANKING_H_
#define FRESHET_SERVER_ENGINE_LIMITED_RANKING_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/units.h"
#include "server/engine/bids.h"
#include "server/engine/group_ledger.h"
#include "server/engine/tick_shares.h"

namespace freshet {

struct RankedBids {
  std::vector<TakenBid> taken;  // by tick; ticks without a page are left out
  // Ticks from some one on were given nothing, because a shard may have a better page for them than
  // all that was bid: they are to be asked for again.
  bool cut = false;
};

// Who takes the pages that ticks get, where workers take pages of some crawl ids only.
// Thread-compatible.
class BidTakers {
 public:
  virtual ~BidTakers() = default;
  // Finds somebody for the page that this tick would get; false: nobody takes it.
  [[nodiscard]] virtual bool Take(size_t tick, const Pick& pick) = 0;
};

// What the ticks at `at` get. By `ranking` where nothing is limited. Pages of groups that are taken
// are noted in `ledger`, which has heard of all standings in `bids`; null: there is one shard,
// which knows all of its groups. Owners mean nothing while a shard bids by a plan, which knows of
// none. `takers`: who takes the pages; null: there is somebody for all of them.
//
// Of several shards a page that is forced goes first at the ticks that are for such pages, and else
// where there is no other. But for that, the page that a tick gets is the best of those that may
// have it: of its owner or, where that has
// none, of all, of classes and groups that have room at the tick, and of classes of which somebody
// takes pages: where nobody takes the best of those that were asked for any more, the ranking ends.
// A shard has nothing better than what it bids for that tick; where none of this may be had, and
// the shard did not bid all it has, the ranking ends. A page that is eligible but for another one
// of its host or group that was bid and has no tick yet competes again with the next bid.
[[nodiscard]] RankedBids RankBids(const std::vector<ShardBid>& bids, const std::vector<Instant>& at,
                                  const TickOwners& owners, BidRanking& ranking,
                                  GroupLedger* ledger, BidTakers* takers = nullptr);

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_LIMITED_RANKING_H_
