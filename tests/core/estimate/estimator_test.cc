// Tests the default estimator in synthetic worlds with known rates.
#include "core/estimate/estimator.h"

#include <cmath>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/estimate/host_trust.h"
#include "core/estimate/operational_time.h"
#include "gtest/gtest.h"
#include "tests/core/estimate/source_classes.h"
#include "tests/core/estimate/world.h"

namespace freshet {
namespace {

TEST(Estimator, LearnsPrecisionAndRecall) {
  World world({.pages = 600, .false_mean = 0.012, .recall = 0.6, .interval = 9});
  world.Run(360, 30);
  const std::vector<SourceTrust> trust = TrustIn(world.estimator().sites());
  ASSERT_EQ(trust.size(), 1u);
  double told = 0;
  double all = 0;
  for (const World::Page& page : world.pages) {
    told += 0.6 * page.rate;
    all += 0.6 * page.rate + page.false_rate;
  }
  EXPECT_NEAR(trust[0].precision, told / all, 0.05);
  EXPECT_NEAR(trust[0].recall, 0.6, 0.06);
  EXPECT_LT(trust[0].precision_low, trust[0].precision);
  EXPECT_GT(trust[0].precision_high, trust[0].precision);
}

TEST(Estimator, LearnsTheRatesOfPages) {
  World world({.pages = 600, .recall = 0.6, .interval = 9});
  world.Run(540, 30);
  double error = 0;
  double prior_error = 0;
  for (const World::Page& page : world.pages) {
    error += std::abs(world.Rate(page) - page.rate);
    prior_error += std::abs(0.05 - page.rate);
  }
  EXPECT_LT(error, 0.4 * prior_error);
}

TEST(Estimator, TheRatesOfAPageAddUp) {
  World world({.false_mean = 0.006});
  world.Run(120, 30);
  for (const World::Page& page : world.pages) {
    const PageRates rates = world.Estimate(page).rates;
    EXPECT_GT(rates.change_rate, 0);
    EXPECT_GE(rates.change_rate, rates.unsignalled_rate);
    if (rates.signal_rate == 0) {
      EXPECT_NEAR(rates.unsignalled_rate, rates.change_rate, 1e-9 * rates.change_rate);
      continue;
    }
    // Delta = alpha + gamma (1 - e^-kappa).
    EXPECT_NEAR(rates.unsignalled_rate + rates.signal_rate * -std::expm1(-rates.signal_weight),
                rates.change_rate, 1e-9 * rates.change_rate);
  }
}

// A page was busy and now has few signals. Even before its next crawl, its estimated rate is low.
TEST(Estimator, EpochsSeeThatAPageHasGoneQuiet) {
  World world({.pages = 400, .recall = 0.8});
  world.Run(200, 20);
  World::Page page = world.pages[0];
  for (const World::Page& other : world.pages) {
    if (world.Rate(other) > world.Rate(page)) page = other;
  }
  Estimator& estimator = world.estimator();
  const double before = estimator.Estimate(page.record, world.now()).rates.change_rate;
  const Instant later = world.now() + Duration::Days(400);
  estimator.aging().Advance(page.record.state, later);
  EXPECT_LT(estimator.Estimate(page.record, later).rates.change_rate, 0.6 * before);
}

TEST(Estimator, AdvanceInPartsIsAdvanceAtOnce) {
  World world({.recall = 0.5});
  world.Run(100, 20);
  Estimator& estimator = world.estimator();
  PageState once = world.pages[3].record.state;
  PageState parts = once;
  const Instant end = world.now() + Duration::Days(500);
  estimator.aging().Advance(once, end);
  for (Instant at = world.now(); at < end; at = at + Duration::Hours(37)) {
    estimator.aging().Advance(parts, at);
  }
  estimator.aging().Advance(parts, end);
  EXPECT_NEAR(parts.staleness, once.staleness, 1e-6 * once.staleness);
  EXPECT_NEAR(parts.exposure, once.exposure, 1e-6 * once.exposure);
  EXPECT_NEAR(parts.evidence_exposure, once.evidence_exposure, 1e-3 * once.evidence_exposure);
  EXPECT_EQ(parts.rates.age_bin, once.rates.age_bin);
  EXPECT_NEAR(parts.rates.change_rate, once.rates.change_rate, 1e-9 * once.rates.change_rate);
  // Advancing to an earlier time has no effect.
  const PageState before = once;
  estimator.aging().Advance(once, world.now());
  EXPECT_EQ(once, before);
}

TEST(Estimator, NextEdgeIsWhereRatesChange) {
  World world({});
  world.Run(100, 20);
  const Estimator& estimator = world.estimator();
  PageState state = world.pages[5].record.state;
  for (int i = 0; i < kAgeBins && !estimator.aging().NextEdge(state).infinite(); ++i) {
    const Instant edge = estimator.aging().NextEdge(state);
    ASSERT_GT(edge, state.carried_at);
    PageState short_of = state;
    estimator.aging().Advance(short_of, edge - Duration::Micros(1));
    EXPECT_EQ(short_of.rates.age_bin, state.rates.age_bin);
    estimator.aging().Advance(state, edge);
    EXPECT_EQ(state.rates.age_bin, short_of.rates.age_bin + 1);
  }
  EXPECT_TRUE(estimator.aging().NextEdge(state).infinite());
}

TEST(Estimator, WhatTheOwnerKnowsWins) {
  World world({});
  world.Run(60, 20);
  PageRecord page = world.pages[0].record;
  page.spec.known_change_rate = Rate::PerSecond(0.25);
  PageEstimate estimate = world.estimator().Estimate(page, world.now());
  EXPECT_DOUBLE_EQ(estimate.rates.change_rate, 0.25);
  EXPECT_EQ(estimate.rates.age_bin, kAgeless);
  const auto [low, high] = estimate.Interval95();
  EXPECT_EQ(low, estimate.rates.change_rate);
  EXPECT_EQ(high, estimate.rates.change_rate);
  page.spec.complete_signals = true;
  estimate = world.estimator().Estimate(page, world.now());
  EXPECT_EQ(estimate.rates.unsignalled_rate, 0);
  EXPECT_TRUE(std::isinf(estimate.rates.signal_weight));
  EXPECT_EQ(estimate.staleness, page.state.signals.empty() ? 0 : HUGE_VAL);
}

// The value of a signal depends on what is known when the server acts on it, not on what was known
// when it came.
TEST(Estimator, StalenessFollowsWhatIsLearnedOfItsSignals) {
  World world({.false_mean = 0.001, .recall = 0.9});
  world.Run(200, 20);
  World::Page& page = world.pages[0];
  world.Signal(page);
  const double before = world.Estimate(page).staleness;
  EXPECT_GT(before, 0.5);
  // From now on all other pages of the site get false signals.
  for (World::Page& other : world.pages) {
    if (&other != &page) other.false_rate = 0.5;
  }
  page.crawled_ever = false;
  page.rate = page.false_rate = 0;
  world.Run(60, 20);
  EXPECT_LT(world.Estimate(page).staleness, 0.6 * before);
}

// Two pages belong to one burst. The crawl of the first changes the value of the signal for the
// second.
TEST(Estimator, ACrawlTellsOfItsWholeBurst) {
  for (const bool changed : {false, true}) {
    World world({.false_mean = 0.02, .source_class = kSeveralPings});
    world.Run(100, 20);
    World::Page& first = world.pages[0];
    World::Page& second = world.pages[1];
    for (World::Page* page : {&first, &second}) world.Signal(*page, 77);
    Estimator& estimator = world.estimator();
    PageState& waiting = second.record.state;
    ASSERT_EQ(first.record.state.bursts[0].burst, waiting.bursts[0].burst);
    const double before = world.Estimate(second).staleness;
    EXPECT_FALSE(estimator.Reweigh(waiting, {}));
    world.Crawl(first, changed);
    std::vector<PageNumber> pages;
    estimator.bursts().TakeReweighed(10, &pages);
    EXPECT_EQ(pages, (std::vector<PageNumber>{first.record.number, second.record.number}));
    ASSERT_TRUE(estimator.Reweigh(waiting, {}));
    const double after = world.Estimate(second).staleness;
    if (changed) {
      EXPECT_GT(after, before);
    } else {
      EXPECT_LT(after, before);
    }
    EXPECT_GE(after, 0);
  }
}

// A page can wait in two bursts at once. Results for either burst affect the page.
TEST(Estimator, APageHearsOfBothItsBursts) {
  World world({.false_mean = 0.02, .source_class = kSeveralPings});
  world.Run(100, 20);
  World::Page& page = world.pages[0];
  for (size_t other = 1; other <= 2; ++other) {
    world.Signal(page, other);
    world.Signal(world.pages[other], other);
  }
  double staleness = world.Estimate(page).staleness;
  for (size_t other = 1; other <= 2; ++other) {
    world.Crawl(world.pages[other], false);
    ASSERT_TRUE(world.estimator().Reweigh(page.record.state, {})) << other;
    EXPECT_LT(world.Estimate(page).staleness, staleness);
    staleness = world.Estimate(page).staleness;
  }
}

// A signal that arrives after the crawl that it should have caused belongs to the interval before
// that crawl.
TEST(Estimator, ALateSignalIsCountedWithItsInterval) {
  World world({});
  world.Run(60, 20);
  World::Page& page = world.pages[0];
  PageStatistics& statistics = page.record.detail.statistics;
  ASSERT_GE(statistics.recent.size(), 3u);
  const auto second = statistics.recent.end() - 2;
  const int before = second->signals.Total();
  EXPECT_TRUE(RecordLateSignal(page.record, kSeveralPings, second->fetched - Duration::Hours(1)));
  EXPECT_EQ(second->signals.Total(), before + 1);
  EXPECT_FALSE(RecordLateSignal(page.record, kSeveralPings, World::kStart))
      << "from before the first interval";
}

TEST(Estimator, TheModelSurvivesTheStore) {
  World world({.recall = 0.6, .interval = 9});
  world.Run(120, 30);
  const std::string text = world.estimator().SerialiseModel();
  Estimator restored{EstimatorOptions()};
  ASSERT_TRUE(restored.RestoreModel(text).ok());
  EXPECT_EQ(restored.SerialiseModel(), text);
  for (const World::Page& page : world.pages) {
    const PageRates was = world.Estimate(page).rates;
    const PageRates is = restored.Estimate(page.record, world.now()).rates;
    EXPECT_EQ(is.change_rate, was.change_rate);
    EXPECT_EQ(is.signal_weight, was.signal_weight);
  }
  EXPECT_FALSE(restored.RestoreModel("freshet-site-models 0\n").ok());
  EXPECT_FALSE(restored.RestoreModel(text + "junk\n").ok());
  EXPECT_EQ(restored.SerialiseModel(), text) << "a refused text changes nothing";
}

// The window of observations is bounded; older observations still count in sums.
TEST(Estimator, OldObservationsGoOnInSumsAndTrustIsLearnedAllTheSame) {
  World world({.false_mean = 0.00625, .interval = 2});
  world.Run(200, 50);
  double told = 0;
  double all = 0;
  for (const World::Page& page : world.pages) {
    const PageStatistics& statistics = page.record.detail.statistics;
    EXPECT_LE(statistics.recent.size(), static_cast<size_t>(limits::kMaxObservations));
    EXPECT_GT(statistics.old_exposure, 0);
    told += 0.5 * page.rate;
    all += 0.5 * page.rate + page.false_rate;
  }
  EXPECT_NEAR(TrustIn(world.estimator().sites())[0].precision, told / all, 0.08);
}

// Sums replace old observations, so a page that is crawled often keeps the precision of its whole
// history.
TEST(Estimator, WhatLeftTheWindowIsNotForgotten) {
  World world({.pages = 200, .false_mean = 0.02, .recall = 0.5, .interval = 2});
  world.Run(400, 50);
  double error = 0;
  double truth = 0;
  for (const World::Page& page : world.pages) {
    error += world.Rate(page) - page.rate;
    truth += page.rate;
  }
  EXPECT_NEAR(error / truth, 0, 0.08);
}

}  // namespace
}  // namespace freshet
