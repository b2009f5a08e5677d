// Tests every index policy: against the 290 vectors of tests/vectors/value_vectors.json, against
// quadrature and simulation of the threshold policy, and over wide ranges for order and continuity.
#include "core/model/crawl_value.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/model/ncis_value.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/core/model/reference_table.h"

namespace freshet {
namespace {

using nlohmann::json;

const json& Cases() {
  static const json kCases = [] {
    std::ifstream in(FRESHET_SOURCE_DIR "/tests/vectors/value_vectors.json");
    return json::parse(in).at("cases");
  }();
  return kCases;
}

// Returns the staleness s of a page from time and signals, added up in the same way as in the
// scheduler.
double Staleness(const PageRates& rates, double elapsed, double signals) {
  const double jumps = signals == 0 ? 0 : signals * rates.signal_weight;
  return rates.unsignalled_rate * elapsed + jumps;
}

double PaperValue(const std::string& policy_name, const PaperRates& paper, double elapsed,
                  double signals) {
  const Policy policy = ParsePolicy(policy_name).value();
  const PageRates rates = RatesFromPaper(paper);
  const double s =
      PolicyExponent(policy, rates, Staleness(rates, elapsed, signals), elapsed, signals > 0);
  return CrawlValue(MakeValueParameters(policy, paper.importance, rates), s);
}

PaperRates Paper(const json& c) { return {c["mu"], c["Delta"], c["lam"], c["nu"]}; }

TEST(ValueVectors, EveryPolicyHasTheReferenceValueInEveryCase) {
  ASSERT_EQ(Cases().size(), 290u);
  const std::vector<std::pair<std::string, std::string>> columns = {
      {"greedy", "V_greedy"},         {"greedy_cis", "V_cis"},
      {"greedy_ncis", "V_ncis"},      {"greedy_ncis_d", "V_ncis"},
      {"ncis_approx_1", "V_approx1"}, {"ncis_approx_2", "V_approx2"},
      {"ncis_approx_3", "V_approx3"}, {"harmonic", "V_harm"}};
  for (const json& c : Cases()) {
    for (const auto& [policy, column] : columns) {
      ExpectRelative(PaperValue(policy, Paper(c), c["tau"], c["n"]), c[column], 1e-12,
                     policy + " in case " + c["id"].dump());
    }
  }
}

TEST(ValueVectors, IntervalFreshTimeAndCrawlRateAreThoseOfTheReference) {
  int compared = 0;
  for (const json& c : Cases()) {
    if (c["psi"].is_null() || c["iota"].is_null()) continue;
    const PageRates rates = RatesFromPaper(Paper(c));
    const double s = Staleness(rates, c["tau"], c["n"]);
    // If alpha tau is lost in the rounding of s, then psi does not follow from s, because psi has
    // steps in s there. The value still follows from s, and is compared above.
    const double elapsed = c["tau"];
    if (rates.unsignalled_rate * elapsed <= 1e-3 * s) continue;
    const std::string what = "case " + c["id"].dump();
    const ThresholdOutcome outcome = EvaluateThreshold(rates, s);
    ExpectRelative(outcome.interval, c["psi"], 1e-12, what);
    ExpectRelative(outcome.fresh_time, c["w"], 1e-12, what);
    if (!c["f"].is_null()) ExpectRelative(outcome.crawl_rate, c["f"], 1e-12, what);
    ++compared;
  }
  EXPECT_GT(compared, 200);
}

TEST(CrawlValue, PoliciesThatNoVectorHasFollowTheirFormulas) {
  const PaperRates paper{2, 0.5, 0.8, 0.1};
  const double x = 0.5 * 3;
  EXPECT_NEAR(PaperValue("new_content", paper, 3, 7), 2 * (1 - (1 + x) * std::exp(-x)), 1e-15);
  // With precision and recall of 0.8 the policy trusts signals; with more noise it does not.
  EXPECT_EQ(PaperValue("greedy_cis_plus", paper, 3, 1), PaperValue("greedy_cis", paper, 3, 1));
  EXPECT_EQ(PaperValue("greedy_cis_plus", paper, 3, 0), PaperValue("greedy_cis", paper, 3, 0));
  const PaperRates noisy{2, 0.5, 0.8, 0.2};
  EXPECT_EQ(PaperValue("greedy_cis_plus", noisy, 3, 1), PaperValue("greedy", noisy, 3, 0));
  // tau_eff = tau + n kappa/alpha.
  const double y = 0.5 * (3 + 2 * std::log1p(4) / 0.1);
  EXPECT_NEAR(PaperValue("harmonic_ncis", paper, 3, 2), 4 * (y - 1 + std::exp(-y)), 1e-12);
  EXPECT_EQ(PaperValue("harmonic_ncis", paper, 3, 0), PaperValue("harmonic", paper, 3, 9));
  const PaperRates certain{2, 0.5, 1, 0.1};
  EXPECT_LT(PaperValue("harmonic_ncis", certain, 3, 1), HUGE_VAL);
  EXPECT_EQ(PaperValue("harmonic_ncis", certain, 3, 0), PaperValue("harmonic", certain, 3, 0));
}

TEST(CrawlValue, IsZeroWithoutImportanceOrChanges) {
  for (const std::string_view name : PolicyNames()) {
    const std::string policy = name == "ncis_approx_J" ? "ncis_approx_4" : std::string(name);
    EXPECT_EQ(PaperValue(policy, {0, 1, 0.5, 0.5}, 3, 1), 0) << policy;
    EXPECT_EQ(PaperValue(policy, {1, 0, 0.5, 0.5}, 3, 1), 0) << policy;
    EXPECT_EQ(PaperValue(policy, {1, 1, 0.5, 0.5}, 0, 0), 0) << policy;
    EXPECT_EQ(PaperValue(policy, {1, 1e-320, 0, 0}, 1e9, 0), 0) << policy;
  }
}

TEST(CrawlValue, BadRatesAreNamed) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(ValidatePaperRates({1, 1, 1, 0}).ok());
  const std::vector<std::pair<PaperRates, std::string>> bad = {
      {{nan, 1, 0, 0}, "importance"},       {{-1, 1, 0, 0}, "importance"},
      {{1, HUGE_VAL, 0, 0}, "change_rate"}, {{1, 1, 1.5, 0}, "recall"},
      {{1, 1, nan, 0}, "recall"},           {{1, 1, 0, -2}, "false_signal_rate"}};
  for (const auto& [rates, field] : bad) {
    const Status status = ValidatePaperRates(rates);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message().substr(0, field.size()), field);
  }
}

// Returns random pages with rates over twelve decades, including all limiting cases.
PaperRates RandomPaper(std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto log_uniform = [&](double low, double high) {
    return std::pow(10, low + (high - low) * uniform(random));
  };
  const double change_rate = log_uniform(-6, 6);
  const double recalls[] = {0,
                            1,
                            1 - 1e-16,
                            1e-300,
                            log_uniform(-12, 0),
                            1 - log_uniform(-12, 0),
                            uniform(random),
                            uniform(random)};
  const double noises[] = {0, 5e-324, change_rate * log_uniform(-12, 6),
                           change_rate * uniform(random), change_rate * uniform(random)};
  return {log_uniform(-6, 6), change_rate, recalls[random() % 8], noises[random() % 5]};
}

TEST(CrawlValue, RisesWithTimeAndWithSignals) {
  std::mt19937_64 random(7);
  const std::vector<std::string> policies = {"greedy",        "greedy_cis",    "greedy_ncis",
                                             "ncis_approx_1", "ncis_approx_3", "greedy_cis_plus",
                                             "harmonic",      "harmonic_ncis", "new_content"};
  for (int i = 0; i < 400; ++i) {
    const PaperRates paper = RandomPaper(random);
    for (const std::string& policy : policies) {
      const std::string what = policy + " mu " + std::to_string(i);
      for (const double n : {0.0, 1.0, 7.0, 5000.0}) {
        double before = 0;
        for (double log_x = -9; log_x <= 9; log_x += 0.37) {
          const double elapsed = std::pow(10, log_x) / paper.change_rate;
          const double value = PaperValue(policy, paper, elapsed, n);
          ASSERT_TRUE(std::isfinite(value)) << what;
          ASSERT_GE(value, before * (1 - 1e-13)) << what << " elapsed " << elapsed << " n " << n;
          ASSERT_GE(PaperValue(policy, paper, elapsed, n + 1), value * (1 - 1e-13)) << what;
          // A change of time by one part in 10^13 moves the value by at most twice that: there are
          // no jumps.
          const double near = PaperValue(policy, paper, elapsed * (1 + 1e-13), n);
          ASSERT_NEAR(near, value, 6e-13 * value) << what << " elapsed " << elapsed << " n " << n;
          before = value;
        }
      }
    }
  }
}

// V/s^2 does not increase, and V stays below its ceiling and the bound of its jet.
TEST(CrawlValue, KeepsItsPromisesAboutTheFuture) {
  std::mt19937_64 random(8);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int i = 0; i < 4000; ++i) {
    const PaperRates paper = RandomPaper(random);
    const PageRates rates = RatesFromPaper(paper);
    for (const PolicyKind kind :
         {PolicyKind::kGreedy, PolicyKind::kGreedyCis, PolicyKind::kGreedyNcis,
          PolicyKind::kNcisApprox, PolicyKind::kHarmonic, PolicyKind::kNewContent}) {
      const ValueParameters page = MakeValueParameters({kind, 3}, paper.importance, rates);
      const double s = std::pow(10, -7 + 8.7 * uniform(random));
      const double later = s * (1 + std::pow(10, -4 + 6 * uniform(random)));
      const ValueJet jet = CrawlValueJet(page, s);
      EXPECT_EQ(jet.value, CrawlValue(page, s));
      const double value = CrawlValue(page, later);
      const double ratio = later / s;
      ASSERT_LE(value, jet.value * ratio * ratio * (1 + 1e-12));
      ASSERT_LE(value, page.ceiling * (1 + 1e-15));
      if (page.speed == 0) continue;
      const double d = (later - s) / page.speed;
      const double bound = jet.value + jet.slope * d + jet.curvature * d * d / 2;
      ASSERT_LE(value, bound * (1 + 1e-12)) << static_cast<int>(kind) << " s " << s;
    }
  }
}

TEST(CrawlValue, SlopeIsTheDerivative) {
  std::mt19937_64 random(9);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int i = 0; i < 2000; ++i) {
    PaperRates paper{1, 1, 0.02 + 0.9 * uniform(random), std::pow(10, -2 + 3 * uniform(random))};
    PageRates rates = RatesFromPaper(paper);
    rates.staleness_rate = 0.3 + uniform(random);  // not alpha, as in operational time
    for (const PolicyKind kind :
         {PolicyKind::kGreedy, PolicyKind::kGreedyCis, PolicyKind::kGreedyNcis,
          PolicyKind::kNcisApprox, PolicyKind::kHarmonic, PolicyKind::kHarmonicNcis,
          PolicyKind::kNewContent}) {
      const ValueParameters page = MakeValueParameters({kind, 2}, 1, rates);
      const double s = 0.1 + 3 * uniform(random);
      // The derivative of the interval has kinks at multiples of kappa, so the test avoids those.
      if (std::abs(std::remainder(s, page.weight)) < 0.01) continue;
      const double h = 1e-4;
      const double difference =
          (CrawlValue(page, s + h * page.speed) - CrawlValue(page, s - h * page.speed)) / (2 * h);
      EXPECT_NEAR(CrawlValueJet(page, s).slope, difference, 1e-5 * (1 + std::abs(difference)))
          << static_cast<int>(kind) << " s " << s;
    }
  }
}

// Returns the integral of f over [low, high] by composite Gauss-Legendre quadrature with five
// nodes.
template <typename F>
double Integrate(F f, double low, double high, int pieces) {
  const double nodes[] = {0, 0.5384693101056831, 0.9061798459386640};
  const double weights[] = {0.5688888888888889, 0.4786286704993665, 0.2369268850561891};
  const double half = (high - low) / pieces / 2;
  double sum = 0;
  for (int i = 0; i < pieces; ++i) {
    const double middle = low + (2 * i + 1) * half;
    sum += weights[0] * f(middle);
    for (int k = 1; k < 3; ++k) {
      sum += weights[k] * (f(middle - half * nodes[k]) + f(middle + half * nodes[k]));
    }
  }
  return sum * half;
}

// P(no crawl by t) = P(alpha t + kappa N(t) < s), and the same with weight e^-(alpha t + kappa N).
TEST(ThresholdPolicy, MatchesQuadratureOfItsSurvival) {
  std::mt19937_64 random(10);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int i = 0; i < 60; ++i) {
    const PaperRates paper{1, 0.2 + uniform(random), 0.05 + 0.9 * uniform(random),
                           0.05 + uniform(random)};
    const PageRates rates = RatesFromPaper(paper);
    const double s = 0.2 + 4 * uniform(random);
    const double gamma = rates.signal_rate;
    const double kappa = rates.signal_weight;
    const auto survival = [&](double t, bool fresh) {
      double weight = std::exp(-gamma * t);
      double sum = 0;
      for (int n = 0; rates.unsignalled_rate * t + kappa * n < s; ++n) {
        const double reached = rates.unsignalled_rate * t + kappa * n;
        sum += weight * (fresh ? std::exp(-reached) : 1);
        weight *= gamma * t / (n + 1);
      }
      return sum;
    };
    double interval = 0;
    double fresh_time = 0;
    double low = 0;
    for (double n = std::floor(s / kappa); n >= 0; --n) {  // smooth between the kinks
      const double high = (s - n * kappa) / rates.unsignalled_rate;
      interval += Integrate([&](double t) { return survival(t, false); }, low, high, 20);
      fresh_time += Integrate([&](double t) { return survival(t, true); }, low, high, 20);
      low = high;
    }
    const ThresholdOutcome outcome = EvaluateThreshold(rates, s);
    EXPECT_NEAR(outcome.interval, interval, 1e-10 * interval) << s;
    EXPECT_NEAR(outcome.fresh_time, fresh_time, 1e-10 * fresh_time) << s;
    const ValueParameters page =
        MakeValueParameters({PolicyKind::kGreedyNcis, 1}, paper.importance, rates);
    EXPECT_NEAR(CrawlValue(page, s), fresh_time - std::exp(-s) * interval, 1e-10 * interval);
  }
}

// The physical model: changes at rate Delta, signalled with probability lambda, false signals at
// rate nu. The page is crawled as soon as the staleness reaches s, and is fresh until its first
// change.
TEST(ThresholdPolicy, MatchesMonteCarlo) {
  std::mt19937_64 random(11);
  std::exponential_distribution<double> exponential(1);
  const int samples = 200'000;
  for (const PaperRates& paper : {PaperRates{1, 0.5, 0.6, 0.3}, PaperRates{1, 2, 0.2, 3},
                                  PaperRates{1, 1, 0.95, 0.05}, PaperRates{1, 0.3, 0.5, 1}}) {
    const PageRates rates = RatesFromPaper(paper);
    for (const double s : {0.4, 1.5, 4.0}) {
      double intervals = 0;
      double squares = 0;
      double fresh = 0;
      double fresh_squares = 0;
      for (int i = 0; i < samples; ++i) {
        double t = 0;
        double staleness = 0;
        double first_change = HUGE_VAL;
        while (true) {
          const double total = paper.change_rate + paper.false_signal_rate;
          const double wait = exponential(random) / total;
          const double left = (s - staleness) / rates.unsignalled_rate;
          if (wait >= left) {
            t += left;
            break;
          }
          t += wait;
          staleness += rates.unsignalled_rate * wait;
          const double kind = total * std::generate_canonical<double, 53>(random);
          if (kind < paper.change_rate && first_change == HUGE_VAL) first_change = t;
          if (kind >= paper.recall * paper.change_rate && kind < paper.change_rate) continue;
          staleness += rates.signal_weight;
          if (staleness >= s) break;
        }
        const double fresh_time = std::min(t, first_change);
        intervals += t;
        squares += t * t;
        fresh += fresh_time;
        fresh_squares += fresh_time * fresh_time;
      }
      const double mean = intervals / samples;
      const double fresh_mean = fresh / samples;
      const double error = std::sqrt((squares / samples - mean * mean) / samples);
      const double fresh_error =
          std::sqrt((fresh_squares / samples - fresh_mean * fresh_mean) / samples);
      const ThresholdOutcome outcome = EvaluateThreshold(rates, s);
      EXPECT_NEAR(outcome.interval, mean, 4 * error) << s;
      EXPECT_NEAR(outcome.fresh_time, fresh_mean, 4 * fresh_error) << s;
      EXPECT_NEAR(outcome.crawl_rate, 1 / mean, 4 * error / (mean * mean)) << s;
    }
  }
}

}  // namespace
}  // namespace freshet
