// Tests shares and maxima of the crawl rate over many ticks and several shards. Every pick is
// compared with all pages that could have got the tick.
#include "server/engine/tick_shares.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include "core/base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/engine/limited_ranking.h"
#include "tests/server/engine/bidder.h"

namespace freshet {
namespace {

class TickSharesTest : public testing::Test {
 protected:
  TickSharesTest() {
    for (uint64_t i = 0; i < kShards; ++i) shards_.push_back(std::make_unique<Bidder>(i + 1));
  }

  // Hands out `ticks` ticks in small groups, and counts them by class.
  std::map<CrawlClass, int> Run(int ticks) {
    std::map<CrawlClass, int> counts;
    for (int done = 0; done < ticks;) {
      const size_t together = std::min<size_t>(1 + random_.Below(20), ticks - done);
      HandOut(together, &counts);
      done += static_cast<int>(together);
      now_ = now_ + Duration::FromSeconds(static_cast<double>(together) / kTicksPerSecond);
    }
    return counts;
  }
  void Offer(CrawlClass crawl_class, bool offered) {
    for (const auto& shard : shards_) shard->Offer(crawl_class, offered);
  }
  static ClassTerms Share(CrawlClass crawl_class, double share) {
    return {.crawl_class = crawl_class, .share = share, .max_rate = std::nullopt};
  }
  static ClassTerms Most(CrawlClass crawl_class, double per_second) {
    return {
        .crawl_class = crawl_class, .share = std::nullopt, .max_rate = Rate::PerSecond(per_second)};
  }

  TickShares shares_;
  Instant now_ = kFirst;
  std::vector<Instant> capped_;  // times of assignments of kCapped

 private:
  void HandOut(size_t ticks, std::map<CrawlClass, int>* counts) {
    const TickOwners owners = shares_.Next(ticks, now_);
    ASSERT_EQ(owners.of_tick.size(), ticks);
    std::vector<ShardBid> bids;
    for (const auto& shard : shards_) bids.push_back(shard->Bid(owners, ticks, now_));
    const std::vector<TakenBid> ranked =
        RankBids(bids, std::vector<Instant>(ticks, now_), owners, ranking_, nullptr).taken;
    ASSERT_EQ(ranked.size(), ticks);
    Check(bids, owners, ranked);
    std::vector<std::vector<bool>> taken(kShards);
    for (size_t i = 0; i < kShards; ++i) taken[i].resize(bids[i].picks.size());
    for (const TakenBid& bid : ranked) {
      taken[bid.shard][bid.pick] = true;
      const Pick& pick = bids[bid.shard].picks[bid.pick];
      ++(*counts)[pick.crawl_class];
      shares_.Use(pick.crawl_class);
      if (pick.crawl_class == kCapped) capped_.push_back(now_);
      shards_[bid.shard]->at(pick.page).taken = false;
      shards_[bid.shard]->Crawl(pick.page, now_);
    }
    for (size_t i = 0; i < kShards; ++i) {
      for (size_t j = 0; j < taken[i].size(); ++j) {
        if (!taken[i][j]) shards_[i]->PutBack(bids[i].picks[j].page);
      }
    }
  }

  // Checks that each pick is the best page of a class that owns the tick or, if there is none, the
  // best page of any class. Classes that have reached their limit do not count.
  void Check(const std::vector<ShardBid>& bids, const TickOwners& owners,
             const std::vector<TakenBid>& ranked) {
    std::map<CrawlClass, uint32_t> left(owners.limited.begin(), owners.limited.end());
    for (const TakenBid& bid : ranked) {
      ClassSet open = kAllClasses;
      for (const auto& [crawl_class, most] : left) {
        if (most == 0) open &= ~SetOf(crawl_class);
      }
      double best = BestOf(owners.of_tick[bid.tick] & open);
      const bool used_by_owner = best >= 0;
      if (!used_by_owner) best = BestOf(open);
      const Pick& pick = bids[bid.shard].picks[bid.pick];
      const ClassSet its = SetOf(pick.crawl_class);
      ASSERT_NE(its & open, 0U);
      if (used_by_owner) {
        ASSERT_NE(its & owners.of_tick[bid.tick], 0U);
      }
      Bidder::Page& page = shards_[bid.shard]->at(pick.page);
      // Rates have single precision.
      ASSERT_NEAR(DecidingValue(page.entry, now_), best, 1e-6 * best);
      page.taken = true;
      if (const auto it = left.find(pick.crawl_class); it != left.end()) --it->second;
    }
  }
  [[nodiscard]] double BestOf(ClassSet among) const {
    double best = -1;
    for (const auto& shard : shards_) best = std::max(best, shard->BestOf(among, now_));
    return best;
  }

  BidRanking ranking_;
  Random random_{11};
  std::vector<std::unique_ptr<Bidder>> shards_;
};

// Expects `count` to be the share of `ticks`, within 2% or one tick.
#define EXPECT_SHARE(count, share, ticks) \
  EXPECT_NEAR(count, (share) * (ticks), std::max(1.0, 0.02 * (share) * (ticks)))

TEST_F(TickSharesTest, HoldsSharesWithExactPicksOverAHundredThousandTicks) {
  shares_.Set({Share(kDear, 0.3), Share(kCheap, 0.2), Most(kCapped, 5)}, now_);
  constexpr int kTicks = 40'000;
  auto counts = Run(kTicks);
  EXPECT_SHARE(counts[kDear], 0.3, kTicks);
  EXPECT_SHARE(counts[kCheap], 0.2, kTicks);
  EXPECT_SHARE(counts[kCapped], 5 / kTicksPerSecond, kTicks);
  EXPECT_SHARE(counts[kCommon], 0.5 - 5 / kTicksPerSecond, kTicks);

  // Unused ticks of kDear go to other classes by value. kCheap keeps its share and gets no more.
  Offer(kDear, false);
  counts = Run(kTicks);
  EXPECT_EQ(counts[kDear], 0);
  EXPECT_SHARE(counts[kCheap], 0.2, kTicks);
  EXPECT_SHARE(counts[kCommon], 0.8 - 5 / kTicksPerSecond, kTicks);

  // Ticks that no other class uses go to kCheap.
  Offer(kCommon, false);
  counts = Run(10'000);
  EXPECT_SHARE(counts[kCapped], 5 / kTicksPerSecond, 10'000);
  EXPECT_SHARE(counts[kCheap], 1 - 5 / kTicksPerSecond, 10'000);

  // A class that returns has its share at once, without compensation for unused ticks.
  Offer(kDear, true);
  Offer(kCommon, true);
  counts = Run(10'000);
  EXPECT_SHARE(counts[kDear], 0.3, 10'000);
  EXPECT_SHARE(counts[kCheap], 0.2, 10'000);
}

TEST_F(TickSharesTest, SharesHoldOverShortRunsOfTicksToo) {
  shares_.Set({Share(kDear, 0.1), Share(kCheap, 0.25)}, now_);
  for (int i = 0; i < 200; ++i) {
    auto counts = Run(100);
    EXPECT_NEAR(counts[kDear], 10, 2);
    EXPECT_NEAR(counts[kCheap], 25, 2);
  }
}

TEST_F(TickSharesTest, ChangesOfSharesHoldFromTheNextTick) {
  shares_.Set({Share(kDear, 0.3), Share(kCheap, 0.2)}, now_);
  (void)Run(1000);
  shares_.Set({Share(kDear, 0.05), Share(kCheap, 0.9)}, now_);
  auto counts = Run(10'000);
  EXPECT_SHARE(counts[kDear], 0.05, 10'000);
  EXPECT_SHARE(counts[kCheap], 0.9, 10'000);
  shares_.Set({Share(kCheap, 1)}, now_);
  counts = Run(10'000);
  EXPECT_EQ(counts[kCheap], 10'000);
  Offer(kCheap, false);
  counts = Run(1000);
  EXPECT_EQ(counts[kCheap], 0);
  // After a restart, the shares apply, but the past is forgotten.
  Offer(kCheap, true);
  shares_ = TickShares();
  shares_.Set({Share(kDear, 0.3), Share(kCheap, 0.2)}, now_);
  counts = Run(10'000);
  EXPECT_SHARE(counts[kDear], 0.3, 10'000);
  EXPECT_SHARE(counts[kCheap], 0.2, 10'000);
}

TEST_F(TickSharesTest, AMaximumHoldsInEveryWindow) {
  constexpr double kMost = 7.5;
  shares_.Set({Most(kCapped, kMost)}, now_);
  Offer(kCapped, false);
  (void)Run(2000);
  Offer(kCapped, true);  // after it has saved up as many ticks as possible
  (void)Run(20'000);
  ASSERT_GT(capped_.size(), 1000U);
  for (size_t from = 0; from < capped_.size(); ++from) {
    for (size_t to = from; to < std::min(capped_.size(), from + 100); ++to) {
      const double seconds = (capped_[to] - capped_[from]).seconds();
      ASSERT_LE(static_cast<double>(to - from + 1), kMost * seconds + kMost + 1);
    }
  }
}

// A class with a share and a maximum stays below the maximum, and other classes get the rest of its
// share.
TEST_F(TickSharesTest, AShareIsCutByAMaximum) {
  shares_.Set({{.crawl_class = kCheap, .share = 0.5, .max_rate = Rate::PerSecond(10)}}, now_);
  auto counts = Run(20'000);
  EXPECT_SHARE(counts[kCheap], 0.1, 20'000);
}

TEST(TickShares, WithoutTermsNobodyOwnsATick) {
  TickShares shares;
  shares.Set({}, kFirst);
  EXPECT_FALSE(shares.any());
  EXPECT_TRUE(shares.Next(10, kFirst).of_tick.empty());
}

}  // namespace
}  // namespace freshet
