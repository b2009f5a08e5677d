#include "server/plan_runner.h"

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "storage/store.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

class NoObserver final : public ShardObserver {
 public:
  void OnCommit(Duration, size_t) override {}
  void OnFailure(uint16_t, const Status&) override {}
  void OnPagesMayBeDue() override {}
};

class PlanRunnerTest : public testing::Test {
 protected:
  PlanRunnerTest() {
    StoreOptions options;
    options.durability = Durability::kNone;
    auto store = Store::Open(dir_ / "data", options);
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    store_ = *std::move(store);
    EXPECT_TRUE(store_->SetShards(1).ok());
    ShardSettings settings;
    settings.state.policy = CrawlPolicy(PlanMethod::kLcComplete);
    settings.mailbox = {.weight = 1000, .hard_weight = 2000, .patience = Duration::Seconds(1)};
    shard_ = std::make_unique<Shard>(settings, *store_, clock_, observer_);
    EXPECT_TRUE(shard_->state().FinishLoad().ok());
    shard_->Start();
    router_ = std::make_unique<Router>(std::vector<Shard*>{shard_.get()});
  }
  ~PlanRunnerTest() override {
    shard_->Stop();
    EXPECT_TRUE(store_->Close().ok());
  }

  Reply Apply(const Event& event) {
    std::promise<Reply> answer;
    shard_->SubmitAlways({.events = {event}, .done = [&answer](std::vector<Reply> replies) {
                            answer.set_value(std::move(replies.front()));
                          }});
    return answer.get_future().get();
  }
  // A page that lc_compl crawls on signals alone.
  void Add(const std::string& path) {
    UpsertPage page{.key = {"DEFAULT", "https://example.com/" + path}, .host = "example.com"};
    page.known_change_rate = Rate::PerDay(1);
    page.complete_signals = true;
    ASSERT_TRUE(Apply(page).status.ok());
  }
  bool Take() {
    std::promise<bool> answer;
    TakeRequest request;
    request.terms.push_back({.at = clock_.Now(), .worker = "w", .lease = Duration::Hours(1)});
    request.done = [&](auto assignments) { answer.set_value(assignments.front().has_value()); };
    shard_->Submit(std::move(request));
    return answer.get_future().get();
  }
  // Waits until pages that the plan had filed anew are; a slice is done with every look.
  void AwaitFiling() {
    for (bool filing = true; filing;) {
      std::promise<bool> answer;
      ASSERT_TRUE(shard_->Query(
          [&](const ShardView& view) { answer.set_value(view.epochs.Due(view.now)); }));
      filing = answer.get_future().get();
    }
  }
  static Status Plan(PlanRunner& runner) {
    std::promise<Status> planned;
    runner.SetMethod(PlanMethod::kLcComplete,
                     [&](const Status& status) { planned.set_value(status); });
    return planned.get_future().get();
  }

  TempDir dir_;
  SystemClock clock_;
  NoObserver observer_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Shard> shard_;
  std::unique_ptr<Router> router_;
};

TEST_F(PlanRunnerTest, NewPagesAreAskedForWithEveryPlanAndAlsoAfterOneThatWasNotMade) {
  std::atomic<double> rate = 0;
  PlanRunner runner({}, *router_, [&] { return Rate::PerSecond(rate); });
  Add("first");
  ASSERT_TRUE(Plan(runner).ok()) << "nothing is planned at rate 0";
  rate = 1;
  ASSERT_TRUE(Plan(runner).ok());
  AwaitFiling();
  EXPECT_TRUE(Take());
  EXPECT_FALSE(Take());
  Add("second");
  ASSERT_TRUE(Plan(runner).ok());
  AwaitFiling();
  EXPECT_TRUE(Take());
  EXPECT_FALSE(Take());
  runner.Stop();
}

TEST_F(PlanRunnerTest, StopDoesNotWaitForThePlanToBeHandedOut) {
  Add("page");
  std::promise<void> planning;
  std::promise<void> stopped;
  // Asked between gathering and handing out.
  PlanRunner runner({}, *router_, [&] {
    planning.set_value();
    stopped.get_future().get();
    return Rate::PerSecond(1);
  });
  std::promise<Status> planned;
  runner.SetMethod(PlanMethod::kLcComplete,
                   [&](const Status& status) { planned.set_value(status); });
  planning.get_future().get();
  std::thread stop([&] { runner.Stop(); });
  // Once it stops it answers at once.
  for (bool stops = false; !stops;) {
    auto answered = std::make_shared<std::atomic<bool>>(false);
    runner.SetMethod(PlanMethod::kLcComplete, [answered](const Status&) { *answered = true; });
    stops = *answered;
  }
  stopped.set_value();
  stop.join();
  EXPECT_TRUE(absl::IsUnavailable(planned.get_future().get()));
}

}  // namespace
}  // namespace freshet
