// Tests limits of a replay: the truth of a history, the policy that sees every change, and the
// bound on freshness.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"
#include "lab/sim/freshness_bound.h"
#include "lab/sim/replay_clairvoyant.h"
#include "lab/sim/replay_policies.h"
#include "lab/sim/replay_truth.h"

namespace freshet {
namespace {

Instant OnDay(double day) {
  return Instant::FromUnixSeconds(0) + Duration::FromSeconds(day * 86400);
}

ReplayPage LimitPage(const std::string& host, int number, double importance,
                     const std::vector<double>& changes, const std::vector<double>& lies = {}) {
  ReplayPage page{.url = "https://" + host + "/" + std::to_string(number),
                  .host = host,
                  .importance = importance,
                  .first_seen = OnDay(0)};
  for (const double day : changes) page.touches.push_back({OnDay(day), true});
  for (const double day : lies) page.touches.push_back({OnDay(day), false});
  std::sort(page.touches.begin(), page.touches.end(),
            [](const auto& a, const auto& b) { return a.at < b.at; });
  return page;
}

World LimitWorld(std::vector<ReplayPage> pages) {
  World world;
  world.signal_delay = Duration::Days(1);
  world.pages = std::move(pages);
  return world;
}

TEST(ReplayTruth, OfAHistoryIsItsMeans) {
  std::vector<ReplayPage> pages = {
      LimitPage("a.test", 0, 1, {10.5, 20.5, 100}, {30.5, 50.2}),
      LimitPage("a.test", 1, 1, {}, {70.5}),
  };
  // A poll names twelve pages of a host; three of them have changed.
  for (int i = 0; i < 12; ++i) {
    const std::vector<double> day = {60.5};
    pages.push_back(i < 3 ? LimitPage("b.test", i, 1, day) : LimitPage("b.test", i, 1, {}, day));
  }
  const ReplayTruth truth = TruthOf(LimitWorld(std::move(pages)), 0.5);
  ASSERT_EQ(truth.rates.size(), 14u);
  EXPECT_DOUBLE_EQ(truth.rates[0][0].change_rate, 0.03);
  EXPECT_DOUBLE_EQ(truth.rates[0][0].false_rate, 0.02);
  EXPECT_DOUBLE_EQ(truth.rates[0][0].recall, 0.5);
  EXPECT_DOUBLE_EQ(truth.rates[1][0].change_rate, 0);
  EXPECT_DOUBLE_EQ(truth.rates[1][0].false_rate, 0.01);
  ASSERT_EQ(truth.bursts.size(), 1u);
  EXPECT_EQ(truth.bursts[0].host, "b.test");
  EXPECT_EQ(truth.bursts[0].arrives, OnDay(61));
  // Half of the changed pages are signalled.
  EXPECT_DOUBLE_EQ(truth.bursts[0].changed_share, 1.5 / 10.5);
  EXPECT_DOUBLE_EQ(truth.rates[13][0].false_rate, 0);
}

TEST(ReplayTruth, OfAWorldIsItsOwn) {
  const World world = *MakeWorld("liar_alone", 1);
  const ReplayTruth truth = TruthOf(world, 0.3);
  ASSERT_EQ(truth.rates.size(), world.pages.size());
  EXPECT_EQ(truth.rates[5][0].change_rate, world.truth[5][0].change_rate);
}

ReplayOptions LimitOptions(double crawls_per_day, double days) {
  return {.crawls_per_day = crawls_per_day, .from = OnDay(0), .to = OnDay(days)};
}

// There is one crawl in ten days. The stale spans are [5, 15) and [15, 40) of page 0, and [12, 40)
// of page 1. The first span can only be ended at 10. Page 1 is twice as important, so its span is
// ended at 20, and the second span of page 0 at 30. The crawls save 5 + 2 x 20 + 10 of the weighted
// stale times 35 + 2 x 28.
TEST(FreshnessBound, LetsSpansWaitForEachOther) {
  const std::vector<ReplayPage> pages = {LimitPage("a.test", 0, 1, {5, 15}),
                                         LimitPage("a.test", 1, 2, {12})};
  ReplayOptions options = LimitOptions(0.1, 40);
  const FreshnessBounds ten = *FreshnessBound(pages, options);
  EXPECT_LE(ten.weighted_staleness, (35 + 56 - 55) / 120.0 + 1e-9);
  EXPECT_GT(ten.weighted_staleness, (35 + 56 - 65) / 120.0 + 0.01);  // 65 if no span waited
  EXPECT_LE(ten.staleness, (35 + 28 - 35) / 80.0 + 1e-9);
  EXPECT_GT(ten.staleness, (35 + 28 - 45) / 80.0 + 0.01);
  options.crawls_per_day = 1 / 39.0;  // a single crawl, on day 39
  EXPECT_NEAR(FreshnessBound(pages, options)->weighted_staleness, (35 + 56 - 2) / 120.0, 1e-9);
  options.crawls_per_day = 0;
  EXPECT_FALSE(FreshnessBound(pages, options).ok());
}

// Crawls pages in the order of a script.
class ScriptedReplay : public ReplayPolicy {
 public:
  explicit ScriptedReplay(size_t script, size_t pages) : script_(script), pages_(pages) {}
  void Add(size_t, Instant) override {}
  void Signal(std::span<const ReplaySignal>, Instant) override {}
  std::optional<size_t> Pick(Instant) override {
    const size_t page = script_ % pages_;
    script_ /= pages_;
    return page;
  }
  void Crawled(size_t, Instant, bool) override {}

 private:
  size_t script_;
  size_t pages_;
};

// Tries every sequence of crawls in small instances, including the best one.
TEST(FreshnessBound, IsBelowEverySchedule) {
  Random random(7);
  for (int instance = 0; instance < 20; ++instance) {
    std::vector<ReplayPage> pages;
    for (int page = 0; page < 3; ++page) {
      std::vector<double> changes;
      for (double day = random.Exponential(0.4); day < 7; day += random.Exponential(0.4)) {
        changes.push_back(day);
      }
      pages.push_back(LimitPage("a.test", page, random.Uniform(0.2, 3), changes));
    }
    pages[2].gone_at = OnDay(5.5);
    std::erase_if(pages[2].touches, [](const auto& touch) { return touch.at > OnDay(5.5); });
    const ReplayOptions options = LimitOptions(1, 7);
    double best = 1;
    double best_weighted = 1;
    for (size_t script = 0; script < 729; ++script) {  // 3 pages, 6 crawls
      ScriptedReplay policy(script, pages.size());
      const ReplayResult result = *Replay(pages, options, policy);
      best = std::min(best, 1 - result.freshness);
      best_weighted = std::min(best_weighted, 1 - result.weighted_freshness);
    }
    const FreshnessBounds bounds = *FreshnessBound(pages, options);
    EXPECT_LE(bounds.staleness, best + 1e-9) << instance;
    EXPECT_LE(bounds.weighted_staleness, best_weighted + 1e-9) << instance;
    EXPECT_GT(bounds.weighted_staleness, best_weighted - 0.1) << instance;
  }
}

TEST(Clairvoyant, SeesEveryChangeAtOnce) {
  const World world = LimitWorld(
      {LimitPage("a.test", 0, 1, {3.25, 50}), LimitPage("a.test", 1, 1, {3.75, 99}, {1, 2})});
  ClairvoyantReplay policy(world, 1);
  const ReplayResult result = *Replay(world.pages, LimitOptions(1, 100), policy);
  EXPECT_EQ(result.crawls, 4u);  // on days 4, 5, and at once on days 50, 99
  EXPECT_NEAR(result.freshness, 1 - (0.75 + 1.25) / 200, 1e-9);
}

TEST(Clairvoyant, ServesWhatGainsMostWhereCrawlsAreScarce) {
  // Page 1 is twice as important and changes every second day. Page 0 changes every twentieth day.
  // So mu/Delta is 4 days for page 1, and 20 days for page 0. A crawl every four days is not enough
  // for both pages, so the price is the mu/Delta of page 1.
  std::vector<double> often;
  for (int day = 1; day < 200; day += 2) often.push_back(day);
  std::vector<double> seldom;
  for (int day = 1; day < 200; day += 20) seldom.push_back(day);
  const World world =
      LimitWorld({LimitPage("a.test", 0, 1, seldom), LimitPage("a.test", 1, 2, often)});
  ClairvoyantReplay scarce(world, 0.25);
  (void)*Replay(world.pages, LimitOptions(0.25, 200), scarce);
  EXPECT_NEAR(scarce.price(), 4, 0.2);
  ClairvoyantReplay plenty(world, 1);
  (void)*Replay(world.pages, LimitOptions(1, 200), plenty);
  EXPECT_EQ(plenty.price(), 0);
}

// In each world, the bound is below the staleness of the policy that sees all changes, which is
// below that of hindsight.
class Limits : public testing::TestWithParam<const char*> {};

TEST_P(Limits, AreInOrder) {
  const World world = *MakeWorld(GetParam(), 1);
  const ReplayOptions options = OptionsOf(world);
  const auto staleness = [&](const char* name) {
    ReplayPolicyChoice choice;
    choice.policy = name;
    choice.crawls_per_day = options.crawls_per_day;
    return 1 - Replay(world.pages, options, **MakeReplayPolicy(choice, world))->weighted_freshness;
  };
  const double bound = FreshnessBound(world.pages, options)->weighted_staleness;
  const double clairvoyant = staleness("clairvoyant");
  EXPECT_GE(bound, 0);
  EXPECT_LT(bound, clairvoyant);
  EXPECT_LT(clairvoyant, staleness("hindsight"));
}
INSTANTIATE_TEST_SUITE_P(Worlds, Limits,
                         testing::Values("perfect_scarce", "fast", "churn", "regimes"));

}  // namespace
}  // namespace freshet
