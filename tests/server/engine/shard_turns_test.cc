// Tests that the turns of a shard are bounded by the processor time of their events.
#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/url.h"
#include "core/schedule/shard_loading.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/base/limits.h"
#include "server/engine/router.h"
#include "server/engine/shard.h"
#include "storage/store.h"
#include "sync/mutex.h"
#include "tests/support/gate.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

using testing::Each;
using testing::Le;

// Measures processor time as if every event took a millisecond. The time is added at each commit.
// Thread-safe.
class DearEvents final : public ShardObserver {
 public:
  void OnCommit(Duration, size_t events) override {
    used_us_ += int64_t{1000} * static_cast<int64_t>(events);
    const MutexLock lock(mutex_);
    commits_.push_back(events);
  }
  void OnFailure(uint16_t, const Status&) override {}
  void OnPagesMayBeDue() override {}

  // After Jump(), each call adds time, as if the events of a turn took long before its commit.
  [[nodiscard]] Duration used() {
    if (jumps_) used_us_ += 2 * limits::kLongestEventTurn.micros();
    return Duration::Micros(used_us_);
  }
  void Jump() { jumps_ = true; }
  [[nodiscard]] std::vector<size_t> TakeCommits() {
    const MutexLock lock(mutex_);
    return std::exchange(commits_, {});
  }

 private:
  std::atomic<int64_t> used_us_{0};
  std::atomic<bool> jumps_ = false;
  Mutex mutex_;
  std::vector<size_t> commits_ FRESHET_GUARDED_BY(mutex_);  // number of events in each commit
};

class DearEventsTest : public testing::Test {
 protected:
  static constexpr size_t kMessage = 1000;

  DearEventsTest() {
    StoreOptions options;
    options.durability = Durability::kNone;
    auto store = Store::Open(dir_ / "data", options);
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    store_ = *std::move(store);
    EXPECT_TRUE(store_->SetShards(1).ok());
    ShardSettings settings;
    settings.mailbox = {
        .weight = 10'000, .hard_weight = 20'000, .patience = Duration::Seconds(3600)};
    settings.processor_time = [this] { return observer_.used(); };
    shard_ = std::make_unique<Shard>(settings, *store_, clock_, observer_);
    EXPECT_TRUE(shard_->state().loading().FinishLoad().empty());
    shard_->Start();
    router_ = std::make_unique<Router>(std::vector<Shard*>{shard_.get()});
  }
  ~DearEventsTest() override {
    shard_->Stop();
    EXPECT_TRUE(store_->Close().ok());
  }

  // Upserts `pages` new pages. The third one is refused.
  std::future<void> Upsert(uint64_t client, size_t pages) {
    std::vector<RoutedEvent> events;
    for (size_t i = 0; i < pages; ++i) {
      UpsertPage event{.key = {"DEFAULT", "https://a.test/" + std::to_string(next_page_++)},
                       .host = "a.test"};
      if (i == 2) event.min_interval = Duration::Seconds(10);
      if (i == 2) event.max_interval = Duration::Seconds(5);
      events.push_back({.slot = SlotOfHost("a.test"), .event = std::move(event)});
    }
    auto answer = std::make_shared<std::promise<void>>();
    const auto done = [pages, answer](const std::vector<Reply>& replies) {
      EXPECT_EQ(replies.size(), pages);
      for (size_t i = 0; i < replies.size(); ++i) {
        EXPECT_EQ(replies[i].disposition, i == 2 ? Disposition::kRefused : Disposition::kCreated);
      }
      answer->set_value();
    };
    EXPECT_TRUE(router_->Submit(std::move(events), done, nullptr, client));
    return answer->get_future();
  }
  // Keeps the shard from beginning its next turn until the gate is opened.
  void Hold() {
    gate_.Close();
    ASSERT_TRUE(shard_->Query([this](const ShardView&) { gate_.Pass(); }));
    gate_.AwaitVisitor();
  }

  TempDir dir_;
  SystemClock clock_;
  DearEvents observer_;
  Gate gate_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Shard> shard_;
  std::unique_ptr<Router> router_;
  int next_page_ = 0;
};

TEST_F(DearEventsTest, OtherClientsWaitForAPartOfAMessage) {
  Upsert(1, kMessage).get();
  (void)observer_.TakeCommits();
  Hold();
  std::vector<std::future<void>> flood;
  for (int i = 0; i < 3; ++i) flood.push_back(Upsert(1, kMessage));
  std::future<void> other = Upsert(2, 2);
  gate_.Open();
  other.get();
  for (auto& each : flood) each.get();
  const std::vector<size_t> commits = observer_.TakeCommits();
  EXPECT_THAT(commits, Each(Le(limits::kEventsTogether)));
  ASSERT_GE(commits.size(), 3 * kMessage / limits::kEventsTogether);
  EXPECT_EQ(commits[1], 2U) << "the other client's, after one part of the first message";
}

// After cheap events, a turn takes many events at once. Here these are expensive.
TEST_F(DearEventsTest, ATurnEndsWhenItHasTakenLong) {
  Hold();
  observer_.Jump();
  std::future<void> first = Upsert(1, kMessage);
  std::future<void> second = Upsert(1, kMessage);
  gate_.Open();
  first.get();
  second.get();
  EXPECT_THAT(observer_.TakeCommits(), Each(Le(limits::kEventsTogether)));
  EXPECT_EQ(shard_->snapshot().waiting_events, 0U);
}

}  // namespace
}  // namespace freshet
