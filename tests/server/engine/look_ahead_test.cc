// A shard goes on while a commit waits for the disk: bids are answered and the next turn's pages
// are read, and all the same every event sees what those before it did.
#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/url.h"
#include "core/schedule/leases.h"
#include "gtest/gtest.h"
#include "server/engine/shard.h"
#include "storage/store.h"
#include "sync/mutex.h"
#include "tests/support/faulty_env.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

// Where syncs of the log wait. Thread-safe; open at first.
class SlowDisk {
 public:
  void Close() {
    const MutexLock lock(mutex_);
    closed_ = true;
  }
  void Open() {
    const MutexLock lock(mutex_);
    closed_ = false;
    changed_.NotifyAll();
  }
  void Pass() {
    const MutexLock lock(mutex_);
    if (!closed_) return;
    waiting_ = true;
    changed_.NotifyAll();
    while (closed_) changed_.Wait(mutex_);
    waiting_ = false;
  }
  void AwaitVisitor() {
    const MutexLock lock(mutex_);
    while (!waiting_) changed_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  Condition changed_;
  bool closed_ FRESHET_GUARDED_BY(mutex_) = false;
  bool waiting_ FRESHET_GUARDED_BY(mutex_) = false;
};

class SilentObserver final : public ShardObserver {
 public:
  void OnCommit(Duration, size_t) override {}
  void OnFailure(uint16_t, const Status&) override {}
  void OnPagesMayBeDue() override {}
};

using Replies = std::vector<Reply>;

class LookAheadTest : public testing::Test {
 protected:
  // As many as make a commit worth a thread of its own.
  static constexpr int kPages = 200;

  LookAheadTest() {
    faulty_.OnLogSync([this] { disk_.Pass(); });
    StoreOptions options;
    options.env = faulty_.env();
    auto store = Store::Open(dir_ / "data", options);
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    store_ = *std::move(store);
    EXPECT_TRUE(store_->SetShards(1).ok());
    ShardSettings settings;
    settings.state.policy = CrawlPolicy(Policy{.kind = PolicyKind::kGreedy});
    settings.state.politeness.min_delay = Duration();
    settings.state.politeness.max_in_flight = 0;
    settings.mailbox = {
        .weight = 100'000, .hard_weight = 200'000, .patience = Duration::Seconds(3600)};
    shard_ = std::make_unique<Shard>(settings, *store_, clock_, observer_);
    EXPECT_TRUE(shard_->state().FinishLoad().empty());
    shard_->Start();
  }
  ~LookAheadTest() override {
    disk_.Open();
    shard_->Stop();
    faulty_.ClearFaults();
    EXPECT_EQ(store_->Close().ok(), !broken_);
  }

  static PageKey Key(const std::string& path) { return {"DEFAULT", "https://a.test/" + path}; }
  static PageKey Key(int page) { return Key("page" + std::to_string(page)); }
  static UpsertPage Upsert(PageKey key) { return {.key = std::move(key), .host = "a.test"}; }
  static ReportCrawl Changed(PageKey key, Instant fetched) {
    return {.key = std::move(key), .fetched = fetched, .outcome = CrawlOutcome::kChanged};
  }
  static std::vector<Event> UpsertsOf(int first, int end) {
    std::vector<Event> events;
    for (int i = first; i < end; ++i) events.emplace_back(Upsert(Key(i)));
    return events;
  }
  std::vector<Event> SignalsOf(int first, int end) {
    std::vector<Event> events;
    for (int i = first; i < end; ++i) events.emplace_back(SignalChange{.key = Key(i)});
    return events;
  }

  std::future<Replies> Submit(std::vector<Event> events) {
    auto answer = std::make_shared<std::promise<Replies>>();
    shard_->SubmitAlways({.events = std::move(events), .done = [answer](Replies replies) {
                            answer->set_value(std::move(replies));
                          }});
    return answer->get_future();
  }
  void Load() {
    for (const Reply& reply : Submit(UpsertsOf(0, kPages)).get()) ASSERT_TRUE(reply.status.ok());
  }
  std::future<std::vector<Pick>> Bid(size_t pages) {
    auto answer = std::make_shared<std::promise<std::vector<Pick>>>();
    shard_->Submit(BidRequest{
        .at = std::vector<Instant>(pages, clock_.Now()),
        .done = [answer](std::vector<Pick> picks) { answer->set_value(std::move(picks)); }});
    return answer->get_future();
  }
  std::future<std::vector<std::optional<Assignment>>> Lease(const std::vector<Pick>& picks) {
    auto answer = std::make_shared<std::promise<std::vector<std::optional<Assignment>>>>();
    SettleRequest settle;
    for (const Pick& pick : picks) {
      settle.leases.push_back(
          {.pick = pick,
           .terms = {.at = clock_.Now(), .worker = "w", .lease = Duration::Seconds(3600)}});
    }
    settle.done = [answer](std::vector<std::optional<Assignment>> assignments) {
      answer->set_value(std::move(assignments));
    };
    shard_->Submit(std::move(settle));
    return answer->get_future();
  }
  // Waits until the shard has looked ahead to all that was sent to it.
  void AwaitTaken() {
    while (shard_->snapshot().waiting_events > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    // And has answered what was sent last, which it does at once.
    Bid(0).get();
  }
  PageRecord Stored(const PageKey& key) {
    const StatusOr<ListResult> list = store_->List({.host = "a.test"}, "", 10 * kPages);
    EXPECT_TRUE(list.ok()) << list.status().ToString();
    if (!list.ok()) return {};
    for (const PageRecord& page : list->pages) {
      if (page.key == key) return page;
    }
    ADD_FAILURE() << key.url << " is not stored";
    return {};
  }
  static bool Ready(const std::future<Replies>& replies) {
    return replies.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

  TempDir dir_;
  SlowDisk disk_;
  FaultyEnv faulty_{1};
  SystemClock clock_;
  SilentObserver observer_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Shard> shard_;
  bool broken_ = false;  // a sync has failed
};

TEST_F(LookAheadTest, ABidIsAnsweredWhileTheDiskIsBusy) {
  Load();
  disk_.Close();
  std::future<Replies> signals = Submit(SignalsOf(0, kPages));
  disk_.AwaitVisitor();
  const std::vector<Pick> picks = Bid(10).get();
  EXPECT_EQ(picks.size(), 10u);
  EXPECT_FALSE(Ready(signals)) << "acknowledged before it was durable";
  disk_.Open();
  for (const Reply& reply : signals.get()) EXPECT_TRUE(reply.status.ok());
  for (const auto& assignment : Lease(picks).get()) EXPECT_TRUE(assignment);
}

TEST_F(LookAheadTest, WhatComesDuringACommitSeesWhatItCommits) {
  Load();
  const std::vector<Pick> picks = Bid(kPages).get();
  disk_.Close();
  // Signals of all pages; one more page, and one less.
  std::vector<Event> first = SignalsOf(0, kPages);
  first.emplace_back(Upsert(Key("new")));
  first.emplace_back(RemovePage{.key = Key("page7")});
  std::future<Replies> before = Submit(std::move(first));
  disk_.AwaitVisitor();
  std::vector<Event> second = {SignalChange{.key = Key("new")}, SignalChange{.key = Key("page7")},
                               Changed(Key("page8"), clock_.Now()),
                               SignalChange{.key = Key("page9")}, Upsert(Key("page7"))};
  std::future<Replies> after = Submit(std::move(second));
  std::future<Replies> last = Submit({SignalChange{.key = Key("page7")}});
  auto leases = Lease(picks);
  AwaitTaken();
  EXPECT_FALSE(Ready(before));
  EXPECT_FALSE(Ready(after));
  disk_.Open();
  for (const Reply& reply : before.get()) EXPECT_TRUE(reply.status.ok());
  const Replies replies = after.get();
  EXPECT_TRUE(replies[0].status.ok()) << "the page was added before";
  EXPECT_TRUE(absl::IsNotFound(replies[1].status)) << "the page was removed before";
  EXPECT_TRUE(replies[2].status.ok());
  EXPECT_TRUE(replies[3].status.ok());
  EXPECT_EQ(replies[4].disposition, Disposition::kCreated);
  EXPECT_TRUE(last.get().front().status.ok());
  int leased = 0;
  for (const auto& assignment : leases.get()) leased += assignment ? 1 : 0;
  EXPECT_EQ(leased, kPages - 1) << "all but the page that was removed";
  EXPECT_EQ(Stored(Key("new")).state.signals.Total(), 1);
  EXPECT_EQ(Stored(Key("page7")).state.signals.Total(), 1) << "of the new page alone";
  EXPECT_EQ(Stored(Key("page8")).detail.crawls, 1u);
  EXPECT_EQ(Stored(Key("page9")).state.signals.Total(), 2);
  EXPECT_EQ(Stored(Key("page10")).state.signals.Total(), 1);
}

// A lease that is being committed has no worker yet; a client may guess its id, or know it from a
// run before a crash.
TEST_F(LookAheadTest, AResultUnderALeaseThatIsBeingCommittedEndsIt) {
  Load();
  const std::vector<Pick> picks = Bid(kPages).get();
  const auto one = Lease({picks[0]}).get();
  ASSERT_TRUE(one[0]);
  disk_.Close();
  auto rest = Lease(std::vector<Pick>(picks.begin() + 1, picks.end()));
  disk_.AwaitVisitor();
  const LeaseId next = MakeLeaseId(OrdinalOfLease(one[0]->lease) + 1, SlotOfHost("a.test"));
  std::future<Replies> result = Submit(
      {ReportCrawl{.lease = next, .fetched = clock_.Now(), .outcome = CrawlOutcome::kUnchanged}});
  AwaitTaken();
  disk_.Open();
  const Reply reply = std::move(result.get().front());
  const auto leases = rest.get();
  const auto guessed = std::find_if(leases.begin(), leases.end(), [&](const auto& assignment) {
    return assignment && assignment->lease == next;
  });
  ASSERT_NE(guessed, leases.end());
  EXPECT_TRUE(reply.status.ok()) << reply.status.ToString();
  EXPECT_EQ(Stored((*guessed)->key).detail.crawls, 1u);
}

TEST_F(LookAheadTest, ARefusedCommitTakesNothingFromTheTurnAfterIt) {
  Load();
  disk_.Close();
  std::future<Replies> before = Submit(SignalsOf(0, kPages));
  disk_.AwaitVisitor();
  std::future<Replies> after = Submit(SignalsOf(0, 50));
  AwaitTaken();
  faulty_.FailLogSyncAt(1);
  broken_ = true;
  disk_.Open();
  for (const Reply& reply : before.get()) EXPECT_FALSE(reply.status.ok());
  for (const Reply& reply : after.get()) {
    EXPECT_TRUE(absl::IsUnavailable(reply.status)) << "the store has failed: no more is promised";
  }
}

// Of many turns of random overlap every signal is counted exactly once.
TEST_F(LookAheadTest, NothingIsLostBetweenTurns) {
  Load();
  std::vector<int> sent(kPages, 0);
  std::vector<std::future<Replies>> answers;
  for (int round = 0; round < 300; ++round) {
    const int first = round * 37 % (kPages - 60);
    // A count holds up to 255.
    for (int i = first; i < first + 60; ++i) ++sent[i];
    answers.push_back(Submit(SignalsOf(first, first + 60)));
  }
  for (auto& each : answers) {
    for (const Reply& reply : each.get()) ASSERT_TRUE(reply.status.ok());
  }
  for (int i = 0; i < kPages; i += 13) {
    EXPECT_EQ(Stored(Key(i)).state.signals.Total(), sent[i]) << "page " << i;
  }
}

}  // namespace
}  // namespace freshet
