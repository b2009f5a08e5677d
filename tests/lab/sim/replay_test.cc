#include "lab/sim/replay.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gtest/gtest.h"
#include "lab/common/replay_rules.h"
#include "lab/sim/replay_shard.h"

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
  // The page is crawled every day. It is stale for a quarter of a day and for half a day. A minor
  // touch does not count as a change.
  const std::vector<HistoryPage> history = {
      Page(0, 1, {{5.75, true}, {7.25, false}, {10.5, true}, {10.6, true}})};
  const ReplayResult result =
      Play(history, "uniform", {.crawls_per_day = 1, .to = Instant::FromUnixSeconds(At(20))});
  EXPECT_EQ(result.crawls, 19u);
  EXPECT_NEAR(result.freshness, 1 - 0.75 / 20, 1e-9);
  EXPECT_NEAR(result.changed_share, 2.0 / 19, 1e-12);
}

TEST(Replay, WeighsByImportance) {
  // There is one crawl, on day 18. One page is stale from day 8 to day 18, the other for 2 days.
  const std::vector<HistoryPage> history = {Page(0, 3, {{8, true}}), Page(1, 1, {{18, true}})};
  const ReplayResult result = Play(
      history, "importance", {.crawls_per_day = 1 / 18.0, .to = Instant::FromUnixSeconds(At(20))});
  EXPECT_EQ(result.crawls, 1u);
  EXPECT_NEAR(result.freshness, 1 - 12.0 / 40, 1e-9);
  EXPECT_NEAR(result.weighted_freshness, 1 - (3 * 10.0 + 2) / 80, 1e-9);
}

TEST(Replay, SignalsComeWithTheNextPoll) {
  // The poll of day 5 sees the touch of day 4.5, and the crawl of day 5 follows the poll.
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

// Pages without importance are not crawled, at any crawl rate.
TEST(Replay, LeavesWorthlessPagesAlone) {
  const std::vector<HistoryPage> history = {Page(0, 0, {{5, true}}), Page(1, 0, {{6, true}})};
  const ReplayResult result =
      Play(history, "default", {.crawls_per_day = 1, .to = Instant::FromUnixSeconds(At(20))});
  EXPECT_EQ(result.crawls, 0u);
  EXPECT_EQ(result.weighted_freshness, 1);
}

// Plays ten pages under a rule, with one crawl a day for 40 days. Only page 0 has touches.
ReplayResult PlayOne(const std::vector<ReplayPage::Touch>& touches, const char* rule,
                     std::optional<double> gone_day = {}, std::optional<double> count_from = {}) {
  std::vector<HistoryPage> history;
  for (int i = 0; i < 10; ++i) history.push_back(Page(i, 1, {}));
  std::vector<ReplayPage> pages = PrepareReplay(history).value();
  pages[0].touches = touches;
  ReplayOptions options{.crawls_per_day = 1, .to = Instant::FromUnixSeconds(At(40))};
  if (gone_day) pages[0].gone_at = Instant::FromUnixSeconds(At(*gone_day));
  if (count_from) options.count_from = Instant::FromUnixSeconds(At(*count_from));
  const std::unique_ptr<ReplayPolicy> policy = MakeReplayRule(rule, pages);
  StatusOr<ReplayResult> result = Replay(pages, options, *policy);
  EXPECT_TRUE(result.ok()) << result.status();
  return *result;
}

// Without signals, page 0 is crawled on days 1, 11, 21 and 31.
TEST(Replay, SignalsMayBeSilentLateOrUndated) {
  const Instant at = Instant::FromUnixSeconds(At(2.5));
  const auto stale_days = [&](const ReplayPage::Touch& touch) {
    return (1 - PlayOne({touch}, "pings_first").freshness) * 400;
  };
  EXPECT_NEAR(stale_days({.at = at, .changed = true}), 0.5, 1e-9);
  EXPECT_NEAR(stale_days({.at = at, .changed = true, .signalled = false}), 8.5, 1e-9);
  EXPECT_NEAR(stale_days({.at = at, .changed = true, .delay = Duration::Days(3)}), 3.5, 1e-9);
  // After the crawl of day 11 comes a signal for a change that this crawl has already seen. Only if
  // the signal has no date is the page crawled again, on day 13. This second crawl finds the silent
  // change of day 11.5.
  const ReplayPage::Touch late{.at = at, .changed = true, .delay = Duration::Days(10)};
  ReplayPage::Touch undated = late;
  undated.dated = false;
  const ReplayPage::Touch silent{
      .at = Instant::FromUnixSeconds(At(11.5)), .changed = true, .signalled = false};
  EXPECT_NEAR((1 - PlayOne({late, silent}, "pings_first").freshness) * 400, 8.5 + 9.5, 1e-9);
  EXPECT_NEAR((1 - PlayOne({undated, silent}, "pings_first").freshness) * 400, 8.5 + 1.5, 1e-9);
}

TEST(Replay, APageThatIsGoneCountsNoMore) {
  const std::vector<ReplayPage::Touch> touches = {
      {.at = Instant::FromUnixSeconds(At(12)), .changed = true}};
  // The page is crawled on day 11 and is stale from day 12 until it disappears on day 14.5. The
  // crawl of day 21 finds no page.
  const ReplayResult result = PlayOne(touches, "uniform", 14.5);
  EXPECT_NEAR(result.freshness, 1 - 2.5 / (9 * 40 + 14.5), 1e-9);
  EXPECT_EQ(result.crawls, 39u);
  // Every rule drops the page and continues with the others.
  for (const char* rule : {"uniform", "importance", "pings_first", "nutch_adaptive"}) {
    const ReplayResult any = PlayOne(touches, rule, 12.5);
    EXPECT_EQ(any.crawls, 39u) << rule;
    EXPECT_NEAR(any.freshness, 1 - 0.5 / (9 * 40 + 12.5), 2e-3) << rule;
  }
}

TEST(Replay, NothingIsCrawledOnceAllPagesAreGone) {
  for (const char* rule : {"uniform", "importance", "pings_first", "nutch_adaptive"}) {
    std::vector<ReplayPage> pages = PrepareReplay({Page(0, 1, {}), Page(1, 2, {})}).value();
    for (ReplayPage& page : pages) page.gone_at = Instant::FromUnixSeconds(At(5));
    const std::unique_ptr<ReplayPolicy> policy = MakeReplayRule(rule, pages);
    const ReplayOptions options{.crawls_per_day = 1, .to = Instant::FromUnixSeconds(At(20))};
    EXPECT_EQ(Replay(pages, options, *policy)->crawls, 6u) << rule;
  }
}

// A shard learns that a page is gone, and spends its crawls on the others.
TEST(Replay, TheDefaultHearsThatPagesAreGone) {
  std::vector<ReplayPage> pages = PrepareReplay({Page(0, 1, {}), Page(1, 1, {})}).value();
  pages[0].gone_at = Instant::FromUnixSeconds(At(5));
  ShardReplay policy(pages, ShardOptions(), Duration::Days(10), Rate::PerDay(1));
  const ReplayOptions options{.crawls_per_day = 1, .to = Instant::FromUnixSeconds(At(40))};
  ASSERT_TRUE(Replay(pages, options, policy).ok());
  const PageRecord* gone = policy.shard().Find({"replay", pages[0].url});
  ASSERT_NE(gone, nullptr);
  EXPECT_TRUE(gone->state.gone);
  EXPECT_FALSE(policy.shard().Find({"replay", pages[1].url})->state.gone);
}

TEST(Replay, CountsSettledFreshnessFromItsInstantOn) {
  // The page is stale from day 12 to day 21. Counting begins on day 15, so 6 stale days count, out
  // of 25 days for each of ten pages.
  const std::vector<ReplayPage::Touch> touches = {
      {.at = Instant::FromUnixSeconds(At(12)), .changed = true, .signalled = false}};
  const ReplayResult result = PlayOne(touches, "uniform", {}, 15);
  EXPECT_NEAR(result.freshness, 1 - 9.0 / 400, 1e-9);
  EXPECT_NEAR(result.settled_freshness, 1 - 6.0 / 250, 1e-9);
  EXPECT_NEAR(result.settled_weighted_freshness, 1 - 6.0 / 250, 1e-9);
  EXPECT_TRUE(std::isnan(PlayOne(touches, "uniform").settled_freshness));
  EXPECT_TRUE(std::isnan(PlayOne(touches, "uniform", {}, 41).settled_weighted_freshness));
}

// The rule picks the page that is due first. If the due time of one page is known, the pick shows
// whether the other page is due earlier or later.
TEST(Replay, NutchAdaptiveShiftsTowardsTheChange) {
  const std::vector<ReplayPage> pages = PrepareReplay({Page(0, 1, {}), Page(1, 1, {})}).value();
  const auto day = [](double at) { return Instant::FromUnixSeconds(At(at)); };
  const std::unique_ptr<ReplayPolicy> rule = MakeReplayRule("nutch_adaptive", pages);
  rule->Add(0, day(0));
  rule->Add(1, day(0));
  rule->Crawled(0, day(30), false);  // interval 42 days, less 0.3 x 30: due at day 63
  rule->Crawled(1, day(30), true);   // interval 24 days, no shift: due at day 54
  EXPECT_EQ(rule->Pick(day(30)), 1u);
  rule->Crawled(1, day(39.5), true);  // 19.2 days: due at day 58.7
  EXPECT_EQ(rule->Pick(day(40)), 1u);
  rule->Crawled(1, day(48), true);  // 15.36 days: due at day 63.36
  EXPECT_EQ(rule->Pick(day(48)), 0u);
  // The interval becomes 63 days, the time since page 0's last change: due at day 63 + 63 - 18.9 =
  // 107.1.
  rule->Crawled(0, day(63), false);
  rule->Crawled(1, day(94), true);  // 12.288 days: due at day 106.3
  EXPECT_EQ(rule->Pick(day(94)), 1u);
  rule->Crawled(1, day(99), true);  // 9.83 days: due at day 108.8
  EXPECT_EQ(rule->Pick(day(99)), 0u);
  // After 4,000 days without a change the interval is 90 days, the maximum.
  rule->Crawled(0, day(4000), false);
  rule->Crawled(1, day(4081.5), true);  // 7.86 days: due at day 4,089.4
  EXPECT_EQ(rule->Pick(day(4082)), 1u);
  rule->Crawled(1, day(4084), true);  // 6.29 days: due at day 4,090.3
  EXPECT_EQ(rule->Pick(day(4084)), 0u);
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

// A release changes all the pages that it touches; a template edit changes no page. So one crawl of
// a page tells about the others of its burst. Pages also change alone, each at its own rate.
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
