#include "server/engine/bidding.h"

#include <utility>

#include "core/base/check.h"
#include "core/schedule/shard_state.h"
#include "server/engine/router.h"

namespace freshet {
namespace {

std::vector<Instant> TicksOf(const Refill& refill) {
  std::vector<Instant> ticks;
  ticks.reserve(refill.terms.size());
  for (const LeaseTerms& terms : refill.terms) ticks.push_back(terms.at);
  return ticks;
}

}  // namespace

Bidding::Bidding(Router& router, Clock& clock, FindWorker find_worker, Finish finish)
    : router_(router),
      clock_(clock),
      find_worker_(std::move(find_worker)),
      finish_(std::move(finish)),
      groups_(router.shards().size()) {}

void Bidding::Send(const std::shared_ptr<Refill>& refill) {
  const auto& shards = router_.shards();
  const std::vector<Instant> ticks = TicksOf(*refill);
  std::vector<std::vector<GroupNews>> news;
  {
    const MutexLock lock(mutex_);
    news = groups_.TakeNews();
  }
  for (size_t shard = 0; shard < shards.size(); ++shard) {
    BidRequest request{.at = ticks,
                       .owners = refill->owners,
                       .groups = std::move(news[shard]),
                       .others = shards.size() > 1,
                       .done = {}};
    request.done = [this, refill, shard](ShardBid bid) {
      refill->bids[shard] = std::move(bid);
      if (refill->bid.Arrive()) Settle(refill);
    };
    shards[shard]->Submit(std::move(request));
  }
}

RankedBids Bidding::Rank(Refill& refill) {
  const std::vector<Instant> ticks = TicksOf(refill);
  const MutexLock lock(mutex_);
  GroupLedger* const ledger = refill.bids.size() > 1 ? &groups_ : nullptr;
  const auto find_taker = [&](size_t tick, const Pick& pick) {
    return find_worker_(refill, tick, pick);
  };
  return RankBids(refill.bids, ticks, refill.owners, ranking_, ledger,
                  refill.open ? FindTaker(find_taker) : nullptr);
}

void Bidding::OnGroups(uint16_t shard, const std::vector<GroupStanding>& standings) {
  if (router_.shards().size() == 1) return;  // a single shard tracks all groups itself
  const MutexLock lock(mutex_);
  groups_.Hear(shard, standings, clock_.Now());
}

void Bidding::Settle(const std::shared_ptr<Refill>& refill) {
  const auto& shards = router_.shards();
  std::vector<SettleRequest> requests(shards.size());
  std::vector<std::vector<size_t>> places(shards.size());
  std::vector<std::vector<bool>> taken(shards.size());
  for (size_t shard = 0; shard < shards.size(); ++shard) {
    refill->bids[shard].pages = shards[shard]->snapshot().counters.pages;
    taken[shard].resize(refill->bids[shard].picks.size());
  }
  const RankedBids ranked = Rank(*refill);
  refill->cut = ranked.cut;
  const bool owned = !refill->owners.of_tick.empty();
  if (owned) refill->classes.resize(refill->terms.size());
  refill->spacings.resize(refill->terms.size());
  for (const auto& [term, shard, i] : ranked.taken) {
    CHECK(i < taken[shard].size() && !taken[shard][i], "shard {} bids {} pages", shard,
          taken[shard].size());
    const Pick& pick = refill->bids[shard].picks[i];
    taken[shard][i] = true;
    if (owned) refill->classes[term] = pick.crawl_class;
    refill->spacings[term] = {
        .of_host = pick.host_delay, .group = pick.group, .of_group = pick.group_terms.min_delay};
    requests[shard].leases.push_back({.pick = pick, .terms = refill->terms[term]});
    places[shard].push_back(term);
  }
  refill->assignments.resize(refill->terms.size());
  for (size_t shard = 0; shard < shards.size(); ++shard) {
    const std::vector<Pick>& picks = refill->bids[shard].picks;
    for (size_t i = 0; i < picks.size(); ++i) {
      if (!taken[shard][i]) requests[shard].put_back.push_back(picks[i].page);
    }
    requests[shard].done = [this, refill, place = std::move(places[shard])](
                               std::vector<std::optional<Assignment>> assignments) {
      CHECK(assignments.size() == place.size(), "{} answers to {} picks", assignments.size(),
            place.size());
      for (size_t i = 0; i < place.size(); ++i) {
        refill->assignments[place[i]] = std::move(assignments[i]);
      }
      if (refill->settled.Arrive()) finish_(*refill);
    };
    shards[shard]->Submit(std::move(requests[shard]));
  }
}

}  // namespace freshet
