// Tests how far the default estimator trusts signals: pages with useless pings, sources that
// change, and pages whose owners state facts.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/estimate/estimator.h"
#include "core/estimate/host_trust.h"
#include "core/estimate/site.h"
#include "gtest/gtest.h"
#include "tests/core/estimate/source_classes.h"
#include "tests/core/estimate/world.h"

namespace freshet {
namespace {

const SourceSet kAllSources = SourceSet().set();

std::vector<HostTrust> WorstOf(const Estimator& estimator, const std::string& host,
                               SourceSet sources, size_t max) {
  WorstHosts worst(host, sources, max);
  while (worst.Look(estimator)) continue;
  return worst.Take();
}

double Precision(const World& world, const World::Page& page) {
  return -std::expm1(-world.Estimate(page).rates.signal_weight);
}

// A site changes when it is pinged, but one of its pages is pinged daily and never changes.
TEST(SignalTrust, UselessPingsDoNotRaiseTheRateOfAPageThatNeverChanges) {
  World world({.pages = 200, .false_mean = 0.001, .recall = 0.9, .interval = 20});
  World::Page& page = world.pages[0];
  page.rate = 0;
  page.false_rate = 1;
  world.Run(200, 20);
  EXPECT_EQ(page.crawls, 10);
  EXPECT_LT(world.Rate(page), 0.5 * 0.05);
  EXPECT_LT(Precision(world, page), 0.1);
  double honest = 0;
  for (size_t i = 1; i < world.pages.size(); ++i) {
    honest += Precision(world, world.pages[i]) / (world.pages.size() - 1);
  }
  EXPECT_GT(honest, 0.8) << "of the pages besides";
}

// The page was never crawled. On a site with many false pings, not all of its pings can be changes.
TEST(SignalTrust, PingsWithoutEndAreWorthLessAndLess) {
  World world({.pages = 200, .mean = 0.02, .false_mean = 0.1, .false_shape = 0.5, .recall = 0.8});
  World::Page& page = world.pages[0];
  page.record.state.last_crawl = Instant();
  page.record.state.staleness = kNeverCrawledStaleness;
  page.crawled_ever = false;
  page.rate = page.false_rate = 0;
  world.Run(60, 20);
  page.false_rate = 2;
  world.Run(5, 20);
  const double early = Precision(world, page);
  world.Run(100, 20);
  const double late = Precision(world, page);
  EXPECT_LT(late, 0.7 * early);
}

TEST(SignalTrust, ASourceThatStartsToLieIsSeenThroughWithinTwoMonths) {
  World world({.pages = 300, .false_mean = 0.0005, .recall = 0.9, .interval = 7});
  world.Run(300, 10);
  const auto believed = [&world] {
    double told = 0;
    double all = 0;
    for (const World::Page& page : world.pages) {
      const PageRates rates = world.Estimate(page).rates;
      told += rates.signal_rate * -std::expm1(-rates.signal_weight);
      all += rates.signal_rate;
    }
    return told / all;
  };
  EXPECT_GT(believed(), 0.9);
  for (World::Page& page : world.pages) page.false_rate = 9 * page.recall * page.rate;
  world.Run(60, 10);
  EXPECT_LT(believed(), 0.5);
}

// One signal in seven is true: too few to be sure, but not none. Previously, a recall that was once
// estimated as zero stayed zero for ever.
TEST(SignalTrust, ASourceThatIsFloodedWithFalseSignalsStillTells) {
  World world({.pages = 400, .mean = 0.02, .false_mean = 0.001, .recall = 0.95, .interval = 40});
  world.Run(300, 10);
  for (World::Page& page : world.pages) page.false_rate = 0.1;
  world.set_source_class({kPing.source(), BurstClass::kMany});
  world.Run(1500, 10);
  const HostTrust trust = WorstOf(world.estimator(), "", kAllSources, 1).at(0);
  EXPECT_NEAR(trust.recall, 0.95, 0.1);
}

TEST(SignalTrust, ASourceThatStartsToLieIsPutInQuarantineAndWeighsLess) {
  World world({.pages = 300, .false_mean = 0.0005, .recall = 0.9, .interval = 7});
  world.Run(300, 10);
  Estimator& estimator = world.estimator();
  EXPECT_EQ(estimator.quarantine().begun(), 0u) << "an honest one never is";
  EXPECT_FALSE(WorstOf(estimator, "", kAllSources, 10).at(0).lately.quarantined());
  for (World::Page& page : world.pages) page.false_rate = 9 * page.recall * page.rate;
  world.Run(10, 10);
  ASSERT_EQ(estimator.quarantine().quarantined(), 1u);
  const std::vector<QuarantineNews> news = estimator.quarantine().TakeNews();
  ASSERT_FALSE(news.empty());
  EXPECT_TRUE(news[0].begun);
  EXPECT_TRUE(estimator.quarantine().TakeNews().empty());
  const std::vector<HostTrust> worst = WorstOf(estimator, "", kAllSources, 1);
  ASSERT_EQ(worst.size(), 1u);
  EXPECT_TRUE(worst[0].lately.quarantined());
  EXPECT_LT(worst[0].lately.proved, 0.5 * worst[0].lately.believed);
  EXPECT_GT(worst[0].recall, 0.5);
  EXPECT_TRUE(WorstOf(estimator, "other.test", kAllSources, 10).empty());
  EXPECT_TRUE(WorstOf(estimator, "", SourceSet().set(31), 10).empty());
  EXPECT_TRUE(WorstOf(estimator, "", kAllSources, 0).empty());

  // Restores the model without its sources, and with them.
  const std::string model = estimator.SerialiseModel();
  Estimator trusting{EstimatorOptions{}};
  Estimator wary{EstimatorOptions{}};
  ASSERT_TRUE(trusting.RestoreModel(model.substr(0, model.find("#source "))).ok());
  ASSERT_TRUE(wary.RestoreModel(model).ok());
  EXPECT_EQ(wary.SerialiseModel(), model);
  int waiting = 0;
  for (const World::Page& page : world.pages) {
    if (page.record.state.signals.empty() || !page.record.state.crawled()) continue;
    ++waiting;
    EXPECT_LT(wary.Estimate(page.record, world.now()).staleness,
              trusting.Estimate(page.record, world.now()).staleness);
  }
  EXPECT_GT(waiting, 10);
}

// The table of (host, source) pairs is full, and has more hosts than there are models.
TEST(SignalTrust, TheWorstOfAFullTableComeFirst) {
  std::string model = Estimator{EstimatorOptions{}}.SerialiseModel();
  constexpr size_t kRows = limits::kMaxWatchedSources;
  for (size_t i = 0; i < kRows; ++i) {
    const bool bad = i % 1000 == 7;
    model += "#source h" + std::to_string(i) + ".test\t" + std::to_string(i % 2) + "\t20\t19\t" +
             std::to_string(i % 20) + "\t-3\t0.5\t12\t9\t" + (bad ? "5" : "0") + "\n";
  }
  Estimator estimator{EstimatorOptions{}};
  ASSERT_TRUE(estimator.RestoreModel(model).ok());
  EXPECT_EQ(estimator.quarantine().quarantined(), kRows / 1000 + 1);
  const std::vector<HostTrust> worst = WorstOf(estimator, "", kAllSources, 1000);
  ASSERT_EQ(worst.size(), 1000u);
  EXPECT_TRUE(std::is_sorted(worst.begin(), worst.end(), IsWorse));
  EXPECT_TRUE(worst[kRows / 1000].lately.quarantined());
  EXPECT_FALSE(worst[kRows / 1000 + 1].lately.quarantined());
  EXPECT_NEAR(worst.back().precision, 0.5 / 21, 0.06);
  for (const HostTrust& trust : WorstOf(estimator, "", SourceSet().set(1), 1000)) {
    EXPECT_EQ(trust.source, 1);
  }
  EXPECT_EQ(WorstOf(estimator, "", kAllSources, SIZE_MAX).size(), kRows);
  EXPECT_EQ(WorstOf(estimator, "h7.test", kAllSources, 10).size(), 1u);
  // Previously, reading all hosts in one call stopped a shard for a tenth of a second.
  WorstHosts all("", kAllSources, SIZE_MAX);
  for (size_t before = 0; all.Look(estimator); before = all.found()) {
    EXPECT_LE(all.found(), before + 1024);
  }
  EXPECT_EQ(all.found(), kRows);
  EXPECT_FALSE(
      estimator.RestoreModel(model + "#source one.more\t1\t1\t1\t1\t0\t1\t0\t9\t0\n").ok());
}

// If all signals of some pages are true, a poll of a hundred of these pages must not count as a
// mass edit.
TEST(SignalTrust, CompleteSignalsInLargePollsGiveTheRightRate) {
  World world(
      {.pages = 40, .false_mean = 0, .recall = 1, .interval = 15, .source_class = kMassPing});
  for (World::Page& page : world.pages) {
    page.rate = 0.25;
    page.record.spec.complete_signals = true;
  }
  world.Run(400, 40);
  double mean = 0;
  for (const World::Page& page : world.pages) {
    mean += world.Rate(page) / static_cast<double>(world.pages.size());
    EXPECT_EQ(world.Estimate(page).rates.unsignalled_rate, 0);
  }
  EXPECT_NEAR(mean, 0.25, 0.02);
}

// If all rates are known, the evidence only tells about signals.
TEST(SignalTrust, PagesOfKnownRatesTeachFalseRatesAndRecall) {
  World world({.pages = 300, .false_mean = 0.03, .recall = 0.6, .interval = 10});
  double rates = 0;
  double false_rates = 0;
  for (World::Page& page : world.pages) {
    page.record.spec.known_change_rate = Rate::PerDay(page.rate);
    rates += page.rate;
    false_rates += page.false_rate;
  }
  world.Run(400, 40);
  const std::vector<SourceTrust> trust = TrustIn(world.estimator().sites());
  ASSERT_EQ(trust.size(), 1u);
  EXPECT_NEAR(trust[0].recall, 0.6, 0.05);
  EXPECT_NEAR(trust[0].precision, 0.6 * rates / (0.6 * rates + false_rates), 0.05);
  for (const World::Page& page : world.pages) EXPECT_NEAR(world.Rate(page) / page.rate, 1, 1e-6);
}

}  // namespace
}  // namespace freshet
