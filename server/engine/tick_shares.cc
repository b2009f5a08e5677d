#include "server/engine/tick_shares.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/base/check.h"

namespace freshet {
namespace {

// The picks of one class that a shard has bid, the best first, and how many are taken.
struct Pile {
  std::vector<size_t> picks;
  size_t taken = 0;
};

// All that was bid, by shard and class.
class Piles {
 public:
  explicit Piles(const std::vector<ShardBid>& bids)
      : bids_(bids), piles_(bids.size()), classes_(bids.size()) {
    for (size_t shard = 0; shard < bids.size(); ++shard) {
      for (size_t i = 0; i < bids[shard].picks.size(); ++i) {
        const CrawlClass crawl_class = bids[shard].picks[i].crawl_class;
        piles_[shard][crawl_class].picks.push_back(i);
        classes_[shard] |= SetOf(crawl_class);
      }
    }
  }

  // Takes the best pick of these classes.
  std::optional<TakenBid> Take(ClassSet among) {
    const Pick* best = nullptr;
    TakenBid taken;
    Pile* from = nullptr;
    for (size_t shard = 0; shard < bids_.size(); ++shard) {
      for (ClassSet left = among & classes_[shard]; left != 0; left &= left - 1) {
        Pile& pile = piles_[shard][static_cast<size_t>(std::countr_zero(left))];
        if (pile.taken == pile.picks.size()) continue;
        const size_t i = pile.picks[pile.taken];
        const Pick& pick = bids_[shard].picks[i];
        if (best != nullptr && pick.value <= best->value) continue;
        best = &pick;
        from = &pile;
        taken = {.tick = 0, .shard = shard, .pick = i};
      }
    }
    if (best == nullptr) return std::nullopt;
    ++from->taken;
    return taken;
  }

 private:
  const std::vector<ShardBid>& bids_;
  std::vector<std::array<Pile, limits::kMaxCrawlClasses>> piles_;
  std::vector<ClassSet> classes_;  // that it bids pages of, by shard
};

}  // namespace

ClassRoom::ClassRoom(const TickOwners& owners) {
  left_.fill(UINT32_MAX);
  for (const auto& [crawl_class, most] : owners.limited) {
    left_[crawl_class] = most;
    if (most == 0) open_ &= ~SetOf(crawl_class);
  }
}

bool ClassRoom::UseUp(CrawlClass crawl_class) {
  uint32_t& left = left_[crawl_class];
  if (left == UINT32_MAX) return false;
  if (--left == 0) open_ &= ~SetOf(crawl_class);
  return true;
}

std::vector<TakenBid> RankByOwners(const std::vector<ShardBid>& bids, const TickOwners& owners) {
  CHECK(!owners.of_tick.empty() && bids.size() <= limits::kMaxShards);
  ClassRoom room(owners);
  Piles piles(bids);
  std::vector<TakenBid> ranked;
  for (size_t tick = 0; tick < owners.of_tick.size(); ++tick) {
    std::optional<TakenBid> taken = piles.Take(owners.of_tick[tick] & room.open());
    if (!taken) taken = piles.Take(room.open());
    if (!taken) break;
    taken->tick = tick;
    ranked.push_back(*taken);
    room.UseUp(bids[taken->shard].picks[taken->pick].crawl_class);
  }
  return ranked;
}

std::vector<TakenBid> RankBids(const std::vector<ShardBid>& bids, const TickOwners& owners,
                               size_t ticks, BidRanking& ranking) {
  const bool planned = std::any_of(bids.begin(), bids.end(), [](const ShardBid& bid) {
    return !bid.picks.empty() && bid.picks.front().planned;
  });
  if (!owners.of_tick.empty() && !planned) return RankByOwners(bids, owners);
  std::vector<TakenBid> ranked;
  std::vector<size_t> taken(bids.size(), 0);
  for (const size_t shard : ranking.Rank(bids, ticks)) {
    ranked.push_back({.tick = ranked.size(), .shard = shard, .pick = taken[shard]++});
  }
  return ranked;
}

void TickShares::Set(const std::vector<ClassTerms>& terms, Instant now) {
  Refill(now);
  shares_.assign(1, Share{.owners = kAllClasses, .part = 1});
  std::array<Bucket, limits::kMaxCrawlClasses> buckets{};
  any_ = !terms.empty();
  for (const ClassTerms& its : terms) {
    CHECK(its.crawl_class > 0 && its.crawl_class < limits::kMaxCrawlClasses, "class {}",
          its.crawl_class);
    if (its.max_rate) {
      Bucket& bucket = buckets[its.crawl_class];
      bucket.per_second = its.max_rate->per_second();
      bucket.tokens = std::min(buckets_[its.crawl_class].tokens, bucket.most());
    }
    if (!its.share) continue;
    shares_.front().owners &= ~SetOf(its.crawl_class);
    shares_.front().part -= *its.share;
    shares_.push_back({.owners = SetOf(its.crawl_class), .part = *its.share});
  }
  // Shares that sum to 1 leave nothing but what they do not use, whatever the rounding.
  constexpr double kNothing = 1e-9;
  if (shares_.front().part < kNothing) shares_.front().part = 0;
  buckets_ = buckets;
}

void TickShares::Refill(Instant now) {
  if (now <= refilled_) return;
  const double seconds = refilled_.is_none() ? 0 : (now - refilled_).seconds();
  refilled_ = now;
  for (Bucket& bucket : buckets_) {
    if (bucket.per_second == 0) continue;
    bucket.tokens = std::min(bucket.tokens + bucket.per_second * seconds, bucket.most());
  }
}

ClassSet TickShares::NextOwners() {
  Share* next = nullptr;
  for (Share& share : shares_) {
    share.owed += share.part;
    if (share.part > 0 && (next == nullptr || share.owed > next->owed)) next = &share;
  }
  CHECK(next != nullptr, "nobody has a share");
  next->owed -= 1;
  return next->owners;
}

TickOwners TickShares::Next(size_t ticks, Instant first) {
  TickOwners owners;
  if (!any_) return owners;
  Refill(first);
  owners.of_tick.reserve(ticks);
  for (size_t i = 0; i < ticks; ++i) owners.of_tick.push_back(NextOwners());
  for (size_t i = 1; i < buckets_.size(); ++i) {
    const Bucket& bucket = buckets_[i];
    if (bucket.per_second == 0) continue;
    const double most = std::max(0.0, std::floor(bucket.tokens));
    if (most >= static_cast<double>(ticks)) continue;
    owners.limited.emplace_back(static_cast<CrawlClass>(i), static_cast<uint32_t>(most));
  }
  return owners;
}

void TickShares::Use(CrawlClass crawl_class) {
  if (buckets_[crawl_class].per_second > 0) buckets_[crawl_class].tokens -= 1;
}

}  // namespace freshet
