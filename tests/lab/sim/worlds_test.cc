// Tests the gallery: the events of each world agree with its truth.
#include "lab/sim/worlds.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "core/base/url.h"
#include "gtest/gtest.h"
#include "lab/common/replay_rules.h"
#include "lab/sim/compare_results.h"
#include "lab/sim/replay_hindsight.h"

namespace freshet {
namespace {

struct Counts {
  double changes = 0;
  double told = 0;  // signalled changes
  double false_signals = 0;
};

// Returns the counts that are expected from the truth.
Counts ExpectedCounts(const World& world) {
  Counts counts;
  std::map<std::string, double> pages_of_host;
  for (size_t page = 0; page < world.pages.size(); ++page) {
    pages_of_host[world.pages[page].host] += 1;
    const Instant last = std::min(world.end, world.pages[page].gone_at);
    const auto& truth = world.truth[page];
    for (size_t i = 0; i < truth.size(); ++i) {
      const Instant to = i + 1 < truth.size() ? std::min(truth[i + 1].from, last) : last;
      const double days = std::max(0.0, (to - truth[i].from).seconds() / 86400);
      counts.changes += truth[i].change_rate * days;
      counts.told += truth[i].recall * truth[i].change_rate * days;
      counts.false_signals += truth[i].false_rate * days;
    }
  }
  for (const TrueBurst& burst : world.bursts) {
    const double pages = pages_of_host[burst.host];
    counts.changes += burst.changed_share * pages;
    counts.told += burst.changed_share * pages;
    counts.false_signals += (1 - burst.changed_share) * pages;
  }
  return counts;
}

Counts SeenCounts(const World& world) {
  Counts counts;
  for (const ReplayPage& page : world.pages) {
    for (const ReplayPage::Touch& touch : page.touches) {
      counts.changes += touch.changed ? 1 : 0;
      counts.told += touch.changed && touch.signalled ? 1 : 0;
      counts.false_signals += touch.changed ? 0 : 1;
    }
  }
  return counts;
}

class GalleryTest : public testing::TestWithParam<WorldPlan> {};

TEST_P(GalleryTest, HappensAtTheRatesOfItsTruth) {
  const World world = *MakeWorld(GetParam().name, 7);
  const Counts expected = ExpectedCounts(world);
  const Counts seen = SeenCounts(world);
  // The counts vary like those of Poisson processes. For clustered edits, the variance of the gaps
  // is added.
  const double clusters = world.name == "bursty" ? 7 : 1;
  const auto errors = [&](double count) { return 5 * std::sqrt(clusters * count) + 1e-9; };
  EXPECT_NEAR(seen.changes, expected.changes, errors(expected.changes));
  EXPECT_NEAR(seen.told, expected.told, errors(expected.told));
  EXPECT_NEAR(seen.false_signals, expected.false_signals, errors(expected.false_signals));
  EXPECT_GT(seen.changes, 1000);
}

TEST_P(GalleryTest, IsReadyForAReplay) {
  const World world = *MakeWorld(GetParam().name, 1);
  ASSERT_GT(world.pages.size(), 0u);
  ASSERT_EQ(world.truth.size(), world.pages.size());
  std::set<std::string> urls;
  for (size_t i = 0; i < world.pages.size(); ++i) {
    const ReplayPage& page = world.pages[i];
    const StatusOr<CanonicalUrl> url = Canonicalise(page.url);
    ASSERT_TRUE(url.ok());
    EXPECT_EQ(url->text, page.url);
    EXPECT_EQ(url->host, page.host);
    EXPECT_TRUE(urls.insert(page.url).second) << page.url;
    EXPECT_LE(world.pages[i - (i > 0 ? 1 : 0)].first_seen, page.first_seen);
    Instant last = page.first_seen;
    for (const ReplayPage::Touch& touch : page.touches) {
      ASSERT_GE(touch.at, last);
      ASSERT_GE(touch.delay, Duration());
      last = touch.at;
    }
    EXPECT_LE(last, std::min(world.end, page.gone_at));
    ASSERT_FALSE(world.truth[i].empty());
    EXPECT_EQ(world.truth[i].front().from, page.first_seen);
    EXPECT_TRUE(std::is_sorted(world.truth[i].begin(), world.truth[i].end(),
                               [](const auto& a, const auto& b) { return a.from < b.from; }));
  }
}

TEST_P(GalleryTest, FollowsFromItsSeed) {
  const uint64_t content = ContentOf(*MakeWorld(GetParam().name, 3));
  EXPECT_EQ(content, ContentOf(*MakeWorld(GetParam().name, 3)));
  EXPECT_NE(content, ContentOf(*MakeWorld(GetParam().name, 4)));
}

INSTANTIATE_TEST_SUITE_P(Worlds, GalleryTest, testing::ValuesIn(WorldPlans()),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(Worlds, RefusesANameThatIsNone) {
  const StatusOr<World> world = MakeWorld("honset", 1);
  EXPECT_EQ(world.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(world.status().message()).find("did you mean honest"), std::string::npos);
}

TEST(Worlds, SettleAfterSoManyCrawlsOfAPageThatExists) {
  World world;
  world.begin = Instant::FromUnixSeconds(0);
  world.end = world.begin + Duration::Days(100);
  world.pages.resize(2);
  world.pages[0].first_seen = world.begin;
  world.pages[1].first_seen = world.begin + Duration::Days(40);
  world.pages[1].gone_at = world.begin + Duration::Days(90);
  EXPECT_DOUBLE_EQ(MeanPages(world), 1.5);
  EXPECT_EQ(SettledAfter(world, 20, 3), world.begin + Duration::Days(10));
}

double Staleness(const World& world, ReplayPolicy& policy) {
  StatusOr<ReplayResult> result = Replay(world.pages, OptionsOf(world), policy);
  EXPECT_TRUE(result.ok()) << result.status();
  return 1 - result->weighted_freshness;
}

// Hindsight beats all rules that see only signals and times.
TEST(Hindsight, BeatsTheRulesWhereThereIsSomethingToKnow) {
  for (const char* name : {"noisy", "liar_alone", "collapse", "churn", "releases", "no_signals"}) {
    const World world = *MakeWorld(name, 2);
    HindsightReplay hindsight(world);
    const double stale = Staleness(world, hindsight);
    for (const char* rule : {"uniform", "importance", "pings_first", "nutch_adaptive"}) {
      EXPECT_LT(stale, Staleness(world, *MakeReplayRule(rule, world.pages)))
          << name << ", " << rule;
    }
  }
}

ReplayPage Quiet(int number, const World& world) {
  ReplayPage page;
  page.host = "site.test";
  page.url = "https://site.test/" + std::to_string(number);
  page.importance = 1;
  page.first_seen = world.begin;
  return page;
}

// A page of rate zero gets no crawls until its rate rises.
TEST(Hindsight, FollowsTheRatesInForce) {
  World world;
  world.begin = Instant::FromUnixSeconds(0);
  world.end = world.begin + Duration::Days(100);
  world.signal_delay = Duration::Days(1);
  world.pages = {Quiet(0, world), Quiet(1, world)};
  world.truth = {
      {{.from = world.begin, .change_rate = 0.1}},
      {{.from = world.begin}, {.from = world.begin + Duration::Days(50), .change_rate = 1}}};
  HindsightReplay policy(world);
  policy.Add(0, world.begin);
  policy.Add(1, world.begin);
  for (int day = 1; day < 50; ++day) {
    const Instant now = world.begin + Duration::Days(day);
    ASSERT_EQ(policy.Pick(now), 0u) << day;
    policy.Crawled(0, now, false);
  }
  policy.Crawled(0, world.begin + Duration::Hours(51 * 24), false);
  EXPECT_EQ(policy.Pick(world.begin + Duration::Hours(51 * 24)), 1u);
}

// A burst without changes has no effect on its pages. A burst in which half of the pages have
// changed has one.
TEST(Hindsight, KnowsWhatABurstIsWorth) {
  World world;
  world.begin = Instant::FromUnixSeconds(0);
  world.end = world.begin + Duration::Days(100);
  world.signal_delay = Duration::Days(1);
  world.pages = {Quiet(0, world), Quiet(1, world)};
  world.pages[1].host = "other.test";
  const TrueRates rates{.from = world.begin, .change_rate = 0.1, .recall = 1, .false_rate = 0.01};
  world.truth = {{rates}, {rates}};
  const Instant poll = world.begin + Duration::Days(2);
  world.bursts = {{.arrives = poll, .host = "site.test", .changed_share = 0},
                  {.arrives = poll, .host = "other.test", .changed_share = 0.5}};
  HindsightReplay policy(world);
  policy.Add(0, world.begin);
  policy.Add(1, world.begin);
  const std::vector<ReplaySignal> signals = {{0, poll}, {1, poll}};
  policy.Signal(signals, poll);
  EXPECT_EQ(policy.Pick(poll), 1u);
}

}  // namespace
}  // namespace freshet
