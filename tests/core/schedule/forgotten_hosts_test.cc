// Tests that hosts are added with their first page and forgotten after their last one, unless they
// have settings or still need a pause.
#include <string>
#include <vector>

#include "core/schedule/host_book.h"
#include "core/schedule/host_gate.h"
#include "core/schedule/learning.h"
#include "core/schedule/shard_loading.h"
#include "tests/core/schedule/shard_cycle.h"

namespace freshet {
namespace {

UpsertPage On(const std::string& host) {
  return {.key = {"DEFAULT", "http://" + host + "/"}, .host = host};
}
RemovePage From(const std::string& host) { return {.key = On(host).key}; }

class ForgottenHostsTest : public ShardCycleTest {
 protected:
  static ShardOptions Polite() {
    ShardOptions options;
    options.politeness.min_delay = Duration::Seconds(10);
    return options;
  }
  ForgottenHostsTest() : ShardCycleTest(Polite()) {}

  uint64_t HostsAt(double at) {
    shard_.RunTimers(At(at));
    return counters().hosts;
  }
};

TEST_F(ForgottenHostsTest, WithTheLastPage) {
  Apply(On("a.test"), 0);
  UpsertPage second = On("a.test");
  second.key.url += "2";
  Apply(second, 0);
  Apply(From("a.test"), 1);
  EXPECT_EQ(HostsAt(2), 1u);
  Apply(RemovePage{second.key}, 3);
  EXPECT_EQ(HostsAt(3), 0u);
  uint32_t in_flight = 0;
  EXPECT_TRUE(absl::IsNotFound(shard_.state().hosts().Find("a.test", &in_flight).status()));
}

// After a long time, the shard needs only as much memory as when it had the most hosts.
TEST_F(ForgottenHostsTest, TenTimesTwentyThousandTakeTheRoomOfTwentyThousand) {
  constexpr int kHosts = 20'000;
  for (int turn = 0; turn < 10; ++turn) {
    std::vector<Event> add;
    std::vector<Event> remove;
    for (int i = 0; i < kHosts; ++i) {
      const std::string host = "h" + std::to_string(i) + ".t" + std::to_string(turn) + ".test";
      add.emplace_back(On(host));
      remove.emplace_back(From(host));
    }
    shard_.Apply(add, At(turn));
    EXPECT_EQ(counters().hosts, uint64_t{kHosts});
    shard_.Apply(remove, At(turn));
    ASSERT_EQ(HostsAt(turn), 0u);
    ASSERT_EQ(shard_.state().hosts().gate.id_limit(), uint32_t{kHosts});
  }
}

TEST_F(ForgottenHostsTest, NotBeforeTheirDelayIsOver) {
  Apply(On("a.test"), 0);
  const auto assignment = Next(1);
  ASSERT_TRUE(assignment);
  Apply(ReturnLease{assignment->lease}, 1);
  Apply(From("a.test"), 2);
  EXPECT_EQ(HostsAt(10), 1u);
  // The rest of the host's delay also applies to a page that is added again.
  Apply(On("a.test"), 10);
  EXPECT_FALSE(Next(10.5));
  Apply(From("a.test"), 10.6);
  EXPECT_EQ(shard_.state().next_timer(), At(11));
  EXPECT_EQ(HostsAt(11), 0u);
}

TEST_F(ForgottenHostsTest, NotWhileAPageThatWasRemovedIsFetched) {
  Apply(On("a.test"), 0);
  const auto assignment = Next(1);
  ASSERT_TRUE(assignment);
  Apply(From("a.test"), 2);
  EXPECT_EQ(HostsAt(60), 1u);
  Apply(ReturnLease{assignment->lease}, 60.5);
  EXPECT_EQ(HostsAt(60.6), 0u);
  // If the worker never answers, the host is kept until the deadline of the lease.
  Apply(On("a.test"), 100);
  ASSERT_TRUE(Next(100));
  Apply(From("a.test"), 101);
  EXPECT_EQ(HostsAt(159), 1u);
  shard_.RunTimers(At(160));
  EXPECT_EQ(HostsAt(160), 0u);
}

TEST_F(ForgottenHostsTest, NotBeforeTheirBlockIsOver) {
  Apply(On("a.test"), 0);
  SetHost block{.host = "a.test"};
  block.blocked_until = At(100);
  Apply(block, 1);
  Apply(From("a.test"), 2);
  EXPECT_EQ(HostsAt(99), 1u);
  Apply(On("a.test"), 99);
  EXPECT_FALSE(Next(99.5));
  EXPECT_TRUE(Next(100));
}

TEST_F(ForgottenHostsTest, NotWhileSomethingIsSetForThem) {
  SetHost set{.host = "a.test"};
  set.min_delay = std::optional(Duration::Seconds(5));
  Apply(set, 0);
  EXPECT_EQ(HostsAt(1), 1u) << "set before the first page came";
  Apply(On("a.test"), 1);
  Apply(From("a.test"), 2);
  EXPECT_EQ(HostsAt(100), 1u);
  SetHost reset{.host = "a.test"};
  reset.min_delay.emplace();
  Apply(reset, 101);
  EXPECT_EQ(HostsAt(102), 0u);
}

TEST_F(ForgottenHostsTest, NotInTheBatchThatBringsThemBack) {
  Apply(On("a.test"), 0);
  Apply(From("a.test"), 1);
  std::vector<Event> events;
  shard_.state().TakeDueTimers(At(2), 10, &events);
  ASSERT_EQ(events.size(), 1u);
  // ForgetHost comes last in a batch, or first if an earlier commit was refused.
  for (const bool first : {false, true}) {
    const Event forget = ForgetHost{"a.test"};
    std::vector<Event> batch = {On("a.test")};
    batch.insert(first ? batch.begin() : batch.end(), forget);
    const double at = first ? 100 : 3;
    shard_.Apply(batch, At(at));
    EXPECT_EQ(counters().hosts, 1u);
    const auto assignment = Next(at + 50);
    ASSERT_TRUE(assignment);
    Apply(ReturnLease{assignment->lease}, at + 50);
    Apply(From("a.test"), at + 51);
  }
  // A host that is added and removed in one batch is forgotten in the next.
  const std::vector<Event> both = {On("b.test"), From("b.test")};
  shard_.Apply(both, At(200));
  EXPECT_EQ(HostsAt(201), 0u);
}

TEST_F(ForgottenHostsTest, ALaterHostTakesNothingOverFromTheOneBefore) {
  Apply(On("a.test"), 0);
  SetHost block{.host = "a.test"};
  block.blocked_until = At(1000);
  Apply(block, 0);
  block.blocked_until = Instant();
  Apply(From("a.test"), 1);
  Apply(block, 2);
  ASSERT_EQ(HostsAt(3), 0u);
  Apply(On("b.test"), 4);
  EXPECT_EQ(shard_.state().hosts().gate.id_limit(), 1u);
  const auto assignment = Next(5);
  ASSERT_TRUE(assignment);
  EXPECT_EQ(assignment->host, "b.test");
}

// --- Hosts at rest: known only because of a pause

constexpr int kMostAtRest = HostUse::kMostAtRest;

// Adds pages of `count` hosts from `first` on, each of which asks for a pause, and removes them.
// Later hosts ask for longer pauses.
void ComeAndGo(MemoryShard& shard, int first, int count, double at) {
  std::vector<Event> add;
  std::vector<Event> report;
  std::vector<Event> remove;
  for (int i = first; i < first + count; ++i) {
    const std::string host = "h" + std::to_string(i) + ".test";
    add.emplace_back(On(host));
    ReportCrawl result{.key = On(host).key, .fetched = At(at)};
    result.outcome = CrawlOutcome::kError;
    result.http_status = 503;
    result.retry_after = Duration::Seconds(1000 + i);
    report.emplace_back(result);
    remove.emplace_back(From(host));
  }
  for (const std::vector<Event>& events : {add, report, remove}) {
    for (const Reply& reply : shard.Apply(events, At(at))) ASSERT_TRUE(reply.status.ok());
  }
}

bool IsKnown(MemoryShard& shard, int host) {
  uint32_t in_flight = 0;
  return shard.state().hosts().Find("h" + std::to_string(host) + ".test", &in_flight).ok();
}

// A client that adds and removes pages does not use up places for hosts.
TEST(HostsAtRest, TakeNoPlaceOfAHost) {
  ShardOptions options;
  options.host_quota = std::make_shared<Quota>(2);
  MemoryShard shard(options);
  for (int i = 0; i < 100; i += 2) ComeAndGo(shard, i, 2, i);
  EXPECT_EQ(options.host_quota->used(), 0U);
  EXPECT_EQ(shard.state().counters().hosts, 100U);
  // A host that returns needs a free place. Its pause still applies.
  EXPECT_EQ(shard.Apply(On("h1.test"), At(200)).disposition, Disposition::kCreated);
  EXPECT_FALSE(shard.Next(At(201), kLease, "w"));
  EXPECT_EQ(options.host_quota->used(), 1U);
  EXPECT_EQ(shard.Apply(On("a.test"), At(200)).disposition, Disposition::kCreated);
  EXPECT_TRUE(absl::IsResourceExhausted(shard.Apply(On("h2.test"), At(200)).status));
  EXPECT_EQ(options.host_quota->used(), 2U);
  // A host with settings of an operator takes a place.
  ASSERT_TRUE(shard.Apply(From("a.test"), At(201)).status.ok());
  EXPECT_EQ(options.host_quota->used(), 1U);
  SetHost set{.host = "h3.test"};
  set.min_delay = std::optional(Duration::Seconds(5));
  (void)shard.Apply(set, At(202));
  EXPECT_EQ(options.host_quota->used(), 2U);
}

TEST(HostsAtRest, TakeNoPlaceAfterARestart) {
  ShardOptions options;
  options.host_quota = std::make_shared<Quota>(1);
  ShardState state(options);
  for (const char* host : {"a.test", "b.test", "c.test"}) {
    (void)state.loading().LoadHost({.host = host, .blocked_until = At(10'000)});
  }
  ASSERT_TRUE(state.loading().FinishLoad().empty());
  EXPECT_EQ(options.host_quota->used(), 0U);
  Transaction txn;
  EXPECT_TRUE(state.Step(On("d.test"), At(0), txn).status.ok());
}

// Another shard can ask for a place at any moment, so a host must not count twice while it is
// installed.
TEST(NewHosts, CountOnceWhileTheyAreInstalled) {
  ShardOptions options;
  options.host_quota = std::make_shared<Quota>(2);
  ShardState state(options);
  Transaction txn;
  ASSERT_TRUE(state.Step(On("a.test"), At(0), txn).status.ok());
  EXPECT_EQ(options.host_quota->used(), 1U);
  (void)txn.Finish(state.learning().estimator());
  state.Install(txn);
  EXPECT_EQ(options.host_quota->used(), 1U);
}

// If too many hosts without pages are remembered, those whose pauses end first are forgotten, also
// in the store.
TEST(HostsAtRest, AreSoManyAtMost) {
  MemoryShard shard{ShardOptions()};
  constexpr int kStep = 1024;
  constexpr int kAll = kMostAtRest + 2 * kStep;
  for (int i = 0; i < kAll; i += kStep) {
    ComeAndGo(shard, i, kStep, 1);
    shard.RunTimers(At(1));
  }
  EXPECT_EQ(shard.state().counters().hosts, uint64_t{kMostAtRest});
  EXPECT_GT(shard.state().next_timer(), At(1000)) << "nothing is left to be done at once";
  EXPECT_FALSE(IsKnown(shard, 0));
  EXPECT_TRUE(IsKnown(shard, kAll - 1));
}

TEST_F(ForgottenHostsTest, OfReleasesThatKeptThemTheyGoAfterTheStart) {
  ShardState state(Polite());
  (void)state.loading().LoadHost({.host = "empty.test", .last_assignment = At(-5)});
  HostRecord set{.host = "set.test"};
  set.max_in_flight = 3;
  (void)state.loading().LoadHost(set);
  ASSERT_TRUE(state.loading().FinishLoad().empty());
  EXPECT_EQ(state.next_timer(), Instant());
  std::vector<Event> events;
  state.TakeDueTimers(At(4), 10, &events);
  EXPECT_TRUE(events.empty());
  state.TakeDueTimers(At(5), 10, &events);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(std::get<ForgetHost>(events[0]).host, "empty.test");
}

}  // namespace
}  // namespace freshet
