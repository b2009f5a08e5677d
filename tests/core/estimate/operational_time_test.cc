#include "core/estimate/operational_time.h"

#include <cmath>

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

// A thousand events at each age where G said so many were due: the fit finds G, up to its scale.
TEST(AgeCounts, FitFindsTheCurve) {
  AgeCounts counts;
  for (size_t bin = 0; bin < kAgeBins; ++bin) {
    counts.events[bin] = 1000 * kFalling[bin];
    counts.expected[bin] = 1000;
  }
  const AgeCurve fit = counts.Fit(AgeCurve());
  for (int bin = 1; bin < kAgeBins; ++bin) {
    EXPECT_NEAR(fit.Level(bin) / fit.Level(0), kFalling[static_cast<size_t>(bin)] / kFalling[0],
                0.02);
  }
}

TEST(AgeCounts, FitKeepsThePriorWhereNothingWasSeen) {
  const AgeCurve prior(kFalling);
  EXPECT_EQ(AgeCounts().Fit(prior).levels(), prior.levels());
  AgeCounts counts;
  counts.events[0] = 3;
  counts.expected[0] = 3;
  const AgeCurve fit = counts.Fit(prior);
  EXPECT_EQ(fit.Level(5), prior.Level(5));
  EXPECT_NEAR(fit.Level(0), (3 + 5 * 11) / (3.0 + 5), 1e-12);
}

}  // namespace
}  // namespace freshet
