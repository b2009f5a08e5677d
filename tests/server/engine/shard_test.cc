// Tests a shard whose disk is full for a while. Once there is space, the shard finishes its pending
// work without a request.
#include "server/engine/shard.h"

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/schedule/policy_switch.h"
#include "core/schedule/shard_loading.h"
#include "gtest/gtest.h"
#include "lab/bench/lease_best.h"
#include "storage/store.h"
#include "tests/support/faulty_env.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

// A clock that a test sets. Thread-safe.
class SetClock final : public Clock {
 public:
  Instant Now() override { return Instant::FromMicros(now_us_); }
  void Advance(Duration by) { now_us_ += by.micros(); }

 private:
  std::atomic<int64_t> now_us_{1'700'000'000'000'000};
};

class NoObserver final : public ShardObserver {
 public:
  void OnCommit(Duration, size_t) override {}
  void OnFailure(uint16_t, const Status&) override {}
  void OnPagesMayBeDue() override {}
};

class FullDiskShardTest : public testing::Test {
 protected:
  FullDiskShardTest() {
    StoreOptions options;
    options.reserve_bytes = 1 << 20;
    options.env = faulty_.env();
    auto store = Store::Open(dir_ / "data", options);
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    store_ = *std::move(store);
    EXPECT_TRUE(store_->SetShards(1).ok());
    ShardSettings settings;
    settings.state.policy = CrawlPolicy(Policy{.kind = PolicyKind::kGreedy});
    settings.state.politeness.max_in_flight = 1;
    settings.mailbox = {.weight = 1000, .hard_weight = 2000, .patience = Duration::Seconds(1)};
    shard_ = std::make_unique<Shard>(settings, *store_, clock_, observer_);
    EXPECT_TRUE(shard_->state().loading().FinishLoad().empty());
    shard_->Start();
  }
  ~FullDiskShardTest() override {
    shard_->Stop();
    faulty_.ClearFaults();
    EXPECT_TRUE(store_->Close().ok());
  }

  void FillDisk() { faulty_.SetFreeBytes(1 << 10); }
  static UpsertPage Page(const std::string& path) {
    return {.key = {"DEFAULT", "https://example.com/" + path}, .host = "example.com"};
  }
  Reply Apply(const Event& event) {
    std::promise<Reply> answer;
    shard_->SubmitAlways({.events = {event}, .done = [&answer](std::vector<Reply> replies) {
                            answer.set_value(std::move(replies.front()));
                          }});
    return answer.get_future().get();
  }
  std::optional<Assignment> Take() {
    std::promise<std::optional<Assignment>> answer;
    LeaseBest(*shard_, {{.at = clock_.Now(), .worker = "w", .lease = Duration::Seconds(10)}},
              [&answer](std::vector<std::optional<Assignment>> assignments) {
                answer.set_value(std::move(assignments.front()));
              });
    return answer.get_future().get();
  }
  // Runs `look` on the shard's thread, after its turn.
  void Look(const std::function<void(const ShardView&)>& look) {
    std::promise<void> answer;
    ASSERT_TRUE(shard_->Query([&](const ShardView& view) {
      look(view);
      answer.set_value();
    }));
    answer.get_future().get();
  }
  ShardCounters Counters() {
    ShardCounters counters;
    Look([&](const ShardView& view) { counters = view.state.counters(); });
    return counters;
  }

  TempDir dir_;
  FaultyEnv faulty_{1};
  SetClock clock_;
  NoObserver observer_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Shard> shard_;
};

TEST_F(FullDiskShardTest, ALeaseThatEndsMeanwhileExpiresWhenThereIsSpace) {
  ASSERT_TRUE(Apply(Page("page")).status.ok());
  const std::optional<Assignment> first = Take();
  ASSERT_TRUE(first);
  FillDisk();
  for (int i = 0; i < 3; ++i) {
    clock_.Advance(Duration::Seconds(20));
    EXPECT_EQ(Counters().leases, 1u) << "an expiry is durable";
  }
  faulty_.ClearFaults();
  clock_.Advance(Duration::Seconds(2));
  const ShardCounters counters = Counters();
  EXPECT_EQ(counters.leases, 0u);
  EXPECT_EQ(counters.expired_leases, 1u) << "however often it was tried";
  // The host allows one page at a time. Nobody answered for this one, so it waits before its next
  // lease.
  EXPECT_FALSE(Take());
  clock_.Advance(ShardOptions().lease_backoff);
  const std::optional<Assignment> second = Take();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->key, first->key);
}

TEST_F(FullDiskShardTest, AChangeOfPolicyFilesEveryPageAllTheSame) {
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(Apply(Page(std::to_string(i))).status.ok());
  FillDisk();
  std::promise<void> filed;
  std::promise<Reply> refused;
  Look([&](const ShardView& view) {
    EXPECT_TRUE(view.state.policies().SetPolicy(CrawlPolicy(PlanMethod::kUniform)));
    view.epochs.RequestFiling([&](const StatusOr<EpochResult>&) { filed.set_value(); });
    // The event is handled in the turn that files the pages.
    shard_->SubmitAlways({.events = {Page("late")}, .done = [&](std::vector<Reply> replies) {
                            refused.set_value(std::move(replies.front()));
                          }});
  });
  EXPECT_TRUE(absl::IsResourceExhausted(refused.get_future().get().status));
  clock_.Advance(Duration::Seconds(2));
  (void)Counters();
  filed.get_future().get();
  bool refile = false;
  Look([&](const ShardView& view) { EXPECT_TRUE(view.state.policies().FinishPlan(&refile)); });
}

}  // namespace
}  // namespace freshet
