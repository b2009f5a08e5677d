// Plans of a shard whose pages and policy change while a plan is made, and after.
#include <set>
#include <string>
#include <vector>

#include "core/schedule/crawl_policy.h"
#include "gtest/gtest.h"
#include "tools/sim/memory_shard.h"

namespace freshet {
namespace {

constexpr Instant kStart = Instant::FromUnixSeconds(1'700'000'000);
constexpr Duration kPlanned = Duration::Seconds(1000);
constexpr Duration kNewcomer = Duration::Seconds(100);

PageKey Key(const std::string& path) { return {"DEFAULT", "https://example.com/" + path}; }

class ShardPlanTest : public testing::Test {
 protected:
  static ShardOptions Options() {
    ShardOptions options;
    options.policy = CrawlPolicy(PlanMethod::kUniform);
    return options;
  }

  void Add(const std::string& path) {
    UpsertPage page{.key = Key(path), .host = "example.com"};
    page.last_crawl = kStart;
    ASSERT_EQ(shard_.Apply(page, kStart).disposition, Disposition::kCreated);
  }
  void Remove(const std::string& path) {
    ASSERT_TRUE(shard_.Apply(RemovePage{.key = Key(path)}, kStart).status.ok());
  }
  // All pages at one rate, as collected now.
  std::vector<PlannedCrawls> Plan() {
    PlanColumns columns;
    state_.CollectPlan(0, UINT32_MAX, &columns);
    std::vector<PlannedCrawls> crawls;
    for (const PageNumber page : columns.page) {
      crawls.push_back({.page = page, .rate = static_cast<float>(1 / kPlanned.seconds())});
    }
    return crawls;
  }
  void Begin() { EXPECT_TRUE(state_.BeginPlan(Rate::PerSecond(1 / kNewcomer.seconds()))); }
  bool Finish(const std::vector<PlannedCrawls>& crawls) {
    return state_.StagePlan(0, crawls, kStart) && state_.FinishPlan();
  }
  // As the owner does after a change of policy.
  void ReestimateAll() {
    std::vector<Event> events;
    for (const auto& [number, page] : shard_.pages()) events.emplace_back(Reestimate{number});
    shard_.Apply(events, kStart);
  }
  double SecondsToCrawl(const std::string& path) {
    return (state_.Explain(*shard_.Find(Key(path)), kStart).next_crawl - kStart).seconds();
  }

  MemoryShard shard_{Options()};
  ShardState& state_ = shard_.state();
};

TEST_F(ShardPlanTest, ALaterPageDoesNotInheritThePlanOfItsId) {
  Add("old");
  Begin();
  ASSERT_TRUE(Finish(Plan()));
  EXPECT_NEAR(SecondsToCrawl("old"), kPlanned.seconds(), 0.1);
  Remove("old");
  Add("new");
  EXPECT_NEAR(SecondsToCrawl("new"), kNewcomer.seconds(), 0.1);
  ASSERT_TRUE(Finish(Plan()));
  EXPECT_NEAR(SecondsToCrawl("new"), kPlanned.seconds(), 0.1) << "until the next plan";
}

TEST_F(ShardPlanTest, NorDoesOneThatCameWhileThePlanWasMade) {
  Add("old");
  Add("stays");
  const std::vector<PlannedCrawls> crawls = Plan();
  Remove("old");
  Add("new");
  Begin();
  ASSERT_TRUE(Finish(crawls));
  EXPECT_NEAR(SecondsToCrawl("new"), kNewcomer.seconds(), 0.1);
  EXPECT_NEAR(SecondsToCrawl("stays"), kPlanned.seconds(), 0.1);
}

TEST_F(ShardPlanTest, AnotherPolicyMeanwhileDropsThePlan) {
  Add("page");
  const std::vector<PlannedCrawls> crawls = Plan();
  Begin();
  state_.SetPolicy(Policy{.kind = PolicyKind::kGreedy});
  EXPECT_FALSE(state_.BeginPlan(Rate::PerSecond(1)));
  EXPECT_FALSE(state_.StagePlan(0, crawls, kStart));
  EXPECT_FALSE(state_.FinishPlan());
  EXPECT_TRUE(state_.PlanInForce()) << "until the index has every page";
  ReestimateAll();
  EXPECT_FALSE(state_.PlanInForce());
  state_.SetPolicy(CrawlPolicy(PlanMethod::kUniform));
  EXPECT_FALSE(Finish(crawls)) << "until the queue has every page";
  EXPECT_FALSE(state_.PlanInForce());
  ReestimateAll();
  EXPECT_TRUE(Finish(crawls));
  EXPECT_TRUE(state_.PlanInForce());
}

TEST_F(ShardPlanTest, TwoChangesOfPolicyAtOnceEndInTheLast) {
  for (int i = 0; i < 5; ++i) Add(std::to_string(i));
  state_.SetPolicy(Policy{.kind = PolicyKind::kGreedy});
  state_.SetPolicy(CrawlPolicy(PlanMethod::kBlc));
  ReestimateAll();
  EXPECT_TRUE(state_.PlanInForce());
  state_.SetPolicy(Policy{.kind = PolicyKind::kGreedy});
  ReestimateAll();
  state_.SetPolicy(CrawlPolicy(PlanMethod::kBlc));
  state_.SetPolicy(Policy{.kind = PolicyKind::kGreedyNcis});
  ReestimateAll();
  EXPECT_FALSE(state_.PlanInForce());
  EXPECT_FALSE(state_.FinishPlan());
  EXPECT_TRUE(shard_.Next(kStart, Duration::Hours(1)));
}

TEST_F(ShardPlanTest, WithoutAPlanThePageThatWaitsLongestGoesFirst) {
  ASSERT_TRUE(state_.FinishPlan()) << "an empty store has nothing to plan";
  for (int i = 0; i < 10; ++i) {
    UpsertPage page{.key = Key(std::to_string(i)), .host = "example.com"};
    page.last_crawl = kStart - Duration::Days((7 * i) % 10);
    ASSERT_EQ(shard_.Apply(page, kStart).disposition, Disposition::kCreated);
  }
  for (int days = 9; days >= 0; --days) {
    const auto next = shard_.Next(kStart + Duration::Seconds(10 - days), Duration::Hours(1));
    ASSERT_TRUE(next);
    EXPECT_EQ(next->key, Key(std::to_string(days * 3 % 10)));
  }
}

// From an index policy to a plan and back, picks after every slice of pages.
TEST_F(ShardPlanTest, NoPickIsMissedOrDoubledWhileThePolicyChanges) {
  constexpr int kPages = 300;
  for (int i = 0; i < kPages; ++i) Add(std::to_string(i));
  std::vector<PageNumber> numbers;
  for (const auto& [number, page] : shard_.pages()) numbers.push_back(number);
  Instant at = kStart;
  std::set<std::string> out;
  std::vector<Assignment> open;
  const auto pick = [&] {
    at = at + Duration::Seconds(1);
    const auto next = shard_.Next(at, Duration::Days(1));
    ASSERT_TRUE(next);
    ASSERT_TRUE(out.insert(next->key.url).second) << next->key.url << " is out already";
    open.push_back(*next);
    if (open.size() < 50) return;
    ReportCrawl report{.key = open.front().key, .lease = open.front().lease, .fetched = at};
    report.outcome = CrawlOutcome::kChanged;
    shard_.Apply(report, at);
    out.erase(open.front().key.url);
    open.erase(open.begin());
  };
  const auto sweep = [&] {
    for (const PageNumber number : numbers) {
      shard_.Apply(Reestimate{number}, at);
      pick();
    }
  };
  for (int round = 0; round < 3; ++round) {
    state_.SetPolicy(Policy{.kind = PolicyKind::kGreedy});
    sweep();
    ASSERT_FALSE(state_.PlanInForce());
    for (int i = 0; i < 100; ++i) pick();
    state_.SetPolicy(CrawlPolicy(PlanMethod::kUniform));
    sweep();
    ASSERT_FALSE(state_.PlanInForce());
    Begin();
    ASSERT_TRUE(Finish(Plan()));
    for (int i = 0; i < 100; ++i) pick();
  }
}

TEST_F(ShardPlanTest, SignalsFromBeforeThePlanAskForTheirCrawls) {
  state_.SetPolicy(Policy{.kind = PolicyKind::kGreedy});
  for (const std::string path : {"signalled", "quiet", "polled"}) {
    UpsertPage page{.key = Key(path), .host = "example.com"};
    page.last_crawl = kStart - Duration::Days(1);
    page.known_change_rate = Rate::PerDay(1);
    page.complete_signals = path != "polled";
    ASSERT_EQ(shard_.Apply(page, kStart).disposition, Disposition::kCreated);
  }
  ReestimateAll();
  ASSERT_FALSE(state_.PlanInForce());
  ASSERT_TRUE(shard_.Apply(SignalChange{.key = Key("signalled")}, kStart).status.ok());
  state_.SetPolicy(CrawlPolicy(PlanMethod::kLcComplete));
  ReestimateAll();
  PlanColumns columns;
  state_.CollectPlan(0, UINT32_MAX, &columns);
  ASSERT_EQ(columns.page.size(), 3u);
  Begin();
  std::vector<PlannedCrawls> crawls;
  for (size_t i = 0; i < columns.page.size(); ++i) {
    const bool polled = columns.page[i] == shard_.Find(Key("polled"))->number;
    EXPECT_EQ(columns.complete[i], polled ? 0 : 1) << i;
    crawls.push_back({.page = columns.page[i], .probability = polled ? 0.0F : 1.0F});
  }
  ASSERT_TRUE(Finish(crawls));
  ReestimateAll();
  const auto next = shard_.Next(kStart + Duration::Seconds(1), Duration::Hours(1));
  ASSERT_TRUE(next);
  EXPECT_EQ(next->key, Key("signalled"));
  EXPECT_GT(next->value, 0);
  EXPECT_LT(next->value, Duration::Days(1).seconds()) << "importance x time, as by any policy";
  EXPECT_FALSE(shard_.Next(kStart + Duration::Seconds(2), Duration::Hours(1)));
}

}  // namespace
}  // namespace freshet
