#include "core/estimate/operational_time.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace freshet {
namespace {

constexpr AgeCurve::Levels kFalling = {11, 8, 4, 2, 1, 0.7, 0.4, 0.2};

TEST(AgeCurve, BinsReachFromEdgeToEdge) {
  EXPECT_EQ(AgeCurve::BinOf(0), 0);
  EXPECT_EQ(AgeCurve::BinOf(0.999), 0);
  for (int bin = 0; bin + 1 < kAgeBins; ++bin) {
    EXPECT_EQ(AgeCurve::BinOf(AgeCurve::EndOf(bin)), bin + 1);
  }
  EXPECT_TRUE(std::isinf(AgeCurve::EndOf(kAgeBins - 1)));
}

TEST(AgeCurve, IntegralAddsUp) {
  const AgeCurve curve(kFalling);
  EXPECT_DOUBLE_EQ(curve.Integral(0, 1), 11);
  EXPECT_DOUBLE_EQ(curve.Integral(0, 3), 11 + 2 * 8);
  EXPECT_DOUBLE_EQ(curve.Integral(2, 2000),
                   8 + 7 * 4 + 20 * 2 + 70 * 1 + 200 * 0.7 + 700 * 0.4 + 1000 * 0.2);
  EXPECT_EQ(curve.Integral(5, 5), 0);
  EXPECT_EQ(curve.Integral(5, 4), 0);
  EXPECT_NEAR(curve.Integral(0.3, 7) + curve.Integral(7, 456.7), curve.Integral(0.3, 456.7), 1e-9);
}

TEST(AgeCurve, AheadIsTheMeanOfTheNearFuture) {
  const AgeCurve curve(kFalling);
  for (int bin = 0; bin < kAgeBins; ++bin) {
    const double begin = bin == 0 ? 0 : AgeCurve::EndOf(bin - 1);
    EXPECT_DOUBLE_EQ(curve.Ahead(bin), curve.Integral(begin, begin + 30) / 30);
  }
  const AgeCurve flat;
  EXPECT_EQ(flat.Ahead(0), 1);
  EXPECT_EQ(flat.Integral(3, 10), 7);
}

TEST(AgeCounts, ExposureFallsIntoItsBins) {
  AgeCounts counts;
  counts.AddExposure(0.5, 2, 12);
  EXPECT_DOUBLE_EQ(counts.expected[0], 0);
  EXPECT_DOUBLE_EQ(counts.expected[1], 0.5);
  EXPECT_DOUBLE_EQ(counts.expected[2], 3.5);
  EXPECT_DOUBLE_EQ(counts.expected[3], 1);
  counts.Fade(0.5);
  EXPECT_DOUBLE_EQ(counts.expected[2], 1.75);
}

// An event between two crawls has an unknown age. It adds a share to each bin that its age might be
// in. The expected number of events is spread over the bins, too.
TEST(AgeCounts, AnEventBetweenTwoCrawlsIsSpread) {
  AgeCounts counts;
  counts.AddCensored(0.5, 2, 12);
  EXPECT_DOUBLE_EQ(counts.events[1], 0.1);
  EXPECT_DOUBLE_EQ(counts.events[2], 0.7);
  EXPECT_DOUBLE_EQ(counts.events[3], 0.2);
  // The probability that the event has not happened yet falls linearly from 1 to 0.
  EXPECT_DOUBLE_EQ(counts.expected[1], 0.5 * 1 * 0.95);
  EXPECT_DOUBLE_EQ(counts.expected[2], 0.5 * 7 * 0.55);
  EXPECT_DOUBLE_EQ(counts.expected[3], 0.5 * 2 * 0.1);
}

// Each bin expects 1,000 events, and the actual numbers of events follow a known curve. The fit
// finds the curve, up to its scale and up to the factor kAgeCurveKept in its logarithm.
TEST(AgeCounts, FitFindsTheCurve) {
  AgeCounts counts;
  for (size_t bin = 0; bin < kAgeBins; ++bin) {
    counts.events[bin] = 1000 * kFalling[bin];
    counts.expected[bin] = 1000;
  }
  const AgeCurve fit = counts.Fit(AgeCurve());
  for (int bin = 1; bin < kAgeBins; ++bin) {
    const double ratio = kFalling[static_cast<size_t>(bin)] / kFalling[0];
    EXPECT_NEAR(fit.Level(bin) / fit.Level(0), std::pow(ratio, kAgeCurveKept), 0.02);
  }
}

// The rate of a page might cover only a share of its events. The fit must not depend on this share.
TEST(AgeCounts, FitDoesNotDependOnTheScaleOfTheRates) {
  AgeCounts counts;
  for (size_t bin = 0; bin < kAgeBins; ++bin) {
    counts.events[bin] = 100 * kFalling[bin];
    counts.expected[bin] = 100;
  }
  AgeCounts scaled = counts;
  for (double& expected : scaled.expected) expected *= 7;
  for (int bin = 0; bin < kAgeBins; ++bin) {
    EXPECT_NEAR(scaled.Fit(AgeCurve()).Level(bin), counts.Fit(AgeCurve()).Level(bin), 1e-9);
  }
}

TEST(AgeCounts, FitKeepsThePriorWhereNothingWasSeen) {
  const AgeCurve prior(kFalling);
  EXPECT_EQ(AgeCounts().Fit(prior).levels(), prior.levels());
  AgeCounts counts;
  counts.events[0] = counts.expected[0] = 3;
  const AgeCurve fit = counts.Fit(prior);
  for (int bin = 0; bin < kAgeBins; ++bin) EXPECT_NEAR(fit.Level(bin), prior.Level(bin), 1e-12);
}

// The counts of even events differ from the expected counts only by chance.
TEST(AgeCounts, NoiseIsNoCurve) {
  std::mt19937_64 random(5);
  double worst = 0;
  double sum = 0;
  constexpr int kTimes = 500;
  for (int i = 0; i < kTimes; ++i) {
    AgeCounts counts;
    for (size_t bin = 0; bin < kAgeBins; ++bin) {
      counts.expected[bin] = 20;
      counts.events[bin] = std::poisson_distribution<int>(20)(random);
    }
    const AgeCurve fit = counts.Fit(AgeCurve());
    for (const double level : fit.levels()) {
      worst = std::max(worst, std::abs(std::log(level)));
      sum += std::abs(std::log(level)) / (kTimes * kAgeBins);
    }
  }
  EXPECT_LT(sum, 0.06) << "the counts themselves are off by 0.18";
  EXPECT_LT(worst, 0.6);
}

}  // namespace
}  // namespace freshet
