#include "core/estimate/site.h"

#include <cmath>
#include <random>
#include <string>

#include "core/base/limits.h"
#include "gtest/gtest.h"

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

// The fit is a maximum: the likelihood of its neighbours is lower.
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

TEST(SiteModel, SumsItsClasses) {
  SiteModel::Classes classes{};
  classes[0] = {.signals = 10, .precision = 0.8, .recall = 0.4};
  classes[3] = {.signals = 10, .precision = 0.1, .recall = 0.2};
  const SiteModel site(RatePrior(), AgeCurve(), classes);
  EXPECT_DOUBLE_EQ(site.recall(), 0.6);
  EXPECT_DOUBLE_EQ(site.signals_per_change(), 0.5 + 2);
  EXPECT_DOUBLE_EQ(site.burst_signals_per_change(), 0.5) << "mass edits are no bursts";
  EXPECT_DOUBLE_EQ(site.Weight(SourceClass(0)), -std::log1p(-0.8));
  classes[1] = {.signals = 10, .precision = 0.5, .recall = 0.9};
  EXPECT_EQ(SiteModel(RatePrior(), AgeCurve(), classes).recall(), kMaxRecall);
}

TEST(SiteLearner, WeighsEvidenceAgainstItsBase) {
  SiteLearner learner;
  const SourceClass good(0, BurstClass::kFew);
  const SourceClass bad(0, BurstClass::kMass);
  for (int i = 0; i < 500; ++i) learner.AddPage({.changes = 2, .exposure = 100});
  learner.AddSignals(good, 400, 300);
  learner.AddSignals(bad, 1000, 20);
  learner.AddUnsignalled(80);
  const SiteModel site = learner.Fit(SiteModel(), AgeCounts(), SiteLearner::Strength::kWeak);
  EXPECT_NEAR(site.trust(good).precision, 0.75, 0.01);
  EXPECT_NEAR(site.trust(bad).precision, 0.02, 0.01);
  EXPECT_NEAR(site.trust(good).recall, 300.0 / 400, 0.01);
  EXPECT_NEAR(site.prior().mean, 0.02, 0.001);
  const SourceClass silent(1, BurstClass::kFew);
  EXPECT_EQ(site.trust(silent).precision, SiteModel().trust(silent).precision);
  EXPECT_EQ(learner.pages(), 500u);
}

// The sample stays bounded and still speaks for all pages.
TEST(SiteLearner, KeepsABoundedSample) {
  SiteLearner learner;
  const uint64_t pages = 10 * limits::kMaxPriorSamples;
  for (uint64_t i = 0; i < pages; ++i) {
    learner.AddPage({.changes = i % 2 == 0 ? 0.0 : 4.0, .exposure = 100});
  }
  EXPECT_EQ(learner.pages(), pages);
  const SiteModel site = learner.Fit(SiteModel(), AgeCounts(), SiteLearner::Strength::kWeak);
  EXPECT_GT(site.prior().mean, 0);
}

TEST(SerialiseSite, ReadsBackWhatItWrote) {
  SiteModel::Classes classes{};
  classes[5] = {.signals = 12.25, .precision = 0.7, .recall = 0.3};
  const SiteModel site({.mean = 0.0123456789012345, .shape = 0.77},
                       AgeCurve({9, 8, 7, 6, 5, 4, 3, 0.1}), classes);
  AgeCounts counts;
  counts.events[2] = 17.5;
  counts.expected[7] = 1e-9;
  std::string host;
  SiteModel read;
  AgeCounts read_counts;
  const std::string line = SerialiseSite("a.test", site, counts);
  ASSERT_TRUE(ParseSite(line, &host, &read, &read_counts).ok());
  EXPECT_EQ(host, "a.test");
  EXPECT_EQ(SerialiseSite(host, read, read_counts), line);
  EXPECT_EQ(read.recall(), site.recall());
  EXPECT_EQ(read.curve().levels(), site.curve().levels());
}

TEST(SerialiseSite, RefusesWhatItDidNotWrite) {
  const std::string good = SerialiseSite("", SiteModel(), AgeCounts());
  std::string host = "kept";
  SiteModel site;
  AgeCounts counts;
  for (std::string bad :
       {std::string(), good.substr(0, good.size() / 2), good + "\tx", good + "999:1:0.5:0.5 ",
        good + "1:1:1.5:0.5 ", good + "1:nan:0.5:0.5 "}) {
    EXPECT_FALSE(ParseSite(bad, &host, &site, &counts).ok()) << bad;
    EXPECT_EQ(host, "kept");
  }
  EXPECT_TRUE(ParseSite(good, &host, &site, &counts).ok());
}

}  // namespace
}  // namespace freshet
