// Tests the sums of the value under noisy signals: against 60-digit references, at the borders
// between evaluations, and the bounds behind the closed form.
#include "core/model/ncis_value.h"

#include <cmath>
#include <complex>
#include <random>
#include <string>

#include "core/model/crossing.h"
#include "gtest/gtest.h"
#include "tests/core/model/reference_table.h"

namespace freshet {
namespace {

PageRates Rates(double alpha, double gamma, double kappa) {
  PageRates rates;
  rates.unsignalled_rate = alpha;
  rates.signal_rate = gamma;
  rates.signal_weight = kappa;
  rates.staleness_rate = alpha;
  rates.change_rate = alpha - gamma * std::expm1(-kappa);
  return rates;
}

ValueParameters Page(const ReferenceRow& row) {
  const int terms = static_cast<int>(row["terms"]);
  const Policy policy =
      terms == 0 ? Policy{PolicyKind::kGreedyNcis, 1} : Policy{PolicyKind::kNcisApprox, terms};
  return MakeValueParameters(policy, 1, Rates(row["alpha"], row["gamma"], row["kappa"]));
}

TEST(NcisValue, MatchesReferenceInEveryEvaluation) {
  const auto rows = ReadReference("ncis_reference.tsv");
  ASSERT_EQ(rows.size(), 260u);
  for (const auto& row : rows) {
    const std::string what = row.cells.at("mode") + " alpha " + row.cells.at("alpha") + " gamma " +
                             row.cells.at("gamma") + " kappa " + row.cells.at("kappa") + " s " +
                             row.cells.at("s");
    const ValueParameters page = Page(row);
    const NcisPoint point = EvaluateNcis(page, row["s"]);
    ExpectRelative(point.value, row["value"], 1e-13, what + " value");
    if (row["s"] >= 0.25) ExpectRelative(point.shortfall, row["shortfall"], 1e-13, what + " short");
    EXPECT_EQ(CrawlValue(page, row["s"]), point.value);
    const double alpha = row["alpha"];
    ExpectRelative(CrawlValueJet(page, row["s"]).slope, alpha * std::exp(-row["s"]) * row["psi"],
                   1e-13, what + " slope");
    if (row["terms"] != 0) continue;
    const ThresholdOutcome outcome =
        EvaluateThreshold(Rates(alpha, row["gamma"], row["kappa"]), row["s"]);
    ExpectRelative(outcome.interval, row["psi"], 1e-13, what + " psi");
    ExpectRelative(outcome.fresh_time, row["w"], 1e-13, what + " w");
    ExpectRelative(outcome.crawl_rate, 1 / row["psi"], 1e-13, what + " f");
  }
}

// Returns the decay of the root k of z + b (1 - e^-z) in the upper half plane, found by following z
// + ln(1 + z/b) = 2 pi i k.
double PoleDecay(double b, int k) {
  const std::complex<double> turn(0, 2 * M_PI * k);
  std::complex<double> z = turn;
  for (int i = 0; i < 200; ++i) z = 0.5 * z + 0.5 * (turn - std::log(1.0 + z / b));
  EXPECT_LT(std::abs(z + b * (1.0 - std::exp(-z))), 1e-9 * (1 + b)) << b << " " << k;
  return -z.real();
}

TEST(NcisValue, ClosedFormStartsWhereItsErrorIsGone) {
  for (double log_b = -5; log_b <= 3.5; log_b += 0.05) {
    const double b = std::pow(10, log_b);
    const double kappa = 1e-3;
    const ValueParameters page =
        MakeValueParameters({PolicyKind::kGreedyNcis, 1}, 1, Rates(1, b / kappa, kappa));
    EXPECT_GE(PoleDecay(b, 1) * page.settled_from / kappa, 27) << b;
    EXPECT_LE(page.closed_from, page.settled_from);
    if (page.closed_from < page.settled_from) {
      EXPECT_GE(PoleDecay(b, 5) * page.closed_from / kappa, 27) << b;
    }
  }
}

// Evaluates neighbouring s on both sides of every border between evaluations: number of terms, the
// split at 1/4, the short sums, and the closed form.
TEST(NcisValue, IsContinuousAcrossItsEvaluations) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int i = 0; i < 3000; ++i) {
    const double kappa = std::pow(10, -6 + 7 * uniform(random));
    const double b = std::pow(10, -6 + 12 * uniform(random));
    const ValueParameters page =
        MakeValueParameters({PolicyKind::kGreedyNcis, 1}, 1, Rates(1, b / kappa, kappa));
    const double step = std::floor(1 + 40 * uniform(random)) * kappa;
    for (const double border : {step, 0.25, 1.0, 24 * kappa, page.closed_from, page.settled_from,
                                0.3 / (1 + b / kappa)}) {
      if (!(border < kSaturatedStaleness)) continue;
      const double below = CrawlValue(page, border * (1 - 1e-14));
      const double above = CrawlValue(page, border * (1 + 1e-14));
      EXPECT_NEAR(above, below, 1.5e-13 * below)
          << "b " << b << " kappa " << kappa << " s " << border;
    }
  }
}

// floor(iota/beta) of 10^4 and far more: a loop over 10^12 terms would not end.
TEST(NcisValue, AnyNumberOfTermsTendsToTheFluidLimit) {
  for (const double count : {1e2, 1e4, 1e8, 1e12, 1e20}) {
    for (const double b : {1e-6, 1e-2, 1.0, 5.0, 50.0, 1e4, 1e9, 1e15}) {
      const double s = 2;
      const double kappa = s / count;
      const ValueParameters page =
          MakeValueParameters({PolicyKind::kGreedyNcis, 1}, 1, Rates(1, b / kappa, kappa));
      const NcisPoint point = EvaluateNcis(page, s);
      // The fluid limit: psi = s/(1 + b), V = R^1(s)/(1 + b), with an error of a few terms.
      EXPECT_NEAR(point.value * (1 + b), 1 - 3 * std::exp(-2.0), 8 / count + 1e-12)
          << count << " " << b;
      EXPECT_NEAR(point.reached * kappa / b * (1 + b), s, 4 / count + 1e-12) << count << " " << b;
    }
  }
}

TEST(NcisValue, APageThatOnlySignalsChangeHasTheSumInClosedForm) {
  // alpha = 0: V = mu/gamma ((1 - r^n)/(1 - r) - n r^n) at s = n kappa.
  const double gamma = 0.7;
  const double kappa = 0.4;
  const ValueParameters page =
      MakeValueParameters({PolicyKind::kGreedyNcis, 1}, 3, Rates(0, gamma, kappa));
  for (int n = 0; n < 100; ++n) {
    const double r = std::exp(-kappa);
    const double expected = 3 / gamma * ((1 - std::pow(r, n)) / (1 - r) - n * std::pow(r, n));
    ExpectRelative(CrawlValue(page, n * kappa), expected, 2e-14, "n " + std::to_string(n));
  }
  EXPECT_EQ(CrawlValueJet(page, 1.7 * kappa).slope, 0);
  EXPECT_EQ(TimeToReach(page, kappa, page.ceiling / 2), HUGE_VAL);
  EXPECT_EQ(TimeToReach(page, 50 * kappa, page.ceiling / 2), 0);
}

TEST(NcisValue, ThresholdsOfPagesWithoutSignalsAndOfThoseNeverCrawledAreExact) {
  const ThresholdOutcome plain = EvaluateThreshold(Rates(2, 0, 0), 3);
  EXPECT_DOUBLE_EQ(plain.interval, 1.5);
  EXPECT_DOUBLE_EQ(plain.fresh_time, (1 - std::exp(-3.0)) / 2);
  EXPECT_DOUBLE_EQ(plain.crawl_rate, 1 / 1.5);
  const ThresholdOutcome never = EvaluateThreshold(Rates(2, 1, 1), HUGE_VAL);
  EXPECT_EQ(never.interval, HUGE_VAL);
  EXPECT_EQ(never.crawl_rate, 0);
  EXPECT_DOUBLE_EQ(never.fresh_time, 1 / (2 + 1 - std::exp(-1.0)));
  // Above s = 60, psi still grows, but w has reached its limit.
  const ThresholdOutcome late = EvaluateThreshold(Rates(1, 1, 2), 300);
  EXPECT_NEAR(late.interval, 300.0 / 3 + 2.0 * 2 / (2 * 9), 1e-9);
}

}  // namespace
}  // namespace freshet
