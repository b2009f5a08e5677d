#include "server/engine/bids.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/base/check.h"

namespace freshet {
namespace {

// The remaining bids of all shards that bid by value, or of all that bid by plan.
struct Kind {
  std::optional<size_t> shard;  // the shard whose next pick has the highest value
  double value = 0;             // value of that pick
  uint64_t pages = 0;           // pages of all bidding shards
};

// Returns the two kinds: by value, by plan. `taken`: the number of picks already taken from each
// shard.
std::array<Kind, 2> NextOf(const std::vector<ShardBid>& bids, const std::vector<size_t>& taken) {
  std::array<Kind, 2> kinds;
  for (size_t shard = 0; shard < bids.size(); ++shard) {
    const std::vector<Pick>& picks = bids[shard].picks;
    if (picks.empty()) continue;
    Kind& kind = kinds[picks.front().planned ? 1 : 0];
    kind.pages += bids[shard].pages;
    if (taken[shard] == picks.size()) continue;
    const Pick& next = picks[taken[shard]];
    DCHECK(next.planned == picks.front().planned);
    if (kind.shard && next.value <= kind.value) continue;
    kind.shard = shard;
    kind.value = next.value;
  }
  return kinds;
}

}  // namespace

bool BidRanking::TurnOfPlans(uint64_t planned_pages, uint64_t valued_pages) {
  const uint64_t pages = std::max<uint64_t>(1, planned_pages + valued_pages);
  owed_to_plans_ += static_cast<double>(planned_pages) / static_cast<double>(pages);
  if (owed_to_plans_ < 0.5) return false;
  owed_to_plans_ -= 1;
  return true;
}

std::vector<size_t> BidRanking::Rank(const std::vector<ShardBid>& bids, size_t ticks) {
  std::vector<size_t> ranked;
  std::vector<size_t> taken(bids.size(), 0);
  while (ranked.size() < ticks) {
    const auto [valued, planned] = NextOf(bids, taken);
    if (!valued.shard && !planned.shard) break;
    bool by_plan = !valued.shard;
    if (valued.shard && planned.shard) by_plan = TurnOfPlans(planned.pages, valued.pages);
    const size_t shard = by_plan ? *planned.shard : *valued.shard;
    ++taken[shard];
    ranked.push_back(shard);
  }
  return ranked;
}

}  // namespace freshet
