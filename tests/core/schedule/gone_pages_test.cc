// Tests pages that were missing or have moved. The server looks for them again after growing
// pauses.
#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/url.h"
#include "core/schedule/freshness_sample.h"
#include "core/schedule/learning.h"
#include "core/schedule/page_book.h"
#include "core/schedule/page_plan.h"
#include "core/schedule/page_to_load.h"
#include "core/schedule/pick.h"
#include "core/schedule/policy_switch.h"
#include "core/schedule/shard_loading.h"
#include "core/schedule/transaction.h"
#include "fmt/format.h"
#include "tests/core/schedule/shard_cycle.h"

namespace freshet {
namespace {

using testing::HasSubstr;

constexpr double kHour = 3600;
constexpr double kDay = 86400;

ShardOptions Retiring() {
  ShardOptions options;
  options.retire_moved = true;
  return options;
}

class GonePagesTest : public ShardCycleTest {
 protected:
  using ShardCycleTest::ShardCycleTest;

  // Leases the next page at `at`, which must be `path`, and reports the outcome.
  void Crawl(const std::string& path, CrawlOutcome outcome, double at) {
    const auto assignment = Next(at);
    ASSERT_TRUE(assignment) << "at " << at;
    ASSERT_EQ(assignment->key, Key(path));
    ASSERT_TRUE(Apply(Result(*assignment, outcome, At(at)), at).status.ok());
  }
  double LookedForAt(const std::string& path) {
    return (Page(path).state.retry_at - kStart).seconds();
  }
};

TEST_F(GonePagesTest, OneMistakeCostsAPageAnHour) {
  Apply(Upsert("a"), 0);
  Crawl("a", CrawlOutcome::kChanged, 1);
  Apply(RecheckPage{Key("a")}, 2);
  Crawl("a", CrawlOutcome::kGone, 3);
  EXPECT_FALSE(Next(kHour));
  const auto look = Next(3 + kHour);
  ASSERT_TRUE(look);
  EXPECT_GT(look->value, 0);
  EXPECT_TRUE(std::isfinite(look->value)) << "it competes with crawls";
  Apply(Result(*look, CrawlOutcome::kUnchanged, At(3 + kHour)), 3 + kHour);
  EXPECT_FALSE(Page("a").state.gone);
  EXPECT_EQ(Page("a").state.times_gone, 0);
  EXPECT_EQ(Page("a").state.retry_at, Instant());
  EXPECT_EQ(counters().gone_pages, 0u);
}

// Returns the value of looking again, after a wait of `wait`, for a page that has been missing for
// `gone`. The unit is seconds of freshness times importance. The value is that of a page whose
// change rate is `rate` below.
double WorthOfALook(double importance, double gone, double wait) {
  const double rate = 0.004 / std::max(gone, 2 * wait);
  return importance / rate * (1 - (1 + rate * wait) * std::exp(-rate * wait));
}

// On a site where pages often die, looking for dead pages must not take crawls from living pages.
TEST_F(GonePagesTest, LooksCompeteWithCrawlsByWhatTheyAreWorth) {
  Apply(Upsert("a", 1), 0);
  Crawl("a", CrawlOutcome::kChanged, 1);
  Apply(RecheckPage{Key("a")}, 2);
  Crawl("a", CrawlOutcome::kGone, 3);
  double wait = kHour;
  for (int times = 1; times <= 3; ++times) {
    const double at = LookedForAt("a");
    const std::string dear = fmt::format("dear{}", times);
    const std::string cheap = fmt::format("cheap{}", times);
    // The values of these first crawls are about 40 s and 0.04 s.
    Apply(Upsert(dear, 1e-6), at);
    Apply(Upsert(cheap, 1e-9), at);
    Crawl(dear, CrawlOutcome::kChanged, at);
    const auto look = Next(at);
    ASSERT_TRUE(look);
    EXPECT_EQ(look->key, Key("a")) << times;
    EXPECT_NEAR(look->value / WorthOfALook(1, at - 1, wait), 1, 1e-6) << times;
    Apply(Result(*look, CrawlOutcome::kGone, At(at)), at);
    EXPECT_EQ(Page("a").state.times_gone, times + 1);
    Crawl(cheap, CrawlOutcome::kChanged, at);
    wait *= 2;
  }
}

TEST_F(GonePagesTest, ALongestIntervalForcesLooks) {
  UpsertPage event = Upsert("a", 0.001);
  event.max_interval = Duration::Hours(10);
  Apply(event, 0);
  Apply(RecheckPage{Key("a")}, 0);
  Crawl("a", CrawlOutcome::kGone, 1);
  Apply(Upsert("b", 1000), 2);
  const auto look = Next(LookedForAt("a"));
  ASSERT_TRUE(look);
  EXPECT_EQ(look->key, Key("a"));
  EXPECT_TRUE(std::isinf(look->value)) << "whatever else competes";
}

class PoliteGonePagesTest : public GonePagesTest {
 protected:
  PoliteGonePagesTest() : GonePagesTest(Polite()) {}
  static ShardOptions Polite() {
    ShardOptions options;
    options.politeness.min_page_interval = Duration::Seconds(60);
    return options;
  }
};

TEST_F(PoliteGonePagesTest, PingsDoNotHaveAPageThatIsGoneFetchedAllTheTime) {
  Apply(Upsert("a"), 0);
  Crawl("a", CrawlOutcome::kGone, 1);
  Apply(SignalChange{.key = Key("a")}, 2);
  EXPECT_FALSE(Page("a").state.gone);
  EXPECT_FALSE(Next(3));
  EXPECT_FALSE(Next(61));
  Crawl("a", CrawlOutcome::kGone, 62);
  Apply(Upsert("a"), 63);
  EXPECT_FALSE(Next(122));
  EXPECT_TRUE(Next(123));
}

TEST_F(PoliteGonePagesTest, TheWaitAfterItCameBackIsExplained) {
  Apply(Upsert("a"), 0);
  Crawl("a", CrawlOutcome::kGone, 1);
  Apply(Signal("a"), 2);
  const Explanation explanation = Explain("a", 3);
  EXPECT_EQ(explanation.verdict, Verdict::kTooEarly);
  EXPECT_THAT(explanation.why, testing::HasSubstr("is back after it was gone"));
}

TEST_F(PoliteGonePagesTest, AClockThatIsBehindDoesNotHaveItFetchedAllTheTime) {
  Apply(Upsert("a"), 0);
  const auto first = Next(1);
  ASSERT_TRUE(first);
  ASSERT_TRUE(Apply(Result(*first, CrawlOutcome::kGone, At(1 - kHour)), 1).status.ok());
  Apply(SignalChange{.key = Key("a")}, 2);
  EXPECT_FALSE(Next(61));
  EXPECT_TRUE(Next(62));
}

TEST_F(PoliteGonePagesTest, ARecheckAsksAtOnce) {
  Apply(Upsert("a"), 0);
  Crawl("a", CrawlOutcome::kGone, 1);
  Apply(RecheckPage{Key("a")}, 2);
  EXPECT_TRUE(Next(3));
}

TEST_F(GonePagesTest, PausesGrowUpToTheLongest) {
  Apply(Upsert("a"), 0);
  Crawl("a", CrawlOutcome::kChanged, 1);
  Apply(RecheckPage{Key("a")}, 2);
  double at = 2;
  double pause = kHour;
  for (int i = 0; i < 13; ++i) {
    Crawl("a", i % 2 == 0 ? CrawlOutcome::kGone : CrawlOutcome::kMoved, at);
    ASSERT_DOUBLE_EQ(LookedForAt("a"), at + pause) << i;
    EXPECT_FALSE(Next(at + pause - 1));
    at += pause;
    pause = std::min(2 * pause, 30 * kDay);
  }
}

TEST_F(GonePagesTest, OneThatWasNeverFoundBeginsLater) {
  Apply(Upsert("a"), 0);
  Crawl("a", CrawlOutcome::kGone, 1);
  EXPECT_DOUBLE_EQ(LookedForAt("a"), 1 + 16 * kHour);
}

TEST_F(GonePagesTest, ASignalARecheckAndAnUpsertBringItBack) {
  AddCrawled("a", 0);
  Apply(RecheckPage{Key("a")}, 1);
  Crawl("a", CrawlOutcome::kGone, 2);
  EXPECT_FALSE(Next(3));
  Apply(Signal("a"), 10);
  EXPECT_FALSE(Page("a").state.gone);
  Crawl("a", CrawlOutcome::kGone, 11);
  EXPECT_EQ(Page("a").state.times_gone, 2) << "pauses go on growing";
  EXPECT_FALSE(Next(12));
  Apply(RecheckPage{Key("a")}, 13);
  Crawl("a", CrawlOutcome::kGone, 14);
  EXPECT_FALSE(Next(15));
  Apply(Upsert("a"), 16);
  Crawl("a", CrawlOutcome::kChanged, 17);
  EXPECT_EQ(Page("a").state.times_gone, 0);
}

TEST_F(GonePagesTest, ASignalBringsBackOneThatHasMoved) {
  AddCrawled("a", 0);
  Apply(RecheckPage{Key("a")}, 1);
  Crawl("a", CrawlOutcome::kMoved, 2);
  EXPECT_FALSE(Next(3));
  Apply(Signal("a"), 10);
  EXPECT_FALSE(Page("a").state.gone);
  Crawl("a", CrawlOutcome::kMoved, 11);
  EXPECT_DOUBLE_EQ(LookedForAt("a"), 11 + 2 * kHour) << "pauses go on growing";
  Apply(Signal("a"), 12);
  Crawl("a", CrawlOutcome::kUnchanged, 13);
  EXPECT_EQ(Page("a").state.times_gone, 0);
}

TEST_F(GonePagesTest, ASignalThatIsNewerThanTheFetchBringsItBack) {
  for (const CrawlOutcome outcome : {CrawlOutcome::kGone, CrawlOutcome::kMoved}) {
    const std::string path = outcome == CrawlOutcome::kGone ? "a" : "b";
    const double t = outcome == CrawlOutcome::kGone ? 0 : 100;
    AddCrawled(path, t);
    Apply(RecheckPage{Key(path)}, t + 1);
    const auto look = Next(t + 2);
    ASSERT_TRUE(look);
    Apply(Signal(path), t + 10);
    ASSERT_TRUE(Apply(Result(*look, outcome, At(t + 5)), t + 11).status.ok());
    EXPECT_FALSE(Page(path).state.gone);
    EXPECT_EQ(Page(path).state.times_gone, 1);
    // A signal that is older than the fetch has no effect.
    const auto again = Next(t + 12);
    ASSERT_TRUE(again);
    Apply(Signal(path), t + 13);
    ASSERT_TRUE(Apply(Result(*again, outcome, At(t + 14)), t + 15).status.ok());
    EXPECT_TRUE(Page(path).state.gone);
    EXPECT_DOUBLE_EQ(LookedForAt(path), t + 15 + 2 * kHour);
  }
}

TEST_F(GonePagesTest, IntervalsOfThePageBoundThePause) {
  UpsertPage event = Upsert("a");
  event.max_interval = Duration::Seconds(600);
  Apply(event, 0);
  Crawl("a", CrawlOutcome::kGone, 1);
  EXPECT_DOUBLE_EQ(LookedForAt("a"), 601);
  Crawl("a", CrawlOutcome::kChanged, 601);
  event.max_interval = Duration::Days(100);
  event.min_interval = Duration::Hours(3);
  Apply(event, 602);
  Apply(RecheckPage{Key("a")}, 603);
  Crawl("a", CrawlOutcome::kGone, 604);
  EXPECT_DOUBLE_EQ(LookedForAt("a"), 604 + 3 * kHour);
}

TEST_F(GonePagesTest, WhatIsWorthNothingIsNotLookedFor) {
  Apply(Upsert("a", 0), 0);
  Apply(RecheckPage{Key("a")}, 1);
  Crawl("a", CrawlOutcome::kGone, 2);
  EXPECT_FALSE(Next(100 * kDay));
  EXPECT_EQ(Explain("a", 100 * kDay).verdict, Verdict::kNever);
}

TEST_F(GonePagesTest, AnErrorOnTheWaySaysNothing) {
  AddCrawled("a", 0);
  Apply(RecheckPage{Key("a")}, 1);
  Crawl("a", CrawlOutcome::kGone, 2);
  Crawl("a", CrawlOutcome::kError, LookedForAt("a"));
  EXPECT_TRUE(Page("a").state.gone);
  EXPECT_DOUBLE_EQ(LookedForAt("a"), 2 + 2 * kHour) << "not the minute of an error";
  EXPECT_EQ(Page("a").state.times_gone, 1);
}

TEST_F(GonePagesTest, AMoveIsKeptUntilThePageIsFound) {
  Apply(Upsert("a"), 0);
  const auto assignment = Next(1);
  ReportCrawl moved = Result(*assignment, CrawlOutcome::kMoved, At(1));
  moved.moved_to = "https://example.org/new";
  Apply(moved, 1);
  EXPECT_EQ(Page("a").detail.moved_to, "https://example.org/new");
  EXPECT_THAT(Explain("a", 2).why,
              HasSubstr("moved to https://example.org/new; the server will look for it again: "));
  Crawl("a", CrawlOutcome::kChanged, LookedForAt("a"));
  EXPECT_EQ(Page("a").detail.moved_to, "");
}

TEST_F(GonePagesTest, AMoveToItselfLeadsNowhere) {
  Apply(Upsert("a"), 0);
  ReportCrawl moved = Result(*Next(1), CrawlOutcome::kMoved, At(1));
  moved.moved_to = Key("a").url;
  Apply(moved, 1);
  EXPECT_EQ(Page("a").detail.moved_to, "");
}

TEST_F(GonePagesTest, FreshnessCountsPagesThatAreThere) {
  AddCrawled("a", 0);
  AddCrawled("b", 0);
  EXPECT_EQ(shard_.state().pages().Believed(At(0)).pages, 2u);
  Apply(RecheckPage{Key("a")}, 1);
  Crawl("a", CrawlOutcome::kGone, 2);
  const BelievedFreshness believed = shard_.state().pages().Believed(At(2));
  EXPECT_EQ(believed.pages, 1u);
  EXPECT_DOUBLE_EQ(believed.importance, 1);
  EXPECT_GT(believed.fresh_pages, 0.9);
  EXPECT_EQ(counters().gone_pages, 1u);
  Apply(RemovePage{Key("a")}, 3);
  EXPECT_EQ(counters().gone_pages, 0u);
  EXPECT_EQ(shard_.state().pages().Believed(At(3)).pages, 1u);
}

TEST(GonePagesOfReleasesBefore, AreLookedForFromTheFirstEpochOn) {
  PageRecord page;
  page.key = Key("a");
  page.host = "example.com";
  page.number = MakePageNumber(SlotOfHost(page.host), 1);
  page.state.first_seen = page.state.last_crawl = page.state.carried_at = At(-1000);
  page.state.retry_at = At(-5);
  page.state.gone = true;
  ShardState state{ShardOptions()};
  const PageToLoad row = state.loading().PrepareLoad(
      page.number, 7, state.loading().LoadHost({.host = page.host}), page.spec, page.state);
  ASSERT_TRUE(state.loading().LoadPages({&row, 1}).ok());
  ASSERT_TRUE(state.loading().FinishLoad().empty());
  EXPECT_FALSE(state.Peek(At(1))) << "all of them at once would be too much";
  Instant planned;
  for (const double at : {10.0, 3600.0}) {
    Transaction txn;
    txn.Load(page);
    ASSERT_TRUE(state.Step(Reestimate{page.number}, At(at), txn).status.ok());
    (void)txn.Finish(state.learning().estimator());
    page = txn.pages().front().record;
    state.Install(txn);
    if (planned == Instant()) planned = page.state.retry_at;
    EXPECT_EQ(page.state.retry_at, planned) << "once";
    EXPECT_EQ(page.state.times_gone, 1);
  }
  EXPECT_GE(planned, At(10));
  EXPECT_LE(planned, At(10 + 30 * kDay));
  EXPECT_TRUE(state.Peek(std::max(planned, At(3600))));
}

// The stored state of a gone page is enough to look for it after a restart.
TEST(GonePagesAfterARestart, AreLookedForInTheirTimeAndBroughtBackBySignals) {
  for (const bool signalled : {false, true}) {
    MemoryShard before{ShardOptions()};
    before.Apply(Upsert("a"), At(0));
    const auto first = before.Next(At(1), kLease, "w");
    ASSERT_TRUE(first);
    before.Apply(Result(*first, CrawlOutcome::kMoved, At(1)), At(1));
    const PageRecord page = *before.Find(Key("a"));
    ShardState state{ShardOptions()};
    const PageToLoad row = state.loading().PrepareLoad(
        page.number, 7, state.loading().LoadHost({.host = page.host}), page.spec, page.state);
    ASSERT_TRUE(state.loading().LoadPages({&row, 1}).ok());
    ASSERT_TRUE(state.loading().FinishLoad().empty());
    EXPECT_FALSE(state.Peek(At(2)));
    if (signalled) {
      Transaction txn;
      txn.Load(page);
      ASSERT_TRUE(state.Step(Signal("a"), At(2), txn).status.ok());
      (void)txn.Finish(state.learning().estimator());
      state.Install(txn);
    }
    EXPECT_EQ(state.Peek(At(3)).has_value(), signalled);
    EXPECT_TRUE(state.Peek(page.state.retry_at));
  }
}

class RetiredPagesTest : public GonePagesTest {
 protected:
  RetiredPagesTest() : GonePagesTest(Retiring()) {}
};

TEST_F(RetiredPagesTest, APageThatHasMovedIsLeftAloneUntilItIsAskedFor) {
  AddCrawled("a", 0);
  Apply(RecheckPage{Key("a")}, 1);
  Crawl("a", CrawlOutcome::kMoved, 2);
  EXPECT_FALSE(Next(1000 * kDay));
  Apply(Signal("a"), 1000 * kDay);
  EXPECT_FALSE(Next(1000 * kDay + 1));
  EXPECT_EQ(Explain("a", 1000 * kDay).verdict, Verdict::kNever);
  EXPECT_THAT(Explain("a", 1000 * kDay).why,
              HasSubstr("use `freshet upsert` or `freshet recheck`"));
  Apply(RecheckPage{Key("a")}, 1001 * kDay);
  EXPECT_TRUE(Next(1001 * kDay));
}

TEST_F(RetiredPagesTest, APageThatIsGoneIsLookedForAllTheSame) {
  AddCrawled("a", 0);
  Apply(RecheckPage{Key("a")}, 1);
  Crawl("a", CrawlOutcome::kGone, 2);
  EXPECT_TRUE(Next(2 + kHour));
}

class GonePagesOfAPlan : public testing::Test {
 protected:
  // Makes the first crawl of page "a" at 1, with this outcome.
  void Begin(CrawlOutcome outcome) {
    shard.set_crawl_rate(Rate::PerSecond(0.1));
    shard.Apply(Upsert("a"), At(0));
    shard.RunEpoch(At(0));
    const auto first = shard.Next(At(1), kLease, "w");
    ASSERT_TRUE(first);
    shard.Apply(Result(*first, outcome, At(1)), At(1));
  }
  static ShardOptions Uniform() {
    ShardOptions options;
    options.policy = CrawlPolicy(PlanMethod::kUniform);
    return options;
  }

  MemoryShard shard{Uniform()};
};

// A plan has no gone pages, but the shard still looks for them.
TEST_F(GonePagesOfAPlan, AreLookedForInTheirTime) {
  ASSERT_NO_FATAL_FAILURE(Begin(CrawlOutcome::kChanged));
  shard.Apply(RecheckPage{Key("a")}, At(2));
  const auto second = shard.Next(At(3), kLease, "w");
  ASSERT_TRUE(second);
  shard.Apply(Result(*second, CrawlOutcome::kGone, At(3)), At(3));
  shard.RunEpoch(At(4));
  PlanColumns columns;
  (void)shard.state().policies().CollectPlan(0, UINT32_MAX, &columns);
  EXPECT_EQ(columns.Pages(), 0u);
  EXPECT_FALSE(shard.Next(At(3000), kLease, "w"));
  const Explanation waits = shard.state().Explain(*shard.Find(Key("a")), At(3000));
  EXPECT_THAT(waits.why, HasSubstr("the server will look for it again: 10 min to go"));
  EXPECT_EQ(waits.next_crawl, At(3 + kHour));
  const auto look = shard.Next(At(3 + kHour), kLease, "w");
  ASSERT_TRUE(look);
  EXPECT_EQ(look->key, Key("a"));
  shard.Apply(Result(*look, CrawlOutcome::kChanged, At(3 + kHour)), At(3 + kHour));
  EXPECT_TRUE(shard.Next(At(3 + 2 * kHour), kLease, "w")) << "it has its turn again";
}

TEST_F(GonePagesOfAPlan, AreBroughtBackBySignals) {
  ASSERT_NO_FATAL_FAILURE(Begin(CrawlOutcome::kMoved));
  EXPECT_FALSE(shard.Next(At(100), kLease, "w"));
  shard.Apply(Signal("a"), At(100));
  EXPECT_TRUE(shard.Next(At(111), kLease, "w"));
}

}  // namespace
}  // namespace freshet
