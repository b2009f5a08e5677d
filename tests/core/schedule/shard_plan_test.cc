// Plans of a shard whose pages and policy change while a plan is made, and after.
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
  void Begin() { state_.BeginPlan(Rate::PerSecond(1 / kNewcomer.seconds())); }
  bool Finish(const std::vector<PlannedCrawls>& crawls) {
    return state_.StagePlan(0, crawls, kStart) && state_.FinishPlan();
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
  state_.SetPolicy(CrawlPolicy(PlanMethod::kUniform));
  EXPECT_FALSE(state_.StagePlan(0, crawls, kStart));
  EXPECT_FALSE(state_.FinishPlan());
  EXPECT_FALSE(state_.PlanInForce());
  Begin();
  EXPECT_TRUE(Finish(crawls));
  EXPECT_TRUE(state_.PlanInForce());
}

}  // namespace
}  // namespace freshet
