#include "server/engine/answerer.h"

#include <atomic>
#include <future>
#include <string>
#include <vector>

#include "core/schedule/crawl_policy.h"
#include "gtest/gtest.h"
#include "server/base/limits.h"
#include "tests/server/engine/test_shards.h"

namespace freshet {
namespace {

// A clock that only the thread of the Answerer uses.
class AnswersClock final : public Clock {
 public:
  Instant Now() override { return now_; }
  void Advance(Duration by) { now_ = now_ + by; }

 private:
  Instant now_ = Instant::FromMicros(1'000'000);
};

TEST(Answerer, HoldsBackAShardThatIsACommitAhead) {
  SystemClock clock;
  Answerer answerer(clock);
  std::atomic<int> given{0};
  for (int before = 0; before < 100; ++before) {
    answerer.Post(limits::kMaxEventsPerCommit, [&given] { ++given; });
    EXPECT_GE(given, before) << "only the last one waits";
  }
  answerer.Stop();
  EXPECT_EQ(given, 100);
}

TEST(Answerer, TakesACommitOfManySmallTurnsWithoutWaiting) {
  SystemClock clock;
  Answerer answerer(clock);
  std::promise<void> release;
  std::string order;
  answerer.Post(1, [&] {
    release.get_future().wait();
    order += 'a';
  });
  for (size_t i = 1; i < limits::kMaxEventsPerCommit; ++i) answerer.Post(1, [] {});
  answerer.Post(0, [&order] { order += 'b'; });
  release.set_value();
  answerer.Stop();
  EXPECT_EQ(order, "ab");
}

// Answering a message with one event takes longer than applying the event. A client with thousands
// of these messages must not delay the answers of others.
TEST(Answerer, TakesFewerEventsWhoseAnswersTakeLong) {
  AnswersClock clock;
  Answerer answerer(clock);
  const auto answer = [&](size_t events, Duration took) {
    std::promise<void> given;
    answerer.Post(events, [&clock, took] { clock.Advance(took); });
    answerer.Post(0, [&given] { given.set_value(); });
    given.get_future().wait();
  };
  EXPECT_EQ(answerer.events(), limits::kMaxEventsPerCommit);
  answer(1000, limits::kAnswerTime * 4);
  EXPECT_EQ(answerer.events(), 250U);
  answer(250, limits::kAnswerTime * 10);
  EXPECT_EQ(answerer.events(), limits::kEventsTogether) << "one part of a message";
  for (int i = 0; i < 10; ++i) answer(answerer.events(), Duration::Micros(1));
  EXPECT_EQ(answerer.events(), limits::kMaxEventsPerCommit);
}

TEST(Answerer, AnAnswerThatTakesLongHoldsUpNoCommit) {
  TestShards shards({CrawlPolicy(Policy{.kind = PolicyKind::kGreedy})});
  std::promise<void> release;
  std::string order;
  shards[0].SubmitAlways({.events = {shards.PageOf(0, "a")}, .done = [&](const auto&) {
                            release.get_future().wait();
                            order += 'a';
                          }});
  shards[0].SubmitAlways(
      {.events = {shards.PageOf(0, "b")}, .done = [&order](const auto&) { order += 'b'; }});
  const auto pages = [](const ShardView& view) { return view.state.counters().pages; };
  EXPECT_EQ(shards.Ask(0, pages), 2U) << "the shard's thread goes on";
  release.set_value();
  shards[0].Stop();
  EXPECT_EQ(order, "ab") << "what waits is answered before the shard has stopped";
}

}  // namespace
}  // namespace freshet
