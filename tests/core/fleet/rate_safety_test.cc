// Tests that the sum of the obeyed rates never exceeds R, whatever happens.
#include <algorithm>
#include <deque>
#include <utility>

#include "gtest/gtest.h"
#include "tests/core/fleet/lossy_fleet.h"

namespace freshet {
namespace {

constexpr double kRounding = 1 + 1e-9;

FleetRateOptions DrawOptions(Random& random) {
  FleetRateOptions options;
  options.lifetime = Duration::Millis(static_cast<int64_t>(random.Uniform(2000, 12'000)));
  options.clock_bound = Duration::Millis(static_cast<int64_t>(random.Uniform(0, 2000)));
  options.silence = std::min(options.lifetime, Duration::Seconds(5));
  options.gain = random.Uniform(0.5, 20);
  options.memory = Duration::Seconds(1 + static_cast<int64_t>(random.Below(60)));
  options.dead_band = random.Uniform(0, 0.1);
  return options;
}

LossyNetwork DrawNetwork(Random& random) {
  LossyNetwork network;
  network.loss = random.Uniform(0, 0.5);
  network.repeat = random.Uniform(0, 0.3);
  network.most_delay = Duration::Millis(static_cast<int64_t>(random.Uniform(1, 3000)));
  network.long_delay = random.Uniform(0, 0.2);
  return network;
}

TestPages DrawPages(Random& random) {
  TestPages pages;
  pages.demand = std::exp(random.Uniform(-5, 5));
  pages.elasticity = random.Uniform(0.1, 5);
  pages.relaxation_seconds = random.Uniform() < 0.5 ? 0 : random.Uniform(1, 100);
  pages.noise = random.Uniform(0, 2);
  pages.tells_demand = random.Uniform() < 0.5 ? std::exp(random.Uniform(-3, 3)) : 0;
  if (random.Uniform() < 0.2) pages.capacity = random.Uniform(0, 20);
  if (random.Uniform() < 0.2) pages.most = random.Uniform(0, 20);
  if (random.Uniform() < 0.1) pages.pages = 0;
  return pages;
}

// Lets nodes join, lose their connection or die, each every few seconds.
void Disturb(LossyFleet& fleet, double step) {
  Random& random = fleet.random();
  if (random.Uniform() < step / 4) fleet.Join(DrawPages(random));
  for (auto it = fleet.members().begin(); it != fleet.members().end();) {
    LossyFleet::Member& member = *it->second;
    // A node that is cut off continues with its grant; the fleet might consider it dead.
    if (random.Uniform() < step / 20) member.connected = !member.connected;
    if (random.Uniform() < step / 10) member.pages = DrawPages(random);
    random.Uniform() < step / 40 ? it = fleet.members().erase(it) : ++it;
  }
}

TEST(RateSafety, SumStaysWithinConstantRateUnderLossesCutsAndLeaderChanges) {
  constexpr double kRate = 100;
  uint64_t moments_in_use = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Random draw(seed);
    LossyFleet fleet(DrawOptions(draw), DrawNetwork(draw), seed);
    for (int i = 0; i < 6; ++i) fleet.Join(DrawPages(fleet.random()));
    const double step = 0.05;
    for (int i = 0; i < 2000; ++i) {
      if (fleet.random().Uniform() < step / 10) fleet.NewLeader(Rate::PerSecond(kRate));
      if (fleet.random().Uniform() < step / 60) fleet.LoseLeader();
      Disturb(fleet, step);
      fleet.Step(step);
      const double sum = fleet.Sum();
      ASSERT_LE(sum, kRate * kRounding) << "seed " << seed << " at " << fleet.seconds();
      if (sum > kRate / 2) ++moments_in_use;
    }
  }
  // An idle fleet would be safe, too, so the test checks that the rates are used.
  EXPECT_GT(moments_in_use, 10'000u);
}

TEST(RateSafety, SumStaysWithinConstantRateWherePlacesChangeHands) {
  constexpr double kRate = 100;
  constexpr uint32_t kPlaces = 4;
  uint64_t moments_in_use = 0;
  uint64_t early_ends = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Random draw(seed);
    FleetRateOptions options = DrawOptions(draw);
    options.places = kPlaces;
    LossyFleet fleet(options, DrawNetwork(draw), seed);
    for (uint32_t i = 0; i < kPlaces; ++i) fleet.TakePlace(i, DrawPages(fleet.random()));
    const double step = 0.05;
    double led_since = 0;
    for (int i = 0; i < 2000; ++i) {
      if (fleet.random().Uniform() < step / 10) {
        fleet.NewLeader(Rate::PerSecond(kRate));
        led_since = fleet.seconds();
      }
      if (fleet.random().Uniform() < step / 60) fleet.LoseLeader();
      if (fleet.random().Uniform() < step / 5) {
        fleet.TakePlace(static_cast<uint32_t>(fleet.random().Below(kPlaces)),
                        DrawPages(fleet.random()));
      }
      fleet.Step(step);
      const double sum = fleet.Sum();
      ASSERT_LE(sum, kRate * kRounding) << "seed " << seed << " at " << fleet.seconds();
      if (sum > kRate / 2) ++moments_in_use;
      const bool young = fleet.seconds() < led_since + options.lifetime.seconds();
      if (fleet.led() && young && !fleet.leader().figures().quiet) ++early_ends;
    }
  }
  EXPECT_GT(moments_in_use, 10'000u);
  EXPECT_GT(early_ends, 2'000u);
}

TEST(RateSafety, LoweredRateHoldsAfterOneLifetimeWithoutLeaderChange) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Random draw(seed);
    const FleetRateOptions options = DrawOptions(draw);
    const double window = (options.lifetime + options.clock_bound * 2).seconds();
    LossyFleet fleet(options, DrawNetwork(draw), seed);
    for (int i = 0; i < 6; ++i) fleet.Join(DrawPages(fleet.random()));
    double rate = 100;
    fleet.NewLeader(Rate::PerSecond(rate));
    std::deque<std::pair<double, double>> ended = {};  // rates and their end times
    const double step = 0.05;
    for (int i = 0; i < 2000; ++i) {
      if (fleet.random().Uniform() < step / 3) {
        ended.emplace_back(rate, fleet.seconds());
        rate = fleet.random().Uniform() < 0.1 ? 0 : 100 * fleet.random().Uniform();
        fleet.leader().SetRate(Rate::PerSecond(rate));
      }
      Disturb(fleet, step);
      fleet.Step(step);
      while (!ended.empty() && ended.front().second + window < fleet.seconds()) ended.pop_front();
      double most = rate;
      for (const auto& [before, until] : ended) most = std::max(most, before);
      ASSERT_LE(fleet.Sum(), most * kRounding) << "seed " << seed << " at " << fleet.seconds();
    }
  }
}

TEST(RateSafety, LoweredRateHoldsAfterTwoLifetimesAcrossLeaderChanges) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Random draw(seed);
    const FleetRateOptions options = DrawOptions(draw);
    const double window = 2 * (options.lifetime + options.clock_bound * 2).seconds();
    LossyFleet fleet(options, DrawNetwork(draw), seed);
    for (int i = 0; i < 6; ++i) fleet.Join(DrawPages(fleet.random()));
    double rate = 100;
    fleet.NewLeader(Rate::PerSecond(rate));
    std::deque<std::pair<double, double>> ended = {};
    const double step = 0.05;
    for (int i = 0; i < 2000; ++i) {
      if (fleet.random().Uniform() < step / 8) {
        ended.emplace_back(rate, fleet.seconds());
        rate = 100 * fleet.random().Uniform();
        fleet.leader().SetRate(Rate::PerSecond(rate));
      }
      if (fleet.random().Uniform() < step / 6) fleet.NewLeader(Rate::PerSecond(rate));
      Disturb(fleet, step);
      fleet.Step(step);
      while (!ended.empty() && ended.front().second + window < fleet.seconds()) ended.pop_front();
      double most = rate;
      for (const auto& [before, until] : ended) most = std::max(most, before);
      ASSERT_LE(fleet.Sum(), most * kRounding) << "seed " << seed << " at " << fleet.seconds();
    }
  }
}

}  // namespace
}  // namespace freshet
