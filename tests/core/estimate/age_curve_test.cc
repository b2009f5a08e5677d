// Tests the age curve that the default estimator learns from events with a known distribution.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/estimate/estimator.h"
#include "core/estimate/operational_time.h"
#include "core/estimate/site.h"
#include "gtest/gtest.h"
#include "tests/core/estimate/world.h"

namespace freshet {
namespace {

struct Learned {
  AgeCurve curve;
  SiteCounts counts;
};

// Returns the last stored curve of all hosts.
Learned CurveOf(const World& world) {
  const size_t begin = world.stored().find('\n') + 1;
  const size_t end = world.stored().find('\n', begin);
  std::string host;
  SiteModel site;
  Learned learned;
  EXPECT_TRUE(
      ParseSite(world.stored().substr(begin, end - begin), &host, &site, &learned.counts).ok());
  learned.curve = site.curve();
  return learned;
}

// Changes come evenly and without signals. Crawls every 40 days show that a change happened, but
// not when. Even after a long time, this must not produce a curve.
TEST(LearnedAgeCurve, IsFlatWhereChangesComeEvenly) {
  World world({.pages = 400, .mean = 0.01, .false_mean = 0, .recall = 0, .interval = 40});
  world.Run(600, 20);
  const Learned learned = CurveOf(world);
  for (int bin = 0; bin < kAgeBins; ++bin) {
    EXPECT_GT(learned.curve.Level(bin), 0.7) << bin;
    EXPECT_LT(learned.curve.Level(bin), 1.4) << bin;
  }
}

// Signals for some of the changes, with crawls at any time, must not produce a curve either. Few
// events have the largest ages, so the test uses the mean over several worlds.
TEST(LearnedAgeCurve, IsFlatWhereSignalsTellOfEvenChanges) {
  constexpr int kWorlds = 4;
  AgeCurve::Levels mean_logs{};
  for (int seed = 1; seed <= kWorlds; ++seed) {
    World world({.pages = 400,
                 .mean = 0.02,
                 .false_mean = 0.002,
                 .recall = 0.5,
                 .interval = 15,
                 .random_crawls = true,
                 .seed = static_cast<uint64_t>(seed)});
    world.Run(600, 20);
    const AgeCurve curve = CurveOf(world).curve;
    for (int bin = 0; bin < kAgeBins; ++bin) {
      mean_logs[static_cast<size_t>(bin)] += std::log(curve.Level(bin)) / kWorlds;
    }
  }
  for (int bin = 0; bin < kAgeBins; ++bin) {
    EXPECT_GT(std::exp(mean_logs[static_cast<size_t>(bin)]), 0.7) << bin;
    EXPECT_LT(std::exp(mean_logs[static_cast<size_t>(bin)]), 1.4) << bin;
  }
}

WorldOptions Clustered() {
  return {.pages = 200,
          .mean = 0.02,
          .false_mean = 0.001,
          .recall = 0.9,
          .interval = 20,
          .after_change = 8};
}

TEST(LearnedAgeCurve, RisesWhereAChangeBringsOthers) {
  World world(Clustered());
  world.Run(400, 10);
  const AgeCurve curve = CurveOf(world).curve;
  EXPECT_GT(curve.Level(1), 2 * curve.Level(3));
}

// A server that restarts every other day learns almost the same curve.
TEST(LearnedAgeCurve, IsTheSameAfterRestarts) {
  World steady(Clustered());
  World restarted(Clustered());
  steady.Run(300, 1);
  for (int i = 0; i < 150; ++i) {
    restarted.Run(1, 1);
    // This day ends with an epoch, too. The restart loses only what the epoch did not store.
    restarted.Run(1, 2);
    restarted.Restart();
  }
  const AgeCurve with = CurveOf(restarted).curve;
  const AgeCurve without = CurveOf(steady).curve;
  for (int bin = 0; bin < 5; ++bin) {
    EXPECT_NEAR(std::log(with.Level(bin) / without.Level(bin)), 0, 0.35) << bin;
  }
}

}  // namespace
}  // namespace freshet
