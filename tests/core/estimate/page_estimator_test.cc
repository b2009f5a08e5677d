#include "core/estimate/page_estimator.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace freshet {
namespace {

constexpr Duration kDay = Duration::Days(1);
constexpr Instant kNow = Instant::FromUnixSeconds(1'700'000'000);

SiteModel Site(double recall, double precision, double mean = 0.05, double shape = 1) {
  SiteModel::Classes classes{};
  classes[0] = {.signals = 100, .precision = precision, .recall = recall};
  return SiteModel({.mean = mean, .shape = shape}, AgeCurve(), classes);
}

CrawlObservation Interval(double days, bool changed, int signals = 0) {
  CrawlObservation observation;
  observation.fetched = kNow;
  observation.elapsed = Duration::FromSeconds(days * 86400);
  observation.exposure = static_cast<float>(days * 86400);
  observation.changed = changed;
  for (int i = 0; i < signals; ++i) observation.signals.Add(SourceClass(0));
  return observation;
}

PagePosterior Estimate(const SiteModel& site, const PageStatistics& statistics,
                       PageState state = {}) {
  state.carried_at = kNow;
  return EstimatePage(site, statistics, state, kNow, kDay);
}

TEST(EstimatePage, WithoutEvidenceIsThePrior) {
  const PagePosterior posterior = Estimate(Site(0.5, 0.8), {});
  EXPECT_NEAR(posterior.mean, 0.05, 1e-6);
  EXPECT_NEAR(posterior.shape, 1, 1e-6);
  EXPECT_EQ(posterior.observations, 0);
}

// Unchanged intervals alone are a Poisson likelihood, whose posterior is a gamma in closed form.
TEST(EstimatePage, UnchangedIntervalsGiveTheGammaPosterior) {
  PageStatistics statistics;
  for (const double days : {10.0, 30.0, 60.0}) statistics.recent.push_back(Interval(days, false));
  const double recall = 0.4;
  const PagePosterior posterior = Estimate(Site(recall, 0.8), statistics);
  EXPECT_NEAR(posterior.mean, 1 / (1 / 0.05 + (1 - recall) * 100), 1e-6);
  EXPECT_EQ(posterior.observations, 3);
}

// The mode of the exact log posterior, found by a fine search.
TEST(EstimatePage, IsTheModeOfThePosterior) {
  const SiteModel site = Site(0.5, 0.7, 0.02, 0.6);
  PageStatistics statistics;
  statistics.recent = {Interval(3, true), Interval(20, false), Interval(40, true, 1),
                       Interval(7, true, 2), Interval(90, false)};
  const auto log_posterior = [&](double log_rate) {
    const double rate = std::exp(log_rate);
    double sum = 0.6 * log_rate - 0.6 / 0.02 * rate;
    for (const CrawlObservation& o : statistics.recent) {
      const double s = 0.5 * rate * o.exposure / 86400 + o.signals.Total() * -std::log1p(-0.7);
      sum += o.changed ? std::log(-std::expm1(-s)) : -s;
    }
    return sum;
  };
  double best = -10;
  for (double x = -10; x < 3; x += 1e-4) {
    if (log_posterior(x) > log_posterior(best)) best = x;
  }
  const PagePosterior posterior = Estimate(site, statistics);
  EXPECT_NEAR(std::log(posterior.mean), best, 2e-4);
}

// The information about ln Delta is what the curvature of the log posterior says.
TEST(EstimatePage, InformationIsTheCurvature) {
  PageStatistics statistics;
  statistics.recent = {Interval(3, true), Interval(20, false), Interval(40, true)};
  const PagePosterior posterior = Estimate(Site(0.5, 0.7, 0.02, 0.6), statistics);
  const auto log_posterior = [&](double log_rate) {
    const double rate = std::exp(log_rate);
    double sum = 0.6 * log_rate - 0.6 / 0.02 * rate;
    for (const CrawlObservation& o : statistics.recent) {
      const double s = 0.5 * rate * o.exposure / 86400;
      sum += o.changed ? std::log(-std::expm1(-s)) : -s;
    }
    return sum;
  };
  const double h = 1e-3;
  const double x = std::log(posterior.mean);
  const double information =
      -(log_posterior(x + h) - 2 * log_posterior(x) + log_posterior(x - h)) / (h * h);
  EXPECT_NEAR(posterior.shape / information, 1, 1e-3);
}

TEST(EstimatePage, SignalsAreEvidence) {
  PageState state;
  state.evidence_exposure = static_cast<float>(100 * 86400.0);
  const SiteModel site = Site(0.5, 0.8);
  const double quiet = Estimate(site, {}, state).mean;
  state.evidence = 10;
  const PagePosterior busy = Estimate(site, {}, state);
  EXPECT_LT(quiet, 0.05);
  // gamma/Delta = recall/precision.
  EXPECT_NEAR(busy.mean, (1 + 10) / (1 / 0.05 + 0.5 / 0.8 * 100), 1e-6);
}

TEST(EstimatePage, EvidenceFades) {
  PageStatistics fresh;
  fresh.recent.push_back(Interval(300, false));
  PageStatistics old = fresh;
  old.recent.front().fetched = kNow - Duration::Days(4000);
  const SiteModel site = Site(0.5, 0.8);
  const double near = Estimate(site, fresh).mean;
  const double far = Estimate(site, old).mean;
  EXPECT_LT(near, far);
  EXPECT_LT(far, 0.05);
  EXPECT_DOUBLE_EQ(Fading(Duration::Days(2000), 2000, kDay), 0.5);
  EXPECT_EQ(Fading(Duration::Micros(-1), 2000, kDay), 1);
}

TEST(EstimatePage, SumsStandForOldIntervals) {
  PageStatistics statistics;
  statistics.recent.push_back(Interval(10, false));
  statistics.old_exposure = static_cast<float>(90 * 86400.0);
  EXPECT_NEAR(Estimate(Site(0, 0.5), statistics).mean, 1 / (20.0 + 100), 1e-6);
  statistics.old_changes = 4;
  EXPECT_NEAR(Estimate(Site(0, 0.5), statistics).mean, 5 / (20.0 + 100), 1e-6);
}

// Whatever a page showed, the estimate is a finite positive rate.
TEST(EstimatePage, IsFiniteEverywhere) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int i = 0; i < 2000; ++i) {
    const double recall = i % 5 == 0 ? kMaxRecall : unit(random);
    const SiteModel site = Site(recall, 0.001 + 0.998 * unit(random),
                                std::exp(-12 + 14 * unit(random)), std::exp(-4 + 8 * unit(random)));
    PageStatistics statistics;
    const int crawls = i % 25;
    for (int j = 0; j < crawls; ++j) {
      statistics.recent.push_back(Interval(std::exp(-10 + 18 * unit(random)), unit(random) < 0.5,
                                           unit(random) < 0.5 ? 0 : i % 300));
    }
    PageState state;
    state.evidence = static_cast<float>(1000 * unit(random) * (i % 2));
    state.evidence_exposure = static_cast<float>(1e8 * unit(random));
    const PagePosterior posterior = Estimate(site, statistics, state);
    ASSERT_TRUE(std::isfinite(posterior.mean) && posterior.mean > 0) << i;
    ASSERT_TRUE(std::isfinite(posterior.shape) && posterior.shape > 0) << i;
    ASSERT_TRUE(std::isfinite(posterior.changes) && posterior.changes >= 0) << i;
    ASSERT_TRUE(std::isfinite(posterior.exposure) && posterior.exposure >= 0) << i;
  }
}

TEST(ChangedEvidence, HasTheDerivativesOfTheLikelihood) {
  for (const double own : {1e-6, 0.01, 0.3, 2.0, 20.0}) {
    for (const double offset : {0.0, 0.1, 1.0, 5.0}) {
      const auto l = [&](double x) { return std::log(-std::expm1(-(own * std::exp(x) + offset))); };
      const double h = 1e-4;
      const IntervalEvidence e = ChangedEvidence(own, offset);
      EXPECT_NEAR(e.changes - e.expected, (l(h) - l(-h)) / (2 * h), 1e-6);
      const double curvature = -(l(h) - 2 * l(0) + l(-h)) / (h * h);
      EXPECT_NEAR(e.expected, std::max(0.0, curvature), 1e-5) << own << " " << offset;
    }
  }
  EXPECT_NEAR(ChangedEvidence(1e-12, 0).changes, 1, 1e-6);
  EXPECT_EQ(ChangedEvidence(100, 0).changes, 0);
}

// Wilson and Hilferty's approximation is good to some percent from shape 1 on.
TEST(GammaQuantile, IsCloseToTheExactOne) {
  EXPECT_NEAR(GammaQuantile(1, 1, 1.959963985), 3.6889, 0.12);  // exponential
  EXPECT_NEAR(GammaQuantile(5, 5, -1.959963985), 1.6235, 0.02);
  EXPECT_NEAR(GammaQuantile(5, 5, 1.959963985), 10.2416, 0.05);
  EXPECT_EQ(GammaQuantile(1, 0.01, -1.96), 0);
}

}  // namespace
}  // namespace freshet
