#include "server/engine/dispatcher.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/engine/test_shards.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

// Counts assignments by host until it has the number that the test wants. Thread-safe.
class CountingSink final : public AssignmentSink {
 public:
  explicit CountingSink(size_t wanted) : wanted_(wanted) {}
  void Deliver(std::vector<Assignment> assignments, Outlook /*outlook*/) override {
    if (!assignments.empty()) served_ = true;
    for (const Assignment& assignment : assignments) {
      ++by_host_[assignment.host];
      if (--wanted_ == 0) done_.set_value(by_host_);
    }
  }
  void OnPause(bool /*paused*/) override {}
  void OnStall(const Status& /*why*/) override {}
  std::map<std::string, int> Await() { return done_.get_future().get(); }
  [[nodiscard]] bool served() const { return served_; }

 private:
  size_t wanted_;
  std::atomic<bool> served_{false};
  std::map<std::string, int> by_host_;
  std::promise<std::map<std::string, int>> done_;
};

// During a change of policy, one shard can already have its plan while another still uses its
// index.
TEST(Dispatcher, SharesTicksBetweenShardsThatPickByDifferentKindsOfPolicy) {
  TestShards shards({Policy{.kind = PolicyKind::kGreedy}, CrawlPolicy(PlanMethod::kUniform)});
  shards.Fill(0, 60);
  shards.Fill(1, 20);
  Dispatcher dispatcher(shards.router(), shards.clock(), Rate::PerSecond(1000));
  dispatcher.Start();
  const auto sink = std::make_shared<CountingSink>(40);
  const auto worker = dispatcher.Join({.name = "w", .lease = Duration::Hours(1)}, sink, 1);
  ASSERT_TRUE(worker.ok());
  dispatcher.Grant(*worker, 40);
  EXPECT_THAT(sink->Await(), testing::UnorderedElementsAre(testing::Pair(shards.HostOf(0), 30),
                                                           testing::Pair(shards.HostOf(1), 10)));
  dispatcher.Leave(*worker);
  dispatcher.Stop();
}

// Shards outlive the dispatcher and still report leases that end.
TEST(Dispatcher, HearsOfLeasesAfterItHasStopped) {
  TestShards shards({Policy{.kind = PolicyKind::kGreedy}});
  shards.Fill(0, 5);
  Dispatcher dispatcher(shards.router(), shards.clock(), Rate::PerSecond(1000), {.open_leases = 1});
  dispatcher.Start();
  const auto sink = std::make_shared<CountingSink>(1);
  const auto first = dispatcher.Join({.name = "w", .lease = Duration::Hours(1)}, sink, 2);
  ASSERT_TRUE(first.ok());
  dispatcher.Grant(*first, 1);
  (void)sink->Await();
  const auto second = dispatcher.Join({.name = "w",
                                       .lease = Duration::Hours(1),
                                       .waiter = true,
                                       .waits_until = Instant::Infinite()},
                                      std::make_shared<CountingSink>(1), 2);
  ASSERT_TRUE(second.ok());
  dispatcher.Grant(*second, 1);
  // The second worker has the same name and waits until the lease of the first one ends.
  const uint64_t before = dispatcher.stats().ticks_without_credit;
  WaitUntil([&] { return dispatcher.stats().ticks_without_credit > before; });
  dispatcher.Stop();
  LeaseTallies tallies;
  tallies[{"", "w"}].ended = 1;
  dispatcher.OnLeases(tallies);
  dispatcher.Leave(*first);
}

// Invented names do not take all pages or all ticks, and workers that join later still get pages.
TEST(Dispatcher, BoundsWhatInventedNamesTake) {
  TestShards shards({Policy{.kind = PolicyKind::kGreedy}});
  shards.Fill(0, 100);
  Dispatcher dispatcher(shards.router(), shards.clock(), Rate::PerSecond(1000),
                        {.open_leases = 1000, .newcomer_leases = 10});
  shards.TellLeases([&](const LeaseTallies& tallies) { dispatcher.OnLeases(tallies); });
  dispatcher.Start();
  std::vector<WorkerId> all;
  const auto join = [&](const std::string& name, const std::string& client, size_t wanted) {
    auto sink = std::make_shared<CountingSink>(wanted);
    const auto worker =
        dispatcher.Join({.name = name, .client = client, .lease = Duration::Hours(1)}, sink, 100);
    EXPECT_TRUE(worker.ok());
    dispatcher.Grant(*worker, wanted);
    all.push_back(*worker);
    return sink;
  };
  for (int i = 0; i < 4; ++i) (void)join("invented " + std::to_string(i), "here", 1)->Await();
  const auto late = join("one too many", "here", 1);
  EXPECT_TRUE(dispatcher.FullBy({"here", "one too many"}));
  (void)join("elsewhere", "there", 1)->Await();
  EXPECT_EQ(dispatcher.stats().workers_at_allowance, 1u);
  EXPECT_EQ(dispatcher.stats().newcomer_leases, 5u);
  // A worker whose name has results gets pages.
  LeaseTallies answered;
  answered[{"here", "proven"}].answered = 1;
  dispatcher.OnLeases(answered);
  (void)join("proven", "here", 20)->Await();
  EXPECT_FALSE(late->served());
  // A lease ends, so the next waiting worker gets a page in its place.
  LeaseTallies ended;
  ended[{"here", "invented 2"}] = {.ended = 1, .expired = 1};
  dispatcher.OnLeases(ended);
  (void)late->Await();
  // A waiting worker reports a result, which ends its wait.
  const auto waiting = join("late", "here", 1);
  WaitUntil([&] { return dispatcher.stats().workers_at_allowance > 0; });
  answered.clear();
  answered[{"here", "late"}].answered = 1;
  dispatcher.OnLeases(answered);
  (void)waiting->Await();
  for (const WorkerId id : all) dispatcher.Leave(id);
  dispatcher.Stop();
}

// The share of newcomers is the same for any number of new names.
TEST(Dispatcher, NewcomersGetEveryFourthPageWhileOthersWantThem) {
  TestShards shards({Policy{.kind = PolicyKind::kGreedy}});
  shards.Fill(0, 400);
  Dispatcher dispatcher(shards.router(), shards.clock(), Rate::PerSecond(1000));
  LeaseTallies answered;
  answered[{"here", "proven"}].answered = 1;
  dispatcher.OnLeases(answered);
  std::vector<WorkerId> all;
  const auto join = [&](const std::string& name, const std::shared_ptr<CountingSink>& sink) {
    const auto worker =
        dispatcher.Join({.name = name, .client = "here", .lease = Duration::Hours(1)}, sink, 100);
    ASSERT_TRUE(worker.ok());
    dispatcher.Grant(*worker, 100);
    all.push_back(*worker);
  };
  for (int i = 0; i < 30; ++i) {
    join("invented " + std::to_string(i), std::make_shared<CountingSink>(1000));
  }
  const auto sink = std::make_shared<CountingSink>(60);
  join("proven", sink);
  dispatcher.Start();
  (void)sink->Await();
  std::vector<std::string> order;
  for (const RecentAssignment& one : dispatcher.recent()) order.push_back(one.worker);
  // Among the 20 pages that begin with the proven worker's last page, newcomers have five.
  const auto last = std::find(order.begin(), order.end(), "proven");
  ASSERT_LT(last + 20, order.end());
  EXPECT_EQ(std::count(last, last + 20, "proven"), 15);
  for (const WorkerId id : all) dispatcher.Leave(id);
  dispatcher.Stop();
}

// Grants itself one credit for each page that it gets. Thread-safe.
class AskingAgain final : public AssignmentSink {
 public:
  AskingAgain(Dispatcher& dispatcher, size_t wanted) : dispatcher_(dispatcher), wanted_(wanted) {}
  void Serve(WorkerId id, int64_t credit) {
    id_ = id;
    dispatcher_.Grant(id, credit);
  }
  void Deliver(std::vector<Assignment> assignments, Outlook /*outlook*/) override {
    for (size_t i = 0; i < assignments.size(); ++i) {
      dispatcher_.Grant(id_, 1);
      if (wanted_ > 0 && --wanted_ == 0) done_.set_value();
    }
  }
  void OnPause(bool /*paused*/) override {}
  void OnStall(const Status& /*why*/) override {}
  [[nodiscard]] bool Served() {
    return done_.get_future().wait_for(std::chrono::seconds(60)) == std::future_status::ready;
  }

 private:
  Dispatcher& dispatcher_;
  std::atomic<WorkerId> id_ = 0;
  size_t wanted_;
  std::promise<void> done_;
};

// If a host has a page only now and then, most requests of a round get none. Turns must count the
// pages that were given; otherwise the first worker of each round would get all of them.
TEST(Dispatcher, NewcomersGetTheirShareWherePagesAreScarce) {
  TestShards shards({Policy{.kind = PolicyKind::kGreedy}});
  shards.Fill(0, 100);
  SetHost slow{.host = shards.HostOf(0)};
  slow.min_delay = Duration::Millis(20);
  ASSERT_TRUE(shards.Apply(0, slow).status.ok());
  Dispatcher dispatcher(shards.router(), shards.clock(), Rate::PerSecond(1000));
  LeaseTallies answered;
  answered[{"here", "proven"}].answered = 1;
  dispatcher.OnLeases(answered);
  const auto proven = std::make_shared<AskingAgain>(dispatcher, 0);
  const auto newcomer = std::make_shared<AskingAgain>(dispatcher, 3);
  const auto first =
      dispatcher.Join({.name = "proven", .client = "here", .lease = Duration::Hours(1)}, proven, 9);
  const auto second = dispatcher.Join({.name = "new", .lease = Duration::Hours(1)}, newcomer, 9);
  ASSERT_TRUE(first.ok() && second.ok());
  proven->Serve(*first, 5);
  newcomer->Serve(*second, 50);
  dispatcher.Start();
  EXPECT_TRUE(newcomer->Served());
  dispatcher.Leave(*first);
  dispatcher.Leave(*second);
  dispatcher.Stop();
}

// This test also works on a busy machine, because the dispatcher makes up for missed ticks.
TEST(Dispatcher, UsesTicksAsLateAsItMay) {
  TestShards shards({Policy{.kind = PolicyKind::kGreedy}});
  shards.Fill(0, 300);
  Dispatcher dispatcher(shards.router(), shards.clock(), Rate::PerSecond(1000), WorkerLimits(),
                        Duration::Hours(1));
  const Instant begin = shards.clock().Now();
  dispatcher.Start();
  const auto sink = std::make_shared<CountingSink>(200);
  const auto worker = dispatcher.Join({.name = "w", .lease = Duration::Hours(1)}, sink, 1);
  ASSERT_TRUE(worker.ok());
  WaitUntil([&] { return shards.clock().Now() >= begin + Duration::Millis(150); });
  dispatcher.Grant(*worker, 200);
  (void)sink->Await();
  dispatcher.Leave(*worker);
  dispatcher.Stop();
  const DispatchStats stats = dispatcher.stats();
  EXPECT_EQ(stats.assignments, 200u);
  EXPECT_EQ(stats.ticks_late + stats.ticks_without_credit + stats.ticks_without_page, 0u);
}

// A shard that stalls for a while, as if the process or the disk were suspended.
class StalledDispatcher : public testing::Test {
 protected:
  StalledDispatcher() { dispatcher_.Start(); }
  ~StalledDispatcher() override { dispatcher_.Stop(); }

  // Grants two credits while the shard is stalled for `stall`, so that the leases come late.
  void GrantDuringAStall(WorkerId worker, Duration stall) {
    std::promise<void> over;
    shards_.Hold(0, over);
    const Instant begin = shards_.clock().Now();
    dispatcher_.Grant(worker, 2);
    WaitUntil([&] { return shards_.clock().Now() >= begin + stall; });
    over.set_value();
  }
  // Returns the assignments that were handed out, once there are `count`.
  std::vector<RecentAssignment> AwaitRecent(size_t count) {
    WaitUntil([&] { return dispatcher_.recent().size() >= count; });
    return dispatcher_.recent();
  }

  TestShards shards_{{Policy{.kind = PolicyKind::kGreedy}}};
  Dispatcher dispatcher_{shards_.router(), shards_.clock(), Rate::PerSecond(1000)};
};

// Keeps its assignments. Thread-safe.
class KeepingSink final : public AssignmentSink {
 public:
  void Deliver(std::vector<Assignment> assignments, Outlook /*outlook*/) override {
    for (Assignment& assignment : assignments) kept_.set_value(std::move(assignment));
  }
  void OnPause(bool /*paused*/) override {}
  void OnStall(const Status& /*why*/) override {}
  Assignment Await() { return kept_.get_future().get(); }

 private:
  std::promise<Assignment> kept_;
};

TEST_F(StalledDispatcher, HandsOutNoPageWhoseLeaseIsHalfOver) {
  shards_.Fill(0, 1);
  const auto sink = std::make_shared<KeepingSink>();
  const auto worker = dispatcher_.Join({.name = "w", .lease = Duration::Seconds(1)}, sink, 1);
  ASSERT_TRUE(worker.ok());
  const Instant begin = shards_.clock().Now();
  GrantDuringAStall(*worker, Duration::Millis(700));
  const Assignment assignment = sink->Await();
  // The page got a new lease of full length.
  EXPECT_GE(assignment.at, begin + Duration::Millis(600));
  EXPECT_EQ(assignment.deadline - assignment.at, Duration::Seconds(1));
  dispatcher_.Leave(*worker);
}

TEST_F(StalledDispatcher, LeavesAHostAloneFromWhenItsPageLeft) {
  constexpr Duration kDelay = Duration::Millis(500);
  shards_.Fill(0, 2);
  SetHost terms{.host = shards_.HostOf(0)};
  terms.min_delay.emplace(kDelay);
  ASSERT_TRUE(shards_.Apply(0, terms).status.ok());
  const auto sink = std::make_shared<CountingSink>(2);
  const auto worker = dispatcher_.Join({.name = "w", .lease = Duration::Hours(1)}, sink, 1);
  ASSERT_TRUE(worker.ok());
  GrantDuringAStall(*worker, Duration::Millis(700));
  const std::vector<RecentAssignment> recent = AwaitRecent(2);
  EXPECT_GE(recent[0].at - recent[1].at, kDelay);
  dispatcher_.Leave(*worker);
}

// A server that may hand out pages only in its turns. At other times, other servers hand out pages.
class DispatcherWithTurns : public testing::Test {
 protected:
  ~DispatcherWithTurns() override { dispatcher_.Stop(); }

  // The dispatcher calls `turn` before each hand-out. While `turn` returns a different value each
  // time, no page may be handed out, and all leases must end. Afterwards, the turn stays the same,
  // and the page is handed out.
  void ExpectNothingToLeave(Dispatcher::Turn turn) {
    shards_.TellLeases([this](const LeaseTallies& tallies) {
      for (const auto& [key, tally] : tallies) ended_ += tally.ended;
      dispatcher_.OnLeases(tallies);
    });
    shards_.Fill(0, 1);
    dispatcher_.Start(
        [this, turn = std::move(turn)] { return settled_ ? std::optional<uint64_t>(0) : turn(); });
    const auto sink = std::make_shared<CountingSink>(1);
    const auto worker = dispatcher_.Join({.name = "w", .lease = Duration::Hours(1)}, sink, 1);
    ASSERT_TRUE(worker.ok());
    dispatcher_.Grant(*worker, 1);
    WaitUntil([&] { return ended_ >= 3 || sink->served(); });
    EXPECT_FALSE(sink->served());
    settled_ = true;
    (void)sink->Await();
    dispatcher_.Leave(*worker);
    dispatcher_.Stop();
  }

  TestShards shards_{{Policy{.kind = PolicyKind::kGreedy}}};
  Dispatcher dispatcher_{shards_.router(), shards_.clock(), Rate::PerSecond(1000)};
  std::atomic<bool> settled_ = false;
  std::atomic<uint64_t> ended_ = 0;  // ended leases
};

TEST_F(DispatcherWithTurns, HandsOutNothingThatWasLeasedInAnotherTurn) {
  ExpectNothingToLeave([asked = uint64_t{0}]() mutable { return std::optional(asked++); });
}

TEST_F(DispatcherWithTurns, HandsOutNothingThatWasReadyWhenHandingOutWasHeldBack) {
  ExpectNothingToLeave([asked = 0]() mutable {
    return ++asked % 2 != 0 ? std::optional<uint64_t>(1) : std::nullopt;
  });
}

// Records how a wait ended. Thread-safe.
class WaitingSink final : public AssignmentSink {
 public:
  void Deliver(std::vector<Assignment> /*assignments*/, Outlook outlook) override {
    if (outlook != Outlook::kMore) ended_.set_value(outlook);
  }
  void OnPause(bool /*paused*/) override {}
  void OnStall(const Status& /*why*/) override {}
  std::future<Outlook> Ended() { return ended_.get_future(); }

 private:
  std::promise<Outlook> ended_;
};

// The rate falls to zero while a page is being leased for the waiter. Without a tick, the waiter
// cannot get the page, and must still be told so when its wait ends.
TEST(Dispatcher, AWaiterIsToldInTimeAlsoIfTheRateGoesToZeroWhileItsPageIsLeased) {
  TestShards shards({Policy{.kind = PolicyKind::kGreedy}});
  shards.Fill(0, 10);
  Dispatcher dispatcher(shards.router(), shards.clock(), Rate::PerSecond(1000), {.open_leases = 1});
  dispatcher.Start();
  std::promise<void> shard_is_held;
  std::promise<void> rate_is_zero;
  ASSERT_TRUE(shards[0].Query([&, zero = rate_is_zero.get_future().share()](const ShardView&) {
    shard_is_held.set_value();
    zero.wait();
  }));
  shard_is_held.get_future().wait();
  const auto sink = std::make_shared<WaitingSink>();
  std::future<Outlook> ended = sink->Ended();
  const auto worker = dispatcher.Join({.name = "w",
                                       .lease = Duration::Hours(1),
                                       .waiter = true,
                                       .waits_until = shards.clock().Now() + Duration::Seconds(2)},
                                      sink, 2);
  ASSERT_TRUE(worker.ok());
  dispatcher.Grant(*worker, 1);
  while (!dispatcher.FullBy({"", "w"})) {
    if (ended.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) continue;
    rate_is_zero.set_value();
    GTEST_SKIP() << "the machine stood still for two seconds";
  }
  (void)dispatcher.SetRate(Rate());
  rate_is_zero.set_value();
  ASSERT_EQ(ended.wait_for(std::chrono::minutes(1)), std::future_status::ready);
  EXPECT_EQ(ended.get(), Outlook::kTimeOut);
  dispatcher.Stop();
}

// Counts deliveries until it has the number of assignments that the test wants. Thread-safe.
class DeliverySink final : public AssignmentSink {
 public:
  explicit DeliverySink(size_t wanted) : wanted_(wanted) {}
  void Deliver(std::vector<Assignment> assignments, Outlook /*outlook*/) override {
    if (wanted_ == 0) return;
    ++deliveries_;
    wanted_ -= std::min(wanted_, assignments.size());
    if (wanted_ == 0) done_.set_value(deliveries_);
  }
  void OnPause(bool /*paused*/) override {}
  void OnStall(const Status& /*why*/) override {}
  int Await() { return done_.get_future().get(); }

 private:
  size_t wanted_;
  int deliveries_ = 0;
  std::promise<int> done_;
};

// If each assignment were a separate message, the messages would cost more than everything else.
TEST(Dispatcher, DeliversTicksTogetherThatAreVeryClose) {
  TestShards shards({Policy{.kind = PolicyKind::kGreedy}});
  shards.Fill(0, 2000);
  Dispatcher dispatcher(shards.router(), shards.clock(), Rate::PerSecond(20'000));
  dispatcher.Start();
  const auto sink = std::make_shared<DeliverySink>(2000);
  const auto worker = dispatcher.Join({.name = "w", .lease = Duration::Hours(1)}, sink, 1);
  ASSERT_TRUE(worker.ok());
  const Instant begin = shards.clock().Now();
  dispatcher.Grant(*worker, 2000);
  const int deliveries = sink->Await();
  const Duration took = shards.clock().Now() - begin;
  EXPECT_LE(deliveries, took.micros() / 250 + 2) << "in " << took.seconds() << " s";
  dispatcher.Leave(*worker);
  dispatcher.Stop();
}

// If ticks that are close together went to different workers, there would be many messages. So a
// worker gets several pages in a turn. A delivery has all of these pages, or those whose ticks were
// released together.
TEST(Dispatcher, GivesTicksToOneWorkerThatAreVeryClose) {
  TestShards shards({Policy{.kind = PolicyKind::kGreedy}});
  shards.Fill(0, 2000);
  Dispatcher dispatcher(shards.router(), shards.clock(), Rate::PerSecond(20'000));
  dispatcher.Start();
  const auto sink = std::make_shared<DeliverySink>(2000);
  std::vector<WorkerId> workers;
  const Instant begin = shards.clock().Now();
  for (int i = 0; i < 100; ++i) {
    const auto worker =
        dispatcher.Join({.name = "w" + std::to_string(i), .lease = Duration::Hours(1)}, sink, 200);
    ASSERT_TRUE(worker.ok());
    workers.push_back(*worker);
    dispatcher.Grant(*worker, 1000);
  }
  const int deliveries = sink->Await();
  const Duration took = shards.clock().Now() - begin;
  EXPECT_LE(deliveries, 2000 / 5 + 2 * (took.micros() / 250 + 2)) << "in " << took.seconds();
  for (const WorkerId worker : workers) dispatcher.Leave(worker);
  dispatcher.Stop();
}

// Takes nothing until CatchUp(). Thread-safe.
class LazySink final : public AssignmentSink {
 public:
  void Deliver(std::vector<Assignment> assignments, Outlook /*outlook*/) override {
    delivered_ += assignments.size();
    behind_ = true;
  }
  void OnPause(bool /*paused*/) override {}
  void OnStall(const Status& /*why*/) override {}
  [[nodiscard]] bool behind() const override { return behind_; }
  void CatchUp() { behind_ = false; }
  [[nodiscard]] size_t delivered() const { return delivered_; }

 private:
  std::atomic<size_t> delivered_{0};
  std::atomic<bool> behind_{false};
};

TEST(Dispatcher, GivesNothingMoreToAWorkerThatIsBehind) {
  TestShards shards({Policy{.kind = PolicyKind::kGreedy}});
  shards.Fill(0, 10'000);
  Dispatcher dispatcher(shards.router(), shards.clock(), Rate::PerSecond(1000));
  dispatcher.Start();
  const auto lazy = std::make_shared<LazySink>();
  const auto worker = dispatcher.Join({.name = "w", .lease = Duration::Hours(1)}, lazy, 2);
  ASSERT_TRUE(worker.ok());
  dispatcher.Grant(*worker, 5000);
  const auto delivered = [&](size_t before) {
    WaitUntil([&] { return lazy->delivered() != before; });
    // Pages that are already reserved for the worker are still delivered. After that, its ticks
    // count as unused for lack of credit.
    const uint64_t unused = dispatcher.stats().ticks_without_credit;
    WaitUntil([&] { return dispatcher.stats().ticks_without_credit >= unused + 50; });
    return lazy->delivered();
  };
  const size_t first = delivered(0);
  EXPECT_EQ(dispatcher.FreeCredit(*worker), 0U);
  EXPECT_EQ(dispatcher.TakeCredit(*worker, 10), 0U);
  // Another worker gets all pages.
  const auto other = std::make_shared<CountingSink>(100);
  const auto second = dispatcher.Join({.name = "v", .lease = Duration::Hours(1)}, other, 2);
  ASSERT_TRUE(second.ok());
  dispatcher.Grant(*second, 100);
  (void)other->Await();
  // The slow worker gets only pages that were already being leased for it.
  EXPECT_LT(lazy->delivered(), first + 500);
  lazy->CatchUp();
  EXPECT_GT(dispatcher.FreeCredit(*worker), 4000U);
  dispatcher.Grant(*worker, 0);
  EXPECT_GT(delivered(first), first);
  dispatcher.Leave(*worker);
  dispatcher.Leave(*second);
  dispatcher.Stop();
}

// Calls of Next that wait leave some places to workers on streams.
TEST(Dispatcher, WaitersTakeThreeQuartersOfThePlacesAtMost) {
  TestShards shards({Policy{.kind = PolicyKind::kGreedy}});
  const auto join = [&](Dispatcher& dispatcher, size_t places, bool waiter) {
    // The limit does not apply to an admin.
    WorkerTerms terms{.name = "w", .lease = Duration::Hours(1), .admin = true};
    terms.waiter = waiter;
    if (waiter) terms.waits_until = Instant::Infinite();
    return dispatcher.Join(terms, std::make_shared<CountingSink>(1), places);
  };
  struct Case {
    size_t places;
    size_t waiters;
  };
  for (const auto& [places, waiters] :
       {Case{1, 1}, Case{2, 1}, Case{3, 2}, Case{4, 3}, Case{7, 5}, Case{100, 75}}) {
    Dispatcher dispatcher(shards.router(), shards.clock(), Rate::PerSecond(1000));
    std::vector<WorkerId> waiting;
    StatusOr<WorkerId> last = join(dispatcher, places, true);
    for (; last.ok(); last = join(dispatcher, places, true)) waiting.push_back(*last);
    EXPECT_EQ(waiting.size(), waiters) << places;
    EXPECT_EQ(last.status().code(), absl::StatusCode::kResourceExhausted);
    if (places == 1) continue;
    EXPECT_THAT(std::string(last.status().message()),
                testing::StartsWith(std::to_string(waiters) +
                                    " calls of Next are already waiting, the maximum"));
    for (size_t i = waiters; i < places; ++i) EXPECT_TRUE(join(dispatcher, places, false).ok());
    EXPECT_FALSE(join(dispatcher, places, false).ok());
    // A waiter that ends frees its place.
    dispatcher.Leave(waiting.front());
    EXPECT_TRUE(join(dispatcher, places, true).ok());
  }
}

// For both waiters and streams, a few clients that take as many places as they may do not keep
// others out.
TEST(Dispatcher, GreedyClientsLeavePlacesToOthers) {
  TestShards shards({Policy{.kind = PolicyKind::kGreedy}});
  for (const bool waiter : {true, false}) {
    Dispatcher dispatcher(shards.router(), shards.clock(), Rate::PerSecond(1000));
    const auto join = [&](const std::string& client, bool admin = false) {
      WorkerTerms terms{.name = "w", .client = client, .lease = Duration::Hours(1), .admin = admin};
      terms.waiter = waiter;
      if (waiter) terms.waits_until = Instant::Infinite();
      return dispatcher.Join(terms, std::make_shared<CountingSink>(1), 1000);
    };
    std::vector<WorkerId> greedy;
    for (const char* client : {"greedy", "greedy too"}) {
      while (true) {
        const StatusOr<WorkerId> worker = join(client);
        if (!worker.ok()) break;
        greedy.push_back(*worker);
      }
    }
    EXPECT_THAT(std::string(join("greedy").status().message()),
                testing::HasSubstr("the maximum, but for places of clients that have few"));
    for (int i = 0; i < 7; ++i) EXPECT_TRUE(join("honest").ok()) << i;
    EXPECT_TRUE(join("new").ok());
    EXPECT_TRUE(join("admin", /*admin=*/true).ok());
    // When a worker leaves, its place is free again.
    const size_t had = greedy.size();
    for (const WorkerId worker : greedy) dispatcher.Leave(worker);
    for (size_t i = 0; i + 32 < had; ++i) ASSERT_TRUE(join("honest").ok()) << i;
  }
}

// Expects pages of these crawl ids only. Thread-safe.
class CheckingSink final : public AssignmentSink {
 public:
  CheckingSink(std::set<std::string> crawl_ids, size_t wanted)
      : crawl_ids_(std::move(crawl_ids)), wanted_(wanted) {}
  void Deliver(std::vector<Assignment> assignments, Outlook outlook) override {
    for (const Assignment& assignment : assignments) {
      EXPECT_TRUE(crawl_ids_.contains(assignment.key.crawl_id)) << assignment.key.crawl_id;
      if (--wanted_ == 0) done_.set_value();
    }
    if (outlook == Outlook::kTimeOut) timed_out_ = true;
  }
  void OnPause(bool /*paused*/) override {}
  void OnStall(const Status& /*why*/) override {}
  [[nodiscard]] bool Served() {
    return done_.get_future().wait_for(std::chrono::seconds(60)) == std::future_status::ready;
  }
  [[nodiscard]] bool timed_out() const { return timed_out_; }

 private:
  const std::set<std::string> crawl_ids_;
  size_t wanted_;
  std::atomic<bool> timed_out_{false};
  std::promise<void> done_;
};

// Two shards with pages of DEFAULT, and of the crawl ids `one` and `two`. Each of the two has a
// separate class.
class RestrictedWorkers : public testing::Test {
 protected:
  static constexpr size_t kPages = 60;  // for each crawl id, in each shard

  RestrictedWorkers() {
    for (size_t shard = 0; shard < 2; ++shard) {
      SetClass(shard, "one", 1);
      SetClass(shard, "two", 2);
      for (const char* crawl_id : {"DEFAULT", "one", "two"}) {
        for (size_t i = 0; i < kPages; ++i) {
          UpsertPage page = shards_.PageOf(shard, crawl_id + std::to_string(i));
          page.key.crawl_id = crawl_id;
          EXPECT_TRUE(shards_.Apply(shard, page).status.ok());
        }
      }
    }
    dispatcher_.Start();
  }
  ~RestrictedWorkers() override { dispatcher_.Stop(); }

  void SetClass(size_t shard, const std::string& crawl_id, CrawlClass crawl_class) {
    SetCrawl event;
    event.terms = {.record = {.crawl_id = crawl_id}, .crawl_class = crawl_class, .quota = nullptr};
    EXPECT_TRUE(shards_.Apply(shard, event).status.ok());
  }
  WorkerId Join(const std::string& name, ClassSet takes, const std::shared_ptr<CheckingSink>& sink,
                uint64_t credit) {
    const auto worker = dispatcher_.Join(
        {.name = name, .address = name, .lease = Duration::Hours(1), .takes = takes}, sink, 100);
    EXPECT_TRUE(worker.ok());
    dispatcher_.Grant(*worker, credit);
    return *worker;
  }
  static std::shared_ptr<CheckingSink> Expect(std::set<std::string> crawl_ids, size_t wanted) {
    return std::make_shared<CheckingSink>(std::move(crawl_ids), wanted);
  }

  TestShards shards_{{Policy{.kind = PolicyKind::kGreedy}, Policy{.kind = PolicyKind::kGreedy}}};
  Dispatcher dispatcher_{shards_.router(), shards_.clock(), Rate::PerSecond(1000)};
};

TEST_F(RestrictedWorkers, GetAllPagesOfTheirsAndNoOther) {
  const auto one = Expect({"one"}, 2 * kPages);
  const auto two = Expect({"two"}, 2 * kPages);
  const auto none = Expect({}, 1);
  (void)Join("none", SetOf(7), none, 100);  // class 7 has no pages
  (void)Join("one", SetOf(1), one, 1000);
  (void)Join("two", SetOf(2), two, 1000);
  EXPECT_TRUE(one->Served());
  EXPECT_TRUE(two->Served());
  // The remaining pages go to a worker that takes all classes, although other workers still wait.
  const auto all = Expect({"DEFAULT"}, 2 * kPages);
  const WorkerId last = Join("all", kAllClasses, all, 1000);
  EXPECT_TRUE(all->Served());
  dispatcher_.Leave(last);
  EXPECT_EQ(dispatcher_.stats().assignments, 6 * kPages);
}

TEST_F(RestrictedWorkers, ShareWhatBothTakeWithThoseWhoTakeAll) {
  const auto all = Expect({"DEFAULT", "one", "two"}, 4 * kPages);
  const auto some = Expect({"one", "two"}, 2 * kPages);
  (void)Join("some", SetOf(1) | SetOf(2), some, 2 * kPages);
  (void)Join("all", kAllClasses, all, 4 * kPages);
  EXPECT_TRUE(some->Served());
  EXPECT_TRUE(all->Served());
}

TEST_F(RestrictedWorkers, AreToldInTimeThatNothingCame) {
  const auto none = Expect({}, 1);
  const auto waiter = dispatcher_.Join({.name = "none",
                                        .lease = Duration::Hours(1),
                                        .takes = SetOf(7),
                                        .waiter = true,
                                        .waits_until = shards_.clock().Now()},
                                       none, 100);
  ASSERT_TRUE(waiter.ok());
  dispatcher_.Grant(*waiter, 1);
  const auto one = Expect({"one"}, kPages);
  (void)Join("one", SetOf(1), one, kPages);
  EXPECT_TRUE(one->Served());
  WaitUntil([&] { return none->timed_out(); });
}

// A plan does not distinguish crawl ids.
TEST(Dispatcher, HandsNothingOfAPlanToWorkersOfSomeCrawlIds) {
  TestShards shards({CrawlPolicy(PlanMethod::kUniform)});
  shards.Fill(0, 20);
  Dispatcher dispatcher(shards.router(), shards.clock(), Rate::PerSecond(1000));
  dispatcher.Start();
  const auto none = std::make_shared<CheckingSink>(std::set<std::string>(), 1);
  const auto restricted =
      dispatcher.Join({.name = "some", .lease = Duration::Hours(1), .takes = SetOf(0)}, none, 10);
  ASSERT_TRUE(restricted.ok());
  dispatcher.Grant(*restricted, 100);
  const auto sink = std::make_shared<CountingSink>(20);
  const auto worker = dispatcher.Join({.name = "all", .lease = Duration::Hours(1)}, sink, 10);
  ASSERT_TRUE(worker.ok());
  dispatcher.Grant(*worker, 20);
  (void)sink->Await();
  dispatcher.Leave(*worker);
  dispatcher.Leave(*restricted);
  dispatcher.Stop();
}

}  // namespace
}  // namespace freshet
