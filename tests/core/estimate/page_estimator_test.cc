#include "core/estimate/page_estimator.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "core/model/page.h"
#include "gtest/gtest.h"
#include "tests/core/estimate/source_classes.h"

namespace freshet {
namespace {

constexpr Duration kDay = Duration::Days(1);
constexpr Instant kNow = Instant::FromUnixSeconds(1'700'000'000);

SiteModel Site(double recall, RatePrior prior = {.mean = 0.05, .shape = 1},
               RatePrior false_rate = {.mean = 0.02, .shape = 0.5}) {
  std::vector<ClassModel> classes;
  if (recall > 0) {
    classes.push_back({.source_class = kPing, .recall = recall, .false_rate = false_rate});
  }
  return SiteModel(prior, AgeCurve(), LifeModel(), classes);
}

CrawlObservation Interval(double days, bool changed, int signals = 0) {
  CrawlObservation observation;
  observation.fetched = kNow;
  observation.elapsed = Duration::FromSeconds(days * 86400);
  observation.exposure = static_cast<float>(days * 86400);
  observation.changed = changed;
  for (int i = 0; i < signals; ++i) observation.signals.Add(kPing);
  return observation;
}

// Returns the state of a page that was just crawled, after these intervals.
PageState StateAfter(const PageStatistics& statistics) {
  double seconds = 0;
  for (const CrawlObservation& observation : statistics.recent) seconds += observation.exposure;
  PageState state;
  state.first_seen = kNow - Duration::FromSeconds(seconds);
  state.last_crawl = state.carried_at = kNow;
  state.evidence_exposure = static_cast<float>(seconds);
  return state;
}

PagePosterior Estimate(const SiteModel& site, const PageStatistics& statistics,
                       const PageState& state, const PageSpec& spec = {}) {
  return EstimatePage(site, spec, state, statistics, kNow, kDay);
}

PagePosterior Estimate(const SiteModel& site, const PageStatistics& statistics) {
  return Estimate(site, statistics, StateAfter(statistics));
}

// Returns the log posterior of docs/model.md for a page with one class of signals.
double LogPosterior(const SiteModel& site, const PageStatistics& statistics, double log_rate,
                    double log_false) {
  const ClassModel& model = *site.Find(kPing);
  const double rate = std::exp(log_rate);
  const double false_rate = std::exp(log_false);
  const double gamma = model.recall * rate + false_rate;
  double sum = site.prior().shape * (log_rate - rate / site.prior().mean) +
               model.false_rate.shape * (log_false - false_rate / model.false_rate.mean);
  for (const CrawlObservation& o : statistics.recent) {
    const double days = o.exposure / 86400;
    const double n = o.signals.Total();
    const double s =
        site.unsignalled() * rate * days + n * std::log1p(model.recall * rate / false_rate);
    sum += n * std::log(gamma) - gamma * days + (o.changed ? std::log(-std::expm1(-s)) : -s);
  }
  return sum;
}

// Returns the point at which LogPosterior() is largest, by a search over the two variables in turn.
std::pair<double, double> Mode(const SiteModel& site, const PageStatistics& statistics) {
  const auto best = [](const std::function<double(double)>& f) {
    double low = -25;
    double high = 8;
    while (high - low > 1e-9) {
      const double left = low + (high - low) / 3;
      const double right = high - (high - low) / 3;
      (f(left) < f(right) ? low : high) = f(left) < f(right) ? left : right;
    }
    return low;
  };
  double log_rate = std::log(0.05);
  double log_false = std::log(0.02);
  for (int i = 0; i < 300; ++i) {
    log_rate = best([&](double x) { return LogPosterior(site, statistics, x, log_false); });
    log_false = best([&](double y) { return LogPosterior(site, statistics, log_rate, y); });
  }
  return {log_rate, log_false};
}

std::vector<PageStatistics> Histories() {
  std::vector<PageStatistics> all(4);
  all[0].recent = {Interval(3, true), Interval(20, false), Interval(40, true)};
  all[1].recent = {Interval(3, true), Interval(20, false), Interval(40, true, 1),
                   Interval(7, true, 2), Interval(90, false)};
  all[2].recent = {Interval(30, false, 4), Interval(20, false, 1), Interval(40, true, 5),
                   Interval(10, false)};
  all[3].recent = {Interval(10, true, 1), Interval(15, true, 2), Interval(5, false),
                   Interval(12, true, 1)};
  return all;
}

TEST(EstimatePage, WithoutEvidenceIsThePrior) {
  const PagePosterior posterior = Estimate(Site(0.5), {});
  EXPECT_NEAR(posterior.mean, 0.05, 1e-6);
  EXPECT_NEAR(posterior.shape, 1, 1e-6);
  EXPECT_EQ(posterior.observations, 0);
  EXPECT_TRUE(posterior.teaches_rate);
  ASSERT_EQ(posterior.classes.size(), 1u);
  EXPECT_FALSE(posterior.classes[0].seen);
  EXPECT_NEAR(posterior.Weight(kPing), std::log1p(0.5 * 0.05 / 0.02), 1e-6);
}

// Unchanged intervals alone have a Poisson likelihood, with a gamma posterior in closed form. The
// missing signals are evidence, too.
TEST(EstimatePage, UnchangedIntervalsGiveTheGammaPosterior) {
  PageStatistics statistics;
  for (const double days : {10.0, 30.0, 60.0}) statistics.recent.push_back(Interval(days, false));
  const PagePosterior posterior = Estimate(Site(0.4), statistics);
  EXPECT_NEAR(posterior.mean, 1 / (1 / 0.05 + 0.6 * 100 + 0.4 * 100), 1e-6);
  EXPECT_NEAR(posterior.shape, 1, 1e-6);
  EXPECT_EQ(posterior.observations, 3);
}

TEST(EstimatePage, IsTheModeOfThePosterior) {
  const SiteModel site = Site(0.5, {.mean = 0.02, .shape = 0.6});
  for (const PageStatistics& statistics : Histories()) {
    const auto [log_rate, log_false] = Mode(site, statistics);
    const PagePosterior posterior = Estimate(site, statistics);
    EXPECT_NEAR(std::log(posterior.mean), log_rate, 2e-3);
    EXPECT_NEAR(std::log(posterior.Find(kPing)->false_rate), log_false, 5e-3);
  }
}

// The information about ln Delta equals the curvature of the log posterior.
TEST(EstimatePage, InformationIsTheCurvature) {
  const SiteModel site = Site(0.5, {.mean = 0.02, .shape = 0.6});
  for (const PageStatistics& statistics : Histories()) {
    const PagePosterior posterior = Estimate(site, statistics);
    const double x = std::log(posterior.mean);
    const double y = std::log(posterior.Find(kPing)->false_rate);
    const double h = 1e-3;
    const double information =
        -(LogPosterior(site, statistics, x + h, y) - 2 * LogPosterior(site, statistics, x, y) +
          LogPosterior(site, statistics, x - h, y)) /
        (h * h);
    EXPECT_NEAR(posterior.shape / information, 1, 1e-3);
  }
}

// In the fit of the prior, the posterior's changes and exposure stand for the score and the
// information of the page's data. A sum of signalled changes with fading weights varies less than a
// count of the same size, so changes and exposure are both scaled up. If all evidence is signals
// and the weights go from 1 down to w, the factor is 2/(1 + w).
TEST(EstimatePage, CountAndExposureStandForTheData) {
  const SiteModel site = Site(0.5, {.mean = 0.02, .shape = 0.6});
  for (const PageStatistics& statistics : Histories()) {
    const PagePosterior posterior = Estimate(site, statistics);
    double days = 0;
    for (const CrawlObservation& o : statistics.recent) days += o.exposure / 86400;
    const double oldest = std::exp2(-days / kSignalledHalfLifeDays);
    // Half of the evidence is signals, because the recall is one half.
    const double scale = 0.5 + 0.5 * 2 / (1 + oldest);
    const double of_data = posterior.shape - 0.6 / 0.02 * posterior.mean;
    EXPECT_NEAR(posterior.exposure * posterior.mean, scale * of_data, 1e-6);
    // changes - exposure Delta is the score of the data. At the mode, it cancels the score of the
    // prior. If more than half of the information is missing, the score of the data is smaller.
    const double score = -0.6 * (1 - posterior.mean / 0.02);
    const double found = posterior.changes / scale - of_data;
    if (of_data >= 0.5 * days * posterior.mean) {
      EXPECT_NEAR(found, score, 1e-4);
    } else {
      EXPECT_GT(found / score, 0.5);
      EXPECT_LT(found / score, 1);
    }
  }
}

TEST(EstimatePage, SignalledChangesThatLeftTheWindowCount) {
  PageState state = StateAfter({});
  state.evidence_exposure = static_cast<float>(100 * 86400.0);
  const double quiet = Estimate(Site(0.5), {}, state).mean;
  EXPECT_NEAR(quiet, 1 / (1 / 0.05 + 0.5 * 100), 1e-6);
  state.evidence = 10;
  EXPECT_NEAR(Estimate(Site(0.5), {}, state).mean, (1 + 10) / (1 / 0.05 + 0.5 * 100), 1e-6);
}

// The evidence of the three processes fades at three speeds.
TEST(EstimatePage, EvidenceFades) {
  PageStatistics fresh;
  fresh.recent.push_back(Interval(300, false));
  PageStatistics old = fresh;
  old.recent.front().fetched = kNow - Duration::Days(4000);
  const double near = Estimate(Site(0), fresh).mean;
  const double far = Estimate(Site(0), old).mean;
  EXPECT_LT(near, far);
  EXPECT_LT(far, 0.05);
  EXPECT_DOUBLE_EQ(Fading(Duration::Days(2000), 2000, kDay), 0.5);
  EXPECT_EQ(Fading(Duration::Micros(-1), 2000, kDay), 1);

  // Ten false signals from two months ago count half as much as today's.
  PageStatistics lied;
  lied.recent.push_back(Interval(1, false, 10));
  const double lied_now = Estimate(Site(0.5), lied).Find(kPing)->false_signals;
  lied.recent.front().fetched = kNow - Duration::FromSeconds(kFalseHalfLifeDays * 86400);
  EXPECT_NEAR(lied_now, 10, 1e-6);
  EXPECT_NEAR(Estimate(Site(0.5), lied).Find(kPing)->false_signals, 5, 1e-6);
}

TEST(EstimatePage, SumsStandForOldIntervals) {
  PageStatistics statistics;
  statistics.recent.push_back(Interval(10, false));
  statistics.old_exposure = static_cast<float>(90 * 86400.0);
  EXPECT_NEAR(Estimate(Site(0), statistics).mean, 1 / (20.0 + 100), 1e-6);
  statistics.old_changes = 4;
  EXPECT_NEAR(Estimate(Site(0), statistics).mean, 5 / (20.0 + 100), 1e-6);
}

// Signals since the last crawl are true with the page's own precision, which is low if crawls have
// found its signals false.
TEST(EstimatePage, OpenSignalsCountByTheirPrecision) {
  PageStatistics trusted;
  for (int i = 0; i < 5; ++i) trusted.recent.push_back(Interval(5, true, 1));
  PageStatistics useless;
  for (int i = 0; i < 8; ++i) useless.recent.push_back(Interval(5, false, 4));
  for (const PageStatistics* statistics : {&trusted, &useless}) {
    PageState state = StateAfter(*statistics);
    const double before = Estimate(Site(0.5), *statistics, state).mean;
    for (int i = 0; i < 3; ++i) state.signals.Add(kPing);
    const double gain = Estimate(Site(0.5), *statistics, state).mean / before;
    if (statistics == &trusted) {
      EXPECT_GT(gain, 1.3);
    } else {
      EXPECT_LT(gain, 1.1);
    }
    EXPECT_GE(gain, 1);
  }
}

// A class that the site has never used has the default values until an epoch learns it.
TEST(EstimatePage, AnUnknownClassHasTheDefaults) {
  const SourceClass other(5, BurstClass::kMany);
  const PagePosterior without = Estimate(Site(0.5), {});
  EXPECT_EQ(without.Find(other), nullptr);
  const ClassModel unknown;
  EXPECT_NEAR(without.Weight(other),
              std::log1p(unknown.recall * without.mean / unknown.false_rate.mean), 1e-9);
  PageState state = StateAfter({});
  state.signals.Add(other);
  const PagePosterior with = Estimate(Site(0.5), {}, state);
  ASSERT_NE(with.Find(other), nullptr);
  EXPECT_TRUE(with.Find(other)->seen);
  EXPECT_EQ(with.Find(other)->recall, unknown.recall);
}

// An observation that leaves the window keeps its weight as evidence.
TEST(EvidenceOf, IsWhatTheIntervalCountedFor) {
  const SiteModel site = Site(0.5);
  PageStatistics statistics = Histories()[1];
  const PagePosterior posterior = Estimate(site, statistics);
  EXPECT_EQ(EvidenceOf(Interval(20, false, 3), posterior, kDay).signalled, 0);
  EXPECT_EQ(EvidenceOf(Interval(20, false, 3), posterior, kDay).unsignalled, 0);
  const OldEvidence silent = EvidenceOf(Interval(20, true), posterior, kDay);
  EXPECT_EQ(silent.signalled, 0);
  const double own = posterior.unsignalled * posterior.mean * 20;
  EXPECT_NEAR(silent.unsignalled, own / -std::expm1(-own), 1e-6);
  const OldEvidence told = EvidenceOf(Interval(20, true, 1), posterior, kDay);
  EXPECT_GT(told.signalled, 0.5);
  EXPECT_LE(told.signalled, 1);
  EXPECT_LT(told.unsignalled, silent.unsignalled);
}

// Any history gives a finite positive rate.
TEST(EstimatePage, IsFiniteEverywhere) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int i = 0; i < 4000; ++i) {
    const double recall = i % 5 == 0 ? 0.999 : 0.99 * unit(random);
    const SiteModel site =
        Site(recall,
             {.mean = std::exp(-12 + 14 * unit(random)), .shape = std::exp(-3 + 7 * unit(random))},
             {.mean = std::exp(-14 + 14 * unit(random)), .shape = 0.2 + 2.8 * unit(random)});
    PageStatistics statistics;
    const int crawls = i % 25;
    for (int j = 0; j < crawls; ++j) {
      statistics.recent.push_back(Interval(std::exp(-10 + 18 * unit(random)), unit(random) < 0.5,
                                           unit(random) < 0.5 ? 0 : i % 300));
    }
    PageState state = StateAfter(statistics);
    state.evidence = static_cast<float>(1000 * unit(random) * (i % 2));
    state.evidence_exposure = static_cast<float>(1e8 * unit(random));
    for (int j = 0; j < i % 7; ++j) state.signals.Add(kPing);
    if (i % 3 == 0) {
      state.last_crawl = kNow - Duration::FromSeconds(1e6 * unit(random));
      state.exposure = 1e6 * unit(random);
    }
    PageSpec spec;
    spec.complete_signals = i % 11 == 0;
    if (i % 13 == 0) spec.known_change_rate = Rate::PerSecond(std::exp(-20 + 20 * unit(random)));
    const PagePosterior posterior = Estimate(site, statistics, state, spec);
    ASSERT_TRUE(std::isfinite(posterior.mean) && posterior.mean > 0) << i;
    ASSERT_TRUE(std::isfinite(posterior.shape) && posterior.shape > 0) << i;
    ASSERT_TRUE(std::isfinite(posterior.changes) && posterior.changes >= 0) << i;
    ASSERT_TRUE(std::isfinite(posterior.exposure) && posterior.exposure >= 0) << i;
    for (const PageClass& of_page : posterior.classes) {
      ASSERT_TRUE(std::isfinite(of_page.false_rate) && of_page.false_rate > 0) << i;
      ASSERT_GE(of_page.truth, 0) << i;
      ASSERT_LE(of_page.truth, of_page.signals * (1 + 1e-9)) << i;
    }
  }
}

TEST(GammaQuantile, IsExact) {
  // Quantiles of the exponential distribution, and of the chi-squared distribution with 10 degrees
  // of freedom.
  EXPECT_NEAR(GammaQuantile(1, 1, 0.975), -std::log(0.025), 1e-9);
  EXPECT_NEAR(GammaQuantile(2, 1, 0.025), -2 * std::log(0.975), 1e-9);
  EXPECT_NEAR(GammaQuantile(5, 5, 0.025), 3.24697 / 2, 1e-4);
  EXPECT_NEAR(GammaQuantile(5, 5, 0.975), 20.48318 / 2, 1e-4);
  // For small shapes nearly all probability is near zero.
  EXPECT_LT(GammaQuantile(1, 0.05, 0.025), 1e-20);
  EXPECT_GT(GammaQuantile(1, 0.05, 0.975), 1);
}

}  // namespace
}  // namespace freshet
