// Tests signals of one page in one batch. The page is estimated only once for all of them.
#include <string>
#include <vector>

#include "core/estimate/estimator.h"
#include "core/estimate/page_estimate.h"
#include "core/schedule/changes.h"
#include "core/schedule/learning.h"
#include "core/schedule/transaction.h"
#include "tests/core/schedule/shard_cycle.h"

namespace freshet {
namespace {

class SignalBatchesTest : public ShardCycleTest {
 protected:
  // Begins a batch, with the crawled page "a".
  void Begin() {
    AddCrawled("a", 0);
    txn_.Load(Page("a"));
    page_ = txn_.Find(Key("a"));
    ASSERT_NE(page_, nullptr);
  }
  Reply Step(const Event& event, double at) { return shard_.state().Step(event, At(at), txn_); }
  void ExpectEstimated(double at) {
    const PageEstimate estimate =
        shard_.state().learning().estimator().Estimate(page_->record, At(at), txn_.lessons);
    EXPECT_EQ(page_->record.state.rates, estimate.rates);
    EXPECT_EQ(page_->record.state.staleness, estimate.staleness);
  }

  Transaction txn_;
  Transaction::Page* page_ = nullptr;
};

TEST_F(SignalBatchesTest, APageIsEstimatedOnce) {
  Begin();
  ASSERT_EQ(Step(Signal("a"), 100).disposition, Disposition::kApplied);
  const double before = page_->record.state.staleness;
  const PagePosterior* judge = page_->judge.get();
  ASSERT_NE(judge, nullptr);
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(Step(Signal("a", 1), 100).disposition, Disposition::kApplied);
    EXPECT_EQ(page_->record.state.staleness, before) << "estimated for each signal";
    EXPECT_EQ(page_->judge.get(), judge) << "judged anew for each signal";
  }
  const Changes changes = txn_.Finish(shard_.state().learning().estimator());
  ASSERT_EQ(changes.pages.size(), 1U);
  EXPECT_EQ(changes.pages[0].record, &page_->record);
  EXPECT_GT(page_->record.state.staleness, before);
  EXPECT_EQ(page_->judge, nullptr);
  ExpectEstimated(100);
}

TEST_F(SignalBatchesTest, OtherEventsSeeTheEstimate) {
  Begin();
  ASSERT_EQ(Step(Signal("a"), 100).disposition, Disposition::kApplied);
  const double before = page_->record.state.staleness;
  ASSERT_TRUE(Step(RecheckPage{Key("a")}, 100).status.ok());
  EXPECT_GT(page_->record.state.staleness, before);
  ExpectEstimated(100);
}

// The second signal comes later than the first, so it must see the estimate that the first has
// changed.
TEST_F(SignalBatchesTest, LaterSignalsSeeTheEstimate) {
  Begin();
  ASSERT_EQ(Step(Signal("a"), 100).disposition, Disposition::kApplied);
  const double before = page_->record.state.staleness;
  ASSERT_EQ(Step(Signal("a"), 200).disposition, Disposition::kApplied);
  EXPECT_GT(page_->record.state.staleness, before);
  (void)txn_.Finish(shard_.state().learning().estimator());
  ExpectEstimated(200);
}

// A shard with a page that was signalled and crawled several times.
class SignalledPage {
 public:
  SignalledPage() {
    UpsertPage page = Upsert("a");
    page.last_crawl = At(0);
    EXPECT_EQ(shard_.Apply(page, At(0)).disposition, Disposition::kCreated);
    for (int i = 0; i < 6; ++i) {
      const Instant at = At(86'400.0 * (i + 1));
      ReportCrawl report{.key = Key("a"), .fetched = at};
      report.outcome = i % 3 == 0 ? CrawlOutcome::kChanged : CrawlOutcome::kUnchanged;
      Send({Signal("a", static_cast<uint8_t>(i % 2))}, at - Duration::Seconds(100));
      EXPECT_TRUE(shard_.Apply(report, at).status.ok());
    }
  }
  void Send(const std::vector<Event>& signals, Instant at) {
    for (const Reply& reply : shard_.Apply(signals, at)) {
      EXPECT_EQ(reply.disposition, Disposition::kApplied);
    }
  }
  [[nodiscard]] const PageState& state() { return shard_.Find(Key("a"))->state; }

 private:
  MemoryShard shard_{ShardOptions()};
};

// Whether signals come together or one by one, the page has the same rates afterwards.
TEST(SignalBatches, ABatchTeachesAsMuchAsItsSignals) {
  SignalledPage together;
  SignalledPage alone;
  std::vector<Event> batch;
  for (int i = 0; i < 20; ++i) {
    batch.emplace_back(Signal("a", static_cast<uint8_t>(i % 2)));
    alone.Send({batch.back()}, At(600'000));
  }
  together.Send(batch, At(600'000));
  EXPECT_EQ(together.state().rates, alone.state().rates);
  EXPECT_EQ(together.state().staleness, alone.state().staleness);
  EXPECT_EQ(together.state().last_event, alone.state().last_event);
}

}  // namespace
}  // namespace freshet
