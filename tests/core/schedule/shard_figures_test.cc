// Tests a shard's figures: the delay of crawls, hosts, and the index.
#include "core/schedule/shard_figures.h"

#include "core/schedule/freshness_sample.h"
#include "core/schedule/page_book.h"
#include "tests/core/schedule/shard_cycle.h"

namespace freshet {
namespace {

class ShardFiguresTest : public ShardCycleTest {
 protected:
  ShardFigures Figures(double at) { return shard_.state().Figures(At(at)); }
  void Crawl(const std::string& path, CrawlOutcome outcome, double at) {
    Apply(RecheckPage{Key(path)}, at);
    const auto assignment = Next(at);
    ASSERT_TRUE(assignment);
    ASSERT_EQ(assignment->key, Key(path));
    ASSERT_TRUE(Apply(Result(*assignment, outcome, At(at)), at).status.ok());
  }
};

TEST_F(ShardFiguresTest, AWaitGoesFromTheSignalToTheCrawl) {
  AddCrawled("a", 0);
  Apply(Signal("a"), 100);
  Apply(Signal("a", 1), 150);
  EXPECT_EQ(Figures(200).waiting, 1u);
  EXPECT_EQ(Figures(200).longest_wait, Duration::Seconds(100));
  Crawl("a", CrawlOutcome::kChanged, 400);
  const ShardFigures figures = Figures(400);
  EXPECT_EQ(figures.waiting, 0u);
  EXPECT_EQ(figures.waits.total(), 1u);
  EXPECT_DOUBLE_EQ(figures.waits.seconds, 300);
}

TEST_F(ShardFiguresTest, AFailedCrawlEndsNoWait) {
  AddCrawled("a", 0);
  Apply(Signal("a"), 100);
  Crawl("a", CrawlOutcome::kError, 200);
  EXPECT_EQ(Figures(200).waiting, 1u);
  EXPECT_EQ(Figures(200).waits.total(), 0u);
}

TEST_F(ShardFiguresTest, APageThatIsFoundGoneWaitsNoMore) {
  AddCrawled("a", 0);
  Apply(Signal("a"), 100);
  Crawl("a", CrawlOutcome::kGone, 160);
  EXPECT_EQ(Figures(200).waiting, 0u);
  EXPECT_DOUBLE_EQ(Figures(200).waits.seconds, 60);
}

TEST_F(ShardFiguresTest, ASignalAfterTheFetchWaitsForTheNextCrawl) {
  AddCrawled("a", 0);
  Apply(RecheckPage{Key("a")}, 50);
  const auto assignment = Next(50);
  ASSERT_TRUE(assignment);
  Apply(Signal("a"), 70);
  ASSERT_TRUE(Apply(Result(*assignment, CrawlOutcome::kChanged, At(60)), 80).status.ok());
  EXPECT_EQ(Figures(80).waits.total(), 0u);
  EXPECT_EQ(Figures(80).longest_wait, Duration::Seconds(10)) << "since the signal";
  Crawl("a", CrawlOutcome::kChanged, 100);
  EXPECT_DOUBLE_EQ(Figures(100).waits.seconds, 30);
}

TEST_F(ShardFiguresTest, ARemovedPageWaitsNoMore) {
  AddCrawled("a", 0);
  Apply(Signal("a"), 100);
  Apply(RemovePage{.key = Key("a"), .as_sent = {}}, 200);
  EXPECT_EQ(Figures(200).waiting, 0u);
  EXPECT_EQ(Figures(200).waits.total(), 0u);
}

TEST_F(ShardFiguresTest, PagesPastTheirMaxIntervalAreOverdue) {
  AddCrawled("a", 0);
  UpsertPage event = Upsert("b");
  event.max_interval = Duration::Seconds(500);
  event.last_crawl = At(0);
  Apply(event, 0);
  const auto overdue = [this](double at) {
    return shard_.state().pages().Believed(At(at)).overdue_pages;
  };
  EXPECT_DOUBLE_EQ(overdue(499), 0);
  EXPECT_DOUBLE_EQ(overdue(500), 1);
  Crawl("b", CrawlOutcome::kUnchanged, 600);
  EXPECT_DOUBLE_EQ(overdue(600), 0);
  EXPECT_DOUBLE_EQ(overdue(1100), 1);
}

TEST_F(ShardFiguresTest, PicksAndTheirEvaluationsAreCounted) {
  for (int i = 0; i < 50; ++i) AddCrawled(std::to_string(i), 0);
  ASSERT_TRUE(Next(1000));
  ASSERT_TRUE(Next(1001));
  const ShardFigures figures = Figures(1002);
  EXPECT_EQ(figures.picks, 2u);
  EXPECT_GE(figures.evaluations, 2u);
  EXPECT_GE(figures.awake, 1u);
  EXPECT_EQ(figures.hosts[HostStanding::kFree], 1u);
}

}  // namespace
}  // namespace freshet
