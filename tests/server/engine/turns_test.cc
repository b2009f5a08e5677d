// Tests turns of workers that take only some crawl ids. Every pick is compared with all pages that
// could have been picked.
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/engine/limited_ranking.h"
#include "server/engine/turn_queue.h"
#include "tests/server/engine/bidder.h"

namespace freshet {
namespace {

constexpr ClassSet kOne = SetOf(kDear);
constexpr ClassSet kTwo = SetOf(kCheap);

bool Any(WorkerId) { return true; }

TEST(TurnQueue, PassesOverThoseWhoDoNotTakeThePage) {
  TurnQueue queue;
  queue.Push(1, kOne, "client");
  queue.Push(2, kTwo, "client");
  queue.Push(3, kAllClasses, "client");
  queue.Push(4, kOne | kTwo, "client");
  const TurnQueue::Turn last = queue.Push(5, kOne, "client");
  EXPECT_EQ(queue.Takes(Any), kAllClasses);
  EXPECT_EQ(queue.Pop(kTwo, Any), 2U);
  EXPECT_EQ(queue.Pop(kTwo, Any), 3U);
  EXPECT_EQ(queue.Takes(Any), kOne | kTwo);
  EXPECT_EQ(queue.Pop(kAllClasses, Any), std::nullopt);
  EXPECT_EQ(queue.Pop(0, Any), 1U);
  queue.Remove(kOne, last);
  EXPECT_EQ(queue.Pop(kOne, Any), 4U);
  EXPECT_TRUE(queue.empty());
}

TEST(TurnQueue, ClientsTakeTurnsHoweverManyWorkersTheyHave) {
  TurnQueue queue;
  constexpr WorkerId kAlone = 101;
  const auto push = [&queue](WorkerId id) {
    queue.Push(id, kAllClasses, id == kAlone ? "alone" : "many");
  };
  for (WorkerId id = 1; id < kAlone; ++id) push(id);
  push(kAlone);
  std::vector<int> turns(kAlone + 1);
  for (int i = 0; i < 400; ++i) {
    const std::optional<WorkerId> id = queue.Pop(kOne, Any);
    ASSERT_TRUE(id);
    ++turns[*id];
    push(*id);
  }
  EXPECT_EQ(turns[kAlone], 200);
  for (WorkerId id = 1; id < kAlone; ++id) EXPECT_EQ(turns[id], 2) << id;
  // A new client gets the third turn from now, and nothing for the time before.
  queue.Push(kAlone + 1, kAllClasses, "late");
  EXPECT_LT(*queue.Pop(kOne, Any), kAlone + 1);
  EXPECT_EQ(queue.Pop(kOne, Any), kAlone);
  EXPECT_EQ(queue.Pop(kOne, Any), kAlone + 1);
}

TEST(TurnQueue, DropsThoseWhoTakeNothingAnyMore) {
  TurnQueue queue;
  for (WorkerId id = 1; id <= 4; ++id) queue.Push(id, id == 2 ? kTwo : kOne, "client");
  const auto even = [](WorkerId id) { return id % 2 == 0; };
  EXPECT_EQ(queue.Pop(kOne, even), 4U);
  EXPECT_EQ(queue.Takes(Any), kTwo);
}

// If unused turns counted, a client that has often called in vain would have to wait for just as
// many turns of other clients.
TEST(TurnQueue, TurnsThatWereNotUsedCountForNothing) {
  TurnQueue queue;
  for (WorkerId id = 1; id <= 1000; ++id) {
    queue.Remove(kOne, queue.Push(id, kOne, "called in vain"));
    queue.Push(id, kOne, "has left");
    EXPECT_EQ(queue.Pop(kOne, [](WorkerId) { return false; }), std::nullopt);
  }
  for (WorkerId id = 2001; id <= 2003; ++id) queue.Push(id, kOne, "new");
  queue.Push(1001, kOne, "called in vain");
  queue.Push(1002, kOne, "has left");
  EXPECT_EQ(queue.size(), 5U);
  EXPECT_EQ(queue.Pop(kOne, Any), 2001U);
  EXPECT_EQ(queue.Pop(kOne, Any), 1001U);
  EXPECT_EQ(queue.Pop(kOne, Any), 1002U);
  EXPECT_EQ(queue.Pop(kOne, Any), 2002U);
}

// Workers with credit. A page goes to the first worker that takes its class.
class Crowd {
 public:
  struct Worker {
    ClassSet takes = 0;
    int credit = 0;
  };
  explicit Crowd(std::vector<Worker> workers) : workers_(std::move(workers)) {}
  bool Take(size_t tick, const Pick& pick) {
    takes_before_.resize(tick + 1, Takes());
    takes_before_[tick] = Takes();
    for (Worker& worker : workers_) {
      if (worker.credit == 0 || (worker.takes & SetOf(pick.crawl_class)) == 0) continue;
      --worker.credit;
      return true;
    }
    return false;
  }
  [[nodiscard]] ClassSet Takes() const {
    ClassSet takes = 0;
    for (const Worker& worker : workers_) takes |= worker.credit > 0 ? worker.takes : 0;
    return takes;
  }
  // The classes that workers still took when the page of this tick was picked.
  [[nodiscard]] ClassSet TakesBefore(size_t tick) const { return takes_before_[tick]; }

 private:
  std::vector<Worker> workers_;
  std::vector<ClassSet> takes_before_;
};

class RestrictedPicks : public testing::Test {
 protected:
  RestrictedPicks() {
    for (uint64_t i = 0; i < kShards; ++i) shards_.push_back(std::make_unique<Bidder>(i + 1));
  }

  // Hands out `ticks` ticks to these workers. Returns the number of pages that they got.
  size_t HandOut(std::vector<Crowd::Worker> workers, size_t ticks) {
    Crowd crowd(std::move(workers));
    TickOwners owners = shares_.Next(ticks, now_);
    owners.takers = crowd.Takes();
    std::vector<ShardBid> bids;
    for (const auto& shard : shards_) bids.push_back(shard->Bid(owners, ticks, now_));
    const RankedBids ranked =
        RankBids(bids, std::vector<Instant>(ticks, now_), owners, ranking_, nullptr,
                 [&crowd](size_t tick, const Pick& pick) { return crowd.Take(tick, pick); });
    // The ranking ends early only if some class has no takers left.
    EXPECT_EQ(ranked.cut, ranked.taken.size() < ticks);
    if (ranked.cut) {
      EXPECT_NE(crowd.Takes(), owners.takers);
    }
    for (const TakenBid& bid : ranked.taken) Check(bids, owners, crowd, bid);
    Settle(bids, ranked.taken);
    return ranked.taken.size();
  }
  void Later() { now_ = now_ + Duration::FromSeconds(0.2); }
  [[nodiscard]] std::vector<Crowd::Worker> SomeWorkers() {
    std::vector<Crowd::Worker> workers(1 + random_.Below(4));
    for (Crowd::Worker& worker : workers) {
      worker.takes = random_.Below(5) == 0 ? kAllClasses : 1 + random_.Below(15);
      worker.credit = static_cast<int>(1 + random_.Below(12));
    }
    return workers;
  }

  TickShares shares_;
  Instant now_ = kFirst;
  Random random_{3};
  std::vector<std::unique_ptr<Bidder>> shards_;

 private:
  void Check(const std::vector<ShardBid>& bids, const TickOwners& owners, const Crowd& crowd,
             const TakenBid& bid) {
    const Pick& pick = bids[bid.shard].picks[bid.pick];
    const ClassSet takes = crowd.TakesBefore(bid.tick);
    ASSERT_NE(takes & SetOf(pick.crawl_class), 0U);
    const ClassSet owner = owners.of_tick.empty() ? kAllClasses : owners.of_tick[bid.tick];
    double best = BestOf(owner & takes);
    if (best < 0) best = BestOf(takes);
    Bidder::Page& page = shards_[bid.shard]->at(pick.page);
    ASSERT_NEAR(DecidingValue(page.entry, now_), best, 1e-6 * best);
    page.taken = true;
  }
  void Settle(const std::vector<ShardBid>& bids, const std::vector<TakenBid>& taken) {
    std::vector<std::vector<bool>> used(kShards);
    for (size_t i = 0; i < kShards; ++i) used[i].resize(bids[i].picks.size());
    for (const TakenBid& bid : taken) {
      used[bid.shard][bid.pick] = true;
      const PageNumber page = bids[bid.shard].picks[bid.pick].page;
      shards_[bid.shard]->at(page).taken = false;
      shards_[bid.shard]->Crawl(page, now_);
    }
    for (size_t i = 0; i < kShards; ++i) {
      for (size_t j = 0; j < used[i].size(); ++j) {
        if (!used[i][j]) shards_[i]->PutBack(bids[i].picks[j].page);
      }
    }
  }
  [[nodiscard]] double BestOf(ClassSet among) const {
    double best = -1;
    for (const auto& shard : shards_) best = std::max(best, shard->BestOf(among, now_));
    return best;
  }

  BidRanking ranking_;
};

TEST_F(RestrictedPicks, AreTheBestThatSomebodyTakes) {
  size_t handed_out = 0;
  for (int i = 0; i < 3000; ++i, Later())
    handed_out += HandOut(SomeWorkers(), 1 + random_.Below(20));
  EXPECT_GT(handed_out, 10'000U);
}

TEST_F(RestrictedPicks, AreTheBestOfTheOwnerThatSomebodyTakes) {
  shares_.Set({{.crawl_class = kDear, .share = 0.3, .max_rate = std::nullopt},
               {.crawl_class = kCheap, .share = 0.2, .max_rate = std::nullopt}},
              now_);
  for (int i = 0; i < 3000; ++i, Later()) (void)HandOut(SomeWorkers(), 1 + random_.Below(20));
}

TEST_F(RestrictedPicks, GoOnAsLongAsSomebodyTakesPagesOfEachClass) {
  // Two workers take the best class, so it keeps a taker when the first has enough.
  EXPECT_EQ(HandOut({{.takes = kOne, .credit = 3}, {.takes = kOne | kTwo, .credit = 20}}, 20), 20U);
  // After three pages nobody takes the best class, so the rest needs new bids.
  EXPECT_EQ(HandOut({{.takes = kOne, .credit = 3}, {.takes = kTwo, .credit = 20}}, 20), 3U);
  // A worker for which there is no page does not delay the others.
  for (const auto& shard : shards_) shard->Offer(kDear, false);
  EXPECT_EQ(HandOut({{.takes = kOne, .credit = 3}, {.takes = kTwo, .credit = 20}}, 20), 20U);
}

}  // namespace
}  // namespace freshet
