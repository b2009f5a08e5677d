#include "core/estimate/life.h"

#include <cmath>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(AliveChance, IsCertainAtASignOfLife) { EXPECT_EQ(AliveChance(0.01, 0.1, 0), 1); }

TEST(AliveChance, WithoutSignsIsTheLifetimeAlone) {
  EXPECT_NEAR(AliveChance(0.01, 0, 50), std::exp(-0.5), 1e-15);
  EXPECT_NEAR(AliveChance(1e-12, 0, 1), 1 - 1e-12, 1e-15) << "no cancellation";
}

TEST(AliveChance, FallsWithSilenceToNothing) {
  double before = 1;
  for (double days = 1; days < 1e5; days *= 2) {
    const double now = AliveChance(0.005, 0.02, days);
    EXPECT_LE(now, before);
    EXPECT_GE(now, 0);
    before = now;
  }
  EXPECT_EQ(before, 0);
}

// A page lives for an exponential time and signals at a constant rate. The chance is compared with
// the share of living pages among those that were silent for the same time.
TEST(AliveChance, IsTheShareOfSilentPagesThatLive) {
  constexpr double kDeath = 0.004;
  constexpr double kSigns = 0.02;
  constexpr double kSilent = 80;
  Random random(1);
  int silent = 0;
  int alive = 0;
  for (int i = 0; i < 200'000; ++i) {
    const double dies = random.Exponential(kDeath);
    const double sign = random.Exponential(kSigns);
    if (sign < std::min(dies, kSilent)) continue;
    ++silent;
    alive += dies > kSilent ? 1 : 0;
  }
  const double share = static_cast<double>(alive) / silent;
  EXPECT_NEAR(AliveChance(kDeath, kSigns, kSilent), share, 4 * std::sqrt(0.25 / silent));
}

TEST(ValueShare, IsTheChanceDownToOneOverEAndLittleBelow) {
  EXPECT_EQ(ValueShare(1), 1);
  EXPECT_EQ(ValueShare(0.5), 0.5);
  EXPECT_NEAR(ValueShare(1 / M_E), 1 / M_E, 1e-15);
  EXPECT_NEAR(ValueShare(0.1), 0.001 * M_E * M_E, 1e-15);
  EXPECT_EQ(ValueShare(0), 0);
}

// A page lives for 200 days and changes every 10,000 days, on average. For each silence T, there is
// a price at which it is best to crawl after T days of silence. At this price, crawling is better
// than never crawling only if T is below 200.
TEST(ValueShare, BeginsToFallWhereNoCrawlIsBestOfAll) {
  constexpr double kDeath = 0.005;
  constexpr double kChange = 1e-4;
  // The total value after a crawl that finds the page fresh, if each later crawl follows a silence
  // of `t`.
  const auto worth = [](double price, double t) {
    const double both = kDeath + kChange;
    return (-std::expm1(-both * t) / both - price) / -std::expm1(-kDeath * t);
  };
  for (const double t : {20., 100., 190., 210., 400.}) {
    const double price = -std::expm1(-(kDeath + kChange) * t) / (kDeath + kChange) +
                         std::exp(-kChange * t) * std::expm1(-kDeath * t) / kDeath;
    EXPECT_GT(worth(price, t), worth(price, t * 1.1));
    EXPECT_GT(worth(price, t), worth(price, t / 1.1));
    EXPECT_EQ(worth(price, t) > 1 / (kDeath + kChange), t < 200) << t;
    EXPECT_EQ(ValueShare(AliveChance(kDeath, 0, t)) == AliveChance(kDeath, 0, t), t < 200) << t;
  }
}

// Pages are crawled when they signal, and rarely otherwise, so living pages are seen more often.
TEST(LifeCounts, CrawlsOfThoseThatLiveDoNotBiasTheDeathRate) {
  constexpr double kDeath = 0.004;
  constexpr double kSigns = 0.03;
  Random random(2);
  LifeModel model;
  for (int epoch = 0; epoch < 12; ++epoch) {
    LifeCounts counts;
    for (int i = 0; i < 20'000; ++i) {
      const double dies = random.Exponential(kDeath);
      const double sign = random.Exponential(kSigns);
      const bool signals = sign < dies;
      const double crawl = std::min(signals ? sign : INFINITY, random.Uniform(50, 150));
      const double silent = signals && sign <= crawl ? 0 : crawl;
      counts.AddCrawl(model, AliveChance(model.death_rate, kSigns, silent), dies > crawl);
    }
    model = counts.FitAll();
  }
  EXPECT_NEAR(model.death_rate / kDeath, 1, 0.1);
}

TEST(LifeCounts, WhereNobodyDiesTheRateFalls) {
  LifeCounts counts;
  for (int i = 0; i < 1000; ++i) {
    counts.AddCrawl(LifeModel(), AliveChance(LifeModel().death_rate, 0.02, 30), true);
  }
  EXPECT_LT(counts.FitAll().death_rate, LifeModel().death_rate / 20);
}

TEST(LifeCounts, AHostIsHeldToAllByAFewDeaths) {
  const LifeModel all{.death_rate = 0.001, .returns = 0.01};
  EXPECT_DOUBLE_EQ(LifeCounts().FitHost(all).death_rate, 0.001);
  EXPECT_EQ(LifeCounts().FitHost(all).returns, 0.01);
  LifeCounts many;
  many.deaths = 500;
  many.exposure = 50'000;
  EXPECT_NEAR(many.FitHost(all).death_rate, 0.0092, 1e-4);
}

// A host that alternates 404 and 200 must not make the server look for dead pages of other hosts.
TEST(LifeCounts, AHostWhosePagesNeverReturnIsNotHeldToOneWhereAllDo) {
  LifeCounts flapping;
  for (int i = 0; i < 10'000; ++i) flapping.AddLook(20, 10, true);
  LifeCounts honest;
  for (int i = 0; i < 50; ++i) honest.AddLook(20, 10, false);
  LifeCounts both = flapping;
  both.Add(honest);
  const LifeModel all = both.FitAll();
  EXPECT_GT(all.returns, 1);
  EXPECT_GT(flapping.FitHost(all).returns, 1);
  EXPECT_LT(honest.FitHost(all).returns, 0.01);
}

TEST(LifeCounts, LooksTeachHowOftenPagesReturn) {
  LifeCounts counts;
  EXPECT_DOUBLE_EQ(counts.FitAll().returns, LifeModel().returns);
  for (int i = 0; i < 3000; ++i) counts.AddLook(20, 10, i % 30 == 0);
  EXPECT_NEAR(counts.FitAll().returns, 100 / 1500., 0.003);
  const LifeCounts before = counts;
  counts.AddLook(0, 0, true);
  counts.AddLook(10, -1, true);
  EXPECT_EQ(counts.returns, before.returns) << "clocks that stepped back";
  EXPECT_EQ(counts.looks, before.looks);
}

TEST(LifeCounts, FadeAndAddUp) {
  LifeCounts counts{.deaths = 1, .exposure = 2, .returns = 3, .looks = 4};
  counts.Add(counts);
  counts.Fade(0.25);
  EXPECT_EQ(counts.deaths, 0.5);
  EXPECT_EQ(counts.exposure, 1);
  EXPECT_EQ(counts.returns, 1.5);
  EXPECT_EQ(counts.looks, 2);
}

}  // namespace
}  // namespace freshet
