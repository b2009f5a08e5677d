// Tests plans of a shard whose pages and policy change during planning and afterwards.
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/url.h"
#include "core/schedule/crawl_policy.h"
#include "core/schedule/explanation.h"
#include "core/schedule/page_plan.h"
#include "core/schedule/page_to_load.h"
#include "core/schedule/pick.h"
#include "core/schedule/policy_switch.h"
#include "core/schedule/shard_loading.h"
#include "gtest/gtest.h"
#include "lab/common/memory_shard.h"
#include "tests/core/schedule/instants.h"

namespace freshet {
namespace {

constexpr Duration kPlanned = Duration::Seconds(1000);
constexpr Duration kNewcomer = Duration::Seconds(100);

PageKey PlanKey(const std::string& path) { return {"DEFAULT", "https://example.com/" + path}; }

class ShardPlanTest : public testing::Test {
 protected:
  static ShardOptions Options() {
    ShardOptions options;
    options.policy = CrawlPolicy(PlanMethod::kUniform);
    return options;
  }

  void Add(const std::string& path) {
    UpsertPage page{.key = PlanKey(path), .host = "example.com"};
    page.last_crawl = kStart;
    ASSERT_EQ(shard_.Apply(page, kStart).disposition, Disposition::kCreated);
  }
  void Remove(const std::string& path) {
    ASSERT_TRUE(shard_.Apply(RemovePage{.key = PlanKey(path)}, kStart).status.ok());
  }
  void AddComplete(const std::string& path, std::optional<Instant> last_crawl = std::nullopt) {
    UpsertPage page{.key = PlanKey(path), .host = "example.com"};
    page.last_crawl = last_crawl;
    page.known_change_rate = Rate::PerDay(1);
    page.complete_signals = true;
    ASSERT_EQ(shard_.Apply(page, kStart).disposition, Disposition::kCreated);
  }
  void SetImportance(const std::string& path, double importance) {
    UpsertPage page{.key = PlanKey(path), .host = "example.com"};
    page.importance = importance;
    ASSERT_TRUE(shard_.Apply(page, kStart).status.ok());
  }
  // Returns a plan that crawls each page at each of its signals.
  std::vector<PlannedCrawls> PlanBySignals() {
    std::vector<PlannedCrawls> crawls = Plan();
    for (PlannedCrawls& page : crawls) page = {.page = page.page, .probability = 1};
    return crawls;
  }
  // Returns a plan with one rate for all pages that are collected now.
  std::vector<PlannedCrawls> Plan() {
    PlanColumns columns;
    state_.policies().CollectPlan(0, UINT32_MAX, &columns);
    std::vector<PlannedCrawls> crawls;
    for (const PageNumber page : columns.page) {
      crawls.push_back({.page = page, .rate = static_cast<float>(1 / kPlanned.seconds())});
    }
    return crawls;
  }
  void Begin() {
    EXPECT_TRUE(state_.policies().BeginPlan(Rate::PerSecond(1 / kNewcomer.seconds())));
  }
  bool Finish(const std::vector<PlannedCrawls>& crawls) {
    return state_.policies().StagePlan(0, crawls, kStart) && state_.policies().FinishPlan(&refile_);
  }
  bool PlanInForce() const { return state_.policies().in_force().plan.has_value(); }
  void SetPolicy(const CrawlPolicy& policy) { (void)state_.policies().SetPolicy(policy); }
  // Estimates all pages again, as the shard does after a change of policy.
  void ReestimateAll() {
    std::vector<Event> events;
    for (const auto& [number, page] : shard_.pages()) events.emplace_back(Reestimate{number});
    shard_.Apply(events, kStart);
  }
  double SecondsToCrawl(const std::string& path) {
    return (state_.Explain(*shard_.Find(PlanKey(path)), kStart).next_crawl - kStart).seconds();
  }

  MemoryShard shard_{Options()};
  ShardState& state_ = shard_.state();
  bool refile_ = false;
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
  SetPolicy(Policy{.kind = PolicyKind::kGreedy});
  EXPECT_FALSE(state_.policies().BeginPlan(Rate::PerSecond(1)));
  EXPECT_FALSE(state_.policies().StagePlan(0, crawls, kStart));
  EXPECT_FALSE(state_.policies().FinishPlan(&refile_));
  EXPECT_TRUE(PlanInForce()) << "until the index has every page";
  ReestimateAll();
  EXPECT_FALSE(PlanInForce());
  SetPolicy(CrawlPolicy(PlanMethod::kUniform));
  EXPECT_FALSE(Finish(crawls)) << "until the queue has every page";
  EXPECT_FALSE(PlanInForce());
  ReestimateAll();
  EXPECT_TRUE(Finish(crawls));
  EXPECT_TRUE(PlanInForce());
}

TEST_F(ShardPlanTest, TwoChangesOfPolicyAtOnceEndInTheLast) {
  for (int i = 0; i < 5; ++i) Add(std::to_string(i));
  SetPolicy(Policy{.kind = PolicyKind::kGreedy});
  SetPolicy(CrawlPolicy(PlanMethod::kBlc));
  ReestimateAll();
  EXPECT_TRUE(PlanInForce());
  SetPolicy(Policy{.kind = PolicyKind::kGreedy});
  ReestimateAll();
  SetPolicy(CrawlPolicy(PlanMethod::kBlc));
  SetPolicy(Policy{.kind = PolicyKind::kGreedyNcis});
  ReestimateAll();
  EXPECT_FALSE(PlanInForce());
  EXPECT_FALSE(state_.policies().FinishPlan(&refile_));
  EXPECT_TRUE(shard_.Next(kStart, Duration::Hours(1)));
}

TEST_F(ShardPlanTest, WithoutAPlanThePageThatWaitsLongestGoesFirst) {
  ASSERT_TRUE(state_.policies().FinishPlan(&refile_)) << "an empty store has nothing to plan";
  for (int i = 0; i < 10; ++i) {
    UpsertPage page{.key = PlanKey(std::to_string(i)), .host = "example.com"};
    page.last_crawl = kStart - Duration::Days((7 * i) % 10);
    ASSERT_EQ(shard_.Apply(page, kStart).disposition, Disposition::kCreated);
  }
  for (int days = 9; days >= 0; --days) {
    const auto next = shard_.Next(kStart + Duration::Seconds(10 - days), Duration::Hours(1));
    ASSERT_TRUE(next);
    EXPECT_EQ(next->key, PlanKey(std::to_string(days * 3 % 10)));
  }
}

// The policy changes from an index policy to a plan and back, with picks after each slice of pages.
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
    SetPolicy(Policy{.kind = PolicyKind::kGreedy});
    sweep();
    ASSERT_FALSE(PlanInForce());
    for (int i = 0; i < 100; ++i) pick();
    SetPolicy(CrawlPolicy(PlanMethod::kUniform));
    sweep();
    ASSERT_FALSE(PlanInForce());
    Begin();
    ASSERT_TRUE(Finish(Plan()));
    for (int i = 0; i < 100; ++i) pick();
  }
}

TEST_F(ShardPlanTest, SignalsFromBeforeThePlanAskForTheirCrawls) {
  SetPolicy(Policy{.kind = PolicyKind::kGreedy});
  for (const std::string path : {"signalled", "quiet", "polled"}) {
    UpsertPage page{.key = PlanKey(path), .host = "example.com"};
    page.last_crawl = kStart - Duration::Days(1);
    page.known_change_rate = Rate::PerDay(1);
    page.complete_signals = path != "polled";
    ASSERT_EQ(shard_.Apply(page, kStart).disposition, Disposition::kCreated);
  }
  ReestimateAll();
  ASSERT_FALSE(PlanInForce());
  ASSERT_TRUE(shard_.Apply(SignalChange{.key = PlanKey("signalled")}, kStart).status.ok());
  SetPolicy(CrawlPolicy(PlanMethod::kLcComplete));
  ReestimateAll();
  PlanColumns columns;
  state_.policies().CollectPlan(0, UINT32_MAX, &columns);
  ASSERT_EQ(columns.page.size(), 3u);
  Begin();
  std::vector<PlannedCrawls> crawls;
  for (size_t i = 0; i < columns.page.size(); ++i) {
    const bool polled = columns.page[i] == shard_.Find(PlanKey("polled"))->number;
    EXPECT_EQ(columns.complete[i], polled ? 0 : 1) << i;
    crawls.push_back({.page = columns.page[i], .probability = polled ? 0.0F : 1.0F});
  }
  ASSERT_TRUE(Finish(crawls));
  EXPECT_TRUE(refile_);
  ReestimateAll();
  const auto next = shard_.Next(kStart + Duration::Seconds(1), Duration::Hours(1));
  ASSERT_TRUE(next);
  EXPECT_EQ(next->key, PlanKey("signalled"));
  EXPECT_GT(next->value, 0);
  EXPECT_LT(next->value, Duration::Days(1).seconds()) << "importance x time, as by any policy";
  EXPECT_FALSE(shard_.Next(kStart + Duration::Seconds(2), Duration::Hours(1)));
}

TEST_F(ShardPlanTest, APageThatIsCrawledOnSignalsAloneHasAFirstCrawl) {
  AddComplete("new");
  Begin();
  ASSERT_TRUE(Finish(PlanBySignals()));
  ASSERT_TRUE(refile_);
  ReestimateAll();
  EXPECT_EQ(SecondsToCrawl("new"), 0) << "due, though first seen before";
  const Instant at = kStart + Duration::Seconds(1);
  const auto first = shard_.Next(at, Duration::Hours(1));
  ASSERT_TRUE(first);
  ReportCrawl report{.key = first->key, .lease = first->lease, .fetched = at};
  report.outcome = CrawlOutcome::kChanged;
  ASSERT_TRUE(shard_.Apply(report, at).status.ok());
  EXPECT_FALSE(shard_.Next(at + Duration::Days(1), Duration::Hours(1))) << "no signal since";
  AddComplete("newer");
  ReestimateAll();
  ASSERT_TRUE(Finish(PlanBySignals()));
  EXPECT_TRUE(refile_) << "for the page that came";
  ASSERT_TRUE(Finish(PlanBySignals()));
  EXPECT_FALSE(refile_) << "nothing is asked for that was not before";
}

TEST_F(ShardPlanTest, EveryPlanThatAsksBySignalsAnewHasPagesFiledAnew) {
  AddComplete("page", kStart - Duration::Days(1));
  Begin();
  ASSERT_TRUE(Finish(Plan()));
  EXPECT_FALSE(refile_) << "it is polled";
  ASSERT_TRUE(shard_.Apply(SignalChange{.key = PlanKey("page")}, kStart).status.ok());
  EXPECT_GT(SecondsToCrawl("page"), 0);
  ASSERT_TRUE(Finish(PlanBySignals()));
  ASSERT_TRUE(refile_);
  ReestimateAll();
  EXPECT_EQ(SecondsToCrawl("page"), 0);

  // Changes to an index policy and back.
  SetPolicy(Policy{.kind = PolicyKind::kGreedy});
  ReestimateAll();
  SetPolicy(CrawlPolicy(PlanMethod::kLcComplete));
  ReestimateAll();
  Begin();
  ASSERT_TRUE(Finish(PlanBySignals()));
  ASSERT_TRUE(refile_);
  ReestimateAll();
  EXPECT_EQ(SecondsToCrawl("page"), 0);
}

TEST_F(ShardPlanTest, APageThatComesBackIsANewcomer) {
  Add("stays");
  Add("gone");
  Add("unwanted");
  ReportCrawl report{.key = PlanKey("gone"), .fetched = kStart};
  report.outcome = CrawlOutcome::kGone;
  ASSERT_TRUE(shard_.Apply(report, kStart).status.ok());
  SetImportance("unwanted", 0);
  Begin();
  PlanColumns columns;
  state_.policies().CollectPlan(0, UINT32_MAX, &columns);
  EXPECT_EQ(columns.page.size(), 3u);
  EXPECT_EQ(columns.Pages(), 1u);
  ASSERT_TRUE(Finish(Plan()));
  SetImportance("gone", 2);
  SetImportance("unwanted", 2);
  EXPECT_NEAR(SecondsToCrawl("stays"), kPlanned.seconds(), 0.1);
  EXPECT_LE(SecondsToCrawl("gone"), kNewcomer.seconds() + 0.1);
  EXPECT_LE(SecondsToCrawl("unwanted"), kNewcomer.seconds() + 0.1);
}

// A shard with more pages than one call makes room for.
class BigShardTest : public testing::Test {
 protected:
  static constexpr uint64_t kPages = 70'000;

  BigShardTest() {
    std::vector<PageToLoad> batch;
    const HostId host = state_.loading().LoadHost({.host = "example.com"});
    for (uint64_t i = 1; i <= kPages; ++i) {
      const PageRecord page = Record(i);
      batch.push_back(
          state_.loading().PrepareLoad(page.number, i << 40, host, page.spec, page.state));
    }
    EXPECT_TRUE(state_.loading().LoadPages(batch).ok());
    EXPECT_TRUE(state_.loading().FinishLoad().empty());
  }
  static ShardOptions Options() {
    ShardOptions options;
    options.policy = kGreedy;
    return options;
  }
  static PageRecord Record(uint64_t i) {
    PageRecord page;
    page.key = PlanKey(std::to_string(i));
    page.host = "example.com";
    page.number = MakePageNumber(SlotOfHost(page.host), i);
    page.state.first_seen = kStart;
    page.state.carried_at = kStart;
    return page;
  }
  bool Picks() {
    const std::optional<Pick> pick = state_.Take(kStart);
    if (pick) state_.PutBack(pick->page);
    return pick.has_value();
  }
  // Makes room in slices, and picks pages between the slices. Returns the number of slices.
  int MakeRoom() {
    int slices = 1;
    while (!state_.policies().MakeRoom()) {
      ++slices;
      EXPECT_TRUE(Picks());
    }
    return slices;
  }
  void FileAll() {
    Transaction txn;
    for (uint64_t i = kPages; i > 0; --i) {
      const PageNumber number = Record(i).number;
      txn.Load(Record(i));
      txn.Find(number)->reindex = true;
      if (i % 10'000 != 1) continue;
      state_.Install(txn);
      txn.Reset();
      EXPECT_TRUE(Picks());
    }
    state_.policies().FinishFiling(state_.policies().policy());
  }

  static constexpr Policy kGreedy = {.kind = PolicyKind::kGreedy};
  ShardState state_{Options()};
  bool refile_ = false;
};

TEST_F(BigShardTest, FilesPagesOnlyOnceThereIsRoomForAll) {
  ASSERT_TRUE(state_.policies().SetPolicy(CrawlPolicy(PlanMethod::kUniform)));
  FileAll();
  EXPECT_FALSE(state_.policies().FinishPlan(&refile_)) << "in vain";
  EXPECT_GE(MakeRoom(), 2);
  EXPECT_FALSE(state_.policies().FinishPlan(&refile_));
  FileAll();
  EXPECT_TRUE(state_.policies().FinishPlan(&refile_));
  EXPECT_EQ(state_.policies().TakeRetired().size(), 1u) << "the index";

  ASSERT_TRUE(state_.policies().SetPolicy(kGreedy));
  FileAll();
  EXPECT_NE(state_.policies().in_force(), CrawlPolicy(kGreedy));
  EXPECT_GE(MakeRoom(), 2);
  FileAll();
  EXPECT_EQ(state_.policies().in_force(), CrawlPolicy(kGreedy));
  EXPECT_EQ(state_.policies().TakeRetired().size(), 2u) << "the queue, and what plans are made of";
  EXPECT_TRUE(Picks());
}

TEST_F(BigShardTest, APolicyThatIsTakenBackLeavesNothingHalfMade) {
  ASSERT_TRUE(state_.policies().SetPolicy(CrawlPolicy(PlanMethod::kUniform)));
  ASSERT_TRUE(state_.policies().SetPolicy(kGreedy));
  EXPECT_TRUE(state_.policies().MakeRoom());
  EXPECT_EQ(state_.policies().TakeRetired().size(), 2u);
  FileAll();
  EXPECT_EQ(state_.policies().in_force(), CrawlPolicy(kGreedy));
}

TEST(PlanCrawlsTest, IdsWithoutAPageHaveNoPartInThePlan) {
  const PlanColumns columns = {
      .page = {PageNumber(), PageNumber(7), PageNumber(), PageNumber(5), PageNumber()},
      .importance = {0, 3, 0, 1, 0},
      .change_rate = {0, 1, 0, 0.25, 0},
      .complete = {0, 0, 0, 0, 0}};
  for (const PlanMethod method : AllPlanMethods()) {
    const auto crawls = PlanCrawls(method, columns, Rate::PerSecond(2));
    ASSERT_TRUE(crawls.ok()) << PlanMethodName(method);
    ASSERT_EQ(crawls->size(), 5u);
    for (const size_t i : {0, 2, 4}) {
      EXPECT_EQ((*crawls)[i].rate, 0) << PlanMethodName(method);
      EXPECT_EQ((*crawls)[i].page, PageNumber());
    }
    EXPECT_EQ((*crawls)[1].page, PageNumber(7));
    EXPECT_EQ((*crawls)[3].page, PageNumber(5));
    // No page has complete signals.
    const double used = method == PlanMethod::kLcComplete ? 0 : 2;
    EXPECT_NEAR((*crawls)[1].rate + (*crawls)[3].rate, used, 1e-6) << PlanMethodName(method);
    if (method == PlanMethod::kUniform) {
      EXPECT_EQ((*crawls)[3].rate, 1);
    }
  }
}

}  // namespace
}  // namespace freshet
