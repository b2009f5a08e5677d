#include "core/estimate/site_learner.h"

#include <cmath>
#include <random>
#include <vector>

#include "core/base/limits.h"
#include "core/model/page_number.h"
#include "gtest/gtest.h"
#include "tests/core/estimate/source_classes.h"

namespace freshet {
namespace {

std::vector<RateSample> Draw(double mean, double shape, int pages, double exposure) {
  std::mt19937_64 random(7);
  std::gamma_distribution<double> rates(shape, mean / shape);
  std::vector<RateSample> samples;
  for (int i = 0; i < pages; ++i) {
    const double x = exposure * (0.5 + static_cast<double>(i % 10) / 10);
    std::poisson_distribution<int> changes(rates(random) * x);
    samples.push_back({.changes = static_cast<double>(changes(random)), .exposure = x});
  }
  return samples;
}

TEST(FitRatePrior, FindsMeanAndShape) {
  for (const auto& [mean, shape] : {std::pair{0.01, 0.5}, {0.2, 2.0}, {3.0, 0.2}}) {
    const RatePrior prior = FitRatePrior(Draw(mean, shape, 20'000, 10 / mean), RatePrior());
    EXPECT_NEAR(prior.mean / mean, 1, 0.06);
    EXPECT_NEAR(prior.shape / shape, 1, 0.08);
  }
}

// The fit is a maximum, so neighbouring points have a lower likelihood.
TEST(FitRatePrior, IsAMaximumOfTheNegativeBinomialLikelihood) {
  const std::vector<RateSample> samples = Draw(0.05, 0.7, 3000, 100);
  const RatePrior fit = FitRatePrior(samples, {.mean = 0.05, .shape = 0.7});
  const auto likelihood = [&](double mean, double shape) {
    double sum = 0;
    const double b = shape / mean;
    for (const RateSample& s : samples) {
      sum += std::lgamma(shape + s.changes) - std::lgamma(shape) +
             shape * std::log(b / (b + s.exposure)) +
             s.changes * std::log(s.exposure / (b + s.exposure));
    }
    return sum;
  };
  const double best = likelihood(fit.mean, fit.shape);
  for (const double factor : {0.9, 1.1}) {
    EXPECT_GT(best, likelihood(fit.mean * factor, fit.shape));
    EXPECT_GT(best, likelihood(fit.mean, fit.shape * factor));
  }
}

TEST(FitRatePrior, WithoutEvidenceIsItsBase) {
  const RatePrior base{.mean = 0.3, .shape = 1.5};
  EXPECT_EQ(FitRatePrior({}, base).mean, base.mean);
  EXPECT_EQ(FitRatePrior({{.changes = 3, .exposure = 0}}, base).shape, base.shape);
  const std::vector<RateSample> silent(1000, RateSample{.changes = 0, .exposure = 100});
  EXPECT_LT(FitRatePrior(silent, base).mean, base.mean / 100);
}

// Returns a page with these figures for one class, under the model of all hosts.
PagePosterior LearnedPage(SourceClass source_class, double signals, double truth, double changes,
                          const RatePrior& false_rate = {.mean = 0.001}) {
  PagePosterior page;
  page.changes = changes;
  page.exposure = 100;
  page.told_changes = truth;
  page.expected_changes = changes;
  page.untold_changes = changes - truth;
  page.untold_exposure = changes;
  page.false_exposure = 100;
  page.classes.push_back({.source_class = source_class,
                          .recall = 0.1,
                          .false_rate = false_rate.mean,
                          .prior = false_rate,
                          .false_signals = signals - truth,
                          .signals = signals,
                          .truth = truth,
                          .seen = true});
  return page;
}

// Adds the next page of a host. The slot distinguishes hosts.
void Add(const PagePosterior& page, SiteLearner& host, uint16_t slot = 1) {
  host.Add(page, MakePageNumber(Slot(slot), host.pages() + 1));
}

SiteLearner Host(int pages, SourceClass source_class, double signals, double truth, double changes,
                 uint16_t slot = 1) {
  SiteLearner learner(256);
  for (int i = 0; i < pages; ++i) {
    Add(LearnedPage(source_class, signals, truth, changes), learner, slot);
  }
  return learner;
}

SiteModel FitAll(const std::vector<const SiteLearner*>& hosts) {
  SiteLearner all(0);
  RateSamples samples(limits::kMaxPriorSamples);
  for (const SiteLearner* host : hosts) {
    all.AddHost(*host);
    samples.Add(host->samples());
  }
  return all.FitAll(samples.Values(), AgeCurve());
}

TEST(SiteLearner, LearnsRecallAndFalseRates) {
  const SiteLearner host = Host(500, kPing, 3, 1, 2);
  const SiteModel all = FitAll({&host});
  ASSERT_NE(all.Find(kPing), nullptr);
  EXPECT_NEAR(all.Find(kPing)->recall, 0.5, 0.02);
  EXPECT_NEAR(all.Find(kPing)->false_rate.mean, 0.02, 0.001);
  EXPECT_NEAR(all.Find(kPing)->signals, 1500, 1e-6);
  EXPECT_NEAR(all.Find(kPing)->truth, 500, 1e-6);
  EXPECT_NEAR(all.prior().mean, 0.02, 0.001);
  const SiteModel model = host.FitHost(all, AgeCurve());
  EXPECT_NEAR(model.Find(kPing)->recall, 0.5, 0.02);
  EXPECT_NEAR(model.Find(kPing)->false_rate.mean, 0.02, 0.001);
}

// A host with one page nearly follows the model of all hosts. A host with many pages follows the
// evidence of its pages.
TEST(SiteLearner, DrawsHostsToAllByTheirEvidence) {
  const SiteLearner many = Host(2000, kPing, 1, 1, 2);
  const SiteLearner noisy = Host(200, kPing, 21, 1, 2, 2);
  const SiteLearner one = Host(1, kPing, 6, 0, 0.1, 3);
  const SiteModel all = FitAll({&many, &noisy, &one});
  const double of_all = all.Find(kPing)->false_rate.mean;
  const double of_noisy = noisy.FitHost(all, AgeCurve()).Find(kPing)->false_rate.mean;
  const double of_many = many.FitHost(all, AgeCurve()).Find(kPing)->false_rate.mean;
  const double of_one = one.FitHost(all, AgeCurve()).Find(kPing)->false_rate.mean;
  EXPECT_NEAR(of_noisy, 0.2, 0.01);
  EXPECT_LT(of_many, 0.001);
  EXPECT_GT(of_one, of_all) << "six false signals in 100 days tell something";
  EXPECT_LT(of_one, 0.06) << "but not all";
  EXPECT_NEAR(one.FitHost(all, AgeCurve()).Find(kPing)->recall, all.Find(kPing)->recall, 0.02);
}

TEST(SiteLearner, DropsAClassThatNoPageHasSeenLately) {
  SiteLearner host(256);
  PagePosterior page = LearnedPage(kPing, 1, 0.5, 1);
  page.classes.push_back({.source_class = kSitemap, .recall = 0.2, .false_rate = 0.001});
  Add(page, host);
  const SiteModel all = FitAll({&host});
  EXPECT_NE(all.Find(kPing), nullptr);
  EXPECT_EQ(all.Find(kSitemap), nullptr);
  EXPECT_EQ(host.FitHost(all, AgeCurve()).Find(kSitemap), nullptr);
}

// Recall is a share of all changes. Changes without a signal are counted only by crawls.
TEST(SiteLearner, WhatCrawlsFindUntoldLowersTheRecall) {
  SiteLearner told(256);
  SiteLearner untold(256);
  for (int i = 0; i < 300; ++i) {
    PagePosterior page = LearnedPage(kPing, 1, 1, 2);
    page.untold_changes = 0.001;
    page.untold_exposure = 2;
    Add(page, told);
    page.untold_changes = 2;
    Add(page, untold);
  }
  const double of_told = FitAll({&told}).Find(kPing)->recall;
  const double of_untold = FitAll({&untold}).Find(kPing)->recall;
  EXPECT_GT(of_told, 0.9);
  EXPECT_NEAR(of_untold, 1.0 / 3, 0.03);
}

// A page with a known rate tells nothing about the spread of rates.
TEST(SiteLearner, KnownRatesAreNoSamplesOfThePrior) {
  SiteLearner host = Host(300, kPing, 1, 1, 2);
  const double before = FitAll({&host}).prior().mean;
  for (int i = 0; i < 300; ++i) {
    PagePosterior page = LearnedPage(kPing, 1, 1, 200);
    page.teaches_rate = false;
    Add(page, host);
  }
  EXPECT_NEAR(FitAll({&host}).prior().mean, before, 1e-9);
}

// False rates can be spread over pages in two ways: the same rate for all, or a few pages that are
// pinged all day.
TEST(SiteLearner, LearnsHowFalseRatesAreSpread) {
  const RatePrior prior{.mean = 0.02, .shape = 1};
  for (const double spread : {0.0, 1.0}) {
    SiteLearner host(256);
    for (int i = 0; i < 1000; ++i) {
      PagePosterior page = LearnedPage(kPing, 0, 0, 1, prior);
      const bool high = i % 10 == 0;
      page.false_exposure = 5000;
      page.classes[0].false_signals = spread == 0 ? 100 : high ? 1000 : 0;
      page.classes[0].false_rate = (1 + page.classes[0].false_signals) / (50 + 5000);
      Add(page, host);
    }
    const double shape = FitAll({&host}).Find(kPing)->false_rate.shape;
    if (spread == 0) {
      EXPECT_GT(shape, 2.5);
    } else {
      EXPECT_LT(shape, 0.5);
    }
  }
}

// The size of the sample is bounded, and the sample still represents all pages.
TEST(SiteLearner, KeepsABoundedSample) {
  SiteLearner learner(256);
  constexpr uint64_t kPages = 10 * 256;
  for (uint64_t i = 0; i < kPages; ++i) {
    PagePosterior page;
    page.changes = i < kPages / 2 ? 0 : 4;
    page.exposure = 100;
    Add(page, learner);
  }
  EXPECT_EQ(learner.pages(), kPages);
  EXPECT_EQ(learner.samples().size(), 256u);
  EXPECT_NEAR(learner.FitAll(learner.samples().Values(), AgeCurve()).prior().mean, 0.02, 0.005);
}

}  // namespace
}  // namespace freshet
