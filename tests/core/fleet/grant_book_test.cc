// Tests that the book counts every grant until no node can obey it any more.
#include "core/fleet/grant_book.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace freshet {
namespace {

class GrantBookTest : public testing::Test {
 protected:
  [[nodiscard]] Instant After(double seconds) const {
    return Instant::FromUnixSeconds(1'000'000) + Duration::FromSeconds(seconds);
  }
  // Returns the book of a leader whose quiet time has ended. In the quiet time, a new leader only
  // renews grants that nodes already hold.
  [[nodiscard]] GrantBook Settled(double rate) const {
    GrantBook book(options_, 7, Rate::PerSecond(rate), After(-100));
    book.Expire(After(0));
    return book;
  }
  static double Allowed(const GrantBook& book, uint64_t node) {
    return book.Allowed(NodeId(node)).per_second();
  }
  static RateGrant Grant(GrantBook& book, uint64_t node, double rate, Instant now) {
    // The allowed rate can be slightly below `rate`. The book grants no more than the allowed rate.
    return book.Grant(NodeId(node), std::min(Rate::PerSecond(rate), book.Allowed(NodeId(node))),
                      now);
  }

  FleetRateOptions options_;
  double lifetime_ = options_.lifetime.seconds();
  double bound_ = options_.clock_bound.seconds();
};

TEST_F(GrantBookTest, LowerGrantCountsAtTheHigherUntilAnsweredOrOver) {
  GrantBook book = Settled(10);
  (void)Grant(book, 1, 8, After(0));
  const RateGrant lower = Grant(book, 1, 3, After(1));
  EXPECT_EQ(lower.term, 7u);
  EXPECT_EQ(lower.until, After(1 + lifetime_));
  EXPECT_NEAR(Allowed(book, 2), 2, 1e-9);
  book.Acknowledge(NodeId(1), lower.number - 1);
  EXPECT_NEAR(Allowed(book, 2), 2, 1e-9);
  GrantBook answered = book;
  answered.Acknowledge(NodeId(1), lower.number);
  EXPECT_NEAR(Allowed(answered, 2), 7, 1e-9);
  book.Expire(After(lifetime_ + bound_ - 0.001));
  EXPECT_NEAR(Allowed(book, 2), 2, 1e-9);
  book.Expire(After(lifetime_ + bound_));
  EXPECT_NEAR(Allowed(book, 2), 7, 1e-9);
  book.Expire(After(1 + lifetime_ + bound_));
  EXPECT_NEAR(Allowed(book, 2), 10, 1e-9);
  EXPECT_EQ(book.Claimed(), Rate());
}

TEST_F(GrantBookTest, RaiseCountsAtOnceAndAnOlderGrantNoMore) {
  GrantBook book = Settled(10);
  (void)Grant(book, 1, 3, After(0));
  (void)Grant(book, 1, 8, After(1));
  EXPECT_NEAR(book.Claim(NodeId(1)).per_second(), 8, 1e-9);
  EXPECT_NEAR(book.Free().per_second(), 2, 1e-9);
  EXPECT_NEAR(Allowed(book, 1), 10, 1e-9);
}

TEST_F(GrantBookTest, NewGrantsKeepToALoweredRateAmongThemselves) {
  GrantBook book = Settled(100);
  (void)Grant(book, 1, 60, After(0));
  (void)Grant(book, 2, 40, After(0));
  book.SetRate(Rate::PerSecond(50));
  // Old and new grants together may add up to the old rate of 100. New grants alone may add up to
  // 50.
  EXPECT_NEAR(Allowed(book, 1), 50, 1e-9);
  (void)Grant(book, 1, 30, After(1));
  EXPECT_NEAR(Allowed(book, 2), 20, 1e-9);
  (void)Grant(book, 2, 20, After(1));
  EXPECT_EQ(Allowed(book, 3), 0);
  book.Expire(After(lifetime_ + bound_));
  EXPECT_NEAR(book.Claimed().per_second(), 50, 1e-9);
  // The rate falls further, and then rises above both earlier rates.
  book.SetRate(Rate::PerSecond(10));
  EXPECT_NEAR(Allowed(book, 1), 10, 1e-9);
  book.SetRate(Rate::PerSecond(80));
  EXPECT_NEAR(Allowed(book, 3), 30, 1e-9);
}

TEST_F(GrantBookTest, ManyLoweringsAreKeptInLittleRoom) {
  GrantBook book = Settled(100);
  for (int i = 0; i < 99; ++i) {
    book.Expire(After(i * 0.01));
    (void)book.Grant(NodeId(1), book.Allowed(NodeId(1)), After(i * 0.01));
    book.SetRate(Rate::PerSecond(99 - i));
    EXPECT_LE(Allowed(book, 2), 99 - i);
  }
  book.Expire(After(5 + lifetime_));
  EXPECT_EQ(book.Claimed(), Rate());
  EXPECT_NEAR(Allowed(book, 2), 1, 1e-9);
}

TEST_F(GrantBookTest, NewLeaderRenewsOnlyWhatIsTrulyHeld) {
  GrantBook book(options_, 7, Rate::PerSecond(100), After(0));
  const RateGrant held{NodeId(1), 6, 9, Rate::PerSecond(30), After(8)};
  book.Expire(After(1));
  EXPECT_EQ(Allowed(book, 1), 0);
  // The report is older than this leader's term, so the predecessor might have sent a newer grant
  // since then.
  book.Adopt(held, After(bound_ - 0.001), After(1));
  EXPECT_EQ(Allowed(book, 1), 0);
  // The grant has expired, so the predecessor might have granted its rate to another node.
  book.Adopt(held, After(8), After(8));
  EXPECT_EQ(Allowed(book, 1), 0);
  book.Adopt({NodeId(1), 7, 9, Rate::PerSecond(30), After(8)}, After(1), After(1));
  EXPECT_EQ(Allowed(book, 1), 0);
  book.Adopt(held, After(bound_), After(1));
  EXPECT_NEAR(Allowed(book, 1), 30, 1e-9);
  EXPECT_EQ(Allowed(book, 2), 0);
  book.Expire(After(lifetime_ + 2 * bound_ - 0.001));
  EXPECT_EQ(Allowed(book, 2), 0);
  book.Expire(After(lifetime_ + 2 * bound_));
  EXPECT_NEAR(Allowed(book, 2), 100, 1e-9);
}

TEST_F(GrantBookTest, ManyFallingGrantsAreCountedInLittleRoom) {
  GrantBook book = Settled(1000);
  uint64_t last = 0;
  for (int i = 0; i < 500; ++i) last = Grant(book, 1, 1000 - i, After(i * 0.001)).number;
  EXPECT_NEAR(book.Claim(NodeId(1)).per_second(), 1000, 1e-6);
  book.Acknowledge(NodeId(1), last);
  EXPECT_NEAR(book.Claim(NodeId(1)).per_second(), 501, 1e-6);
}

}  // namespace
}  // namespace freshet
