// Tests groups of hosts on several shards. No limit is ever exceeded, and every pick is compared
// with all pages, one by one: it is the best page whose host and group are free. Some tests add
// shares of crawl ids.
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/random.h"
#include "core/schedule/classed_index.h"
#include "core/schedule/host_gate.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/engine/group_ledger.h"
#include "server/engine/limited_ranking.h"
#include "server/engine/tick_shares.h"

namespace freshet {
namespace {

constexpr Instant kBegin = Instant::FromUnixSeconds(1'700'000'000);
constexpr Duration kTick = Duration::Millis(10);
constexpr CrawlClass kSharing = 1;
// Pages change so slowly that their values stay the same during a hand-out.
constexpr double kChangeRate = 1e-6;

struct GroupedPage {
  IndexEntry entry;
  CrawlClass crawl_class = 0;
  bool out = false;
};

using Groups = std::vector<std::shared_ptr<const HostGroup>>;

// The pages, hosts, gate and index of a shard, kept consistent as a shard does. Thread-compatible.
class GroupedShard {
 public:
  // Puts host i into groups[i % groups.size()]; nullptr = no group.
  GroupedShard(uint64_t seed, const Groups& groups, uint32_t hosts, uint32_t pages)
      : random_(seed) {
    for (uint32_t i = 0; i < hosts; ++i) {
      const HostId host = gate_.Intern(fmt::format("{}.{}.test", i, seed));
      gate_.SetGroup(host, groups[i % groups.size()]);
      HostChanged(host);
    }
    for (uint32_t i = 0; i < pages; ++i) {
      GroupedPage page;
      PageRates rates;
      rates.change_rate = rates.unsignalled_rate = rates.staleness_rate =
          kChangeRate * (0.5 + random_.Uniform());
      page.entry.policy = {.kind = PolicyKind::kGreedy};
      page.entry.rates = MakeIndexRates(1, rates);
      page.entry.since = SomeTimeBefore(kBegin);
      page.entry.host = HostId(static_cast<uint32_t>(random_.Below(hosts)));
      page.crawl_class = random_.Below(3) == 0 ? kSharing : CrawlClass{0};
      pages_.push_back(page);
      index_.Put(PageId(i), page.entry, page.crawl_class);
    }
  }

  ShardBid Bid(const TickOwners& owners, const std::vector<Instant>& at,
               const std::vector<GroupNews>& news, bool others) {
    ShardBid bid;
    for (const GroupNews& each : news) {
      const GroupId group = gate_.groups().Hear(each, at.front());
      if (group != GroupId()) index_.SetGroupFree(group, gate_.groups().FreeAt(group));
    }
    BidChoice choice(owners, others ? at.size() : 0);
    for (const Instant tick : at) {
      (void)choice.Bid([&](ClassSet among, bool) { return Take(tick, among); }, &bid);
    }
    bid.pages = pages_.size();
    return bid;
  }
  [[nodiscard]] std::vector<GroupStanding> TakeStandings() {
    std::vector<GroupStanding> standings;
    gate_.groups().TakeStandings(&standings);
    return standings;
  }
  void PutBack(const Pick& pick) {
    gate_.PutBack(HostOf(pick.page));
    index_.Resume(Id(pick.page));
    HostChanged(HostOf(pick.page));
  }
  void Lease(const Pick& pick, Instant at) {
    gate_.OpenLease(HostOf(pick.page), at);
    HostChanged(HostOf(pick.page));
  }
  // Ends a lease. The page gets a new value; all values are far apart.
  void End(PageNumber number, Instant at) {
    GroupedPage& page = this->page(number);
    gate_.EndLease(page.entry.host);
    page.entry.since = SomeTimeBefore(at);
    page.out = false;
    index_.Put(Id(number), page.entry, page.crawl_class);
    index_.Resume(Id(number));
    HostChanged(page.entry.host);
  }
  // Moves a random host without leases into another group. Returns the host's last assignment;
  // None() = the host has leases.
  Instant Move(const std::shared_ptr<const HostGroup>& group) {
    const HostId host(static_cast<uint32_t>(random_.Below(gate_.id_limit())));
    if (gate_.host(host).in_flight > 0) return Instant::None();
    gate_.SetGroup(host, group);
    HostChanged(host);
    return gate_.host(host).record.last_assignment;
  }

  [[nodiscard]] GroupedPage& page(PageNumber number) { return pages_[number.value()]; }
  [[nodiscard]] const std::vector<GroupedPage>& pages() const { return pages_; }
  [[nodiscard]] const HostGroup* GroupOf(HostId host) const {
    return gate_.groups().group(gate_.host(host).group).get();
  }

 private:
  Instant SomeTimeBefore(Instant at) {
    return at - Duration::FromSeconds(5 / kChangeRate * random_.Uniform());
  }
  static PageId Id(PageNumber page) { return PageId(static_cast<uint32_t>(page.value())); }
  [[nodiscard]] HostId HostOf(PageNumber number) const { return pages_[number.value()].entry.host; }
  void HostChanged(HostId host) {
    index_.SetHostFree(host, gate_.FreeAt(host));
    const GroupId group = gate_.host(host).group;
    index_.SetHostGroup(host, group);
    if (group != GroupId()) index_.SetGroupFree(group, gate_.groups().FreeAt(group));
  }
  std::optional<Pick> Take(Instant at, ClassSet among) {
    const auto best = index_.Best(at, among);
    if (!best) return std::nullopt;
    index_.Suspend(best->page);
    const HostId host = pages_[best->page.value()].entry.host;
    gate_.Pick(host, at);
    HostChanged(host);
    Pick pick{.page = PageNumber(best->page.value()),
              .value = best->value,
              .crawl_class = best->crawl_class,
              .host = host,
              .host_delay = HostSpacing(gate_.TermsOf(host)),
              .host_again = gate_.host(host).picks > 1};
    if (const auto& group = gate_.groups().group(gate_.host(host).group); group != nullptr) {
      pick.group = gate_.groups().key(gate_.host(host).group);
      pick.group_terms = group->terms;
    }
    return pick;
  }

  Random random_;
  HostGate gate_{PolitenessDefaults{.min_delay = Duration::Millis(15)}};
  ClassedIndex index_{gate_};
  std::vector<GroupedPage> pages_;
};

struct GroupLimitsCase {
  const char* name;
  size_t shards = 3;
  uint32_t hosts = 40;  // hosts of each shard
  bool shares = false;
  bool moves = false;
  bool all_grouped = false;
};

class GroupLimitsTest : public testing::TestWithParam<GroupLimitsCase> {
 protected:
  GroupLimitsTest() : ledger_(GetParam().shards) {
    const auto add = [this](Duration delay, uint32_t most) {
      groups_.push_back(std::make_shared<HostGroup>(
          HostGroup{.name = fmt::format("group {}", groups_.size()),
                    .terms = {.min_delay = delay, .max_in_flight = most}}));
    };
    add(Duration::Millis(35), 0);
    add(Duration(), 1);
    add(Duration(), 3);
    add(Duration::Millis(80), 2);
    if (!GetParam().all_grouped) groups_.resize(7);
    for (uint64_t i = 0; i < GetParam().shards; ++i) {
      shards_.push_back(std::make_unique<GroupedShard>(i + 1, groups_, GetParam().hosts, 300));
    }
    if (GetParam().shares) {
      shares_.Set({{.crawl_class = kSharing, .share = 0.4, .max_rate = std::nullopt}}, kBegin);
    }
  }

  // Hands out the next ticks and checks each pick.
  void HandOut(size_t count) {
    std::vector<Instant> at;
    for (size_t i = 0; i < count; ++i) at.push_back(now_ + kTick * static_cast<int64_t>(i));
    const TickOwners owners = shares_.Next(count, now_);
    const bool others = shards_.size() > 1;
    for (size_t i = 0; i < shards_.size(); ++i) {
      ledger_.Hear(i, shards_[i]->TakeStandings(), now_);
    }
    const auto news = ledger_.TakeNews();
    std::vector<ShardBid> bids;
    for (size_t i = 0; i < shards_.size(); ++i) {
      bids.push_back(shards_[i]->Bid(owners, at, news[i], others));
      ASSERT_LE(bids.back().picks.size(), 2 * count) << "spare picks are bounded";
    }
    const RankedBids ranked = RankBids(bids, at, owners, ranking_, others ? &ledger_ : nullptr);
    cut_ += ranked.cut ? 1 : 0;
    size_t next = 0;
    std::vector<std::vector<bool>>& taken = taken_;
    taken.assign(shards_.size(), {});
    bids_ = &bids;
    for (size_t i = 0; i < shards_.size(); ++i) taken[i].resize(bids[i].picks.size());
    for (size_t tick = 0; tick < count; ++tick) {
      const bool assigned = next < ranked.taken.size() && ranked.taken[next].tick == tick;
      const std::optional<double> best = BestOf(tick, owners, at[tick]);
      if (!assigned) {
        if (ranked.cut && next == ranked.taken.size()) break;
        ASSERT_FALSE(best) << "a tick without a page";
        continue;
      }
      const TakenBid& bid = ranked.taken[next++];
      const Pick& pick = bids[bid.shard].picks[bid.pick];
      GroupedPage& page = shards_[bid.shard]->page(pick.page);
      ASSERT_TRUE(best);
      ASSERT_NEAR(DecidingValue(page.entry, at[tick]), *best, 1e-6 * *best) << "tick " << tick;
      taken[bid.shard][bid.pick] = true;
      GoOut(bid.shard, pick, at[tick]);
    }
    for (size_t i = 0; i < shards_.size(); ++i) {
      for (size_t j = 0; j < taken[i].size(); ++j) {
        if (!taken[i][j]) shards_[i]->PutBack(bids[i].picks[j]);
      }
    }
    for (const auto& [shard, pick, tick] : going_out_) shards_[shard]->Lease(pick, tick);
    going_out_.clear();
    now_ = now_ + kTick * static_cast<int64_t>(count);
  }
  void EndSome() {
    for (size_t left = random_.Below(12); left > 0 && !out_.empty(); --left) {
      const size_t i = random_.Below(out_.size());
      const auto [shard, number] = out_[i];
      out_.erase(out_.begin() + static_cast<ptrdiff_t>(i));
      const HostGroup* group = shards_[shard]->GroupOf(shards_[shard]->page(number).entry.host);
      if (group != nullptr) --in_flight_[group->name];
      shards_[shard]->End(number, now_);
    }
  }
  void MoveSome() {
    const auto& group = groups_[random_.Below(groups_.size())];
    const Instant last = shards_[random_.Below(shards_.size())]->Move(group);
    if (group != nullptr) last_[group->name] = std::max(last_[group->name], last);
  }

  uint64_t assigned_ = 0;
  uint64_t grouped_ = 0;
  uint64_t cut_ = 0;
  Random random_{3};

 private:
  struct GoingOut {
    size_t shard = 0;
    Pick pick;
    Instant at;
  };

  // Checks that an assignment is within the limits of its group.
  void GoOut(size_t shard, const Pick& pick, Instant at) {
    GroupedPage& page = shards_[shard]->page(pick.page);
    ASSERT_FALSE(page.out);
    page.out = true;
    ++assigned_;
    host_free_[{shard, page.entry.host}] = at + Duration::Millis(15);
    going_out_.push_back({shard, pick, at});
    out_.emplace_back(shard, pick.page);
    shares_.Use(pick.crawl_class);
    const HostGroup* group = shards_[shard]->GroupOf(page.entry.host);
    if (group == nullptr) return;
    ++grouped_;
    ASSERT_TRUE(Free(*group, at)) << group->name << " at " << at.micros();
    ++in_flight_[group->name];
    last_[group->name] = at;
  }
  [[nodiscard]] bool Free(const HostGroup& group, Instant at) {
    const uint32_t most = group.terms.max_in_flight;
    if (most > 0 && in_flight_[group.name] >= most) return false;
    const Instant last = last_[group.name];
    return last.is_none() || last + group.terms.min_delay <= at;
  }
  // Returns the highest value among the pages that may get the tick.
  [[nodiscard]] std::optional<double> BestOf(size_t tick, const TickOwners& owners, Instant at) {
    const ClassSet its = owners.of_tick.empty() ? kAllClasses : owners.of_tick[tick];
    std::optional<double> best = BestAmong(its, tick, at);
    return best ? best : BestAmong(kAllClasses, tick, at);
  }
  // Returns true if `page` is hidden: in its place, the shard bid another page of the same host or
  // group, which has no tick yet. A hidden page competes again in the next hand-out.
  [[nodiscard]] bool Hidden(size_t shard, const GroupedPage& page, size_t tick) {
    const ShardBid& bid = (*bids_)[shard];
    const HostGroup* group = shards_[shard]->GroupOf(page.entry.host);
    bool hidden = false;
    for (size_t i = 0; i < bid.picks.size(); ++i) {
      if (bid.of_tick[i] > tick || taken_[shard][i]) continue;
      const GroupedPage& other = shards_[shard]->page(bid.picks[i].page);
      if (&other == &page) return false;
      hidden |= other.entry.host == page.entry.host ||
                (group != nullptr && group == shards_[shard]->GroupOf(other.entry.host));
    }
    return hidden;
  }
  [[nodiscard]] std::optional<double> BestAmong(ClassSet among, size_t tick, Instant at) {
    std::optional<double> best;
    for (size_t shard = 0; shard < shards_.size(); ++shard) {
      for (const GroupedPage& page : shards_[shard]->pages()) {
        if (page.out || (among & SetOf(page.crawl_class)) == 0) continue;
        if (host_free_[{shard, page.entry.host}] > at) continue;
        const HostGroup* group = shards_[shard]->GroupOf(page.entry.host);
        if (group != nullptr && !Free(*group, at)) continue;
        if (Hidden(shard, page, tick)) continue;
        const double value = DecidingValue(page.entry, at);
        if (!best || value > *best) best = value;
      }
    }
    return best;
  }

  Groups groups_;
  std::vector<std::unique_ptr<GroupedShard>> shards_;
  GroupLedger ledger_;
  BidRanking ranking_;
  TickShares shares_;
  Instant now_ = kBegin;
  std::map<std::string, uint32_t> in_flight_;
  std::map<std::string, Instant> last_;
  std::map<std::pair<size_t, HostId>, Instant> host_free_;
  std::vector<std::pair<size_t, PageNumber>> out_;
  std::vector<GoingOut> going_out_;
  // Bids of the current hand-out.
  const std::vector<ShardBid>* bids_ = nullptr;
  std::vector<std::vector<bool>> taken_;
};

TEST_P(GroupLimitsTest, HoldAndEveryPickIsTheBest) {
  constexpr int kRounds = 1500;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(fmt::format("round {}", round));
    ASSERT_NO_FATAL_FAILURE(HandOut(1 + random_.Below(8)));
    EndSome();
    if (GetParam().moves && random_.Below(4) == 0) MoveSome();
  }
  EXPECT_GT(assigned_, kRounds) << "ticks go on";
  EXPECT_GT(grouped_, kRounds / 5);
  // A hand-out that ends early costs another round of bids, so this must be rare.
  EXPECT_LT(cut_, kRounds / 2);
}

INSTANTIATE_TEST_SUITE_P(
    Shards, GroupLimitsTest,
    testing::Values(GroupLimitsCase{.name = "one", .shards = 1}, GroupLimitsCase{.name = "three"},
                    GroupLimitsCase{.name = "with_shares", .shares = true},
                    GroupLimitsCase{.name = "moving", .moves = true},
                    GroupLimitsCase{.name = "all_grouped", .hosts = 200, .all_grouped = true},
                    GroupLimitsCase{.name = "few_hosts_many_shards", .shards = 8, .hosts = 9}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace freshet
