#include "server/engine/epoch_exchange.h"

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/estimate/host_trust.h"
#include "core/estimate/page_estimator.h"
#include "core/estimate/site_learner.h"
#include "core/model/page_number.h"
#include "core/schedule/learning.h"
#include "core/schedule/shard_loading.h"
#include "gtest/gtest.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"
#include "server/engine/epochs_of_all.h"
#include "tests/server/engine/test_shards.h"
#include "tests/support/faulty_env.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

TEST(EpochExchange, NobodyLearnsBeforeAllHavePublishedOnce) {
  EpochExchange exchange(2);
  exchange.Begin(0);
  exchange.Publish(0, {});
  EXPECT_FALSE(exchange.MayLearn(0)) << "nothing is known of the other";
  exchange.Begin(1);
  EXPECT_FALSE(exchange.MayLearn(0));
  exchange.Publish(1, {});
  EXPECT_TRUE(exchange.MayLearn(0));
  EXPECT_TRUE(exchange.MayLearn(1));
  exchange.Begin(0);
  exchange.Publish(0, {});
  EXPECT_TRUE(exchange.MayLearn(0)) << "the other is between two epochs";
}

TEST(EpochExchange, WaitsForWhoCollectsAndForNobodyWhoFailed) {
  EpochExchange exchange(3);
  for (size_t i = 0; i < 3; ++i) exchange.Begin(i);
  exchange.Publish(0, {});
  exchange.Publish(1, {});
  EXPECT_FALSE(exchange.MayLearn(0));
  exchange.Withdraw(2);
  EXPECT_TRUE(exchange.MayLearn(0));
  EXPECT_TRUE(exchange.MayLearn(1));
}

TEST(EpochExchange, AnEpochThatIsAskedForWaitsForAll) {
  EpochExchange exchange(2);
  for (size_t i = 0; i < 2; ++i) exchange.Begin(i);
  for (size_t i = 0; i < 2; ++i) exchange.Publish(i, {});
  exchange.Expect(0);
  exchange.Expect(1);
  exchange.Begin(0);
  exchange.Publish(0, {});
  EXPECT_FALSE(exchange.MayLearn(0)) << "the other has not begun yet";
  exchange.Begin(1);
  exchange.Publish(1, {});
  EXPECT_TRUE(exchange.MayLearn(0));
}

TEST(EpochExchange, OneAskedForMidwayHoldsUpNoneThatRuns) {
  EpochExchange exchange(2);
  for (size_t i = 0; i < 2; ++i) exchange.Begin(i);
  for (size_t i = 0; i < 2; ++i) exchange.Expect(i);
  for (size_t i = 0; i < 2; ++i) exchange.Publish(i, {});
  EXPECT_TRUE(exchange.MayLearn(0)) << "else both would wait for each other's next";
  EXPECT_TRUE(exchange.MayLearn(1));
  exchange.Begin(0);
  exchange.Publish(0, {});
  EXPECT_FALSE(exchange.MayLearn(0));
}

// Returns the sums of one page in this slot.
EpochSums OnePage(uint16_t slot) {
  SiteLearner host(1);
  PagePosterior page;
  page.changes = 3;
  page.exposure = 10;
  page.teaches_rate = true;
  host.Add(page, MakePageNumber(Slot(slot), 1));
  EpochSums sums;
  sums.AddHost(Slot(slot), host, {});
  return sums;
}

TEST(EpochExchange, TellsOtherDivisionsNothingBeforeAllItsShardsHavePublished) {
  EpochExchange exchange(3);
  EXPECT_FALSE(exchange.Totals().has_value());
  exchange.Publish(0, OnePage(0));
  exchange.Publish(1, OnePage(1));
  EXPECT_FALSE(exchange.Totals().has_value()) << "two thirds of the pages are not those of all";
  exchange.Leave(2);
  ASSERT_TRUE(exchange.Totals().has_value()) << "nobody waits for who never will";
  EXPECT_EQ(exchange.Totals()->learner.pages(), 2u);
  EXPECT_EQ(exchange.Totals()->samples.size(), 2u);
}

TEST(EpochExchange, AllLearnFromOtherDivisionsWhileTheseAreAsked) {
  EpochExchange exchange(1);
  exchange.Publish(0, {});
  const RatePrior alone = exchange.All().Fit().prior();
  int asked = 0;
  exchange.SetOthers(1, [&asked] {
    ++asked;
    DivisionTotals others;
    others.emplace(0, OnePage(0).Totals());
    others.emplace(2, OnePage(4000).Totals());
    return others;
  });
  const RatePrior together = exchange.All().Fit().prior();
  EXPECT_EQ(asked, 1);
  EXPECT_GT(together.mean, 10 * alone.mean) << "three changes in ten days each";
  EXPECT_EQ(exchange.Totals()->samples.size(), 0u) << "what others showed is theirs to tell";
  exchange.SetOthers(1, nullptr);
  EXPECT_EQ(exchange.All().Fit().prior().mean, alone.mean);
}

class EpochsOfAllTest : public testing::Test {
 protected:
  StatusOr<EpochResult> Run() {
    std::promise<StatusOr<EpochResult>> answer;
    RunEpochs(shards_.router(), [&](const Status& status, const EpochResult& result) {
      if (status.ok()) return answer.set_value(result);
      answer.set_value(status);
    });
    return answer.get_future().get();
  }
  std::vector<SourceTrust> Trust(size_t shard) {
    return shards_.Ask(shard, [](const ShardView& view) {
      return TrustIn(view.state.learning().estimator().sites());
    });
  }

  TestShards shards_{
      std::vector<CrawlPolicy>(3, CrawlPolicy(Policy{.kind = PolicyKind::kGreedyNcis}))};
};

TEST_F(EpochsOfAllTest, EveryShardLearnsFromThePagesOfAll) {
  const UpsertPage page = shards_.PageOf(1, "a");
  ASSERT_TRUE(shards_.Apply(1, page).status.ok());
  Instant at = shards_.clock().Now() - Duration::Days(40);
  const auto crawl = [&](CrawlOutcome outcome) {
    ReportCrawl report{.key = page.key, .fetched = at};
    report.outcome = outcome;
    ASSERT_TRUE(shards_.Apply(1, report).status.ok());
  };
  crawl(CrawlOutcome::kUnchanged);
  for (int i = 0; i < 3; ++i) {
    const SignalChange signal{.key = page.key, .changed = at + Duration::Days(1)};
    ASSERT_EQ(shards_.Apply(1, signal).disposition, Disposition::kApplied);
    at = at + Duration::Days(5);
    crawl(CrawlOutcome::kChanged);
  }
  const StatusOr<EpochResult> ran = Run();
  ASSERT_TRUE(ran.ok()) << ran.status().ToString();
  EXPECT_EQ(ran->pages, 1u);
  for (size_t shard = 0; shard < 3; ++shard) {
    ASSERT_FALSE(Trust(shard).empty()) << "shard " << shard;
    EXPECT_EQ(Trust(shard).size(), Trust(1).size());
    EXPECT_EQ(Trust(shard)[0].precision, Trust(1)[0].precision);
    EXPECT_GT(Trust(shard)[0].signals, 1);
  }
}

// Epochs run until nothing more is learned.
TEST_F(EpochsOfAllTest, LooksAtPagesTwiceOnlyWhereModelsMoved) {
  for (size_t shard = 0; shard < 3; ++shard) shards_.Fill(shard, 40);
  StatusOr<EpochResult> ran = Run();
  ASSERT_TRUE(ran.ok()) << ran.status().ToString();
  EXPECT_EQ(ran->pages, 120u);
  EXPECT_EQ(ran->again, 120u) << "the first learns of all of them";
  for (int i = 0; i < 10 && ran->again > 0; ++i) {
    ran = Run();
    ASSERT_TRUE(ran.ok()) << ran.status().ToString();
    EXPECT_EQ(ran->pages, 120u);
  }
  EXPECT_EQ(ran->again, 0u);
  EXPECT_EQ(ran->changed, 0u);
}

// Rates are learned on another thread. They are stored before they are used.
TEST_F(EpochsOfAllTest, TheStoreHasWhatWasLearned) {
  for (size_t shard = 0; shard < 3; ++shard) shards_.Fill(shard, 5);
  for (uint64_t number = 1; number <= 2; ++number) {
    const StatusOr<EpochResult> ran = Run();
    ASSERT_TRUE(ran.ok()) << ran.status().ToString();
    EXPECT_EQ(ran->number, number);
    EXPECT_EQ(shards_.StoredEpochs(), std::vector<uint64_t>(3, number));
  }
}

TEST_F(EpochsOfAllTest, ManyAtATimeAllEnd) {
  for (size_t shard = 0; shard < 3; ++shard) shards_.Fill(shard, 40);
  constexpr int kRuns = 20;
  std::vector<std::promise<Status>> answers(kRuns);
  for (std::promise<Status>& answer : answers) {
    RunEpochs(shards_.router(),
              [&answer](const Status& status, const EpochResult&) { answer.set_value(status); });
  }
  for (std::promise<Status>& answer : answers) EXPECT_TRUE(answer.get_future().get().ok());
}

TEST_F(EpochsOfAllTest, AStoppedShardHoldsUpNobody) {
  for (size_t shard = 0; shard < 3; ++shard) shards_.Fill(shard, 3);
  shards_[2].Stop();
  EXPECT_EQ(Run().status().code(), absl::StatusCode::kUnavailable);
  std::promise<StatusOr<EpochResult>> answer;
  ASSERT_TRUE(shards_[0].Query([&](const ShardView& view) {
    view.epochs.Request([&](const StatusOr<EpochResult>& result) { answer.set_value(result); });
  }));
  EXPECT_TRUE(answer.get_future().get().ok());
}

// The shards stop while the epochs collect, share, learn, commit or file.
TEST(Epochs, EndWhereverTheyAreWhenShardsStop) {
  constexpr int kHosts = 150;
  for (int delay = 0; delay < 20; delay += 3) {
    TestShards shards(std::vector<CrawlPolicy>(2, CrawlPolicy()));
    for (int i = 0; i < kHosts; ++i) {
      const std::string host = "h" + std::to_string(i) + ".test";
      const size_t owner = &shards.router().OwnerOf(SlotOfHost(host)) == &shards[0] ? 0 : 1;
      const UpsertPage page{.key = {"DEFAULT", "https://" + host + "/"}, .host = host};
      ASSERT_TRUE(shards.Apply(owner, page).status.ok());
    }
    std::promise<Status> epoch;
    std::promise<Status> filing;
    RunEpochs(shards.router(),
              [&](const Status& status, const EpochResult&) { epoch.set_value(status); });
    ChangePoliteness(shards.router(), {}, /*pages=*/true,
                     [&](const Status& status) { filing.set_value(status); });
    LetPass(Duration::Millis(delay));
    for (size_t i = 0; i < 2; ++i) shards[i].Stop();
    for (std::promise<Status>* told : {&epoch, &filing}) {
      const Status status = told->get_future().get();
      EXPECT_TRUE(status.ok() || absl::IsUnavailable(status)) << status;
    }
  }
}

// If a slice read all slots, it would delay callers that wait for the shard or for its end.
TEST(Epochs, ASliceLooksIntoFewSlots) {
  TempDir dir;
  StoreOptions store_options;
  store_options.reserve_bytes = 0;
  StatusOr<std::unique_ptr<Store>> opened = Store::Open(dir / "data", store_options);
  ASSERT_TRUE(opened.ok()) << opened.status();
  ASSERT_TRUE((*opened)->SetShards(1).ok());
  ShardState state{ShardOptions()};
  EXPECT_TRUE(state.loading().FinishLoad().empty());
  Instant now = Instant::FromUnixSeconds(1'700'000'000);
  EpochRunner epochs({.first_slot = Slot(0), .slice_pages = 16}, **opened, now);
  bool over = false;
  epochs.Request([&](const StatusOr<EpochResult>& result) { over = result.ok(); });
  uint64_t looks = 0;
  WaitUntil([&] {
    now = now + Duration::Millis(10);
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
    rocksdb::get_perf_context()->Reset();
    Transaction txn;
    if (epochs.Due(now)) epochs.Slice(state, now, txn);
    EXPECT_LE(rocksdb::get_perf_context()->seek_on_memtable_count, 16U);
    looks += rocksdb::get_perf_context()->seek_on_memtable_count;
    epochs.Notify();
    return over;
  });
  EXPECT_GE(looks, limits::kSlots);
  EXPECT_TRUE((*opened)->Close().ok());
}

// If the learned model cannot be stored, this epoch has no effect and the next one works.
TEST(Epochs, AreRunAgainAfterTheDiskWasFull) {
  TempDir dir;
  FaultyEnv env(1);
  StoreOptions store_options;
  store_options.env = env.env();
  StatusOr<std::unique_ptr<Store>> opened = Store::Open(dir / "data", store_options);
  ASSERT_TRUE(opened.ok()) << opened.status();
  Store& store = **opened;
  ASSERT_TRUE(store.SetShards(1).ok());
  ShardState state{ShardOptions()};
  EXPECT_TRUE(state.loading().FinishLoad().empty());
  Instant now = Instant::FromUnixSeconds(1'700'000'000);
  EpochRunner epochs({.first_slot = Slot(0), .interval = Duration::Days(1)}, store, now);
  const auto run = [&] {
    StatusOr<EpochResult> answer = EpochResult();
    bool over = false;
    epochs.Request([&](const StatusOr<EpochResult>& result) {
      answer = result;
      over = true;
    });
    WaitUntil([&] {
      now = now + Duration::Millis(10);
      if (epochs.Due(now)) {
        Transaction txn;
        epochs.Slice(state, now, txn);
      }
      epochs.Notify();
      return over;
    });
    return answer;
  };
  env.SetFreeBytes(0);
  for (int i = 0; i < 2; ++i) {
    const StatusOr<EpochResult> failed = run();
    EXPECT_TRUE(absl::IsResourceExhausted(failed.status())) << failed.status();
    EXPECT_EQ(state.learning().epoch(), 0u);
    EXPECT_EQ(epochs.last().epochs, 0u);
    EXPECT_FALSE(epochs.running());
    EXPECT_GT(epochs.next_start(), now);
  }
  env.ClearFaults();
  const StatusOr<EpochResult> ran = run();
  ASSERT_TRUE(ran.ok()) << ran.status();
  EXPECT_EQ(ran->number, 1u);
  EXPECT_EQ(state.learning().epoch(), 1u);
  const StatusOr<GlobalRecords> records = store.LoadGlobals();
  ASSERT_TRUE(records.ok()) << records.status();
  ASSERT_EQ(records->epochs.size(), 1u);
  EXPECT_EQ(records->epochs[0].number, 1u);
  EXPECT_TRUE(store.Close().ok());
}

}  // namespace
}  // namespace freshet
