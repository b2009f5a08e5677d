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

TEST(Answerer, HoldsBackAShardThatIsACommitAhead) {
  Answerer answerer;
  std::atomic<int> given{0};
  for (int before = 0; before < 100; ++before) {
    answerer.Post(limits::kMaxEventsPerCommit, [&given] { ++given; });
    EXPECT_GE(given, before) << "only the last one waits";
  }
  answerer.Stop();
  EXPECT_EQ(given, 100);
}

TEST(Answerer, TakesACommitOfManySmallTurnsWithoutWaiting) {
  Answerer answerer;
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
