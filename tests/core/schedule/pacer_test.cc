#include "core/schedule/pacer.h"

#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace freshet {
namespace {

Instant Since1970(double seconds) { return Instant() + Duration::FromSeconds(seconds); }

TEST(Pacer, TicksAreNeverEarlyAndNeverDrift) {
  Pacer pacer(Rate::PerSecond(3), Since1970(0));
  for (int i = 1; i <= 1'000'000; ++i) {
    const Instant tick = pacer.Use();
    const double exact = i / 3.0 * 1e6;
    ASSERT_GE(static_cast<double>(tick.micros()), exact - 1e-3);
    ASSERT_LE(static_cast<double>(tick.micros()), exact + 1.001);
  }
}

TEST(Pacer, MissedTicksAreGone) {
  Pacer pacer(Rate::PerSecond(100), Since1970(0));
  EXPECT_EQ(pacer.SkipMissed(Since1970(0.015)), 0);
  EXPECT_EQ(pacer.Use(), Since1970(0.01));
  EXPECT_EQ(pacer.SkipMissed(Since1970(10.005)), 998);
  EXPECT_EQ(pacer.next(), Since1970(10));
}

TEST(Pacer, TicksAreUsedAsLateAsIsAllowed) {
  Pacer pacer(Rate::PerSecond(1000), Since1970(0), Duration::Millis(50));
  EXPECT_EQ(pacer.SkipMissed(Since1970(0.045)), 0);
  EXPECT_EQ(pacer.Overdue(Since1970(0.0455)), 44);
  EXPECT_EQ(pacer.Use(), Since1970(0.001));
  EXPECT_EQ(pacer.Overdue(Since1970(0.0455)), 43);
  EXPECT_EQ(pacer.Overdue(Since1970(0.001)), 0) << "the next one is to come";
  // After a long pause, only the last 50 ms are made up for.
  EXPECT_EQ(pacer.SkipMissed(Since1970(10)), 9948);
  int64_t used = 0;
  for (; pacer.next() <= Since1970(10); ++used) pacer.Use();
  EXPECT_EQ(used, 51);
  Pacer slow(Rate::PerSecond(2), Since1970(0), Duration::Millis(50));
  EXPECT_EQ(slow.lateness(), Duration::FromSeconds(0.4995)) << "a tick is longer";
  EXPECT_EQ(Pacer(Rate(), Since1970(0)).Overdue(Since1970(9)), 0);
}

TEST(Pacer, RateZeroNeverTicks) {
  Pacer pacer(Rate(), Since1970(5));
  EXPECT_TRUE(pacer.next().infinite());
  EXPECT_EQ(pacer.SkipMissed(Since1970(100)), 0);
  pacer.SetRate(Rate::PerSecond(2), Since1970(100));
  EXPECT_EQ(pacer.next(), Since1970(100.5));
  pacer.SetRate(Rate(), Since1970(101));
  EXPECT_TRUE(pacer.next().infinite());
}

TEST(Pacer, ChangingTheRateKeepsTheShareOfATickThatPassed) {
  Pacer pacer(Rate::PerSecond(1), Since1970(0));
  pacer.SetRate(Rate::PerSecond(10), Since1970(0.5));
  EXPECT_EQ(pacer.Use(), Since1970(0.55));
  pacer.SetRate(Rate::PerSecond(1e-9), Since1970(0.55));
  EXPECT_GT(pacer.next(), Since1970(1e6));
  pacer.SetRate(Rate::PerSecond(1), Since1970(1000));
  EXPECT_LE(pacer.next(), Since1970(1001));
}

// The driver wakes late at random, as a thread does. The promise over windows must still be kept.
TEST(Pacer, KeepsItsPromiseOverEveryWindow) {
  for (const double rate : {0.7, 10.0, 333.3, 1000.0}) {
    std::mt19937_64 random(11);
    std::exponential_distribution<double> delay(1 / 0.0008);
    Pacer pacer(Rate::PerSecond(rate), Since1970(0));
    std::vector<Instant> left;
    Instant now = Since1970(0);
    int64_t skipped = 0;
    while (left.size() < 5000) {
      now = std::max(now, pacer.next()) + Duration::FromSeconds(delay(random));
      if (left.size() == 2000) now = now + Duration::FromSeconds(20 / rate);  // a stall
      skipped += pacer.SkipMissed(now);
      if (pacer.next() <= now) {
        pacer.Use();
        left.push_back(now);
      }
    }
    EXPECT_GE(skipped, 18);
    for (size_t i = 0; i < left.size(); ++i) {
      for (size_t j = i; j < std::min(left.size(), i + 40); ++j) {
        const double window = std::max(0.01, (left[j] - left[i]).seconds());
        ASSERT_LE(static_cast<double>(j - i + 1), std::floor(rate * window) + 2) << rate;
      }
    }
  }
}

}  // namespace
}  // namespace freshet
