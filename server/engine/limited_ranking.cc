#include "server/engine/limited_ranking.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "core/base/check.h"

namespace freshet {
namespace {

bool IsForced(const Pick& pick) { return std::isinf(pick.value); }

// The bid of one shard up to the present tick. Picks that the tick can get are in one heap for each
// class, the highest value first. Forced pages are in one heap for each class and crawl id, so that
// none waits behind a page of another crawl id whose turn comes later.
class Table {
 public:
  Table(const ShardBid& bid, const GroupLedger* ledger) : bid_(bid), ledger_(ledger) {
    CHECK(bid.of_tick.size() == bid.picks.size(), "{} picks, {} ticks", bid.picks.size(),
          bid.of_tick.size());
    hosts_again_ = std::any_of(bid.picks.begin(), bid.picks.end(),
                               [](const Pick& pick) { return pick.host_again; });
  }

  // Makes available the picks that were bid for ticks up to this one.
  void Release(size_t tick, Instant at) {
    while (released_ < bid_.picks.size() && bid_.of_tick[released_] <= tick) Put(released_++);
    while (!closed_.empty() && closed_.front().free_at <= at) {
      std::pop_heap(closed_.begin(), closed_.end());
      Put(closed_.back().pick);
      closed_.pop_back();
    }
  }
  // The pick with the highest value among the unforced picks of these classes whose host and group
  // are free at `at`.
  [[nodiscard]] std::optional<size_t> Best(ClassSet among, Instant at) {
    std::optional<size_t> best;
    for (ClassSet left = among & by_worth_; left != 0; left &= left - 1) {
      const std::optional<size_t> top = Top(by_class_[std::countr_zero(left)], at);
      if (!top) by_worth_ &= ~(left & -left);
      if (top && (!best || Dearer(*top, *best))) best = top;
    }
    return best;
  }
  // The forced pick of these classes whose turn is first.
  [[nodiscard]] std::optional<size_t> BestForced(ClassSet among, Instant at,
                                                 const BidRanking& ranking) {
    std::optional<size_t> best;
    for (Forced& its : forced_) {
      if ((among & SetOf(its.crawl_class)) == 0) continue;
      const std::optional<size_t> top = Top(its.heap, at);
      if (!top) continue;
      if (!best || ranking.GoesBefore(bid_.picks[*top], bid_.picks[*best])) best = top;
    }
    return best;
  }
  // Returns the highest value of the picks of these classes that were bid for exactly this tick, if
  // none of them is available. Returns a negative number if one is available or none was bid.
  [[nodiscard]] double DearestInVain(size_t tick, ClassSet among, Instant at) const {
    double dearest = -1;
    for (size_t i = released_; i > 0 && bid_.of_tick[i - 1] == tick; --i) {
      const Pick& pick = bid_.picks[i - 1];
      if ((among & SetOf(pick.crawl_class)) == 0) continue;
      if (FreeAt(pick) <= at) return -1;
      dearest = std::max(dearest, pick.out_of_turn ? 0 : pick.value);
    }
    return dearest;
  }
  // Takes a pick. Precondition: the pick is on top of its heap, where Best or BestForced found it.
  void Take(size_t pick, Instant at) {
    Pop(HeapOf(pick));
    if (hosts_again_) last_[bid_.picks[pick].host] = at;
  }

 private:
  struct Closed {
    Instant free_at;
    size_t pick = 0;
    // Orders a heap so that the pick that is free first is on top.
    bool operator<(const Closed& other) const { return free_at > other.free_at; }
  };
  using Heap = std::vector<size_t>;
  struct Forced {
    CrawlClass crawl_class = 0;
    uint64_t crawl = 0;
    Heap heap;
  };

  // Returns true if pick `a` goes first: it has the higher value, or the same value and was bid
  // earlier.
  [[nodiscard]] bool Dearer(size_t a, size_t b) const {
    const double value_a = bid_.picks[a].value;
    const double value_b = bid_.picks[b].value;
    return value_a != value_b ? value_a > value_b : a < b;
  }
  void Put(size_t pick) {
    Heap& heap = HeapOf(pick);
    heap.push_back(pick);
    std::push_heap(heap.begin(), heap.end(), [this](size_t a, size_t b) { return Dearer(b, a); });
  }
  void Pop(Heap& heap) {
    std::pop_heap(heap.begin(), heap.end(), [this](size_t a, size_t b) { return Dearer(b, a); });
    heap.pop_back();
  }
  [[nodiscard]] Heap& HeapOf(size_t number) {
    const Pick& pick = bid_.picks[number];
    if (!IsForced(pick)) {
      by_worth_ |= SetOf(pick.crawl_class);
      return by_class_[pick.crawl_class];
    }
    const auto its = std::find_if(forced_.begin(), forced_.end(), [&pick](const Forced& other) {
      return other.crawl_class == pick.crawl_class && other.crawl == pick.forced.crawl;
    });
    if (its != forced_.end()) return its->heap;
    return forced_.emplace_back(Forced{pick.crawl_class, pick.forced.crawl, {}}).heap;
  }
  [[nodiscard]] Instant FreeAt(const Pick& pick) const {
    const bool grouped = ledger_ != nullptr && pick.group != GroupKey();
    const Instant group = grouped ? ledger_->FreeAt(pick.group, pick.group_terms) : Instant();
    const auto last = hosts_again_ ? last_.find(pick.host) : last_.end();
    return last == last_.end() ? group : std::max(group, last->second + pick.host_delay);
  }
  [[nodiscard]] std::optional<size_t> Top(Heap& heap, Instant at) {
    while (!heap.empty()) {
      const size_t top = heap.front();
      const Instant free_at = FreeAt(bid_.picks[top]);
      if (free_at <= at) return top;
      Pop(heap);
      if (free_at.infinite()) continue;
      closed_.push_back({free_at, top});
      std::push_heap(closed_.begin(), closed_.end());
    }
    return std::nullopt;
  }

  const ShardBid& bid_;
  const GroupLedger* ledger_;
  std::array<Heap, limits::kMaxCrawlClasses> by_class_;
  ClassSet by_worth_ = 0;  // classes whose heaps may have picks
  std::vector<Forced> forced_;
  size_t released_ = 0;
  std::vector<Closed> closed_;  // heap of picks whose host or group is free later
  // True if pages of one host were bid for several ticks. These pages can get later ticks than they
  // were bid for, and the ticks can then be too close together.
  bool hosts_again_ = false;
  absl::flat_hash_map<HostId, Instant> last_;  // the last tick that each host got
};

class LimitedRanking {
 public:
  LimitedRanking(const std::vector<ShardBid>& bids, const std::vector<Instant>& at,
                 const TickOwners& owners, BidRanking& ranking, GroupLedger* ledger,
                 const FindTaker& find_taker)
      : bids_(bids),
        at_(at),
        owners_(owners),
        room_(owners),
        ranking_(ranking),
        ledger_(ledger),
        find_taker_(find_taker) {
    tables_.reserve(bids.size());
    for (const ShardBid& bid : bids) {
      tables_.emplace_back(bid, ledger);
      if (!bid.picks.empty()) pages_[bid.picks.front().planned ? 1 : 0] += bid.pages;
    }
  }

  RankedBids Rank() {
    RankedBids ranked;
    for (size_t tick = 0; tick < at_.size(); ++tick) {
      for (Table& table : tables_) table.Release(tick, at_[tick]);
      const ClassSet its = owners_.of_tick.empty() ? kAllClasses : owners_.of_tick[tick];
      std::optional<TakenBid> best = Best(its & room_.open(), tick);
      ranked.cut = MayHideBetter(tick, its, best ? ValueOf(*best) : -1);
      if (!best && !ranked.cut && its != kAllClasses) {
        best = Best(room_.open(), tick);
        ranked.cut = MayHideBetter(tick, kAllClasses, best ? ValueOf(*best) : -1);
      }
      if (ranked.cut) break;
      if (!best) continue;
      if (find_taker_ && !find_taker_(tick, PickOf(*best))) {
        // If a plan picked the page, it has no class, and other pages can still have takers. If
        // not, the last worker that takes this class has used up its credit, and the class must be
        // left out of the next request.
        ranked.cut = !PickOf(*best).planned;
        if (ranked.cut) break;
        continue;
      }
      Take(*best);
      ranked.taken.push_back(*best);
    }
    return ranked;
  }

 private:
  // Returns true if a shard may have an unbid page of these classes with a higher value than
  // `value` at this tick. This is possible only if the shard's best page, which it bid for this
  // tick, is not available.
  [[nodiscard]] bool MayHideBetter(size_t tick, ClassSet among, double value) {
    for (size_t shard = 0; shard < bids_.size(); ++shard) {
      const ShardBid& bid = bids_[shard];
      const auto in = [tick](const std::vector<uint32_t>& ticks) {
        return std::binary_search(ticks.begin(), ticks.end(), tick);
      };
      if (in(bid.without_more) || (among != kAllClasses && in(bid.without_owner))) continue;
      if (tables_[shard].DearestInVain(tick, among & room_.open(), at_[tick]) > value) return true;
    }
    return false;
  }

  [[nodiscard]] std::optional<TakenBid> Best(ClassSet among, size_t tick) {
    const bool forced_first = owners_.ForcedFirst(tick);
    std::optional<TakenBid> best =
        forced_first ? BestForced(among, tick) : BestByWorth(among, tick);
    if (!best) best = forced_first ? BestByWorth(among, tick) : BestForced(among, tick);
    return best;
  }

  [[nodiscard]] std::optional<TakenBid> BestForced(ClassSet among, size_t tick) {
    std::optional<TakenBid> best;
    for (size_t shard = 0; shard < bids_.size(); ++shard) {
      const std::optional<size_t> pick = tables_[shard].BestForced(among, at_[tick], ranking_);
      if (!pick) continue;
      if (best && !ranking_.GoesBefore(bids_[shard].picks[*pick], PickOf(*best))) continue;
      best = TakenBid{.tick = tick, .shard = shard, .pick = *pick};
    }
    return best;
  }

  [[nodiscard]] std::optional<TakenBid> BestByWorth(ClassSet among, size_t tick) {
    // The best pick of each kind: by value, by plan.
    std::array<std::optional<TakenBid>, 2> kinds;
    for (size_t shard = 0; shard < bids_.size(); ++shard) {
      const std::optional<size_t> pick = tables_[shard].Best(among, at_[tick]);
      if (!pick) continue;
      std::optional<TakenBid>& best = kinds[bids_[shard].picks[*pick].planned ? 1 : 0];
      if (best && ValueOf(*best) >= bids_[shard].picks[*pick].value) continue;
      best = TakenBid{.tick = tick, .shard = shard, .pick = *pick};
    }
    const auto& [valued, planned] = kinds;
    return ByPlan(valued, planned) ? planned : valued;
  }

  void Take(const TakenBid& bid) {
    const Pick& pick = bids_[bid.shard].picks[bid.pick];
    const Instant at = at_[bid.tick];
    tables_[bid.shard].Take(bid.pick, at);
    if (IsForced(pick) && owners_.ForcedFirst(bid.tick)) ranking_.NoteForced(pick);
    if (!pick.planned) (void)room_.UseUp(pick.crawl_class);
    if (ledger_ != nullptr && pick.group != GroupKey()) {
      ledger_->Take(bid.shard, pick.group, pick.group_terms, at);
    }
  }

  [[nodiscard]] bool ByPlan(const std::optional<TakenBid>& valued,
                            const std::optional<TakenBid>& planned) {
    if (!valued || !planned) return planned.has_value();
    return ranking_.TurnOfPlans(pages_[1], pages_[0]);
  }
  [[nodiscard]] const Pick& PickOf(const TakenBid& bid) const {
    return bids_[bid.shard].picks[bid.pick];
  }
  // The value of a pick; 0 for a forced page at a tick that is not for forced pages.
  [[nodiscard]] double ValueOf(const TakenBid& bid) const {
    const Pick& pick = PickOf(bid);
    return IsForced(pick) && !owners_.ForcedFirst(bid.tick) ? 0 : pick.value;
  }

  const std::vector<ShardBid>& bids_;
  const std::vector<Instant>& at_;
  const TickOwners& owners_;
  ClassRoom room_;
  BidRanking& ranking_;
  GroupLedger* ledger_;
  const FindTaker& find_taker_;
  std::vector<Table> tables_;        // one for each shard
  std::array<uint64_t, 2> pages_{};  // pages of bidding shards, by kind
};

bool AnyPick(const std::vector<ShardBid>& bids, bool (*is)(const Pick&)) {
  return std::any_of(bids.begin(), bids.end(), [is](const ShardBid& bid) {
    return std::any_of(bid.picks.begin(), bid.picks.end(), is);
  });
}

}  // namespace

RankedBids RankBids(const std::vector<ShardBid>& bids, const std::vector<Instant>& at,
                    const TickOwners& owners, BidRanking& ranking, GroupLedger* ledger,
                    const FindTaker& find_taker) {
  const bool planned = AnyPick(bids, [](const Pick& pick) { return pick.planned; });
  const TickOwners nobody = {.of_tick = {}, .limited = {}, .forced_first = owners.forced_first};
  const TickOwners& owned_by = planned ? nobody : owners;
  // If a shard had no page for a tick, its later picks must still get the ticks for which they were
  // picked.
  const bool gaps = std::any_of(bids.begin(), bids.end(), [](const ShardBid& bid) {
    return !bid.picks.empty() && !bid.without_more.empty();
  });
  const bool hosts_again =
      bids.size() > 1 && AnyPick(bids, [](const Pick& pick) { return pick.host_again; });
  const bool grouped =
      ledger != nullptr && AnyPick(bids, [](const Pick& pick) { return pick.group != GroupKey(); });
  const bool forced = bids.size() > 1 && AnyPick(bids, IsForced);
  const bool limited = find_taker || !owned_by.of_tick.empty() || forced;
  if (grouped || hosts_again || gaps || limited) {
    return LimitedRanking(bids, at, owned_by, ranking, ledger, find_taker).Rank();
  }
  RankedBids ranked;
  std::vector<size_t> taken(bids.size(), 0);
  for (const size_t shard : ranking.Rank(bids, at.size())) {
    ranked.taken.push_back({.tick = ranked.taken.size(), .shard = shard, .pick = taken[shard]++});
  }
  return ranked;
}

}  // namespace freshet
