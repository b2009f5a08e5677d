#include "tools/sim/replay.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gtest/gtest.h"
#include "tools/sim/replay_rules.h"
#include "tools/sim/replay_shard.h"

namespace freshet {
namespace {

constexpr int64_t kDay = 86400;
constexpr int64_t kBegin = 20'000 * kDay;

int64_t At(double day) { return kBegin + static_cast<int64_t>(day * kDay); }

HistoryPage Page(int i, double importance, std::vector<std::pair<double, bool>> touches) {
  HistoryPage page;
  page.url = fmt::format("https://site.test/{:05}", i);
  page.importance = importance;
  page.first_seen_seconds = kBegin;
  for (const auto& [day, change] : touches) page.touches.push_back({At(day), change});
  return page;
}

ReplayResult Play(const std::vector<HistoryPage>& history, std::string_view policy,
                  ReplayOptions options) {
  const std::vector<ReplayPage> pages = PrepareReplay(history).value();
  std::unique_ptr<ReplayPolicy> chosen = MakeReplayRule(policy, pages);
  if (chosen == nullptr) {
    ShardOptions shard;
    shard.policy = *ParsePolicy("greedy_ncis");
    chosen = std::make_unique<ShardReplay>(pages, shard, Duration::Days(10),
                                           Rate::PerDay(options.crawls_per_day));
  }
  StatusOr<ReplayResult> result = Replay(pages, options, *chosen);
  EXPECT_TRUE(result.ok()) << result.status();
  return *result;
}

TEST(Replay, CountsTheTimeThatACopyIsStale) {
  // Crawled at every full day; stale for a quarter and for half a day. A minor touch is no change.
  const std::vector<HistoryPage> history = {
      Page(0, 1, {{5.75, true}, {7.25, false}, {10.5, true}, {10.6, true}})};
  const ReplayResult result =
      Play(history, "uniform", {.crawls_per_day = 1, .to = Instant::FromUnixSeconds(At(20))});
  EXPECT_EQ(result.crawls, 19u);
  EXPECT_NEAR(result.freshness, 1 - 0.75 / 20, 1e-9);
  EXPECT_NEAR(result.changed_share, 2.0 / 19, 1e-12);
}

TEST(Replay, WeighsByImportance) {
  // Crawled once, at day 18: one page is stale from day 8 on until day 18, the other for 2 days.
  const std::vector<HistoryPage> history = {Page(0, 3, {{8, true}}), Page(1, 1, {{18, true}})};
  const ReplayResult result = Play(
      history, "importance", {.crawls_per_day = 1 / 18.0, .to = Instant::FromUnixSeconds(At(20))});
  EXPECT_EQ(result.crawls, 1u);
  EXPECT_NEAR(result.freshness, 1 - 12.0 / 40, 1e-9);
  EXPECT_NEAR(result.weighted_freshness, 1 - (3 * 10.0 + 2) / 80, 1e-9);
}

TEST(Replay, SignalsComeWithTheNextPoll) {
  // A touch at 4.5 is polled at day 5 and crawled with the tick of day 5.
  std::vector<HistoryPage> history;
  for (int i = 0; i < 50; ++i) history.push_back(Page(i, 1, {}));
  history[30].touches.push_back({At(4.5), true});
  const ReplayResult told =
      Play(history, "pings_first", {.crawls_per_day = 1, .to = Instant::FromUnixSeconds(At(40))});
  EXPECT_NEAR(told.freshness, 1 - 0.5 / (50 * 40), 1e-9);
  const ReplayResult silent =
      Play(history, "pings_first",
           {.crawls_per_day = 1, .signal_recall = 0, .to = Instant::FromUnixSeconds(At(40))});
  EXPECT_LT(silent.freshness, told.freshness);
}

// Pages that nobody asks for are worth no crawl, whatever the budget.
TEST(Replay, LeavesWorthlessPagesAlone) {
  const std::vector<HistoryPage> history = {Page(0, 0, {{5, true}}), Page(1, 0, {{6, true}})};
  const ReplayResult result =
      Play(history, "default", {.crawls_per_day = 1, .to = Instant::FromUnixSeconds(At(20))});
  EXPECT_EQ(result.crawls, 0u);
  EXPECT_EQ(result.weighted_freshness, 1);
}

TEST(Replay, RefusesWhatMakesNoSense) {
  const std::vector<ReplayPage> pages = PrepareReplay({Page(0, 1, {})}).value();
  const std::unique_ptr<ReplayPolicy> rule = MakeReplayRule("uniform", pages);
  for (const ReplayOptions& bad :
       {ReplayOptions{.crawls_per_day = 0}, ReplayOptions{.crawls_per_day = HUGE_VAL},
        ReplayOptions{.crawls_per_day = 1, .signal_recall = 1.5},
        ReplayOptions{.crawls_per_day = 1, .to = Instant::FromUnixSeconds(kBegin - 1)}}) {
    EXPECT_FALSE(Replay(pages, bad, *rule).ok());
  }
}

// Releases change all the pages that they touch, template edits none: who crawls one page of a
// burst knows of the others. Pages also change alone, at rates of their own, half of it told.
std::vector<HistoryPage> Site() {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<HistoryPage> history;
  for (int i = 0; i < 400; ++i) {
    HistoryPage page = Page(i, 1 + i % 3, {});
    for (double day = 0; day < 700;) {
      day -= std::log(1 - unit(random)) * (20 + i % 7 * 150);
      page.touches.push_back({At(day), true});
    }
    history.push_back(std::move(page));
  }
  for (int burst = 0; burst < 30; ++burst) {
    const double day = 10 + 22.3 * burst;
    const bool release = burst % 3 == 0;
    for (int i = burst % 5; i < 400; i += 4)
      history[static_cast<size_t>(i)].touches.push_back({At(day), release});
  }
  for (HistoryPage& page : history) {
    std::sort(page.touches.begin(), page.touches.end(),
              [](const Touch& a, const Touch& b) { return a.unix_seconds < b.unix_seconds; });
  }
  return history;
}

TEST(Replay, TheDefaultBeatsEveryRule) {
  const std::vector<HistoryPage> history = Site();
  for (const double recall : {1.0, 0.5}) {
    const ReplayOptions options{
        .crawls_per_day = 4, .signal_recall = recall, .to = Instant::FromUnixSeconds(At(700))};
    const double stale = 1 - Play(history, "default", options).weighted_freshness;
    for (const char* rule : {"uniform", "importance", "pings_first", "nutch_adaptive"}) {
      EXPECT_LT(stale, 1 - Play(history, rule, options).weighted_freshness)
          << rule << " at recall " << recall;
    }
  }
}

TEST(Replay, IsDeterministic) {
  const std::vector<HistoryPage> history = Site();
  const ReplayOptions options{
      .crawls_per_day = 3, .signal_recall = 0.5, .to = Instant::FromUnixSeconds(At(200))};
  const ReplayResult first = Play(history, "default", options);
  const ReplayResult second = Play(history, "default", options);
  EXPECT_EQ(first.weighted_freshness, second.weighted_freshness);
  EXPECT_EQ(first.changed_share, second.changed_share);
}

}  // namespace
}  // namespace freshet
