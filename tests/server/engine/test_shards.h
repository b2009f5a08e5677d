// Running shards with a separate store, without the rest of the server.
#ifndef FRESHET_TESTS_SERVER_ENGINE_TEST_SHARDS_H_
#define FRESHET_TESTS_SERVER_ENGINE_TEST_SHARDS_H_

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/url.h"
#include "core/schedule/crawl_policy.h"
#include "core/schedule/shard_loading.h"
#include "gtest/gtest.h"
#include "server/engine/epoch_exchange.h"
#include "server/engine/router.h"
#include "server/engine/shard.h"
#include "storage/store.h"
#include "tests/support/temp_dir.h"

namespace freshet {

// One shard for each policy. Thread-safe after construction.
class TestShards {
 public:
  explicit TestShards(const std::vector<CrawlPolicy>& policies) {
    StoreOptions options;
    options.durability = Durability::kNone;
    auto store = Store::Open(dir_ / "data", options);
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    store_ = *std::move(store);
    const auto count = static_cast<uint16_t>(policies.size());
    EXPECT_TRUE(store_->SetShards(count).ok());
    const auto exchange = std::make_shared<EpochExchange>(count);
    std::vector<Shard*> all;
    for (uint16_t i = 0; i < count; ++i) {
      ShardSettings settings;
      settings.state.policy = policies[i];
      settings.state.shard = i;
      settings.epochs.first_slot = Slot(i);
      settings.epochs.stride = count;
      settings.epochs.exchange = exchange;
      settings.mailbox = {.weight = 1000, .hard_weight = 2000, .patience = Duration::Seconds(1)};
      shards_.push_back(std::make_unique<Shard>(settings, *store_, clock_, observer_));
      EXPECT_TRUE(shards_.back()->state().loading().FinishLoad().empty());
      shards_.back()->Start();
      all.push_back(shards_.back().get());
    }
    router_.emplace(std::move(all));
  }
  ~TestShards() {
    for (const auto& shard : shards_) shard->Stop();
    EXPECT_TRUE(store_->Close().ok());
  }
  TestShards(const TestShards&) = delete;
  TestShards& operator=(const TestShards&) = delete;

  [[nodiscard]] Clock& clock() { return clock_; }
  [[nodiscard]] Router& router() { return *router_; }
  [[nodiscard]] Shard& operator[](size_t i) { return *shards_[i]; }

  // Returns the name of a host that the shard owns.
  [[nodiscard]] std::string HostOf(size_t shard) {
    for (int i = 0;; ++i) {
      std::string host = "host" + std::to_string(i) + ".test";
      if (&router_->OwnerOf(SlotOfHost(host)) == shards_[shard].get()) return host;
    }
  }
  [[nodiscard]] UpsertPage PageOf(size_t shard, const std::string& path) {
    const std::string host = HostOf(shard);
    return {.key = {"DEFAULT", "https://" + host + "/" + path}, .host = host};
  }
  // Reports the outcomes of leases to `tell`. Must be called before the first lease.
  void TellLeases(std::function<void(const LeaseTallies&)> tell) {
    observer_.tell_leases = std::move(tell);
  }
  Reply Apply(size_t shard, const Event& event) {
    std::promise<Reply> answer;
    shards_[shard]->SubmitAlways({.events = {event}, .done = [&answer](std::vector<Reply> replies) {
                                    answer.set_value(std::move(replies.front()));
                                  }});
    return answer.get_future().get();
  }
  // Adds `pages` pages to the shard, all on one host.
  void Fill(size_t shard, int pages) {
    for (int i = 0; i < pages; ++i) {
      EXPECT_TRUE(Apply(shard, PageOf(shard, std::to_string(i))).status.ok());
    }
  }
  // The stored epoch numbers, by shard.
  [[nodiscard]] std::vector<uint64_t> StoredEpochs() const {
    std::vector<uint64_t> numbers;
    const StatusOr<GlobalRecords> records = store_->LoadGlobals();
    EXPECT_TRUE(records.ok()) << records.status().ToString();
    if (!records.ok()) return numbers;
    for (const EpochRecord& epoch : records->epochs) numbers.push_back(epoch.number);
    return numbers;
  }
  // Returns the result of `ask` on the shard's thread.
  template <typename Function>
  auto Ask(size_t shard, const Function& ask) {
    std::promise<decltype(ask(std::declval<const ShardView&>()))> answer;
    EXPECT_TRUE(shards_[shard]->Query([&](const ShardView& view) { answer.set_value(ask(view)); }));
    return answer.get_future().get();
  }
  // Blocks the shard until the promise is fulfilled.
  void Hold(size_t shard, std::promise<void>& until) {
    std::promise<void> held;
    auto free = std::make_shared<std::future<void>>(until.get_future());
    EXPECT_TRUE(shards_[shard]->Query([&held, free](const ShardView&) {
      held.set_value();
      free->get();
    }));
    held.get_future().get();
  }

 private:
  class Observer final : public ShardObserver {
   public:
    void OnCommit(Duration, size_t) override {}
    void OnFailure(uint16_t, const Status&) override {}
    void OnPagesMayBeDue() override {}
    void OnLeases(const LeaseTallies& tallies) override {
      if (tell_leases) tell_leases(tallies);
    }
    std::function<void(const LeaseTallies&)> tell_leases;
  };

  TempDir dir_;
  SystemClock clock_;
  Observer observer_;
  std::unique_ptr<Store> store_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::optional<Router> router_;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_SERVER_ENGINE_TEST_SHARDS_H_
