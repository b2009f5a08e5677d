// Tests that a node obeys the latest grant until it expires.
#include "core/fleet/grant_holder.h"

#include <cmath>

#include "gtest/gtest.h"

namespace freshet {
namespace {

constexpr Instant kNow = Instant::FromUnixSeconds(1'000'000);

RateGrant Granted(uint64_t term, uint64_t number, double rate, Duration lasts) {
  return {NodeId(4), term, number, Rate::PerSecond(rate), kNow + lasts};
}

TEST(GrantHolder, PicksNothingWithoutAValidGrant) {
  GrantHolder holder(NodeId(4), {});
  EXPECT_EQ(holder.rate(kNow), Rate());
  EXPECT_EQ(holder.held().term, 0u);
  ASSERT_TRUE(holder.Take(Granted(1, 1, 5, Duration::Seconds(2)), kNow).ok());
  EXPECT_EQ(holder.rate(kNow), Rate::PerSecond(5));
  EXPECT_EQ(holder.rate(holder.until() - Duration::Micros(1)), Rate::PerSecond(5));
  EXPECT_EQ(holder.rate(holder.until()), Rate());
}

TEST(GrantHolder, RefusesWhatIsEarlierOrOutsideItsTime) {
  const FleetRateOptions options;
  GrantHolder holder(NodeId(4), options);
  ASSERT_TRUE(holder.Take(Granted(2, 5, 5, Duration::Seconds(2)), kNow).ok());
  // A repeated grant changes nothing. Earlier grants are refused, whatever their content.
  EXPECT_TRUE(holder.Take(Granted(2, 5, 5, Duration::Seconds(2)), kNow).ok());
  EXPECT_FALSE(holder.Take(Granted(2, 5, 6, Duration::Seconds(2)), kNow).ok());
  EXPECT_FALSE(holder.Take(Granted(2, 4, 9, Duration::Seconds(9)), kNow).ok());
  EXPECT_FALSE(holder.Take(Granted(1, 8, 9, Duration::Seconds(9)), kNow).ok());
  EXPECT_FALSE(holder.Take(Granted(2, 6, 9, Duration()), kNow).ok());
  const Duration longest = options.lifetime + options.clock_bound;
  EXPECT_FALSE(holder.Take(Granted(2, 6, 9, longest + Duration::Micros(1)), kNow).ok());
  EXPECT_EQ(holder.rate(kNow), Rate::PerSecond(5));
  EXPECT_TRUE(holder.Take(Granted(3, 1, 9, longest), kNow).ok());
  EXPECT_EQ(holder.rate(kNow), Rate::PerSecond(9));
}

TEST(GrantHolder, RefusesWhatIsNotItsOwnOrNoRate) {
  GrantHolder holder(NodeId(4), {});
  RateGrant other = Granted(1, 1, 5, Duration::Seconds(2));
  other.node = NodeId(5);
  EXPECT_FALSE(holder.Take(other, kNow).ok());
  EXPECT_FALSE(holder.Take(Granted(1, 1, -5, Duration::Seconds(2)), kNow).ok());
  EXPECT_FALSE(holder.Take(Granted(1, 1, NAN, Duration::Seconds(2)), kNow).ok());
  EXPECT_EQ(holder.rate(kNow), Rate());
}

TEST(FleetRateOptions, OutOfRangeIsRefusedByName) {
  const auto refused = [](auto change) {
    FleetRateOptions options;
    change(options);
    const std::string message(Validate(options).message());
    return message.substr(0, message.find(':'));
  };
  EXPECT_EQ(refused([](auto&) {}), "");
  EXPECT_EQ(refused([](auto& o) { o.round = Duration(); }), "round");
  EXPECT_EQ(refused([](auto& o) { o.lifetime = Duration::Seconds(1); }), "lifetime");
  EXPECT_EQ(refused([](auto& o) { o.clock_bound = Duration::Seconds(11); }), "clock_bound");
  EXPECT_EQ(refused([](auto& o) { o.silence = Duration::Seconds(11); }), "silence");
  EXPECT_EQ(refused([](auto& o) { o.gain = 0; }), "gain");
  EXPECT_EQ(refused([](auto& o) { o.memory = Duration(); }), "memory");
  EXPECT_EQ(refused([](auto& o) { o.probing_share = 0; }), "probing_share");
  EXPECT_EQ(refused([](auto& o) { o.dead_band = 1; }), "dead_band");
}

}  // namespace
}  // namespace freshet
