// Tests that a shard continues while a commit waits for the disk: it answers bids and reads the
// pages of the next turn. Every event still sees the effects of those before it.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/base/url.h"
#include "core/schedule/leases.h"
#include "core/schedule/page_book.h"
#include "core/schedule/shard_loading.h"
#include "gtest/gtest.h"
#include "server/base/limits.h"
#include "server/engine/shard.h"
#include "storage/format.h"
#include "storage/pages_read.h"
#include "storage/store.h"
#include "sync/mutex.h"
#include "tests/support/faulty_env.h"
#include "tests/support/gate.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

// Real time plus an offset that a test sets. Thread-safe.
class ShiftedClock final : public Clock {
 public:
  Instant Now() override { return clock_.Now() + Duration::Micros(shift_us_); }
  void Advance(Duration by) { shift_us_ += by.micros(); }

 private:
  SystemClock clock_;
  std::atomic<int64_t> shift_us_{0};
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
  // There are enough pages that a commit gets a separate thread.
  static constexpr int kPages = 200;
  static constexpr uint64_t kReserve = 1 << 20;
  static constexpr size_t kHardWeight = 20'000;

  LookAheadTest() {
    faulty_.OnLogSync([this] { disk_.Pass(); });
    StoreOptions options;
    options.env = faulty_.env();
    options.reserve_bytes = kReserve;
    options.page_cache_bytes = 256 << 10;  // too small for all pages
    auto store = Store::Open(dir_ / "data", options);
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    store_ = *std::move(store);
    EXPECT_TRUE(store_->SetShards(1).ok());
    ShardSettings settings;
    settings.state.policy = CrawlPolicy(Policy{.kind = PolicyKind::kGreedy});
    settings.state.politeness.min_delay = Duration();
    settings.state.politeness.max_in_flight = 0;
    settings.mailbox = {
        .weight = kHardWeight / 2, .hard_weight = kHardWeight, .patience = Duration::Seconds(3600)};
    shard_ = std::make_unique<Shard>(settings, *store_, clock_, observer_);
    EXPECT_TRUE(shard_->state().loading().FinishLoad().empty());
    shard_->Start();
  }
  ~LookAheadTest() override {
    disk_.Open();
    shard_->Stop();
    faulty_.ClearFaults();
    EXPECT_EQ(store_->Close().ok(), !broken_);
  }
  // Cuts the power and opens the store again, without a shard.
  void CutPowerAndReopen() {
    disk_.Open();
    shard_->Stop();
    (void)store_->Close();
    broken_ = false;
    store_.reset();
    faulty_.Crash();
    StoreOptions options;
    options.env = faulty_.env();
    options.reserve_bytes = kReserve;
    auto store = Store::Open(dir_ / "data", options);
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    store_ = *std::move(store);
    const StatusOr<VerifyReport> report = store_->Verify();
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_TRUE(report->ok()) << report->problems.front();
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

  // Sends a client's events, which the shard may refuse.
  PushOutcome Push(EventBatch batch) {
    std::vector<EventBatch> parts;
    parts.push_back(std::move(batch));
    return shard_->Submit(std::move(parts));
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
    shard_->Submit(
        BidRequest{.at = std::vector<Instant>(pages, clock_.Now()),
                   .done = [answer](ShardBid bid) { answer->set_value(std::move(bid.picks)); }});
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
  // Waits until the shard has looked ahead at everything that was sent to it.
  void AwaitTaken() {
    // A bid is answered after all events sent before it.
    Bid(0).get();
  }
  std::vector<PageRecord> AllStored() {
    StatusOr<ListResult> list = store_->List({.host = "a.test"}, "", 10 * kPages);
    EXPECT_TRUE(list.ok()) << list.status().ToString();
    return list.ok() ? std::move(list->pages) : std::vector<PageRecord>();
  }
  PageRecord Stored(const PageKey& key) {
    for (PageRecord& page : AllStored()) {
      if (page.key == key) return std::move(page);
    }
    ADD_FAILURE() << key.url << " is not stored";
    return {};
  }
  // Reads a page as a client would; nullopt = there is none.
  std::future<std::optional<PageRecord>> Read(const PageKey& key) {
    auto answer = std::make_shared<std::promise<std::optional<PageRecord>>>();
    std::future<std::optional<PageRecord>> told = answer->get_future();
    const auto read = [this, key, answer](const ShardView& view) {
      std::vector<PageNumber> numbers;
      view.state.pages().FindNumbers(key, &numbers);
      std::optional<PageRecord> found;
      for (StatusOr<PageRecord>& page : store_->ReadPages(numbers)) {
        if (page.ok() && page->key == key) found = *std::move(page);
      }
      answer->set_value(std::move(found));
    };
    EXPECT_EQ(shard_->Read(read, /*client=*/1), PushOutcome::kTaken);
    return told;
  }
  template <typename T>
  static bool ComesSoon(const std::future<T>& answer) {
    return answer.wait_for(std::chrono::seconds(60)) == std::future_status::ready;
  }
  static bool Ready(const std::future<Replies>& replies) {
    return replies.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

  TempDir dir_;
  Gate disk_;  // syncs of the log wait here
  FaultyEnv faulty_{1};
  ShiftedClock clock_;
  SilentObserver observer_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Shard> shard_;
  bool broken_ = false;  // whether a sync has failed
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
  // The events are signals of all pages, one added page and one removed page.
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

// While the commit of a lease is in progress, no worker has the lease yet. A client might guess its
// id, or know it from a run before a crash.
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

TEST_F(LookAheadTest, APageIsReadWhileTheDiskIsBusy) {
  Load();
  disk_.Close();
  std::vector<Event> events = SignalsOf(0, kPages);
  events.emplace_back(RemovePage{.key = Key(3)});
  std::future<Replies> signals = Submit(std::move(events));
  disk_.AwaitVisitor();
  for (const int page : {3, 4}) {
    auto read = Read(Key(page));
    EXPECT_TRUE(ComesSoon(read)) << "behind the disk";
    disk_.Open();
    const std::optional<PageRecord> found = read.get();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->state.signals.Total(), page == 3 ? 0 : 1) << "as it was, then as it is";
    if (page == 3) signals.get();
  }
  EXPECT_FALSE(Read(Key(3)).get());
}

// After a slow commit, bids and reads do not wait for the next one, however little it writes.
TEST_F(LookAheadTest, AGateIsLookedAheadToForASinglePage) {
  Load();
  disk_.Close();
  std::future<Replies> first = Submit(SignalsOf(0, 1));
  disk_.AwaitVisitor();
  clock_.Advance(Duration::Seconds(2));
  disk_.Open();
  first.get();
  // Some disks are slow only now and then.
  for (int i = 10; i < 30; ++i) (void)Submit(SignalsOf(i, i + 1)).get();
  disk_.Close();
  std::future<Replies> second = Submit(SignalsOf(1, 2));
  disk_.AwaitVisitor();
  auto bid = Bid(10);
  auto read = Read(Key(5));
  EXPECT_TRUE(ComesSoon(bid));
  EXPECT_TRUE(ComesSoon(read));
  EXPECT_FALSE(Ready(second));
  disk_.Open();
  EXPECT_EQ(bid.get().size(), 10U);
  EXPECT_TRUE(second.get().front().status.ok());
}

// During a long commit, the shard takes the events of only one turn ahead. After that, the mailbox
// fills up.
TEST_F(LookAheadTest, NoMoreThanATurnIsTakenIn) {
  Load();
  disk_.Close();
  std::future<Replies> under_way = Submit(SignalsOf(0, kPages));
  disk_.AwaitVisitor();
  constexpr int kMost = limits::kMaxItemsPerMessage;
  std::vector<std::future<Replies>> taken;
  const auto push = [&] {
    auto answer = std::make_shared<std::promise<Replies>>();
    std::vector<Event> events;
    for (int i = 0; i < kMost; ++i) events.emplace_back(SignalChange{.key = Key(i % kPages)});
    EventBatch batch = {.events = std::move(events), .done = [answer](Replies replies) {
                          answer->set_value(std::move(replies));
                        }};
    const PushOutcome outcome = Push(std::move(batch));
    if (outcome != PushOutcome::kFull) taken.push_back(answer->get_future());
    return outcome;
  };
  PushOutcome last = PushOutcome::kTaken;
  while (taken.size() < 1000 && last != PushOutcome::kFull) last = push();
  EXPECT_EQ(last, PushOutcome::kFull);
  // Accepted messages are either in the mailbox or in the one turn that the shard has taken.
  EXPECT_LE(taken.size(), (kHardWeight + limits::kMaxEventsPerCommit) / kMost);
  auto read = Read(Key(0));
  EXPECT_TRUE(ComesSoon(read)) << "though no more is taken in";
  EXPECT_GE(shard_->snapshot().waiting_events, taken.size() * kMost - limits::kMaxEventsPerCommit);
  disk_.Open();
  under_way.get();
  for (auto& each : taken) {
    for (const Reply& reply : each.get()) ASSERT_TRUE(reply.status.ok());
  }
}

// A few pages with long URLs fill a turn, so other clients must wait for only one message of these
// pages.
TEST_F(LookAheadTest, LongUrlsFillATurn) {
  Load();
  disk_.Close();
  std::future<Replies> under_way = Submit(SignalsOf(0, kPages));
  disk_.AwaitVisitor();
  // Returns the number of commits at the time of the answer.
  const auto push = [&](uint64_t client, const std::string& name, int pages) {
    auto answer = std::make_shared<std::promise<uint64_t>>();
    EventBatch batch = {.events = {},
                        .done =
                            [this, answer](const Replies& replies) {
                              for (const Reply& reply : replies) EXPECT_TRUE(reply.status.ok());
                              answer->set_value(shard_->snapshot().commits.count);
                            },
                        .trace = nullptr,
                        .client = client};
    for (int i = 0; i < pages; ++i) {
      batch.events.emplace_back(Upsert(Key(name + std::to_string(i))));
    }
    EXPECT_EQ(Push(std::move(batch)), PushOutcome::kTaken);
    return answer->get_future();
  };
  const std::string pad(8000, 'x');
  constexpr int kFew = 200;
  static_assert(CostOf(kFew, kFew * 8000) > limits::kMaxEventsPerCommit);
  auto first = push(1, "first" + pad, kFew);
  auto second = push(1, "second" + pad, kFew);
  auto other = push(2, "other", 1);
  disk_.Open();
  under_way.get();
  const uint64_t commits_of_other = other.get();
  // Answers are given on another thread, so the short commit of `other` might already count.
  EXPECT_LE(first.get(), commits_of_other);
  EXPECT_GT(second.get(), commits_of_other) << "it waits for more than one message";
}

// A shard that stops while the disk is busy handles all events that it has taken.
TEST_F(LookAheadTest, StoppingDuringACommitLosesNothing) {
  Load();
  disk_.Close();
  std::future<Replies> under_way = Submit(SignalsOf(0, kPages));
  disk_.AwaitVisitor();
  std::future<Replies> ahead = Submit(SignalsOf(0, 100));
  AwaitTaken();
  std::future<Replies> behind = Submit(SignalsOf(0, 50));
  std::thread stopping([this] { shard_->Stop(); });
  disk_.Open();
  stopping.join();
  ASSERT_TRUE(Ready(under_way) && Ready(ahead) && Ready(behind));
  for (auto* each : {&under_way, &ahead, &behind}) {
    for (const Reply& reply : each->get()) EXPECT_TRUE(reply.status.ok());
  }
  CutPowerAndReopen();
  EXPECT_EQ(Stored(Key(1)).state.signals.Total(), 3);
  EXPECT_EQ(Stored(Key(60)).state.signals.Total(), 2);
}

// All pages are leased and never answered, while signals keep arriving. The stored rows stay
// bounded.
TEST_F(LookAheadTest, SignalsOfLeasedPagesDoNotPileUp) {
  Load();
  for (const auto& lease : Lease(Bid(kPages).get()).get()) ASSERT_TRUE(lease);
  clock_.Advance(kAssignmentsKept + Duration::Seconds(1));
  for (int i = 0; i < 200; ++i) Submit(SignalsOf(0, kPages)).get();
  const uint64_t rows =
      store_->Stats().families[storage::IndexOf(storage::Family::kLeases)].estimated_rows;
  EXPECT_LE(rows, 60U);
}

// Over many turns that overlap at random, every signal is counted exactly once.
TEST_F(LookAheadTest, NothingIsLostBetweenTurns) {
  Load();
  std::vector<int> sent(kPages, 0);
  std::vector<std::future<Replies>> answers;
  for (int round = 0; round < 300; ++round) {
    const int first = round * 37 % (kPages - 60);
    // The stored count stops at 255.
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

// Signals, crawls under leases, removals and additions happen at the same time, and the test waits
// for none of them.
class ChurnTest : public LookAheadTest {
 protected:
  // Pages below kSignalled get only signals, pages below kCrawled only crawls. The rest is removed
  // and added again.
  static constexpr int kSignalled = 60;
  static constexpr int kCrawled = 120;
  struct Tally {
    int sent = 0;
    int taken = 0;
  };

  void Round(Random& random) {
    std::vector<Event> events;
    const int first = static_cast<int>(random.Below(kSignalled));
    for (int i = 0; i < 40; ++i) {
      const int page = (first + i) % kSignalled;
      ++tallies_[page].sent;
      events.emplace_back(SignalChange{.key = Key(page)});
    }
    const auto changed = static_cast<int>(kCrawled + random.Below(kPages - kCrawled));
    events.emplace_back(RemovePage{.key = Key(changed)});
    events.emplace_back(Upsert(Key(changed)));
    events.emplace_back(SignalChange{.key = Key(changed)});
    signals_.push_back({first, Submit(std::move(events))});
    if (random.Below(3) == 0) Lease();
    TakeLeases();
  }
  void Lease() {
    auto bid = std::make_shared<std::future<std::vector<Pick>>>(Bid(40));
    leases_.push_back(LookAheadTest::Lease(bid->get()));
  }
  // Reports each lease that has arrived twice.
  void TakeLeases() {
    while (!leases_.empty() &&
           leases_.front().wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
      std::vector<Event> events;
      std::vector<int> pages;
      for (const auto& lease : leases_.front().get()) {
        if (!lease) continue;
        const int page = std::stoi(lease->key.url.substr(Key("page").url.size()));
        if (page < kSignalled) {
          events.emplace_back(ReturnLease{lease->lease});
          pages.push_back(-1);
          continue;
        }
        for (int twice = 0; twice < 2; ++twice) {
          events.emplace_back(ReportCrawl{
              .lease = lease->lease, .fetched = clock_.Now(), .outcome = CrawlOutcome::kChanged});
          pages.push_back(page < kCrawled ? page : -1);
        }
        if (page < kCrawled) ++tallies_[page].sent;
      }
      leases_.erase(leases_.begin());
      if (!events.empty()) results_.push_back({std::move(pages), Submit(std::move(events))});
    }
  }
  // Counts acknowledged events.
  void Count() {
    while (!leases_.empty()) {
      leases_.front().wait();
      TakeLeases();
    }
    for (auto& [first, answer] : signals_) {
      const Replies replies = answer.get();
      for (int i = 0; i < 40; ++i) {
        if (replies[static_cast<size_t>(i)].status.ok()) {
          ++tallies_[(first + i) % kSignalled].taken;
        } else {
          ++refused_;
        }
      }
    }
    for (auto& [pages, answer] : results_) {
      const Replies replies = answer.get();
      for (size_t i = 0; i < pages.size(); ++i) {
        const bool counts =
            replies[i].status.ok() && replies[i].disposition != Disposition::kDuplicate;
        if (pages[i] >= 0 && counts) ++tallies_[pages[i]].taken;
      }
    }
  }
  static int CountOf(const PageRecord& page, int number) {
    return number < kSignalled ? page.state.signals.Total() : static_cast<int>(page.detail.crawls);
  }
  // Expects that everything that was acknowledged is stored once. With `or_not`, unacknowledged
  // events may be stored or not.
  void ExpectCounted(bool or_not) {
    std::map<std::string, PageRecord> stored;  // by URL
    for (PageRecord& page : AllStored()) {
      const std::string url = page.key.url;
      EXPECT_TRUE(stored.emplace(url, std::move(page)).second) << url << " is there twice";
    }
    EXPECT_EQ(stored.size(), static_cast<size_t>(kPages));
    for (const auto& [number, tally] : tallies_) {
      const int count = CountOf(stored[Key(number).url], number);
      EXPECT_GE(count, tally.taken) << "page " << number << " has lost something";
      EXPECT_LE(count, or_not ? tally.sent : tally.taken) << "page " << number;
    }
  }
  // Expects that readers get the same pages from memory as from the disk.
  void ExpectCacheLikeDisk() {
    const std::vector<PageRecord> stored = AllStored();
    std::vector<PageNumber> numbers;
    for (const PageRecord& page : stored) numbers.push_back(page.number);
    const auto read = store_->ReadPages(numbers);
    for (size_t i = 0; i < stored.size(); ++i) {
      ASSERT_TRUE(read[i].ok()) << read[i].status().ToString();
      EXPECT_TRUE(*read[i] == stored[i]) << stored[i].key.url;
    }
  }

  std::map<int, Tally> tallies_;
  int refused_ = 0;
  std::vector<std::pair<int, std::future<Replies>>> signals_;
  std::vector<std::pair<std::vector<int>, std::future<Replies>>> results_;
  std::vector<std::future<std::vector<std::optional<Assignment>>>> leases_;
};

TEST_F(ChurnTest, ADiskThatIsFullNowAndThenCostsWhatIsRefusedAndNoMore) {
  Load();
  std::atomic<bool> over{false};
  std::thread reader([&] {
    for (int i = 0; !over; ++i) (void)Read(Key(i % kPages)).get();
  });
  Random random(3);
  for (int round = 0; round < 240; ++round) {
    // This is less than the reserve, but enough for the writes that are in progress.
    if (round % 16 == 9) faulty_.SetFreeBytes(kReserve - 1);
    if (round % 16 == 12) {
      clock_.Advance(Duration::Seconds(2));
      faulty_.ClearFaults();
    }
    Round(random);
    if (random.Below(4) == 0) Submit(SignalsOf(kCrawled, kCrawled + 1)).wait();
  }
  Count();
  over = true;
  reader.join();
  EXPECT_GT(refused_, 0);
  ExpectCounted(/*or_not=*/false);
  ExpectCacheLikeDisk();
  CutPowerAndReopen();
  ExpectCounted(/*or_not=*/false);
}

class PowerCutTest : public ChurnTest, public testing::WithParamInterface<uint64_t> {};

TEST_P(PowerCutTest, WhatWasAcknowledgedIsThereOnce) {
  Load();
  Random random(GetParam());
  faulty_.DieAt(1 + random.Below(120));
  for (int round = 0; round < 80; ++round) {
    Round(random);
    if (random.Below(3) == 0) Submit(SignalsOf(kCrawled, kCrawled + 1)).wait();
  }
  Count();
  CutPowerAndReopen();
  ExpectCounted(/*or_not=*/true);
}

INSTANTIATE_TEST_SUITE_P(Seeds, PowerCutTest, testing::Range<uint64_t>(1, 25));

}  // namespace
}  // namespace freshet
