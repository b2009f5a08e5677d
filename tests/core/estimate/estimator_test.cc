// The default estimator in synthetic worlds whose truth is known.
#include "core/estimate/estimator.h"

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/estimate/operational_time.h"
#include "fmt/format.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

constexpr Instant kStart = Instant::FromUnixSeconds(1'600'000'000);
constexpr SourceClass kPing(0, BurstClass::kFew);

// Pages that change by a Poisson process, of which `recall` are signalled, with false signals
// besides; each is crawled every `interval` days.
class World {
 public:
  World(int pages, double recall, double precision, double interval, uint64_t seed = 1)
      : recall_(recall), precision_(precision), interval_(interval), random_(seed) {
    std::gamma_distribution<double> rates(0.8, 0.05 / 0.8);
    for (int i = 0; i < pages; ++i) {
      PageRecord page;
      page.host = "site.test";
      page.key = {"DEFAULT", fmt::format("https://site.test/{}", i)};
      page.number = PageNumber(static_cast<uint64_t>(i) + 1);
      PageState& state = page.state;
      state.first_seen = state.last_crawl = state.carried_at = state.last_event = kStart;
      state.staleness = 0;
      state.rates = estimator_.Estimate(page, kStart).rates;
      pages_.push_back(page);
      truth_.push_back(rates(random_));
    }
  }

  void Run(int days, int epoch_days) {
    for (int i = 0; i < days; ++i) {
      ++day_;
      const Instant now = kStart + Duration::Days(day_);
      for (size_t p = 0; p < pages_.size(); ++p) Live(p, now);
      if (day_ % epoch_days == 0) Epoch(now);
    }
  }

  void Epoch(Instant now) {
    estimator_.BeginEpoch(now);
    for (PageRecord& page : pages_) {
      estimator_.Advance(page.state, now);
      estimator_.Collect(page);
    }
    estimator_.FinishEpoch();
    for (PageRecord& page : pages_) page.state.rates = estimator_.Estimate(page, now).rates;
  }

  [[nodiscard]] Instant now() const { return kStart + Duration::Days(day_); }
  [[nodiscard]] double truth(size_t page) const { return truth_[page]; }
  [[nodiscard]] std::vector<PageRecord>& pages() { return pages_; }
  [[nodiscard]] Estimator& estimator() { return estimator_; }

 private:
  bool Happens(double rate) {
    return std::uniform_real_distribution<double>(0, 1)(random_) < -std::expm1(-rate);
  }

  void Live(size_t p, Instant now) {
    PageRecord& page = pages_[p];
    const double rate = truth_[p];
    const bool told = Happens(recall_ * rate);
    if (told || Happens((1 - recall_) * rate)) stale_.resize(pages_.size()), stale_[p] = true;
    if (told || Happens(recall_ * rate * (1 / precision_ - 1))) {
      estimator_.Advance(page.state, now);
      estimator_.RecordSignal(page, kPing, 0, now);
      page.state.signals.Add(kPing);
    }
    if ((day_ + static_cast<int>(p)) % static_cast<int>(interval_) != 0) return;
    stale_.resize(pages_.size());
    PageState& state = page.state;
    estimator_.Advance(state, now);
    estimator_.RecordCrawl(page, {.fetched = now,
                                  .elapsed = now - state.last_crawl,
                                  .signals = state.signals,
                                  .changed = stale_[p]});
    stale_[p] = false;
    state.last_crawl = state.carried_at = now;
    state.staleness = state.exposure = 0;
    state.signals = SignalCounts();
    state.bursts = {};
    state.rates = estimator_.Estimate(page, now).rates;
  }

  double recall_;
  double precision_;
  double interval_;
  std::mt19937_64 random_;
  Estimator estimator_{EstimatorOptions()};
  std::vector<PageRecord> pages_;
  std::vector<double> truth_;
  std::vector<bool> stale_;
  int day_ = 0;
};

double PerDay(double per_second) { return per_second * 86400; }

TEST(Estimator, LearnsPrecisionAndRecall) {
  World world(800, 0.6, 0.7, 9);
  world.Run(360, 30);
  const std::vector<SourceTrust> trust = world.estimator().Trust();
  ASSERT_EQ(trust.size(), 1u);
  EXPECT_NEAR(trust[0].precision, 0.7, 0.06);
  EXPECT_NEAR(trust[0].recall, 0.6, 0.08);
  EXPECT_LT(trust[0].precision_low, trust[0].precision);
  EXPECT_GT(trust[0].precision_high, trust[0].precision);
}

TEST(Estimator, LearnsTheRatesOfPages) {
  World world(800, 0.6, 0.7, 9);
  world.Run(540, 30);
  double error = 0;
  double prior_error = 0;
  double covered = 0;
  for (size_t p = 0; p < world.pages().size(); ++p) {
    const PageEstimate estimate = world.estimator().Estimate(world.pages()[p], world.now());
    error += std::abs(PerDay(estimate.rates.change_rate) - world.truth(p));
    prior_error += std::abs(0.05 - world.truth(p));
    covered += PerDay(estimate.low) <= world.truth(p) && world.truth(p) <= PerDay(estimate.high);
  }
  EXPECT_LT(error, 0.5 * prior_error);
  EXPECT_GT(covered / 800, 0.8);
}

TEST(Estimator, TheRatesOfAPageAddUp) {
  World world(300, 0.5, 0.8, 10);
  world.Run(120, 30);
  for (const PageRecord& page : world.pages()) {
    const PageRates& rates = world.estimator().Estimate(page, world.now()).rates;
    EXPECT_GT(rates.change_rate, 0);
    EXPECT_GE(rates.change_rate, rates.unsignalled_rate);
    // Delta = alpha + gamma (1 - e^-kappa).
    EXPECT_NEAR(rates.unsignalled_rate + rates.signal_rate * -std::expm1(-rates.signal_weight),
                rates.change_rate, 1e-9 * rates.change_rate);
  }
}

// Quiet in its signals, a page that was busy once is believed quiet before it is crawled again.
TEST(Estimator, EpochsSeeThatAPageHasGoneQuiet) {
  World world(400, 0.8, 0.8, 10);
  world.Run(200, 20);
  PageRecord page = world.pages()[0];
  for (size_t p = 0; p < world.pages().size(); ++p) {
    if (world.truth(p) > PerDay(page.state.rates.change_rate)) page = world.pages()[p];
  }
  Estimator& estimator = world.estimator();
  const double before = estimator.Estimate(page, world.now()).rates.change_rate;
  const Instant later = world.now() + Duration::Days(400);
  estimator.Advance(page.state, later);
  EXPECT_LT(estimator.Estimate(page, later).rates.change_rate, 0.6 * before);
}

TEST(Estimator, AdvanceInPartsIsAdvanceAtOnce) {
  World world(300, 0.5, 0.8, 10);
  world.Run(100, 20);
  Estimator& estimator = world.estimator();
  PageState once = world.pages()[3].state;
  PageState parts = once;
  const Instant end = world.now() + Duration::Days(500);
  estimator.Advance(once, end);
  for (Instant at = world.now(); at < end; at = at + Duration::Hours(37)) {
    estimator.Advance(parts, at);
  }
  estimator.Advance(parts, end);
  EXPECT_NEAR(parts.staleness, once.staleness, 1e-6 * once.staleness);
  EXPECT_NEAR(parts.exposure, once.exposure, 1e-6 * once.exposure);
  EXPECT_NEAR(parts.evidence_exposure, once.evidence_exposure, 1e-3 * once.evidence_exposure);
  EXPECT_EQ(parts.rates.age_bin, once.rates.age_bin);
  EXPECT_NEAR(parts.rates.change_rate, once.rates.change_rate, 1e-9 * once.rates.change_rate);
  // Time does not run backwards.
  const PageState before = once;
  estimator.Advance(once, world.now());
  EXPECT_EQ(once, before);
}

TEST(Estimator, NextEdgeIsWhereRatesChange) {
  World world(300, 0.5, 0.8, 10);
  world.Run(100, 20);
  const Estimator& estimator = world.estimator();
  PageState state = world.pages()[5].state;
  for (int i = 0; i < kAgeBins && !estimator.NextEdge(state).infinite(); ++i) {
    const Instant edge = estimator.NextEdge(state);
    ASSERT_GT(edge, state.carried_at);
    PageState short_of = state;
    estimator.Advance(short_of, edge - Duration::Micros(1));
    EXPECT_EQ(short_of.rates.age_bin, state.rates.age_bin);
    estimator.Advance(state, edge);
    EXPECT_EQ(state.rates.age_bin, short_of.rates.age_bin + 1);
  }
  EXPECT_TRUE(estimator.NextEdge(state).infinite());
}

TEST(Estimator, WhatTheOwnerKnowsWins) {
  World world(300, 0.5, 0.8, 10);
  world.Run(60, 20);
  PageRecord page = world.pages()[0];
  page.spec.known_change_rate = Rate::PerSecond(0.25);
  PageRates rates = world.estimator().Estimate(page, world.now()).rates;
  EXPECT_EQ(rates.change_rate, 0.25);
  EXPECT_EQ(rates.age_bin, kAgeless);
  page.spec.complete_signals = true;
  rates = world.estimator().Estimate(page, world.now()).rates;
  EXPECT_EQ(rates.unsignalled_rate, 0);
  EXPECT_TRUE(std::isinf(rates.signal_weight));
}

// Two pages of one burst: the crawl of the first says what the signal of the second is worth.
TEST(Estimator, ACrawlTellsOfItsWholeBurst) {
  for (const bool changed : {false, true}) {
    World world(300, 0.5, 0.6, 10);
    world.Run(100, 20);
    Estimator& estimator = world.estimator();
    PageRecord& first = world.pages()[0];
    PageRecord& second = world.pages()[1];
    const Instant now = world.now() + Duration::Hours(1);
    for (PageRecord* page : {&first, &second}) {
      estimator.Advance(page->state, now);
      estimator.RecordSignal(*page, SourceClass(0, BurstClass::kSeveral), 77, now);
    }
    ASSERT_EQ(first.state.bursts[0].burst, second.state.bursts[0].burst);
    const double before = second.state.staleness;
    EXPECT_FALSE(estimator.Reweigh(second.state));
    estimator.RecordCrawl(
        first,
        {.fetched = now + Duration::Hours(1), .elapsed = Duration::Days(3), .changed = changed});
    std::vector<PageNumber> pages;
    estimator.TakeReweighed(10, &pages);
    EXPECT_EQ(pages, (std::vector<PageNumber>{first.number, second.number}));
    ASSERT_TRUE(estimator.Reweigh(second.state));
    if (changed) {
      EXPECT_GT(second.state.staleness, before);
    } else {
      EXPECT_LT(second.state.staleness, before);
    }
    EXPECT_GE(second.state.staleness, 0);
  }
}

// A page may wait in two bursts at once: what is learned of either reaches it.
TEST(Estimator, APageHearsOfBothItsBursts) {
  World world(300, 0.5, 0.6, 10);
  world.Run(100, 20);
  Estimator& estimator = world.estimator();
  PageRecord& page = world.pages()[0];
  const Instant now = world.now() + Duration::Hours(1);
  for (size_t other = 1; other <= 2; ++other) {
    PageRecord& sibling = world.pages()[other];
    for (PageRecord* signalled : {&page, &sibling}) {
      estimator.Advance(signalled->state, now);
      estimator.RecordSignal(*signalled, SourceClass(0, BurstClass::kSeveral), other, now);
    }
  }
  double staleness = page.state.staleness;
  for (size_t other = 1; other <= 2; ++other) {
    estimator.RecordCrawl(world.pages()[other],
                          {.fetched = now + Duration::Hours(1), .elapsed = Duration::Days(3)});
    ASSERT_TRUE(estimator.Reweigh(page.state)) << other;
    EXPECT_LT(page.state.staleness, staleness);
    staleness = page.state.staleness;
  }
}

TEST(Estimator, TheModelSurvivesTheStore) {
  World world(300, 0.6, 0.7, 9);
  world.Run(120, 30);
  const std::string text = world.estimator().SerialiseModel();
  Estimator restored{EstimatorOptions()};
  ASSERT_TRUE(restored.RestoreModel(text).ok());
  EXPECT_EQ(restored.SerialiseModel(), text);
  for (const PageRecord& page : world.pages()) {
    const PageRates was = world.estimator().Estimate(page, world.now()).rates;
    const PageRates is = restored.Estimate(page, world.now()).rates;
    EXPECT_EQ(is.change_rate, was.change_rate);
    EXPECT_EQ(is.signal_weight, was.signal_weight);
  }
  EXPECT_FALSE(restored.RestoreModel("freshet-site-models 0\n").ok());
  EXPECT_FALSE(restored.RestoreModel(text + "junk\n").ok());
  EXPECT_EQ(restored.SerialiseModel(), text) << "a refused text changes nothing";
}

// The window of observations is bounded; what falls out of it still counts.
TEST(Estimator, OldObservationsGoOnInSumsAndTrustIsLearnedAllTheSame) {
  World world(300, 0.5, 0.8, 2);
  world.Run(200, 50);
  for (size_t p = 0; p < world.pages().size(); ++p) {
    const PageStatistics& statistics = world.pages()[p].detail.statistics;
    EXPECT_LE(statistics.recent.size(), static_cast<size_t>(limits::kMaxObservations));
    EXPECT_GT(statistics.old_exposure, 0);
  }
  EXPECT_NEAR(world.estimator().Trust()[0].precision, 0.8, 0.08);
}

}  // namespace
}  // namespace freshet
