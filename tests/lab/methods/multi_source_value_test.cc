// Tests several signal sources: against one source, against simulation, and at the maximum number
// of vectors.
#include "lab/methods/multi_source_value.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "core/model/ncis_value.h"
#include "gtest/gtest.h"
#include "tests/core/model/reference_table.h"

namespace freshet {
namespace {

PageRates OneSource(double alpha, double gamma, double kappa) {
  PageRates rates;
  rates.unsignalled_rate = alpha;
  rates.signal_rate = gamma;
  rates.signal_weight = kappa;
  rates.staleness_rate = alpha;
  return rates;
}

// Splits a source in two and adds a useless third source. The value is the same as with the one
// source.
TEST(MultiSource, AgreesWithOneSource) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  int compared = 0;
  for (int i = 0; i < 3000; ++i) {
    const double alpha = std::pow(10, -3 + 6 * uniform(random));
    const double gamma = alpha * std::pow(10, -5 + 8 * uniform(random));
    const double kappa = std::pow(10, -3 + 4 * uniform(random));
    const double s = std::pow(10, -6 + 7.7 * uniform(random));
    const int terms = i % 3 == 0 ? 1 + static_cast<int>(random() % 6) : kAllTerms;
    const Policy policy = terms == kAllTerms ? Policy{PolicyKind::kGreedyNcis, 1}
                                             : Policy{PolicyKind::kNcisApprox, terms};
    const double expected =
        CrawlValue(MakeValueParameters(policy, 2, OneSource(alpha, gamma, kappa)), s);
    MultiSourcePage page{2, alpha, {{gamma * 0.3, kappa}, {gamma * 5, 0}, {gamma * 0.7, kappa}}};
    const StatusOr<double> value = MultiSourceValue(page, s, terms);
    ASSERT_TRUE(value.ok()) << value.status();
    ExpectRelative(*value, expected, 1e-12, "s " + std::to_string(s));
    if (terms != kAllTerms || s >= kSaturatedStaleness) continue;
    const MultiSourceOutcome outcome = EvaluateMultiSource(page, s).value();
    const ThresholdOutcome single = EvaluateThreshold(OneSource(alpha, gamma, kappa), s);
    ExpectRelative(outcome.interval, single.interval, 1e-12, "psi");
    ExpectRelative(outcome.fresh_time, single.fresh_time, 1e-12, "w");
    ++compared;
  }
  EXPECT_GT(compared, 1500);
}

// If the weight of a source is above s, only its rate matters: its first signal ends the interval.
TEST(MultiSource, ASourceThatNeverErrsCountsAsOneOfGreatWeight) {
  const MultiSourcePage page{1, 0.5, {{1, 0.4}, {0.25, HUGE_VAL}}};
  const MultiSourcePage heavy{1, 0.5, {{1, 0.4}, {0.25, 100}}};
  const MultiSourceOutcome a = EvaluateMultiSource(page, 2).value();
  const MultiSourceOutcome b = EvaluateMultiSource(heavy, 2).value();
  EXPECT_EQ(a.value, b.value);
  EXPECT_EQ(a.interval, b.interval);
  EXPECT_EQ(MultiSourceValue(page, HUGE_VAL).value(), page.Ceiling());
  EXPECT_DOUBLE_EQ(page.Ceiling(), 1 / (0.5 + 1 - std::exp(-0.4) + 0.25));
  // At infinite staleness ncis_approx_1 is mu/(alpha + gamma), as with one source.
  EXPECT_DOUBLE_EQ(MultiSourceValue(page, HUGE_VAL, 1).value(), 1 / 1.75);
}

TEST(MultiSource, WithoutUsefulSourcesIsGreedy) {
  const MultiSourcePage page{3, 0.5, {{1, 0}, {0, 5}}};
  const double x = 1.2;
  const MultiSourceOutcome outcome = EvaluateMultiSource(page, x).value();
  EXPECT_NEAR(outcome.value, 6 * (1 - (1 + x) * std::exp(-x)), 1e-14);
  EXPECT_DOUBLE_EQ(outcome.interval, x / 0.5);
  EXPECT_EQ(EvaluateMultiSource(page, 0).value().value, 0);
  EXPECT_EQ(MultiSourceValue({3, 0, {{1, 0}}}, 5).value(), 0);
}

// Simulates the threshold policy. Returns the mean length of its intervals and of their fresh
// parts. Unsignalled changes come at rate alpha. Each source also has its own changes, which come
// at rate gamma (1 - e^-kappa), and false signals at rate gamma e^-kappa.
struct Simulated {
  double mean[2] = {0, 0};
  double error[2] = {0, 0};
};

Simulated Simulate(const MultiSourcePage& page, double s, int samples, std::mt19937_64& random) {
  std::exponential_distribution<double> exponential(1);
  double total = 0;
  for (const SourceRates& source : page.sources) total += source.signal_rate;
  double sums[2] = {0, 0};
  double squares[2] = {0, 0};
  for (int i = 0; i < samples; ++i) {
    double t = 0;
    double staleness = 0;
    double first_change = exponential(random) / page.unsignalled_rate;
    while (true) {
      const double wait = exponential(random) / total;
      const double left = (s - staleness) / page.unsignalled_rate;
      if (wait >= left) {
        t += left;
        break;
      }
      t += wait;
      double pick = total * std::generate_canonical<double, 53>(random);
      size_t k = 0;
      while (k + 1 < page.sources.size() && pick >= page.sources[k].signal_rate) {
        pick -= page.sources[k++].signal_rate;
      }
      const double kappa = page.sources[k].signal_weight;
      if (std::generate_canonical<double, 53>(random) < -std::expm1(-kappa)) {
        first_change = std::min(first_change, t);
      }
      staleness += page.unsignalled_rate * wait + kappa;
      if (staleness >= s) break;
    }
    const double results[2] = {t, std::min(t, first_change)};
    for (int j = 0; j < 2; ++j) {
      sums[j] += results[j];
      squares[j] += results[j] * results[j];
    }
  }
  Simulated simulated;
  for (int j = 0; j < 2; ++j) {
    simulated.mean[j] = sums[j] / samples;
    const double mean = simulated.mean[j];
    simulated.error[j] = std::sqrt((squares[j] / samples - mean * mean) / samples);
  }
  return simulated;
}

void ExpectSimulated(const MultiSourceOutcome& outcome, const MultiSourcePage& page, double s,
                     int samples, std::mt19937_64& random) {
  const Simulated simulated = Simulate(page, s, samples, random);
  EXPECT_NEAR(outcome.interval, simulated.mean[0], 4 * simulated.error[0]) << "s " << s;
  EXPECT_NEAR(outcome.fresh_time, simulated.mean[1], 4 * simulated.error[1]) << "s " << s;
}

TEST(MultiSource, MatchesMonteCarlo) {
  std::mt19937_64 random(3);
  const MultiSourcePage page{1, 0.3, {{0.5, 0.9}, {1.2, 0.25}, {0.1, 2.5}}};
  for (const double s : {0.2, 0.7, 1.6, 3.3}) {
    const MultiSourceOutcome outcome = EvaluateMultiSource(page, s).value();
    ExpectSimulated(outcome, page, s, 200'000, random);
    EXPECT_NEAR(outcome.value, outcome.fresh_time - std::exp(-s) * outcome.interval, 1e-14);
  }
}

TEST(MultiSource, SixWeakSourcesMatchMonteCarlo) {
  std::mt19937_64 random(4);
  const MultiSourcePage page{
      2, 0.3, {{4, 0.051}, {3, 0.037}, {5, 0.023}, {2, 0.019}, {6, 0.011}, {1, 0.9}}};
  for (const double s : {0.5, 2.0}) {
    const MultiSourceOutcome outcome = EvaluateMultiSource(page, s).value();
    ExpectSimulated(outcome, page, s, 20'000, random);
    EXPECT_EQ(outcome.vectors > 0, s == 0.5) << "beyond that on a grid";
    const MultiSourceOutcome grid = EvaluateMultiSourceOnGrid(page, s);
    EXPECT_LT(grid.accuracy, 1e-5);
    ExpectRelative(grid.value, outcome.value, grid.accuracy, "V");
    ExpectRelative(grid.interval, outcome.interval, grid.accuracy, "psi");
  }
}

TEST(MultiSource, TheGridAgreesWithTheSums) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int i = 0; i < 40; ++i) {
    MultiSourcePage page{2, std::pow(10, -1 + 2 * uniform(random)), {}};
    for (int k = 0; k < 1 + i % 3; ++k) {
      page.sources.push_back({page.unsignalled_rate * std::pow(10, -1 + 2 * uniform(random)),
                              std::pow(10, -1.5 + 2 * uniform(random))});
    }
    if (i % 5 == 0) page.sources[0].signal_weight = HUGE_VAL;
    const double s = std::pow(10, -1 + 1.8 * uniform(random));
    const MultiSourceOutcome sums = EvaluateMultiSource(page, s).value();
    ASSERT_GT(sums.vectors, 0u);
    const MultiSourceOutcome grid = EvaluateMultiSourceOnGrid(page, s);
    EXPECT_LT(grid.accuracy, 1e-5) << i;
    const double tolerance = std::max(grid.accuracy, 1e-9);
    ExpectRelative(grid.value, sums.value, tolerance, "V " + std::to_string(i));
    ExpectRelative(grid.interval, sums.interval, tolerance, "psi " + std::to_string(i));
    ExpectRelative(grid.fresh_time, sums.fresh_time, tolerance, "w " + std::to_string(i));
  }
}

// By Wald's equation, the mean interval times the drift is s plus the overshoot of the last signal.
TEST(MultiSource, MillionsOfWeakSignalsAreADrift) {
  for (const double weight : {1e-3, 1e-5, 1e-9}) {
    const MultiSourcePage page{
        1, 1, {{10 / weight, weight}, {10 / weight, 1.3 * weight}, {10 / weight, 1.7 * weight}}};
    const MultiSourceOutcome outcome = EvaluateMultiSource(page, 2).value();
    EXPECT_EQ(outcome.vectors, 0u);
    const double drift = 1 + 10 * (1 + 1.3 + 1.7);
    EXPECT_GE(outcome.interval * drift, 2 * (1 - 1e-9));
    EXPECT_LE(outcome.interval * drift, 2 + 1.7 * weight + 2e-5);
    // A single source each of whose signals starts a crawl would give the value 1/gamma. Here, the
    // value is nearly that of a page with unsignalled changes at the rate `drift`.
    EXPECT_NEAR(outcome.value * drift, 1 - 3 * std::exp(-2), 2 * weight + 2e-5);
  }
}

TEST(MultiSource, RatesFollowFromPrecisionAndRecallApartAndPooled) {
  const std::vector<PaperSource> sources = {{0.5, 0.2}, {0.25, 0}};
  const MultiSourcePage page = MultiSourceFromPaper(1, 2, sources);
  EXPECT_DOUBLE_EQ(page.unsignalled_rate, 2 * 0.5 * 0.75);
  EXPECT_DOUBLE_EQ(page.sources[0].signal_rate, 1.2);
  EXPECT_DOUBLE_EQ(page.sources[0].signal_weight, std::log(6));
  EXPECT_EQ(page.sources[1].signal_weight, HUGE_VAL);
  const PageRates pooled = PooledRates(2, sources);
  EXPECT_DOUBLE_EQ(pooled.unsignalled_rate, 0.75);
  EXPECT_DOUBLE_EQ(pooled.signal_rate, 1.7);
  EXPECT_NEAR(-std::expm1(-pooled.signal_weight), 1.5 / 1.7, 1e-15);
  EXPECT_EQ(PooledRates(2, {}).signal_weight, 0);
}

TEST(MultiSource, RisesWithStaleness) {
  const MultiSourcePage page{1, 0.2, {{0.5, 0.9}, {4, 0.11}, {0.1, 2.5}}};
  double before = 0;
  for (double s = 1e-9; s < 40; s *= 1.07) {
    const double value = MultiSourceValue(page, s).value();
    EXPECT_GE(value, before);
    EXPECT_LE(value, page.Ceiling());
    before = value;
  }
}

TEST(MultiSource, TooManyVectorsOfABoundedSumAreRefused) {
  const MultiSourcePage page{1, 1, {{1e5, 1e-4}, {1e5, 1.3e-4}, {1e5, 1.7e-4}}};
  EXPECT_TRUE(MultiSourceValue(page, 1).ok());
  EXPECT_EQ(MultiSourceValue(page, 1, 1000).status().code(), absl::StatusCode::kOutOfRange);
  // Rare weak signals need few vectors, although many more would fit into s.
  const MultiSourcePage rare{1, 1, {{1, 1e-6}, {2, 1.3e-6}, {1, 1.7e-6}}};
  EXPECT_GT(EvaluateMultiSource(rare, 3).value().vectors, 0u);
}

}  // namespace
}  // namespace freshet
