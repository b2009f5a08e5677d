// What may still be obeyed is counted, to the last moment.
#include "core/fleet/grant_ledger.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace freshet {
namespace {

class GrantLedgerTest : public testing::Test {
 protected:
  [[nodiscard]] Instant After(double seconds) const {
    return Instant::FromUnixSeconds(1'000'000) + Duration::FromSeconds(seconds);
  }
  // A ledger whose quiet time is over.
  [[nodiscard]] GrantLedger Settled(double rate) const {
    GrantLedger ledger(options_, 7, Rate::PerSecond(rate), After(-100));
    ledger.Expire(After(0));
    return ledger;
  }
  static double Allowed(const GrantLedger& ledger, uint64_t node) {
    return ledger.Allowed(NodeId(node)).per_second();
  }
  static RateGrant Grant(GrantLedger& ledger, uint64_t node, double rate, Instant now) {
    // Of what is usable, which is a little less.
    return ledger.Grant(NodeId(node), std::min(Rate::PerSecond(rate), ledger.Allowed(NodeId(node))),
                        now);
  }

  FleetRateOptions options_;
  double lifetime_ = options_.lifetime.seconds();
  double bound_ = options_.clock_bound.seconds();
};

TEST_F(GrantLedgerTest, LowerGrantCountsAtTheHigherUntilAnsweredOrOver) {
  GrantLedger ledger = Settled(10);
  (void)Grant(ledger, 1, 8, After(0));
  const RateGrant lower = Grant(ledger, 1, 3, After(1));
  EXPECT_EQ(lower.term, 7u);
  EXPECT_EQ(lower.until, After(1 + lifetime_));
  EXPECT_NEAR(Allowed(ledger, 2), 2, 1e-9);
  ledger.Acknowledge(NodeId(1), lower.number - 1);
  EXPECT_NEAR(Allowed(ledger, 2), 2, 1e-9);
  GrantLedger answered = ledger;
  answered.Acknowledge(NodeId(1), lower.number);
  EXPECT_NEAR(Allowed(answered, 2), 7, 1e-9);
  ledger.Expire(After(lifetime_ + bound_ - 0.001));
  EXPECT_NEAR(Allowed(ledger, 2), 2, 1e-9);
  ledger.Expire(After(lifetime_ + bound_));
  EXPECT_NEAR(Allowed(ledger, 2), 7, 1e-9);
  ledger.Expire(After(1 + lifetime_ + bound_));
  EXPECT_NEAR(Allowed(ledger, 2), 10, 1e-9);
  EXPECT_EQ(ledger.Claimed(), Rate());
}

TEST_F(GrantLedgerTest, RaiseCountsAtOnceAndAnOlderGrantNoMore) {
  GrantLedger ledger = Settled(10);
  (void)Grant(ledger, 1, 3, After(0));
  (void)Grant(ledger, 1, 8, After(1));
  EXPECT_NEAR(ledger.Claim(NodeId(1)).per_second(), 8, 1e-9);
  EXPECT_NEAR(ledger.Free().per_second(), 2, 1e-9);
  EXPECT_NEAR(Allowed(ledger, 1), 10, 1e-9);
}

TEST_F(GrantLedgerTest, NewGrantsKeepToALoweredRateAmongThemselves) {
  GrantLedger ledger = Settled(100);
  (void)Grant(ledger, 1, 60, After(0));
  (void)Grant(ledger, 2, 40, After(0));
  ledger.SetRate(Rate::PerSecond(50));
  // With the old ones of the other, 100 are what is there; among the new ones, 50.
  EXPECT_NEAR(Allowed(ledger, 1), 50, 1e-9);
  (void)Grant(ledger, 1, 30, After(1));
  EXPECT_NEAR(Allowed(ledger, 2), 20, 1e-9);
  (void)Grant(ledger, 2, 20, After(1));
  EXPECT_EQ(Allowed(ledger, 3), 0);
  ledger.Expire(After(lifetime_ + bound_));
  EXPECT_NEAR(ledger.Claimed().per_second(), 50, 1e-9);
  // And lower again, and higher than both.
  ledger.SetRate(Rate::PerSecond(10));
  EXPECT_NEAR(Allowed(ledger, 1), 10, 1e-9);
  ledger.SetRate(Rate::PerSecond(80));
  EXPECT_NEAR(Allowed(ledger, 3), 30, 1e-9);
}

TEST_F(GrantLedgerTest, ManyLoweringsAreKeptInLittleRoom) {
  GrantLedger ledger = Settled(100);
  for (int i = 0; i < 99; ++i) {
    ledger.Expire(After(i * 0.01));
    (void)ledger.Grant(NodeId(1), ledger.Allowed(NodeId(1)), After(i * 0.01));
    ledger.SetRate(Rate::PerSecond(99 - i));
    EXPECT_LE(Allowed(ledger, 2), 99 - i);
  }
  ledger.Expire(After(5 + lifetime_));
  EXPECT_EQ(ledger.Claimed(), Rate());
  EXPECT_NEAR(Allowed(ledger, 2), 1, 1e-9);
}

TEST_F(GrantLedgerTest, NewLeaderRenewsOnlyWhatIsTrulyHeld) {
  GrantLedger ledger(options_, 7, Rate::PerSecond(100), After(0));
  const RateGrant held{NodeId(1), 6, 9, Rate::PerSecond(30), After(8)};
  ledger.Expire(After(1));
  EXPECT_EQ(Allowed(ledger, 1), 0);
  // Said before this term began: the predecessor may have heard of something else since.
  ledger.Adopt(held, After(bound_ - 0.001), After(1));
  EXPECT_EQ(Allowed(ledger, 1), 0);
  // Run out: the predecessor may have given it to another.
  ledger.Adopt(held, After(8), After(8));
  EXPECT_EQ(Allowed(ledger, 1), 0);
  ledger.Adopt({NodeId(1), 7, 9, Rate::PerSecond(30), After(8)}, After(1), After(1));
  EXPECT_EQ(Allowed(ledger, 1), 0);
  ledger.Adopt(held, After(bound_), After(1));
  EXPECT_NEAR(Allowed(ledger, 1), 30, 1e-9);
  EXPECT_EQ(Allowed(ledger, 2), 0);
  ledger.Expire(After(lifetime_ + 2 * bound_ - 0.001));
  EXPECT_EQ(Allowed(ledger, 2), 0);
  ledger.Expire(After(lifetime_ + 2 * bound_));
  EXPECT_NEAR(Allowed(ledger, 2), 100, 1e-9);
}

TEST_F(GrantLedgerTest, ManyFallingGrantsAreCountedInLittleRoom) {
  GrantLedger ledger = Settled(1000);
  uint64_t last = 0;
  for (int i = 0; i < 500; ++i) last = Grant(ledger, 1, 1000 - i, After(i * 0.001)).number;
  EXPECT_NEAR(ledger.Claim(NodeId(1)).per_second(), 1000, 1e-6);
  ledger.Acknowledge(NodeId(1), last);
  EXPECT_NEAR(ledger.Claim(NodeId(1)).per_second(), 501, 1e-6);
}

}  // namespace
}  // namespace freshet
